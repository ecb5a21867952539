"""The procedure of tests in blocks that have many arms: work and memory linear in the arms.

A block compares a few reference arms with each of its arms, so statistics keep a row for each arm
that was a reference, and no number for any other pair. The steps on
flat arrays are those that the simulator compiles (`many_arms.state`);
docs/explanation/tilted-blocks.md, "Many arms", has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar, cast

import numpy as np

from bascule.core.procedures.base import AnyStatistics, Ends, beaten_in
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.blocks.state import OCTAVES, PARTS, last_in
from bascule.core.procedures.horizon.many_arms import (
    LEAD,
    LOG_DECISIONS,
    WON,
    many_following_reason_to_end,
    variance_in_many,
    variance_of_many,
)
from bascule.core.procedures.many_arms.pairs import SPARED, number_of
from bascule.core.procedures.many_arms.state import (
    CLOCK,
    NUMBERS,
    SIGNS,
    SQUARES,
    TOTAL,
    header,
    references,
    row_of,
)
from bascule.core.statistics import ArmStatistics, PairRow, PairStatistics, Statistics, add_rows
from bascule.core.types import NO_DIFFERENCE, NOBODY, FloatArray


@dataclass(frozen=True, slots=True)
class ManyArmsProcedure(BlockProcedure):
    """Blocks of units with more than `MANY` arms.

    Its intervals are those of the differences from the control and from the leader.
    """

    kind: ClassVar[str] = "blocks"

    @property
    def threshold(self) -> float:
        """The log evidence at which an arm is beaten."""
        threshold = -math.log(self.design.calibration.delta)
        # "No difference" also claims something of pairs without the best arm; they have a part.
        return threshold if self.design.min_effect is None else threshold - math.log1p(-SPARED)

    @property
    def follows(self) -> bool:
        """Whether bets follow the boundary of a test with a horizon."""
        return self.steps.over is many_following_reason_to_end

    @property
    def goal(self) -> float:
        """The log of what bets that follow a boundary have to own; the threshold otherwise."""
        return self.threshold - LOG_DECISIONS if self.follows else self.threshold

    def runners(self, state: FloatArray, active: Sequence[int]) -> Sequence[int]:
        """Return the active arms that are compared with every other: those with a row."""
        return [arm for arm in active if state[6 * self.arms + arm] > 0.0]

    def general_variance(self, statistics: Statistics) -> float:
        """Return the variance of all outcomes, where `information` needs it."""
        return variance_of_many(self.lay_out(statistics), 0, self.arms) if self.follows else 1.0

    def information(self, state: FloatArray, i: int, j: int, general: float) -> float:
        """Return the clock of a pair over the variance that its horizon goes by."""
        clock = number_of(state, 0, self.arms, i, j, CLOCK)
        if not self.follows:
            return clock
        return clock / variance_in_many(state, 0, self.arms, i, j, general)

    def fold_block(
        self, statistics: Statistics, block: Sequence[ArmStatistics], look: bool = True
    ) -> Statistics:
        """Return the statistics after one more block, with newly beaten arms dropped."""
        arms, steps = self.arms, self.steps
        self.check_block(block)
        rows = self.rows(statistics)
        compared = sum(arm.units > 0 for arm in block)
        state = self._with_rows(statistics, rows, references(compared) + 1)
        state[2 * arms : 3 * arms] = [float(arm.units) for arm in block]
        state[3 * arms : 4 * arms] = [arm.total for arm in block]
        state[10 * arms : 11 * arms] = [arm.squares for arm in block]
        steps.fold(state, 0, arms, 1.0 / self.outcome.scale)
        changed = [arm for arm in range(arms) if state[7 * arms + arm] > 0.0]
        joined = {row.arm: row for row in rows}
        joined |= {arm: self._read_row(state, arm) for arm in changed}
        after = tuple(joined[arm] for arm in sorted(joined))
        if look:
            state[7 * arms : 8 * arms] = [0.0] * arms
            for i, _ in self._candidates(state):
                state[7 * arms + i] = 1.0
            floors = np.zeros(OCTAVES * PARTS)
            steps.drop(state, 0, arms, self.criterion, floors)
        return replace(self.with_block(statistics, block, state), pairs=(), rows=after)

    def winner(self, statistics: AnyStatistics) -> int:
        """Return the last active arm, `NO_DIFFERENCE` or `NOBODY`."""
        self.check(statistics)
        assert isinstance(statistics, Statistics)
        active = self.arms - len(statistics.out)
        winner = NOBODY if active > 1 else last_in(self.lay_out(statistics), 0, self.arms)
        if winner == NOBODY and self.design.min_effect is not None:
            state = self._with_rows(statistics, self.rows(statistics))
            if self.steps.within(state, 0, self.arms, self.criterion, self.margin):
                winner = NO_DIFFERENCE
        return winner

    def compared(self, statistics: AnyStatistics) -> list[tuple[int, int]]:
        """Return the pairs that `ends` lists: the control and the leader with each other arm."""
        assert isinstance(statistics, Statistics)
        leader, _ = self.steps.leader(self.lay_out(statistics), 0, self.arms)
        control = self.design.arms.index(self.design.control_arm)
        pairs = [(control, arm) for arm in range(self.arms) if arm != control]
        if leader >= 0 and leader != control:
            pairs += [(leader, arm) for arm in range(self.arms) if arm not in (control, leader)]
        return [(min(pair), max(pair)) for pair in pairs]

    def ends(self, statistics: AnyStatistics) -> list[Ends]:
        """Return the interval of each difference that `compared` lists."""
        self.check(statistics)
        assert isinstance(statistics, Statistics)
        state = self._with_rows(statistics, self.rows(statistics))
        pairs = [self.steps.read(state, self.arms, i, j) for i, j in self.compared(statistics)]
        scale = self.outcome.scale
        found = self.steps.ends(pairs, self.criterion)
        return [(scale * middle, scale * low, scale * high) for middle, low, high in found]

    def beaten(self, statistics: AnyStatistics, without: frozenset[int]) -> frozenset[int]:
        """Return the arms that the evidence puts below some arm that is not among `without`."""
        self.check(statistics)
        assert isinstance(statistics, Statistics)
        state = self._with_rows(statistics, self.rows(statistics))
        pairs = list(self._candidates(state))
        read = [self.steps.read(state, self.arms, i, j) for i, j in pairs]
        found = self.steps.ends(read, self.criterion)
        return beaten_in(pairs, found, without)

    def rows(self, statistics: Statistics) -> tuple[PairRow, ...]:
        """Return the rows of the statistics; those of every pair, as once stored, become rows."""
        if not statistics.pairs:
            return statistics.rows
        return add_rows(self._rows_of_pairs(statistics.pairs), statistics.rows)

    def lay_all(self, statistics: Statistics) -> FloatArray:
        """Return the statistics as the steps take them, with every row."""
        return self._with_rows(statistics, self.rows(statistics))

    def lay_out(self, statistics: Statistics) -> FloatArray:
        """Return the statistics of the arms as the steps take them, without the rows."""
        return self._with_rows(statistics, ())

    def _with_rows(
        self, statistics: Statistics, rows: Sequence[PairRow], room: int = 0
    ) -> FloatArray:
        """Return the statistics as the steps take them, with room for some rows more."""
        self.check(statistics)
        arms, seen = self.arms, statistics.arms
        scale = 1.0 if self.by_bets else 1.0 / self.outcome.scale
        led, places, out = [0.0] * arms, [0.0] * arms, statistics.out
        for row in statistics.rows:
            led[row.arm] = float(row.led)
        columns: list[float] = []
        for place, row in enumerate(rows, 1):
            places[row.arm] = float(place)
            for column in (row.clocks, row.totals, *row.powers):
                columns += column
            columns += [0.0] * (arms * (NUMBERS * place) - len(columns))
        state = [
            *(float(arm.units) for arm in seen),
            *(0.0 if arm in out else 1.0 for arm in range(arms)),
            *[0.0] * (2 * arms),
            *(arm.total * scale for arm in seen),
            *led,
            *places,
            *[0.0] * (2 * arms),
            *(arm.squares for arm in seen),
            *[0.0] * arms,
            float(len(rows)),
            *self.plan.tolist(),
            *columns,
            *[0.0] * (NUMBERS * arms * room),
        ]
        # Uncompiled, the steps are several times as fast on a list.
        return cast("FloatArray", state)

    @property
    def by_bets(self) -> bool:
        """Whether bets decide, because the spread of the outcomes is not known."""
        return self.steps.evidence is None

    def _read_row(self, state: FloatArray, arm: int) -> PairRow:
        arms = self.arms
        first = row_of(state, 0, arms, arm)
        columns = (
            tuple(state[at : at + arms]) for at in range(first, first + NUMBERS * arms, arms)
        )
        return self._row(arm, int(state[5 * arms + arm]), *columns)

    def _row(
        self,
        arm: int,
        led: int,
        clocks: tuple[float, ...],
        totals: tuple[float, ...],
        *powers: tuple[float, ...],
    ) -> PairRow:
        kept = NUMBERS - 2 if self.follows else 3
        return PairRow(arm, led, clocks, totals, powers[:kept] if self.by_bets else ())

    def _candidates(self, state: FloatArray) -> Iterator[tuple[int, int]]:
        """Pairs whose evidence may have reached the threshold: no other has.

        No evidence exceeds that of the best effect, whose log is total^2 / (2 clock); for bets
        see `sums_may_reach`. With a horizon the boundary is the same at every clock.
        """
        arms = self.arms
        owners = sorted(
            (place, arm) for arm, place in enumerate(state[6 * arms : 7 * arms]) if place > 0.0
        )
        held = [arm for _, arm in owners]
        if not held:
            return
        first = header(arms)
        numbers = np.array(state[first : first + NUMBERS * arms * len(held)])
        numbers = numbers.reshape(len(held), NUMBERS, arms)
        signs = np.array(SIGNS)[:, None]
        # A pair may have a number in the rows of both arms.
        numbers[:, :, held] += numbers[:, :, held].transpose(2, 1, 0) * signs
        squared = numbers[:, TOTAL] ** 2
        if self.by_bets:
            needed = self.threshold * numbers[:, SQUARES] / 1.5
            if self.follows:
                owned = 0.5 * (numbers[:, WON] + np.abs(numbers[:, LEAD]))
                needed[owned >= self.goal] = 0.0
        elif self.horizon is not None:
            line = self.steps.boundary
            assert line is not None
            # A little less, for rounding.
            needed = np.full(squared.shape, 0.999 * line(0.0, self.threshold, self.shape) ** 2)
        else:
            needed = 2.0 * self.threshold * numbers[:, CLOCK]
        enough = (squared >= needed) & (squared > 0.0)
        for row, arm in np.argwhere(enough).tolist():
            yield held[row], arm

    def _rows_of_pairs(self, pairs: Sequence[PairStatistics]) -> list[PairRow]:
        arms = self.arms
        numbers = np.zeros((arms, NUMBERS, arms))
        for (i, j), pair in zip(combinations(range(arms), 2), pairs, strict=True):
            if self.by_bets:
                # Higher powers were not kept: the worst case of each block takes their place.
                powers = (pair.squares, -pair.squares, pair.squares)
                numbers[i, :5, j] = (pair.blocks, pair.differences, *powers)
            else:
                numbers[i, :2, j] = (pair.clock, pair.total)
        return [self._row(arm, 0, *map(tuple, numbers[arm].tolist())) for arm in range(arms - 1)]
