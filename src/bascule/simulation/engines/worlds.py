"""Runs in any world: what the general loops need, and the columns that they fill."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from bascule.core.design import Design
from bascule.core.outcomes import Gaussian
from bascule.core.procedures.block_state import OCTAVES, PARTS
from bascule.core.procedures.blocks import evidence_wanted
from bascule.core.procedures.interval_state import FloatArray, Steps, Within, width
from bascule.core.rules import PaperRule
from bascule.core.rules.base import SpreadOf, known_spread
from bascule.core.rules.mixture import log_threshold
from bascule.core.rules.radius import Radius
from bascule.core.rules.tilt import BlockSteps, Tilt
from bascule.simulation.engines.blocks import floor_table
from bascule.simulation.engines.feasible import units_cap
from bascule.simulation.engines.intervals import radius_table
from bascule.simulation.kernels import (
    world_blocks as world_block_kernel,
)
from bascule.simulation.kernels import (
    world_intervals as world_interval_kernel,
)
from bascule.simulation.kernels.compiled import compile_loop
from bascule.simulation.kernels.control import IntArray, Kernel
from bascule.simulation.kernels.world import world_numbers
from bascule.simulation.random.streams import WORDS, ziggurat_table
from bascule.simulation.worlds.noise import Discrete
from bascule.simulation.worlds.world import World

LARGEST_TABLE = 1 << 16
"""Radii that are computed before the runs start; an arm that outgrows them has each computed."""


@lru_cache(maxsize=32)
def interval_loop(
    steps: Steps, within: Within, radius_of: Radius, spread_of: SpreadOf = known_spread
) -> Kernel:
    """The loop for a rule that compares intervals."""
    return compile_loop(
        lambda fingerprint: world_interval_kernel.build(
            steps, within, fingerprint, radius_of, spread_of
        ),
        world_interval_kernel.CALLED,
    )


@lru_cache(maxsize=8)
def block_loop(steps: BlockSteps) -> Kernel:
    """The loop for a rule in blocks."""
    return compile_loop(
        lambda fingerprint: world_block_kernel.build(steps, fingerprint),
        world_block_kernel.CALLED,
    )


class WorldRuns:
    """What the loops of both families need of a world, and the columns of the result."""

    def __init__(self, design: Design, world: World, seed: int, runs: int) -> None:
        self.arms = len(design.arms)
        self.seed = np.uint64(seed)
        self.cap = units_cap(design)
        points, chances = points_of(world)
        self.world = (world_numbers(world), np.array(world.start), points, chances)
        self.longest_wait = world.batch + math.ceil(world.delay.longest if world.delay else 0)
        self.ziggurat = ziggurat_table()
        self.times = np.zeros(runs, np.int64)
        self.winners = np.zeros(runs, np.int64)
        self.counts = np.zeros(runs * self.arms, np.int64)
        self.regrets = np.zeros(runs)

    def columns(self, first_run: int, runs: int) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        """The part of each column that belongs to some of the runs."""
        here = slice(first_run, first_run + runs)
        cells = slice(first_run * self.arms, (first_run + runs) * self.arms)
        return self.times[here], self.winners[here], self.counts[cells], self.regrets[here]


class WorldIntervalRuns(WorldRuns):
    """Runs of a rule that compares intervals."""

    def __init__(self, design: Design, rule: PaperRule, world: World, seed: int, runs: int) -> None:
        super().__init__(design, world, seed, runs)
        outcome, promise = design.outcome, design.calibration
        shape = rule.shape(outcome, self.arms)
        self.numbers = (
            *(outcome.sigma, outcome.low, outcome.high),
            *(rule.alpha, shape.factor, shape.count),
            *(promise.delta, log_threshold(self.arms, promise.error), design.min_effect or 0.0),
        )
        self.radii = np.empty(0)
        if shape.spread_of is known_spread:
            self.radii = np.empty(min(self.cap, LARGEST_TABLE) + 2)
            radius_table(shape.radius)(
                self.radii, outcome.sigma, shape.factor, shape.count, promise.delta
            )
        self.loop = interval_loop(rule.steps(), rule.within(), shape.radius, shape.spread_of)

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile."""
        ring = _ring(self.longest_wait + self.arms)
        calendar = tuple(np.empty(ring, np.int64) for _ in range(4))
        self.loop(
            np.empty(width(self.arms)),
            np.empty(self.arms),
            np.empty(self.arms),
            np.empty(WORDS, np.uint64),
            *calendar,
            np.empty(ring),
            np.empty(1),
            self.arms,
            self.seed,
            first_run,
            runs,
            self.cap,
            *self.world,
            *self.numbers,
            self.radii,
            self.ziggurat,
            *self.columns(first_run, runs),
            control,
        )


class WorldBlockRuns(WorldRuns):
    """Runs of a rule in blocks."""

    def __init__(self, design: Design, rule: Tilt, world: World, seed: int, runs: int) -> None:
        super().__init__(design, world, seed, runs)
        steps = rule.steps(design.outcome)
        self.width = steps.width(self.arms)
        self.largest_block = rule.batch * (math.ceil(rule.tilt) + self.arms)
        effect, threshold = evidence_wanted(design, rule)
        margin = (design.min_effect or 0.0) / design.outcome.scale
        floors = np.zeros(OCTAVES * PARTS)
        if isinstance(design.outcome, Gaussian):
            floor_table(rule.evidence)(floors, threshold, effect)
        precision = 1.0 / design.outcome.scale
        self.numbers = (precision, rule.tilt, rule.batch, effect, threshold, margin, floors)
        self.loop = block_loop(steps)

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile."""
        ring = _ring(self.longest_wait + self.largest_block)
        blocks = tuple(np.empty(ring, np.int64) for _ in range(4))
        self.loop(
            np.empty(self.width),
            np.empty(self.arms),
            np.empty(WORDS, np.uint64),
            np.empty(self.largest_block, np.int64),
            np.empty(ring, np.int64),
            np.empty(ring),
            *blocks,
            np.empty(1),
            self.arms,
            self.seed,
            first_run,
            runs,
            self.cap,
            *self.world,
            *self.numbers,
            self.ziggurat,
            *self.columns(first_run, runs),
            control,
        )


def _ring(units: int) -> int:
    """The length of a ring in which this many units can wait: the next power of two."""
    return 1 << (units + 1).bit_length()


def points_of(world: World) -> tuple[FloatArray, FloatArray]:
    """The values of discrete noise, and the chances of each or one before it, arm after arm."""
    if not isinstance(world.noise, Discrete):
        return np.zeros(1), np.ones(len(world.start))
    return np.array(world.noise.values), np.cumsum(np.array(world.noise.chances), axis=1).ravel()
