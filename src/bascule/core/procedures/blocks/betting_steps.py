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
from bascule.core.procedures.blocks.betting import drop_beaten as drop_beaten_by_bets
from bascule.core.procedures.blocks.state import CanReach, units_of_leader
from bascule.core.procedures.blocks.steps import BlockSteps, one_sided, read_totals
from bascule.core.procedures.intervals.margin import bets_within
from bascule.core.procedures.intervals.state import FloatArray
from bascule.core.statistics import PairStatistics, Statistics


def drop_betting(
    state: FloatArray,
    first: int,
    arms: int,
    evidence: None,
    can_reach: CanReach,
    effect: float,
    threshold: float,
    floors: FloatArray,
) -> None:
    """Drop arms that bets have beaten; floors are for evidence that is dearer to compute."""
    drop_beaten_by_bets(state, first, arms, threshold)


def within_betting(
    state: FloatArray,
    first: int,
    arms: int,
    evidence: None,
    can_reach: CanReach,
    effect: float,
    threshold: float,
    margin: float,
) -> bool:
    """Whether bets have proven all differences smaller than the margin."""
    return bets_within(state, first, arms, threshold, margin)


def drop_planned(
    state: FloatArray,
    first: int,
    arms: int,
    evidence: None,
    can_reach: CanReach,
    centre: float,
    threshold: float,
    floors: FloatArray,
) -> None:
    """Drop arms that bets around a central share have beaten."""
    drop_beaten_by_bets(state, first, arms, threshold, centre)


def within_planned(
    state: FloatArray,
    first: int,
    arms: int,
    evidence: None,
    can_reach: CanReach,
    centre: float,
    threshold: float,
    margin: float,
) -> bool:
    """Whether bets around a central share have proven all differences smaller than the margin."""
    return bets_within(state, first, arms, threshold, margin, centre)


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


def ends_betting(
    pairs: Sequence[PairStatistics], steps: BlockSteps, effect: float, threshold: float
) -> list[Ends]:
    """Return the interval of each difference by bets."""
    return ends_planned(pairs, steps, ORDINARY, threshold)


def ends_planned(
    pairs: Sequence[PairStatistics], steps: BlockSteps, centre: float, threshold: float
) -> list[Ends]:
    """Return the interval of each difference by bets around a central share."""

    def decided(pair: PairStatistics) -> tuple[bool, bool]:
        return _beaten_by_bets(pair, threshold, centre)

    return ends_of_sums(pairs, threshold, decided, centre)


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


def _beaten_by_bets(pair: PairStatistics, threshold: float, centre: float) -> tuple[bool, bool]:
    """Whether the first arm of a pair has beaten the second, and the second the first."""
    if not pair.wins:
        return False, False
    wins = np.array(pair.wins)
    return has_won(wins, 0, threshold, centre), has_won(wins, STAKES, threshold, centre)


def pair_ends_betting(
    state: FloatArray,
    first: int,
    arms: int,
    i: int,
    j: int,
    evidence: None,
    can_reach: CanReach,
    boundary: None,
    effect: float,
    threshold: float,
) -> Ends:
    """Return the interval of one difference by bets."""
    return bets_of_pair(state, first, arms, i, j, threshold, ORDINARY)


def pair_ends_planned(
    state: FloatArray,
    first: int,
    arms: int,
    i: int,
    j: int,
    evidence: None,
    can_reach: CanReach,
    boundary: None,
    centre: float,
    threshold: float,
) -> Ends:
    """Return the interval of one difference by bets around a central share."""
    return bets_of_pair(state, first, arms, i, j, threshold, centre)


def bets_of_pair(
    state: FloatArray, first: int, arms: int, i: int, j: int, threshold: float, centre: float
) -> Ends:
    """Return the interval of one difference by what the bets on it have won."""
    at = sums_of(first, arms, i, j)
    blocks, differences, squares = state[at], state[at + 1], state[at + 2]
    if blocks == 0.0:
        return 0.0, -math.inf, math.inf
    return one_sided(
        differences / blocks,
        shift_ruled_out(blocks, differences, squares, threshold, centre),
        -shift_ruled_out(blocks, -differences, squares, threshold, centre),
        has_won(state, stake(first, arms, i, j), threshold, centre),
        has_won(state, stake(first, arms, j, i), threshold, centre),
    )


BETTING = BlockSteps(
    betting_state.width,
    betting_state.clear,
    betting_state.leader,
    units_of_leader,
    betting_state.observe,
    betting_state.fold,
    drop_betting,
    within_betting,
    write_bets,
    read_bets,
    ends_betting,
    split=True,
    evidence=None,
    boundary=None,
    pair_ends=pair_ends_betting,
)
"""Limits only."""


PLANNED = BETTING._replace(
    width=betting_state.planned_width,
    fold=betting_state.fold_planned,
    drop=drop_planned,
    within=within_planned,
    ends=ends_planned,
    prepare=betting_state.prepare_planned,
    pair_ends=pair_ends_planned,
)
"""Limits only, and a difference around a planned effect."""
