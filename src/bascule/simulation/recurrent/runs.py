"""Runs with recurring outcomes."""

from __future__ import annotations

import math

import numpy as np

from bascule.core.design import Design
from bascule.core.evidence.looks import coming_look
from bascule.core.evidence.radius import FIRST_UNITS
from bascule.core.gaps import rival_gaps
from bascule.core.procedures.intervals.state import width
from bascule.core.procedures.recurrent.procedure import RecurrentProcedure
from bascule.core.types import FloatArray, IntArray
from bascule.simulation.kernels.compiled import arms_to_fix, compile_loop
from bascule.simulation.kernels.control import ALIVE, STOP, WAITING
from bascule.simulation.random.streams import WORDS
from bascule.simulation.recurrent.engines import Plain
from bascule.simulation.recurrent.kernel import BURST, CALLED, UnitSettings, build
from bascule.simulation.runs import Runs
from bascule.simulation.worlds.world import World
from bascule.theory import mean_path

MORE = 4
"""How many times more room a run gets that has used up what it had."""


class UnitRuns(Runs):
    """Runs of units whose outcomes recur."""

    def __init__(
        self,
        design: Design,
        procedure: RecurrentProcedure,
        engine: Plain,
        world: World,
        seed: int,
        runs: int,
    ) -> None:
        super().__init__(design, world, seed, runs)
        shape = procedure.shape
        self.spreads, self.alpha, self.shape = procedure.spreads, procedure.alpha, shape
        self.log_level = math.log(shape.count / design.calibration.delta)
        self.threshold = procedure.threshold
        self.margin = design.min_effect or 0.0
        self.units_engine = engine
        self.engine = engine.name
        self.room = self._first_room(design, world.start)
        self.accuracy = engine.accuracy(self.room)
        self.loop = compile_loop(
            build,
            CALLED,
            procedure.steps,
            procedure.within,
            engine.find(shape.radius),
            shape.together,
            shape.growth > 0,
            engine.crowd,
            arms_to_fix(self.arms, runs),
        )

    def _first_room(self, design: Design, means: tuple[float, ...]) -> int:
        gaps = rival_gaps(means)
        expected = mean_path(design, gaps).decision_time if min(gaps) > 0 else math.nan
        return int(min(self.cap, self.units_engine.room(expected)))

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
        return self.units_engine.radii(self.shape.radius, room, looks, self.log_level)

    def _play(self, room: int, first_run: int, runs: int, control: IntArray) -> None:
        self.accuracy = max(self.accuracy, self.units_engine.accuracy(room))
        chunk, columns = self.order(first_run, runs, control)
        self.loop(
            np.empty(width(self.arms)),
            np.empty(self.units_engine.memory(self.arms, room)),
            np.empty(3 * self.arms),
            *self.units_engine.tables(room),
            np.empty(WORDS, np.uint64),
            np.empty(BURST),
            self.arms,
            chunk,
            UnitSettings(
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
            ),
            columns,
        )
