"""The audit of a design: its simulated error in many worlds, compared with its guarantee."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bascule.core.design import Design
from bascule.core.design_parts import ONE_SIDED, checked_sides
from bascule.core.errors import InputError, require
from bascule.core.inputs import checks
from bascule.core.outcomes import Gaussian, Outcome
from bascule.core.presenter import COLUMNS, Reported, presenter
from bascule.core.rules import Rule
from bascule.research.comparison.contenders import refuse_twice
from bascule.research.comparison.coverage import promised_error, why_not_covered
from bascule.simulation import Estimate, Simulation, World, simulate
from bascule.simulation.api import world_of
from bascule.simulation.engines.backends.threads import Stages
from bascule.simulation.engines.choose import is_compiled
from bascule.simulation.result import NORMAL_95, wilson
from bascule.simulation.worlds.named_worlds import NAMED, named_world

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TIMES_STEADY, SHORTEST_CAP = 5, 20_000
"""Default cap: this multiple of the mean units in a steady world, and at least `SHORTEST_CAP`."""

BATTERY = (*NAMED, "null+steep", "null+late-failures")
"""Names of the worlds of an audit; errors are likeliest in null worlds, without a best arm."""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """The simulated result of a rule in one world.

    `promised` is the probability of a wrong decision that the guarantee of the design allows.
    `reason` says why the guarantee does not cover the world; None if it does. Intervals have a
    confidence of 95 %.
    """

    name: str
    world: World
    runs: int
    wrong: int
    undecided: int
    regret: Estimate
    decision_time: Estimate
    promised: float
    reason: str | None

    @property
    def error_rate(self) -> float:
        """Share of runs with a wrong decision."""
        return self.wrong / self.runs

    @property
    def error_interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval for the probability of a wrong decision."""
        return wilson(self.wrong, self.runs)

    @property
    def broken(self) -> bool:
        """Whether wrong decisions are significantly more frequent than the design promises."""
        return self.error_interval[0] > self.promised

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain data."""
        return {
            "name": self.name,
            "world": self.world.to_dict(),
            "error_rate": self.error_rate,
            "error_interval": list(self.error_interval),
            "undecided": self.undecided,
            "regret": _plain(self.regret),
            "decision_time": _plain(self.decision_time),
            "promised": self.promised,
            "covered": self.reason is None,
            "reason": self.reason,
            "broken": self.broken,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Audit(Reported):
    """The result of an audit: a design simulated in several worlds, with a row for each.

    `left_out` has the worlds that could not be played, with the reason.
    """

    WIDTH = COLUMNS

    design: Design
    means: tuple[float, ...]
    runs: int
    seed: int
    rows: tuple[AuditRow, ...]
    seconds: float
    left_out: tuple[tuple[str, str], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain data; `bascule audit --json` prints it."""
        promise = self.design.calibration
        return {
            "rule": self.design.rule.label,
            "error": promise.error,
            "sides": self.design.sides or ONE_SIDED,
            "guarantee": promise.guarantee,
            "delta": promise.delta,
            "means": list(self.means),
            "runs": self.runs,
            "seed": self.seed,
            "max_units": self.design.max_units,
            "worlds": [row.to_dict() for row in self.rows],
            "left_out": [{"name": name, "reason": reason} for name, reason in self.left_out],
            "seconds": self.seconds,
        }

    def to_frame(self) -> Any:
        """Return the rows as a pandas data frame (pandas has to be installed)."""
        require("analyze", "a data frame", "pandas")
        import pandas

        return pandas.DataFrame([_flat(row) for row in self.rows])

    def plot(self) -> Figure:
        """Draw the share of wrong decisions in each world, and the error that is promised."""
        figure: Figure = presenter("audit_text").plot_audit(self)
        return figure

    def report(self) -> Any:
        """Return the report: the worlds in which the guarantee fails, and a row for each world."""
        return presenter("audit_text").report(self)


def audit(
    design: Design | Rule,
    means: Sequence[float] | None = None,
    outcome: Outcome | None = None,
    error: float | None = None,
    delta: float | None = None,
    runs: int = 400,
    seed: int = 0,
    worlds: Sequence[str] | None = None,
    max_units: int | None = None,
    threads: int | None = None,
    progress: Stages | None = None,
    *,
    sides: int | None = None,
) -> Audit:
    """Simulate a design in many worlds, and compare its errors with its guarantee.

    - `design`: a design, or a rule; with a rule, the next arguments complete the design.
    - `means`: the mean of each arm; if not given, 0.10 and 0.12 for 0/1 outcomes, and otherwise a
      difference of a tenth of the spread, or of 5 % of the width of the limits.
    - `outcome`: with a rule: the outcome model, `Gaussian(1)` if not given.
    - `error`, `delta`, `sides`: with a rule: its error, or its delta. Unlike in `Design`, the error
      is one-sided unless `sides=2`.
    - `max_units`: the cap on units. Without one a run ends, undecided, at 5 times the units that
      the test needs on average in a steady world, but not before 20,000.
    - `worlds`: names of worlds; if not given, all that suit the outcomes and the rule.
    - `runs`, `seed`, `threads`: as in `simulate`, for each world.
    - `progress`: called before each world with its name, the number of finished worlds, and the
      number of all.

    >>> import bascule as bs
    >>> report = bs.research.audit(bs.Tilt(3), [0, 1], runs=50, worlds=["steady", "null"])
    >>> [row.broken for row in report.rows]
    [False, False]
    """
    runs = checks.whole("runs", runs, 2, "400 is a good start")
    if isinstance(design, Design):
        stated = {"outcome": outcome, "error": error, "delta": delta, "max_units": max_units}
        refuse_twice(design, **stated, sides=sides)
        usual = usual_means(design.outcome, len(design.arms))
        wanted = [design.oriented(mean) for mean in usual] if means is None else means
        free = design
    else:
        outcome = Gaussian(1.0) if outcome is None else outcome
        wanted = usual_means(outcome) if means is None else means
        names = [f"arm {i + 1}" for i in range(len(wanted))]
        side = sides if delta is not None else checked_sides(sides or ONE_SIDED)
        free = Design(
            names, outcome, design, error=error, delta=delta, max_units=max_units, sides=side
        )
    if free.metrics:
        raise InputError("metrics", "an audit plays the primary metric alone: leave metrics out")
    if free.outcome.recurring:
        raise InputError(
            "outcome",
            "outcome must not recur: in the worlds of an audit each unit gives one outcome",
        )
    base = world_of(free, wanted)
    battery, left_out = _battery(base, free, worlds)
    started = time.perf_counter()
    capped = free
    if free.max_units is None:
        steady = simulate(free, wanted, runs, seed, threads)
        cap = max(SHORTEST_CAP, math.ceil(TIMES_STEADY * steady.decision_time.mean()))
        capped = replace(free, max_units=cap)
    rows = []
    for number, (name, world) in enumerate(battery):
        if progress is not None:
            progress(name, number, len(battery))
        rows.append(_row(name, simulate(capped, None, runs, seed, threads, world=world)))
    seconds = time.perf_counter() - started
    return Audit(capped, base.start, runs, seed, tuple(rows), seconds, left_out)


def usual_means(outcome: Outcome, arms: int = 2) -> tuple[float, ...]:
    """Return the default means of an audit, of which the last is moderately better.

    >>> usual_means(Gaussian(2.0)), usual_means(Gaussian(2.0), arms=3)
    ((0.0, 0.2), (0.0, 0.0, 0.2))
    """
    if outcome.binary:
        worse, better = 0.10, 0.12
    elif outcome.limited:
        worse, better = (outcome.low + share * outcome.scale for share in (0.50, 0.55))
    else:
        spread = outcome.noise((0.0,) * arms).spread(0.0) if outcome.estimated else outcome.sigma
        # If outcomes have a limit on one side only, choose means well inside it.
        worse = next(
            (
                end
                for end in (outcome.low + spread, outcome.high - 2 * spread)
                if math.isfinite(end)
            ),
            0.0,
        )
        better = worse + spread / 10
    return (*(worse for _ in range(arms - 1)), better)


def _battery(
    base: World, design: Design, names: Sequence[str] | None
) -> tuple[list[tuple[str, World]], tuple[tuple[str, str], ...]]:
    """Return the worlds to simulate, and those left out because they do not suit the design.

    A world that was requested by name is never left out: if it does not suit, an error is raised.
    """
    lowest = design.goal == "decrease"
    if names is not None:
        return [(name, named_world(name, base, design.outcome, lowest)) for name in names], ()
    worlds, left_out = [], []
    for name in BATTERY:
        try:
            world = named_world(name, base, design.outcome, lowest)
        except InputError:
            left_out.append((name, f"{design.outcome.words} cannot have it"))
            continue
        if is_compiled(design.procedure) or world.plain_for(design.outcome):
            worlds.append((name, world))
        else:
            left_out.append((name, f"{design.rule.label} is simulated in steady worlds only"))
    return worlds, tuple(left_out)


def _row(name: str, result: Simulation) -> AuditRow:
    summary = result.summary()
    return AuditRow(
        name=name,
        world=result.world,
        runs=result.runs,
        wrong=int(result.wrong.sum()),
        undecided=result.undecided,
        regret=summary["regret"],
        decision_time=summary["decision_time"],
        promised=promised_error(result.design, result.world),
        reason=why_not_covered(result.design, result.world),
    )


def _plain(estimate: Estimate) -> dict[str, Any]:
    half = NORMAL_95 * estimate.se
    return {
        "mean": estimate.mean,
        "se": estimate.se,
        "interval": [estimate.mean - half, estimate.mean + half],
    }


def _flat(row: AuditRow) -> dict[str, Any]:
    low, high = row.error_interval
    return {
        "world": row.name,
        "error_rate": row.error_rate,
        "error_low": low,
        "error_high": high,
        "undecided": row.undecided,
        "regret": row.regret.mean,
        "regret_se": row.regret.se,
        "decision_time": row.decision_time.mean,
        "decision_time_se": row.decision_time.se,
        "promised": row.promised,
        "reason": row.reason,
        "broken": row.broken,
    }
