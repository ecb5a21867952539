"""The steps of a test in blocks with many arms, one set for each kind of evidence.

They are those of `blocks.steps` on the arrays of `many_arms.state`: a block compares only a few
reference arms with each of its arms.
"""

from __future__ import annotations

import math

from bascule.core.evidence.betting import BETS, log_of_sums, sums_may_reach
from bascule.core.evidence.normal import informed_boundary
from bascule.core.procedures.blocks.betting_steps import BETTING
from bascule.core.procedures.blocks.steps import INFORMED, UNINFORMED, informed, write_nothing
from bascule.core.procedures.many_arms.pairs import (
    all_bets_within,
    all_within,
    drop_beaten,
    drop_beaten_by_bets,
)
from bascule.core.procedures.many_arms.state import (
    MANY,
    NUMBERS,
    SIGNS,
    clear,
    fold,
    fold_bets,
    leader,
    leader_by_spread,
    observe,
    row_of,
    width,
)
from bascule.core.statistics import PairStatistics
from bascule.core.types import FloatArray

LEAST_THRESHOLD = math.log(MANY)
"""The log evidence that an arm is beaten with is higher: (K - 1) / p, with more arms than that."""


def read_many_totals(state: FloatArray, arms: int, i: int, j: int) -> PairStatistics:
    """Read the total and the clock of a pair from its rows."""
    clock, total = numbers_of(state, arms, i, j)[:2]
    return PairStatistics(total, clock)


def read_many_bets(state: FloatArray, arms: int, i: int, j: int) -> PairStatistics:
    """Read the sums of a pair from its rows, and what its bets have won at the least.

    Bets that cannot have reached the threshold of any test of many arms are left out.
    """
    blocks, differences, squares, cubes, fourths, _ = numbers_of(state, arms, i, j)
    wins: tuple[float, ...] = ()
    if sums_may_reach(LEAST_THRESHOLD, differences, squares):
        mine = (log_of_sums(k, differences, squares, cubes, fourths) for k in range(len(BETS)))
        theirs = (log_of_sums(k, -differences, squares, -cubes, fourths) for k in range(len(BETS)))
        wins = (*mine, *theirs)
    return PairStatistics(0.0, 0.0, blocks, differences, squares, wins)


def numbers_of(state: FloatArray, arms: int, i: int, j: int) -> list[float]:
    """Return what `number_of` gives of a pair, each of its numbers."""
    numbers = [0.0] * NUMBERS
    if state[6 * arms + i] > 0.0:
        row = row_of(state, 0, arms, i) + j
        numbers = [float(number) for number in state[row : row + NUMBERS * arms : arms]]
    if state[6 * arms + j] > 0.0:
        row = row_of(state, 0, arms, j) + i
        column = state[row : row + NUMBERS * arms : arms]
        others = zip(SIGNS, numbers, column, strict=True)
        numbers = [float(number + sign * other) for sign, number, other in others]
    return numbers


MANY_UNINFORMED = UNINFORMED._replace(
    width=width,
    clear=clear,
    leader=leader,
    observe=observe,
    fold=fold,
    drop=drop_beaten,
    within=all_within,
    read=read_many_totals,
    pair_ends=None,
)
"""Many arms, a known spread, and a difference of any size."""

MANY_INFORMED = MANY_UNINFORMED._replace(
    evidence=informed,
    boundary=informed_boundary,
)
"""Many arms, a known spread, and a difference around a planned effect."""

MANY_BETTING = BETTING._replace(
    width=width,
    clear=clear,
    leader=leader_by_spread,
    observe=observe,
    fold=fold_bets,
    drop=drop_beaten_by_bets,
    within=all_bets_within,
    write=write_nothing,
    read=read_many_bets,
    pair_ends=None,
)
"""Many arms and limits only."""

FOR_MANY_ARMS = {UNINFORMED: MANY_UNINFORMED, INFORMED: MANY_INFORMED, BETTING: MANY_BETTING}
"""The steps of a test of many arms for those of a test of few."""
