"""Runs of rules in blocks, in any world: one after the other.

A block is folded in when all of its outcomes have come or are known to be missing, and after every
block before it, whatever came first; a block with gaps counts with the outcomes that it has. The
next block goes by the blocks folded in so far. Open blocks and their units wait in rings, whose
length is a power of two. After the cap nobody is assigned any more, but the outcomes under way are
awaited, and time goes on as if units were. So it does between two blocks while those under way
suffice for the horizon, or are as many as may wait. A rule that uses early signals also goes by the
events of open blocks that are known so far. A decision that comes too early for
the calendar is withheld: the test goes on with the arms that it had, and looks no more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bascule.core.calendar import announced_after
from bascule.core.covariates import adjusted, coefficients
from bascule.core.covariates import fold as fold_covariates
from bascule.core.covariates import observe as observe_covariates
from bascule.core.design import Design
from bascule.core.evidence.families.rows import ACTIVE, BLOCK_UNITS, Family
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.blocks.signals import DIFFERENT, blend, most_tilt
from bascule.core.procedures.blocks.steps import (
    FUTILE,
    Scope,
    Share,
    begin_block,
    clear,
    steps_of,
)
from bascule.core.types import NOBODY, FloatArray, IntArray
from bascule.simulation.kernels.blocks import (
    BlockSettings,
    block_settings,
    compiled_params,
    deal_slots,
    room_for,
)
from bascule.simulation.kernels.compiled import (
    STOP,
    Chunk,
    Kernel,
    RunColumns,
    compile_loop,
    finish_run,
)
from bascule.simulation.kernels.covariates import (
    RANGE,
    Drawn,
    draw_covariates,
    drawn_covariates,
    room_for_sums,
    spreads_of,
)
from bascule.simulation.kernels.worlds.signals import (
    FRONT,
    MODES,
    SHARE,
    Early,
    clear_signals,
    expect_event,
    has_signals,
    judged,
    mature_event,
    room_for_signals,
    set_sizes,
    show_events,
)
from bascule.simulation.kernels.worlds.unit import (
    LAG,
    Source,
    Units,
    event_at,
    source_of,
    units_of,
)
from bascule.simulation.random import (
    seed_stream,
)
from bascule.simulation.runs import WorldRuns, ring
from bascule.simulation.worlds.world import World

MISSING = -1
"""The arm of a unit whose outcome never comes."""


BEGIN, END, READY, FOLLOWING = range(SHARE + 1, SHARE + 5)
"""Columns of a block under way beside those of `worlds.signals`: its first unit, the one after its
last, when it is complete, and how many more of its batch follow."""


class Ring(NamedTuple):
    """Units and blocks whose outcomes are under way, in rings whose length is a power of two."""

    owners: IntArray
    """The arm of each unit."""
    values: FloatArray
    """The outcome of each unit."""
    blocks: IntArray
    """A row for each block."""
    pending_clocks: FloatArray
    """What the blocks under way will add to the clock of each pair."""


class Covariates(NamedTuple):
    """The covariates of a design (`kernels.covariates`), and room for their sums and the units'."""

    drawn: Drawn
    spreads: FloatArray
    ranges: FloatArray
    sums: FloatArray
    block: FloatArray
    theta: FloatArray
    xs: FloatArray


class Calendar(NamedTuple):
    """When a decision is announced, in units that arrive until then, and room for a number per arm.

    `least` is the minimum duration, and `week` the length of a week, or 0 if any moment will do.
    """

    least: float
    week: float
    active: FloatArray


class WorldLoop(NamedTuple):
    """What a loop has to support: without parts that few tests need it compiles faster."""

    units: Units
    """What happens to a unit."""
    adjusts: bool
    """Whether outcomes are adjusted by covariates."""
    signals: bool
    """Whether blocks go by early signals."""
    withholds: bool
    """Whether a decision may come too early for the calendar."""
    scope: Scope
    """What the steps between blocks have to support."""


def add_to_pending(pending: FloatArray, count: int, front: int, ahead: float, even: float) -> None:
    """Add to the clock of each pair what a block adds: `ahead` where the leader is in the pair."""
    at = 0
    for i in range(count):
        for j in range(i + 1, count):
            pending[at] += ahead if front in (i, j) else even
            at += 1


def build(family: Family, share_of: Share, compiled_for: WorldLoop, fingerprint: str) -> Kernel:
    """The loop for one family of evidence.

    A loop that does not adjust outcomes, or has no signals, takes None in place of these.
    """
    (draw, mean_and_gap, arrival), adjusts, signals, withholds, scope = compiled_for
    leader, fold, drop, winner_of, over, _, blocks_left = steps_of(family, scope)
    observe, split, spread = family.observe, family.split, family.spread
    arm_columns, pair_columns = family.arm_columns, family.pair_columns

    def play(
        arms: FloatArray,
        pairs: FloatArray,
        assigned: FloatArray,
        sizes: FloatArray,
        slots: IntArray,
        ring: Ring,
        count: int,
        chunk: Chunk,
        settings: BlockSettings,
        calendar: Calendar,
        source: Source,
        columns: RunColumns,
        regrets: FloatArray,
        about: Covariates,
        early: Early,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        (seed, first_run, runs), control = chunk, columns.control
        max_units, _, _, tilt, batch, margin, params, _ = settings
        owners, values, blocks, pending = ring
        if adjusts:
            drawn, spreads, ranges, sums, block, theta, xs = about
            covariates = drawn.rows.shape[0]
        least, week, active = calendar
        streams, cell, world, means, _, _, ziggurat = source
        turn = owners.size - 1
        rounds = batch if split else 1
        each = 1 if split else batch
        for row in range(runs):
            seed_stream(streams, 0, seed, np.uint64(first_run + row))
            clear(arms, pairs, count, arm_columns, pair_columns)
            for arm in range(count):
                assigned[arm] = 0.0
            if adjusts:
                for i in range(sums.size):
                    sums[i] = 0.0
            for i in range(pending.size):
                pending[i] = 0.0
            if signals:
                clear_signals(early)
            units, clock, counted, shown = 0, 0, 0, 0
            opened, folded = 0, 0
            size, dealt, left = 0, 0, 0
            front, share, ready = 0, 0, 0
            below_cap, frozen = True, False
            regret = 0.0
            winner, held, until = NOBODY, NOBODY, 0
            ended = 0
            while (
                winner == NOBODY
                and ended == 0
                and (below_cap or folded < opened or held != NOBODY)
                and control[STOP] == 0
            ):
                if below_cap and dealt == size:
                    if left == 0:
                        most, delays = tilt, DIFFERENT
                        if signals:
                            delays = judged(early, arms, count)
                            most = most_tilt(delays, tilt)
                        if delays == DIFFERENT:
                            front, ahead = leader(arms, pairs, count, params)
                        else:
                            deviation, scale = spread(arms, count, params), 1.0 / params.precision
                            blend(early.seen, pairs, early.sums, early.sign, deviation, scale)
                            front, ahead = leader(arms, early.seen, count, params)
                        share = share_of(ahead, most)
                        left = rounds
                        begin_block(arms, count, front, share * each, each)
                        for arm in range(count):
                            sizes[arm] = arms[arm, BLOCK_UNITS]
                    # A batch stays as it was dealt, whatever is dropped meanwhile.
                    size = 0
                    for arm in range(count):
                        arms[arm, BLOCK_UNITS] = sizes[arm]
                        size += int(sizes[arm])
                    below_cap = units + left * size <= max_units
                    frozen = False
                    if left == rounds:
                        frozen = (units > counted or held != NOBODY) and blocks_left(
                            arms, pairs, count, pending, params
                        ) <= 0.0
                    if frozen:
                        # Nobody is enrolled until the next block is folded in.
                        dealt, size, left = 0, 0, 0
                        then = blocks[folded & turn, READY] if folded < opened else until
                        if withholds and held != NOBODY:
                            then = min(then, until)
                        clock = max(clock, then - 1)
                    elif below_cap:
                        deal_slots(arms, count, slots, front, streams)
                        at = opened & turn
                        blocks[at, BEGIN] = units
                        blocks[at, FRONT] = front
                        blocks[at, SHARE] = share
                        ahead = share * each / (share + 1.0)
                        add_to_pending(pending, count, front, ahead, 0.5 * each)
                        dealt = 0
                        left -= 1
                if below_cap and not frozen:
                    arm = slots[dealt]
                    mean, gap = mean_and_gap(world, means, arm, clock)
                    value = draw(source, arm, mean)
                    if adjusts:
                        deviation = (value - mean) / spreads[arm]
                        at = (units & turn) * covariates
                        draw_covariates(streams, drawn, deviation, xs, at, cell, ziggurat)
                    seen_at, came = arrival(streams, world, clock, value)
                    values[units & turn] = value
                    owners[units & turn] = arm if came else MISSING
                    if signals and came and value == early.event:
                        known_at, wait = event_at(streams, world, early.lags[arm], clock)
                        expect_event(early, units, opened, known_at, wait)
                    # Blocks are folded in order, so each is ready after the one before it.
                    ready = max(ready, seen_at)
                    regret += gap
                    assigned[arm] += 1.0
                    units += 1
                    dealt += 1
                    if dealt == size:
                        at = opened & turn
                        blocks[at, END] = units
                        blocks[at, READY] = ready
                        blocks[at, FOLLOWING] = left
                        opened += 1
                if below_cap or folded < opened:
                    clock += 1
                else:
                    clock = max(clock, until)
                while signals and shown < clock:
                    shown += 1
                    show_events(early, shown, owners, blocks, each)
                while (
                    winner == NOBODY
                    and ended == 0
                    and folded < opened
                    and blocks[folded & turn, READY] <= clock
                ):
                    due = folded & turn
                    due_front, due_share = blocks[due, FRONT], blocks[due, SHARE]
                    for arm in range(count):
                        arms[arm, BLOCK_UNITS] = 0.0
                    if adjusts:
                        coefficients(sums, covariates, ranges, drawn.most, theta)
                    if signals:
                        set_sizes(early.sizes, due_front, due_share * each, each)
                    for unit in range(blocks[due, BEGIN], blocks[due, END]):
                        arm = owners[unit & turn]
                        if signals and arm != MISSING and values[unit & turn] == early.event:
                            mature_event(early, unit, arm, world[LAG])
                        if arm != MISSING:
                            arms[arm, BLOCK_UNITS] += 1.0
                            value = values[unit & turn]
                            if adjusts:
                                at = (unit & turn) * covariates
                                observe_covariates(block, covariates, xs, at, value)
                                value = adjusted(value, covariates, theta, xs, at)
                            observe(arms[arm], value)
                    fold(arms, pairs, count, params)
                    if adjusts:
                        fold_covariates(sums, block, covariates)
                    counted = blocks[due, END]
                    ahead = -due_share * each / (due_share + 1.0)
                    add_to_pending(pending, count, due_front, ahead, -0.5 * each)
                    if blocks[due, FOLLOWING] == 0 and held == NOBODY:
                        if withholds:
                            for arm in range(count):
                                active[arm] = arms[arm, ACTIVE]
                        drop(arms, pairs, count, params)
                        winner = winner_of(arms, pairs, count, margin, params)
                        if winner == NOBODY:
                            ended = over(arms, pairs, count, params)
                            if withholds and ended == FUTILE and clock < least:
                                ended = 0
                        elif withholds:
                            until = math.ceil(announced_after(float(clock), least, week))
                            if until > clock:
                                winner, held = NOBODY, winner
                                for arm in range(count):
                                    arms[arm, ACTIVE] = active[arm]
                    folded += 1
                if withholds and held != NOBODY and clock >= until:
                    winner = held
            if control[STOP] != 0:
                break
            regrets[row] = regret
            finish_run(assigned, row, clock, winner, columns)

    return play


class WorldBlockRuns(WorldRuns):
    """Runs of a procedure in blocks."""

    def __init__(
        self, design: Design, procedure: BlockProcedure, world: World, seed: int, runs: int
    ) -> None:
        super().__init__(design, world, seed, runs)
        self.family = procedure.drawn_evidence
        self.largest_block = procedure.largest_block
        params = compiled_params(procedure)
        self.settings = block_settings(self, procedure, params)
        self.signals = MODES[procedure.early_signals], procedure.slack, world.delay
        daily = world.units_per_day or 0.0
        self.least = daily * (design.min_days or 0.0)
        self.week = 7.0 * daily if design.whole_weeks else 0.0
        self.drawn = drawn_covariates(design, world)
        self.spreads = spreads_of(world)
        self.compiled_for = WorldLoop(
            units_of(world),
            design.covariates is not None,
            has_signals(MODES[procedure.early_signals], world.delay),
            self.least > 0.0 or self.week > 0.0,
            Scope(two_arms=self.arms == 2, intervals=procedure.margin > 0.0),
        )
        self.loop = compile_loop(build, self.family, procedure.share, self.compiled_for)

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile."""
        chunk, columns = self.order(first_run, runs, control)
        length = ring(self.longest_wait + self.largest_block)
        arms, pairs = room_for(self.family, self.arms)
        self.loop(
            arms,
            pairs,
            np.empty(self.arms),
            np.empty(self.arms),
            np.empty(self.largest_block, np.int64),
            Ring(
                owners=np.empty(length, np.int64),
                values=np.empty(length),
                blocks=np.empty((length, FOLLOWING + 1), np.int64),
                pending_clocks=np.empty(len(pairs)),
            ),
            self.arms,
            chunk,
            self.settings,
            Calendar(self.least, self.week, np.empty(self.arms)),
            source_of(self.world),
            columns,
            self.regrets_of(first_run, runs),
            self._room_for_covariates(length) if self.compiled_for.adjusts else None,
            room_for_signals(*self.signals, self.arms, length)
            if self.compiled_for.signals
            else None,
        )

    def _room_for_covariates(self, length: int) -> Covariates:
        count, ranges = len(self.drawn.rows), np.ascontiguousarray(self.drawn.rows[:, RANGE])
        sums, xs = room_for_sums(count), np.empty(length * count)
        return Covariates(self.drawn, self.spreads, ranges, *sums, xs)
