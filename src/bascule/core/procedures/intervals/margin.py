"""Whether every difference between active arms is proven smaller than what matters, by intervals.

docs/research/ends.md has the proof. The margin is in outcome units.
"""

from __future__ import annotations

import math

from bascule.core.evidence.two_arms import log_two_arms
from bascule.core.procedures.intervals.state import (
    round_complete,
    stretches,
    total_of,
    units_of,
)
from bascule.core.types import FloatArray


def intervals_within(
    state: FloatArray, first: int, arms: int, sigma: float, threshold: float, margin: float
) -> bool:
    """Intervals: from the lowest end to the highest of all active arms."""
    _, lowers, uppers = stretches(first, arms)
    lowest = math.inf
    highest = -math.inf
    for arm in range(arms):
        upper = state[uppers + arm]
        if upper > -math.inf:
            highest = max(highest, upper)
            lowest = min(lowest, state[lowers + arm])
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
            upper_i = state[uppers + i]
            upper_j = state[uppers + j]
            if within and upper_i > -math.inf and upper_j > -math.inf:
                units_i = units_of(state, first, i)
                units_j = units_of(state, first, j)
                both = units_i > 0.0 and units_j > 0.0
                within = both and upper_i < math.inf and upper_j < math.inf
                if within:
                    difference = total_of(state, first, arms, i) / units_i
                    difference -= total_of(state, first, arms, j) / units_j
                    room = (margin - abs(difference)) / sigma
                    within = room > 0.0
                    if within:
                        within = log_two_arms(room, units_i, units_j, threshold) >= threshold
    return within
