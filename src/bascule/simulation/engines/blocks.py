"""Runs of the rules that work in blocks."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from bascule.core.design import Design
from bascule.core.outcomes import Gaussian
from bascule.core.procedures.block_state import OCTAVES, PARTS, Evidence
from bascule.core.procedures.blocks import evidence_wanted
from bascule.core.rules.tilt import BlockSteps, Tilt
from bascule.simulation.engines.feasible import units_cap
from bascule.simulation.kernels.blocks import CALLED, build, build_floors
from bascule.simulation.kernels.compiled import arms_to_fix, compile_loop
from bascule.simulation.kernels.control import IntArray, Kernel
from bascule.simulation.random.draws import Draws, draws_of
from bascule.simulation.random.streams import WORDS, ziggurat_table


@lru_cache(maxsize=16)
def block_loop(steps: BlockSteps, draws: Draws, fixed_arms: int) -> Kernel:
    """The loop for a rule in blocks."""
    return compile_loop(lambda fingerprint: build(steps, draws, fixed_arms, fingerprint), CALLED)


@lru_cache(maxsize=4)
def floor_table(evidence: Evidence) -> Kernel:
    """The loop that finds the totals which are too small to decide."""
    return compile_loop(lambda fingerprint: build_floors(evidence, fingerprint), CALLED)


class BlockRuns:
    """The numbers the loop needs, and the columns that the loops of all threads fill."""

    def __init__(
        self, design: Design, rule: Tilt, means: tuple[float, ...], seed: int, runs: int
    ) -> None:
        self.arms = len(means)
        self.seed = np.uint64(seed)
        self.means = np.array(means)
        self.cap = units_cap(design)
        self.sigma = design.outcome.sigma
        self.precision = 1.0 / design.outcome.scale
        self.rule = rule
        self.effect, self.threshold = evidence_wanted(design, rule)
        self.margin = (design.min_effect or 0.0) / design.outcome.scale
        steps = rule.steps(design.outcome)
        self.width = steps.width(self.arms)
        self.loop = block_loop(steps, draws_of(design.outcome), arms_to_fix(self.arms, runs))
        self.floors = np.zeros(OCTAVES * PARTS)
        if isinstance(design.outcome, Gaussian):
            floor_table(rule.evidence)(self.floors, self.threshold, self.effect)
        self.ziggurat = ziggurat_table()
        self.times = np.zeros(runs, np.int64)
        self.winners = np.zeros(runs, np.int64)
        self.counts = np.zeros(runs * self.arms, np.int64)

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile."""
        here = slice(first_run, first_run + runs)
        cells = slice(first_run * self.arms, (first_run + runs) * self.arms)
        largest_block = self.rule.batch * (math.ceil(self.rule.tilt) + self.arms)
        self.loop(
            np.empty(self.width),
            np.empty(WORDS, np.uint64),
            np.empty(largest_block, np.int64),
            np.empty(largest_block),
            self.arms,
            self.seed,
            first_run,
            runs,
            self.cap,
            self.means,
            self.sigma,
            self.precision,
            self.rule.tilt,
            self.rule.batch,
            self.effect,
            self.threshold,
            self.margin,
            self.floors,
            self.ziggurat,
            self.times[here],
            self.winners[here],
            self.counts[cells],
            control,
        )
