"""Bets that follow a horizon: outcomes within limits, or of a known spread, up to a last clock.

On each arm of a pair there is one bet for each of `SHIFTS`: that the arm is better than the other,
or worse by less than the shift, a multiple of the planned effect. The first bet, on one being
better at all, decides. Its stake is that of `core.evidence.horizon`: it is fixed beforehand and
follows the probability that a flat boundary is still reached by the horizon. A bet that has won
enough is left alone.

The others make the lower end of the interval. Each stakes as much as the first one does, and under
its own null hypothesis every block pays it more: so it never owns less than the first, and the
interval agrees with the decision. What it owns beyond the first is staked on its own account, and
kept for a round of several blocks. docs/research/horizon.md has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from bascule.core.evidence.betting import log_factor
from bascule.core.evidence.families.rows import (
    ARM_SQUARES,
    ARM_SUM,
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
)
from bascule.core.evidence.horizon import LEAST_STEP, room_left, stake

SHIFTS = (
    *(0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0),
    *(1.25, 1.5, 2.0, 3.0, 5.0),
)
"""By how many planned effects the second arm of a pair may be better under each null hypothesis."""

BETS = len(SHIFTS)
"""Numbers that the bets on one arm of a pair take."""

ROUND_CLOCK, VARIANCE, ROUND_TOTAL, GOAL = range(CLOCK + 1, CLOCK + 5)
"""Columns of a pair when its round began: its clock, the variance of an outcome, its total, and the
log evidence that was enough then: a round keeps it, or a removal by hand would change stakes."""

SQUARES, CROSS, WEIGHTS, LAST = range(GOAL + 1, GOAL + 5)
"""Columns of a pair: the sums since the round began of the squares of the blocks' steps, of steps
times weights, and of the squares of the weights; and the clock when the first bets were last
paid."""

PEAKS = BETS - 1
"""Where the peak of each bet after the first lies, from the place of that bet on: the log of the
most that it has owned at the end of a round. The bets themselves are numbers of two kinds: the log
of what the first one owns, and what each other one owns beyond that."""

STAKE, INCOME, START = range(2 * BETS - 1, 2 * BETS + 2)
"""Places after the peaks: the stake of the first bet on the next block that adds to the total; what
a shift of 1 has paid since the round began; and the log of what the first bet owned then."""

MINE = LAST + 1
"""Where the bets on the first arm begin."""

THEIRS = MINE + 2 * BETS + 2
"""Where the bets on the second arm begin."""

ROUNDS = 128
"""Rounds up to the horizon, unless blocks are larger."""

MOST_STAKE = 0.9
"""The largest share that a block can cost where a step is at most its weight."""

MOST_OWNED = 1e200
"""What a bet owns at the most; the rest is given away."""

LOG_MOST = math.log(MOST_OWNED)

MOST_ROUND_STAKE = 0.5
"""The largest share of a round, whose gain is bounded by a square."""

KNOWN_SQUARES = 25.0
"""The squares with which the variance of all outcomes counts in the variance of one arm."""

DOUBTS = 2.0
"""Standard errors by which the variance of units under way may differ from that which has shown."""

# Variances


def general_variance(arms: Rows, count: int, params: Params) -> float:
    """Return the variance of all outcomes, with what was known before; 0 before the first block."""
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
    # A stake is at most all that is owned: smaller variances cannot be used, and would only
    # bring the horizon nearer than bets can follow.
    return max(variance, params.least)


def spread(arms: Rows, count: int, params: Params) -> float:
    """Return the standard deviation of all outcomes; 1 before the first block."""
    variance = 1.0 if params.known > 0.0 else general_variance(arms, count, params)
    return math.sqrt(variance) if variance > 0.0 else 1.0


def own_variance(general: float, arm: Row, precision: float) -> float:
    """Return the variance of one arm, drawn to the `general` one while it has few outcomes."""
    units, total, squares = arm[UNITS], arm[ARM_SUM], arm[ARM_SQUARES]
    arm_variance = max(0.0, squares - total * total / units) if units > 0.0 else 0.0
    return (arm_variance * precision * precision + KNOWN_SQUARES) / (  # type: ignore[no-any-return]
        units + KNOWN_SQUARES / general
    )


def variance_in_pair(mine: Row, theirs: Row, general: float, params: Params) -> float:
    """Return the variance that a pair of the current block goes by, the block included.

    It is that of its steps for each unit of its clock, and at least the `general` one: so the
    horizon of a pair that varies more than the other arms is further away.
    """
    if params.known > 0.0 or params.arms == 2.0:
        return general
    arm_variance = own_variance(general, mine, params.precision)
    other = own_variance(general, theirs, params.precision)
    share: float = mine[BLOCK_UNITS] / (mine[BLOCK_UNITS] + theirs[BLOCK_UNITS])
    return max(general, (1.0 - share) * arm_variance + share * other)


def variance_at_end(pair: Row, general: float, params: Params) -> float:
    """Return the variance that the horizon of a pair goes by; 0 before the first block."""
    if params.arms == 2.0 or general == 0.0:
        return general
    arm_variance: float = pair[VARIANCE]
    return max(general, arm_variance)


def horizon_of(variance: float, effect: float, reach: float) -> float:
    """Return the clock at which an effect is `reach` standard errors.

    >>> horizon_of(0.25, 0.1, 3.0)
    225.0
    """
    ratio = reach / effect
    return ratio * ratio * variance


# Bets


def stake_of(owned: float, clock: float, variance: float, params: Params) -> float:
    """Return the stake of a bet by the log of the share of its goal that it owns."""
    left = horizon_of(variance, params.effect, params.reach) - clock
    return stake(owned, left) / math.sqrt(variance)


def set_stake(pair: Row, bets: int, clock: float, variance: float, params: Params) -> None:
    """Write the stake of the first bet on an arm on the next block that adds to the pair."""
    pair[bets + STAKE] = 0.0
    if pair[bets] < params.threshold:
        share = stake_of(pair[bets] - params.threshold, clock, variance, params)
        # No block can use a larger one: it weighs `LEAST_STEP` or more.
        most = MOST_STAKE / LEAST_STEP
        pair[bets + STAKE] = share if params.known > 0.0 else min(share, most)


def close_round(
    pair: Row, bets: int, sign: float, gained: float, since: float, params: Params
) -> None:
    """Play one round of the other bets on an arm, the second one if the `sign` is -1.

    The round has added `gained` to the total and `since` to the clock.
    """
    goal, clock, variance = pair[GOAL], pair[ROUND_CLOCK], pair[VARIANCE]
    start = math.exp(min(LOG_MOST, pair[bets + START]))
    now = math.exp(min(LOG_MOST, pair[bets]))
    for k in range(1, BETS):
        shift = SHIFTS[k] * params.effect
        peak = bets + PEAKS + k
        if params.known == 0.0 and shift >= 1.0:
            # No difference is as large as that: its null hypothesis is false beforehand.
            pair[peak] = max(pair[peak], goal)
        elif pair[peak] < goal:
            more = pair[bets + k]
            if more > 0.0:
                owned = min(0.0, math.log(start + more) - goal)
                share = stake_of(owned, clock, variance, params)
                gain = gained + shift * since
                if params.known > 0.0:
                    grown = share * (gain - 0.5 * share * since)
                else:
                    share = min(share, MOST_ROUND_STAKE)
                    squares = pair[SQUARES] + shift * (
                        2.0 * sign * pair[CROSS] + shift * pair[WEIGHTS]
                    )
                    # log(1 + s x) >= s x + (log(1 - s) + s) x^2 for every x from -1 on.
                    grown = share * gain + (math.log1p(-share) + share) * squares
                more *= math.exp(min(LOG_MOST, grown))
            more = min(MOST_OWNED, more + shift * pair[bets + INCOME])
            pair[bets + k] = more
            # A bet that goes on long after a horizon may lose more than a number can say.
            if now + more > 0.0:
                pair[peak] = max(pair[peak], math.log(now + more))
    pair[bets + INCOME] = 0.0
    pair[bets + START] = pair[bets]


def update_of(intervals: bool) -> Callable[[Row, Row, Row, float, float, Params], None]:
    """Return the update by a complete block; without `intervals` it plays only the first bets."""

    def bet_on_block(
        pair: Row, bets: int, step: float, weight: float, since: float, params: Params
    ) -> None:
        """Play one block of the first bet on an arm, and pay its shifts where intervals are kept.

        The block adds `step` to the total and `weight` to the clock; `since` is the time on the
        clock, this block included, since a block last added to the total. With a known spread a
        gain is exponential, else it is linear.
        """
        share = pair[bets + STAKE]
        if share > 0.0:
            if params.known > 0.0:
                pair[bets] += share * (step - 0.5 * share * weight)
                if intervals:
                    pair[bets + INCOME] += math.exp(min(LOG_MOST, pair[bets])) * share * since
            else:
                if intervals:
                    pair[bets + INCOME] += math.exp(pair[bets]) * min(share, MOST_STAKE) * since
                pair[bets] += log_factor(min(share, MOST_STAKE / weight) * step)

    def update(
        pair: Row, mine: Row, theirs: Row, before: float, after: float, params: Params
    ) -> None:
        """Play a complete block with the first bets, and a round with the others where it ends."""
        clock = pair[CLOCK]
        if pair[VARIANCE] == 0.0:
            assumed = before
            if assumed == 0.0:
                assumed = params.prior / params.prior_units
            pair[VARIANCE] = assumed
            pair[GOAL] = params.threshold
            set_stake(pair, MINE, clock, assumed, params)
            set_stake(pair, THEIRS, clock, assumed, params)
        step, weight = add_block(pair, mine, theirs, params.precision)
        now = pair[CLOCK]
        since = now - pair[ROUND_CLOCK]
        last = since * ROUNDS >= horizon_of(pair[VARIANCE], params.effect, params.reach)
        arm_variance = after
        # Most blocks of rare events hold none, and then nothing is won or lost. With a known spread
        # even they are charged for what they might have brought.
        if params.known > 0.0 or step != 0.0 or last:
            unpaid = now - pair[LAST]
            arm_variance = variance_in_pair(mine, theirs, after, params)
            bet_on_block(pair, MINE, step, weight, unpaid, params)
            bet_on_block(pair, THEIRS, -step, weight, unpaid, params)
            set_stake(pair, MINE, now, arm_variance, params)
            set_stake(pair, THEIRS, now, arm_variance, params)
            pair[LAST] = now
            pair[SQUARES] += step * step
            pair[CROSS] += step * weight
        pair[WEIGHTS] += weight * weight
        if last:
            if intervals:
                gained = pair[TOTAL] - pair[ROUND_TOTAL]
                close_round(pair, MINE, 1.0, gained, since, params)
                close_round(pair, THEIRS, -1.0, -gained, since, params)
            pair[ROUND_CLOCK], pair[VARIANCE], pair[ROUND_TOTAL] = now, arm_variance, pair[TOTAL]
            pair[GOAL] = params.threshold
            pair[SQUARES] = pair[CROSS] = pair[WEIGHTS] = 0.0

    # A plan goes from one process to another with the names that functions have in their modules.
    update.__qualname__ = "update" if intervals else "update_alone"
    return update


update, update_alone = update_of(intervals=True), update_of(intervals=False)


# What they say


def verdict(pair: Row, mine: Row, theirs: Row, params: Params) -> float:
    """Return which arm its first bet has won for."""
    winner = 0.0
    if pair[MINE] >= params.threshold:
        winner = 1.0
    elif pair[THEIRS] >= params.threshold:
        winner = -1.0
    return winner


def shifts_won(pair: Row, bets: int, threshold: float) -> int:
    """Return how many of the bets have won, from the largest shift on without a gap."""
    if pair[bets] >= threshold:
        return BETS
    won = 0
    while won < BETS - 1 and pair[bets + PEAKS + BETS - 1 - won] >= threshold:
        won += 1
    return won


def is_below(pair: Row, bets: int, margin: float, params: Params) -> bool:
    """Return whether the bets on an arm rule out that the other is better by the margin."""
    won = shifts_won(pair, bets, params.threshold)
    return won > 0 and SHIFTS[BETS - won] * params.effect <= margin


def within(pair: Row, mine: Row, theirs: Row, margin: float, params: Params) -> bool:
    """Return whether the bets rule out all differences from the margin on."""
    return is_below(pair, MINE, margin, params) and is_below(pair, THEIRS, margin, params)


def lower_end(pair: Row, bets: int, params: Params) -> float:
    """Return the lower end of by how much an arm is better: a shift that is ruled out."""
    won = shifts_won(pair, bets, params.threshold)
    return -SHIFTS[BETS - won] * params.effect if won > 0 else -math.inf


def interval(pair: Row, mine: Row, theirs: Row, params: Params) -> Difference:
    """Return the difference and its interval, whose ends never widen again."""
    if pair[CLOCK] == 0.0:
        return 0.0, -math.inf, math.inf
    difference = pair[TOTAL] / pair[CLOCK]
    return difference, lower_end(pair, MINE, params), -lower_end(pair, THEIRS, params)


def outlook(
    pair: Row, mine: Row, theirs: Row, sign: float, shared: float, params: Params
) -> tuple[float, float]:
    """Return what is left of the clock, and what the first bet on an arm still has to win."""
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
    """Return the variance that units under way are taken to have, by that of those that counted.

    It is the planned one, or as near to it as what has counted allows: a few outcomes say little,
    and would move the horizon to and fro. Where none was planned it is the one that has shown.
    """
    if params.known > 0.0 or params.planned == 0.0:
        return variance
    # A pair with a clock of 1 has four units in even blocks, and more in tilted ones.
    doubt = variance * DOUBTS / math.sqrt(max(1.0, 4.0 * clock * variance))
    return min(max(params.planned, variance - doubt), variance + doubt)


def remaining(
    pair: Row, mine: Row, theirs: Row, shared: float, pending: float, params: Params
) -> float:
    """Return what is left of the clock until the horizon when what is pending has counted.

    Before the first block it is that of the planned variance; where none was planned, of the
    largest that outcomes within limits have.
    """
    variance, clock = variance_at_end(pair, shared, params), pair[CLOCK]
    if variance == 0.0:
        planned = max(params.prior / params.prior_units, params.least)
        variance = 1.0 if params.known > 0.0 else planned
    elif pending > 0.0:
        others = variance_under_way(variance, clock, params)
        variance = (variance * clock + others * pending) / (clock + pending)
    return horizon_of(variance, params.effect, params.reach) - clock - pending  # type: ignore[no-any-return]


FOLLOWING_BETS = Family(
    "bets that follow a horizon",
    THEIRS + 2 * BETS + 2,
    shared=general_variance,
    spread=spread,
    update=update,
    verdict=verdict,
    within=within,
    interval=interval,
    outlook=outlook,
    remaining=remaining,
    in_theory=True,
    without_intervals=update_alone,
)
"""Outcomes within limits, or of a known spread, up to a horizon."""
