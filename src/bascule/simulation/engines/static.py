"""Runs of static populations."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from bascule.core.design import Design
from bascule.core.procedures.population import Threshold
from bascule.core.procedures.static import pair_scales, recurrent_outcome
from bascule.core.rules.static import Static
from bascule.simulation.engines.feasible import last_stage
from bascule.simulation.kernels.compiled import compile_loop
from bascule.simulation.kernels.control import IntArray, Kernel
from bascule.simulation.kernels.static import CALLED, build, build_thresholds
from bascule.simulation.random.streams import WORDS, ziggurat_table


@lru_cache(maxsize=1)
def static_loop() -> Kernel:
    """The loop for a static population."""
    return compile_loop(build, CALLED)


@lru_cache(maxsize=4)
def threshold_table(threshold: Threshold) -> Kernel:
    """The loop that tabulates thresholds."""
    return compile_loop(lambda fingerprint: build_thresholds(threshold, fingerprint), CALLED)


class StaticRuns:
    """The numbers the loop needs, and the columns that the loops of all threads fill."""

    def __init__(
        self, design: Design, rule: Static, means: tuple[float, ...], seed: int, runs: int
    ) -> None:
        self.arms = len(means)
        self.seed = np.uint64(seed)
        self.means = np.array(means)
        outcome, sizes = recurrent_outcome(design), rule.sizes(self.arms)
        roots = np.sqrt(np.array(sizes, np.float64))
        self.unit_spreads = outcome.sigma_unit / roots
        self.noise_spreads = outcome.sigma_noise / roots
        self.scales = pair_scales(sizes)
        last = last_stage(design)
        first = last if rule.stop == "horizon" else 1
        self.stages = np.arange(first, last + 1, dtype=np.int64)
        self.thresholds = np.empty(len(self.stages))
        self.threshold = rule.threshold
        self.asks = (
            *(outcome.sigma_unit, outcome.sigma_noise),
            *(design.calibration.delta, float(rule.looks(outcome))),
        )
        self.loop = static_loop()
        self.ziggurat = ziggurat_table()
        self.times = np.zeros(runs, np.int64)
        self.winners = np.zeros(runs, np.int64)
        self.counts = np.tile(np.array(sizes, np.int64), runs)

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile and tabulate."""
        if runs == 0:
            threshold_table(self.threshold)(self.thresholds, self.stages, *self.asks)
        here = slice(first_run, first_run + runs)
        self.loop(
            *(np.empty(self.arms) for _ in range(4)),
            np.empty(WORDS, np.uint64),
            self.arms,
            self.seed,
            first_run,
            runs,
            self.stages,
            self.thresholds,
            self.scales,
            self.means,
            self.unit_spreads,
            self.noise_spreads,
            self.ziggurat,
            self.times[here],
            self.winners[here],
            control,
        )
