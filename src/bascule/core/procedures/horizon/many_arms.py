"""Tests of many arms with an information horizon: the steps, and bets that follow the boundary.

As in `many_arms.state`, a block compares a few reference arms with each of its arms. Where only the
limits of outcomes are known, a pair keeps two bets whose stakes follow the boundary, one on each of
its arms: these decide. Intervals come from the blocks' differences by bets with fixed shares, which
have a part of the error of their own. docs/explanation/horizon.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from bascule.core.evidence.betting import log_factor, log_shifted_wealth, sums_may_reach
from bascule.core.evidence.horizon import conditional_power, room_left, stake
from bascule.core.procedures.base import Ends
from bascule.core.procedures.blocks.betting_steps import ends_of_sums
from bascule.core.procedures.blocks.state import Criterion
from bascule.core.procedures.horizon.state import (
    CONSTANT,
    EFFECT,
    FUTILE,
    FUTILITY,
    GOES_ON,
    HORIZON,
    LEAST,
    MOST_STAKE,
    PLAN_SIZE,
    PRECISION,
    PRIOR,
    PRIOR_UNITS,
    REACH,
    THRESHOLD,
    horizon_of,
    joint_variance,
    own_variance,
)
from bascule.core.procedures.horizon.steps import (
    flat_bound,
    flat_bound_line,
    with_flat_boundary,
)
from bascule.core.procedures.many_arms.pairs import bets_within, drop_by, number_of, within_by
from bascule.core.procedures.many_arms.state import (
    CLOCK,
    SQUARES,
    TOTAL,
    add_block,
    choose_references,
    front_runner,
    open_row,
    plan_of,
    spread_of_outcomes,
)
from bascule.core.procedures.many_arms.steps import MANY_BETTING, MANY_UNINFORMED, numbers_of
from bascule.core.statistics import PairStatistics
from bascule.core.types import FloatArray

LEAD, WON, BLOCKS = 3, 4, 5
"""Columns of a row beside the clock, the sum of the blocks' differences and that of their squares:
by how much the log of what the bet on the first arm owns exceeds that of the bet on the second, the
sum of both logs, and the number of blocks."""

INTERVALS = 0.1
"""The part of the error of a pair that its interval has; the bets that decide have the rest."""

LOG_INTERVALS, LOG_DECISIONS = math.log(INTERVALS), math.log1p(-INTERVALS)


# A flat boundary


def many_reason_to_end(state: FloatArray, first: int, arms: int, plan: FloatArray) -> int:
    """Return why a test of many arms ends without a decision, or that it goes on.

    Only arms that have a row are compared with every other, so only they can be about to win.
    """
    scale, end = plan[EFFECT] * plan[EFFECT], plan[REACH] * plan[REACH]
    best, rows = 0.0, 0
    for i in range(arms):
        if state[first + arms + i] > 0.0 and state[first + 6 * arms + i] > 0.0:
            rows += 1
            least = 1.0
            for j in range(arms):
                if j != i and state[first + arms + j] > 0.0:
                    left = end - scale * number_of(state, first, arms, i, j, CLOCK)
                    if left <= 0.0:
                        return HORIZON
                    if least >= plan[FUTILITY] > 0.0:
                        total = plan[EFFECT] * number_of(state, first, arms, i, j, TOTAL)
                        room = plan[CONSTANT] * plan[REACH] - total
                        least = min(least, conditional_power(room, left))
            best = max(best, least)
    return FUTILE if rows > 0 and best < plan[FUTILITY] else GOES_ON


# Bets that follow the boundary


def prepare_many(state: FloatArray, first: int, arms: int, plan: FloatArray) -> None:
    """Write the plan into a test, before its first block or before the next one."""
    place = plan_of(first, arms)
    for k in range(PLAN_SIZE):
        state[place + k] = plan[k]


def variance_of_many(state: FloatArray, first: int, arms: int) -> float:
    """Return the variance of all outcomes of complete blocks, with what was known before."""
    plan = plan_of(first, arms)
    precision = state[plan + PRECISION]
    units = 0.0
    total = 0.0
    squares = 0.0
    for arm in range(arms):
        units += state[first + arm]
        total += state[first + 4 * arms + arm] * precision
        squares += state[first + 9 * arms + arm] * precision * precision
    if units > 0.0:
        squares = max(0.0, squares - total * total / units)
    variance = (squares + state[plan + PRIOR]) / (units + state[plan + PRIOR_UNITS])
    return max(float(variance), float(state[plan + LEAST]))


def variance_in_many(
    state: FloatArray, first: int, arms: int, i: int, j: int, general: float
) -> float:
    """Return the variance that a pair goes by; the arm ahead has as many more units as in all."""
    precision = state[plan_of(first, arms) + PRECISION]
    mine, theirs = state[first + i], state[first + j]
    if mine + theirs == 0.0:
        return general
    sums, squares = first + 4 * arms, first + 9 * arms
    one = own_variance(general, mine, state[sums + i], state[squares + i], precision)
    two = own_variance(general, theirs, state[sums + j], state[squares + j], precision)
    return joint_variance(general, one, two, mine / (mine + theirs))


def log_gain(
    owned: float, goal: float, left: float, variance: float, step: float, weight: float
) -> float:
    """Return the log of the factor by which a block multiplies a bet that has not won yet."""
    if owned >= goal:
        return 0.0
    share = stake(owned - goal, left) / math.sqrt(variance)
    return log_factor(min(share, MOST_STAKE / weight) * step)


def bet_on_reference(
    state: FloatArray, first: int, arms: int, i: int, precision: float, general: float
) -> None:
    """Play the current block on the pairs of reference i with the other arms, in its row.

    The stakes depend on the blocks before: the clock, wealth and variance of each pair.
    """
    counts = first + 2 * arms
    sums = first + 3 * arms
    marks = first + 8 * arms
    plan = plan_of(first, arms)
    goal = state[plan + THRESHOLD]
    mine = state[counts + i]
    row = -1
    for j in range(arms):
        theirs = state[counts + j]
        # Two references are compared once.
        if theirs > 0.0 and j != i and (j > i or state[marks + j] == 0.0):
            if row < 0:
                row = open_row(state, first, arms, i)
            pair = row + j
            weight = mine * theirs / (mine + theirs)
            difference = (state[sums + i] / mine - state[sums + j] / theirs) * precision
            # Most blocks of rare events hold none, and then nothing is won or lost.
            if difference != 0.0:
                variance = variance_in_many(state, first, arms, i, j, general)
                left = horizon_of(variance, state[plan + EFFECT], state[plan + REACH])
                left -= number_of(state, first, arms, i, j, CLOCK)
                lead = number_of(state, first, arms, i, j, LEAD)
                won = number_of(state, first, arms, i, j, WON)
                step = weight * difference
                gain = log_gain(0.5 * (won + lead), goal, left, variance, step, weight)
                loss = log_gain(0.5 * (won - lead), goal, left, variance, -step, weight)
                state[pair + TOTAL * arms] += difference
                state[pair + SQUARES * arms] += difference * difference
                state[pair + LEAD * arms] += gain - loss
                state[pair + WON * arms] += gain + loss
            state[pair + CLOCK * arms] += weight
            state[pair + BLOCKS * arms] += 1.0


def fold_many_following(state: FloatArray, first: int, arms: int, precision: float) -> None:
    """Take a complete block of outcomes within limits into units, pairs and bets."""
    front = front_runner(state, first, arms, spread_of_outcomes(state, first, arms), True)
    if front >= 0:
        general = variance_of_many(state, first, arms)
        choose_references(state, first, arms, front)
        for i in range(arms):
            if state[first + 8 * arms + i] > 0.0 and state[first + 2 * arms + i] > 0.0:
                bet_on_reference(state, first, arms, i, precision, general)
    add_block(state, first, arms, 1.0, front)


def beats(
    owned: float, blocks: float, differences: float, squares: float, threshold: float
) -> bool:
    """Whether an arm has beaten another: by the bet that follows the boundary, or by its interval.

    They divide the error between them. `owned` is the log of what the bet owns, and the sums are
    those of the blocks' differences, the arm's outcomes less the other's.
    """
    needed = threshold - LOG_INTERVALS
    return owned >= threshold - LOG_DECISIONS or (
        differences > 0.0
        and sums_may_reach(needed, differences, squares)
        and log_shifted_wealth(blocks, differences, squares, 0.0) >= needed
    )


def verdict_of_followers(
    state: FloatArray,
    first: int,
    arms: int,
    i: int,
    j: int,
    criterion: Criterion,
    floors: FloatArray,
) -> float:
    """Return who has beaten whom: above 0 for arm i, below 0 for arm j."""
    lead = number_of(state, first, arms, i, j, LEAD)
    won = number_of(state, first, arms, i, j, WON)
    total = number_of(state, first, arms, i, j, TOTAL)
    squares = number_of(state, first, arms, i, j, SQUARES)
    blocks = number_of(state, first, arms, i, j, BLOCKS)
    ahead = 0.0
    if beats(0.5 * (won + lead), blocks, total, squares, criterion.threshold):
        ahead = 1.0
    elif beats(0.5 * (won - lead), blocks, -total, squares, criterion.threshold):
        ahead = -1.0
    return ahead


def drop_many_following(
    state: FloatArray, first: int, arms: int, criterion: Criterion, floors: FloatArray
) -> None:
    """Drop arms of a test of many that bets have beaten."""
    drop_by(state, first, arms, verdict_of_followers, criterion, floors)


def within_many_following(
    state: FloatArray, first: int, arms: int, criterion: Criterion, margin: float
) -> bool:
    """Whether the intervals of all differences lie within the margin."""
    evidence, can_reach, boundary, effect, threshold = criterion
    needed = Criterion(evidence, can_reach, boundary, effect, threshold - LOG_INTERVALS)
    return within_by(state, first, arms, bets_within, BLOCKS, needed, margin)


def read_many_following(state: FloatArray, arms: int, i: int, j: int) -> PairStatistics:
    """Read what a pair has shown, and the logs of what its two bets own."""
    clock, total, squares, lead, won, blocks = numbers_of(state, arms, i, j)
    wins = (0.5 * (won + lead), 0.5 * (won - lead))
    return PairStatistics(0.0, clock, blocks, total, squares, wins)


def ends_many_following(pairs: Sequence[PairStatistics], criterion: Criterion) -> list[Ends]:
    """Return the interval of each difference by its blocks, and by what the bets have decided."""
    threshold = criterion.threshold

    def decided(pair: PairStatistics) -> tuple[bool, bool]:
        sums = pair.blocks, pair.differences, pair.squares
        back = pair.blocks, -pair.differences, pair.squares
        return beats(pair.wins[0], *sums, threshold), beats(pair.wins[1], *back, threshold)

    return ends_of_sums(pairs, threshold - LOG_INTERVALS, decided)


def many_following_reason_to_end(state: FloatArray, first: int, arms: int, plan: FloatArray) -> int:
    """Return why a test of many arms ends without a decision, or that it goes on.

    As in `horizon.ending.reason_to_end` an arm cannot win once one of its pairs has reached its
    horizon. Only arms that have a row are compared with every other, so only they can win.
    """
    general = variance_of_many(state, first, arms)
    end = plan[REACH] * plan[REACH]
    best, rows = -1.0, 0
    for i in range(arms):
        if state[first + arms + i] > 0.0 and state[first + 6 * arms + i] > 0.0:
            rows += 1
            least = 1.0
            for j in range(arms):
                if j != i and least >= 0.0 and state[first + arms + j] > 0.0:
                    variance = variance_in_many(state, first, arms, i, j, general)
                    clock = number_of(state, first, arms, i, j, CLOCK)
                    left = end - plan[EFFECT] * plan[EFFECT] * clock / variance
                    if left <= 0.0:
                        least = -1.0
                    elif least >= plan[FUTILITY] > 0.0:
                        won = number_of(state, first, arms, i, j, WON)
                        owned = 0.5 * (won + number_of(state, first, arms, i, j, LEAD))
                        room = room_left(min(0.0, owned - plan[THRESHOLD])) * math.sqrt(left)
                        least = min(least, conditional_power(room, left))
            best = max(best, least)
    if rows > 0 and best < 0.0:
        return HORIZON
    return FUTILE if rows > 0 and best < plan[FUTILITY] else GOES_ON


MANY_FLAT = with_flat_boundary(MANY_UNINFORMED, many_reason_to_end)
"""Many arms with normal outcomes, up to a horizon."""

MANY_FLAT_BOUND = MANY_FLAT._replace(evidence=flat_bound, boundary=flat_bound_line)
"""Many arms with sub-Gaussian outcomes, up to a horizon."""

MANY_FOLLOWING = MANY_BETTING._replace(
    fold=fold_many_following,
    drop=drop_many_following,
    within=within_many_following,
    read=read_many_following,
    ends=ends_many_following,
    prepare=prepare_many,
    over=many_following_reason_to_end,
)
"""Many arms with outcomes within limits, up to a horizon."""
