"""The procedure of rules that work in blocks, whose sizes are fixed before their outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np

from bascule.core.errors import InputError
from bascule.core.evidence.betting import ORDINARY
from bascule.core.evidence.horizon import normal_constant
from bascule.core.procedures.base import AnyStatistics, Block, EndReason, Ends, Procedure
from bascule.core.procedures.blocks.state import (
    OCTAVES,
    PARTS,
    Criterion,
    begin_block,
    last_in,
)
from bascule.core.procedures.blocks.steps import BlockSteps, advantage
from bascule.core.procedures.horizon.state import (
    FUTILE,
    PLAN_SIZE,
    horizon_of,
    plan_of,
    prepare,
    variance_at_end,
)
from bascule.core.statistics import ArmStatistics, PairStatistics, Statistics
from bascule.core.types import NO_DIFFERENCE, NOBODY, FloatArray

END_REASONS: tuple[EndReason | None, ...] = (None, "horizon", "futility")
"""What `BlockSteps.over` returns, in words."""

PRIOR_SQUARES = 25.0
"""The conversions that a variance counts for which follows from a planned baseline."""


@dataclass(frozen=True, slots=True)
class Horizon:
    """Where a test ends: when the planned effect is `reach` standard errors of its estimate.

    `variance` is what is assumed of an outcome's variance at first, in units of the scale, where it
    is not known; the outcomes correct it. `futility` is the conditional power below which a test
    is futile; 0 for never. Such a test ends, unless the plan only `advises` to end it.
    """

    reach: float
    variance: float | None = None
    futility: float = 0.0
    advises: bool = False

    def prior_for(self, least: float) -> tuple[float, float]:
        """The sum of squares and the units that the variance starts with, at least so large."""
        if self.variance is None:
            return 1.0, 1.0 / max(0.25, least)
        return PRIOR_SQUARES, PRIOR_SQUARES / max(self.variance, least)


@dataclass(frozen=True, slots=True)
class BlockProcedure(Procedure):
    """Blocks of units: `tilt` of the leader at the most for each one of a challenger.

    `effect` is a planned difference in outcome units, 0 for none; `batch` units of each challenger
    are assigned at once; `horizon` says where the test ends, None for nowhere; `centre` is the
    share that bets on a planned effect stake.
    """

    steps: BlockSteps
    tilt: float
    batch: int = 1
    effect: float = 0.0
    horizon: Horizon | None = None
    centre: float = ORDINARY
    counts: ClassVar[Literal["blocks"]] = "blocks"
    kind: ClassVar[str] = "blocks"
    assigns: ClassVar[Literal["blocks"]] = "blocks"

    @property
    def threshold(self) -> float:
        """The log evidence at which an arm is beaten."""
        return -math.log(self.design.calibration.delta)

    @property
    def goal(self) -> float:
        """The log of what bets that follow a boundary have to own; the threshold otherwise."""
        return self.threshold

    @property
    def scaled_effect(self) -> float:
        """The planned effect in units of the outcomes' scale."""
        return self.effect / self.outcome.scale

    @property
    def shape(self) -> float:
        """What shapes the evidence: the planned effect, or the share of bets on it, or the horizon.

        No look beyond that counts: the last block reaches beyond the plan by less than `batch`.
        """
        if self.horizon is None and self.steps.evidence is None:
            return self.centre
        if self.horizon is None or self.steps.boundary is None:
            return self.scaled_effect
        return horizon_of(1.0, self.scaled_effect, self.horizon.reach) + self.batch

    @property
    def criterion(self) -> Criterion:
        """When a pair is decided."""
        return self.steps.criterion(self.shape, self.threshold)

    @property
    def plan(self) -> FloatArray:
        """The plan as the steps take it: without a horizon the central share of bets."""
        return self._plan(self.horizon is not None and not self.horizon.advises)

    def _plan(self, futility: bool) -> FloatArray:
        if self.horizon is None:
            return np.full(PLAN_SIZE, self.centre)
        known, line = not self.outcome.limited, self.steps.boundary
        level = self.design.calibration.delta
        constant = normal_constant(level) if line is None else line(0.0, self.threshold, 1.0)
        # A stake is at most what the heaviest block can cost.
        leaders = self.steps.share(math.inf, self.tilt)
        least = self.scaled_effect * leaders / (leaders + 1.0)
        return np.array(
            [
                self.goal,
                constant,
                self.horizon.reach,
                self.scaled_effect,
                *((1.0, 1.0) if known else self.horizon.prior_for(least)),
                self.horizon.futility if futility else 0.0,
                0.0 if known else 1.0 / self.outcome.scale,
                least,
            ]
        )

    @property
    def largest_block(self) -> int:
        """Units that a block takes at the most."""
        most = max(self.steps.share(0.0, self.tilt), self.steps.share(math.inf, self.tilt))
        return self.batch * (most + self.arms)

    @property
    def margin(self) -> float:
        """The smallest difference that matters in units of the scale; 0 for none."""
        return (self.design.min_effect or 0.0) / self.outcome.scale

    @property
    def end_error(self) -> float:
        """Each pair has its part of the error."""
        return self.design.calibration.error / (self.arms - 1)

    @property
    def has_horizon(self) -> bool:
        """Whether the plan ends every test, whatever the outcomes."""
        return self.horizon is not None

    @property
    def even(self) -> bool:
        """Whether the leader gets no more than a challenger."""
        return self.tilt == 1

    def empty(self) -> Statistics:
        """Return the statistics before the first unit."""
        return Statistics.empty(self.arms)

    def next_block(self, statistics: Statistics) -> Block:
        """Return the block that comes next; it is fixed before its outcomes are."""
        arms, steps = self.arms, self.steps
        state = self.lay_out(statistics)
        front, ahead = steps.leader(state, 0, arms)
        repeat, each = (self.batch, 1) if steps.split else (1, self.batch)
        begin_block(state, 0, arms, front, steps.share(ahead, self.tilt) * each, each)
        return Block(tuple(int(state[2 * arms + arm]) for arm in range(arms)), front, repeat)

    def fold_block(
        self, statistics: Statistics, block: Sequence[ArmStatistics], look: bool = True
    ) -> Statistics:
        """Return the statistics after one more block, with newly beaten arms dropped."""
        arms, steps = self.arms, self.steps
        self.check_block(block)
        state = self.lay_out(statistics)
        self.enter(state, block)
        steps.fold(state, 0, arms, 1.0 / self.outcome.scale)
        if look:
            floors = np.zeros(OCTAVES * PARTS)
            steps.drop(state, 0, arms, self.criterion, floors)
        return replace(self.with_block(statistics, block, state), pairs=self.read_pairs(state))

    def check_block(self, block: Sequence[ArmStatistics]) -> None:
        """Raise `InputError` if a block has not as many arms as the design."""
        if len(block) != self.arms:
            raise InputError(
                "block", f"block must have the design's {self.arms} arms (got {len(block)})"
            )

    def with_block(
        self, statistics: Statistics, block: Sequence[ArmStatistics], state: FloatArray
    ) -> Statistics:
        """Return the statistics with the sums of a block, and with the arms that a state drops."""
        out = frozenset(arm for arm in range(self.arms) if state[self.arms + arm] == 0.0)
        sums = tuple(before + new for before, new in zip(statistics.arms, block, strict=True))
        return replace(statistics, arms=sums, dropped=out - statistics.removed)

    def enter(self, state: FloatArray, block: Sequence[ArmStatistics]) -> None:
        """Write the outcomes of a block to where `fold` expects them."""
        for arm, seen in enumerate(block):
            state[2 * self.arms + arm] = seen.units
            state[3 * self.arms + arm] = seen.total
        if self.steps.prepare is prepare:
            moments = plan_of(0, self.arms) - 1 - 2 * self.arms
            for arm, seen in enumerate(block):
                state[moments + arm] += seen.total
                state[moments + self.arms + arm] += seen.squares

    def winner(self, statistics: AnyStatistics) -> int:
        """Return the last active arm, `NO_DIFFERENCE` or `NOBODY`."""
        self.check(statistics)
        assert isinstance(statistics, Statistics)
        state = self.lay_out(statistics)
        winner = last_in(state, 0, self.arms)
        if winner == NOBODY and self.design.min_effect is not None:
            margin = self.design.min_effect / self.outcome.scale
            if self.steps.within(state, 0, self.arms, self.criterion, margin):
                winner = NO_DIFFERENCE
        return winner

    def end_reason(self, statistics: AnyStatistics) -> EndReason | None:
        """Return why the test ends without a decision, or None while it goes on."""
        if self.horizon is None:
            return None
        assert isinstance(statistics, Statistics)
        return END_REASONS[self.steps.over(self.lay_all(statistics), 0, self.arms, self.plan)]

    def horizon_share(self, statistics: AnyStatistics) -> float:
        """Return which part of the way to its end a test has gone that decides nothing.

        It ends when every active arm has a pair at its horizon, or the first pair at a flat one.
        """
        if self.horizon is None:
            return 0.0
        assert isinstance(statistics, Statistics)
        state, general = self.lay_all(statistics), self.general_variance(statistics)
        end = horizon_of(1.0, self.scaled_effect, self.horizon.reach)
        active = [arm for arm in range(self.arms) if arm not in statistics.out]
        furthest = [
            max((self.information(state, i, j, general) for j in active if j != i), default=0.0)
            for i in self.runners(state, active)
        ]
        ends_at = min if self.steps.boundary is None else max
        return min(1.0, ends_at(furthest, default=0.0) / end)

    def runners(self, state: FloatArray, active: Sequence[int]) -> Sequence[int]:
        """Return the active arms that are compared with every other."""
        return active

    def general_variance(self, statistics: Statistics) -> float:
        """Return the variance of all outcomes, where `information` needs it."""
        return 1.0

    def information(self, state: FloatArray, i: int, j: int, general: float) -> float:
        """Return the clock of a pair over the variance that its horizon goes by."""
        clock, variance = self.steps.read(state, self.arms, i, j).clock, 1.0
        if self.steps.prepare is prepare:
            variance = variance_at_end(state, 0, self.arms, i, j)
        return clock / variance if variance > 0.0 else 0.0

    def is_futile(self, statistics: AnyStatistics) -> bool:
        """Return whether the chance to find the planned effect is too small to go on."""
        if self.horizon is None or self.horizon.futility == 0.0:
            return False
        assert isinstance(statistics, Statistics)
        plan = self._plan(futility=True)
        return self.steps.over(self.lay_all(statistics), 0, self.arms, plan) == FUTILE

    def ends(self, statistics: AnyStatistics) -> list[Ends]:
        """Return the interval of every difference, by the evidence that decides."""
        self.check(statistics)
        assert isinstance(statistics, Statistics)
        scale = self.outcome.scale
        pairs = statistics.pairs or (PairStatistics(),) * (self.arms * (self.arms - 1) // 2)
        found = self.steps.ends(pairs, self.criterion)
        return [(scale * middle, scale * low, scale * high) for middle, low, high in found]

    def ends_of_pair(self, state: FloatArray, i: int, j: int) -> Ends:
        """Return the interval of one difference, i before j, by a laid-out test."""
        assert self.steps.pair_ends is not None
        found = self.steps.pair_ends(state, 0, self.arms, i, j, self.criterion)
        middle, low, high = (float(self.outcome.scale * end) for end in found)
        return middle, low, high

    def advantages(self, statistics: AnyStatistics, control: int) -> list[tuple[float, float]]:
        """Return by how much each arm is better than the control, by the evidence that decides."""
        pair_ends = self.steps.pair_ends
        if pair_ends is None:
            return Procedure.advantages(self, statistics, control)
        assert isinstance(statistics, Statistics)
        state, asked = self.lay_out(statistics), (self.criterion, self.outcome.scale)
        found = (
            advantage(state, 0, self.arms, arm, control, pair_ends, *asked)
            for arm in range(self.arms)
        )
        return [(float(low), float(high)) for low, high in found]

    def coming(self, statistics: AnyStatistics) -> int:
        """Return how many units the next block takes."""
        assert isinstance(statistics, Statistics)
        return self.next_block(statistics).size

    def lay_out(self, statistics: Statistics) -> FloatArray:
        """Return the statistics as the steps take them."""
        self.check(statistics)
        arms, steps = self.arms, self.steps
        state = np.empty(steps.width(arms))
        steps.clear(state, 0, arms)
        for arm, seen in enumerate(statistics.arms):
            state[arm] = seen.units
            state[arms + arm] = 0.0 if arm in statistics.out else 1.0
        totals = 4 * arms
        clocks = totals + arms * arms
        for (i, j), pair in zip(combinations(range(arms), 2), statistics.pairs, strict=False):
            state[totals + i * arms + j] = pair.total
            state[totals + j * arms + i] = -pair.total
            state[clocks + i * arms + j] = state[clocks + j * arms + i] = pair.clock
        steps.prepare(state, 0, arms, self.plan)
        steps.write(state, arms, statistics)
        return state

    def lay_all(self, statistics: Statistics) -> FloatArray:
        """Return the statistics as the steps take them, with every pair."""
        return self.lay_out(statistics)

    def read_pairs(self, state: FloatArray) -> tuple[PairStatistics, ...]:
        """Return the pairs as the steps have left them."""
        arms = self.arms
        return tuple(self.steps.read(state, arms, i, j) for i, j in combinations(range(arms), 2))
