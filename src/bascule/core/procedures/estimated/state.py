"""Blocks of outcomes whose spread is estimated, as a stretch of a flat array.

A test is laid out as in `blocks.state`, followed by five stretches of a number for each arm (the
squares and cubes of the current block; the sum, squares and cubes of all complete blocks), and by
one of K^2: which part of the clock of the pair (i, j) arm i adds. With n and m units of two arms in
a block and `h = n m / (n + m)`, the block's difference times h has the variance
`h^2 (v_i / n + v_j / m)`, so that the total of a pair has `v_i share + v_j (clock - share)`. The
variances are those of `core.evidence.spread`. docs/explanation/unknown-spread.md
"""

from __future__ import annotations

import math

from bascule.core.evidence.spread import (
    larger_variances,
    skewness,
    squares_about_mean,
    units_needed,
)
from bascule.core.procedures.blocks.betting import UNSEEN
from bascule.core.procedures.blocks.state import Criterion, reached
from bascule.core.procedures.blocks.state import fold as fold_pairs
from bascule.core.procedures.blocks.state import leader as leader_of_pairs
from bascule.core.procedures.blocks.state import width as width_of_pairs
from bascule.core.procedures.intervals.margin import scaled_pairs_within
from bascule.core.types import FloatArray

SUMS = 5
"""Stretches of one number for each arm."""


def width(arms: int) -> int:
    """Numbers that one test takes.

    >>> width(2) == width_of_pairs(2) + 14
    True
    """
    return width_of_pairs(arms) + SUMS * arms + arms * arms


def clear(state: FloatArray, first: int, arms: int) -> None:
    """Reset the test that begins at `first`: no units yet, and every arm active."""
    for i in range(width(arms)):
        state[first + i] = 0.0
    for arm in range(arms):
        state[first + arms + arm] = 1.0


def observe(state: FloatArray, first: int, arms: int, arm: int, value: float) -> None:
    """Add one outcome to the current block."""
    block = first + width_of_pairs(arms) + arm
    square = value * value
    state[first + 3 * arms + arm] += value
    state[block] += square
    state[block + arms] += square * value


def fold(state: FloatArray, first: int, arms: int, precision: float) -> None:
    """Take the current block, which is complete, into the units, the pairs and the moments."""
    fold_pairs(state, first, arms, precision)
    counts = first + 2 * arms
    block = first + width_of_pairs(arms)
    shares = block + SUMS * arms
    for i in range(arms):
        mine = state[counts + i]
        state[block + 2 * arms + i] += state[counts + arms + i]
        state[block + 3 * arms + i] += state[block + i]
        state[block + 4 * arms + i] += state[block + arms + i]
        for k in (counts + arms + i, block + i, block + arms + i):
            state[k] = 0.0
        for j in range(i + 1, arms):
            theirs = state[counts + j]
            if mine > 0.0 and theirs > 0.0:
                both = 1.0 / (mine + theirs)
                weight = mine * theirs * both
                state[shares + i * arms + j] += weight * theirs * both
                state[shares + j * arms + i] += weight * mine * both


def spread(state: FloatArray, first: int, arms: int) -> float:
    """The standard deviation of all outcomes of complete blocks."""
    sums = first + width_of_pairs(arms) + 2 * arms
    units = 0.0
    total = 0.0
    squares = 0.0
    for arm in range(arms):
        units += state[first + arm]
        total += state[sums + arm]
        squares += state[sums + arms + arm]
    about = squares_about_mean(units, total, squares)
    return math.sqrt(about / units) if about > 0.0 else UNSEEN


def leader(state: FloatArray, first: int, arms: int) -> tuple[int, float]:
    """The arm that is furthest ahead, and how far, in standard deviations as they were seen."""
    best, ahead = leader_of_pairs(state, first, arms)
    return best, ahead / spread(state, first, arms)


def pair_variances(
    state: FloatArray, first: int, arms: int, i: int, j: int
) -> tuple[float, float, float]:
    """The variance of one outcome of each arm of a pair, and the average of their own ones.

    Infinite while nothing is known of it, and while an arm has fewer units than its skewness asks
    for: then nothing can be decided.
    """
    sums = first + width_of_pairs(arms) + 2 * arms
    clock = state[first + 4 * arms + arms * arms + i * arms + j]
    units_i, units_j = state[first + i], state[first + j]
    total_i, total_j = state[sums + i], state[sums + j]
    squares_i, squares_j = state[sums + arms + i], state[sums + arms + j]
    about_i = squares_about_mean(units_i, total_i, squares_i)
    about_j = squares_about_mean(units_j, total_j, squares_j)
    own, other, average = math.inf, math.inf, math.inf
    if clock > 0.0 and about_i + about_j > 0.0:
        cubes_i, cubes_j = state[sums + 2 * arms + i], state[sums + 2 * arms + j]
        common = skewness(
            units_i + units_j, total_i + total_j, squares_i + squares_j, cubes_i + cubes_j
        )
        mine = skewness(units_i, total_i, squares_i, cubes_i)
        theirs = skewness(units_j, total_j, squares_j, cubes_j)
        if units_i >= units_needed(mine, common) and units_j >= units_needed(theirs, common):
            own, other = larger_variances(units_i, about_i, units_j, about_j)
            average = 0.5 * (about_i / (units_i - 1.0) + about_j / (units_j - 1.0))
    return own, other, average


def pair_noise(
    state: FloatArray, first: int, arms: int, i: int, j: int, own: float, other: float
) -> float:
    """The variance of the total of a pair whose outcomes have these variances."""
    clock = state[first + 4 * arms + arms * arms + i * arms + j]
    share = state[first + width_of_pairs(arms) + SUMS * arms + i * arms + j]
    return share * own + (clock - share) * other  # type: ignore[no-any-return]


def pair_spread(state: FloatArray, first: int, arms: int, i: int, j: int) -> float:
    """The spread of one outcome that makes the clock of a pair the variance of its total.

    Infinite while nothing can be decided.
    """
    own, other, _ = pair_variances(state, first, arms, i, j)
    clock = state[first + 4 * arms + arms * arms + i * arms + j]
    if own == math.inf or clock == 0.0:
        return math.inf
    return math.sqrt(pair_noise(state, first, arms, i, j, own, other) / clock)


def drop_beaten(
    state: FloatArray, first: int, arms: int, criterion: Criterion, floors: FloatArray
) -> None:
    """Drop, in place, each arm that another active one has beaten."""
    totals = first + 4 * arms
    clocks = totals + arms * arms
    least = spread_at_least(state, first, arms)
    for i in range(arms):
        for j in range(i + 1, arms):
            total = abs(state[totals + i * arms + j])
            clock = state[clocks + i * arms + j]
            # Most looks end here, before any moment of higher order is computed.
            if (
                criterion.can_reach(total, clock * least, criterion.threshold)
                and state[first + arms + i] > 0.0
                and state[first + arms + j] > 0.0
            ):
                one = pair_spread(state, first, arms, i, j)
                if one < math.inf and reached(total, clock, one, criterion):
                    ahead = state[totals + i * arms + j] > 0.0
                    state[first + arms + (j if ahead else i)] = 0.0


def spread_at_least(state: FloatArray, first: int, arms: int) -> float:
    """A variance that no pair's estimate is below: the smallest of any arm's own."""
    sums = first + width_of_pairs(arms) + 2 * arms
    least = math.inf
    for arm in range(arms):
        units = state[first + arm]
        about = squares_about_mean(units, state[sums + arm], state[sums + arms + arm])
        least = min(least, about / max(units - 1.0, 1.0))
    return least


def pairs_within(
    state: FloatArray, first: int, arms: int, criterion: Criterion, margin: float
) -> bool:
    """Whether every difference between active arms is found smaller than the margin."""
    return scaled_pairs_within(state, first, arms, criterion, margin, pair_spread)
