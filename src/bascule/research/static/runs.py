"""Simulation of tests on static populations, one run after another, stage by stage.

With normal units and normal noise, only the mean of each arm matters: the mean of its units, drawn
once, and a random walk over the stages. So a stage costs one draw for each arm, however many units
there are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.gaps import rival_gaps
from bascule.core.types import NO_DIFFERENCE, NOBODY, FloatArray, IntArray
from bascule.research.static.procedure import StaticProcedure, static_procedure
from bascule.research.static.thresholds import Threshold, pair_scales, winner, within
from bascule.simulation.engines.choose import Order
from bascule.simulation.kernels.compiled import (
    FINISHED,
    STEPS,
    STOP,
    Chunk,
    Kernel,
    RunColumns,
    compile_loop,
)
from bascule.simulation.random import (
    WORDS,
    WordArray,
    fill_normals,
    seed_stream,
)
from bascule.simulation.runs import Runs
from bascule.simulation.worlds.world import World

STAGES_LIMIT = 100_000
"""Stage at which a run without a horizon ends undecided."""

MOST_STAGES = 10_000_000
"""Maximum number of stages, so that their thresholds fit into the memory of any machine."""


class StaticSettings(NamedTuple):
    """Parameters of the loop that are the same for all runs.

    `stages` are those at which the test looks, and `thresholds` has the threshold of each. The
    difference of each pair of arms is multiplied by its entry in `scales`. Spreads are those of the
    mean of an arm.
    """

    stages: IntArray
    thresholds: FloatArray
    scales: FloatArray
    means: FloatArray
    unit_spreads: FloatArray
    noise_spreads: FloatArray
    margin: float
    ziggurat: FloatArray


def build_thresholds(threshold: Threshold, fingerprint: str) -> Kernel:
    """Return the loop that tabulates the threshold of each look."""

    def tabulate(
        thresholds: FloatArray,
        stages: IntArray,
        sigma_unit: float,
        sigma_noise: float,
        delta: float,
        looks: float,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        for i in range(stages.size):
            stage = float(stages[i])
            thresholds[i] = threshold(stage, sigma_unit, sigma_noise, delta, looks)

    return tabulate


def build(fingerprint: str) -> Kernel:
    """Return the loop that simulates runs, for any number of arms."""

    def play(
        centres: FloatArray,
        walks: FloatArray,
        observed: FloatArray,
        noise: FloatArray,
        streams: WordArray,
        arms: int,
        chunk: Chunk,
        settings: StaticSettings,
        columns: RunColumns,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        (seed, first_run, runs), (times, winners, _, control) = chunk, columns
        stages, thresholds, scales, means, unit_spreads, noise_spreads, margin, ziggurat = settings
        for row in range(runs):
            seed_stream(streams, 0, seed, np.uint64(first_run + row))
            fill_normals(streams, 0, noise, 0, arms, ziggurat)
            for arm in range(arms):
                centres[arm] = means[arm] + unit_spreads[arm] * noise[arm]
                walks[arm] = 0.0
            stage = 0
            won = NOBODY
            i = 0
            while won == NOBODY and i < stages.size and control[STOP] == 0:
                # All stages between two looks are simulated by one step of the random walk.
                step = math.sqrt(float(stages[i] - stage))
                stage = stages[i]
                fill_normals(streams, 0, noise, 0, arms, ziggurat)
                for arm in range(arms):
                    walks[arm] += step * noise_spreads[arm] * noise[arm]
                    observed[arm] = centres[arm] + walks[arm] / stage
                won = winner(observed, scales, arms, thresholds[i])
                if (
                    margin > 0.0
                    and won == NOBODY
                    and within(observed, scales, arms, thresholds[i], margin)
                ):
                    won = NO_DIFFERENCE
                i += 1
            if control[STOP] != 0:
                break
            times[row] = stage
            winners[row] = won
            control[FINISHED] += 1
            control[STEPS] += i

    return play


class StaticRuns(Runs):
    """Simulated runs of a test on a static population."""

    def __init__(
        self, design: Design, procedure: StaticProcedure, world: World, seed: int, runs: int
    ) -> None:
        super().__init__(design, world, seed, runs)
        sizes, (between, within) = procedure.sizes, procedure.spreads
        roots = np.sqrt(np.array(sizes, np.float64))
        last = procedure.horizon or STAGES_LIMIT
        stages = np.arange(last if procedure.once else 1, last + 1, dtype=np.int64)
        self.threshold = procedure.stage_threshold
        self.asks = (between, within, design.calibration.delta, float(procedure.looks))
        self.settings = StaticSettings(
            stages,
            np.empty(len(stages)),
            pair_scales(sizes),
            self.means,
            between / roots,
            within / roots,
            design.min_effect or 0.0,
            self.ziggurat,
        )
        self.counts = np.tile(np.array(sizes, np.int64), runs)

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Simulate some of the runs; if `runs` is 0, only compile and tabulate thresholds."""
        if runs == 0:
            thresholds = self.settings.thresholds
            tabulate = compile_loop(build_thresholds, self.threshold)
            tabulate(thresholds, self.settings.stages, *self.asks)
        chunk, columns = self.order(first_run, runs, control)
        room = (*(np.empty(self.arms) for _ in range(4)), np.empty(WORDS, np.uint64))
        compile_loop(build)(*room, self.arms, chunk, self.settings, columns)


def play_static(procedure: StaticProcedure, order: Order) -> Runs:
    """Return the runs of a test on a static population, ready to be simulated."""
    order.refuse_engine()
    if not order.world.plain_for(order.design.outcome):
        raise InputError(
            "world",
            f"{procedure.label} is simulated in a steady world, not with {order.world.words}: give "
            "means alone",
        )
    return StaticRuns(order.design, procedure, order.world, order.seed, order.runs)


def check_feasible(design: Design, world: World) -> None:
    """Raise an error for means with which no run would decide, or for too many stages."""
    procedure, gap = static_procedure(design), min(rival_gaps(world.start))
    if gap == 0 and procedure.horizon is None and design.min_effect is None:
        raise InputError(
            "means",
            "means must have one best arm, or the test never ends: change means, or set the "
            "horizon of Static to study a test without a difference",
        )
    if not procedure.once and (procedure.horizon or 0) > MOST_STAGES:
        raise InputError(
            "horizon",
            f"horizon must be at most {MOST_STAGES} to simulate a look at every stage "
            f"(got {procedure.horizon})",
        )
