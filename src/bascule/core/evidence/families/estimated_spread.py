"""Estimated spread: the evidence of a known one, with totals divided by what the pair has shown.

With n and m units of two arms in a block and `h = n m / (n + m)`, the block's difference times h
has the variance `h^2 (v_i / n + v_j / m)`, so that the total of a pair has
`v_i share + v_j (clock - share)`. The guarantee is asymptotic: docs/explanation/unknown-spread.md.

The horizon of a test is a variance of a pair's total: that at which the planned effect is `reach`
standard errors of its estimate, were all blocks as uneven as they can be, with the fewest units of
the arm that varies most. So it does not depend on how units are divided, and the boundary is flat.
docs/explanation/horizon.md has the derivation.
"""

from __future__ import annotations

import math

from bascule.core.evidence.families.bets import UNSEEN
from bascule.core.evidence.families.known_spread import can_reach, is_enough, scaled_interval
from bascule.core.evidence.families.rows import (
    ARM_CUBES,
    ARM_OF_CUBES,
    ARM_SQUARES,
    ARM_SUM,
    BLOCK_CUBES,
    BLOCK_SQUARES,
    BLOCK_SUM,
    BLOCK_UNITS,
    CLOCK,
    TOTAL,
    UNITS,
    Ends,
    Family,
    Params,
    Row,
    Rows,
    add_block,
    fold_square,
    nothing_shared,
    one_sided,
)
from bascule.core.evidence.spread import (
    larger_variances,
    skewness,
    squares_about_mean,
    units_needed,
)

SHARE = CLOCK + 1
"""Column of a pair: the part of its clock that the first arm adds."""


def observe(arm: Row, value: float) -> None:
    """Add one outcome, its square and its cube to the current block."""
    square = value * value
    arm[BLOCK_SUM] += value
    arm[BLOCK_SQUARES] += square
    arm[BLOCK_CUBES] += square * value


def count(arm: Row, ones: float) -> None:
    """Add so many outcomes of 1."""
    arm[BLOCK_SUM] += ones
    arm[BLOCK_SQUARES] += ones
    arm[BLOCK_CUBES] += ones


def fold_arm(arm: Row) -> None:
    """Take the complete block into the moments of an arm."""
    fold_square(arm)
    arm[ARM_CUBES] += arm[BLOCK_CUBES]
    arm[BLOCK_CUBES] = 0.0


def spread(arms: Rows, arm_count: int, params: Params) -> float:
    """Return the standard deviation of all outcomes of complete blocks."""
    units, total, squares = 0.0, 0.0, 0.0
    for i in range(arm_count):
        units += arms[i][UNITS]
        total += arms[i][ARM_SUM]
        squares += arms[i][ARM_SQUARES]
    about = squares_about_mean(units, total, squares)
    return math.sqrt(about / units) if about > 0.0 else UNSEEN


def update(pair: Row, mine: Row, theirs: Row, before: float, after: float, params: Params) -> None:
    """Add a complete block to the total, the clock and the first arm's part of it."""
    add_block(pair, mine, theirs, params.precision)
    both = 1.0 / (mine[BLOCK_UNITS] + theirs[BLOCK_UNITS])
    weight = mine[BLOCK_UNITS] * theirs[BLOCK_UNITS] * both
    pair[SHARE] += weight * theirs[BLOCK_UNITS] * both


def squares_of(arm: Row) -> float:
    """Return the squared distances of an arm's outcomes from their mean."""
    about: float = squares_about_mean(arm[UNITS], arm[ARM_SUM], arm[ARM_SQUARES])
    return about


def least_variance(mine: Row, theirs: Row) -> float:
    """Return a variance that the estimate of a pair is never below: the smaller of its arms'."""
    own: float = squares_of(mine) / max(mine[UNITS] - 1.0, 1.0)
    other: float = squares_of(theirs) / max(theirs[UNITS] - 1.0, 1.0)
    return min(own, other)


def variances(pair: Row, mine: Row, theirs: Row) -> tuple[float, float, float]:
    """Return the variance of one outcome of each arm, and the average of their own ones.

    Infinite while nothing is known of it, and while an arm has fewer units than its skewness asks
    for: then nothing can be decided.
    """
    about, other_about = squares_of(mine), squares_of(theirs)
    own, other, average = math.inf, math.inf, math.inf
    if pair[CLOCK] > 0.0 and about + other_about > 0.0:
        common = skewness(
            mine[UNITS] + theirs[UNITS],
            mine[ARM_SUM] + theirs[ARM_SUM],
            mine[ARM_SQUARES] + theirs[ARM_SQUARES],
            mine[ARM_CUBES] + theirs[ARM_CUBES],
        )
        of_mine = skewness(mine[UNITS], mine[ARM_SUM], mine[ARM_SQUARES], mine[ARM_CUBES])
        of_theirs = skewness(theirs[UNITS], theirs[ARM_SUM], theirs[ARM_SQUARES], theirs[ARM_CUBES])
        enough = mine[UNITS] >= units_needed(of_mine, common)
        if enough and theirs[UNITS] >= units_needed(of_theirs, common):
            own, other = larger_variances(mine[UNITS], about, theirs[UNITS], other_about)
            average = 0.5 * (about / (mine[UNITS] - 1.0) + other_about / (theirs[UNITS] - 1.0))
    return own, other, average


def noise_of(pair: Row, own: float, other: float) -> float:
    """Return the variance of the total of a pair whose outcomes have these variances."""
    return pair[SHARE] * own + (pair[CLOCK] - pair[SHARE]) * other  # type: ignore[no-any-return]


def pair_spread(pair: Row, mine: Row, theirs: Row) -> float:
    """Return the spread of one outcome that makes the clock the variance of the total.

    Infinite while nothing can be decided.
    """
    own, other, _ = variances(pair, mine, theirs)
    if own == math.inf or pair[CLOCK] == 0.0:
        return math.inf
    return math.sqrt(noise_of(pair, own, other) / pair[CLOCK])


def horizon_of(pair: Row, mine: Row, theirs: Row, params: Params) -> tuple[float, float, float]:
    """Return the variance of a pair's total now and at the horizon, and how high the boundary is.

    All are infinite while nothing can be decided. A test whose skewness makes it wait beyond the
    horizon ends as soon as it need not, and the boundary is that of a horizon there.
    """
    own, other, average = variances(pair, mine, theirs)
    if own == math.inf:
        return math.inf, math.inf, math.inf
    largest = (params.leaders * max(own, other) + average) / (params.leaders + 1.0)
    at_end = largest * params.reach / params.effect
    noise = noise_of(pair, own, other)
    # The last block may end beyond the horizon, by less than a batch.
    last = max(at_end * at_end + params.batch * largest, noise)
    return noise, at_end * at_end, params.constant * math.sqrt(last)


def verdict(pair: Row, mine: Row, theirs: Row, params: Params) -> float:
    """Return the total if it has reached the boundary, else 0."""
    total: float = pair[TOTAL]
    decided = False
    # Most looks end at the first question, before any moment of higher order is computed.
    least = least_variance(mine, theirs)
    if params.reach > 0.0:
        if abs(total) >= params.constant * params.reach / params.effect * least:
            decided = abs(total) >= horizon_of(pair, mine, theirs, params)[2]
    elif can_reach(total, pair[CLOCK] * least, params):
        one = pair_spread(pair, mine, theirs)
        decided = one < math.inf and is_enough(abs(total), pair[CLOCK], one, params)
    return total if decided else 0.0


def within(pair: Row, mine: Row, theirs: Row, margin: float, params: Params) -> bool:
    """Return whether the difference is found smaller than the margin."""
    room: float = margin * pair[CLOCK] - abs(pair[TOTAL])
    if params.reach > 0.0:
        return room >= horizon_of(pair, mine, theirs, params)[2]
    if room <= 0.0:
        return False
    one = pair_spread(pair, mine, theirs)
    return one < math.inf and is_enough(room, pair[CLOCK], one, params)


def interval(pair: Row, mine: Row, theirs: Row, params: Params) -> Ends:
    """Return the difference and its interval; infinitely wide until it can be decided."""
    total, clock = pair[TOTAL], pair[CLOCK]
    if clock == 0.0:
        return 0.0, -math.inf, math.inf
    if params.reach > 0.0:
        line = horizon_of(pair, mine, theirs, params)[2]
        if line == math.inf:
            return total / clock, -math.inf, math.inf
        low, high = (total - line) / clock, (total + line) / clock
        return one_sided(total / clock, low, high, total >= line, total <= -line)
    one = pair_spread(pair, mine, theirs)
    if one == math.inf:
        return total / clock, -math.inf, math.inf
    return scaled_interval(total, clock, one, params)


def outlook(
    pair: Row, mine: Row, theirs: Row, sign: float, shared: float, params: Params
) -> tuple[float, float]:
    """Return what is left until the horizon, and the way to the boundary, in units of the effect.

    Blocks are taken to be as they have been.
    """
    noise, at_end, line = horizon_of(pair, mine, theirs, params)
    if noise == math.inf:
        return math.inf, 0.0
    scale = params.effect * pair[CLOCK] / noise
    return scale * scale * (at_end - noise), scale * (line - sign * pair[TOTAL])


def progress(pair: Row, mine: Row, theirs: Row, shared: float, params: Params) -> float:
    """Return which part of its variance at the horizon the total of a pair has."""
    noise, at_end, _ = horizon_of(pair, mine, theirs, params)
    return noise / at_end if noise < math.inf else 0.0


ESTIMATED_SPREAD = Family(
    "estimated spread",
    ARM_OF_CUBES,
    SHARE + 1,
    split=False,
    first_ends=True,
    observe=observe,
    count_ones=count,
    fold_arm=fold_arm,
    shared=nothing_shared,
    spread=spread,
    update=update,
    verdict=verdict,
    within=within,
    interval=interval,
    outlook=outlook,
    progress=progress,
)
"""A spread that is estimated."""
