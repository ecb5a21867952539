"""Runs of units whose outcomes keep coming, each outcome drawn."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from bascule.core.arms import FEW_ARMS, FloatArray, Steps, width
from bascule.core.design import Design
from bascule.core.estimators import Weight
from bascule.core.outcomes import Recurrent
from bascule.core.rules import PaperRule
from bascule.core.rules.mixture import log_threshold
from bascule.core.rules.units import UnitRadius
from bascule.simulate.compiled import compile_loop
from bascule.simulate.control import ALIVE, STOP, WAITING, IntArray, Kernel
from bascule.simulate.feasible import units_cap
from bascule.simulate.streams import WORDS, fill_normals, ziggurat_table
from bascule.simulate.unit_kernel import (
    BURST,
    CALLED,
    EVERY_OUTCOME,
    MEMBER,
    Crowd,
    Fill,
    build,
    build_tables,
)

FIRST_ROOM = 256
"""Units that a run has room for to begin with."""


@lru_cache(maxsize=32)
def unit_loop(
    steps: Steps,
    radius_of: UnitRadius,
    together: bool,
    planned: bool,
    crowd: Crowd,
    fill_effect: Fill,
    fixed_arms: int,
) -> Kernel:
    """The loop for a rule on units."""
    return compile_loop(
        lambda fingerprint: build(
            steps, radius_of, together, planned, crowd, fill_effect, fixed_arms, fingerprint
        ),
        CALLED,
    )


@lru_cache(maxsize=4)
def weight_tables(weight: Weight) -> Kernel:
    """The loop that tabulates the weights of an estimator."""
    return compile_loop(lambda fingerprint: build_tables(weight, fingerprint), CALLED)


class UnitRuns:
    """The numbers the loop needs, and the columns that the loops of all threads fill."""

    def __init__(
        self,
        design: Design,
        rule: PaperRule,
        outcome: Recurrent,
        means: tuple[float, ...],
        seed: int,
        runs: int,
        crowd: Crowd = EVERY_OUTCOME,
        fill_effect: Fill = fill_normals,
    ) -> None:
        arms = len(means)
        self.arms = arms
        self.seed = np.uint64(seed)
        self.means = np.array(means)
        self.cap = units_cap(design)
        self.outcome = outcome
        self.spreads = (outcome.sigma_unit, outcome.sigma_noise)
        self.alpha = rule.alpha
        self.shape = rule.unit_shape(arms)
        self.log_level = math.log(self.shape.count / design.calibration.delta)
        self.threshold = log_threshold(arms, design.calibration.error)
        self.loop = unit_loop(
            rule.steps(),
            self.shape.radius,
            self.shape.together,
            self.shape.growth > 0,
            crowd,
            fill_effect,
            arms if arms <= FEW_ARMS else 0,
        )
        self.ziggurat = ziggurat_table()
        self.times = np.zeros(runs, np.int64)
        self.winners = np.zeros(runs, np.int64)
        self.counts = np.zeros(runs * arms, np.int64)

    def tables(self, room: int) -> FloatArray:
        """Weights of units with up to `room` outcomes."""
        tables = np.empty(2 * (room + 1))
        weight_tables(self.shape.weight)(tables, *self.spreads)
        return tables

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile."""
        here = slice(first_run, first_run + runs)
        cells = slice(first_run * self.arms, (first_run + runs) * self.arms)
        state, streams = np.empty(width(self.arms)), np.empty(WORDS, np.uint64)
        room = min(FIRST_ROOM, self.cap)
        control[WAITING], control[ALIVE] = 0, 1
        while control[ALIVE] and not control[STOP]:
            self.loop(
                state,
                np.empty(MEMBER * room),
                np.empty(3 * self.arms),
                self.tables(room),
                streams,
                np.empty(BURST),
                self.arms,
                self.seed,
                first_run,
                runs,
                self.cap,
                room,
                self.means,
                *self.spreads,
                self.alpha,
                self.log_level,
                self.shape.growth,
                self.threshold,
                self.ziggurat,
                self.times[here],
                self.winners[here],
                self.counts[cells],
                control,
            )
            room = min(4 * room, self.cap)
