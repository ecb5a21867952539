"""Bets for tests with a horizon: outcomes within limits, or with a known spread.

For each arm of a pair there is a bet that it is better. Its stake is that of
`core.evidence.horizon`: it is fixed before the block, and makes the wealth follow the probability
that a flat boundary is still reached by the horizon. A bet stakes nothing more once it has won or
its horizon has passed.

The same bet gives the intervals of the difference and of the lift (`families.side_bet`).
docs/research/horizon.md has the proofs.
"""

from __future__ import annotations

import math
from functools import lru_cache

from bascule.core.evidence.betting import log_factor
from bascule.core.evidence.families.rows import (
    ARM_SQUARES,
    ARM_SUM,
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
    Update,
    add_block,
)
from bascule.core.evidence.families.side_bet import (
    COLUMNS,
    GAIN,
    LOG_MOST,
    LOSS,
    MORE,
    MORE_STAKE,
    MOST_OWNED,
    PEAK,
    STAKE,
    STAKED,
    keep_best,
    lift_ruled_out,
    shift_ruled_out,
)
from bascule.core.evidence.horizon import LEAST_STEP, room_left, stake

ROUND_CLOCK, VARIANCE, LAST = range(CLOCK + 1, CLOCK + 4)
"""Columns of a pair: its clock and the variance of an outcome at the start of the round, and the
clock when the bets were last paid."""

MINE = LAST + 1
"""First column of the bet on the first arm."""

THEIRS = MINE + COLUMNS
"""First column of the bet on the second arm."""

ROUNDS = 128
"""Number of rounds up to the horizon, fewer if blocks are larger. At the end of each round the
variance that sets the horizon is updated, even if no block of the round had a difference."""

MOST_STAKE = 0.9
"""Maximum share of its wealth that a bet can lose on one block of bounded outcomes."""

KNOWN_SQUARES = 25.0
"""Weight of the variance of all outcomes in that of one arm, as a sum of squared deviations."""

DOUBTS = 2.0
"""Largest difference between the variance assumed for pending units and the observed one, in
standard errors."""

# Variances


def general_variance(arms: Rows, count: int, params: Params) -> float:
    """Return the variance of all outcomes, shrunk towards its prior; 0 before the first block."""
    units, total, squares = 0.0, 0.0, 0.0
    for i in range(count):
        arm = arms[i]
        units += arm[UNITS]
        total += arm[ARM_SUM] * params.precision
        squares += arm[ARM_SQUARES] * params.precision * params.precision
    if units == 0.0:
        return 0.0
    if params.known > 0.0:
        return 1.0
    squares -= total * total / units
    variance = (max(0.0, squares) + params.prior) / (units + params.prior_units)
    # A stake cannot exceed the wealth, so smaller variances cannot be used: they would bring the
    # horizon nearer than the bets can follow.
    return max(variance, params.least)


def spread(arms: Rows, count: int, params: Params) -> float:
    """Return the standard deviation of all outcomes; 1 before the first block."""
    variance = 1.0 if params.known > 0.0 else general_variance(arms, count, params)
    return math.sqrt(variance) if variance > 0.0 else 1.0


def own_variance(general: float, arm: Row, precision: float) -> float:
    """Return the variance of an arm's outcomes; with few of them it is shrunk towards `general`."""
    units, total, squares = arm[UNITS], arm[ARM_SUM], arm[ARM_SQUARES]
    arm_variance = max(0.0, squares - total * total / units) if units > 0.0 else 0.0
    return (arm_variance * precision * precision + KNOWN_SQUARES) / (  # type: ignore[no-any-return]
        units + KNOWN_SQUARES / general
    )


def variance_in_pair(mine: Row, theirs: Row, general: float, params: Params) -> float:
    """Return the variance of a pair's total per unit of its clock, including the current block.

    It is at least the `general` variance, so the horizon of a pair that varies more than the other
    arms is farther away.
    """
    if params.known > 0.0 or params.arms == 2.0:
        return general
    arm_variance = own_variance(general, mine, params.precision)
    other_variance = own_variance(general, theirs, params.precision)
    share: float = mine[BLOCK_UNITS] / (mine[BLOCK_UNITS] + theirs[BLOCK_UNITS])
    return max(general, (1.0 - share) * arm_variance + share * other_variance)


def variance_at_end(pair: Row, general: float, params: Params) -> float:
    """Return the variance that sets the horizon of a pair; 0 before the first block."""
    if params.arms == 2.0 or general == 0.0:
        return general
    arm_variance: float = pair[VARIANCE]
    return max(general, arm_variance)


def horizon_of(variance: float, effect: float, reach: float) -> float:
    """Return the clock at which `effect` is `reach` standard errors of its estimate.

    >>> horizon_of(0.25, 0.1, 3.0)
    225.0
    """
    ratio = reach / effect
    return ratio * ratio * variance


# Bets


def stake_of(owned: float, clock: float, variance: float, params: Params) -> float:
    """Return the stake at the log wealth `owned`; 0 if the bet has won or is at its horizon."""
    left = horizon_of(variance, params.effect, params.reach) - clock
    if left <= 0.0 or owned >= params.threshold:
        return 0.0
    share: float = stake(owned - params.threshold, left) / math.sqrt(variance)
    # A larger stake is never used, because the weight of every block is at least `LEAST_STEP`.
    return share if params.known > 0.0 else min(share, MOST_STAKE / LEAST_STEP)


def log_growth(share: float, step: float, weight: float, params: Params) -> float:
    """Return by how much one block changes the log wealth of a bet with the stake `share`."""
    if params.known > 0.0:
        return share * (step - 0.5 * share * weight)
    return log_factor(min(share, MOST_STAKE / weight) * step)


def pay_lift(
    pair: Row, bet: int, step: float, level: float, weight: float, spent: float, params: Params
) -> None:
    """Update, for the bet on one arm, the columns from which the relative lift is bounded.

    `level` is the weighted mean of the first arm, and `spent` the part of the block's clock that
    its units add, with the sign for this bet.
    """
    share = pair[bet + STAKE]
    if params.known > 0.0:
        charge = share * share * abs(spent)
        pair[bet + GAIN] += share * (level - share * spent)
        pair[bet + LOSS] += charge
    else:
        share = min(share, MOST_STAKE / weight)
        gain = share * level / (1.0 + share * step)
        pair[bet + GAIN] += gain
        pair[bet + LOSS] += gain * gain


@lru_cache(maxsize=4)
def update_for(intervals: bool, horizon: bool) -> Update:
    """Return the function that updates the bets of a pair."""

    def set_stake(pair: Row, bet: int, clock: float, variance: float, params: Params) -> None:
        """Set the stake of the bet on one arm for the next block of the pair."""
        pair[bet + STAKE] = stake_of(pair[bet], clock, variance, params)
        if intervals and params.margin > 0.0:
            pair[bet + MORE_STAKE] = 0.0
            if pair[bet + PEAK] < params.threshold and pair[bet + MORE] > 0.0:
                owned = math.log(math.exp(pair[bet]) + pair[bet + MORE])
                pair[bet + MORE_STAKE] = stake_of(owned, clock, variance, params)

    def pay(pair: Row, bet: int, step: float, weight: float, since: float, params: Params) -> None:
        """Update the bet on one arm with a block.

        The block adds `step` to the total and `weight` to the clock. `since` is the growth of the
        clock, including this block, since the bets were last paid.
        """
        share, before = pair[bet + STAKE], pair[bet]
        # If the arm's mean is worse by 1, in units of the scale, the log wealth falls by at least
        # this cost on average. With a known spread the bets are updated with every block.
        cost = (share if params.known > 0.0 else min(share, MOST_STAKE)) * since
        if share > 0.0:
            pair[bet] += log_growth(share, step, weight, params)
            pair[bet + STAKED] += cost
            if intervals:
                keep_best(pair, bet, params.threshold)
        if intervals and params.margin > 0.0 and pair[bet + PEAK] < params.threshold:
            stake = pair[bet + MORE_STAKE]
            grown = log_growth(stake, step, weight, params)
            grown += (
                params.margin * (stake if params.known > 0.0 else min(stake, MOST_STAKE)) * since
            )
            counted = math.exp(min(LOG_MOST, pair[bet] if params.known > 0.0 else before))
            income = params.margin * cost * counted
            rest = min(MOST_OWNED, pair[bet + MORE] * math.exp(min(LOG_MOST, grown)) + income)
            owned = math.exp(min(LOG_MOST, pair[bet])) + rest
            pair[bet + MORE] = rest
            if owned > 0.0:
                pair[bet + PEAK] = max(pair[bet + PEAK], math.log(owned))

    def update(
        pair: Row, mine: Row, theirs: Row, before: float, after: float, params: Params
    ) -> None:
        """Update the bets on both arms of a pair with a complete block."""
        if pair[VARIANCE] == 0.0:
            assumed = before
            if assumed == 0.0:
                assumed = params.prior / params.prior_units
            pair[VARIANCE] = assumed
            set_stake(pair, MINE, pair[CLOCK], assumed, params)
            set_stake(pair, THEIRS, pair[CLOCK], assumed, params)
        step, weight = add_block(pair, mine, theirs, params.precision)
        if intervals and params.direction != 0.0:
            mean = mine[BLOCK_SUM] * params.precision / mine[BLOCK_UNITS]
            level = weight * params.direction * (mean - params.zero)
            if level != 0.0:
                spent = params.direction * weight * weight / mine[BLOCK_UNITS]
                pay_lift(pair, MINE, step, level, weight, spent, params)
                pay_lift(pair, THEIRS, -step, level, weight, -spent, params)
        now = pair[CLOCK]
        since = now - pair[ROUND_CLOCK]
        last = since * ROUNDS >= horizon_of(pair[VARIANCE], params.effect, params.reach)
        # With rare events most blocks have a difference of 0, which changes no wealth. With a known
        # spread such blocks reduce the wealth.
        if params.known > 0.0 or step != 0.0 or last:
            unpaid = now - pair[LAST]
            arm_variance = variance_in_pair(mine, theirs, after, params)
            pay(pair, MINE, step, weight, unpaid, params)
            pay(pair, THEIRS, -step, weight, unpaid, params)
            set_stake(pair, MINE, now, arm_variance, params)
            set_stake(pair, THEIRS, now, arm_variance, params)
            pair[LAST] = now
            if last:
                pair[ROUND_CLOCK], pair[VARIANCE] = now, arm_variance

    return update


def update(pair: Row, mine: Row, theirs: Row, before: float, after: float, params: Params) -> None:
    """Update the bets on both arms of a pair with a complete block."""
    update_for(True, True)(pair, mine, theirs, before, after, params)


# Results


def verdict(pair: Row, mine: Row, theirs: Row, params: Params) -> float:
    """Return 1 if the bet on the first arm has won, -1 for the second, and 0 for neither."""
    winner = 0.0
    if pair[MINE] >= params.threshold:
        winner = 1.0
    elif pair[THEIRS] >= params.threshold:
        winner = -1.0
    return winner


def ruled_out(pair: Row, bet: int, params: Params) -> float:
    """Return the smallest advantage of the other arm that the bet on one arm rules out."""
    shift = shift_ruled_out(pair, bet, params)
    # No difference of outcomes within limits is larger than the limits' width.
    return shift if params.known > 0.0 else min(shift, 1.0)


def within(pair: Row, mine: Row, theirs: Row, margin: float, params: Params) -> bool:
    """Return whether the bets rule out all differences of at least the margin."""
    return ruled_out(pair, MINE, params) <= margin and ruled_out(pair, THEIRS, params) <= margin


def interval(pair: Row, mine: Row, theirs: Row, params: Params) -> Difference:
    """Return the mean difference and its interval, which widens only if an arm is removed."""
    if pair[CLOCK] == 0.0:
        return 0.0, -math.inf, math.inf
    difference = pair[TOTAL] / pair[CLOCK]
    return difference, 0.0 - ruled_out(pair, MINE, params), ruled_out(pair, THEIRS, params)


def lift(pair: Row, difference: Bounds, relative: float, params: Params) -> Bounds | None:
    """Return the bounds of the second arm's lift over the first; the reverse if `relative` < 0."""
    limited = params.known == 0.0
    if params.direction == 0.0 or (relative < 0.0 and not limited):
        return None
    first = lift_ruled_out(pair, MINE, params.threshold)
    second = lift_ruled_out(pair, THEIRS, params.threshold)
    up, down = (first, second) if params.direction > 0.0 else (second, first)
    # The mean of nonnegative outcomes cannot fall by more than 100 %.
    low = 0.0 - (min(down, 1.0) if limited else down)
    if relative > 0.0:
        return low, up
    return 1.0 / (1.0 + up) - 1.0, 1.0 / (1.0 + low) - 1.0 if low > -1.0 else math.inf


def outlook(
    pair: Row, mine: Row, theirs: Row, sign: float, shared: float, params: Params
) -> tuple[float, float]:
    """Return the information left until the horizon, and how far a bet is from winning."""
    variance = variance_at_end(pair, shared, params)
    if variance == 0.0:
        return math.inf, 0.0
    effect, reach = params.effect, params.reach
    left = reach * reach - effect * effect / variance * pair[CLOCK]
    if left <= 0.0 or params.futility == 0.0:
        return left, 0.0
    owned = pair[MINE if sign > 0.0 else THEIRS] - params.threshold
    return left, room_left(min(0.0, owned)) * math.sqrt(left)


def variance_under_way(variance: float, clock: float, params: Params) -> float:
    """Return the variance to assume for pending units, from the observed `variance`.

    It is the planned variance, moved to within `DOUBTS` standard errors of the observed one: few
    outcomes say little, and would move the horizon back and forth. Without a planned variance it is
    the observed one.
    """
    if params.known > 0.0 or params.planned == 0.0:
        return variance
    # A pair has 4 * clock units if its blocks are even, and more if they are tilted. With rare
    # events the relative error of a variance is 1 / sqrt(units * variance).
    doubt = variance * DOUBTS / math.sqrt(max(1.0, 4.0 * clock * variance))
    return min(max(params.planned, variance - doubt), variance + doubt)


def remaining(
    pair: Row, mine: Row, theirs: Row, shared: float, pending: float, params: Params
) -> float:
    """Return how much the clock has to grow until the horizon, beyond what pending units add.

    Before the first block it is computed with the planned variance, or without one with the
    largest variance of outcomes within limits.
    """
    variance, clock = variance_at_end(pair, shared, params), pair[CLOCK]
    if variance == 0.0:
        planned = max(params.prior / params.prior_units, params.least)
        variance = 1.0 if params.known > 0.0 else planned
    elif pending > 0.0:
        variances = variance_under_way(variance, clock, params)
        variance = (variance * clock + variances * pending) / (clock + pending)
    return horizon_of(variance, params.effect, params.reach) - clock - pending  # type: ignore[no-any-return]


FOLLOWING_BETS = Family(
    "bets that follow a horizon",
    THEIRS + COLUMNS,
    shared=general_variance,
    spread=spread,
    update=update,
    update_for=update_for,
    verdict=verdict,
    within=within,
    interval=interval,
    outlook=outlook,
    remaining=remaining,
    holds_at_every_look=True,
    in_theory=True,
    lift=lift,
)
"""Evidence for tests with a horizon: outcomes within limits, or with a known spread."""
