"""Plan a guarded rollout: when a new version is out or rolled back, and how many users meet it.

The new version is compared with the present one in even blocks while its share of the traffic is
raised by a schedule. Guardrails with a known spread are simulated by the path of their evidence at
the looks, which has the same distribution as a test. Others are played unit by unit in a compiled
loop, unless that takes too long: then normal paths with the same spread are an approximation, and
the plan says so. The guarantees do not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bascule.core.design import DEFAULT_HARM_ERROR, Design, Reports
from bascule.core.errors import InputError
from bascule.core.evidence.normal import mixture_boundary
from bascule.core.inputs import checks
from bascule.core.metrics.guard_rule import WAITING_STEPS
from bascule.core.metrics.measure import Measure
from bascule.core.metrics.metric import Goal, Metric, check_metrics
from bascule.core.outcomes import Gaussian, Outcome
from bascule.core.rules import Tilt
from bascule.core.types import FloatArray, IntArray
from bascule.planning.ramp import Ramp, Steps, checked_ramp, days_until, units_after
from bascule.planning.request.options import PLAN
from bascule.simulation import simulate
from bascule.simulation.guardrails import BoolArray
from bascule.theory.guardrails import metric_spread

RUNS_AT_ONCE = 1000

TRUTHS = {
    "unchanged": 0.0,
    "worse by half its margin": 0.5,
    "at its margin": 1.0,
    "worse by twice its margin": 2.0,
}
"""The cases of each metric, and how many margins it loses in each, as far as limits allow."""

UNCHANGED = "unchanged"

PATHS, FEWEST, DRAWS = 1000, 200, 2e8
"""Rollouts of a case by default, the fewest that are played unit by unit, and the most outcomes
that are drawn for all of them together, which takes a few seconds."""

DAYS = "days: the median of the rollouts that ended by the deadline; none if fewer than half did"


@dataclass(frozen=True, slots=True)
class RolloutCase:
    """What is expected of a rollout if guardrails are as `name` says.

    `shipped` and `rolled_back` are probabilities by the deadline. `median_days` and `p90_days` are
    quantiles over the rollouts that ended by then, nan if none did: where few end, they say nothing
    of the others. `exposed` is the average number of users who get the new version before the end
    or the deadline.
    """

    name: str
    shipped: float
    rolled_back: float
    median_days: float
    p90_days: float
    exposed: float

    @property
    def undecided(self) -> float:
        """The probability of neither by the deadline."""
        return max(0.0, 1.0 - self.shipped - self.rolled_back)

    @property
    def shown_days(self) -> float:
        """The median of the days, nan where fewer than half of the rollouts ended."""
        return self.median_days if self.shipped + self.rolled_back >= 0.5 else math.nan


@dataclass(frozen=True, slots=True)
class Rollout:
    """A guarded rollout: its design, the schedule, and what to expect."""

    design: Design
    ramp: Steps
    units_per_day: float
    deadline_days: float
    runs: int
    cases: tuple[RolloutCase, ...]
    played: bool = False
    """Whether rollouts were played unit by unit, not by the paths of their evidence."""

    @property
    def origin(self) -> str:
        """Where the figures of the cases come from, in a sentence."""
        each = f"{self.runs:,} rollouts of each kind"
        if self.played:
            return f"{each}, played unit by unit"
        unknown = [one.name for one in self.design.guardrails if not one.outcome.known_spread]
        words = f"{each}, by normal paths of the evidence"
        if not unknown:
            return words
        return (
            f"{words}; approximate, because the spread of {' and '.join(unknown)} is not known "
            "and playing so many units takes long: set runs to play that many unit by unit"
        )

    @property
    def audience(self) -> dict[str, Any]:
        """Who gets into the test: twice the share of the new version, as half of it get that."""
        return {"ramp": [[at, min(1.0, 2.0 * share)] for at, share in self.ramp]}

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        names = ("shipped", "rolled_back", "undecided", "median_days", "p90_days", "exposed")
        return {
            "design": self.design.to_dict(),
            "audience": self.audience,
            "units_per_day": self.units_per_day,
            "deadline_days": self.deadline_days,
            "runs": self.runs,
            "played": self.played,
            "cases": {
                case.name: {
                    name: None if math.isnan(value) else value
                    for name in names
                    for value in [getattr(case, name)]
                }
                for case in self.cases
            },
        }

    @property
    def promises(self) -> list[str]:
        """What is guaranteed, and the schedule, a sentence each."""
        steps = ", ".join(f"{100 * share:g} % after {at / 86400:g} d" for at, share in self.ramp)
        harm = f"{100 * self.design.harm_error:g} %"
        return [
            f"Guarded rollout of {' or '.join(self.design.arms[1:])}: {steps}",
            f"{self.units_per_day:,.6g} units a day; a version that is not harmful is rolled back "
            f"with probability at most {harm}, over the whole ramp",
            *(
                f"a version worse by {metric.margin:g} or more on {metric.name} is rolled out with "
                f"probability at most {100 * metric.error:g} %"
                for metric in self.design.guardrails
            ),
        ]

    def lines(self) -> list[str]:
        """Return the plan in words."""
        found = self.promises
        found.append("")
        found.append(
            f"{'if the new version is':<44}{'out':>7}{'back':>7}{'open':>7}{'days':>6}"
            f"{'exposed':>11}"
        )
        for case in self.cases:
            days = "-" if math.isnan(case.shown_days) else f"{case.shown_days:.2g}"
            found.append(
                f"{case.name:<44}{100 * case.shipped:>5.0f} %{100 * case.rolled_back:>5.0f} %"
                f"{100 * case.undecided:>5.0f} %{days:>6}{case.exposed:>11,.0f}"
            )
        return [*found, "", f"({DAYS})", f"({self.origin})"]

    def __repr__(self) -> str:
        return "\n".join(self.lines())


def plan_rollout(
    metrics: Sequence[Metric],
    ramp: Ramp,
    units_per_day: float | str = 5000.0,
    *,
    deadline_days: float | str = 28.0,
    harm_error: float | str = DEFAULT_HARM_ERROR,
    arms: Sequence[str] = ("present", "new"),
    outcome: Outcome | None = None,
    goal: Goal | None = None,
    measure: Measure | None = None,
    reports: Reports | None = None,
    runs: int | None = None,
    seed: int = 0,
) -> Rollout:
    """Plan a rollout whose guardrails are `metrics`, at the shares of the new version in `ramp`.

    `outcome`, `goal` and `measure` are those of the primary metric, which is shown and does not
    decide; without them it is the first guardrail, whose outcomes are then recorded under both
    names. Of several new versions the first one that every guardrail allows is shipped, and in the
    cases all of them are alike.
    `units_per_day` is the traffic as a whole. `runs` is how many rollouts of each kind are
    simulated; without it 1,000, or fewer where units are played one by one.

    >>> import bascule as bs
    >>> latency = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=3)
    >>> plan = plan_rollout([latency], [("0d", 0.01), ("1d", 0.1), ("3d", 0.5)], 10_000)
    >>> [case.name for case in plan.cases]  # doctest: +NORMALIZE_WHITESPACE
    ['unchanged', 'latency worse by half its margin', 'latency at its margin',
     'latency worse by twice its margin']
    """
    steps = checked_ramp(ramp)
    rate = PLAN["units_per_day"].read(units_per_day)
    days = PLAN["deadline_days"].read(deadline_days)
    if runs is not None:
        runs = checks.whole("runs", runs, 1, "1000 is a good start", 100_000)
    given = [metrics] if isinstance(metrics, Metric) else [*metrics]
    measured = measure or next((one.measure for one in given if isinstance(one, Metric)), None)
    guardrails = [metric for metric in check_metrics(given, measured) if metric.is_guardrail]
    if not guardrails:
        raise InputError("metrics", "a rollout needs at least one guardrail: give Metric(...)")
    first = guardrails[0]
    cap = units_after(steps, rate, days)
    design = Design(
        arms,
        first.outcome if outcome is None else outcome,
        Tilt(1),
        measure=measured,
        goal=goal or (first.goal if outcome is None else "increase"),
        reports=reports,
        metrics=given,
        harm_error=PLAN["harm_error"].read(harm_error),
        decides="guardrails",
        max_units=max(6, math.floor(cap)),
    )
    spreads = [_spread(metric) for metric in guardrails]
    kinds = 1 + sum(len(_losses(metric)) - 1 for metric in guardrails)
    affordable = DRAWS / (kinds * (1 + len(guardrails)) * cap)
    known = len(arms) == 2 and all(metric.outcome.known_spread for metric in guardrails)
    played = not known and (runs is not None or affordable >= FEWEST or len(arms) > 2)
    if runs is None:
        runs = max(1, min(PATHS, int(affordable))) if played else PATHS
    if played:
        cases = _played_cases(design, steps, rate, runs, seed)
    else:
        cases = _cases_by_paths(design, spreads, steps, rate, cap, runs, seed)
    return Rollout(design, steps, rate, days, runs, tuple(cases), played)


def _losses(metric: Metric) -> list[tuple[str, float]]:
    """Return by how much a new version may be worse on a guardrail, in words and as a number."""
    assert metric.margin is not None
    found = [(name, times * metric.margin) for name, times in TRUTHS.items()]
    outcome, baseline = metric.outcome, metric.baseline
    if not outcome.limited or baseline is None:
        return found
    most = baseline - outcome.low if metric.goal == "increase" else outcome.high - baseline
    possible = [(name, loss) for name, loss in found if loss <= most]
    if len(possible) < len(found):
        possible.append((f"worse by {most:.3g}, the largest possible loss", most))
    return possible


def _played_cases(
    design: Design, steps: Steps, rate: float, runs: int, seed: int
) -> list[RolloutCase]:
    """Play rollouts unit by unit; the primary metric does not decide, so any outcomes will do."""
    metrics = tuple(replace(metric, measure=None) for metric in design.metrics)
    alike = {"goal": "increase", "measure": None, "reports": None, "metrics": metrics}
    one = replace(design, outcome=Gaussian(1.0), **alike)  # type: ignore[arg-type]
    new = len(design.arms) - 1
    same = {metric.name: (metric.baseline or 0.0,) * (1 + new) for metric in metrics}
    worlds = [(UNCHANGED, same)]
    for metric in one.guardrails:
        base, sign = metric.baseline or 0.0, 1.0 if metric.goal == "decrease" else -1.0
        worlds += [
            (f"{metric.name} {name}", {**same, metric.name: (base, *(base + sign * loss,) * new)})
            for name, loss in _losses(metric)[1:]
        ]
    cases = []
    for name, means in worlds:
        result = simulate(one, (0.0,) * (1 + new), runs, seed, metrics=means)
        assert result.guarded is not None
        units = result.decision_time.astype(float)
        days = np.array([days_until(steps, rate, count) for count in units.tolist()])
        exposed = new / (1 + new)
        found = (result.winner >= 1, result.guarded.by_harm, units, days, exposed)
        cases.append(_case(name, *found))
    return cases


def _looks(cap: float) -> FloatArray:
    """Return after how many units a rollout in blocks of two is looked at, up to a cap.

    >>> _looks(10).tolist(), len(_looks(1e6))
    ([2.0, 4.0, 6.0, 8.0, 10.0], 952)
    """
    first, last = math.floor(WAITING_STEPS * math.log(WAITING_STEPS)), max(cap, 4.0)
    later = np.exp(np.arange(first, WAITING_STEPS * math.log(last)) / WAITING_STEPS)
    every = np.arange(2.0, min(last, WAITING_STEPS) + 1.0, 2.0)
    looks: FloatArray = np.unique(np.concatenate([every, 2.0 * np.ceil(later / 2.0)]))
    return looks[looks <= last]


def _cases_by_paths(
    design: Design,
    spreads: Sequence[float],
    steps: Steps,
    rate: float,
    cap: float,
    runs: int,
    seed: int,
) -> list[RolloutCase]:
    """Draw the evidence of all guardrails at the looks, as if outcomes were normal."""
    units = _looks(cap)
    looks = len(units)
    days_at = np.array([days_until(steps, rate, float(count)) for count in units])
    chance = np.random.default_rng(seed)
    paths = [
        _paths(design, which, spread, units, runs, chance)
        for which, spread in zip(_places(design), spreads, strict=True)
    ]
    within, back = (np.array(columns) for columns in zip(*paths, strict=True))
    # Each metric is drawn once, and every case takes its runs from there.
    out_but, back_but = _largest_but_one(within[:, 0]), -_largest_but_one(-back[:, 0])

    def case(name: str, out: IntArray, harmed: IntArray) -> RolloutCase:
        end = np.minimum(np.minimum(out, harmed), looks - 1)
        shipped, rolled = (out < harmed) & (out < looks), (harmed <= out) & (harmed < looks)
        return _case(name, shipped, rolled, units[end], days_at[end])

    cases = [case(UNCHANGED, within[:, 0].max(axis=0), back[:, 0].min(axis=0))]
    for place, metric in enumerate(design.guardrails):
        for truth, (name, _) in enumerate(_losses(metric)[1:], 1):
            out = np.maximum(out_but[place], within[place, truth])
            harmed = np.minimum(back_but[place], back[place, truth])
            cases.append(case(f"{metric.name} {name}", out, harmed))
    return cases


def _paths(
    design: Design,
    which: int,
    spread: float,
    units: FloatArray,
    runs: int,
    chance: np.random.Generator,
) -> tuple[IntArray, IntArray]:
    """Draw the evidence of one guardrail at the looks.

    Returned are, for each of its losses and each run, the looks at which the metric is found within
    its margin, and harmed; the number of looks if never.
    """
    metric, one, harm = design.metrics[which], *_designs(design, which)
    assert metric.margin is not None
    # In an even split of n units each block of two adds half to the clock.
    clocks, looks = units / 4.0, len(units)
    steps, reach = np.sqrt(np.diff(clocks, prepend=0.0)), spread * _boundary(clocks, one) / clocks
    wide = None if harm is None else spread * _boundary(clocks, harm) / clocks
    within, back = (np.full((len(TRUTHS), runs), looks) for _ in range(2))
    for first in range(0, runs, RUNS_AT_ONCE):
        rows = slice(first, min(runs, first + RUNS_AT_ONCE))
        noise = chance.standard_normal((rows.stop - first, looks)) * steps
        means = spread * np.cumsum(noise, axis=1) / clocks
        for truth, (_, loss) in enumerate(_losses(metric)):
            within[truth, rows] = _first(means > reach - metric.margin + loss)
            if wide is not None and metric.harm_line is not None:
                back[truth, rows] = _first(means < -metric.harm_line - wide + loss)
    return within, back


def _largest_but_one(values: IntArray) -> IntArray:
    """Return for each row the largest of the other rows, column by column.

    >>> _largest_but_one(np.array([[3, 1], [2, 5], [1, 4]])).tolist()
    [[2, 5], [3, 4], [3, 5]]
    """
    if len(values) == 1:
        return np.full_like(values, np.iinfo(values.dtype).min + 1)
    second, first = np.sort(values, axis=0)[-2:]
    largest = np.arange(len(values))[:, None] == values.argmax(axis=0)
    return np.asarray(np.where(largest, second, first))


def _case(
    name: str,
    shipped: BoolArray,
    rolled: BoolArray,
    units: FloatArray,
    days: FloatArray,
    exposed: float = 0.5,
) -> RolloutCase:
    """Return what is expected, given how some rollouts have ended, and after how many units."""
    ended = shipped | rolled
    return RolloutCase(
        name,
        float(shipped.mean()),
        float(rolled.mean()),
        float(np.median(days[ended])) if ended.any() else math.nan,
        float(np.quantile(days[ended], 0.9)) if ended.any() else math.nan,
        float(units.mean() * exposed),
    )


def _places(design: Design) -> list[int]:
    return [which for which, metric in enumerate(design.metrics) if metric.is_guardrail]


def _designs(design: Design, which: int) -> tuple[Design, Design | None]:
    return design.metric_designs[which], design.harm_designs[which]


def _boundary(clocks: FloatArray, design: Design) -> FloatArray:
    return np.array(_boundaries(tuple(clocks.tolist()), -math.log(design.procedure.end_error)))


@lru_cache(maxsize=4)
def _boundaries(clocks: tuple[float, ...], threshold: float) -> tuple[float, ...]:
    return tuple(mixture_boundary(clock, threshold) for clock in clocks)


def _first(found: NDArray[np.bool_]) -> IntArray:
    """Return for each run the first look at which something is found; their number if never."""
    return np.asarray(np.where(found.any(axis=1), found.argmax(axis=1), found.shape[1]))


def _spread(metric: Metric) -> float:
    spread = metric_spread(metric)
    if spread is not None:
        return spread
    if metric.outcome.limited:
        raise InputError(
            "baseline",
            f"baseline of {metric.name} is missing: it is the control's mean, which says how much "
            "outcomes within limits differ; write Metric(..., baseline=...)",
        )
    try:
        return metric.outcome.noise((metric.baseline or 0.0,)).spread(metric.baseline or 0.0)
    except InputError as error:
        raise InputError(error.field, f"guardrail {metric.name}: {error}") from None
