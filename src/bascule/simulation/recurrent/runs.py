"""Runs of units whose outcomes keep coming."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from bascule.core.design import Design
from bascule.core.gaps import rival_gaps
from bascule.core.procedures.interval_state import FloatArray, Steps, Within, width
from bascule.core.procedures.looks import coming_look
from bascule.core.rules.mixture import log_threshold
from bascule.core.rules.radius import FIRST_UNITS
from bascule.simulation.engines.feasible import units_cap
from bascule.simulation.kernels.compiled import arms_to_fix, compile_loop
from bascule.simulation.kernels.control import ALIVE, STOP, WAITING, IntArray, Kernel
from bascule.simulation.random.streams import WORDS, ziggurat_table
from bascule.simulation.recurrent.engines import Engine
from bascule.simulation.recurrent.kernel import BURST, CALLED, Crowd, Fill, build
from bascule.simulation.recurrent.radii import Find
from bascule.theory import predict
from bascule.theory.unit_solve import recurrent

MORE = 4
"""How many times more room a run gets that has used up what it had."""


@lru_cache(maxsize=32)
def unit_loop(
    steps: Steps,
    within: Within,
    find: Find,
    together: bool,
    planned: bool,
    crowd: Crowd,
    fill_effect: Fill,
    fixed_arms: int,
) -> Kernel:
    """The loop for a rule on units."""
    return compile_loop(
        lambda fingerprint: build(
            steps, within, find, together, planned, crowd, fill_effect, fixed_arms, fingerprint
        ),
        CALLED,
    )


class UnitRuns:
    """The numbers the loop needs, and the columns that the loops of all threads fill."""

    def __init__(
        self,
        design: Design,
        engine: Engine,
        means: tuple[float, ...],
        seed: int,
        runs: int,
    ) -> None:
        arms, outcome, rule = len(means), recurrent(design), design.paper_rule
        self.arms = arms
        self.seed = np.uint64(seed)
        self.means = np.array(means)
        self.cap = units_cap(design)
        self.spreads = (outcome.sigma_unit, outcome.sigma_noise)
        self.alpha = rule.alpha
        shape = rule.unit_shape(arms)
        self.shape = shape
        self.log_level = math.log(shape.count / design.calibration.delta)
        self.threshold = log_threshold(arms, design.calibration.error)
        self.margin = design.min_effect or 0.0
        self.engine = engine
        self.room = self._first_room(design, means)
        self.accuracy = engine.accuracy(self.room)
        self.loop = unit_loop(
            rule.steps(),
            rule.within(),
            engine.find(shape.radius),
            shape.together,
            shape.growth > 0,
            engine.crowd,
            engine.fill_effect,
            arms_to_fix(arms, runs),
        )
        self.ziggurat = ziggurat_table()
        self.times = np.zeros(runs, np.int64)
        self.winners = np.zeros(runs, np.int64)
        self.counts = np.zeros(runs * arms, np.int64)

    def _first_room(self, design: Design, means: tuple[float, ...]) -> int:
        gaps = rival_gaps(means)
        expected = predict(design, gaps).decision_time if min(gaps) > 0 else math.nan
        return int(min(self.cap, self.engine.room(expected)))

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile."""
        control[WAITING] = 0
        self._play(self.room, first_run, runs, control)
        while control[ALIVE] and not control[STOP]:
            # Only the run that needs it gets more room: with other powers of their ages its units
            # draw other numbers, and what a run draws must not depend on the runs before it.
            row, room = int(control[WAITING]), self.room
            while control[ALIVE] and not control[STOP]:
                room = min(MORE * room, self.cap)
                self._play(room, first_run, row + 1, control)
            self._play(self.room, first_run, runs, control)

    def _radii(self, room: int) -> FloatArray:
        looks = 1
        if self.shape.growth > 0:
            looks, _ = coming_look(room, FIRST_UNITS * self.arms, self.shape.growth)
        return self.engine.radii(self.shape.radius, room, looks, self.log_level)

    def _play(self, room: int, first_run: int, runs: int, control: IntArray) -> None:
        here = slice(first_run, first_run + runs)
        cells = slice(first_run * self.arms, (first_run + runs) * self.arms)
        self.accuracy = max(self.accuracy, self.engine.accuracy(room))
        self.loop(
            np.empty(width(self.arms)),
            np.empty(self.engine.memory(self.arms, room)),
            np.empty(3 * self.arms),
            *self.engine.tables(room),
            np.empty(WORDS, np.uint64),
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
            self.margin,
            self._radii(room),
            self.ziggurat,
            self.times[here],
            self.winners[here],
            self.counts[cells],
            control,
        )
