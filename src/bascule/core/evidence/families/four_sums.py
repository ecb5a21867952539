"""Evidence by betting for many arms with bounded outcomes, computed from four sums for each pair.

The sums of the first four powers of the blocks' differences give a lower bound on the log wealth of
the bets of `families.bets`: in each logarithm only the terms from the fourth power on are replaced
by their worst case. Proofs: docs/research/evidence.md.
"""

from __future__ import annotations

from bascule.core.evidence.betting import log_wealth_of_sums, sums_may_reach
from bascule.core.evidence.families.bets import (
    BETTING,
    BLOCKS,
    DIFFERENCES,
    SQUARES,
    block_difference,
    shifts_left,
)
from bascule.core.evidence.families.rows import Difference, Params, Row, add_block

CUBES, FOURTHS = range(SQUARES + 1, SQUARES + 3)
"""Columns of a pair: the sums of the third and fourth powers of the blocks' differences."""


def update(pair: Row, mine: Row, theirs: Row, before: float, after: float, params: Params) -> None:
    """Add a complete block to the sums of a pair."""
    add_block(pair, mine, theirs, params.precision)
    pair[BLOCKS] += 1.0
    scaled = block_difference(mine, theirs, params.precision)
    if scaled != 0.0:
        square = scaled * scaled
        pair[DIFFERENCES] += scaled
        pair[SQUARES] += square
        pair[CUBES] += square * scaled
        pair[FOURTHS] += square * square


def has_won(pair: Row, sign: float, params: Params) -> bool:
    """Return whether the bets on the first arm (the second if `sign` is -1) decide."""
    won = log_wealth_of_sums(
        sign * pair[DIFFERENCES], pair[SQUARES], sign * pair[CUBES], pair[FOURTHS]
    )
    return won >= params.threshold


def verdict(pair: Row, mine: Row, theirs: Row, params: Params) -> float:
    """Return 1 if the bets on the first arm have won, -1 for the second, and 0 for neither."""
    winner = 0.0
    if sums_may_reach(params.threshold, pair[DIFFERENCES], pair[SQUARES]):
        if has_won(pair, 1.0, params):
            winner = 1.0
        elif has_won(pair, -1.0, params):
            winner = -1.0
    return winner


def interval(pair: Row, mine: Row, theirs: Row, params: Params) -> Difference:
    """Return the mean difference and the interval of all differences that no bet has ruled out."""
    beats, beaten = has_won(pair, 1.0, params), has_won(pair, -1.0, params)
    return shifts_left(pair, beats, beaten, params)


FOUR_SUMS = BETTING._replace(
    name="bets in four sums",
    pair_columns=FOURTHS + 1,
    update=update,
    verdict=verdict,
    interval=interval,
)
"""Evidence for outcomes within limits in tests with many arms, by betting."""
