"""Runs of the rules that work in blocks: one run after the other, a block at a time.

The steps are those of a live test (`core.procedures.blocks.steps`), compiled for a family of
evidence.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.evidence.families.known_spread import KNOWN_SPREAD, NO_FLOORS, PARTS, log_evidence
from bascule.core.evidence.families.rows import (
    ARM_OF_CUBES,
    BLOCK_SUM,
    BLOCK_UNITS,
    UNITS,
    Family,
    Params,
)
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.blocks.steps import Scope, Share, begin_block, clear, steps_of
from bascule.core.types import NOBODY, FloatArray, IntArray
from bascule.simulation.kernels import block_differences
from bascule.simulation.kernels.compiled import (
    STOP,
    Chunk,
    Kernel,
    RunColumns,
    arms_to_fix,
    compile_loop,
    finish_run,
)
from bascule.simulation.random import (
    DONE,
    NORMAL,
    WORDS,
    Draws,
    WordArray,
    begin_uniform,
    keep_stream,
    outside_layer,
    seed_stream,
    uniform,
)
from bascule.simulation.runs import AnyArray, Runs
from bascule.simulation.worlds.world import World

HALVINGS = 24
"""Steps in search of a floor: any result is valid, and a sharper one would save nothing."""


class BlockSettings(NamedTuple):
    """The settings of a loop in blocks, without the runs to play."""

    max_units: int
    means: FloatArray
    sigma: float
    tilt: float
    batch: int
    margin: float
    params: Params
    ziggurat: FloatArray


class BlockLoop(NamedTuple):
    """What a loop in blocks is compiled for; fewer branches take less time to compile.

    `arms` above 0 lets the compiler unroll the loops over arms; 0 is for any number. Without
    `intervals` nothing is computed but decisions, and no margin is looked at. With `by_sums` the
    outcomes of an arm in a block are drawn at once, as their sum, which is for families that use
    nothing of a block but its sums. With `single` one of two arms has a single unit in each block,
    and the order of the outcomes of an arm is indifferent.
    """

    arms: int
    intervals: bool
    by_sums: bool
    single: bool


def deal_slots(
    arms: FloatArray, count: int, slots: IntArray, front: int, streams: WordArray
) -> None:
    """Write who the units of the block join, in random order, every order equally likely.

    The leader's units are alike, so it is enough to put the others among them one by one.
    """
    size = int(arms[front][BLOCK_UNITS])
    for i in range(size):
        slots[i] = front
    for arm in range(count):
        if arm != front:
            for _ in range(int(arms[arm][BLOCK_UNITS])):
                place = int(uniform(streams, 0) * (size + 1))
                slots[size] = slots[place]
                slots[place] = arm
                size += 1


def build_floors(fingerprint: str) -> Kernel:
    """The loop that finds, for each part, a total below which its clocks have too little evidence.

    For a given total the evidence falls as the clock grows, so what is too little at the beginning
    of a part is too little everywhere in it.
    """

    def find_floors(floors: FloatArray, params: Params) -> None:
        made_of = fingerprint  # noqa: F841
        for part in range(floors.size):
            octave = part // PARTS
            clock = math.ldexp(0.5 + 0.5 * (part - octave * PARTS) / PARTS, octave)
            low, high = 0.0, 4.0 * (1.0 + math.sqrt(clock)) * (2.0 + params.threshold)
            if part == 0:
                # Everything below the first octave lies here too.
                high = 0.0
            for _ in range(HALVINGS):
                middle = 0.5 * (low + high)
                if log_evidence(middle, clock, 1.0, params) < params.threshold:
                    low = middle
                else:
                    high = middle
            floors[part] = low

    return find_floors


def build(
    family: Family,
    share_of: Share,
    draws: Draws,
    compiled_for: BlockLoop,
    fingerprint: str,
) -> Kernel:
    """The loop for one family."""
    fixed_arms, intervals, by_sums, single = compiled_for
    leader, fold, drop, winner_of, over, _, _ = steps_of(family, Scope(fixed_arms == 2, intervals))
    observe, count_ones, split = family.observe, family.count_ones, family.split
    arm_columns, pair_columns = family.arm_columns, family.pair_columns
    fill, outcome, total, ones, begin = (
        *(draws.fill, draws.outcome, draws.total, draws.ones, draws.begin),
    )

    def play(
        arms: FloatArray,
        pairs: FloatArray,
        streams: WordArray,
        slots: IntArray,
        noise: FloatArray,
        any_arms: int,
        chunk: Chunk,
        settings: BlockSettings,
        columns: RunColumns,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        (seed, first_run, runs), control = chunk, columns.control
        max_units, means, sigma, tilt, batch, margin, params, ziggurat = settings
        count = fixed_arms if fixed_arms > 0 else any_arms
        rounds = batch if split else 1
        each = 1 if split else batch
        for row in range(runs):
            seed_stream(streams, 0, seed, np.uint64(first_run + row))
            clear(arms, pairs, count, arm_columns, pair_columns)
            units = size = 0
            last = before = -1
            of_front = of_other = 0.0
            winner = NOBODY
            ended = 0
            while winner == NOBODY and ended == 0 and control[STOP] == 0:
                front, ahead = leader(arms, pairs, count, params)
                share = share_of(ahead, tilt)
                if not single or share != last or front != before:
                    # Rare for a pair, so the processor need not wait for the share.
                    last, before = share, front
                    size = begin_block(arms, count, front, share * each, each)
                    of_front, of_other = means[front], means[0 if front else 1]
                if units + rounds * size > max_units:
                    break
                for _ in range(rounds):
                    if by_sums:
                        fill(streams, 0, noise, 0, count, ziggurat)
                        for arm in range(count):
                            dealt = arms[arm][BLOCK_UNITS]
                            if dealt > 0.0:
                                count_ones(arms[arm], total(means[arm], sigma, dealt, noise[arm]))
                    elif single:
                        # The place of the single unit tells the arm of each outcome.
                        a, b, c, counter = streams[0], streams[1], streams[2], streams[3]
                        number, _, a, b, c, counter = begin_uniform(a, b, c, counter, ziggurat)
                        place = int(number * size)
                        added = other = 0.0
                        for i in range(size):
                            number, layer, a, b, c, counter = begin(a, b, c, counter, ziggurat)
                            if not ones and layer != DONE:
                                keep_stream(streams, 0, a, b, c, counter)
                                number = outside_layer(streams, 0, layer, number, ziggurat)
                                a, b, c, counter = streams[0], streams[1], streams[2], streams[3]
                            other = number if i == place else other
                            added += 0.0 if i == place else outcome(of_front, sigma, number)
                        keep_stream(streams, 0, a, b, c, counter)
                        other = outcome(of_other, sigma, other)
                        if ones:
                            count_ones(arms[before], added)
                            count_ones(arms[1 - before], other)
                        else:
                            arms[before][BLOCK_SUM] = added
                            arms[1 - before][BLOCK_SUM] = other
                    else:
                        deal_slots(arms, count, slots, front, streams)
                        fill(streams, 0, noise, 0, size, ziggurat)
                        for i in range(size):
                            arm = slots[i]
                            observe(arms[arm], outcome(means[np.uint64(arm)], sigma, noise[i]))
                    units += size
                    fold(arms, pairs, count, params)
                drop(arms, pairs, count, params)
                winner = winner_of(arms, pairs, count, margin, params)
                if winner == NOBODY:
                    ended = over(arms, pairs, count, params)
            if control[STOP] != 0:
                break
            finish_run(arms[:, UNITS], row, units, winner, columns)

    return play


def compiled_params(procedure: BlockProcedure) -> Params:
    """Return the parameters of the evidence in the form that compiled loops take."""
    floors = np.zeros(len(NO_FLOORS))
    # Simulations report no lifts.
    params = procedure.params._replace(floors=floors, direction=0.0)
    if procedure.drawn_evidence is KNOWN_SPREAD:
        compile_loop(build_floors)(floors, params)
    return params


def block_settings(
    runs: Runs, procedure: BlockProcedure, params: Params, sigma: float = 0.0
) -> BlockSettings:
    """Return the settings of a loop in blocks; `sigma` is for loops that draw by it."""
    rule = procedure.tilt, procedure.batch, procedure.margin
    return BlockSettings(runs.cap, runs.means, sigma, *rule, params, runs.ziggurat)


def room_for(family: Family, arms: int) -> tuple[FloatArray, FloatArray]:
    """Return room for the rows of all arms and of all pairs."""
    pairs = arms * (arms - 1) // 2
    return np.empty((arms, family.arm_columns)), np.empty((pairs, family.pair_columns))


class BlockRuns(Runs):
    """Runs in blocks, where a world is steady and outcomes are normal or 0/1."""

    def __init__(
        self,
        design: Design,
        procedure: BlockProcedure,
        draws: Draws,
        world: World,
        seed: int,
        runs: int,
        engine: Literal["fast", "plain"] | None = None,
    ) -> None:
        super().__init__(design, world, seed, runs)
        self.engine = engine
        self.sigma = design.outcome.noise(world.start).spread(world.start[0])
        self.procedure = procedure
        self.params = compiled_params(procedure)
        self.draws = draws
        self.fixed_arms = arms_to_fix(self.arms, runs)
        if engine == "fast" and not self.can_draw_sums:
            raise InputError(
                "engine",
                f"{procedure.label} on {design.outcome!r} uses more of a block than its sums, "
                'which the fast engine draws at once: use engine="plain"',
            )

    @property
    def functions(self) -> tuple[Any, ...]:
        """The functions of the rule that make up the loop."""
        return self.procedure.drawn_evidence, self.procedure.share

    def build(self, draws: Draws, by_sums: bool, endless: bool) -> Kernel:  # noqa: ARG002
        """Return the loop, uncompiled."""
        compiled_for = self._compiled_for(draws, self.arms, by_sums)
        return build(self.procedure.drawn_evidence, self.procedure.share, draws, compiled_for, "")

    def _compiled_for(self, draws: Draws, fixed_arms: int, by_sums: bool) -> BlockLoop:
        family, batch = self.procedure.drawn_evidence, self.procedure.batch
        sums = draws.ones or family.arm_columns < ARM_OF_CUBES
        single = fixed_arms == 2 and sums and not by_sums and (family.split or batch == 1)
        # Runs need intervals only for a margin.
        return BlockLoop(fixed_arms, self.procedure.margin > 0.0, by_sums, single)

    @property
    def can_draw_sums(self) -> bool:
        """Whether the rule uses nothing of a block but its sums, which may be drawn at once."""
        return self.draws.ones or self.procedure.drawn_evidence.arm_columns < ARM_OF_CUBES

    def scratch(self) -> tuple[AnyArray, ...]:
        """Return the arrays that the loop works in."""
        largest = self.procedure.largest_block
        return (
            *room_for(self.procedure.drawn_evidence, self.arms),
            np.empty(WORDS, np.uint64),
            np.empty(largest, np.int64),
            np.empty(largest),
        )

    def settings(self, endless: bool = False) -> tuple[BlockSettings]:  # noqa: ARG002
        """Return the arguments of the loop beside the runs to play."""
        return (block_settings(self, self.procedure, self.params, self.sigma),)

    @property
    def can_draw_differences(self) -> bool:
        """Whether one number a block is enough: two arms, normal outcomes, no margin or end."""
        procedure = self.procedure
        return (
            self.arms == 2
            and self.draws is NORMAL
            and procedure.drawn_evidence is KNOWN_SPREAD
            and not procedure.has_horizon
            and procedure.margin == 0.0
        )

    def _difference_settings(self) -> tuple[Any, ...]:
        procedure, precision = self.procedure, self.params.precision
        shares = np.arange(procedure.largest_block // procedure.batch)
        weights = procedure.batch * shares / (shares + 1.0)
        return (
            self.cap,
            float(self.means[0] - self.means[1]) * precision,
            procedure.tilt,
            procedure.batch,
            self.params,
            weights,
            self.sigma * precision * np.sqrt(weights),
            self.ziggurat,
        )

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile."""
        fast = self.engine == "fast"
        chunk, columns = self.order(first_run, runs, control)
        if fast and self.can_draw_differences:
            streams = np.empty(WORDS, np.uint64)
            loop = compile_loop(block_differences.build, self.procedure.share)
            loop(np.empty(2), streams, chunk, *self._difference_settings(), columns)
            return
        compiled_for = self._compiled_for(self.draws, self.fixed_arms, fast)
        loop = compile_loop(build, *self.functions, self.draws, compiled_for)
        loop(*self.scratch(), self.arms, chunk, *self.settings(), columns)
