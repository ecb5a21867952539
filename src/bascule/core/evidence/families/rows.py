"""The rows that the evidence of a test in blocks is kept in: one for each arm and for each pair.

A block holds some units of the leader and fewer of each challenger, in random order; how many is
fixed before it starts. Once it is complete it adds to every pair (i, j) of its arms `S += h D` and
`V += h`, with D the difference of the block's means, n the block's units and
`h = n_i n_j / (n_i + n_j)`. `S - gap V` is then a martingale, whatever came before
(docs/research/tilted-blocks.md).

A row is a list of numbers in a live test and a row of an array in the simulator. Its numbers have
names, the columns below; a family of evidence adds columns of its own to the row of a pair. The
functions of a family take the rows that they are about, and work on both: the simulator compiles
them, everything else calls them as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from bascule.core.types import FloatArray

Row = Any
"""The numbers of an arm or of a pair: a list, or a row of an array."""

Rows = Any
"""A row for each arm, or for each pair (0, 1), (0, 2) and so on."""

UNITS, ACTIVE, LEAD, BLOCK_UNITS, BLOCK_SUM = range(5)
"""Columns of every arm: its units in complete blocks, 1 if it is active, how far it is ahead of its
nearest rival, and the units and the sum of the outcomes of the current block."""

BLOCK_SQUARES, ARM_SUM, ARM_SQUARES = range(5, 8)
"""Columns of an arm whose spread matters: the squares of the current block, and the sums of all
outcomes of complete blocks and of their squares."""

BLOCK_CUBES, ARM_CUBES = range(8, 10)
"""Columns of an arm whose skewness matters: the cubes of the current block and of complete ones."""

ARM_OF_SUMS, ARM_OF_SQUARES, ARM_OF_CUBES = 5, 8, 10
"""How many columns an arm has."""

TOTAL, CLOCK = range(2)
"""Columns of every pair: S, first arm minus second in units of the scale, and V."""

Difference = tuple[float, float, float]
"""A difference, and the lower and upper end of its interval."""


class Params(NamedTuple):
    """The numbers that evidence goes by: one type for all families, which use what they need.

    All are in units of the outcomes' scale.
    """

    precision: float
    """1 / scale of the outcomes."""
    arms: float
    """How many arms are compared."""
    known: float
    """1 where the spread of the outcomes is known, else 0."""
    threshold: float
    """The log evidence at which an arm is beaten."""
    effect: float
    """The planned effect; 0 for none."""
    centre: float
    """The share that bets lie around."""
    reach: float
    """How many standard errors the planned effect is at the horizon; 0 without a horizon."""
    constant: float
    """z of the flat boundary of a test with a horizon."""
    last: float
    """The clock up to which a flat boundary holds: the horizon and one block beyond."""
    futility: float
    """The conditional power below which a test is futile; 0 for never."""
    prior: float
    """The sum of squares that the variance of outcomes within limits starts with."""
    prior_units: float
    """The units that it starts with."""
    planned: float
    """The variance that was planned; 0 for none."""
    least: float
    """The least variance that is counted with."""
    batch: float
    """Units of each challenger in a batch."""
    margin: float
    """The smallest difference that matters; 0 for none."""
    direction: float
    """1 where a lift is kept, -1 where outcomes are reflected, 0 where none is kept."""
    zero: float
    """The outcome that stands for the 0 that lifts are relative to."""
    floors: FloatArray
    """Totals, for each part of the clock, below which the evidence need not be computed."""


def pair_index(arms: int, i: int, j: int) -> int:
    """Return where a pair of arms comes in the order of `itertools.combinations`.

    >>> from itertools import combinations
    >>> [pair_index(4, i, j) for i, j in combinations(range(4), 2)], pair_index(4, 3, 1)
    ([0, 1, 2, 3, 4, 5], 4)
    """
    first, second = min(i, j), max(i, j)
    return first * (2 * arms - first - 1) // 2 + second - first - 1


def observe_sum(arm: Row, value: float) -> None:
    """Add one outcome to the current block of an arm of which sums are enough."""
    arm[BLOCK_SUM] += value


def observe_square(arm: Row, value: float) -> None:
    """Add one outcome, and its square."""
    # Most outcomes of rare events are 0, which changes nothing.
    if value != 0.0:
        arm[BLOCK_SUM] += value
        arm[BLOCK_SQUARES] += value * value


def count_square(arm: Row, successes: float) -> None:
    """Add so many outcomes of 1."""
    arm[BLOCK_SUM] += successes
    arm[BLOCK_SQUARES] += successes


def fold_sum(arm: Row) -> None:
    """Take the complete block into an arm that needs no moments."""
    arm[UNITS] += arm[BLOCK_UNITS]


def fold_square(arm: Row) -> None:
    """Take the complete block into the sums of an arm."""
    arm[UNITS] += arm[BLOCK_UNITS]
    arm[ARM_SUM] += arm[BLOCK_SUM]
    arm[ARM_SQUARES] += arm[BLOCK_SQUARES]
    arm[BLOCK_SQUARES] = 0.0


def add_block(pair: Row, mine: Row, theirs: Row, precision: float) -> tuple[float, float]:
    """Add the complete block of both arms to S and V; return what it adds to each."""
    share = 1.0 / (mine[BLOCK_UNITS] + theirs[BLOCK_UNITS])
    weight = mine[BLOCK_UNITS] * theirs[BLOCK_UNITS] * share
    lead = mine[BLOCK_SUM] * theirs[BLOCK_UNITS] - theirs[BLOCK_SUM] * mine[BLOCK_UNITS]
    step = lead * share * precision
    pair[TOTAL] += step
    pair[CLOCK] += weight
    return step, weight


def sums_of(arms: Rows, count: int) -> tuple[float, float, float]:
    """Return units, sum and squares of the outcomes of complete blocks, over all arms."""
    units, total, squares = 0.0, 0.0, 0.0
    for i in range(count):
        arm = arms[i]
        units += arm[UNITS]
        total += arm[ARM_SUM]
        squares += arm[ARM_SQUARES]
    return units, total, squares


def unit_spread(arms: Rows, count: int, params: Params) -> float:
    """Return 1: totals of outcomes with a known spread are in units of it."""
    return 1.0


def nothing_shared(arms: Rows, count: int, params: Params) -> float:
    """Return 0 where pairs share nothing."""
    return 0.0


def one_sided(difference: float, low: float, high: float, beats: bool, beaten: bool) -> Difference:
    """The ends, kept from reaching past 0, by rounding or caution, when the evidence decided."""
    return difference, max(low, 0.0) if beats else low, min(high, 0.0) if beaten else high


def no_outlook(
    pair: Row, mine: Row, theirs: Row, sign: float, shared: float, params: Params
) -> tuple[float, float]:
    """Return that the information left is infinite, since there is no horizon."""
    return math.inf, 0.0


def never(
    pair: Row, mine: Row, theirs: Row, shared: float, pending: float, params: Params
) -> float:
    """Return infinity, since there is no horizon for the clock to reach."""
    return math.inf


class Family(NamedTuple):
    """Evidence about two arms: how a block changes it, and what it says.

    `pair` is the row of a pair, `mine` and `theirs` those of its first and second arm. What has a
    default is for families that need an arm's sums and squares and have no horizon.
    """

    name: str
    pair_columns: int
    spread: Callable[[Rows, int, Params], float]
    """(arms, number of arms, params) -> the standard deviation that leads are in units of, in units
    of the outcomes' scale."""
    update: Callable[[Row, Row, Row, float, float, Params], None]
    """(pair, mine, theirs, before, after, params): take a complete block into a pair. It is called
    where both arms have units in the block, after `fold_arm`: an arm's sums include the block. The
    shared number is given as it was before the block and as it is after it."""
    verdict: Callable[[Row, Row, Row, Params], float]
    """(pair, mine, theirs, params) -> above 0 if the first arm has won, below if the second has."""
    within: Callable[[Row, Row, Row, float, Params], bool]
    """(pair, mine, theirs, margin, params) -> whether the difference is proven to be smaller."""
    interval: Callable[[Row, Row, Row, Params], Difference]
    """(pair, mine, theirs, params) -> the difference and its interval, valid at any time."""
    arm_columns: int = ARM_OF_SQUARES
    split: bool = True
    """Whether a batch is as many blocks of the same sizes, in place of one large block."""
    observe: Callable[[Row, float], None] = observe_square
    """(arm, value): add one outcome to the current block of an arm."""
    count_ones: Callable[[Row, float], None] = count_square
    """(arm, ones): add so many outcomes of 1, where a 0 changes nothing."""
    fold_arm: Callable[[Row], None] = fold_square
    """(arm): take the complete block into the arm; what pairs need of the block stays."""
    shared: Callable[[Rows, int, Params], float] = nothing_shared
    """(arms, number of arms, params) -> the number that all pairs share, such as a variance."""
    first_ends: bool = False
    """Whether the first pair at its horizon ends a test; else every arm needs one there."""
    outlook: Callable[[Row, Row, Row, float, float, Params], tuple[float, float]] = no_outlook
    """(pair, mine, theirs, sign, shared, params) -> what is left of the clock until the horizon,
    and how far the first arm (the second where the sign is -1) is from winning, both in units of
    the planned effect. What is left is infinite while nothing is known."""
    remaining: Callable[[Row, Row, Row, float, float, Params], float] = never
    """(pair, mine, theirs, shared, pending, params) -> by how much the clock of a pair has to grow
    until its horizon, beyond what is pending, if blocks are as they have been; infinity while
    nothing is known of that."""
    boundary: Callable[[float, Params], float] | None = None
    """(clock, params) -> the total at which a pair is decided; None if a total alone does not
    decide."""
    drawn: Family | None = None
    """The family that simulations play, where each unit is one number; None for this one."""
    lift: Callable[[Row, Params], tuple[float, float]] | None = None
    """(pair, params) -> the bounds of the second arm's mean relative to the first's, minus 1; None
    where the evidence says nothing of it."""
    in_theory: bool = False
    """Whether theory knows when such evidence decides. Without that, and without a boundary,
    nothing is predicted, and no median-unbiased estimate is given."""
