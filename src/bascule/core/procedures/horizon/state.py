"""A test in blocks with an information horizon, as a stretch of a flat array: bets that follow it.

On each ordered pair (i, j) of arms there is one bet for each of `SHIFTS`: that i is better than j,
or worse by less than the shift, a multiple of the planned effect. The first bet, on i being better
at all, decides. Its stake is that of `core.evidence.horizon`: it is fixed beforehand and follows
the probability that a flat boundary is still reached by the horizon. A bet that has won enough is
left alone.

The others make the lower end of the interval. Each stakes as much as the first one does, and under
its own null hypothesis every block pays it more: so it never owns less than the first, and the
interval agrees with the decision. What it owns beyond the first is staked on its own account, and
kept for a round of several blocks. docs/explanation/horizon.md has the proof.

A test is laid out as in `blocks.state`, followed by the sum of each arm's outcomes, the sum of
their squares, the variance of all outcomes by the blocks so far, the plan, and the numbers of each
ordered pair.
"""

from __future__ import annotations

import math

from bascule.core.evidence.betting import log_factor
from bascule.core.evidence.horizon import LEAST_STEP, stake
from bascule.core.procedures.blocks.state import CanReach
from bascule.core.procedures.blocks.state import fold as fold_pairs
from bascule.core.procedures.blocks.state import leader as leader_of_pairs
from bascule.core.procedures.blocks.state import observe as observe_in_block
from bascule.core.procedures.blocks.state import width as width_of_pairs
from bascule.core.procedures.intervals.state import FloatArray

SHIFTS = (
    *(0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0),
    *(1.25, 1.5, 2.0, 3.0, 5.0),
)
"""By how many planned effects the second arm of a pair may be better under each null hypothesis."""

BETS = len(SHIFTS)
"""Numbers that the bets on one ordered pair take."""

PEAKS = BETS - 1
"""Where the peak of each bet after the first lies, from the place of that bet on: the log of the
most that it has owned at the end of a round. The bets themselves are numbers of two kinds: the log
of what the first one owns, and what each other one owns beyond that."""

STAKE, INCOME, START = range(2 * BETS - 1, 2 * BETS + 2)
"""Places after the peaks of an ordered pair: the stake of the first bet on the next block that adds
to the total; what a shift of 1 has paid since the round began; and the log of what the first bet
owned then."""

OWN = 2 * BETS + 2
"""Numbers that an ordered pair has of its own."""

CLOCK, VARIANCE, TOTAL, GOAL, SQUARES, CROSS, WEIGHTS, LAST = range(OWN, OWN + 8)
"""Places after these of a pair (i, j), i before j: its clock, the variance of an outcome, its
total and the log evidence that was enough when the round began; the sums since then of the squares
of the blocks' steps, of steps times weights, and of the squares of the weights; and the clock when
the first bets were last paid."""

NUMBERS = OWN + 8
"""Numbers that one ordered pair takes."""

ROUNDS = 128
"""Rounds up to the horizon, unless blocks are larger."""

MOST_STAKE = 0.9
"""The largest share that a block can cost where a step is at most its weight."""

MOST_OWNED = 1e200
"""What a bet owns at the most; the rest is given away."""

LOG_MOST = math.log(MOST_OWNED)

MOST_ROUND_STAKE = 0.5
"""The largest share of a round, whose gain is bounded by a square."""

THRESHOLD, CONSTANT, REACH, EFFECT, PRIOR, PRIOR_UNITS, FUTILITY, PRECISION, LEAST = range(9)
"""Places in a plan: the log evidence that is enough; z of the flat boundary; the planned effect
in standard errors at the horizon; the planned effect in units of the scale; the sum of squares and
the units that the variance starts with; the conditional power below which a test is futile;
1 / width of the limits, or 0 where the spread is known; and the least variance that is counted
with."""

PLAN_SIZE = 9

KNOWN_SQUARES = 25.0
"""The squares with which the variance of all outcomes counts in the variance of one arm."""

GOES_ON, HORIZON, FUTILE = range(3)
"""Why a test ends without a decision, or that it does not."""


def width(arms: int) -> int:
    """Numbers that one test takes.

    >>> width(2) == width_of_pairs(2) + 5 + PLAN_SIZE + 4 * NUMBERS
    True
    """
    return bets_of(0, arms, arms, 0)


def clear(state: FloatArray, first: int, arms: int) -> None:
    """Reset the test that begins at `first`: no units yet, and every arm active."""
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
    return first + width_of_pairs(arms) + 2 * arms + 1


def bets_of(first: int, arms: int, i: int, j: int) -> int:
    """Where the bets that arm i is better than arm j begin."""
    return plan_of(first, arms) + PLAN_SIZE + (i * arms + j) * NUMBERS


def observe(state: FloatArray, first: int, arms: int, arm: int, value: float) -> None:
    """Add one outcome to the current block and to the spread."""
    # Most outcomes of rare events are 0, which changes nothing.
    if value != 0.0:
        observe_in_block(state, first, arms, arm, value)
        moments = first + width_of_pairs(arms) + arm
        state[moments] += value
        state[moments + arms] += value * value


def leader(state: FloatArray, first: int, arms: int) -> tuple[int, float]:
    """The arm that is furthest ahead, and how far, in standard deviations as they were seen."""
    best, ahead = leader_of_pairs(state, first, arms)
    variance = state[plan_of(first, arms) - 1]
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
    total = 0.0
    squares = 0.0
    for arm in range(arms):
        units += state[first + arm] + state[first + 2 * arms + arm]
        total += state[moments + arm] * precision
        squares += state[moments + arms + arm] * precision * precision
    if units == 0.0:
        return 0.0
    squares -= total * total / units
    variance: float = max(0.0, squares) + state[plan + PRIOR]
    variance /= units + state[plan + PRIOR_UNITS]
    # A stake is at most all that is owned: smaller variances cannot be used, and would only
    # bring the horizon nearer than bets can follow.
    least: float = state[plan + LEAST]
    return max(variance, least)


def own_variance(
    general: float, units: float, total: float, squares: float, precision: float
) -> float:
    """Return the variance of one arm, drawn to the `general` one while it has few outcomes.

    >>> own_variance(0.1, 0.0, 0.0, 0.0, 1.0), own_variance(0.1, 250.0, 50.0, 50.0, 1.0)
    (0.1, 0.13)
    """
    own = max(0.0, squares - total * total / units) if units > 0.0 else 0.0
    return (own * precision * precision + KNOWN_SQUARES) / (units + KNOWN_SQUARES / general)


def joint_variance(general: float, mine: float, theirs: float, my_share: float) -> float:
    """Return the variance that a pair goes by, of which one arm has `my_share` of the units.

    It is that of its steps for each unit of its clock, and at least the `general` one: so the
    horizon of a pair that varies more than the other arms is further away.
    """
    return max(general, (1.0 - my_share) * mine + my_share * theirs)


def variance_in_pair(
    state: FloatArray, first: int, arms: int, i: int, j: int, general: float
) -> float:
    """Return the variance that a pair of the current block goes by, the block included."""
    if arms == 2:
        return general
    moments, counts = first + width_of_pairs(arms), first + 2 * arms
    precision = state[plan_of(first, arms) + PRECISION]
    mine = own_variance(
        general,
        state[first + i] + state[counts + i],
        state[moments + i],
        state[moments + arms + i],
        precision,
    )
    theirs = own_variance(
        general,
        state[first + j] + state[counts + j],
        state[moments + j],
        state[moments + arms + j],
        precision,
    )
    share = state[counts + i] / (state[counts + i] + state[counts + j])
    return joint_variance(general, mine, theirs, share)


def variance_at_end(state: FloatArray, first: int, arms: int, i: int, j: int) -> float:
    """Return the variance that the horizon of a pair goes by; 0 before the first block."""
    general: float = state[plan_of(first, arms) - 1]
    if arms == 2 or general == 0.0:
        return general
    own: float = state[bets_of(first, arms, min(i, j), max(i, j)) + VARIANCE]
    return max(general, own)


def horizon_of(variance: float, effect: float, reach: float) -> float:
    """Return the clock at which an effect is `reach` standard errors.

    >>> horizon_of(0.25, 0.1, 3.0)
    225.0
    """
    ratio = reach / effect
    return ratio * ratio * variance


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


def drop_beaten(state: FloatArray, first: int, arms: int, threshold: float) -> None:
    """Drop, in place, each arm that another active one has beaten: its first bet has won."""
    for i in range(arms):
        for j in range(arms):
            if (
                i != j
                and state[first + arms + i] > 0.0
                and state[first + arms + j] > 0.0
                and state[bets_of(first, arms, i, j)] >= threshold
            ):
                state[first + arms + j] = 0.0


def all_within(
    state: FloatArray,
    first: int,
    arms: int,
    evidence: None,
    can_reach: CanReach,
    effect: float,
    threshold: float,
    margin: float,
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
                won = shifts_won(state, bets_of(first, arms, i, j), threshold)
                within = won > 0 and SHIFTS[BETS - won] * effect <= margin
    return within
