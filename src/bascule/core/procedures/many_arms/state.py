"""A test in blocks with many arms, as a stretch of a flat array: not every pair is compared.

A block compares a few reference arms with each of its arms: the leader, the first arm, which is the
control, and those with the highest means, as many as keep it to about `PAIRS` pairs. Its work is
linear in its arms. In a small block, as there are once most arms are dropped, every arm is a
reference. Which arms are is fixed by the blocks before (docs/explanation/tilted-blocks.md, "Many
arms").

One test of K arms takes eleven stretches of K numbers (units, whether an arm is active, units and
sum of the current block, sum of all outcomes, blocks that the arm led, which row is the arm's,
whether it has changed since arms were last compared, whether the arm is a reference, the sum of the
squares of its outcomes, and that of the current block); how many rows there are; the plan of a test
with a horizon; and the rows. An arm gets a row of six columns of K numbers when it is first a
reference. As in `blocks.state`,
the functions take the whole array and where a test begins. A list will do for an array: uncompiled,
it is several times as fast.
"""

from __future__ import annotations

import math

from bascule.core.procedures.blocks.betting import UNSEEN
from bascule.core.procedures.horizon.state import PLAN_SIZE
from bascule.core.types import FloatArray

MANY = 20
"""A test of up to this number of arms keeps every bet on every pair (`blocks.betting`)."""

STRETCHES = 11
"""Stretches of one number for each arm before the rows."""

PAIRS = 1225
"""Pairs that a block compares: all of them up to 50 arms."""

NUMBERS = 6
"""Numbers of one pair: its clock and total; or its blocks, the sum of their differences, and the
sums of the second, third and fourth powers of these. `horizon.many_arms` has other ones."""

CLOCK, TOTAL, SQUARES, CUBES, FOURTHS = 0, 1, 2, 3, 4
"""Which column is which; the clock of a pair with bets is its number of blocks."""

SIGNS = (1.0, -1.0, 1.0, -1.0, 1.0, 1.0)
"""What the numbers of a pair are multiplied by in the other order of its arms."""

STAY = 1.0
"""Standard deviations by which another arm must be ahead to take over from the leader.

Among arms that are nearly equal the lead would change all the time, and the evidence against each
other arm would be spread over many pairs.
"""


def plan_of(first: int, arms: int) -> int:
    """Return where the plan of a test begins."""
    return first + STRETCHES * arms + 1


def header(arms: int) -> int:
    """Return how many numbers come before the rows."""
    return plan_of(0, arms) + PLAN_SIZE


def width(arms: int) -> int:
    """Return how many numbers one test takes.

    >>> width(30)
    5740
    """
    return header(arms) + NUMBERS * arms * arms


def clear(state: FloatArray, first: int, arms: int) -> None:
    """Put the test that begins at `first` before its first unit, with every arm active."""
    for i in range(header(arms)):
        state[first + i] = 0.0
    for arm in range(arms):
        state[first + arms + arm] = 1.0


def observe(state: FloatArray, first: int, arms: int, arm: int, value: float) -> None:
    """Add one outcome to the current block."""
    if value != 0.0:
        state[first + 3 * arms + arm] += value
        state[first + 10 * arms + arm] += value * value


# The leader


def lead_over(state: FloatArray, first: int, arms: int, arm: int, rival: int) -> float:
    """Return how far the mean of an arm is above a rival's, in standard errors of spread 1."""
    mine = state[first + arm]
    theirs = state[first + rival]
    ahead = 0.0
    if mine > 0.0 and theirs > 0.0:
        difference = state[first + 4 * arms + arm] / mine - state[first + 4 * arms + rival] / theirs
        ahead = difference * math.sqrt(mine * theirs / (mine + theirs))
    return ahead


def front_runner(state: FloatArray, first: int, arms: int, spread: float, in_block: bool) -> int:
    """Return the leader by the blocks so far, among arms of the current block only if `in_block`.

    It is the active arm that has led most blocks, unless the arm with the highest mean is ahead of
    it by more than `STAY` standard deviations.
    """
    best = -1
    top = -math.inf
    incumbent = -1
    most = 0.0
    for arm in range(arms):
        if state[first + arms + arm] > 0.0 and (
            not in_block or state[first + 2 * arms + arm] > 0.0
        ):
            units = state[first + arm]
            mean = state[first + 4 * arms + arm] / units if units > 0.0 else -math.inf
            if best < 0 or mean > top:
                best = arm
                top = mean
            if state[first + 5 * arms + arm] > most:
                incumbent = arm
                most = state[first + 5 * arms + arm]
    if incumbent >= 0 and lead_over(state, first, arms, best, incumbent) <= STAY * spread:
        best = incumbent
    return best


def spread_of_outcomes(state: FloatArray, first: int, arms: int) -> float:
    """Return the standard deviation of all outcomes of complete blocks."""
    units = 0.0
    total = 0.0
    squares = 0.0
    for arm in range(arms):
        units += state[first + arm]
        total += state[first + 4 * arms + arm]
        squares += state[first + 9 * arms + arm]
    scaled_variance = units * squares - total * total
    return math.sqrt(scaled_variance) / units if scaled_variance > 0.0 else UNSEEN


def _leader(state: FloatArray, first: int, arms: int, spread: float) -> tuple[int, float]:
    front = front_runner(state, first, arms, spread, False)
    least = math.inf
    for rival in range(arms):
        if rival != front and state[first + arms + rival] > 0.0:
            least = min(least, lead_over(state, first, arms, front, rival))
    return front, least / spread


def leader(state: FloatArray, first: int, arms: int) -> tuple[int, float]:
    """Return the leader, and how far it is ahead of its nearest rival (sigma = 1)."""
    return _leader(state, first, arms, 1.0)


def leader_by_spread(state: FloatArray, first: int, arms: int) -> tuple[int, float]:
    """Return the leader, and its lead in standard deviations of all outcomes so far."""
    return _leader(state, first, arms, spread_of_outcomes(state, first, arms))


# What a block adds


def row_of(state: FloatArray, first: int, arms: int, arm: int) -> int:
    """Return where the row of an arm begins, which has one."""
    rows_before: int = math.floor(state[first + 6 * arms + arm]) - 1
    return first + header(arms) + NUMBERS * arms * rows_before


def open_row(state: FloatArray, first: int, arms: int, arm: int) -> int:
    """Give an arm a row unless it has one, mark it as changed, and return where it begins."""
    new = state[first + 6 * arms + arm] == 0.0
    if new:
        state[first + STRETCHES * arms] += 1.0
        state[first + 6 * arms + arm] = state[first + STRETCHES * arms]
    row = row_of(state, first, arms, arm)
    if new:
        for k in range(NUMBERS * arms):
            state[row + k] = 0.0
    state[first + 7 * arms + arm] = 1.0
    return row


def compare_reference(
    state: FloatArray, first: int, arms: int, i: int, precision: float, bets: bool
) -> None:
    """Add the current block to the pairs of reference i with the other arms, in its row."""
    counts = first + 2 * arms
    sums = first + 3 * arms
    marks = first + 8 * arms
    mine = state[counts + i]
    my_sum = state[sums + i]
    row = -1
    for j in range(arms):
        theirs = state[counts + j]
        # Two references are compared once.
        if theirs > 0.0 and j != i and (j > i or state[marks + j] == 0.0):
            if row < 0:
                row = open_row(state, first, arms, i)
            pair = row + j
            their_sum = state[sums + j]
            if bets:
                difference = (my_sum / mine - their_sum / theirs) * precision
                scaled = min(1.0, max(-1.0, difference))
                square = scaled * scaled
                state[pair + CLOCK * arms] += 1.0
                state[pair + TOTAL * arms] += scaled
                state[pair + SQUARES * arms] += square
                state[pair + CUBES * arms] += square * scaled
                state[pair + FOURTHS * arms] += square * square
            else:
                share = 1.0 / (mine + theirs)
                state[pair + CLOCK * arms] += mine * theirs * share
                total = (my_sum * theirs - their_sum * mine) * share * precision
                state[pair + TOTAL * arms] += total


def references(size: int) -> int:
    """Return about how many of the arms of a block are compared with every other.

    >>> [references(size) for size in (30, 50, 51, 100, 1000)]
    [30, 50, 24, 12, 2]
    """
    return size if size * (size - 1) <= 2 * PAIRS else max(2, PAIRS // size)


def choose_references(state: FloatArray, first: int, arms: int, front: int) -> None:
    """Mark the references of the current block by the blocks before it."""
    counts = first + 2 * arms
    marks = first + 8 * arms
    size = 0
    for arm in range(arms):
        state[marks + arm] = 0.0
        if state[counts + arm] > 0.0:
            size += 1
    left = references(size)
    if left == size:
        for arm in range(arms):
            state[marks + arm] = 1.0
    else:
        state[marks + front] = 1.0
        state[marks] = 1.0
        for _ in range(left - 2):
            best = -1
            top = -math.inf
            for arm in range(arms):
                units = state[first + arm]
                if (
                    state[marks + arm] == 0.0
                    and state[counts + arm] > 0.0
                    and state[first + arms + arm] > 0.0
                    and units > 0.0
                ):
                    mean = state[first + 4 * arms + arm] / units
                    if best < 0 or mean > top:
                        best = arm
                        top = mean
            if best >= 0:
                state[marks + best] = 1.0


def _fold(
    state: FloatArray, first: int, arms: int, precision: float, bets: bool, front: int
) -> None:
    counts = first + 2 * arms
    marks = first + 8 * arms
    if front >= 0:
        choose_references(state, first, arms, front)
        for i in range(arms):
            if state[marks + i] > 0.0 and state[counts + i] > 0.0:
                compare_reference(state, first, arms, i, precision, bets)
    add_block(state, first, arms, 1.0 if bets else precision, front)


def add_block(state: FloatArray, first: int, arms: int, scale: float, front: int) -> None:
    """Add the current block, which `front` leads, to the arms; outcomes in units of 1 / `scale`."""
    counts = first + 2 * arms
    if front >= 0:
        open_row(state, first, arms, front)
        state[first + 5 * arms + front] += 1.0
    for arm in range(arms):
        state[first + arm] += state[counts + arm]
        state[first + 4 * arms + arm] += state[first + 3 * arms + arm] * scale
        state[first + 3 * arms + arm] = 0.0
        state[first + 9 * arms + arm] += state[first + 10 * arms + arm]
        state[first + 10 * arms + arm] = 0.0


def fold(state: FloatArray, first: int, arms: int, precision: float) -> None:
    """Take a complete block into the units and its pairs; `precision` is 1 / sigma."""
    front = front_runner(state, first, arms, 1.0, True)
    _fold(state, first, arms, precision, False, front)


def fold_bets(state: FloatArray, first: int, arms: int, precision: float) -> None:
    """Take a complete block into the units and its pairs; `precision` is 1 / width of the limits.

    The next block can follow at once, with the same units for each arm.
    """
    spread = spread_of_outcomes(state, first, arms)
    front = front_runner(state, first, arms, spread, True)
    _fold(state, first, arms, precision, True, front)
