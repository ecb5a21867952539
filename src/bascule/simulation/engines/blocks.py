"""Runs of the rules that work in blocks."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.evidence.families.known_spread import KNOWN_SPREAD, NO_FLOORS
from bascule.core.evidence.families.rows import ARM_OF_CUBES, Family, Params
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.blocks.steps import Share
from bascule.core.types import FloatArray, IntArray
from bascule.simulation.kernels import block_differences
from bascule.simulation.kernels.blocks import CALLED, BlockLoop, BlockSettings, build, build_floors
from bascule.simulation.kernels.compiled import arms_to_fix, compile_loop
from bascule.simulation.kernels.control import Kernel
from bascule.simulation.random.draws import NORMAL, Draws
from bascule.simulation.random.streams import WORDS
from bascule.simulation.runs import AnyArray, Runs
from bascule.simulation.worlds.world import World


@lru_cache(maxsize=16)
def block_loop(family: Family, share: Share, draws: Draws, compiled_for: BlockLoop) -> Kernel:
    """The loop for a family of evidence."""
    return compile_loop(
        lambda fingerprint: build(family, share, draws, compiled_for, fingerprint), CALLED
    )


@lru_cache(maxsize=4)
def difference_loop(share: Share) -> Kernel:
    """The loop for two arms in blocks of which one number each is drawn."""
    return compile_loop(lambda fingerprint: block_differences.build(share, fingerprint), CALLED)


@lru_cache(maxsize=1)
def floor_table() -> Kernel:
    """The loop that finds the totals which are too small to decide."""
    return compile_loop(build_floors, CALLED)


def compiled_params(procedure: BlockProcedure, intervals: bool) -> Params:
    """Return the numbers that evidence goes by, as compiled loops take them.

    Without `intervals` nothing is kept that only intervals need.
    """
    floors = np.zeros(len(NO_FLOORS))
    params = procedure.params._replace(floors=floors, intervals=float(intervals))
    if procedure.drawn_evidence is KNOWN_SPREAD:
        floor_table()(floors, params)
    return params


def room_for(family: Family, arms: int) -> tuple[FloatArray, FloatArray]:
    """Return room for the rows of all arms and of all pairs."""
    pairs = arms * (arms - 1) // 2
    return np.empty((arms, family.arm_columns)), np.empty((pairs, family.pair_columns))


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
        self.procedure = procedure
        # Runs need intervals only for a margin.
        self.params = compiled_params(procedure, intervals=procedure.margin > 0.0)
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
        return self.procedure.drawn_evidence, self.procedure.share

    def build(self, draws: Draws, fixed_arms: int, by_sums: bool = False) -> Kernel:
        """Return the loop, uncompiled."""
        compiled_for = self._compiled_for(draws, fixed_arms, by_sums)
        return build(self.procedure.drawn_evidence, self.procedure.share, draws, compiled_for, "")

    def _compiled_for(self, draws: Draws, fixed_arms: int, by_sums: bool) -> BlockLoop:
        family, batch = self.procedure.drawn_evidence, self.procedure.batch
        sums = draws.ones or family.arm_columns < ARM_OF_CUBES
        single = fixed_arms == 2 and sums and not by_sums and (family.split or batch == 1)
        return BlockLoop(fixed_arms, by_sums, single)

    @property
    def can_draw_sums(self) -> bool:
        """Whether the rule uses nothing of a block but its sums, which may be drawn at once."""
        return self.draws.ones or self.procedure.drawn_evidence.arm_columns < ARM_OF_CUBES

    def scratch(self) -> tuple[AnyArray, ...]:
        """Return the arrays that the loop works in."""
        largest = self.procedure.largest_block
        return (
            *room_for(self.procedure.drawn_evidence, self.arms),
            np.empty(WORDS, np.uint64),
            np.empty(largest, np.int64),
            np.empty(largest),
        )

    def settings(self, endless: bool = False) -> tuple[BlockSettings]:  # noqa: ARG002
        """Return the arguments of the loop beside the runs to play."""
        procedure = self.procedure
        return (
            BlockSettings(
                self.cap,
                self.means,
                self.sigma,
                procedure.tilt,
                procedure.batch,
                procedure.margin,
                self.params,
                self.ziggurat,
            ),
        )

    @property
    def can_draw_differences(self) -> bool:
        """Whether one number a block is enough: two arms, normal outcomes, no margin or end."""
        procedure = self.procedure
        return (
            self.arms == 2
            and self.draws is NORMAL
            and procedure.drawn_evidence is KNOWN_SPREAD
            and not procedure.has_horizon
            and procedure.margin == 0.0
        )

    def _difference_settings(self) -> tuple[Any, ...]:
        procedure, precision = self.procedure, self.params.precision
        shares = np.arange(procedure.largest_block // procedure.batch)
        weights = procedure.batch * shares / (shares + 1.0)
        return (
            self.cap,
            float(self.means[0] - self.means[1]) * precision,
            procedure.tilt,
            procedure.batch,
            self.params,
            weights,
            self.sigma * precision * np.sqrt(weights),
            self.ziggurat,
        )

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile."""
        fast = self.engine == "fast"
        chunk, columns = self.order(first_run, runs, control)
        if fast and self.can_draw_differences:
            streams = np.empty(WORDS, np.uint64)
            loop, settings = difference_loop(self.procedure.share), self._difference_settings()
            loop(np.empty(2), streams, chunk, *settings, columns)
            return
        compiled_for = self._compiled_for(self.draws, self.fixed_arms, fast)
        rule = self.procedure.drawn_evidence, self.procedure.share
        loop = block_loop(*rule, self.draws, compiled_for)
        loop(*self.scratch(), self.arms, chunk, *self.settings(), columns)
