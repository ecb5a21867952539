"""A test in blocks with an information horizon, as a stretch of a flat array: bets and variances.

On each ordered pair (i, j) of arms there is one bet for each of `SHIFTS`: that i is better than j,
or worse by less than the shift, a multiple of the planned effect. `horizon.bets` plays them.

A test is laid out as in `blocks.state`, followed by the sum of each arm's outcomes, the sum of
their squares, the variance of all outcomes by the blocks so far, the plan, and the numbers of each
ordered pair.
"""

from __future__ import annotations

import math

from bascule.core.procedures.blocks.state import leader as leader_of_pairs
from bascule.core.procedures.blocks.state import observe as observe_in_block
from bascule.core.procedures.blocks.state import width as width_of_pairs
from bascule.core.types import FloatArray

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
