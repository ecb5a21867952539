"""Runs of the rules that work in blocks."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.procedures.blocks import state as block_state
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.blocks.state import OCTAVES, PARTS, Evidence
from bascule.core.procedures.blocks.steps import BlockSteps
from bascule.core.types import FloatArray, IntArray
from bascule.simulation.engines.runs import AnyArray, Runs
from bascule.simulation.kernels import block_differences
from bascule.simulation.kernels.block_differences import differences_suffice
from bascule.simulation.kernels.blocks import CALLED, COUNTING, build, build_floors
from bascule.simulation.kernels.compiled import arms_to_fix, compile_loop
from bascule.simulation.kernels.control import Kernel
from bascule.simulation.random.draws import NORMAL, Draws
from bascule.simulation.random.streams import WORDS
from bascule.simulation.worlds.world import World


@lru_cache(maxsize=16)
def block_loop(steps: BlockSteps, draws: Draws, fixed_arms: int, by_sums: bool = False) -> Kernel:
    """The loop for a rule in blocks."""
    return compile_loop(
        lambda fingerprint: build(steps, draws, fixed_arms, fingerprint, by_sums), CALLED
    )


@lru_cache(maxsize=16)
def difference_loop(steps: BlockSteps) -> Kernel:
    """The loop for two arms in blocks of which one number each is drawn."""
    return compile_loop(lambda fingerprint: block_differences.build(steps, fingerprint), CALLED)


@lru_cache(maxsize=4)
def floor_table(evidence: Evidence) -> Kernel:
    """The loop that finds the totals which are too small to decide."""
    return compile_loop(lambda fingerprint: build_floors(evidence, fingerprint), CALLED)


def floors_of(procedure: BlockProcedure) -> FloatArray:
    """Totals, for each part of the clock, below which the evidence need not be computed."""
    return _floors(procedure.steps.evidence, procedure.threshold, procedure.shape)


@lru_cache(maxsize=64)
def _floors(evidence: Evidence | None, threshold: float, shape: float) -> FloatArray:
    floors = np.zeros(OCTAVES * PARTS)
    if evidence is not None:
        floor_table(evidence)(floors, threshold, shape)
    return floors


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
        self.precision = 1.0 / design.outcome.scale
        self.procedure = procedure
        # Runs need intervals only for a margin.
        self.steps = procedure.steps if procedure.margin > 0.0 else procedure.steps.deciding
        self.floors = floors_of(procedure)
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
        return (self.steps,)

    def build(self, draws: Draws, fixed_arms: int, by_sums: bool = False) -> Kernel:
        """Return the loop, uncompiled."""
        return build(self.steps, draws, fixed_arms, "", by_sums)

    @property
    def can_draw_sums(self) -> bool:
        """Whether the rule uses nothing of a block but its sums, which may be drawn at once."""
        observe = self.procedure.steps.observe
        return observe is block_state.observe or (self.draws.ones and observe in COUNTING)

    def scratch(self) -> tuple[AnyArray, ...]:
        """Return the arrays that the loop works in."""
        largest = self.procedure.largest_block
        return (
            np.empty(self.procedure.steps.width(self.arms)),
            np.empty(WORDS, np.uint64),
            np.empty(largest, np.int64),
            np.empty(largest),
        )

    def settings(self, endless: bool = False) -> tuple[Any, ...]:  # noqa: ARG002
        """Return the arguments of the loop beside the runs to play."""
        procedure = self.procedure
        return (
            self.cap,
            self.means,
            self.sigma,
            self.precision,
            procedure.tilt,
            procedure.batch,
            procedure.shape,
            procedure.threshold,
            procedure.margin,
            self.floors,
            procedure.plan,
            self.ziggurat,
        )

    @property
    def can_draw_differences(self) -> bool:
        """Whether one number a block is enough: two arms, normal outcomes, no margin."""
        return (
            self.arms == 2
            and self.draws is NORMAL
            and self.procedure.margin == 0.0
            and differences_suffice(self.procedure.steps)
        )

    def _difference_settings(self) -> tuple[Any, ...]:
        procedure = self.procedure
        shares = np.arange(procedure.largest_block // procedure.batch)
        weights = procedure.batch * shares / (shares + 1.0)
        return (
            self.cap,
            float(self.means[0] - self.means[1]) * self.precision,
            procedure.tilt,
            procedure.batch,
            procedure.shape,
            procedure.threshold,
            self.floors,
            weights,
            self.sigma * self.precision * np.sqrt(weights),
            self.ziggurat,
        )

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile."""
        fast = self.engine == "fast"
        chunk, columns = self.order(first_run, runs, control)
        if fast and self.can_draw_differences:
            loop, settings = difference_loop(self.procedure.steps), self._difference_settings()
            streams = np.empty(WORDS, np.uint64)
            loop(np.empty(2), streams, chunk, *settings, columns)
            return
        loop = block_loop(self.steps, self.draws, self.fixed_arms, fast)
        loop(*self.scratch(), self.arms, chunk, *self.settings(), columns)
