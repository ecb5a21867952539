"""A test in blocks with an information horizon, as a stretch of a flat array: bets that follow it.

On each ordered pair (i, j) of arms there is one bet for each of `SHIFTS`: that i is better than j,
or worse by less than the shift, a multiple of the planned effect. Its stake is that of
`core.evidence.horizon`: it is fixed beforehand and follows the probability that a flat boundary is
still reached by the horizon. A bet that has won enough is left alone. The first bet, on i being
better at all, has a new stake for every block; the others, which make the lower end of the
interval, keep theirs for a round of several blocks. docs/explanation/horizon.md has the proof.

A test is laid out as in `block_state`, followed by the sum of all outcomes, the sum of their
squares and their variance by the blocks so far, the plan, and for each ordered pair the log of what
its bets have won and eight numbers about the current round.
"""

from __future__ import annotations

import math

from bascule.core.evidence.betting import log_factor
from bascule.core.evidence.horizon import conditional_power, room_left, stake
from bascule.core.procedures.block_state import fold as fold_pairs
from bascule.core.procedures.block_state import leader as leader_of_pairs
from bascule.core.procedures.block_state import observe as observe_in_block
from bascule.core.procedures.block_state import width as width_of_pairs
from bascule.core.procedures.interval_state import FloatArray

SHIFTS = (
    *(0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0),
    *(1.25, 1.5, 2.0, 3.0, 5.0),
)
"""By how many planned effects the second arm of a pair may be better under each null hypothesis."""

BETS = len(SHIFTS)
"""Numbers that the bets on one ordered pair take."""

CLOCK, VARIANCE, TOTAL, GOAL, SQUARES, CROSS, WEIGHTS, NEXT_GOAL = range(BETS, BETS + 8)
"""Places after the bets of a pair (i, j), i before j: its clock, the variance of an outcome, its
total and the log evidence that was enough when the round began; the sums since then of the squares
of the blocks' steps, of steps times weights, and of the squares of the weights; and the log
evidence that was enough after the last block. A removal by hand changes what is enough, and must
not change a stake whose outcomes may have been seen."""

NUMBERS = BETS + 8
"""Numbers that one ordered pair takes."""

ROUNDS = 128
"""Rounds up to the horizon, unless blocks are larger."""

MOST_STAKE = 0.9
"""The largest share that is staked where a step can cost as much as the stake."""

MOST_ROUND_STAKE = 0.5
"""The largest share of a round, whose gain is bounded by a square."""

THRESHOLD, CONSTANT, REACH, EFFECT, PRIOR, PRIOR_UNITS, FUTILITY, PRECISION = range(8)
"""Places in a plan: the log evidence that is enough; z of the flat boundary; the planned effect
in standard errors at the horizon; the planned effect in units of the scale; the sum of squares and
the units that the variance starts with; the conditional power below which a test is futile; and
1 / width of the limits, or 0 where the spread is known."""

PLAN_SIZE = 8

HEADER = 3 + PLAN_SIZE
"""Numbers of a test before its bets: the moments of all outcomes, their variance, and the plan."""

GOES_ON, HORIZON, FUTILE = range(3)
"""Why a test ends without a decision, or that it does not."""


def width(arms: int) -> int:
    """Numbers that one test takes.

    >>> width(2) == width_of_pairs(2) + HEADER + 4 * NUMBERS
    True
    """
    return width_of_pairs(arms) + HEADER + arms * arms * NUMBERS


def clear(state: FloatArray, first: int, arms: int) -> None:
    """Put the test that begins at `first` before its first unit, with every arm in."""
    for i in range(width(arms)):
        state[first + i] = 0.0
    for arm in range(arms):
        state[first + arms + arm] = 1.0


def prepare(state: FloatArray, first: int, arms: int, plan: FloatArray) -> None:
    """Write the plan into a test, before its first block or before the next one."""
    place = plan_of(first, arms)
    for k in range(PLAN_SIZE):
        state[place + k] = plan[k]


def plan_of(first: int, arms: int) -> int:
    """Where the plan of a test begins."""
    return first + width_of_pairs(arms) + 3


def bets_of(first: int, arms: int, i: int, j: int) -> int:
    """Where the bets that arm i is better than arm j begin."""
    return first + width_of_pairs(arms) + HEADER + (i * arms + j) * NUMBERS


def observe(state: FloatArray, first: int, arms: int, arm: int, value: float) -> None:
    """Add one outcome to the current block and to the spread."""
    # Most outcomes of rare events are 0, which changes nothing.
    if value != 0.0:
        observe_in_block(state, first, arms, arm, value)
        moments = first + width_of_pairs(arms)
        state[moments] += value
        state[moments + 1] += value * value


def leader(state: FloatArray, first: int, arms: int) -> tuple[int, float]:
    """The arm that is furthest ahead, and how far, in standard deviations as they were seen."""
    best, ahead = leader_of_pairs(state, first, arms)
    variance = state[first + width_of_pairs(arms) + 2]
    return best, ahead / math.sqrt(variance) if variance > 0.0 else ahead


def variance_of(state: FloatArray, first: int, arms: int) -> float:
    """Return the variance of all outcomes, in units of the scale, with what was known before.

    It is 1 where the spread is known. The current block counts unless its units are 0.
    """
    moments, plan = first + width_of_pairs(arms), plan_of(first, arms)
    precision = state[plan + PRECISION]
    if precision == 0.0:
        return 1.0
    units = 0.0
    for arm in range(arms):
        units += state[first + arm] + state[first + 2 * arms + arm]
    if units == 0.0:
        return 0.0
    total = state[moments] * precision
    squares = state[moments + 1] * precision * precision - total * total / units
    variance: float = max(0.0, squares) + state[plan + PRIOR]
    variance /= units + state[plan + PRIOR_UNITS]
    # A stake is at most all that is owned: smaller variances cannot be used, and would only
    # bring the horizon nearer than bets can follow.
    least: float = state[plan + EFFECT]
    return max(variance, least)


def horizon_of(variance: float, effect: float, reach: float) -> float:
    """Return the clock at which an effect is `reach` standard errors.

    >>> horizon_of(0.25, 0.1, 3.0)
    225.0
    """
    ratio = reach / effect
    return ratio * ratio * variance


def stake_of(
    state: FloatArray, plan: int, bet: int, goal: float, clock: float, variance: float
) -> float:
    """Return the stake of a bet on a goal, by what is known of the variance of an outcome."""
    left = horizon_of(variance, state[plan + EFFECT], state[plan + REACH]) - clock
    return stake(state[bet] - goal, left) / math.sqrt(variance)


def bet_on_block(
    state: FloatArray,
    plan: int,
    bet: int,
    goal: float,
    clock: float,
    step: float,
    weight: float,
    variance: float,
    known: bool,
) -> None:
    """Play one block of the first bet on an ordered pair, whose clock is given.

    The block adds `step` to the total and `weight` to the clock. With a `known` spread a gain is
    exponential, else it is linear.
    """
    if state[bet] < goal:
        share = stake_of(state, plan, bet, goal, clock, variance)
        if known:
            state[bet] += share * (step - 0.5 * share * weight)
        else:
            state[bet] += log_factor(min(share, MOST_STAKE) * step)


def close_round(
    state: FloatArray,
    plan: int,
    bets: int,
    pair: int,
    sign: float,
    gained: float,
    since: float,
    known: bool,
) -> None:
    """Play one round of the other bets on an ordered pair.

    The round is that of the numbers at `pair`, seen from its second arm if the `sign` is -1; it has
    added `gained` to the total and `since` to the clock.
    """
    goal, clock, variance = state[pair + GOAL], state[pair + CLOCK], state[pair + VARIANCE]
    for k in range(1, BETS):
        if state[bets + k] < goal:
            share = stake_of(state, plan, bets + k, goal, clock, variance)
            shift = SHIFTS[k] * state[plan + EFFECT]
            gain = gained + shift * since
            if known:
                state[bets + k] += share * (gain - 0.5 * share * since)
            elif shift >= 1.0:
                # No difference is as large as that: its null hypothesis is false beforehand.
                state[bets + k] = goal
            else:
                share = min(share, MOST_ROUND_STAKE)
                squares = state[pair + SQUARES] + shift * (
                    2.0 * sign * state[pair + CROSS] + shift * state[pair + WEIGHTS]
                )
                # log(1 + s x) >= s x + (log(1 - s) + s) x^2 for every x from -1 on.
                state[bets + k] += share * gain + (math.log1p(-share) + share) * squares


def _fold(state: FloatArray, first: int, arms: int, precision: float, known: bool) -> None:
    counts = first + 2 * arms
    sums = counts + arms
    totals = sums + arms
    clocks = totals + arms * arms
    plan = plan_of(first, arms)
    before = state[plan - 1]
    if before == 0.0:
        before = state[plan + PRIOR] / state[plan + PRIOR_UNITS]
    after = variance_of(state, first, arms)
    for i in range(arms):
        mine = state[counts + i]
        for j in range(i + 1, arms):
            theirs = state[counts + j]
            if mine > 0.0 and theirs > 0.0:
                share = 1.0 / (mine + theirs)
                weight = mine * theirs * share
                step = (state[sums + i] * theirs - state[sums + j] * mine) * share * precision
                pair, reverse = bets_of(first, arms, i, j), bets_of(first, arms, j, i)
                total, clock = state[totals + i * arms + j], state[clocks + i * arms + j]
                if state[pair + VARIANCE] == 0.0:
                    state[pair + VARIANCE] = before
                    state[pair + GOAL] = state[plan + THRESHOLD]
                    state[pair + NEXT_GOAL] = state[plan + THRESHOLD]
                goal = state[pair + NEXT_GOAL]
                state[pair + NEXT_GOAL] = state[plan + THRESHOLD]
                # Most blocks of rare events hold none, and then nothing is won or lost.
                if step != 0.0:
                    bet_on_block(state, plan, pair, goal, clock, step, weight, before, known)
                    bet_on_block(state, plan, reverse, goal, clock, -step, weight, before, known)
                    state[pair + SQUARES] += step * step
                    state[pair + CROSS] += step * weight
                state[pair + WEIGHTS] += weight * weight
                since = clock + weight - state[pair + CLOCK]
                horizon = horizon_of(
                    state[pair + VARIANCE], state[plan + EFFECT], state[plan + REACH]
                )
                if since * ROUNDS >= horizon:
                    gained = total + step - state[pair + TOTAL]
                    close_round(state, plan, pair, pair, 1.0, gained, since, known)
                    close_round(state, plan, reverse, pair, -1.0, -gained, since, known)
                    state[pair + CLOCK] = clock + weight
                    state[pair + VARIANCE] = after
                    state[pair + TOTAL] = total + step
                    state[pair + GOAL] = state[plan + THRESHOLD]
                    state[pair + SQUARES] = 0.0
                    state[pair + CROSS] = 0.0
                    state[pair + WEIGHTS] = 0.0
    fold_pairs(state, first, arms, precision)
    for arm in range(arms):
        state[sums + arm] = 0.0
    state[plan - 1] = after


def fold_known(state: FloatArray, first: int, arms: int, precision: float) -> None:
    """Take a complete block of outcomes with a known spread into units, pairs and bets.

    `precision` is 1 / sigma. The next block can follow at once, with the same units for each arm.
    """
    _fold(state, first, arms, precision, True)


def fold_limited(state: FloatArray, first: int, arms: int, precision: float) -> None:
    """Take a complete block of outcomes within limits into units, pairs and bets.

    `precision` is 1 / width of the limits. The next block can follow at once, with the same units
    for each arm.
    """
    _fold(state, first, arms, precision, False)


def shifts_won(state: FloatArray, bets: int, threshold: float) -> int:
    """Return how many of the bets have won, from the largest shift on without a gap."""
    won = 0
    while won < BETS and state[bets + BETS - 1 - won] >= threshold:
        won += 1
    return won


def drop_beaten(state: FloatArray, first: int, arms: int, threshold: float) -> None:
    """Take out, in place, each arm that another one still in has beaten: all its bets have won."""
    for i in range(arms):
        for j in range(arms):
            if i != j and state[first + arms + i] > 0.0 and state[first + arms + j] > 0.0:
                bets = bets_of(first, arms, i, j)
                if state[bets] >= threshold and shifts_won(state, bets, threshold) == BETS:
                    state[first + arms + j] = 0.0


def all_within(
    state: FloatArray, first: int, arms: int, effect: float, threshold: float, margin: float
) -> bool:
    """Whether every difference between arms still in is proven smaller than the margin."""
    within = True
    for i in range(arms):
        for j in range(arms):
            if (
                within
                and i != j
                and state[first + arms + i] > 0.0
                and state[first + arms + j] > 0.0
            ):
                won = shifts_won(state, bets_of(first, arms, i, j), threshold)
                within = won > 0 and SHIFTS[BETS - won] * effect <= margin
    return within


def reason_to_end(state: FloatArray, first: int, arms: int, plan: FloatArray) -> int:
    """Return why a test ends without a decision, or that it goes on.

    It ends when a pair of arms still in has reached its horizon. It is futile if each arm still in
    has a rival that it would beat by the horizon, were it better by the planned effect, with less
    than the probability that the plan names.
    """
    clocks = first + 4 * arms + arms * arms
    variance = state[plan_of(first, arms) - 1]
    if variance == 0.0:
        return GOES_ON
    # From here on in units of the planned effect.
    scale = plan[EFFECT] * plan[EFFECT] / variance
    end = plan[REACH] * plan[REACH]
    best = 0.0
    for i in range(arms):
        least = 1.0 if state[first + arms + i] > 0.0 else 0.0
        for j in range(arms):
            if i != j and state[first + arms + i] > 0.0 and state[first + arms + j] > 0.0:
                left = end - scale * state[clocks + i * arms + j]
                if left <= 0.0:
                    return HORIZON
                if plan[FUTILITY] > 0.0:
                    owned = state[bets_of(first, arms, i, j)] - plan[THRESHOLD]
                    room = room_left(min(0.0, owned)) * math.sqrt(left)
                    least = min(least, conditional_power(room, left))
        best = max(best, least)
    return FUTILE if best < plan[FUTILITY] else GOES_ON


def flat_reason_to_end(state: FloatArray, first: int, arms: int, plan: FloatArray) -> int:
    """Return what `reason_to_end` does at a flat boundary, where the spread is known."""
    totals = first + 4 * arms
    clocks = totals + arms * arms
    scale = plan[EFFECT] * plan[EFFECT]
    end = plan[REACH] * plan[REACH]
    best = 0.0
    for i in range(arms):
        least = 1.0 if state[first + arms + i] > 0.0 else 0.0
        for j in range(arms):
            if i != j and state[first + arms + i] > 0.0 and state[first + arms + j] > 0.0:
                left = end - scale * state[clocks + i * arms + j]
                if left <= 0.0:
                    return HORIZON
                if plan[FUTILITY] > 0.0:
                    total = plan[EFFECT] * state[totals + i * arms + j]
                    room = plan[CONSTANT] * plan[REACH] - total
                    least = min(least, conditional_power(room, left))
        best = max(best, least)
    return FUTILE if best < plan[FUTILITY] else GOES_ON
