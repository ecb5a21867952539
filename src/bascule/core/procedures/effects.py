"""By how much arms differ: an interval for the difference of every pair, valid at any time.

It is made of the evidence that decides, at the same threshold: a difference lies in the interval
unless the evidence against it is enough. So an arm is beaten exactly when the interval of its
difference from a rival lies on one side of 0. docs/explanation/ends.md has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bascule.core.design import Design
from bascule.core.evidence.betting import log_shifted_wealth, log_wealth
from bascule.core.evidence.normal import informed_boundary, mixture_boundary
from bascule.core.evidence.two_arms import log_two_arms
from bascule.core.outcomes import Gaussian, Recurrent
from bascule.core.procedures.blocks import evidence_wanted
from bascule.core.procedures.cohorts import CohortStatistics
from bascule.core.procedures.intervals import AnyStatistics, intervals
from bascule.core.procedures.population import scale
from bascule.core.procedures.recurrent import arm_interval
from bascule.core.procedures.static import stage_threshold
from bascule.core.rules import UCB, Static, Tilt
from bascule.core.rules.calibration import Guarantee
from bascule.core.rules.mixture import log_threshold
from bascule.core.statistics import PairStatistics, Statistics

HALVINGS = 60
"""Steps in search of an end: as many as a number has digits."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The mean of one arm less that of another, and the interval that it lies in.

    Each end is ever wrong with a probability of at most `error`; both ends are infinite while too
    little is known.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    error: float
    guarantee: Guarantee


def effects(design: Design, statistics: AnyStatistics) -> tuple[Effect, ...]:
    """The difference of every pair of arms, the earlier less the later one.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05)
    >>> seen = bs.Statistics((bs.ArmStatistics(100, 100.0), bs.ArmStatistics(100, 0.0)))
    >>> (found,) = effects(design, seen)
    >>> found.difference, round(found.low, 2), round(found.high, 2)
    (1.0, 0.19, 1.81)
    """
    if isinstance(design.rule, Static) and isinstance(statistics, CohortStatistics):
        found = _of_population(design, design.rule, statistics)
    elif isinstance(design.rule, Tilt) and isinstance(statistics, Statistics):
        found = _of_blocks(design, design.rule, statistics)
    elif isinstance(design.rule, UCB) and design.rule.stop == "mixture":
        found = _of_two_arms(design, statistics)
    else:
        found = _of_intervals(design, statistics)
    promise, error = design.calibration, error_of_an_end(design)
    names = combinations(design.arms, 2)
    return tuple(
        Effect(first, second, *ends, error, promise.guarantee)
        for (first, second), ends in zip(names, found, strict=True)
    )


def beaten_by(design: Design, statistics: AnyStatistics, without: frozenset[int]) -> frozenset[int]:
    """Arms that the evidence puts below some other arm, one that is not among `without`.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05)
    >>> seen = bs.Statistics((bs.ArmStatistics(100, 100.0), bs.ArmStatistics(100, 0.0)))
    >>> sorted(beaten_by(design, seen, without=frozenset()))
    [1]
    """
    beaten = set()
    pairs = combinations(range(len(design.arms)), 2)
    for (i, j), effect in zip(pairs, effects(design, statistics), strict=True):
        if effect.low >= 0.0 and i not in without:
            beaten.add(j)
        if effect.high <= 0.0 and j not in without:
            beaten.add(i)
    return frozenset(beaten)


def error_of_an_end(design: Design) -> float:
    """The probability that one end of one interval is ever wrong.

    >>> import bascule as bs
    >>> error_of_an_end(bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3), error=0.05))
    0.025
    """
    arms, error = len(design.arms), design.calibration.error
    of_pairs = isinstance(design.rule, (Tilt, Static)) or (
        isinstance(design.rule, UCB) and design.rule.stop == "mixture"
    )
    if of_pairs or _sequences(design) < arms:
        return error / (arms - 1)
    # An end needs the intervals of two arms, each of which may fail on the side that counts.
    return min(1.0, 2.0 * error / arms)


def _sequences(design: Design) -> int:
    if isinstance(design.outcome, Recurrent):
        return design.paper_rule.unit_shape(len(design.arms)).sequences
    return design.paper_rule.shape(design.outcome, len(design.arms)).sequences


Ends = tuple[float, float, float]
"""Difference, lower end, upper end."""

UNKNOWN: Ends = (0.0, -math.inf, math.inf)


def _of_intervals(design: Design, statistics: AnyStatistics) -> list[Ends]:
    found = []
    for mine, theirs in combinations(intervals(design, statistics), 2):
        reach, difference = mine.radius + theirs.radius, mine.mean - theirs.mean
        found.append((difference, difference - reach, difference + reach))
    return found


def _of_population(design: Design, rule: Static, statistics: CohortStatistics) -> list[Ends]:
    """What the difference of two means is compared with, on either side of it."""
    arms = len(design.arms)
    if statistics.stage == 0:
        return [UNKNOWN] * (arms * (arms - 1) // 2)
    limit, sizes = stage_threshold(design, statistics.stage), rule.sizes(arms)
    means = [sum(cohort.means for cohort in arm.cohorts) / arm.units for arm in statistics.arms]
    found = []
    for i, j in combinations(range(arms), 2):
        reach, difference = limit / scale(sizes[i], sizes[j]), means[i] - means[j]
        found.append((difference, difference - reach, difference + reach))
    return found


def _of_two_arms(design: Design, statistics: AnyStatistics) -> list[Ends]:
    threshold = log_threshold(len(design.arms), design.calibration.error)
    found = []
    for (units, mean), (rivals, theirs) in combinations(_clocks(design, statistics), 2):
        if min(units, rivals) == 0:
            found.append(UNKNOWN)
            continue
        reach = design.outcome.sigma * _reach(units, rivals, threshold)
        difference = mean - theirs
        found.append((difference, difference - reach, difference + reach))
    return found


def _clocks(design: Design, statistics: AnyStatistics) -> list[tuple[float, float]]:
    """Units, or what takes their place, and mean of each arm."""
    if isinstance(statistics, Statistics):
        return [(arm.units, arm.mean) for arm in statistics.arms]
    found = [arm_interval(design, arm, statistics.stage) for arm in statistics.arms]
    return [(clock, mean) for _, clock, mean, _ in found]


def _reach(units_a: float, units_b: float, threshold: float) -> float:
    """The difference, in standard deviations, that the evidence of two arms would just find."""

    def found(difference: float) -> bool:
        return log_two_arms(difference, units_a, units_b) >= threshold

    high = 1.0
    while not found(high):
        high *= 2.0
    return _smallest(found, high)


def _of_blocks(design: Design, rule: Tilt, statistics: Statistics) -> list[Ends]:
    arms = len(design.arms)
    pairs = statistics.pairs or (PairStatistics(),) * (arms * (arms - 1) // 2)
    effect, threshold = evidence_wanted(design, rule)
    spread = design.outcome.scale
    if isinstance(design.outcome, Gaussian):
        found = [_of_pair(pair, rule, effect, threshold) for pair in pairs]
    else:
        found = [_of_bets(pair, threshold) for pair in pairs]
    return [(spread * difference, spread * low, spread * high) for difference, low, high in found]


def _of_pair(pair: PairStatistics, rule: Tilt, effect: float, threshold: float) -> Ends:
    if pair.clock == 0.0:
        return UNKNOWN
    boundary = (
        mixture_boundary(pair.clock, threshold)
        if rule.effect is None
        else informed_boundary(pair.clock, threshold, effect)
    )
    low, high = (pair.total - boundary) / pair.clock, (pair.total + boundary) / pair.clock
    decided = rule.evidence(abs(pair.total), pair.clock, effect) >= threshold
    beats, beaten = decided and pair.total > 0.0, decided and pair.total < 0.0
    return _one_sided(pair.total / pair.clock, low, high, beats, beaten)


def _of_bets(pair: PairStatistics, threshold: float) -> Ends:
    if pair.blocks == 0.0:
        return UNKNOWN
    low = _end_of_bets(pair.blocks, pair.differences, pair.squares, threshold)
    high = -_end_of_bets(pair.blocks, -pair.differences, pair.squares, threshold)
    half = len(pair.wins) // 2
    wins = np.array(pair.wins)
    beats, beaten = log_wealth(wins, 0) >= threshold, log_wealth(wins, half) >= threshold
    return _one_sided(pair.differences / pair.blocks, low, high, beats, beaten)


def _end_of_bets(blocks: float, differences: float, squares: float, threshold: float) -> float:
    """The largest shift that the bets have ruled out, looked for below the mean difference."""
    mean = differences / blocks

    def ruled_out(below: float) -> bool:
        shift = mean - below
        # No difference lies below -1, whatever was bet.
        return shift <= -1.0 or log_shifted_wealth(blocks, differences, squares, shift) >= threshold

    return mean - _smallest(ruled_out, 1.0 + mean)


def _one_sided(difference: float, low: float, high: float, beats: bool, beaten: bool) -> Ends:
    """The ends, kept from reaching past 0, by rounding or caution, when the evidence decided."""
    return difference, max(low, 0.0) if beats else low, min(high, 0.0) if beaten else high


def _smallest(enough: Callable[[float], bool], high: float) -> float:
    """The smallest number below `high` for which there is enough evidence; it grows with it."""
    low = 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if enough(middle):
            high = middle
        else:
            low = middle
    return high
