"""Evidence for an unknown spread: as for a known spread, with an estimate for each pair.

With n and m units of two arms in a block and `h = n m / (n + m)`, the block's difference times h
has the variance `h^2 (v_i / n + v_j / m)`, so the total of a pair has the variance
`v_i share + v_j (clock - share)`. The guarantee is asymptotic: docs/research/unknown-spread.md.

The horizon of a test is a variance of a pair's total: the one at which the planned effect would be
`reach` standard errors of its estimate if both arms had the larger of their variances. So neither
the horizon nor the boundary depends on the tilt by which units are divided. While the rare large
outcomes of a skewed distribution have not occurred, an arm looks both worse and less variable than
it is; this adds to the variance of the distance between the total and the boundary, and the
boundary is raised accordingly. docs/research/horizon.md has the derivation.
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
    Bounds,
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
"""Column of a pair: the part of its clock that multiplies the first arm's variance."""

END, MY_PULL, THEIR_PULL = range(SHARE + 1, SHARE + 4)
"""Columns of a pair, set when it reaches its horizon and 0 before: the variance that the boundary
is computed for, and `pull_of` for each arm. The pair does not change from then on."""

LEVEL = THEIR_PULL + 1
"""Column of a pair: the weighted sum of the first arm's means in the blocks."""


ALLOWANCE = 3.0
"""Factor on the covariance of a total and its variance, by which the boundary is raised.

Theory gives 2. The rest allows for a covariance that is estimated too small while the tail of the
distribution has not been observed.
"""


def observe(arm: Row, value: float) -> None:
    """Add one outcome, its square and its cube to the current block."""
    square = value * value
    arm[BLOCK_SUM] += value
    arm[BLOCK_SQUARES] += square
    arm[BLOCK_CUBES] += square * value


def count(arm: Row, successes: float) -> None:
    """Add `successes` outcomes, each of them 1, to the current block."""
    arm[BLOCK_SUM] += successes
    arm[BLOCK_SQUARES] += successes
    arm[BLOCK_CUBES] += successes


def fold_arm(arm: Row) -> None:
    """Add the sums of a complete block to the units, sums, squares and cubes of an arm."""
    fold_square(arm)
    arm[ARM_CUBES] += arm[BLOCK_CUBES]
    arm[BLOCK_CUBES] = 0.0


def spread(arms: Rows, arm_count: int, params: Params) -> float:
    """Return the standard deviation of all outcomes of complete blocks."""
    units, total, squares = sums_of(arms, arm_count)
    about = squares_about_mean(units, total, squares)
    return math.sqrt(about / units) if about > 0.0 else UNSEEN


def add_to_clock(pair: Row, mine: Row, theirs: Row, params: Params) -> None:
    """Add a complete block to a pair's total, its clock, and the first arm's part of that clock."""
    _, weight = add_block(pair, mine, theirs, params.precision)
    pair[LEVEL] += weight * mine[BLOCK_SUM] / mine[BLOCK_UNITS] * params.precision
    inverse = 1.0 / (mine[BLOCK_UNITS] + theirs[BLOCK_UNITS])
    pair[SHARE] += weight * theirs[BLOCK_UNITS] * inverse


def update(pair: Row, mine: Row, theirs: Row, before: float, after: float, params: Params) -> None:
    """Add a complete block to a pair, unless the pair has already reached its horizon."""
    if pair[END] == 0.0:
        add_to_clock(pair, mine, theirs, params)
        end_at_horizon(pair, mine, theirs, params)


def squares_of(arm: Row) -> float:
    """Return the sum of squared deviations of an arm's outcomes from their mean."""
    about: float = squares_about_mean(arm[UNITS], arm[ARM_SUM], arm[ARM_SQUARES])
    return about


def least_variance(mine: Row, theirs: Row) -> float:
    """Return a lower bound on the variance of a pair: the smaller variance of its two arms."""
    arm_variance: float = squares_of(mine) / max(mine[UNITS] - 1.0, 1.0)
    other_variance: float = squares_of(theirs) / max(theirs[UNITS] - 1.0, 1.0)
    return min(arm_variance, other_variance)


def variances(pair: Row, mine: Row, theirs: Row) -> tuple[float, float]:
    """Return the variance of an outcome for each of the two arms.

    Both are infinite, so that nothing can be decided, while no variance can be estimated or an arm
    has fewer units than its skewness requires.
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
    """Return the variance of a pair's total, given the variance of an outcome in each arm."""
    return pair[SHARE] * arm_variance + (pair[CLOCK] - pair[SHARE]) * other_variance  # type: ignore[no-any-return]


def pair_spread(pair: Row, mine: Row, theirs: Row) -> float:
    """Return the spread s for which a pair's total has a variance of s^2 times its clock.

    It is infinite while nothing can be decided.
    """
    arm_variance, other_variance = variances(pair, mine, theirs)
    if arm_variance == math.inf or pair[CLOCK] == 0.0:
        return math.inf
    return math.sqrt(noise_of(pair, arm_variance, other_variance) / pair[CLOCK])


def third_of(arm: Row) -> float:
    """Return the third central moment of an arm's outcomes, divided by the number of its units."""
    units = arm[UNITS]
    mean = arm[ARM_SUM] / units
    third = arm[ARM_CUBES] - 3.0 * mean * arm[ARM_SQUARES] + 2.0 * mean * mean * arm[ARM_SUM]
    return third / (units * units)  # type: ignore[no-any-return]


def pull_of(pair: Row, mine: Row, theirs: Row, sign: float) -> float:
    """Return how far skewed outcomes bend the boundary of one arm; at least 0.

    It is the largest covariance of `-sign` times the pair's total with an arm's estimated variance.
    It raises the boundary for the first arm if `sign` is positive, else for the second.
    """
    largest: float = max(0.0, sign * third_of(theirs), -sign * third_of(mine))
    return pair[CLOCK] * largest  # type: ignore[no-any-return]


def ends_of(pair: Row, mine: Row, theirs: Row, params: Params) -> tuple[float, float, float]:
    """Return the variance of a pair's total now, at the horizon, and as its boundary assumes it.

    All are infinite while nothing can be decided. A test that has to wait beyond its horizon
    because of skewness ends when the wait is over, and has the boundary of a horizon at that point.
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
    """Fix the boundary of a pair, if the pair has reached its horizon with this block."""
    if params.reach == 0.0:
        return
    # A quick check first, so that most blocks need no moments of higher order.
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
    """Return the variance of a pair's total now and at the horizon, and the height of the boundary.

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
    """Return the total of a pair if the evidence decides the pair, else 0."""
    total: float = pair[TOTAL]
    decided = False
    # A quick check first, so that most looks need no moments of higher order.
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
    """Return whether there is enough evidence that the difference is smaller than the margin."""
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
    """Return the difference and its interval, which is infinite while nothing can be decided."""
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


def lift(pair: Row, difference: Bounds, relative: float, params: Params) -> Bounds | None:
    """Return the bounds of the second arm's lift over the first; the reverse if `relative` < 0."""
    if params.reach == 0.0 or params.direction == 0.0:
        return None
    if pair[CLOCK] == 0.0:
        return -math.inf, math.inf
    first = params.direction * pair[LEVEL] / pair[CLOCK]
    second = first - params.direction * pair[TOTAL] / pair[CLOCK]
    return (
        lift_of(first, second, *difference)
        if relative > 0.0
        else lift_of(second, first, *difference)
    )


def lift_of(base: float, compared: float, low: float, high: float) -> Bounds:
    """Return the bounds of `compared / base - 1` from two means and the bounds of their difference.

    A bound is infinite while the mean that the lift is relative to may be 0.

    >>> lift_of(9.0, 10.0, 0.0, 2.0), lift_of(9.0, 8.0, -3.0, 3.0)
    ((0.0, 0.25), (-0.3333333333333333, 0.6))
    """
    least, most = -math.inf, math.inf
    if base > max(0.0, compared - base - low):
        least = low / (compared - low) if low > 0.0 else low / base
    if base > max(0.0, high - compared + base):
        most = high / (compared - high) if high > 0.0 else high / base
    # For a lift below -2, `compared - (1 + lift) * base` may vary more than the difference, so that
    # the bounds of the difference say nothing about it.
    return least if least >= -2.0 else -math.inf, most


def outlook(
    pair: Row, mine: Row, theirs: Row, sign: float, shared: float, params: Params
) -> tuple[float, float]:
    """Return the information left until the horizon, and the distance to the boundary.

    Both are in units of the planned effect, and assume that further blocks are like those so far.
    """
    noise, at_end, line = horizon_of(pair, mine, theirs, sign, params)
    if noise == math.inf:
        return math.inf, 0.0
    scale = params.effect * pair[CLOCK] / noise
    return scale * scale * (at_end - noise), scale * (line - sign * pair[TOTAL])


def remaining(
    pair: Row, mine: Row, theirs: Row, shared: float, pending: float, params: Params
) -> float:
    """Return how much the clock has to grow until the horizon, beyond what pending units add."""
    noise, at_end, _ = horizon_of(pair, mine, theirs, 1.0, params)
    if noise == math.inf:
        return math.inf
    return (at_end / noise - 1.0) * pair[CLOCK] - pending  # type: ignore[no-any-return]


ESTIMATED_SPREAD = Family(
    "estimated spread",
    LEVEL + 1,
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
    lift=lift,
)
"""Evidence for outcomes whose spread is estimated."""
