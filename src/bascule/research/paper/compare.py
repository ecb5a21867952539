"""Verdicts from runs: comparisons of two rules, ratios, and promises, with their standard errors.

A claim holds when the runs show it, and does not hold when they show the opposite; with too few
runs for either it is not shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import get_args

import numpy as np

from bascule.core.diagnostics.tails import student_quantile
from bascule.core.types import FloatArray
from bascule.research.paper.claims.claim import Claim, Measured, Verdict, judged
from bascule.research.paper.measure import Measurements, Quantity
from bascule.simulation import Estimate, Simulation
from bascule.theory import published_bounds

MARGIN = 3.0
"""Standard errors that a difference needs before it counts, with many runs and one look."""

TAIL = math.erfc(MARGIN / math.sqrt(2.0)) / 2
"""The probability that a difference of that many standard errors is chance."""

FEWEST = 50
"""Runs below which agreement with a bound says nothing."""

COMPARING = (
    f"every difference above is over 0 by more than chance ({MARGIN:g} standard errors; more with "
    "few runs) on average over its points, and at none of them below 0 by more than chance"
)


@lru_cache(maxsize=1024)
def beyond_chance(runs: int, looks: int = 1) -> float:
    """Return how many standard errors a mean needs before it counts, by its number of runs.

    It is the quantile of Student's t distribution whose tail is that of `MARGIN`, shared by all
    looks.

    >>> round(beyond_chance(100_000), 2), round(beyond_chance(20), 2)
    (3.0, 3.45)
    """
    return student_quantile(TAIL / looks, float(runs - 1))


@dataclass(frozen=True, slots=True)
class Comparison:
    """By how much one rule stays below another, at each log(1/delta) and on average over them.

    >>> one = Comparison("UCB_2", "ETC", "regret", (2.0, 4.0), (Estimate(-1, 0.1), Estimate(9, 1)),
    ...                  Estimate(4, 0.5), runs=1000)
    >>> one.verdict(), one.against(), one.shown
    ('does not hold', (2.0,), (4.0,))
    """

    lower: str
    higher: str
    quantity: Quantity
    grid: tuple[float, ...]
    margins: tuple[Estimate, ...]
    average: Estimate
    runs: int

    def against(self, looks: int | None = None) -> tuple[float, ...]:
        """Return where the opposite is shown, given the number of looks for it."""
        limit = beyond_chance(self.runs, looks or len(self.grid))
        pairs = zip(self.grid, self.margins, strict=True)
        return tuple(level for level, margin in pairs if margin.mean < -limit * margin.se)

    @property
    def shown(self) -> tuple[float, ...]:
        """Where it is shown."""
        limit = beyond_chance(self.runs)
        pairs = zip(self.grid, self.margins, strict=True)
        return tuple(level for level, margin in pairs if margin.mean > limit * margin.se)

    def verdict(self, looks: int | None = None) -> Verdict:
        """Return the verdict: a point against it denies it, else the average has to show it."""
        limit = beyond_chance(self.runs)
        mean, error = self.average.mean, limit * self.average.se
        return judged(mean > error, bool(self.against(looks)) or mean < -error)


def below(
    measurements: Measurements, quantity: Quantity, lower: str, higher: str, grid: Sequence[float]
) -> Comparison:
    """Return how far `lower` stays below `higher`, run against run."""
    above, under = _paired(
        measurements.runs_of(quantity, higher, grid), measurements.runs_of(quantity, lower, grid)
    )
    distance = above - under
    return Comparison(
        lower,
        higher,
        quantity,
        tuple(grid),
        tuple(Estimate.of(row) for row in distance),
        Estimate.of(distance.mean(axis=0)),
        distance.shape[1],
    )


def ratio(
    measurements: Measurements, quantity: Quantity, over: str, under: str, level: float
) -> Estimate:
    """Return the ratio of two rules' means at one log(1/delta), by the delta method."""
    (top,), (bottom,) = _paired(
        measurements.runs_of(quantity, over, [level]),
        measurements.runs_of(quantity, under, [level]),
    )
    value = float(np.mean(top) / np.mean(bottom))
    return Estimate(value, Estimate.of(top - value * bottom).se / float(np.mean(bottom)))


def _paired(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The runs that both have."""
    runs = min(first.shape[1], second.shape[1])
    return first[:, :runs], second[:, :runs]


def near(estimate: Estimate, target: float, share: float, runs: int = 10**6) -> Verdict:
    """Return the verdict on a claim that an estimate lies within a share of its target.

    >>> near(Estimate(0.47, 0.005), 0.5, 0.05), near(Estimate(0.42, 0.005), 0.5, 0.1)
    ('holds', 'does not hold')
    >>> near(Estimate(0.5, 0.1), 0.5, 0.1)
    'not shown'
    """
    chance = beyond_chance(runs) * estimate.se
    away = abs(estimate.mean - target)
    return judged(chance <= share * target, away > share * target + chance)


Pairs = Sequence[tuple[str, str]]
"""Names of rules: each first one is claimed to stay below its second one."""


@dataclass(frozen=True, slots=True)
class Ordering:
    """A claim that rules are ordered by regret, decision time or both: all pairs must show it."""

    id: str
    section: str
    statement: str
    grid: Sequence[float]
    regret: Pairs = ()
    decision_time: Pairs = ()

    def __call__(self, measurements: Measurements) -> Claim:
        """Return the claim, judged by these measurements."""
        comparisons = [
            below(measurements, quantity, lower, higher, self.grid)
            for quantity in get_args(Quantity)
            for lower, higher in getattr(self, quantity)
        ]
        looks = len(comparisons) * len(self.grid)
        verdicts = [one.verdict(looks) for one in comparisons]
        return Claim(
            self.id,
            self.section,
            self.statement,
            tuple(each for one in comparisons for each in _compared(one)),
            COMPARING,
            judged(set(verdicts) == {"holds"}, "does not hold" in verdicts),
        )


def upwards(*rules: str) -> list[tuple[str, str]]:
    """Return the pairs that say that a quantity grows from each rule to the next."""
    return list(pairwise(rules))


def downwards(*rules: str) -> list[tuple[str, str]]:
    """Return the pairs that say that a quantity falls from each rule to the next."""
    return [(after, before) for before, after in pairwise(rules)]


def _compared(comparison: Comparison) -> tuple[Measured, ...]:
    """The difference on average, and at the point that speaks least for it."""
    what = comparison.quantity.replace("_", " ")
    title = f"{what}, {comparison.higher} - {comparison.lower}"
    level, weakest = min(
        zip(comparison.grid, comparison.margins, strict=True),
        key=lambda pair: pair[1].mean / max(pair[1].se, 1e-12),
    )
    return (
        Measured.of(f"{title}: average over {len(comparison.grid)} points", comparison.average),
        Measured.of(f"{title}: least clear point, log(1/δ) = {level:g}", weakest),
    )


def factor(
    measurements: Measurements,
    name: str,
    section: str,
    statement: str,
    pair: tuple[str, str],
    target: float,
    grid: Sequence[float],
) -> Claim:
    """Return a claim that the regrets of two rules have a ratio, judged at the end of a grid."""
    share, last = 0.1, grid[-1]
    ratios = {level: ratio(measurements, "regret", *pair, level) for level in grid}
    runs = min(measurements.at(rule, last).runs for rule in pair)
    return Claim(
        name,
        section,
        statement,
        tuple(
            Measured.of(f"regret of {pair[0]} over that of {pair[1]} at log(1/δ) = {level:g}", one)
            for level, one in ratios.items()
        ),
        f"at log(1/δ) = {last:g}, the nearest to the limit, the ratio is within {share:.0%} of "
        f"{target:g}, give or take {MARGIN:g} standard errors",
        near(ratios[last], target, share, runs),
    )


def keeping(
    name: str,
    section: str,
    statement: str,
    cells: Sequence[Simulation],
    gap: float | Sequence[float],
) -> Claim:
    """Return a claim that no more runs break a bound than the theorems allow, in any cell."""
    worst = max(_excess(cell, gap, len(cells)) for cell in cells)
    share = max(_broken(cell, gap).mean for cell in cells)
    return Claim(
        name,
        section,
        statement,
        (
            Measured("largest share of runs, over all points, that broke a promise", share),
            Measured("largest such share minus what is allowed there", worst),
        ),
        "at every point the share of runs that decide wrongly, later or at a higher cost than the "
        f"corrected theorems say is at most the proven error, give or take chance ({MARGIN:g} "
        f"standard errors; more with few runs); fewer than {FEWEST} runs say nothing",
        judged(min(cell.runs for cell in cells) >= FEWEST, worst > 0.0),
    )


def _broken(simulation: Simulation, gap: float | Sequence[float]) -> Estimate:
    promise = published_bounds(simulation.design, gap)
    late = simulation.decision_time > promise.decision_time
    dear = simulation.regret > promise.regret
    return Estimate.of((simulation.wrong | late | dear).astype(float))


def _excess(simulation: Simulation, gap: float | Sequence[float], looks: int) -> float:
    broken = _broken(simulation, gap)
    chance = beyond_chance(simulation.runs, looks) * broken.se
    return broken.mean - chance - simulation.design.calibration.error
