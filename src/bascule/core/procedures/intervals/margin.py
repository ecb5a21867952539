"""Whether every difference between active arms is proven smaller than what matters.

One function for each kind of evidence; docs/explanation/ends.md has the proof. The margin is in
units of the outcomes' scale, as the totals of the blocks are, but for intervals, whose ends are in
outcome units.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from bascule.core.evidence.betting import log_shifted_wealth
from bascule.core.evidence.two_arms import log_two_arms
from bascule.core.procedures.blocks.betting import sums_of
from bascule.core.procedures.blocks.state import Criterion, reached
from bascule.core.procedures.intervals.state import round_complete, stretches, value_of
from bascule.core.types import FloatArray

PairSpread = Callable[[FloatArray, int, int, int, int], float]
"""(state, first, arms, i, j) -> the spread of one outcome, in units of the totals."""


def known_spread(state: FloatArray, first: int, arms: int, i: int, j: int) -> float:
    """Return 1: totals of outcomes with a known spread are in units of it."""
    return 1.0


def pairs_within(
    state: FloatArray, first: int, arms: int, criterion: Criterion, margin: float
) -> bool:
    """Blocks with a known spread: the evidence that a difference is below the margin is enough."""
    return scaled_pairs_within(state, first, arms, criterion, margin, known_spread)


def scaled_pairs_within(
    state: FloatArray,
    first: int,
    arms: int,
    criterion: Criterion,
    margin: float,
    spread_of: PairSpread,
) -> bool:
    """Blocks whose pairs have each a spread; an infinite one is not known yet."""
    totals = first + 4 * arms
    clocks = totals + arms * arms
    within = True
    for i in range(arms):
        for j in range(i + 1, arms):
            if within and state[first + arms + i] > 0.0 and state[first + arms + j] > 0.0:
                clock = state[clocks + i * arms + j]
                # The nearer end of the margin is the harder one.
                room = margin * clock - abs(state[totals + i * arms + j])
                within = room > 0.0
                if within:
                    spread = spread_of(state, first, arms, i, j)
                    within = spread < math.inf and reached(room, clock, spread, criterion)
    return within


def bets_within(
    state: FloatArray, first: int, arms: int, criterion: Criterion, margin: float
) -> bool:
    """Blocks with bets: those that the difference is within the margin have won enough."""
    centre, threshold = criterion.effect, criterion.threshold
    within = True
    for i in range(arms):
        for j in range(i + 1, arms):
            if within and state[first + arms + i] > 0.0 and state[first + arms + j] > 0.0:
                summed = sums_of(first, arms, i, j)
                differences = state[summed + 1]
                within = (
                    abs(differences) < margin * state[summed]
                    and log_shifted_wealth(
                        state[summed], differences, state[summed + 2], -margin, centre
                    )
                    >= threshold
                    and log_shifted_wealth(
                        state[summed], -differences, state[summed + 2], -margin, centre
                    )
                    >= threshold
                )
    return within


def intervals_within(
    state: FloatArray, first: int, arms: int, sigma: float, threshold: float, margin: float
) -> bool:
    """Intervals: from the lowest end to the highest of all active arms."""
    _, lowers, uppers = stretches(first, arms)
    lowest = math.inf
    highest = -math.inf
    for arm in range(arms):
        upper = value_of(state, uppers, arms, arm)
        if upper > -math.inf:
            highest = max(highest, upper)
            lowest = min(lowest, value_of(state, lowers, arms, arm))
    return highest - lowest < margin


def rounds_within(
    state: FloatArray, first: int, arms: int, sigma: float, threshold: float, margin: float
) -> bool:
    """Intervals of an even split, which are compared after full rounds only."""
    complete = round_complete(state, first, arms)
    return complete and intervals_within(state, first, arms, sigma, threshold, margin)


def two_arms_within(
    state: FloatArray, first: int, arms: int, sigma: float, threshold: float, margin: float
) -> bool:
    """The evidence of two arms for arbitrary sampling, against either end of the margin."""
    _, _, uppers = stretches(first, arms)
    within = True
    for i in range(arms):
        for j in range(i + 1, arms):
            upper_i = value_of(state, uppers, arms, i)
            upper_j = value_of(state, uppers, arms, j)
            if within and upper_i > -math.inf and upper_j > -math.inf:
                units_i = state[first + i]
                units_j = state[first + j]
                seen = units_i > 0.0 and units_j > 0.0
                within = seen and upper_i < math.inf and upper_j < math.inf
                if within:
                    difference = state[first + arms + i] / units_i
                    difference -= state[first + arms + j] / units_j
                    room = (margin - abs(difference)) / sigma
                    within = room > 0.0
                    if within:
                        within = log_two_arms(room, units_i, units_j, threshold) >= threshold
    return within
