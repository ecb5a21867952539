"""Runs of static populations."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from bascule.core.design import Design
from bascule.core.procedures.static.population import Threshold
from bascule.core.procedures.static.procedure import StaticProcedure, pair_scales
from bascule.core.types import IntArray
from bascule.simulation.feasible import last_stage
from bascule.simulation.kernels.compiled import compile_loop
from bascule.simulation.kernels.control import Kernel
from bascule.simulation.kernels.static import CALLED, build, build_thresholds
from bascule.simulation.random.streams import WORDS
from bascule.simulation.runs import Runs
from bascule.simulation.worlds.world import World


@lru_cache(maxsize=1)
def static_loop() -> Kernel:
    """The loop for a static population."""
    return compile_loop(build, CALLED)


@lru_cache(maxsize=4)
def threshold_table(threshold: Threshold) -> Kernel:
    """The loop that tabulates thresholds."""
    return compile_loop(lambda fingerprint: build_thresholds(threshold, fingerprint), CALLED)


class StaticRuns(Runs):
    """Runs of a static population."""

    def __init__(
        self, design: Design, procedure: StaticProcedure, world: World, seed: int, runs: int
    ) -> None:
        super().__init__(design, world, seed, runs)
        sizes, (between, within) = procedure.sizes, procedure.spreads
        roots = np.sqrt(np.array(sizes, np.float64))
        self.unit_spreads, self.noise_spreads = between / roots, within / roots
        self.scales = pair_scales(sizes)
        last = last_stage(procedure)
        first = last if procedure.once else 1
        self.stages = np.arange(first, last + 1, dtype=np.int64)
        self.thresholds = np.empty(len(self.stages))
        self.threshold = procedure.stage_threshold
        self.asks = (between, within, design.calibration.delta, float(procedure.looks))
        self.margin = design.min_effect or 0.0
        self.loop = static_loop()
        self.counts = np.tile(np.array(sizes, np.int64), runs)

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile and tabulate."""
        if runs == 0:
            threshold_table(self.threshold)(self.thresholds, self.stages, *self.asks)
        chunk, columns = self.order(first_run, runs, control)
        self.loop(
            *(np.empty(self.arms) for _ in range(4)),
            np.empty(WORDS, np.uint64),
            self.arms,
            chunk,
            self.stages,
            self.thresholds,
            self.scales,
            self.means,
            self.unit_spreads,
            self.noise_spreads,
            self.margin,
            self.ziggurat,
            columns,
        )
