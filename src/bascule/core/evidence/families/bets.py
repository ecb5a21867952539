"""Bets: outcomes within limits. Proofs: docs/research/evidence.md.

Each block is one round: on the pair (i, j) a gambler bets that i is better, and is paid the
difference of the block's means, divided by the width of the limits to lie within -1 and 1. A batch
is that many rounds of the same sizes, because one large round would pay as little as a small one.
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
"""Numbers that the bets on one arm of a pair take."""

BLOCKS, DIFFERENCES, SQUARES, WON = range(CLOCK + 1, CLOCK + 5)
"""Columns of a pair: how many blocks it had, the sum of their differences and of the squares of
these, and what the bets on the arm that is ahead have won at the most, as a logarithm: all that is
looked at while it is too little."""

MINE = WON + 1
"""Where the bets on the first arm begin: what each has won, as a logarithm."""

THEIRS = MINE + STAKES
"""Where the bets on the second arm begin."""

UNSEEN = 1.0
"""The spread that is assumed while all outcomes are equal: no arm leads, so any value works."""


def spread(arms: Rows, count: int, params: Params) -> float:
    """Return the standard deviation of all outcomes of complete blocks, in units of the scale."""
    units, total, squares = sums_of(arms, count)
    scaled_variance = units * squares - total * total
    if scaled_variance <= 0.0:
        return UNSEEN
    return params.precision * math.sqrt(scaled_variance) / units


def block_difference(mine: Row, theirs: Row, precision: float) -> float:
    """Return the difference of a block's means, scaled to lie within -1 and 1."""
    difference: float = (
        mine[BLOCK_SUM] / mine[BLOCK_UNITS] - theirs[BLOCK_SUM] / theirs[BLOCK_UNITS]
    )
    return min(1.0, max(-1.0, difference * precision))


def update(pair: Row, mine: Row, theirs: Row, before: float, after: float, params: Params) -> None:
    """Play one round with the bets on either arm."""
    add_block(pair, mine, theirs, params.precision)
    pair[BLOCKS] += 1.0
    scaled = block_difference(mine, theirs, params.precision)
    # Most blocks of rare events hold none, and then nothing is won or lost.
    if scaled != 0.0:
        pair[DIFFERENCES] += scaled
        pair[SQUARES] += scaled * scaled
        bet(pair, MINE, scaled, params.centre)
        bet(pair, THEIRS, -scaled, params.centre)
        # Only the bets on the arm that is ahead can have won anything, and all of them together
        # never have more than the best of them.
        first = MINE if pair[DIFFERENCES] > 0.0 else THEIRS
        highest = pair[first]
        for k in range(1, STAKES):
            highest = max(highest, pair[first + k])
        if highest >= params.threshold:
            highest = log_wealth(pair, first, params.centre)
        pair[WON] = highest


def has_won(pair: Row, first: int, params: Params) -> bool:
    """Return whether the bets on one arm have won enough to decide."""
    return log_wealth(pair, first, params.centre) >= params.threshold


def verdict(pair: Row, mine: Row, theirs: Row, params: Params) -> float:
    """Return which arm its bets have won for."""
    winner = 0.0
    if pair[WON] >= params.threshold:
        if pair[DIFFERENCES] > 0.0:
            winner = 1.0 if has_won(pair, MINE, params) else 0.0
        else:
            winner = -1.0 if has_won(pair, THEIRS, params) else 0.0
    return winner


def within(pair: Row, mine: Row, theirs: Row, margin: float, params: Params) -> bool:
    """Return whether the bets that the difference is within the margin have won enough."""
    blocks, differences, squares = pair[BLOCKS], pair[DIFFERENCES], pair[SQUARES]
    threshold, centre = params.threshold, params.centre
    return (
        abs(differences) < margin * blocks
        and log_shifted_wealth(blocks, differences, squares, -margin, centre) >= threshold
        and log_shifted_wealth(blocks, -differences, squares, -margin, centre) >= threshold
    )


def interval(pair: Row, mine: Row, theirs: Row, params: Params) -> Difference:
    """Return the difference and the interval of shifts that no bet has ruled out."""
    beats, beaten = has_won(pair, MINE, params), has_won(pair, THEIRS, params)
    return shifts_left(pair, beats, beaten, params)


def shifts_left(pair: Row, beats: bool, beaten: bool, params: Params) -> Difference:
    """Return the difference and the interval, by its sums and by which arm has won."""
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
"""Outcomes within limits."""
