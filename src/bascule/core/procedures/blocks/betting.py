"""Blocks of outcomes within known limits whose variance is unknown: the evidence is a bet.

A test is laid out as in `blocks.state`, followed by the sum of all outcomes, the sum of their
squares, how many bets were won since the arms were last compared, for each ordered pair of arms
what its bets have won (`core.evidence.betting`), and for each pair how many blocks it had, the sum
of their differences and the sum of the squares of these. Each block is one round: on the pair
(i, j) the gambler bets that i is better, and is paid the difference of the block's means, divided
by the width of the limits to lie within -1 and 1. A batch is that many rounds of the same sizes,
because one large round would pay as little as a small one. docs/explanation/tilted-blocks.md has
the proof.
"""

from __future__ import annotations

import math

from bascule.core.evidence.betting import BETS, ORDINARY, bet, log_wealth
from bascule.core.procedures.blocks.state import Criterion
from bascule.core.procedures.blocks.state import fold as fold_pairs
from bascule.core.procedures.blocks.state import leader as leader_of_pairs
from bascule.core.procedures.blocks.state import observe as observe_in_block
from bascule.core.procedures.blocks.state import width as width_of_pairs
from bascule.core.types import FloatArray

STAKES = len(BETS)
"""Numbers that the bets on one ordered pair take."""

SUMS = 3
"""Numbers that the blocks of one pair are summed up in."""

UNSEEN = 1.0
"""The spread that is assumed while all outcomes are equal: no arm leads, so any value works."""


def width(arms: int) -> int:
    """Numbers that one test takes.

    >>> width(2) == width_of_pairs(2) + 3 + 4 * (STAKES + SUMS)
    True
    """
    return width_of_pairs(arms) + 3 + arms * arms * (STAKES + SUMS)


def clear(state: FloatArray, first: int, arms: int) -> None:
    """Reset the test that begins at `first`: no units yet, and every arm active."""
    for i in range(width(arms)):
        state[first + i] = 0.0
    for arm in range(arms):
        state[first + arms + arm] = 1.0


def planned_width(arms: int) -> int:
    """Numbers that one test takes whose bets lie around a central share: it comes last."""
    return width(arms) + 1


def prepare_planned(state: FloatArray, first: int, arms: int, plan: FloatArray) -> None:
    """Write the central share into a test."""
    state[first + width(arms)] = plan[0]


def observe(state: FloatArray, first: int, arms: int, arm: int, value: float) -> None:
    """Add one outcome to the current block and to the spread."""
    # Most outcomes of rare events are 0, which changes nothing.
    if value != 0.0:
        observe_in_block(state, first, arms, arm, value)
        moments = first + width_of_pairs(arms)
        state[moments] += value
        state[moments + 1] += value * value


def spread(state: FloatArray, first: int, arms: int) -> float:
    """The standard deviation of all outcomes of complete blocks."""
    units = 0.0
    for arm in range(arms):
        units += state[first + arm]
    moments = first + width_of_pairs(arms)
    scaled_variance = units * state[moments + 1] - state[moments] * state[moments]
    return math.sqrt(scaled_variance) / units if scaled_variance > 0.0 else UNSEEN


def leader(state: FloatArray, first: int, arms: int) -> tuple[int, float]:
    """The arm that is furthest ahead, and how far, in standard deviations as they were seen."""
    best, ahead = leader_of_pairs(state, first, arms)
    return best, ahead / spread(state, first, arms)


def stake(first: int, arms: int, i: int, j: int) -> int:
    """Where the bets that arm i is better than arm j begin."""
    return first + width_of_pairs(arms) + 3 + (i * arms + j) * STAKES


def sums_of(first: int, arms: int, i: int, j: int) -> int:
    """Where the blocks of the pair (i, j), i before j, are summed up."""
    return first + width_of_pairs(arms) + 3 + arms * arms * STAKES + (i * arms + j) * SUMS


def fold(state: FloatArray, first: int, arms: int, precision: float) -> None:
    """Take the current block, which is complete, into the units, the pairs and the bets.

    `precision` is 1 / width of the limits. The next block can follow at once, with the same units
    for each arm.
    """
    fold_around(state, first, arms, precision, ORDINARY)


def fold_planned(state: FloatArray, first: int, arms: int, precision: float) -> None:
    """Take the current block into a test whose bets lie around the share of a planned effect."""
    fold_around(state, first, arms, precision, state[first + width(arms)])


def fold_around(state: FloatArray, first: int, arms: int, precision: float, centre: float) -> None:
    """Take the current block into a test whose bets lie around a central share."""
    fold_pairs(state, first, arms, 1.0)
    counts = first + 2 * arms
    sums = counts + arms
    won = first + width_of_pairs(arms) + 2
    for i in range(arms):
        mine = state[counts + i]
        for j in range(i + 1, arms):
            theirs = state[counts + j]
            if mine > 0.0 and theirs > 0.0:
                difference = state[sums + i] / mine - state[sums + j] / theirs
                summed = sums_of(first, arms, i, j)
                state[summed] += 1.0
                # Most blocks of rare events hold none, and then nothing is won or lost.
                if difference != 0.0:
                    state[won] += 1.0
                    scaled = min(1.0, max(-1.0, difference * precision))
                    state[summed + 1] += scaled
                    state[summed + 2] += scaled * scaled
                    bet(state, stake(first, arms, i, j), scaled, centre)
                    bet(state, stake(first, arms, j, i), -scaled, centre)
    for arm in range(arms):
        state[sums + arm] = 0.0


def highest_log(state: FloatArray, wins: int) -> float:
    """What the best of the bets on a pair has won; all together never have more."""
    best = state[wins]
    for k in range(1, STAKES):
        best = max(best, state[wins + k])
    return float(best)


def has_won(state: FloatArray, wins: int, criterion: Criterion) -> bool:
    """Whether the bets on an ordered pair, which begin at `wins`, have won enough to decide."""
    centre, threshold = criterion.effect, criterion.threshold
    return highest_log(state, wins) >= threshold and log_wealth(state, wins, centre) >= threshold


def drop_beaten(
    state: FloatArray, first: int, arms: int, criterion: Criterion, floors: FloatArray
) -> None:
    """Drop, in place, each arm that bets around the criterion's central share have beaten."""
    won = first + width_of_pairs(arms) + 2
    if state[won] > 0.0:
        state[won] = 0.0
        for i in range(arms):
            for j in range(arms):
                if (
                    state[first + arms + i] > 0.0
                    and state[first + arms + j] > 0.0
                    and has_won(state, stake(first, arms, i, j), criterion)
                ):
                    state[first + arms + j] = 0.0
