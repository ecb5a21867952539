"""Estimated spread: the evidence of a known one, with totals divided by what the pair has shown.

With n and m units of two arms in a block and `h = n m / (n + m)`, the block's difference times h
has the variance `h^2 (v_i / n + v_j / m)`, so that the total of a pair has
`v_i share + v_j (clock - share)`. The guarantee is asymptotic: docs/research/unknown-spread.md.

The horizon of a test is a variance of a pair's total: that at which the planned effect is `reach`
standard errors of its estimate, had both arms the larger of their variances. So neither it nor the
boundary depends on how units are divided, whatever tilt they are divided by. Skewed outcomes that
have not come yet make an arm look worse and less variable at once; the boundary is higher by what
that adds to the variance of the total's distance from it.
docs/research/horizon.md has the derivation.
"""

from __future__ import annotations

import math

from bascule.core.evidence.families.bets import UNSEEN
from bascule.core.evidence.families.known_spread import (
    can_reach,
    is_enough,
    scaled_interval,
    shift_left,
)
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
    Difference,
    Family,
    Params,
    Row,
    Rows,
    add_block,
    fold_square,
    sums_of,
)
from bascule.core.evidence.spread import (
    larger_variances,
    skewness,
    squares_about_mean,
    units_needed,
)

SHARE = CLOCK + 1
"""Column of a pair: the part of its clock that the first arm adds."""

END, MY_PULL, THEIR_PULL = range(SHARE + 1, SHARE + 4)
"""Columns of a pair at the first look past its horizon, 0 before: the variance that the boundary is
for, and what skewness adds to it for either arm. From then on the pair stands still."""


ALLOWANCE = 3.0
"""What is added to the variance of a boundary, in multiples of the constant and the covariance.

Theory says 2. Half as much again is for the covariance being estimated too small as long as the
longest tail has not shown itself.
"""


def observe(arm: Row, value: float) -> None:
    """Add one outcome, its square and its cube to the current block."""
    square = value * value
    arm[BLOCK_SUM] += value
    arm[BLOCK_SQUARES] += square
    arm[BLOCK_CUBES] += square * value


def count(arm: Row, successes: float) -> None:
    """Add so many outcomes of 1."""
    arm[BLOCK_SUM] += successes
    arm[BLOCK_SQUARES] += successes
    arm[BLOCK_CUBES] += successes


def fold_arm(arm: Row) -> None:
    """Take the complete block into the moments of an arm."""
    fold_square(arm)
    arm[ARM_CUBES] += arm[BLOCK_CUBES]
    arm[BLOCK_CUBES] = 0.0


def spread(arms: Rows, arm_count: int, params: Params) -> float:
    """Return the standard deviation of all outcomes of complete blocks."""
    units, total, squares = sums_of(arms, arm_count)
    about = squares_about_mean(units, total, squares)
    return math.sqrt(about / units) if about > 0.0 else UNSEEN


def add_to_clock(pair: Row, mine: Row, theirs: Row, params: Params) -> None:
    """Add a complete block to the total, the clock and the first arm's part of it."""
    add_block(pair, mine, theirs, params.precision)
    inverse = 1.0 / (mine[BLOCK_UNITS] + theirs[BLOCK_UNITS])
    weight = mine[BLOCK_UNITS] * theirs[BLOCK_UNITS] * inverse
    pair[SHARE] += weight * theirs[BLOCK_UNITS] * inverse


def update(pair: Row, mine: Row, theirs: Row, before: float, after: float, params: Params) -> None:
    """Take a complete block into a pair, unless its horizon has passed."""
    if pair[END] == 0.0:
        add_to_clock(pair, mine, theirs, params)
        end_at_horizon(pair, mine, theirs, params)


def squares_of(arm: Row) -> float:
    """Return the squared distances of an arm's outcomes from their mean."""
    about: float = squares_about_mean(arm[UNITS], arm[ARM_SUM], arm[ARM_SQUARES])
    return about


def least_variance(mine: Row, theirs: Row) -> float:
    """Return a variance that the estimate of a pair is never below: the smaller of its arms'."""
    arm_variance: float = squares_of(mine) / max(mine[UNITS] - 1.0, 1.0)
    other_variance: float = squares_of(theirs) / max(theirs[UNITS] - 1.0, 1.0)
    return min(arm_variance, other_variance)


def variances(pair: Row, mine: Row, theirs: Row) -> tuple[float, float]:
    """Return the variance of one outcome of each arm.

    Infinite while nothing is known of it, and while an arm has fewer units than its skewness asks
    for: then nothing can be decided.
    """
    about, other_about = squares_of(mine), squares_of(theirs)
    arm_variance, other_variance = math.inf, math.inf
    if pair[CLOCK] > 0.0 and about + other_about > 0.0:
        common = skewness(
            mine[UNITS] + theirs[UNITS],
            mine[ARM_SUM] + theirs[ARM_SUM],
            mine[ARM_SQUARES] + theirs[ARM_SQUARES],
            mine[ARM_CUBES] + theirs[ARM_CUBES],
        )
        of_mine = skewness(mine[UNITS], mine[ARM_SUM], mine[ARM_SQUARES], mine[ARM_CUBES])
        of_theirs = skewness(theirs[UNITS], theirs[ARM_SUM], theirs[ARM_SQUARES], theirs[ARM_CUBES])
        is_known = mine[UNITS] >= units_needed(of_mine, common)
        if is_known and theirs[UNITS] >= units_needed(of_theirs, common):
            arm_variance, other_variance = larger_variances(
                mine[UNITS], about, theirs[UNITS], other_about
            )
    return arm_variance, other_variance


def noise_of(pair: Row, arm_variance: float, other_variance: float) -> float:
    """Return the variance of the total of a pair whose outcomes have these variances."""
    return pair[SHARE] * arm_variance + (pair[CLOCK] - pair[SHARE]) * other_variance  # type: ignore[no-any-return]


def pair_spread(pair: Row, mine: Row, theirs: Row) -> float:
    """Return the spread of one outcome that makes the clock the variance of the total.

    Infinite while nothing can be decided.
    """
    arm_variance, other_variance = variances(pair, mine, theirs)
    if arm_variance == math.inf or pair[CLOCK] == 0.0:
        return math.inf
    return math.sqrt(noise_of(pair, arm_variance, other_variance) / pair[CLOCK])


def third_of(arm: Row) -> float:
    """Return the third central moment of an arm's outcomes over its units."""
    units = arm[UNITS]
    mean = arm[ARM_SUM] / units
    third = arm[ARM_CUBES] - 3.0 * mean * arm[ARM_SQUARES] + 2.0 * mean * mean * arm[ARM_SUM]
    return third / (units * units)  # type: ignore[no-any-return]


def pull_of(pair: Row, mine: Row, theirs: Row, sign: float) -> float:
    """Return minus the covariance of the total and the variance that sets the boundary, if large.

    It is that of the first arm's boundary if the `sign` is positive, else of the second's.
    """
    largest: float = max(0.0, sign * third_of(theirs), -sign * third_of(mine))
    return pair[CLOCK] * largest  # type: ignore[no-any-return]


def ends_of(pair: Row, mine: Row, theirs: Row, params: Params) -> tuple[float, float, float]:
    """Return the variance of a pair's total now, at the horizon, and that the boundary is for.

    All are infinite while nothing can be decided. A test whose skewness makes it wait beyond the
    horizon ends as soon as it need not, and the boundary is that of a horizon there.
    """
    if pair[END] > 0.0:
        return pair[END], pair[END], pair[END]
    arm_variance, other_variance = variances(pair, mine, theirs)
    if arm_variance == math.inf:
        return math.inf, math.inf, math.inf
    largest = max(arm_variance, other_variance)
    at_end = largest * params.reach / params.effect
    noise = noise_of(pair, arm_variance, other_variance)
    # The last block may end beyond the horizon, by less than a batch.
    return noise, at_end * at_end, max(at_end * at_end + params.batch * largest, noise)


def end_at_horizon(pair: Row, mine: Row, theirs: Row, params: Params) -> None:
    """Keep the boundary of a pair that has reached its horizon with this block."""
    if params.reach == 0.0:
        return
    # Most blocks end at this question, before any moment of higher order is computed.
    ratio = params.reach / params.effect
    if pair[CLOCK] >= ratio * ratio * least_variance(mine, theirs):
        noise, at_end, last = ends_of(pair, mine, theirs, params)
        if at_end <= noise < math.inf:
            pair[END] = last
            pair[MY_PULL] = pull_of(pair, mine, theirs, 1.0)
            pair[THEIR_PULL] = pull_of(pair, mine, theirs, -1.0)


def horizon_of(
    pair: Row, mine: Row, theirs: Row, sign: float, params: Params
) -> tuple[float, float, float]:
    """Return the variance of a pair's total now and at the horizon, and how high the boundary is.

    The boundary is that of the first arm if `sign` is positive, else of the second. All are
    infinite while nothing can be decided.
    """
    noise, at_end, last = ends_of(pair, mine, theirs, params)
    if noise == math.inf:
        return math.inf, math.inf, math.inf
    if pair[END] > 0.0:
        pull = pair[MY_PULL] if sign > 0.0 else pair[THEIR_PULL]
    else:
        pull = pull_of(pair, mine, theirs, sign)
    slope = params.reach / params.effect
    return (
        noise,
        at_end,
        params.constant * math.sqrt(last + ALLOWANCE * params.constant * slope * pull),
    )


def verdict(pair: Row, mine: Row, theirs: Row, params: Params) -> float:
    """Return the total if it has reached the boundary, else 0."""
    total: float = pair[TOTAL]
    decided = False
    # Most looks end at the first question, before any moment of higher order is computed.
    smallest = least_variance(mine, theirs)
    if params.reach > 0.0:
        lowest = params.constant * params.reach / params.effect * smallest
        if pair[END] > 0.0 or abs(total) >= lowest:
            sign = math.copysign(1.0, total)
            decided = abs(total) >= horizon_of(pair, mine, theirs, sign, params)[2]
    elif can_reach(total, pair[CLOCK] * smallest, params):
        spread = pair_spread(pair, mine, theirs)
        decided = spread < math.inf and is_enough(abs(total), pair[CLOCK], spread, params)
    return total if decided else 0.0


def within(pair: Row, mine: Row, theirs: Row, margin: float, params: Params) -> bool:
    """Return whether the difference is found smaller than the margin."""
    room: float = margin * pair[CLOCK] - abs(pair[TOTAL])
    if params.reach > 0.0:
        reach = margin * pair[CLOCK]
        below: bool = reach - pair[TOTAL] >= horizon_of(pair, mine, theirs, -1.0, params)[2]
        return below and reach + pair[TOTAL] >= horizon_of(pair, mine, theirs, 1.0, params)[2]
    if room <= 0.0:
        return False
    spread = pair_spread(pair, mine, theirs)
    return spread < math.inf and is_enough(room, pair[CLOCK], spread, params)


def interval(pair: Row, mine: Row, theirs: Row, params: Params) -> Difference:
    """Return the difference and its interval; infinitely wide until it can be decided."""
    total, clock = pair[TOTAL], pair[CLOCK]
    if clock == 0.0:
        return 0.0, -math.inf, math.inf
    if params.reach > 0.0:
        noise, at_end, line = horizon_of(pair, mine, theirs, 1.0, params)
        if line == math.inf:
            return total / clock, -math.inf, math.inf
        upper = horizon_of(pair, mine, theirs, -1.0, params)[2]
        largest = params.effect * math.sqrt(at_end) / params.reach
        low = 0.0 - shift_left(total, clock, noise, largest, line, params)
        return total / clock, low, shift_left(-total, clock, noise, largest, upper, params)
    spread = pair_spread(pair, mine, theirs)
    if spread == math.inf:
        return total / clock, -math.inf, math.inf
    return scaled_interval(total, clock, spread, params)


def outlook(
    pair: Row, mine: Row, theirs: Row, sign: float, shared: float, params: Params
) -> tuple[float, float]:
    """Return what is left until the horizon, and the way to the boundary, in units of the effect.

    Blocks are taken to be as they have been.
    """
    noise, at_end, line = horizon_of(pair, mine, theirs, sign, params)
    if noise == math.inf:
        return math.inf, 0.0
    scale = params.effect * pair[CLOCK] / noise
    return scale * scale * (at_end - noise), scale * (line - sign * pair[TOTAL])


def remaining(
    pair: Row, mine: Row, theirs: Row, shared: float, pending: float, params: Params
) -> float:
    """Return what is left of the clock until the total has its variance at the horizon."""
    noise, at_end, _ = horizon_of(pair, mine, theirs, 1.0, params)
    if noise == math.inf:
        return math.inf
    return (at_end / noise - 1.0) * pair[CLOCK] - pending  # type: ignore[no-any-return]


ESTIMATED_SPREAD = Family(
    "estimated spread",
    THEIR_PULL + 1,
    arm_columns=ARM_OF_CUBES,
    split=False,
    first_ends=True,
    observe=observe,
    count_ones=count,
    fold_arm=fold_arm,
    spread=spread,
    update=update,
    verdict=verdict,
    within=within,
    interval=interval,
    outlook=outlook,
    remaining=remaining,
    in_theory=True,
)
"""A spread that is estimated."""
