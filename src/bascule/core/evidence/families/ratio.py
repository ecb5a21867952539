"""Evidence for ratios of sums: that for an unknown spread, with linearised outcomes.

A unit has a numerator n and a denominator d. With `h_b` the weight of block b, an arm of a pair has
the ratio `R = sum h_b mean(n) / sum h_b mean(d)`, and the total of the pair is its clock times the
difference of these ratios. No reference ratio has to be fixed beforehand: after every block all
units are linearised around the arm's own ratio r and mean denominator w, as `r + (n - r d) / w`.
The mean of these values is the ratio, and their variance is that of the ratio for one unit; the
rest is as for an estimated spread. The guarantee is asymptotic: docs/research/unknown-spread.md.
"""

from __future__ import annotations

from bascule.core.evidence.families.estimated_spread import (
    END,
    ESTIMATED_SPREAD,
    LEVEL,
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
"""Number of sums with denominators: those of d, n d, d^2, n^2 d, n d^2 and d^3."""

BLOCK_PER = ARM_OF_CUBES
"""First column of an arm's sums with denominators of the current block."""

LAST_PER = BLOCK_PER + PRODUCTS
"""Column of an arm: the sum of the denominators of the last complete block."""

RAW = LAST_PER + 1
"""First column of an arm's raw sums over all complete blocks: those of n, n^2 and n^3, and those
with denominators. `ARM_SUM`, `ARM_SQUARES` and `ARM_CUBES` hold the linearised sums."""

ARM_OF_RATIOS = RAW + 3 + PRODUCTS

MY_SUM, MY_PER, THEIR_SUM, THEIR_PER = range(LEVEL + 1, LEVEL + 5)
"""Columns of a pair: the weighted means of numerators and denominators, summed over blocks."""


def fold_arm(arm: Row) -> None:
    """Add a complete block to an arm's sums, and linearise all its units around the arm's ratio."""
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
    """Add a complete block to a pair's clock, and set its total from the ratios of all blocks."""
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
        ratio = pair[MY_SUM] / pair[MY_PER]
        pair[TOTAL] = pair[CLOCK] * params.precision * (ratio - pair[THEIR_SUM] / pair[THEIR_PER])
        pair[LEVEL] = pair[CLOCK] * params.precision * ratio
    end_at_horizon(pair, mine, theirs, params)


RATIO = ESTIMATED_SPREAD._replace(
    name="ratio",
    arm_columns=ARM_OF_RATIOS,
    pair_columns=THEIR_PER + 1,
    fold_arm=fold_arm,
    update=update,
    drawn=ESTIMATED_SPREAD,
)
"""Evidence for a ratio of sums, whose spread is estimated.

Its blocks are folded as sums. A simulated unit is one number, a ratio with a denominator of 1; with
such units this family equals `ESTIMATED_SPREAD`, which simulations use.
"""
