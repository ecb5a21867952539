"""Rows that hold the evidence of a test in blocks: one for each arm and one for each pair.

A block holds some units of the leader and fewer of each challenger, in random order; the numbers
are fixed before it starts. A complete block adds to every pair (i, j) of its arms `S += h D` and
`V += h`, where D is the difference of the block's means, n are the block's units and
`h = n_i n_j / (n_i + n_j)`. `S - gap V` is then a martingale, whatever happened before
(docs/research/tilted-blocks.md).

A row is a list of numbers in a live test and a row of an array in the simulator. Its numbers have
names, the columns below; a family of evidence adds columns of its own to the row of a pair. The
functions of a family work on both kinds of rows: the simulator compiles them, everything else
calls them as they are.
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
"""Columns of every arm: its units in complete blocks, 1 if it is active, its lead over its nearest
rival, and the units and the sum of the outcomes of the current block."""

BLOCK_SQUARES, ARM_SUM, ARM_SQUARES = range(5, 8)
"""Columns of an arm whose spread is needed: the sum of squared outcomes of the current block, and
the sums of outcomes and of squared outcomes of all complete blocks."""

BLOCK_CUBES, ARM_CUBES = range(8, 10)
"""Columns of an arm whose skewness is needed: sums of cubes of the current and complete blocks."""

ARM_OF_SUMS, ARM_OF_SQUARES, ARM_OF_CUBES = 5, 8, 10
"""Number of columns of an arm with sums only, with squares, and with cubes."""

TOTAL, CLOCK = range(2)
"""Columns of every pair: the weighted sum S of block differences, and the sum V of weights."""

Difference = tuple[float, float, float]
"""A difference, and the lower and upper end of its interval."""

Bounds = tuple[float, float]
"""The lower and upper end of an interval."""


class Params(NamedTuple):
    """Parameters of the evidence: one type for all families, each of which uses some of them.

    Differences and variances are in units of the outcomes' scale.
    """

    precision: float
    """1 / scale of the outcomes."""
    arms: float
    """Number of arms that are compared."""
    known: float
    """1 if the spread of the outcomes is known, else 0."""
    threshold: float
    """The log evidence at which an arm is beaten."""
    effect: float
    """The planned effect; 0 for none."""
    centre: float
    """Share of its wealth that the central bet stakes."""
    reach: float
    """Planned effect in standard errors of its estimate at the horizon; 0 without a horizon."""
    constant: float
    """Height of the flat boundary, in standard deviations of the total at the horizon."""
    last: float
    """The clock up to which a flat boundary holds: the horizon plus a batch; 0 if there is none."""
    futility: float
    """The conditional power below which a test is futile; 0 for never."""
    prior: float
    """Sum of squares with which the variance of outcomes within limits starts."""
    prior_units: float
    """Number of units with which the variance of outcomes within limits starts."""
    planned: float
    """The planned variance; 0 for none."""
    least: float
    """Minimum of the variance: smaller estimates are replaced by it."""
    batch: float
    """Number of units of each challenger in a batch."""
    margin: float
    """The smallest difference that matters; 0 for none."""
    direction: float
    """1 if lifts have bounds, -1 if they have bounds and outcomes are mirrored, 0 for no bounds."""
    zero: float
    """Value of an outcome of 0 after mirroring and scaling; relative lifts are measured from it."""
    floors: FloatArray
    """For each bin of the clock (see `part_of`), a total below which no pair can be decided."""


def pair_index(arms: int, i: int, j: int) -> int:
    """Return the index of a pair of arms in the order of `itertools.combinations`.

    >>> from itertools import combinations
    >>> [pair_index(4, i, j) for i, j in combinations(range(4), 2)], pair_index(4, 3, 1)
    ([0, 1, 2, 3, 4, 5], 4)
    """
    first, second = min(i, j), max(i, j)
    return first * (2 * arms - first - 1) // 2 + second - first - 1


def observe_sum(arm: Row, value: float) -> None:
    """Add one outcome to the current block of an arm that keeps only sums."""
    arm[BLOCK_SUM] += value


def observe_square(arm: Row, value: float) -> None:
    """Add one outcome and its square to the current block."""
    # With rare events most outcomes are 0, which changes nothing.
    if value != 0.0:
        arm[BLOCK_SUM] += value
        arm[BLOCK_SQUARES] += value * value


def count_square(arm: Row, successes: float) -> None:
    """Add `successes` outcomes, each of them 1, to the current block."""
    arm[BLOCK_SUM] += successes
    arm[BLOCK_SQUARES] += successes


def fold_sum(arm: Row) -> None:
    """Add a complete block to an arm of which only the number of units is kept."""
    arm[UNITS] += arm[BLOCK_UNITS]


def fold_square(arm: Row) -> None:
    """Add the complete block to the sums of an arm."""
    arm[UNITS] += arm[BLOCK_UNITS]
    arm[ARM_SUM] += arm[BLOCK_SUM]
    arm[ARM_SQUARES] += arm[BLOCK_SQUARES]
    arm[BLOCK_SQUARES] = 0.0


def add_block(pair: Row, mine: Row, theirs: Row, precision: float) -> tuple[float, float]:
    """Add a complete block to the total S and the clock V of a pair; return both increments."""
    share = 1.0 / (mine[BLOCK_UNITS] + theirs[BLOCK_UNITS])
    weight = mine[BLOCK_UNITS] * theirs[BLOCK_UNITS] * share
    lead = mine[BLOCK_SUM] * theirs[BLOCK_UNITS] - theirs[BLOCK_SUM] * mine[BLOCK_UNITS]
    step = lead * share * precision
    pair[TOTAL] += step
    pair[CLOCK] += weight
    return step, weight


def sums_of(arms: Rows, count: int) -> tuple[float, float, float]:
    """Return units, sum and sum of squares of the outcomes of complete blocks, over all arms."""
    units, total, squares = 0.0, 0.0, 0.0
    for i in range(count):
        arm = arms[i]
        units += arm[UNITS]
        total += arm[ARM_SUM]
        squares += arm[ARM_SQUARES]
    return units, total, squares


def unit_spread(arms: Rows, count: int, params: Params) -> float:
    """Return 1, because totals are in units of the known spread."""
    return 1.0


def nothing_shared(arms: Rows, count: int, params: Params) -> float:
    """Return 0: the default for families that need no number common to all pairs."""
    return 0.0


def one_sided(difference: float, low: float, high: float, beats: bool, beaten: bool) -> Difference:
    """Return a difference and its interval, cut off at 0 if one arm has beaten the other.

    Rounding, or a conservative interval, could otherwise contradict the decision.
    """
    return difference, max(low, 0.0) if beats else low, min(high, 0.0) if beaten else high


def no_outlook(
    pair: Row, mine: Row, theirs: Row, sign: float, shared: float, params: Params
) -> tuple[float, float]:
    """Return the outlook without a horizon: infinite information left, and a distance of 0."""
    return math.inf, 0.0


def never(
    pair: Row, mine: Row, theirs: Row, shared: float, pending: float, params: Params
) -> float:
    """Return infinity, since there is no horizon for the clock to reach."""
    return math.inf


Update = Callable[[Row, Row, Row, float, float, Params], None]
"""(pair, mine, theirs, before, after, params): see `Family.update`."""


class Family(NamedTuple):
    """A kind of evidence about two arms: how blocks update it, and the results it gives.

    `pair` is the row of a pair, `mine` and `theirs` are those of its first and second arm. The
    defaults are for families that need the sums and squares of an arm and have no horizon.
    """

    name: str
    pair_columns: int
    spread: Callable[[Rows, int, Params], float]
    """(arms, number of arms, params) -> the standard deviation by which leads are divided, in units
    of the outcomes' scale."""
    update: Update
    """(pair, mine, theirs, before, after, params): add a complete block to a pair. It is called if
    both arms have units in the block, after `fold_arm`, so an arm's sums include the block.
    `before` and `after` are the value of `shared` before and after the block."""
    verdict: Callable[[Row, Row, Row, Params], float]
    """(pair, mine, theirs, params) -> above 0 if the first arm has won, below if the second has."""
    within: Callable[[Row, Row, Row, float, Params], bool]
    """(pair, mine, theirs, margin, params) -> whether the difference is proven below the margin."""
    interval: Callable[[Row, Row, Row, Params], Difference]
    """(pair, mine, theirs, params) -> the difference and its interval, valid at any time."""
    arm_columns: int = ARM_OF_SQUARES
    split: bool = True
    """Whether a batch is several blocks of the same sizes instead of one large block."""
    observe: Callable[[Row, float], None] = observe_square
    """(arm, value): add one outcome to the current block of an arm."""
    count_ones: Callable[[Row, float], None] = count_square
    """(arm, ones): add `ones` outcomes, each of them 1; outcomes of 0 change nothing."""
    fold_arm: Callable[[Row], None] = fold_square
    """(arm): add a complete block to the arm; block columns that `update` reads are not reset."""
    shared: Callable[[Rows, int, Params], float] = nothing_shared
    """(arms, number of arms, params) -> the number that all pairs share, such as a variance."""
    first_ends: bool = False
    """Whether one pair at its horizon ends a test; otherwise every arm must have such a pair."""
    outlook: Callable[[Row, Row, Row, float, float, Params], tuple[float, float]] = no_outlook
    """(pair, mine, theirs, sign, shared, params) -> the information left until the horizon, and the
    distance of the first arm (the second if the sign is -1) from winning, both in units of the
    planned effect. The information left is infinite while it cannot be estimated."""
    remaining: Callable[[Row, Row, Row, float, float, Params], float] = never
    """(pair, mine, theirs, shared, pending, params) -> the growth of a pair's clock until its
    horizon, beyond `pending`, if blocks go on as they have been; infinity while it cannot be
    estimated."""
    update_for: Callable[[bool, bool], Update] | None = None
    """(intervals, horizon) -> `update` of tests with or without these; None if it is the same."""
    boundary: Callable[[float, Params], float] | None = None
    """(clock, params) -> the total at which a pair is decided; None if a total alone does not
    decide."""
    drawn: Family | None = None
    """The family that simulations use, where each unit is one number; None if it is this one."""
    lift: Callable[[Row, Bounds, float, Params], Bounds | None] | None = None
    """(pair, difference, relative, params) -> the bounds of the lift of the second arm over the
    first, or of the first over the second if `relative` is -1; None if there are none.
    `difference` has the bounds of the difference of the same two means, before mirroring."""
    holds_at_every_look: bool = False
    """Whether the interval of the current look may always be shown, besides the stored ones."""
    in_theory: bool = False
    """Whether theory can predict when such evidence decides. If it cannot, and there is no
    `boundary` either, nothing is predicted, and no median-unbiased estimate is given."""
