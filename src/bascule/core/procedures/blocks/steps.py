"""The steps of a test in blocks, one set for each kind of evidence.

A set of steps is all that distinguishes one test in blocks from another: how its numbers are laid
out, who leads and by how much, what a block adds, which arms are beaten, and the interval of a
difference. Here are the steps for a known spread, whose evidence is a normal mixture. The simulator
compiles the functions on flat arrays; everything else calls them as they are.
docs/explanation/tilted-blocks.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bascule.core.evidence.normal import (
    informed_boundary,
    log_informed,
    log_mixture,
    mixture_boundary,
)
from bascule.core.procedures.base import UNKNOWN, Ends
from bascule.core.procedures.blocks import state as block_state
from bascule.core.procedures.blocks.state import (
    CanReach,
    Criterion,
    Evidence,
    average_can_reach,
    drop_beaten,
    reached,
    units_of_leader,
)
from bascule.core.procedures.intervals.margin import (
    PairSpread,
    known_spread,
    pairs_within,
)
from bascule.core.statistics import PairStatistics, Statistics
from bascule.core.types import FloatArray

Boundary = Callable[[float, float, float], float]
"""(clock, threshold, effect) -> the total at which the evidence reaches the threshold."""


PairEnds = Callable[[FloatArray, int, int, int, int, Criterion], Ends]


def plan_nothing(state: FloatArray, first: int, arms: int, plan: FloatArray) -> None:
    """Write no plan into a test that has none."""


def never_over(state: FloatArray, first: int, arms: int, plan: FloatArray) -> int:
    """Return 0: a test without a horizon ends with a decision only."""
    return 0


Over = Callable[[FloatArray, int, int, FloatArray], int]
"""(state, first, arms, plan) -> why the plan ends a test without a decision, 0 if it goes on."""


class BlockSteps(NamedTuple):
    """What distinguishes one test in blocks from another while it runs.

    `share` is given (lead in standard deviations, tilt) and returns the leader's units for each
    one of a challenger. `fold` is given (state, first, arms, 1 / scale of the outcomes); `drop` is
    given (state, first, arms, criterion, floors), with the floors of `blocks.state.drop_beaten`;
    `within` is given the same with a margin in place of the floors.
    `write` lays out what the pairs have shown beyond totals and clocks, and `read` reads one pair.
    `ends` is given (pairs, criterion) and returns their intervals in units of the scale.
    With `split` a batch is as many blocks of the same sizes, one after the other, instead of one
    large block. `evidence` and `boundary` belong to a known spread and are None where bets decide;
    `can_reach` says quickly whether the evidence need be computed.
    `pair_ends` is given (state, first, arms, i, j, criterion), with i before j, and returns one
    interval as `ends` does; None where there is no function for a single pair.
    Tests with an information horizon have a plan (`horizon.state`): `prepare` writes it into a
    test, and `over`, given (state, first, arms, plan), says why a test ends without a decision.
    `shape` is the effect of the criterion where that is the same in every test: a compiled loop is
    shorter that knows it beforehand.
    `decide` stands for `fold` where only decisions count, if that is less work.
    """

    width: Callable[[int], int]
    clear: Callable[[FloatArray, int, int], None]
    leader: Callable[[FloatArray, int, int], tuple[int, float]]
    share: Callable[[float, float], int]
    observe: Callable[[FloatArray, int, int, int, float], None]
    fold: Callable[[FloatArray, int, int, float], None]
    drop: Callable[[FloatArray, int, int, Criterion, FloatArray], None]
    within: Callable[[FloatArray, int, int, Criterion, float], bool]
    write: Callable[[FloatArray, int, Statistics], None]
    read: Callable[[FloatArray, int, int, int], PairStatistics]
    ends: Callable[[Sequence[PairStatistics], Criterion], list[Ends]]
    split: bool
    evidence: Evidence | None
    boundary: Boundary | None
    prepare: Callable[[FloatArray, int, int, FloatArray], None] = plan_nothing
    over: Over = never_over
    can_reach: CanReach = average_can_reach
    pair_ends: PairEnds | None = None
    decide: Callable[[FloatArray, int, int, float], None] | None = None
    shape: float | None = None

    def criterion(self, effect: float, threshold: float) -> Criterion:
        """Return when a pair is decided by the evidence of these steps."""
        return Criterion(self.evidence, self.can_reach, self.boundary, effect, threshold)

    @property
    def deciding(self) -> BlockSteps:
        """The steps for a test that needs decisions only, without intervals or a margin."""
        return self if self.decide is None else self._replace(fold=self.decide)


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


def ends_of_totals(pairs: Sequence[PairStatistics], criterion: Criterion) -> list[Ends]:
    """Return the interval of each difference by the evidence of the criterion."""
    asked = criterion.threshold, criterion.effect
    # Most pairs were in the same blocks, and so have the same clock.
    reaches = {
        clock: criterion.boundary(clock, *asked)
        for clock in {pair.clock for pair in pairs}
        if clock > 0.0
    }
    found = []
    for pair in pairs:
        if pair.clock == 0.0:
            found.append(UNKNOWN)
            continue
        decided = reached(pair.total, pair.clock, 1.0, criterion)
        found.append(ends_at(pair.total, pair.clock, reaches[pair.clock], decided))
    return found


def ends_at(total: float, clock: float, reach: float, decided: bool) -> Ends:
    """Return the interval of a difference whose total decides at plus or minus `reach`."""
    low, high = (total - reach) / clock, (total + reach) / clock
    return one_sided(total / clock, low, high, decided and total > 0.0, decided and total < 0.0)


def pair_ends_of_totals(
    state: FloatArray, first: int, arms: int, i: int, j: int, criterion: Criterion
) -> Ends:
    """Return the interval of one difference of a known spread."""
    return scaled_pair_ends(state, first, arms, i, j, criterion, known_spread)


def scaled_pair_ends(
    state: FloatArray,
    first: int,
    arms: int,
    i: int,
    j: int,
    criterion: Criterion,
    spread_of: PairSpread,
) -> Ends:
    """Return the interval of one difference; infinite while the pair's spread is not known."""
    totals = first + 4 * arms
    total, clock = state[totals + i * arms + j], state[totals + arms * arms + i * arms + j]
    spread = spread_of(state, first, arms, i, j)
    if clock == 0.0 or spread == math.inf:
        return total / clock if clock > 0.0 else 0.0, -math.inf, math.inf
    decided = reached(total, clock, spread, criterion)
    reach = criterion.boundary(clock, criterion.threshold, criterion.effect / spread)
    middle, low, high = ends_at(total / spread, clock, reach, decided)
    return spread * middle, spread * low, spread * high


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
    criterion: Criterion,
    scale: float,
) -> tuple[float, float]:
    """Return by how much an arm is better than the control: the ends of an interval."""
    if arm == control:
        return 0.0, 0.0
    i, j = min(arm, control), max(arm, control)
    _, low, high = pair_ends(state, first, arms, i, j, criterion)
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
