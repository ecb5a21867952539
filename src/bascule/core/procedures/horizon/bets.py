"""Bets of a test with an information horizon: what each block adds, and what they have won.

The first bet on an ordered pair of arms, on one being better at all, decides. Its stake is that of
`core.evidence.horizon`: it is fixed beforehand and follows the probability that a flat boundary is
still reached by the horizon. A bet that has won enough is left alone.

The others make the lower end of the interval. Each stakes as much as the first one does, and under
its own null hypothesis every block pays it more: so it never owns less than the first, and the
interval agrees with the decision. What it owns beyond the first is staked on its own account, and
kept for a round of several blocks. docs/explanation/horizon.md has the proof.
"""

from __future__ import annotations

import math

from bascule.core.evidence.betting import log_factor
from bascule.core.evidence.horizon import LEAST_STEP, stake
from bascule.core.procedures.blocks.state import Criterion
from bascule.core.procedures.blocks.state import fold as fold_pairs
from bascule.core.procedures.horizon.state import (
    BETS,
    CLOCK,
    CROSS,
    EFFECT,
    GOAL,
    INCOME,
    LAST,
    LOG_MOST,
    MOST_OWNED,
    MOST_ROUND_STAKE,
    MOST_STAKE,
    PEAKS,
    PRIOR,
    PRIOR_UNITS,
    REACH,
    ROUNDS,
    SHIFTS,
    SQUARES,
    STAKE,
    START,
    THRESHOLD,
    TOTAL,
    VARIANCE,
    WEIGHTS,
    bets_of,
    horizon_of,
    plan_of,
    variance_in_pair,
    variance_of,
)
from bascule.core.types import FloatArray


def stake_of(state: FloatArray, plan: int, owned: float, clock: float, variance: float) -> float:
    """Return the stake of a bet by the log of the share of its goal that it owns."""
    left = horizon_of(variance, state[plan + EFFECT], state[plan + REACH]) - clock
    return stake(owned, left) / math.sqrt(variance)


def set_stake(
    state: FloatArray, plan: int, bets: int, clock: float, variance: float, known: bool
) -> None:
    """Write the stake of the first bet of an ordered pair on the next block that adds to it."""
    state[bets + STAKE] = 0.0
    if state[bets] < state[plan + THRESHOLD]:
        owned = state[bets] - state[plan + THRESHOLD]
        share = stake_of(state, plan, owned, clock, variance)
        # No block can use a larger one: it weighs `LEAST_STEP` or more.
        state[bets + STAKE] = share if known else min(share, MOST_STAKE / LEAST_STEP)


def bet_on_block(
    state: FloatArray,
    bets: int,
    step: float,
    weight: float,
    since: float,
    known: bool,
    intervals: bool,
) -> None:
    """Play one block of the first bet on an ordered pair, and pay its shifts for `intervals`.

    The block adds `step` to the total and `weight` to the clock; `since` has gone by on the clock
    with it since a block last added to the total. With a `known` spread a gain is exponential, else
    it is linear.
    """
    share = state[bets + STAKE]
    if share > 0.0:
        if known:
            state[bets] += share * (step - 0.5 * share * weight)
            if intervals:
                state[bets + INCOME] += math.exp(min(LOG_MOST, state[bets])) * share * since
        else:
            if intervals:
                state[bets + INCOME] += math.exp(state[bets]) * min(share, MOST_STAKE) * since
            state[bets] += log_factor(min(share, MOST_STAKE / weight) * step)


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
    start = math.exp(min(LOG_MOST, state[bets + START]))
    now = math.exp(min(LOG_MOST, state[bets]))
    for k in range(1, BETS):
        shift = SHIFTS[k] * state[plan + EFFECT]
        peak = bets + PEAKS + k
        if not known and shift >= 1.0:
            # No difference is as large as that: its null hypothesis is false beforehand.
            state[peak] = max(state[peak], goal)
        elif state[peak] < goal:
            more = state[bets + k]
            if more > 0.0:
                owned = min(0.0, math.log(start + more) - goal)
                share = stake_of(state, plan, owned, clock, variance)
                gain = gained + shift * since
                if known:
                    grown = share * (gain - 0.5 * share * since)
                else:
                    share = min(share, MOST_ROUND_STAKE)
                    squares = state[pair + SQUARES] + shift * (
                        2.0 * sign * state[pair + CROSS] + shift * state[pair + WEIGHTS]
                    )
                    # log(1 + s x) >= s x + (log(1 - s) + s) x^2 for every x from -1 on.
                    grown = share * gain + (math.log1p(-share) + share) * squares
                more *= math.exp(min(LOG_MOST, grown))
            more = min(MOST_OWNED, more + shift * state[bets + INCOME])
            state[bets + k] = more
            # A bet that goes on long after a horizon may lose more than a number can say.
            if now + more > 0.0:
                state[peak] = max(state[peak], math.log(now + more))
    state[bets + INCOME] = 0.0
    state[bets + START] = state[bets]


def _fold(
    state: FloatArray, first: int, arms: int, precision: float, known: bool, intervals: bool
) -> None:
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
                    set_stake(state, plan, pair, clock, before, known)
                    set_stake(state, plan, reverse, clock, before, known)
                now = clock + weight
                since = now - state[pair + CLOCK]
                horizon = horizon_of(
                    state[pair + VARIANCE], state[plan + EFFECT], state[plan + REACH]
                )
                ends = since * ROUNDS >= horizon
                # Most blocks of rare events hold none, and then nothing is won or lost. With a
                # known spread even they are charged for what they might have brought.
                if known or step != 0.0 or ends:
                    unpaid = now - state[pair + LAST]
                    own = after
                    if not known:
                        own = variance_in_pair(state, first, arms, i, j, after)
                    bet_on_block(state, pair, step, weight, unpaid, known, intervals)
                    bet_on_block(state, reverse, -step, weight, unpaid, known, intervals)
                    set_stake(state, plan, pair, now, own, known)
                    set_stake(state, plan, reverse, now, own, known)
                    state[pair + LAST] = now
                    state[pair + SQUARES] += step * step
                    state[pair + CROSS] += step * weight
                state[pair + WEIGHTS] += weight * weight
                if ends:
                    gained = total + step - state[pair + TOTAL]
                    if intervals:
                        close_round(state, plan, pair, pair, 1.0, gained, since, known)
                        close_round(state, plan, reverse, pair, -1.0, -gained, since, known)
                    state[pair + CLOCK] = now
                    state[pair + VARIANCE] = own
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
    _fold(state, first, arms, precision, True, True)


def fold_limited(state: FloatArray, first: int, arms: int, precision: float) -> None:
    """Take a complete block of outcomes within limits into units, pairs and bets.

    `precision` is 1 / width of the limits. The next block can follow at once, with the same units
    for each arm.
    """
    _fold(state, first, arms, precision, False, True)


def decide_known(state: FloatArray, first: int, arms: int, precision: float) -> None:
    """Take a block in as `fold_known` does, without the bets that only make intervals."""
    _fold(state, first, arms, precision, True, False)


def decide_limited(state: FloatArray, first: int, arms: int, precision: float) -> None:
    """Take a block in as `fold_limited` does, without the bets that only make intervals."""
    _fold(state, first, arms, precision, False, False)


def shifts_won(state: FloatArray, bets: int, threshold: float) -> int:
    """Return how many of the bets have won, from the largest shift on without a gap."""
    if state[bets] >= threshold:
        return BETS
    won = 0
    while won < BETS - 1 and state[bets + PEAKS + BETS - 1 - won] >= threshold:
        won += 1
    return won


def drop_beaten(
    state: FloatArray, first: int, arms: int, criterion: Criterion, floors: FloatArray
) -> None:
    """Drop, in place, each arm that another active one has beaten: its first bet has won."""
    for i in range(arms):
        for j in range(arms):
            if (
                i != j
                and state[first + arms + i] > 0.0
                and state[first + arms + j] > 0.0
                and state[bets_of(first, arms, i, j)] >= criterion.threshold
            ):
                state[first + arms + j] = 0.0


def all_within(
    state: FloatArray, first: int, arms: int, criterion: Criterion, margin: float
) -> bool:
    """Whether every difference between active arms is proven smaller than the margin."""
    within = True
    for i in range(arms):
        for j in range(arms):
            if (
                within
                and i != j
                and state[first + arms + i] > 0.0
                and state[first + arms + j] > 0.0
            ):
                won = shifts_won(state, bets_of(first, arms, i, j), criterion.threshold)
                within = won > 0 and SHIFTS[BETS - won] * criterion.effect <= margin
    return within
