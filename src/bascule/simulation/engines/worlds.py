"""Runs in any world: what the general loops need, and the columns that they fill."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from bascule.core.design import MOST_UNITS, Design
from bascule.core.evidence.families.rows import Family
from bascule.core.evidence.radius import Radius
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.blocks.steps import Share
from bascule.core.procedures.intervals.procedure import IntervalProcedure, SpreadOf, known_spread
from bascule.core.procedures.intervals.state import Steps, Within, width
from bascule.core.types import FloatArray, IntArray
from bascule.simulation.engines.intervals import interval_settings, radius_numbers, radius_table
from bascule.simulation.kernels.blocks import BlockSettings, compiled_params
from bascule.simulation.kernels.blocks import room_for as room_for_rows
from bascule.simulation.kernels.compiled import compile_loop
from bascule.simulation.kernels.control import Kernel
from bascule.simulation.kernels.covariates import (
    COUNT,
    covariate_numbers,
    ranges_of,
    room_for,
    spreads_of,
)
from bascule.simulation.kernels.worlds import blocks as world_block_kernel
from bascule.simulation.kernels.worlds import intervals as world_interval_kernel
from bascule.simulation.kernels.worlds.blocks import Calendar, Covariates, Ring, WorldLoop
from bascule.simulation.kernels.worlds.signals import MODES, has_signals, room_for_signals
from bascule.simulation.kernels.worlds.unit import (
    DrawOutcome,
    drawing,
    outcome_of,
    source_of,
)
from bascule.simulation.runs import Runs
from bascule.simulation.worlds.world import World

LARGEST_TABLE = 1 << 16
"""Radii that are computed before the runs start; an arm that outgrows them has each computed."""


@lru_cache(maxsize=32)
def interval_loop(
    steps: Steps,
    within: Within,
    radius_of: Radius,
    spread_of: SpreadOf = known_spread,
    draw: DrawOutcome = outcome_of,
) -> Kernel:
    """The loop for a rule that compares intervals."""
    return compile_loop(
        lambda fingerprint: world_interval_kernel.build(
            steps, within, fingerprint, radius_of, spread_of, draw
        ),
        world_interval_kernel.CALLED,
    )


@lru_cache(maxsize=16)
def block_loop(family: Family, share: Share, compiled_for: WorldLoop) -> Kernel:
    """The loop for a family of evidence."""
    return compile_loop(
        lambda fingerprint: world_block_kernel.build(family, share, compiled_for, fingerprint),
        world_block_kernel.CALLED,
    )


class WorldRuns(Runs):
    """What the loops of both families need of a world, and the regret of each run."""

    def __init__(self, design: Design, world: World, seed: int, runs: int) -> None:
        super().__init__(design, world, seed, runs)
        self.world = world
        self.longest_wait = world.batch + math.ceil(world.delay.longest if world.delay else 0)
        self.regrets = np.zeros(runs)

    @property
    def regret(self) -> FloatArray:
        """The regret of each run, with the means as they were for each unit."""
        return self.regrets

    def regrets_of(self, first_run: int, runs: int) -> FloatArray:
        """Return the part of the regrets that belongs to some of the runs."""
        row = first_run - self.first_run
        return self.regrets[row : row + runs]


class WorldIntervalRuns(WorldRuns):
    """Runs of a procedure that compares intervals."""

    def __init__(
        self, design: Design, procedure: IntervalProcedure, world: World, seed: int, runs: int
    ) -> None:
        super().__init__(design, world, seed, runs)
        shape = procedure.shape
        # Radii that follow the spread have no table.
        length = 0 if procedure.follows_spread else min(self.cap, LARGEST_TABLE) + 2
        radii = np.empty(length)
        self.settings = interval_settings(design, procedure, self.cap, self.means, radii)
        if length:
            radius_table(shape.radius)(radii, *radius_numbers(self.settings))
        self.loop = interval_loop(
            procedure.steps, procedure.within, shape.radius, shape.spread_of, drawing(world)
        )

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile."""
        chunk, columns = self.order(first_run, runs, control)
        length = ring(self.longest_wait + self.arms)
        calendar = tuple(np.empty(length, np.int64) for _ in range(4))
        self.loop(
            np.empty(width(self.arms)),
            np.empty(self.arms),
            np.empty(self.arms),
            *calendar,
            np.empty(length),
            self.arms,
            chunk,
            self.settings,
            source_of(self.world),
            columns,
            self.regrets_of(first_run, runs),
        )


class WorldBlockRuns(WorldRuns):
    """Runs of a procedure in blocks."""

    def __init__(
        self, design: Design, procedure: BlockProcedure, world: World, seed: int, runs: int
    ) -> None:
        super().__init__(design, world, seed, runs)
        self.family = procedure.drawn_evidence
        self.largest_block = procedure.largest_block
        self.settings = BlockSettings(
            self.cap,
            self.means,
            0.0,
            procedure.tilt,
            procedure.batch,
            procedure.margin,
            compiled_params(procedure, intervals=procedure.margin > 0.0),
            self.ziggurat,
        )
        self.max_pending = design.max_pending or MOST_UNITS
        self.signals = MODES[procedure.early_signals], procedure.slack, world.delay
        daily = world.units_per_day or 0.0
        self.least = daily * (design.min_days or 0.0)
        self.week = 7.0 * daily if design.whole_weeks else 0.0
        self.known = covariate_numbers(design, world)
        self.spreads = spreads_of(world)
        compiled_for = WorldLoop(
            drawing(world),
            design.covariates is not None,
            has_signals(MODES[procedure.early_signals], world.delay),
        )
        self.loop = block_loop(self.family, procedure.share, compiled_for)

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile."""
        chunk, columns = self.order(first_run, runs, control)
        length = ring(self.longest_wait + self.largest_block)
        count = int(self.known[COUNT])
        arms, pairs = room_for_rows(self.family, self.arms)
        self.loop(
            arms,
            pairs,
            np.empty(self.arms),
            np.empty(self.largest_block, np.int64),
            Ring(
                owners=np.empty(length, np.int64),
                values=np.empty(length),
                begins=np.empty(length, np.int64),
                ends=np.empty(length, np.int64),
                readies=np.empty(length, np.int64),
                lasts=np.empty(length, np.int64),
                fronts=np.empty(length, np.int64),
                shares=np.empty(length, np.int64),
                pending_clocks=np.empty(len(pairs)),
                xs=np.empty(max(1, length * count)),
            ),
            self.arms,
            chunk,
            self.settings,
            self.max_pending,
            Calendar(self.least, self.week, np.empty(self.arms)),
            source_of(self.world),
            columns,
            self.regrets_of(first_run, runs),
            Covariates(self.known, self.spreads, ranges_of(self.known), *room_for(count)),
            room_for_signals(*self.signals, self.arms, length),
        )


def ring(units: int) -> int:
    """Return the length of a ring in which this many units can wait: the next power of two."""
    return 1 << (units + 1).bit_length()
