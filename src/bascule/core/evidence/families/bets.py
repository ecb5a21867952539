"""Evidence by betting for outcomes within limits. Proofs: docs/research/evidence.md.

Each block is one round: for the pair (i, j) a bet that i is better is paid the difference of the
block's means, divided by the width of the limits so that it lies between -1 and 1. A batch is
played as several rounds of the same sizes, because one large round would pay no more than a small
one.
"""

from __future__ import annotations

import math

from bascule.core.evidence.betting import (
    BETS,
    bet,
    log_shifted_wealth,
    log_wealth,
    shift_ruled_out,
)
from bascule.core.evidence.families.rows import (
    BLOCK_SUM,
    BLOCK_UNITS,
    CLOCK,
    Difference,
    Family,
    Params,
    Row,
    Rows,
    add_block,
    one_sided,
    sums_of,
)

STAKES = len(BETS)
"""Number of columns in the row of a pair that the bets on one of its arms need."""

BLOCKS, DIFFERENCES, SQUARES, WON = range(CLOCK + 1, CLOCK + 5)
"""Columns of a pair: the number of its blocks, the sum of their differences, the sum of the squared
differences, and an upper bound on the log wealth of the bets on the arm that is ahead. While the
bound is below the threshold, the wealth itself is not computed."""

MINE = WON + 1
"""First column of the bets on the first arm: the log growth of each of them."""

THEIRS = MINE + STAKES
"""First column of the bets on the second arm."""

UNSEEN = 1.0
"""Spread to assume while all outcomes are equal; no arm leads then, so any value works."""


def spread(arms: Rows, count: int, params: Params) -> float:
    """Return the standard deviation of all outcomes of complete blocks, in units of the scale."""
    units, total, squares = sums_of(arms, count)
    scaled_variance = units * squares - total * total
    if scaled_variance <= 0.0:
        return UNSEEN
    return params.precision * math.sqrt(scaled_variance) / units


def block_difference(mine: Row, theirs: Row, precision: float) -> float:
    """Return the difference of two arms' means in a block, divided by the width of the limits."""
    difference: float = (
        mine[BLOCK_SUM] / mine[BLOCK_UNITS] - theirs[BLOCK_SUM] / theirs[BLOCK_UNITS]
    )
    return min(1.0, max(-1.0, difference * precision))


def update(pair: Row, mine: Row, theirs: Row, before: float, after: float, params: Params) -> None:
    """Update the bets on both arms of a pair with a complete block."""
    add_block(pair, mine, theirs, params.precision)
    pair[BLOCKS] += 1.0
    scaled = block_difference(mine, theirs, params.precision)
    # With rare events most blocks have a difference of 0, which changes no wealth.
    if scaled != 0.0:
        pair[DIFFERENCES] += scaled
        pair[SQUARES] += scaled * scaled
        bet(pair, MINE, scaled, params.centre)
        bet(pair, THEIRS, -scaled, params.centre)
        # Only bets on the arm that is ahead can have won. They all started with 1 in total, so
        # their total is at most the largest growth of a single bet.
        first = MINE if pair[DIFFERENCES] > 0.0 else THEIRS
        highest = pair[first]
        for k in range(1, STAKES):
            highest = max(highest, pair[first + k])
        if highest >= params.threshold:
            highest = log_wealth(pair, first, params.centre)
        pair[WON] = highest


def has_won(pair: Row, first: int, params: Params) -> bool:
    """Return whether the total wealth of the bets on one arm has reached the threshold."""
    return log_wealth(pair, first, params.centre) >= params.threshold


def verdict(pair: Row, mine: Row, theirs: Row, params: Params) -> float:
    """Return 1 if the bets on the first arm have won, -1 for the second, and 0 for neither."""
    winner = 0.0
    if pair[WON] >= params.threshold:
        if pair[DIFFERENCES] > 0.0:
            winner = 1.0 if has_won(pair, MINE, params) else 0.0
        else:
            winner = -1.0 if has_won(pair, THEIRS, params) else 0.0
    return winner


def within(pair: Row, mine: Row, theirs: Row, margin: float, params: Params) -> bool:
    """Return whether the bets on a difference within the margin have reached the threshold."""
    blocks, differences, squares = pair[BLOCKS], pair[DIFFERENCES], pair[SQUARES]
    threshold, centre = params.threshold, params.centre
    return (
        abs(differences) < margin * blocks
        and log_shifted_wealth(blocks, differences, squares, -margin, centre) >= threshold
        and log_shifted_wealth(blocks, -differences, squares, -margin, centre) >= threshold
    )


def interval(pair: Row, mine: Row, theirs: Row, params: Params) -> Difference:
    """Return the mean difference and the interval of all differences that no bet has ruled out."""
    beats, beaten = has_won(pair, MINE, params), has_won(pair, THEIRS, params)
    return shifts_left(pair, beats, beaten, params)


def shifts_left(pair: Row, beats: bool, beaten: bool, params: Params) -> Difference:
    """Return the mean difference and its interval, from the sums over the blocks of a pair.

    `beats` and `beaten` say whether the bets on the first and on the second arm have won.
    """
    blocks, differences, squares = pair[BLOCKS], pair[DIFFERENCES], pair[SQUARES]
    if blocks == 0.0:
        return 0.0, -math.inf, math.inf
    threshold, centre = params.threshold, params.centre
    return one_sided(
        differences / blocks,
        shift_ruled_out(blocks, differences, squares, threshold, centre),
        -shift_ruled_out(blocks, -differences, squares, threshold, centre),
        beats,
        beaten,
    )


BETTING = Family(
    "bets",
    THEIRS + STAKES,
    spread=spread,
    update=update,
    verdict=verdict,
    within=within,
    interval=interval,
    in_theory=True,
)
"""Evidence for outcomes within limits, by betting."""
