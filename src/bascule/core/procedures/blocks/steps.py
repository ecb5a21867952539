"""The steps of a test in blocks, one set for each kind of evidence.

A set of steps is all that distinguishes one test in blocks from another: how its numbers are laid
out, who leads and by how much, what a block adds, which arms are beaten, and the interval of a
difference. The simulator compiles the functions on flat arrays; everything else calls them as they
are. docs/explanation/tilted-blocks.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from bascule.core.evidence.betting import ORDINARY, shift_ruled_out, shifts_ruled_out
from bascule.core.evidence.normal import (
    informed_boundary,
    log_informed,
    log_mixture,
    mixture_boundary,
)
from bascule.core.procedures.base import UNKNOWN, Ends
from bascule.core.procedures.blocks import betting as betting_state
from bascule.core.procedures.blocks import state as block_state
from bascule.core.procedures.blocks.betting import STAKES, SUMS, has_won, stake, sums_of
from bascule.core.procedures.blocks.betting import drop_beaten as drop_beaten_by_bets
from bascule.core.procedures.blocks.state import (
    CanReach,
    Evidence,
    average_can_reach,
    drop_beaten,
    units_of_leader,
)
from bascule.core.procedures.intervals.margin import (
    PairSpread,
    bets_within,
    known_spread,
    pairs_within,
)
from bascule.core.procedures.intervals.state import FloatArray
from bascule.core.statistics import PairStatistics, Statistics

Boundary = Callable[[float, float, float], float]
"""(clock, threshold, effect) -> the total at which the evidence reaches the threshold."""


PairEnds = Callable[[FloatArray, int, int, int, int, Any, CanReach, Any, float, float], Ends]


def plan_nothing(state: FloatArray, first: int, arms: int, plan: FloatArray) -> None:
    """Write no plan into a test that has none."""


def never_over(state: FloatArray, first: int, arms: int, plan: FloatArray) -> int:
    """Return 0: a test without a horizon ends with a decision only."""
    return 0


class BlockSteps(NamedTuple):
    """What distinguishes one test in blocks from another while it runs.

    `share` is given (lead in standard deviations, tilt) and returns the leader's units for each
    one of a challenger. `fold` is given (state, first, arms, 1 / scale of the outcomes); `drop` is
    given (state, first, arms, evidence, can_reach, effect, threshold, floors), with the floors of
    `blocks.state.drop_beaten`; `within` is given the same with a margin in place of the floors.
    `write` lays out what the pairs have shown beyond totals and clocks, and `read` reads one pair.
    `ends` is given (pairs, steps, effect, threshold) and returns their intervals in units of the
    scale.
    With `split` a batch is as many blocks of the same sizes, one after the other, instead of one
    large block. `evidence` and `boundary` belong to a known spread and are None where bets decide;
    `can_reach` says quickly whether the evidence need be computed.
    `pair_ends` is given (state, first, arms, i, j, evidence, can_reach, boundary, effect,
    threshold), with i before j, and returns one interval as `ends` does; None where there is no
    function for a single pair.
    Tests with an information horizon have a plan (`horizon.state`): `prepare` writes it into a
    test, and `over`, given (state, first, arms, plan), says why a test ends without a decision.
    `decide` stands for `fold` where only decisions count, if that is less work.
    """

    width: Callable[[int], int]
    clear: Callable[[FloatArray, int, int], None]
    leader: Callable[[FloatArray, int, int], tuple[int, float]]
    share: Callable[[float, float], int]
    observe: Callable[[FloatArray, int, int, int, float], None]
    fold: Callable[[FloatArray, int, int, float], None]
    drop: Callable[[FloatArray, int, int, Any, CanReach, float, float, FloatArray], None]
    within: Callable[[FloatArray, int, int, Any, CanReach, float, float, float], bool]
    write: Callable[[FloatArray, int, Statistics], None]
    read: Callable[[FloatArray, int, int, int], PairStatistics]
    ends: Callable[[Sequence[PairStatistics], BlockSteps, float, float], list[Ends]]
    split: bool
    evidence: Evidence | None
    boundary: Boundary | None
    prepare: Callable[[FloatArray, int, int, FloatArray], None] = plan_nothing
    over: Callable[[FloatArray, int, int, FloatArray], int] = never_over
    can_reach: CanReach = average_can_reach
    pair_ends: PairEnds | None = None
    decide: Callable[[FloatArray, int, int, float], None] | None = None

    @property
    def deciding(self) -> BlockSteps:
        """The steps for a test of which nobody asks for intervals, nor for a margin."""
        return self if self.decide is None else self._replace(fold=self.decide)


# A known spread: the evidence is a normal mixture


def uninformed(total: float, clock: float, effect: float) -> float:
    """Log evidence for a difference of any size."""
    return log_mixture(total, clock)


def informed(total: float, clock: float, effect: float) -> float:
    """Log evidence that is strongest for differences around `effect`, and valid for any."""
    return log_informed(total, clock, effect)


def uninformed_boundary(clock: float, threshold: float, effect: float) -> float:
    """The total at which `uninformed` reaches a threshold."""
    return mixture_boundary(clock, threshold)


def write_nothing(state: FloatArray, arms: int, statistics: Statistics) -> None:
    """Lay out nothing: totals and clocks are all there is."""


def read_totals(state: FloatArray, arms: int, i: int, j: int) -> PairStatistics:
    """Read the total and the clock of a pair."""
    totals = 4 * arms
    clocks = totals + arms * arms
    return PairStatistics(float(state[totals + i * arms + j]), float(state[clocks + i * arms + j]))


def ends_of_totals(
    pairs: Sequence[PairStatistics], steps: BlockSteps, effect: float, threshold: float
) -> list[Ends]:
    """Return the interval of each difference by the evidence of the steps."""
    evidence, boundary = steps.evidence, steps.boundary
    assert evidence is not None
    assert boundary is not None
    # Most pairs were in the same blocks, and so have the same clock.
    reaches = {
        clock: boundary(clock, threshold, effect)
        for clock in {pair.clock for pair in pairs}
        if clock > 0.0
    }
    found = []
    for pair in pairs:
        if pair.clock == 0.0:
            found.append(UNKNOWN)
            continue
        total, clock, reach = pair.total, pair.clock, reaches[pair.clock]
        decided = (
            steps.can_reach(total, clock, threshold)
            and evidence(abs(total), clock, effect) >= threshold
        )
        found.append(ends_at(total, clock, reach, decided))
    return found


def ends_at(total: float, clock: float, reach: float, decided: bool) -> Ends:
    """Return the interval of a difference whose total decides at plus or minus `reach`."""
    low, high = (total - reach) / clock, (total + reach) / clock
    return one_sided(total / clock, low, high, decided and total > 0.0, decided and total < 0.0)


def pair_ends_of_totals(
    state: FloatArray,
    first: int,
    arms: int,
    i: int,
    j: int,
    evidence: Evidence,
    can_reach: CanReach,
    boundary: Boundary,
    effect: float,
    threshold: float,
) -> Ends:
    """Return the interval of one difference of a known spread."""
    return scaled_pair_ends(
        state, first, arms, i, j, evidence, can_reach, boundary, effect, threshold, known_spread
    )


def scaled_pair_ends(
    state: FloatArray,
    first: int,
    arms: int,
    i: int,
    j: int,
    evidence: Evidence,
    can_reach: CanReach,
    boundary: Boundary,
    effect: float,
    threshold: float,
    spread_of: PairSpread,
) -> Ends:
    """Return the interval of one difference whose pair has a spread; infinite is not known yet."""
    totals = first + 4 * arms
    total, clock = state[totals + i * arms + j], state[totals + arms * arms + i * arms + j]
    spread = spread_of(state, first, arms, i, j)
    if clock == 0.0 or spread == math.inf:
        return total / clock if clock > 0.0 else 0.0, -math.inf, math.inf
    total, effect = total / spread, effect / spread
    decided = (
        can_reach(total, clock, threshold) and evidence(abs(total), clock, effect) >= threshold
    )
    middle, low, high = ends_at(total, clock, boundary(clock, threshold, effect), decided)
    return spread * middle, spread * low, spread * high


# Limits only: the evidence is a bet


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


def one_sided(difference: float, low: float, high: float, beats: bool, beaten: bool) -> Ends:
    """The ends, kept from reaching past 0, by rounding or caution, when the evidence decided."""
    return difference, max(low, 0.0) if beats else low, min(high, 0.0) if beaten else high


def advantage(
    state: FloatArray,
    first: int,
    arms: int,
    arm: int,
    control: int,
    pair_ends: PairEnds,
    evidence: Any,
    can_reach: CanReach,
    boundary: Any,
    effect: float,
    threshold: float,
    scale: float,
) -> tuple[float, float]:
    """Return by how much an arm is better than the control: the ends of an interval."""
    if arm == control:
        return 0.0, 0.0
    i, j = min(arm, control), max(arm, control)
    _, low, high = pair_ends(
        state, first, arms, i, j, evidence, can_reach, boundary, effect, threshold
    )
    low, high = scale * low, scale * high
    return (low, high) if arm < control else (-high, -low)


UNINFORMED = BlockSteps(
    block_state.width,
    block_state.clear,
    block_state.leader,
    units_of_leader,
    block_state.observe,
    block_state.fold,
    drop_beaten,
    pairs_within,
    write_nothing,
    read_totals,
    ends_of_totals,
    split=False,
    evidence=uninformed,
    boundary=uninformed_boundary,
    pair_ends=pair_ends_of_totals,
)
"""A known spread, and a difference of any size."""

INFORMED = UNINFORMED._replace(evidence=informed, boundary=informed_boundary)
"""A known spread, and a difference around a planned effect."""

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
