"""Ratios of sums: the evidence of an estimated spread, each arm around what it has shown itself.

A unit has a numerator n and a denominator d. With `h_b` the weight of block b, an arm of a pair has
the ratio `R = sum h_b mean(n) / sum h_b mean(d)`, and the total of the pair is its clock times the
difference of these ratios. So nothing is fixed beforehand: after every block all that was seen is
counted around the arm's own ratio r and its own mean denominator w, as `r + (n - r d) / w`, whose
mean is the ratio and whose variance is that of the ratio for one unit. From there on everything is
as with an estimated spread. The guarantee is asymptotic: docs/research/unknown-spread.md.
"""

from __future__ import annotations

from bascule.core.evidence.families.estimated_spread import (
    END,
    ESTIMATED_SPREAD,
    THEIR_PULL,
    add_to_clock,
    end_at_horizon,
)
from bascule.core.evidence.families.rows import (
    ARM_CUBES,
    ARM_OF_CUBES,
    ARM_SQUARES,
    ARM_SUM,
    BLOCK_CUBES,
    BLOCK_SQUARES,
    BLOCK_SUM,
    BLOCK_UNITS,
    CLOCK,
    TOTAL,
    UNITS,
    Params,
    Row,
)
from bascule.core.statistics import linearised

PRODUCTS = 6
"""Sums with denominators: of d, n d, d^2, n^2 d, n d^2 and d^3."""

BLOCK_PER = ARM_OF_CUBES
"""Columns of an arm from here on: the sums with denominators of the current block."""

LAST_PER = BLOCK_PER + PRODUCTS
"""Column of an arm: the sum of the denominators of the block that was complete last."""

RAW = LAST_PER + 1
"""Columns of an arm from here on: the sums of n, n^2 and n^3 and those with denominators of all
complete blocks. The columns of every arm with an estimated spread have the linearised ones."""

ARM_OF_RATIOS = RAW + 3 + PRODUCTS

MY_SUM, MY_PER, THEIR_SUM, THEIR_PER = range(THEIR_PULL + 1, THEIR_PULL + 5)
"""Columns of a pair: the weighted means of numerators and denominators, summed over blocks."""


def fold_arm(arm: Row) -> None:
    """Take the complete block into the sums of an arm, and count all units around its ratio."""
    arm[UNITS] += arm[BLOCK_UNITS]
    arm[RAW] += arm[BLOCK_SUM]
    arm[RAW + 1] += arm[BLOCK_SQUARES]
    arm[RAW + 2] += arm[BLOCK_CUBES]
    arm[BLOCK_SQUARES] = 0.0
    arm[BLOCK_CUBES] = 0.0
    arm[LAST_PER] = arm[BLOCK_PER]
    for k in range(PRODUCTS):
        arm[RAW + 3 + k] += arm[BLOCK_PER + k]
        arm[BLOCK_PER + k] = 0.0
    if arm[UNITS] > 0.0:
        sums = linearised(arm[UNITS], arm[RAW:])
        arm[ARM_SUM], arm[ARM_SQUARES], arm[ARM_CUBES] = sums


def update(pair: Row, mine: Row, theirs: Row, before: float, after: float, params: Params) -> None:
    """Add a complete block to the clock, and compare the ratios of all complete blocks."""
    if pair[END] > 0.0:
        return
    add_to_clock(pair, mine, theirs, params)
    inverse = 1.0 / (mine[BLOCK_UNITS] + theirs[BLOCK_UNITS])
    pair[MY_SUM] += mine[BLOCK_SUM] * theirs[BLOCK_UNITS] * inverse
    pair[MY_PER] += mine[LAST_PER] * theirs[BLOCK_UNITS] * inverse
    pair[THEIR_SUM] += theirs[BLOCK_SUM] * mine[BLOCK_UNITS] * inverse
    pair[THEIR_PER] += theirs[LAST_PER] * mine[BLOCK_UNITS] * inverse
    pair[TOTAL] = 0.0
    if pair[MY_PER] > 0.0 and pair[THEIR_PER] > 0.0:
        ratios = pair[MY_SUM] / pair[MY_PER] - pair[THEIR_SUM] / pair[THEIR_PER]
        pair[TOTAL] = pair[CLOCK] * ratios * params.precision
    end_at_horizon(pair, mine, theirs, params)


RATIO = ESTIMATED_SPREAD._replace(
    name="ratio",
    arm_columns=ARM_OF_RATIOS,
    pair_columns=THEIR_PER + 1,
    fold_arm=fold_arm,
    update=update,
    drawn=ESTIMATED_SPREAD,
)
"""A ratio of sums, whose spread is estimated.

Its blocks are folded as sums. A simulated unit is one number, a ratio with a denominator of 1, and
with these all is as in `ESTIMATED_SPREAD`, which simulations play.
"""
