"""The frontier: regret and decision time of many rules at the same error.

A rule dominates another one if it costs less, decides sooner and has no weaker guarantee. Rules
whose guarantee is stated only by their authors dominate no other rule and are never efficient,
because their savings may be wrong decisions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence, Sized
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bascule.core.design import Design
from bascule.core.design_parts import DEFAULT_ERROR, INCREASE, ONE_SIDED, checked_sides
from bascule.core.errors import InputError, NoPredictionError, invalid, require
from bascule.core.gaps import checked_means, rival_gaps
from bascule.core.inputs import checks
from bascule.core.inputs.files import CsvRow, csv_text, prepare_folder, writable, write_whole
from bascule.core.inputs.serialization import as_data
from bascule.core.outcomes import Gaussian, Outcome
from bascule.core.presenter import Reported, presenter
from bascule.core.rules import Rule
from bascule.planning.sweep import Budget, Sweep, counting, expected_units, unit_weight
from bascule.research.comparison.contenders import (
    ALPHAS,
    TILTS,
    Contender,
    LeftOut,
    RuleFamily,
    checked_knobs,
    checked_rules,
    contenders,
    refuse_twice,
    stalling,
)
from bascule.research.comparison.information import information, oracle_of
from bascule.research.comparison.point import Point
from bascule.simulation import Estimate, Simulation, World
from bascule.simulation.engines.backends.gpu import current_device
from bascule.simulation.engines.backends.threads import Stages
from bascule.simulation.runs import naming_rule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STANDARD = Gaussian(1.0)

AFFORDABLE = 100_000
"""Number of units per run above which a rule is simulated less often."""

ON_GPU = 40
"""Factor of `AFFORDABLE` on a GPU, which simulates about 100 times as fast."""

FEWEST = 50
"""Minimum number of runs of a rule, unless fewer were asked for."""

TOO_MANY = 5_000_000
"""A rule whose runs take more units than this is left out."""


@dataclass(frozen=True, slots=True, repr=False)
class Frontier(Reported):
    """A comparison of rules on the same arms at the same error.

    Every rule runs until it decides.

    - `points`: the result of each rule.
    - `left_out`: the rules that were not simulated, with the reason.
    - `oracle`: the least information that any rule needs, even one that knows the gap.
    - `error`: the bound on the probability that a worse arm wins; with `sides` 2, `2 * error` was
      asked for as a two-sided error.
    - `cap_not_applied`: the cap of the given design, if it had one.
    """

    means: tuple[float, ...]
    outcome: Outcome
    error: float
    effect: float | None
    runs: int
    seed: int
    oracle: float
    points: tuple[Point, ...]
    left_out: tuple[LeftOut, ...]
    steps: int
    seconds: float
    compile_seconds: float
    cap_not_applied: int | None = None
    sides: int = 1

    def of(self, family: str) -> tuple[Point, ...]:
        """Return the results of the rules of one family, such as "tilt", ordered by their setting.

        The families are those that `frontier` accepts, and "given" and "stated" for rules that were
        given with a proven error and with one that their author states.
        """
        if family not in list(RuleFamily):
            raise invalid(f"family must be one of {', '.join(RuleFamily)} (got {family!r})")
        return tuple(point for point in self.points if point.family == family)

    @property
    def efficient(self) -> tuple[Point, ...]:
        """The rules with a guarantee of this package that no other rule is known to dominate."""
        return tuple(point for point in self.points if point.efficient)

    @property
    def beyond_the_paper(self) -> tuple[Point, ...]:
        """The rules that dominate every rule of the paper as published; efficient ones first."""
        published = self.of(RuleFamily.PUBLISHED)
        if not published:
            return ()
        first, *rest = (rule.dominated_by for rule in published)
        by_label = {point.label: point for point in self.points}
        return tuple(by_label[label] for label in first if all(label in other for other in rest))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; `bascule frontier --json` prints it."""
        return {
            "means": list(self.means),
            "outcome": as_data(self.outcome),
            "error": self.error,
            "sides": self.sides,
            "effect": self.effect,
            "runs": self.runs,
            "seed": self.seed,
            "oracle_information": self.oracle,
            "points": [point.to_dict() for point in self.points],
            "left_out": [asdict(entry) for entry in self.left_out],
            "verdict": presenter("frontier_report").verdict(self),
            "steps": self.steps,
            "seconds": self.seconds,
        }

    def rows(self) -> list[CsvRow]:
        """Return a row for each rule, for `frontier.csv` and `to_frame`."""
        return [
            {
                "rule": point.label,
                "family": point.family.value,
                "delta": point.calibration.delta,
                "runs": point.runs,
                "regret": point.regret.mean,
                "regret_se": point.regret.se,
                "decision_time": point.decision_time.mean,
                "decision_time_se": point.decision_time.se,
                "information": point.information.mean,
                "information_se": point.information.se,
                "guarantee": point.calibration.guarantee,
                "error_rate": point.error_rate,
                "error_low": point.error_interval[0],
                "error_high": point.error_interval[1],
                "undecided": point.undecided,
                "efficient": point.efficient,
                "dominated_by": "; ".join(point.dominated_by),
            }
            for point in self.points
        ]

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each rule (pandas has to be installed)."""
        require("analyze", "a data frame", "pandas")
        import pandas

        return pandas.DataFrame(self.rows())

    def plot(self) -> Figure:
        """Draw regret against decision time, with a curve for each family."""
        figure: Figure = presenter("frontier_report").draw_frontier(self)
        return figure

    def save(self, folder: str | Path) -> tuple[Path, ...]:
        """Write `frontier.csv`, `.json`, `.png` and `.svg` into a folder."""
        folder = Path(folder)
        prepare_folder(folder)
        data = json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"
        with writable(folder):
            return (
                write_whole(folder / "frontier.csv", csv_text(self.rows()).encode()),
                write_whole(folder / "frontier.json", data.encode()),
                *presenter("figures").save_figure(self.plot(), folder / "frontier"),
            )

    def report(self) -> Any:
        """Return the report: which rules dominate those of the paper, and a row for each rule."""
        return presenter("frontier_report").report(self)


def frontier(
    means: Sequence[float],
    outcome: Outcome | Design = STANDARD,
    error: float | None = None,
    effect: float | None = None,
    alphas: Iterable[float] = ALPHAS,
    tilts: Iterable[float] = TILTS,
    runs: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    progress: Stages | None = None,
    *,
    rules: Iterable[Rule | str] = (),
    sides: int | None = None,
) -> Frontier:
    """Simulate rules with several settings at the same error, and find which dominate others.

    - `means`: the mean of each arm.
    - `outcome`: the outcome model; or a design, whose rule is compared with the others, with its
      outcome model and error.
    - `error`: bound on the probability that a worse arm wins, one-sided unlike in `Design`; 0.05 if
      not given. With `sides=2` it is the false positive rate, as in `Design`. A design as `outcome`
      has its own error.
    - `sides`: 1, the default, or 2.
    - `effect`: a difference to find; if given, tilted blocks that are planned for it take part too.
    - `alphas`, `tilts`: the settings of UCB and of tilted blocks.
    - `rules`: names of families of rules, and further rules to compare. The families are
      "published", "peeling", "mixture-radius", "mixture-stop", "planned-looks", "tilt",
      "tilt-effect" and "peers", which are rules of other tools and papers. Without a name all but
      "peers" take part. Rules whose error only their authors state are compared apart: they
      dominate none.
    - `runs`, `seed`, `threads`: as in `simulate`. Rules that take many units are simulated less
      often than `runs`; on a GPU most of them are simulated `runs` times.
    - `progress`: a function of the title of a step, the number of finished runs, and their total.

    >>> result = frontier([0.0, 1.0], tilts=[3.0], runs=200, rules=["published", "tilt"])
    >>> [point.label for point in result.beyond_the_paper]
    ['Tilt_3']
    """
    cap, goal = None, INCREASE
    asked, own_rules = checked_rules(rules)
    if isinstance(outcome, Design):
        design, outcome = outcome, outcome.outcome
        refuse_twice(design, error=error, sides=sides)
        if design.metrics:
            raise InputError(
                "metrics", "rules are compared on the primary metric alone: leave metrics out"
            )
        if design.min_effect is not None:
            raise InputError(
                "design",
                "rules are compared until they find the best arm, not with min_effect: leave it "
                "out of the design here",
            )
        error, goal, sides = design.calibration.error, design.goal, design.sides or ONE_SIDED
        own_rules, cap = (*own_rules, design.rule), design.max_units
    else:
        sides = checked_sides(sides or ONE_SIDED)
        error = DEFAULT_ERROR if error is None else error
        error = checks.probability("error", error, "0.05 is usual") / sides
    alphas, tilts = checked_knobs("alphas", alphas), checked_knobs("tilts", tilts)
    arms = len(means) if isinstance(means, Sized) else 0
    entries = contenders(arms, outcome, error, effect, alphas, tilts, asked, own_rules)
    means = shown = checked_means(means, arms, outcome)
    if goal == "decrease":
        # Rules are compared as if a higher mean were better, so outcomes are mirrored.
        means = tuple(outcome.reflected(mean) for mean in means)
    oracle = oracle_of(means, outcome, error)
    runs = checks.whole("runs", runs, 2, "standard errors need two; 1000 is a good start")
    budget = budget_for(runs)
    sweep, world = Sweep(seed, threads), World(means)
    efforts = []
    for entry in entries:
        with naming_rule(entry.label):
            efforts.append(sweep.effort(entry.design, world))
    counts = [budget.runs(effort) for effort in efforts]
    if not any(counts):
        raise _nothing_to_play(entries, efforts, means)
    total, played = sum(counts), 0
    left_out = stalling(alphas) if RuleFamily.STOP in asked and not outcome.recurring else []
    points = []
    for entry, count, effort in zip(entries, counts, efforts, strict=True):
        if not count:
            left_out.append(_too_long(entry, effort, means))
            continue
        report = counting(progress, f"simulating {entry.label}", played, total)
        point = _point(entry, sweep.play(entry.design, world, count, report), oracle)
        points.append(replace(point, design=replace(point.design, goal=goal)))
        played += count
    return Frontier(
        means=shown,
        outcome=outcome,
        error=float(error),
        effect=None if effect is None else float(effect),
        runs=runs,
        seed=seed,
        oracle=oracle,
        points=_ranked(points),
        left_out=tuple(left_out),
        steps=sweep.steps,
        seconds=sweep.simulating_seconds,
        compile_seconds=sweep.compile_seconds,
        cap_not_applied=cap,
        sides=sides,
    )


def budget_for(runs: int) -> Budget:
    """Return the budget that gives each rule up to `runs` runs, fewer if its runs are long.

    >>> [budget_for(1000).runs(units) for units in (50_000.0, 300_000.0, 6_000_000.0)]
    [1000, 333, 0]
    """
    affordable = AFFORDABLE * (ON_GPU if current_device() == "cuda" else 1)
    return Budget(affordable * runs, min(runs, FEWEST), runs, TOO_MANY)


def _point(entry: Contender, played: Simulation, oracle: float) -> Point:
    learnt = information(played)
    return Point(
        design=entry.design,
        family=entry.family,
        label=entry.label,
        calibration=entry.calibration,
        runs=played.runs,
        regret=Estimate.of(played.regret),
        decision_time=Estimate.of(played.decision_time),
        information=Estimate(learnt.mean / oracle, learnt.se / oracle),
        wrong=int(played.wrong.sum()),
        undecided=played.undecided,
    )


def _ranked(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return the points, each with the labels of the points that dominate it.

    Dominance is transitive, so every dominated point is dominated by an efficient point. Among the
    labels those of efficient points come first, then those with a lower product of regret and
    decision time.
    """
    above = {point.label: [each for each in points if each.dominates(point)] for point in points}

    def order(point: Point) -> tuple[bool, float]:
        return bool(above[point.label]), point.regret.mean * point.decision_time.mean

    return tuple(
        replace(
            point, dominated_by=tuple(each.label for each in sorted(above[point.label], key=order))
        )
        for point in points
    )


def _too_long(entry: Contender, effort: float, means: tuple[float, ...]) -> LeftOut:
    """Return the entry for a rule that is left out because even a few runs would take too long."""
    units = _units(entry, effort, means)
    slow = ", slow to simulate" if effort > units else ""
    reason = f"about {float(f'{units:.2g}'):,.0f} units a run{slow}"
    return LeftOut(entry.label, entry.family, reason)


def _units(entry: Contender, effort: float, means: tuple[float, ...]) -> float:
    try:
        return expected_units(entry.design, means)
    except NoPredictionError:
        return effort / unit_weight(entry.design, effort)


def _nothing_to_play(
    entries: Sequence[Contender], efforts: Sequence[float], means: tuple[float, ...]
) -> InputError:
    if not entries:
        return invalid(
            "rules leave no rule to compare: name more of them, or give alphas or tilts for them"
        )
    effort, quickest = min(zip(efforts, entries, strict=True), key=lambda pair: pair[0])
    return InputError(
        "means",
        f"the gap between the best means ({min(rival_gaps(means)):g}) is too small to compare "
        f"rules: {quickest.label} alone takes {_too_long(quickest, effort, means).reason}; widen "
        "the gap",
    )
