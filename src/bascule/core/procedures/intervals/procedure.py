"""The procedure of rules that compare intervals of arms, unit by unit."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from bascule.core.evidence.families.rows import Difference
from bascule.core.evidence.normal import mixture_boundary
from bascule.core.evidence.radius import FIRST_UNITS, Radius, radius
from bascule.core.evidence.two_arms import ceiling, least_product
from bascule.core.procedures.base import (
    FEW_PAIRS,
    UNKNOWN,
    AnyStatistics,
    Interval,
    Procedure,
)
from bascule.core.procedures.intervals.state import (
    MOST_ARMS,
    ROWS,
    SCORES,
    STEPS_PER_E_FOLD,
    UPPERS,
    Steps,
    Within,
    highest,
    place,
)
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.core.types import NO_DIFFERENCE, NOBODY, FloatArray

REACH_TOLERANCE, CEILING_TOLERANCE, FIRST_REACH_STEP = 1e-7, 1e-3, 0.01
"""Tolerances of `two_arms_reach`: the relative precision of the result, the precision in log
evidence of the start of the search, and the relative size of its first step."""

SMALLEST_THRESHOLD = 1e-9
"""Smallest log threshold in the search for a difference, so that it starts above 0."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The radius that a rule uses, with its parameters.

    `radius` is called with (units, sigma, factor, count, delta). The proven error is
    `sequences * peel(delta / count)` with the paper's radius, and `sequences * delta` with that of
    a mixture.
    """

    factor: float
    count: float
    sequences: int
    radius: Radius = radius


def log_threshold(arms: int, error: float) -> float:
    """Return the log evidence that a leader needs against each of its rivals.

    >>> round(math.exp(log_threshold(3, 0.05)))
    40
    """
    return math.log((arms - 1) / error)


class Shown(NamedTuple):
    """The statistics of one arm that its interval needs."""

    units: float
    """Number of units of the arm."""
    clock: float
    """Number of units of the arm, or the sum of their weights if outcomes recur."""
    total: float
    """The sum of the arm's outcomes, or of the weighted averages of its units."""
    radius: float
    """Half the width of the interval around the arm's mean."""

    @property
    def mean(self) -> float:
        """The average of the arm's outcomes, or of its units; 0 before the first."""
        return self.total / self.clock if self.clock else 0.0


@dataclass(frozen=True, slots=True)
class ArmProcedure(Procedure):
    """The base of interval procedures, for single and for recurring outcomes.

    `alpha` is the parameter of UCB. With `pairwise` the evidence of each pair decides, instead of
    intervals that no longer overlap. With `eliminates` beaten arms are dropped while the test goes
    on with the others.
    """

    alpha: float
    steps: Steps
    within: Within
    pairwise: bool
    eliminates: bool
    assigns: ClassVar[Literal["units"]] = "units"
    assumes: ClassVar[str] = "if means do not change in time"
    has_intervals: ClassVar[bool] = True

    @property
    @abstractmethod
    def sequences(self) -> int:
        """Number of confidence sequences that share the error: one per arm, or per rival."""

    @property
    def threshold(self) -> float:
        """The log evidence that a leader needs against each rival."""
        return log_threshold(self.arms, self.design.calibration.error)

    @property
    def end_error(self) -> float:
        """Bound on the probability that a given end of a given interval is ever wrong."""
        error = self.design.calibration.error
        if self.pairwise or self.sequences < self.arms:
            return error / (self.arms - 1)
        # An end is wrong only if the interval of one of the two arms is wrong on that side.
        return min(1.0, 2.0 * error / self.arms)

    @property
    def by_difference(self) -> bool:
        """Whether the interval of a difference holds only if both arms have the same clock."""
        return not self.pairwise and self.sequences < self.arms

    @property
    def strict_error(self) -> float:
        """Error to use once an arm was removed.

        The probability of a wrong statement about any pair is then at most the design's error.
        """
        error = self.design.calibration.error
        if self.pairwise or self.by_difference:
            return min(1.0, 2.0 / self.arms) * error
        return 0.5 * error

    @property
    def keeps_bounds(self) -> bool:
        """Whether running intersections are stored; for two arms only if `by_difference`."""
        return self.arms <= MOST_ARMS and (self.arms > 2 or self.by_difference)

    @property
    def steps_kept(self) -> float:
        """Number of times that intervals are stored while the units grow by a factor of e.

        It is infinite, so that intervals are stored at every look, if there are few arms and each
        interval is the sum of two radii.
        """
        many = math.comb(self.arms, 2) / FEW_PAIRS
        if self.pairwise:
            return STEPS_PER_E_FOLD / max(1.0, many)
        return math.inf if many <= 1.0 else STEPS_PER_E_FOLD

    @property
    def even(self) -> bool:
        """Whether the split is even, which is the case if alpha is infinite."""
        return math.isinf(self.alpha)

    @property
    def has_separate(self) -> bool:
        """Whether the means of single arms have intervals too, and not only differences."""
        return True

    @abstractmethod
    def shown(self, statistics: AnyStatistics) -> list[Shown]:
        """Return the statistics of each arm; raise `InputError` for those of another design."""

    def intervals(self, statistics: AnyStatistics) -> tuple[Interval, ...]:
        """Return the interval of each arm; infinitely wide until the arm has three units.

        If looks are planned, the intervals hold only at the looks.
        """
        return tuple(Interval(arm.mean, arm.radius) for arm in self.shown(statistics))

    def state_of(self, statistics: AnyStatistics) -> FloatArray:
        """Return the statistics as the array of rows that the steps of the rule use."""
        arms, out = self.arms, statistics.out
        state = np.empty((ROWS, arms))
        for i, arm in enumerate(self.shown(statistics)):
            if i in out:
                place(state, i, arm.clock, arm.total, -math.inf, 0.0, -math.inf)
            else:
                mean, wide = arm.mean, arm.radius
                urgency = self.steps.score(mean, wide, arm.units, self.alpha)
                place(state, i, arm.clock, arm.total, mean, wide, urgency)
        return state

    def next_arm(self, statistics: AnyStatistics) -> int:
        """Return the arm that the next unit joins."""
        return highest(self.state_of(statistics)[SCORES], self.arms)

    def may_decide(self, statistics: AnyStatistics) -> bool:
        """Return whether the rule allows a decision now."""
        return True

    def winner(self, statistics: AnyStatistics) -> int:
        """Return the arm that has won, `NO_DIFFERENCE` or `NOBODY`."""
        return self.decided(statistics)[1]

    def decided(self, statistics: AnyStatistics) -> tuple[FloatArray, int]:
        """Return the rows after the rule has dropped beaten arms, and the winner."""
        state = self.state_of(statistics)
        if not self.may_decide(statistics):
            return state, NOBODY
        asked = (state, self.arms, self.outcome.sigma, self.threshold)
        winner, margin = self.steps.decide(*asked), self.design.min_effect
        if winner == NOBODY and margin is not None and self.within(*asked, margin):
            winner = NO_DIFFERENCE
        return state, winner

    def dropped(self, statistics: AnyStatistics) -> frozenset[int]:
        """Return all arms that were dropped because another arm has beaten them, now or before."""
        (state, _), arms = self.decided(statistics), self.arms
        out = frozenset(arm for arm in range(arms) if state[UPPERS][arm] == -math.inf)
        return (statistics.dropped | out) - statistics.removed

    def differences(self, statistics: AnyStatistics) -> list[Difference]:
        """Return the interval of every difference, from the evidence that decides."""
        shown = self.shown(statistics)
        if self.pairwise:
            return self._differences_of_pairs(shown)
        differences, alike = (
            differences_of_intervals([(arm.mean, arm.radius) for arm in shown]),
            _alike(shown),
        )
        if all(alike) or not self.by_difference:
            return differences
        alone = differences_of_intervals([(arm.mean, self._radius_alone(arm)) for arm in shown])
        listed = zip(differences, alone, alike, strict=True)
        return [pair if same else replacement for pair, replacement, same in listed]

    def known_differences(self, statistics: AnyStatistics) -> list[Difference]:
        """Return `differences`, with infinite intervals for those that hold only at some looks.

        An interval that holds only if both arms have the same clock is infinite at other times.
        """
        differences = self.differences(statistics)
        if not self.by_difference:
            return differences
        return [
            pair if is_alike else (pair[0], -math.inf, math.inf)
            for pair, is_alike in zip(differences, _alike(self.shown(statistics)), strict=True)
        ]

    def _radius_alone(self, arm: Shown) -> float:
        """Return the radius of a normal mixture around the mean of one arm alone.

        Each end is wrong with at most half the error probability of a difference.
        """
        if not self.has_separate or arm.units < FIRST_UNITS:
            return math.inf
        level = -math.log(0.5 * self.end_error)
        return self.outcome.sigma * mixture_boundary(arm.clock, level) / arm.clock

    def _differences_of_pairs(self, shown: Sequence[Shown]) -> list[Difference]:
        differences = []
        for mine, theirs in combinations(shown, 2):
            if min(mine.clock, theirs.clock) == 0:
                differences.append(UNKNOWN)
                continue
            reach = self.outcome.sigma * two_arms_reach(mine.clock, theirs.clock, self.threshold)
            difference = mine.mean - theirs.mean
            differences.append((difference, difference - reach, difference + reach))
        return differences


@dataclass(frozen=True, slots=True)
class IntervalProcedure(ArmProcedure):
    """Intervals of arms whose units give one outcome each."""

    shape: Shape
    counts: ClassVar[Literal["units"]] = "units"
    kind: ClassVar[str] = "intervals"

    @property
    def sequences(self) -> int:
        """Number of confidence sequences that share the error."""
        return self.shape.sequences

    def empty(self) -> Statistics:
        """Return the statistics before the first unit."""
        return Statistics.empty(self.arms)

    def radius_of(self, arm: ArmStatistics) -> float:
        """Return the radius of an arm, from its statistics."""
        shape, delta = self.shape, self.design.calibration.delta
        return shape.radius(arm.units, self.outcome.sigma, shape.factor, shape.count, delta)

    def shown(self, statistics: AnyStatistics) -> list[Shown]:
        """Return the units, the sum and the radius of each arm."""
        self.check(statistics)
        assert isinstance(statistics, Statistics)
        return [
            Shown(float(arm.units), float(arm.units), arm.total, self.radius_of(arm))
            for arm in statistics.arms
        ]

    def record(self, statistics: Statistics, arm: int, value: float) -> Statistics:
        """Return the statistics after a further outcome, with newly beaten arms dropped."""
        self.outcome.check_value(value)
        after = statistics.record(arm, value)
        return replace(after, dropped=self.dropped(after))


def _alike(shown: Sequence[Shown]) -> list[bool]:
    """Return for each pair of arms whether both have equally many units and the same clock."""
    return [
        mine.units == theirs.units and math.isclose(mine.clock, theirs.clock, rel_tol=1e-9)
        for mine, theirs in combinations(shown, 2)
    ]


def differences_of_intervals(intervals: Sequence[tuple[float, float]]) -> list[Difference]:
    """Return the interval of every difference of two arms, from the mean and radius of each arm."""
    differences = []
    for (mine, wide), (theirs, other_radius) in combinations(intervals, 2):
        reach, difference = wide + other_radius, mine - theirs
        differences.append((difference, difference - reach, difference + reach))
    return differences


def two_arms_reach(units_a: float, units_b: float, threshold: float) -> float:
    """Return the smallest difference of two means that decides, in outcome standard deviations.

    The evidence is convex in the difference, so false position with halved weights (the Illinois
    method) needs only a few steps. The result is the end of the last bracket that has enough
    evidence.

    >>> reach = two_arms_reach(100.0, 50.0, 3.0)
    >>> round(reach, 4)
    0.5863
    """
    share = units_b / (units_a + units_b)

    def missing(difference: float) -> float:
        # The search starts from the least favourable means of the previous difference.
        nonlocal share
        start = share * difference
        value, error_a = least_product(difference, units_a, units_b, start, -math.inf)
        share = error_a / difference
        return value - threshold

    # The evidence is never above its ceiling, which is much quicker to compute and often close.
    precision = 1.0 / (1.0 / units_a + 1.0 / units_b)
    low = math.sqrt(2.0 * max(threshold, SMALLEST_THRESHOLD) / precision)
    while (short := threshold - ceiling(low * precision, units_a, units_b)) > CEILING_TOLERANCE:
        # The ceiling rises at most as fast as difference^2 / 2 times the precision.
        low = math.sqrt(low * low + 2.0 * short / precision)
    step = FIRST_REACH_STEP * low
    high = low + step
    below, above = missing(low), missing(high)
    while above < 0.0:
        low, below = high, above
        step *= 4.0
        high += step
        above = missing(high)
    side = 0
    while high - low > REACH_TOLERANCE * high and below < 0.0:
        middle = (low * above - high * below) / (above - below)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        value = missing(middle)
        if value >= 0.0:
            high, above = middle, value
            below = 0.5 * below if side > 0 else below
            side = 1
        else:
            low, below = middle, value
            above = 0.5 * above if side < 0 else above
            side = -1
    return high if below < 0.0 else low
