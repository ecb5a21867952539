"""Evidence on the difference of two arms, day by day, with its uncertainty.

Every kind of evidence has a total of weighted differences, a clock that sums up their weights, and
a boundary that the total has to reach. docs/research/analyse.md says which sequence is tested, and
proves each kind.

In ratios of means and adjusted means a linear combination stands for the outcome of a unit. Each
arm is linearised around its own ratio and its own mean denominator, which are estimated from the
log together with the coefficient of the covariate, so the guarantee is asymptotic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from bascule.analysis.reduce.moments import (
    PER,
    PLACE,
    POWERS,
    UNITS,
    VALUE,
    Centre,
    RatioAdjustment,
)
from bascule.analysis.reduce.sums import Sums
from bascule.core.evidence.days import (
    SLOPES,
    day_charges,
    lines_boundary,
    log_lines,
    weighted_charges,
)
from bascule.core.evidence.families.rows import Difference
from bascule.core.evidence.normal import log_mixture, mixture_boundary
from bascule.core.evidence.radius import expected, most_squares
from bascule.core.evidence.spread import (
    FEWEST_UNITS,
    daily_variances,
    enough_units,
    noise_of_arm,
    squares_about_mean,
)
from bascule.core.outcomes import Outcome
from bascule.core.types import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class PairEvidence:
    """Evidence on a pair of arms: the sum of weighted daily differences, and that of their weights.

    `total` is the sum of the differences, in units of `scale`, and `clock` that of the weights, so
    `scale * total / clock` is the difference of the arms, earlier minus later: the centre of its
    interval. The boundary of the total is a mixture of lines if there are `charges` (what each line
    loses, see `core.evidence.days`), else a normal mixture. `estimate` is a better estimate of the
    difference, if there is one; no proof rests on it. Unless `ready`, nothing may be decided yet.
    """

    total: float = 0.0
    clock: float = 0.0
    scale: float = 1.0
    charges: FloatArray | None = None
    estimate: float | None = None
    ready: bool = True

    @property
    def difference(self) -> float:
        """The weighted average of the daily differences: the earlier arm minus the later one."""
        return self.scale * self.total / self.clock if self.clock > 0.0 else 0.0

    def after(
        self,
        total: float,
        clock: float,
        charges: FloatArray | None = None,
        estimate: float | None = None,
    ) -> PairEvidence:
        """Return the evidence after one more day, which adds the given increments."""
        if self.charges is not None and charges is not None:
            charges = self.charges + charges
        return PairEvidence(self.total + total, self.clock + clock, self.scale, charges, estimate)

    @property
    def log_e_value(self) -> float:
        """Logarithm of an e-value against no difference: the mean of the evidence for either sign.

        >>> round(PairEvidence(50.0, 100.0).log_e_value, 3), UNKNOWN.log_e_value
        (9.209, 0.0)
        """
        if self.clock <= 0.0 or not self.ready:
            return 0.0
        if self.charges is None:
            sides = [log_mixture(sign * self.total, self.clock) for sign in (1.0, -1.0)]
        else:
            sides = [log_lines(sign * self.total, self.charges) for sign in (1.0, -1.0)]
        return float(np.logaddexp.reduce(sides)) - math.log(2.0)

    def interval(self, log_threshold: float, widest: float = math.inf) -> Difference:
        """Return the difference to show, and both ends of its interval, limited to possible values.

        `widest` is the largest difference that two means can have. The difference of arms that
        were not compared yet is unknown: NaN.

        >>> [round(end, 4) for end in PairEvidence(50.0, 100.0).interval(math.log(20), widest=0.7)]
        [0.5, 0.1858, 0.7]
        """
        if self.clock <= 0.0 and self.estimate is None:
            # Without a comparison nothing is known, not even a difference of 0.
            return math.nan, -widest, widest
        centre, reach = self.difference, self.reach(log_threshold)
        low, high = max(centre - reach, -widest), min(centre + reach, widest)
        # An interval entirely outside the possible range is moved to its nearest end.
        low, high = min(low, widest), max(high, -widest)
        shown = centre if self.estimate is None else self.estimate
        return min(max(shown, low), high), low, high

    def reach(self, log_threshold: float, times: float = 1.0) -> float:
        """Return the half-width that the interval would have with `times` times the present data.

        >>> round(PairEvidence(0.0, 100.0).reach(math.log(20)), 4)
        0.3142
        """
        if self.clock <= 0.0 or not self.ready:
            return math.inf
        if self.charges is None:
            boundary = mixture_boundary(times * self.clock, log_threshold)
        else:
            boundary = lines_boundary(times * self.charges, log_threshold)
        return self.scale * boundary / (times * self.clock)


UNKNOWN = PairEvidence()


def normal_days(sums: Sums, outcome: Outcome) -> Iterator[tuple[PairEvidence, ...]]:
    """Yield the evidence of all pairs day by day, for outcomes with a known spread."""
    arms = sums.units.shape[1]
    pairs = [PairEvidence(scale=outcome.sigma)] * math.comb(arms, 2)
    for units, totals in zip(sums.units, sums.totals, strict=True):
        for place, (i, j) in enumerate(combinations(range(arms), 2)):
            weight, difference = weight_and_difference(units, totals, i, j)
            pairs[place] = pairs[place].after(weight * difference / outcome.sigma, weight)
        yield tuple(pairs)


def bounded_days(sums: Sums, outcome: Outcome) -> Iterator[tuple[PairEvidence, ...]]:
    """Yield the evidence of all pairs day by day, for outcomes within known limits."""
    low, width = outcome.low, outcome.scale
    arms = sums.units.shape[1]
    pairs = [PairEvidence(scale=width, charges=np.zeros(len(SLOPES)))] * math.comb(arms, 2)
    past_units, past_total = 0.0, 0.0
    for units, raw, raw_squares in zip(sums.units, sums.totals, sums.squares, strict=True):
        totals = (raw - low * units) / width
        squares = (raw_squares - 2.0 * low * raw + low * low * units) / (width * width)
        about = squares_about(units, totals, squares, past_units, past_total)
        for place, (i, j) in enumerate(combinations(range(arms), 2)):
            weight, difference = weight_and_difference(units, totals, i, j)
            if weight > 0.0:
                charges = day_charges(float(units[i]), float(units[j]), about[i], about[j])
                pairs[place] = pairs[place].after(weight * difference, weight, charges)
        past_units, past_total = past_units + float(units.sum()), past_total + float(totals.sum())
        yield tuple(pairs)


def squares_about(
    units: FloatArray, totals: FloatArray, squares: FloatArray, past_units: float, past_total: float
) -> list[float]:
    """Return, for each arm, the sum of the squared errors of predictions of a day's outcomes.

    On the first day, an arm's outcomes are predicted by its earlier outcomes on that day, and the
    sum is an upper bound. On later days, they are predicted by all outcomes of earlier days.
    """
    if past_units == 0.0:
        return [
            most_squares(float(n), float(total), float(square), 0.0, 1.0)
            for n, total, square in zip(units, totals, squares, strict=True)
        ]
    guess = expected(past_units, past_total, 0.0, 1.0)
    about = squares - 2.0 * guess * totals + guess * guess * units
    return [max(0.0, float(square)) for square in about]


def scored_days(sums: Sums, outcome: Outcome) -> Iterator[tuple[PairEvidence, ...]]:
    """Yield the evidence of all pairs day by day, for outcomes weighted by logged probabilities.

    The bets use outcomes minus a value predicted before the day. The estimate that is shown uses
    outcomes minus the average of all outcomes so far, which matters on the first days.
    """
    scores = sums.scores
    assert scores is not None
    low, width = outcome.low, outcome.scale
    arms = sums.units.shape[1]
    pairs = [PairEvidence(scale=width, charges=np.zeros(len(SLOPES)))] * math.comb(arms, 2)
    past_units, past_total = 0.0, 0.0
    for day in range(len(sums.days)):
        guess = low + width * expected(past_units, past_total, 0.0, 1.0)
        totals, squares = _scores_about(sums, day, guess)
        for place, (i, j) in enumerate(combinations(range(arms), 2)):
            charges = sum(
                weighted_charges(
                    float(scores.heaviest[day, arm, rival]),
                    max(0.0, float(squares[arm, rival])) / (width * width),
                )
                for arm, rival in ((i, j), (j, i))
            )
            pairs[place] = pairs[place].after(
                float(totals[i, j] - totals[j, i]) / width,
                float(scores.clock[day, i, j]),
                np.asarray(charges),
                _estimate(sums, day, i, j),
            )
        past_units += float(sums.units[day].sum())
        past_total += float((sums.totals[day] - low * sums.units[day]).sum()) / width
        yield tuple(pairs)


def _scores_about(sums: Sums, day: int, guess: float) -> tuple[FloatArray, FloatArray]:
    """Return a day's sums for pairs of arms: of weighted outcomes less `guess`, and of squares."""
    scores = sums.scores
    assert scores is not None
    totals = scores.scored[day] - guess * scores.weight[day]
    squares = (
        scores.squares_scored_twice[day]
        - 2.0 * guess * scores.squares_scored[day]
        + guess * guess * scores.squares[day]
    )
    return totals, squares


def _estimate(sums: Sums, day: int, i: int, j: int) -> float | None:
    """Return the weighted difference of two arms up to a day, of outcomes less their average."""
    scores = sums.scores
    assert scores is not None
    clock = float(scores.clock[: day + 1, i, j].sum())
    weights = [float(scores.weight[: day + 1, a, b].sum()) for a, b in ((i, j), (j, i))]
    scored = [float(scores.scored[: day + 1, a, b].sum()) for a, b in ((i, j), (j, i))]
    if clock <= 0.0 or sum(weights) <= 0.0:
        return None
    average = sum(scored) / sum(weights)
    return (scored[0] - scored[1] - average * (weights[0] - weights[1])) / clock


def estimated_days(sums: Sums, first: int = 0) -> Iterator[tuple[PairEvidence, ...]]:
    """Yield the evidence of all pairs day by day, with an estimated spread (asymptotic).

    If outcomes grow, each day uses the outcomes known at its end, and compares units that arrived
    on the same day.
    """
    grown = None if sums.growth is None else [np.cumsum(part, axis=1) for part in sums.growth]
    for day in range(first, len(sums.days)):
        now = sums.first(day + 1)
        if grown is None:
            yield estimated_pairs(now.units, now.totals, now.squares, now.cubes)
        else:
            totals, squares, cubes = (part[: day + 1, day] for part in grown)
            yield estimated_pairs(now.units, totals, squares, cubes)


def estimated_pairs(
    units: FloatArray, totals: FloatArray, squares: FloatArray, cubes: FloatArray | None
) -> tuple[PairEvidence, ...]:
    """Return the evidence of all pairs of arms over the days of arrival, with estimated spreads."""
    pairs = combinations(range(units.shape[1]), 2)
    return tuple(estimated_pair(units, totals, squares, cubes, i, j) for i, j in pairs)


def estimated_pair(
    units: FloatArray,
    totals: FloatArray,
    squares: FloatArray,
    cubes: FloatArray | None,
    i: int,
    j: int,
) -> PairEvidence:
    """Return the evidence of two arms over the days of arrival, with an estimated variance.

    The variance of an arm is the larger of its own and that of both arms together. The pair is not
    `ready` while its arms have fewer units than their skewness requires; without cubes the skewness
    is unknown.
    """
    n, m = units[:, i], units[:, j]
    present = (n > 0.0) & (m > 0.0)
    n, m = n[present], m[present]
    if len(n) == 0:
        return UNKNOWN
    weights = n * m / (n + m)
    clock = float(weights.sum())
    differences = totals[present, i] / n - totals[present, j] / m
    about = [
        squares_about_mean(units[present, k], totals[present, k], squares[present, k])
        for k in (i, j)
    ]
    # The variance of both arms loses one more degree of freedom, for the second mean.
    common = daily_variances(n + m - 1.0, about[0] + about[1])
    noise = sum(
        noise_of_arm(weights**2 / size, daily_variances(size, centre), common)
        for size, centre in zip((n, m), about, strict=True)
    )
    if noise <= 0.0:
        return PairEvidence(estimate=float(weights @ differences) / clock)
    spread = math.sqrt(noise / clock)
    if cubes is None:
        ready = bool(units[:, [i, j]].sum(axis=0).min() >= FEWEST_UNITS)
    else:
        sums = (part[:, [i, j]].sum(axis=0) for part in (units, totals, squares, cubes))
        ready = enough_units(*sums)
    return PairEvidence(float(weights @ differences) / spread, clock, spread, ready=ready)


def weight_and_difference(
    units: FloatArray, totals: FloatArray, i: int, j: int
) -> tuple[float, float]:
    """Return the weight of a day in the comparison of two arms, and the difference of their means.

    >>> weight_and_difference(np.array([2.0, 2.0]), np.array([3.0, 1.0]), 0, 1)
    (1.0, 1.0)
    """
    mine, theirs = float(units[i]), float(units[j])
    if mine <= 0.0 or theirs <= 0.0:
        return 0.0, 0.0
    return mine * theirs / (mine + theirs), float(totals[i]) / mine - float(totals[j]) / theirs


def adjusted(sums: Sums) -> Sums:
    """Return the sums with each outcome replaced by its linearised, adjusted value."""
    assert sums.moments is not None
    pooled = Centre.within(sums.moments.sum(axis=0)).adjustment
    totals, squares, cubes = (np.zeros(sums.units.shape) for _ in range(3))
    for arm in range(sums.units.shape[1]):
        moments = sums.moments[:, arm]
        value, per, units = (float(moments[:, place].sum()) for place in (VALUE, PER, UNITS))
        adjustment = pooled._replace(ratio=value / per, per=per / units) if per > 0.0 else pooled
        totals[:, arm], squares[:, arm], cubes[:, arm] = _linearised(moments, adjustment)
    unknown = np.full(sums.units.shape, np.nan)
    return replace(sums, totals=totals, squares=squares, cubes=cubes, lows=unknown, highs=unknown)


def _linearised(moments: FloatArray, adjustment: RatioAdjustment) -> FloatArray:
    """Return the daily sums over units of the linear combination, its squares and its cubes."""
    weights = np.zeros((3, len(POWERS)))
    for degree in (1, 2, 3):
        for factors in product(adjustment.terms, repeat=degree):
            powers = tuple(sum(part) for part in zip(*(term for term, _ in factors), strict=True))
            weight = float(np.prod([coefficient for _, coefficient in factors]))
            weights[degree - 1, PLACE[powers]] += weight
    return np.asarray(weights @ moments.T)


def adjusted_days(sums: Sums, first: int = 0) -> Iterator[tuple[PairEvidence, ...]]:
    """Yield the evidence of all pairs day by day, adjusted by the data known by then."""
    arms = range(sums.units.shape[1])
    for day in range(first, len(sums.days)):
        so_far = sums.first(day + 1)
        yield tuple(_adjusted_pair(so_far, i, j) for i, j in combinations(arms, 2))


def _adjusted_pair(sums: Sums, i: int, j: int) -> PairEvidence:
    """Return the evidence of two arms, each linearised at its own ratio, over their common days.

    A ratio's numerator and denominator are means over days, with the weights of the days in the
    difference of the arms: a change of the split over time does not bias the difference of ratios.
    """
    assert sums.moments is not None
    n, m = sums.units[:, i], sums.units[:, j]
    present = (n > 0.0) & (m > 0.0)
    weights = n[present] * m[present] / (n[present] + m[present])
    if not present.any():
        return UNKNOWN
    common = Centre.within(sums.moments[present][:, [i, j]].sum(axis=0))
    if common.per <= 0.0:
        return UNKNOWN
    units = np.stack([n[present], m[present]], axis=1)
    parts = []
    for arm in (i, j):
        moments = sums.moments[present, arm]
        share = weights / moments[:, UNITS]
        value, per = float(share @ moments[:, VALUE]), float(share @ moments[:, PER])
        if per <= 0.0:
            return UNKNOWN
        mean = per / float(weights.sum())
        parts.append(_linearised(moments, common.adjustment._replace(ratio=value / per, per=mean)))
    totals, squares, cubes = np.stack(parts, axis=-1)
    return estimated_pair(units, totals, squares, cubes, 0, 1)
