"""The steps of a test in blocks that bets decide, where only the limits of outcomes are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from bascule.core.evidence.betting import ORDINARY, shift_ruled_out, shifts_ruled_out
from bascule.core.procedures.base import UNKNOWN, Ends
from bascule.core.procedures.blocks import betting as betting_state
from bascule.core.procedures.blocks import state as block_state
from bascule.core.procedures.blocks.betting import STAKES, SUMS, has_won, stake, sums_of
from bascule.core.procedures.blocks.state import Criterion, units_of_leader
from bascule.core.procedures.blocks.steps import BlockSteps, one_sided, read_totals
from bascule.core.procedures.intervals.margin import bets_within
from bascule.core.statistics import PairStatistics, Statistics
from bascule.core.types import FloatArray


def write_bets(state: FloatArray, arms: int, statistics: Statistics) -> None:
    """Lay out the moments of all outcomes, and what the bets on each pair have won."""
    moments = block_state.width(arms)
    state[moments] = sum(arm.total for arm in statistics.arms)
    state[moments + 1] = sum(arm.squares for arm in statistics.arms)
    # As if bets had been won since the last look, so that the next one compares all arms.
    state[moments + 2] = 1.0
    for (i, j), pair in zip(combinations(range(arms), 2), statistics.pairs, strict=False):
        if pair.wins:
            state[stake(0, arms, i, j) :][:STAKES] = pair.wins[:STAKES]
            state[stake(0, arms, j, i) :][:STAKES] = pair.wins[STAKES:]
        state[sums_of(0, arms, i, j) :][:SUMS] = (pair.blocks, pair.differences, pair.squares)


def read_bets(state: FloatArray, arms: int, i: int, j: int) -> PairStatistics:
    """Read what a pair has shown, its bets included."""
    pair = read_totals(state, arms, i, j)
    blocks, differences, squares = state[sums_of(0, arms, i, j) :][:SUMS].tolist()
    mine, theirs = (state[stake(0, arms, *side) :][:STAKES] for side in ((i, j), (j, i)))
    wins = (*mine.tolist(), *theirs.tolist())
    return PairStatistics(pair.total, pair.clock, blocks, differences, squares, wins)


def ends_betting(pairs: Sequence[PairStatistics], criterion: Criterion) -> list[Ends]:
    """Return the interval of each difference by bets around the criterion's central share."""

    def decided(pair: PairStatistics) -> tuple[bool, bool]:
        if not pair.wins:
            return False, False
        wins = np.array(pair.wins)
        return has_won(wins, 0, criterion), has_won(wins, STAKES, criterion)

    return ends_of_sums(pairs, criterion.threshold, decided, criterion.effect)


def ends_of_sums(
    pairs: Sequence[PairStatistics],
    threshold: float,
    decided: Callable[[PairStatistics], tuple[bool, bool]],
    centre: float = ORDINARY,
) -> list[Ends]:
    """Return the interval of each difference by the sums of a pair.

    `decided` says whether the first arm of a pair has beaten the second, and the second the first.
    """
    known = [pair for pair in pairs if pair.blocks > 0.0]
    if not known:
        return [UNKNOWN] * len(pairs)
    # With 0/1 outcomes many pairs have the same sums for long.
    sums, place = np.unique(
        np.array([(pair.blocks, pair.differences, pair.squares) for pair in known]),
        axis=0,
        return_inverse=True,
    )
    blocks, differences, squares = sums.T
    lows = shifts_ruled_out(blocks, differences, squares, threshold, centre)[place].tolist()
    highs = (-shifts_ruled_out(blocks, -differences, squares, threshold, centre))[place].tolist()
    found = iter(
        [
            one_sided(
                pair.differences / pair.blocks,
                low,
                high,
                *decided(pair),
            )
            for pair, low, high in zip(known, lows, highs, strict=True)
        ]
    )
    return [next(found) if pair.blocks > 0.0 else UNKNOWN for pair in pairs]


def pair_ends_betting(
    state: FloatArray, first: int, arms: int, i: int, j: int, criterion: Criterion
) -> Ends:
    """Return the interval of one difference by what the bets on it have won."""
    centre, threshold = criterion.effect, criterion.threshold
    at = sums_of(first, arms, i, j)
    blocks, differences, squares = state[at], state[at + 1], state[at + 2]
    if blocks == 0.0:
        return 0.0, -math.inf, math.inf
    return one_sided(
        differences / blocks,
        shift_ruled_out(blocks, differences, squares, threshold, centre),
        -shift_ruled_out(blocks, -differences, squares, threshold, centre),
        has_won(state, stake(first, arms, i, j), criterion),
        has_won(state, stake(first, arms, j, i), criterion),
    )


BETTING = BlockSteps(
    betting_state.width,
    betting_state.clear,
    betting_state.leader,
    units_of_leader,
    betting_state.observe,
    betting_state.fold,
    betting_state.drop_beaten,
    bets_within,
    write_bets,
    read_bets,
    ends_betting,
    split=True,
    evidence=None,
    boundary=None,
    pair_ends=pair_ends_betting,
    shape=ORDINARY,
)
"""Limits only."""


PLANNED = BETTING._replace(
    width=betting_state.planned_width,
    fold=betting_state.fold_planned,
    prepare=betting_state.prepare_planned,
    shape=None,
)
"""Limits only, and a difference around a planned effect."""
