"""Verdicts from simulated runs: orders of rules, ratios, and bounds on shares of runs.

A claim holds when the runs show it, and does not hold when they show the opposite. Each verdict
comes with the alternative that this number of runs would have noticed with probability `POWER`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import get_args

import numpy as np

from bascule.core.diagnostics.result import student_quantile
from bascule.core.numerics import turning_point
from bascule.core.procedures.recurrent import PUBLISHED_FACTOR
from bascule.core.types import FloatArray
from bascule.research.paper.claims.claim import Finding, Measured, Verdict, judged
from bascule.research.paper.measure import Flags, Measurements, Quantity
from bascule.simulation import Estimate, Simulation
from bascule.theory import published_bounds

MARGIN = 3.0
"""Standard errors from which on a difference counts, with many runs and a single comparison."""

CLEAR = 2.0
"""Standard errors by which a difference must exceed 0 at each point, because with a point of
unclear order the verdict would depend on the seed."""

TAIL = math.erfc(MARGIN / math.sqrt(2.0)) / 2
"""The probability that a difference exceeds `MARGIN` standard errors by chance."""

MOST_RUNS = 100_000
"""Largest practical number of runs; a claim that these cannot show counts as not showable."""

POWER = 0.9
"""The probability of detecting the alternative that is reported beside a verdict."""

NOTICED = NormalDist().inv_cdf(POWER)

COMPARING = (
    f"every difference above is over 0 by more than chance ({MARGIN:g} standard errors; more with "
    f"few runs) on average over its points, at each of them by {CLEAR:g} standard errors or more, "
    "and at none of them below 0 by more than chance"
)


@lru_cache(maxsize=1024)
def beyond_chance(runs: int, looks: int = 1) -> float:
    """Return by how many standard errors a mean must differ from 0 to count, given its runs.

    It is the quantile of Student's t distribution whose tail is that of `MARGIN`, shared by all
    looks.

    >>> round(beyond_chance(100_000), 2), round(beyond_chance(20), 2)
    (3.0, 3.45)
    """
    return student_quantile(TAIL / looks, float(runs - 1))


def theorems_speak(log_inverse_delta: float) -> bool:
    """Return whether the theorems' bound on the error, 23 delta log(1/delta), is below 1.

    >>> theorems_speak(4.0), theorems_speak(6.0)
    (False, True)
    """
    return PUBLISHED_FACTOR * math.exp(-log_inverse_delta) * log_inverse_delta < 1.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of two rules at each log(1/delta) and on average: `higher` minus `lower`.

    >>> one = Comparison("UCB_2", "ETC", "regret", (2.0, 4.0), (Estimate(-1, 0.1), Estimate(9, 1)),
    ...                  Estimate(4, 0.5), runs=1000)
    >>> one.verdict(), one.against()
    ('does not hold', (2.0,))
    """

    lower: str
    higher: str
    quantity: Quantity
    grid: tuple[float, ...]
    margins: tuple[Estimate, ...]
    average: Estimate
    runs: int

    def against(self, looks: int | None = None) -> tuple[float, ...]:
        """Return each log(1/delta) at which the opposite order is significant.

        The level allows for `looks` comparisons, by default one for each point.
        """
        limit = beyond_chance(self.runs, looks or len(self.grid))
        pairs = zip(self.grid, self.margins, strict=True)
        return tuple(level for level, margin in pairs if margin.mean < -limit * margin.se)

    def verdict(self, looks: int | None = None) -> Verdict:
        """Return the verdict on whether `lower` has the lower values.

        It does not hold if the opposite is significant on average or at a point (see `against`). It
        holds if the average difference is significant and every point is clear (see `CLEAR`).
        """
        limit = beyond_chance(self.runs)
        mean, error = self.average.mean, limit * self.average.se
        clear = all(margin.mean > CLEAR * margin.se for margin in self.margins)
        return judged(mean > error and clear, bool(self.against(looks)) or mean < -error)

    def noticed(self, looks: int | None = None) -> float:
        """Return the size from which a difference of opposite sign is detected at every point.

        `looks` is the number of comparisons that share the error, by default one for each point.
        """
        limit = beyond_chance(self.runs, looks or len(self.grid)) + NOTICED
        return max(limit * margin.se for margin in self.margins)


def below(
    measurements: Measurements, quantity: Quantity, lower: str, higher: str, grid: Sequence[float]
) -> Comparison:
    """Return the comparison of two rules by paired runs."""
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
    """Return the runs that both rules have."""
    runs = min(first.shape[1], second.shape[1])
    return first[:, :runs], second[:, :runs]


def near(estimate: Estimate, target: float, share: float, runs: int = 10**6) -> Verdict:
    """Return the verdict on whether an estimate lies within a relative tolerance of a target.

    >>> near(Estimate(0.47, 0.005), 0.5, 0.05), near(Estimate(0.42, 0.005), 0.5, 0.1)
    ('holds', 'does not hold')
    >>> near(Estimate(0.5, 0.1), 0.5, 0.1)
    'not shown'
    """
    chance = beyond_chance(runs) * estimate.se
    away = abs(estimate.mean - target)
    return judged(chance <= share * target, away > share * target + chance)


def noticed(title: str, estimates: Sequence[Estimate], runs: int, looks: int = 1) -> str:
    """Describe the distance beyond a limit at which an estimate would have been detected."""
    away = max((beyond_chance(runs, looks) + NOTICED) * estimate.se for estimate in estimates)
    return f"with probability {POWER:g}, {title} by {away:.2g} or more"


def ordered(
    m: Measurements, grid: Sequence[float], pairs: Sequence[tuple[Quantity, str, str]]
) -> Finding:
    """Judge a claim that rules are ordered by regret, decision time or both.

    All pairs must show it, at the points of the grid at which the theorems' bound is not trivial.
    """
    judged_at = [level for level in grid if theorems_speak(level)]
    levels = ", ".join(f"{level:g}" for level in judged_at)
    comparisons = [below(m, *pair, judged_at) for pair in pairs]
    looks = len(comparisons) * len(judged_at)
    verdicts = [comparison.verdict(looks) for comparison in comparisons]
    others = [level for level in grid if not theorems_speak(level)]
    contrary = [
        Measured.of(f"{_title(comparison)}: not judged, log(1/δ) = {level:g}", margin)
        for comparison in (below(m, *pair, others) for pair in pairs if others)
        for level, margin in zip(others, comparison.margins, strict=True)
        if level in comparison.against()
    ]
    return Finding(
        (*(each for comparison in comparisons for each in _compared(comparison)), *contrary),
        f"{COMPARING}; judged at log(1/δ) = {levels}, where the error of the theorems, "
        f"{PUBLISHED_FACTOR:g} δ log(1/δ), is below 1",
        judged(set(verdicts) == {"holds"}, "does not hold" in verdicts),
        f"with probability {POWER:g}, a point at which the order is the opposite by "
        + " or ".join(_noticed(comparisons, looks)),
        min(comparison.runs for comparison in comparisons),
    )


def _noticed(comparisons: Sequence[Comparison], looks: int) -> list[str]:
    largest: dict[str, float] = {}
    for comparison in comparisons:
        before = largest.get(comparison.quantity, 0.0)
        largest[comparison.quantity] = max(before, comparison.noticed(looks))
    return [
        f"{largest[quantity]:.2g} in {quantity.replace('_', ' ')}"
        for quantity in get_args(Quantity)
        if quantity in largest
    ]


def _title(comparison: Comparison) -> str:
    title = comparison.quantity.replace("_", " ")
    return f"{title}, {comparison.higher} - {comparison.lower}"


def _compared(comparison: Comparison) -> tuple[Measured, ...]:
    """Return the average difference, and that at the least significant point."""
    title = _title(comparison)
    level, weakest = min(
        zip(comparison.grid, comparison.margins, strict=True),
        key=lambda pair: pair[1].mean / max(pair[1].se, 1e-12),
    )
    return (
        Measured.of(f"{title}: average over {len(comparison.grid)} points", comparison.average),
        Measured.of(f"{title}: least clear point, log(1/δ) = {level:g}", weakest),
    )


def factor(
    measurements: Measurements, pair: Sequence[str], target: float, grid: Sequence[float]
) -> Finding:
    """Judge a claim about the ratio of two rules' regrets, at the last point of a grid."""
    share, last = 0.1, grid[-1]
    over, under = pair
    ratios = {level: ratio(measurements, "regret", over, under, level) for level in grid}
    runs = min(measurements.at(rule, last).runs for rule in pair)
    return Finding(
        tuple(
            Measured.of(f"regret of {over} over that of {under} at log(1/δ) = {level:g}", ratio)
            for level, ratio in ratios.items()
        ),
        f"at log(1/δ) = {last:g}, the nearest to the limit, the ratio is within {share:.0%} of "
        f"{target:g}, give or take {MARGIN:g} standard errors",
        near(ratios[last], target, share, runs),
        noticed(f"a ratio more than {share:.0%} from {target:g}", [ratios[last]], runs),
        runs,
    )


@dataclass(frozen=True, slots=True)
class Promise:
    """The number of runs that violate a bound, and the share of runs that may violate it.

    If the true share were the allowed one, the number of violations would be binomial. The verdict
    is "does not hold" if so many violations or more have a probability below `TAIL`, and "holds" if
    so few or fewer have. Otherwise it is "not shown" if `MOST_RUNS` runs without a violation would
    show the bound, else "not contradicted". If several promises are judged at once (`looks`), each
    has an equal part of `TAIL`.

    >>> [Promise(0, 1000, allowed).verdict for allowed in (0.05, 0.001, 1e-9)]
    ['holds', 'not shown', 'not contradicted']
    >>> Promise(1, 1000, allowed=1e-9).verdict
    'does not hold'
    """

    broken: int
    runs: int
    allowed: float
    looks: int = 1

    @classmethod
    def of(cls, flags: Flags, allowed: float) -> Promise:
        """Count the flagged runs, which violate a bound."""
        return cls(int(flags.sum()), len(flags), allowed)

    @property
    def share(self) -> Estimate:
        """The share of runs that violate the bound."""
        mean = self.broken / self.runs
        return Estimate(mean, math.sqrt(mean * (1.0 - mean) / max(1, self.runs - 1)))

    @property
    def verdict(self) -> Verdict:
        """The verdict of the runs on the bound."""
        if 1.0 - at_most(self.broken - 1, self.runs, self.allowed) < TAIL / self.looks:
            return "does not hold"
        if at_most(self.broken, self.runs, self.allowed) <= TAIL / self.looks:
            return "holds"
        showable = at_most(0, MOST_RUNS, self.allowed) <= TAIL / self.looks
        return "not shown" if showable else "not contradicted"

    @property
    def noticed(self) -> float:
        """The smallest true share that this many runs would refute with probability `POWER`.

        >>> f"{Promise(0, 1000, allowed=1e-9).noticed:.2%}"
        '0.23%'
        """
        fewest = bisect_left(
            range(self.runs + 1),
            True,
            key=lambda count: 1.0 - at_most(count - 1, self.runs, self.allowed) < TAIL / self.looks,
        )
        if fewest > self.runs:
            return 1.0
        return turning_point(
            lambda share: 1.0 - at_most(fewest - 1, self.runs, share) < POWER, self.allowed, 1.0
        )


def at_most(count: int, runs: int, share: float) -> float:
    """Return the binomial probability of at most `count` successes in `runs` trials.

    `share` is the probability of a success.

    >>> round(at_most(1, 10, 0.1), 4), at_most(-1, 10, 0.1), at_most(10, 10, 0.1)
    (0.7361, 0.0, 1.0)
    """
    if count < 0 or share >= 1.0:
        return 0.0 if count < runs else 1.0
    if count >= runs or share <= 0.0:
        return 1.0
    # Terms of the sum, in logarithms, each computed from its ratio to the previous term.
    numbers = np.arange(1, count + 1, dtype=np.float64)
    steps = np.log((runs - numbers + 1.0) / numbers) + math.log(share) - math.log1p(-share)
    logs = runs * math.log1p(-share) + np.concatenate([[0.0], np.cumsum(steps)])
    return min(1.0, float(np.exp(logs).sum()))


def keeping(promises: Sequence[Promise], title: str) -> Finding:
    """Judge a claim that at no point more runs violate a bound than are allowed.

    Points at which every share is allowed have no bound to judge and are left out.
    """
    looks = sum(promise.allowed < 1.0 for promise in promises)
    cells = [
        Promise(promise.broken, promise.runs, promise.allowed, looks)
        for promise in promises
        if promise.allowed < 1.0
    ]
    verdicts = [cell.verdict for cell in cells]
    shown = verdicts.count("holds")
    # If even `MOST_RUNS` runs cannot show one of the points, they cannot show the claim.
    agrees: Verdict = "not contradicted" if "not contradicted" in verdicts else "not shown"
    if shown == len(cells):
        agrees = "holds"
    strictest = min(cells, key=lambda cell: cell.allowed)
    return Finding(
        (
            Measured("points that promise anything", len(cells)),
            Measured("of these, shown to keep their promise", shown),
            Measured("most runs, at any point, that broke it", max(cell.broken for cell in cells)),
            Measured("smallest share of runs that may break it", strictest.allowed),
        ),
        f"at every point the number of runs {title}, or more, has a probability of at least "
        f"{TAIL:.2g}, divided by the number of points, if the true share is the allowed one; a "
        "point is shown if that number or fewer has a lower probability",
        "does not hold" if "does not hold" in verdicts else agrees,
        f"with probability {POWER:g}, a share of {max(cell.noticed for cell in cells):.2%} or more "
        f"at any point; of {strictest.noticed:.2%} where {strictest.allowed:.1g} is allowed",
        min(cell.runs for cell in cells),
    )


BREAKING = "that decide wrongly, later or at a higher cost than the corrected theorems say"


def keeping_theorems(cells: Sequence[Simulation], gap: float | Sequence[float]) -> Finding:
    """Judge a claim that decisions, times and regrets obey the paper's (corrected) theorems."""
    return keeping([_promise(cell, gap) for cell in cells], BREAKING)


def _promise(simulation: Simulation, gap: float | Sequence[float]) -> Promise:
    stated = published_bounds(simulation.design, gap)
    late = simulation.decision_time > stated.decision_time
    dear = simulation.regret > stated.regret
    return Promise.of(simulation.wrong | late | dear, simulation.design.calibration.error)


def regret_without_time(cells: Mapping[float, Simulation], gap: float) -> Finding:
    """Judge a claim that runs of UCB itself obey the theorem, which bounds no decision time."""
    finding = keeping(
        [_promise(cell, gap) for cell in cells.values()],
        "that decide wrongly, or at a higher regret than the corrected theorem says",
    )
    undecided = tuple(
        Measured.share(
            f"share of runs undecided at {cell.design.max_units:,} units, log(1/δ) = {level:g}",
            cell.winner < 0,
        )
        for level, cell in cells.items()
    )
    return replace(
        finding,
        measured=(*finding.measured, *undecided),
        rule=f"{finding.rule}; shares of undecided runs are not judged",
    )
