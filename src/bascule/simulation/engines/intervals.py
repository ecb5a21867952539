"""Runs of the rules that compare intervals."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from bascule.core.design import Design
from bascule.core.evidence.radius import Radius, radius
from bascule.core.gaps import rival_gaps
from bascule.core.procedures.intervals.procedure import IntervalProcedure
from bascule.core.procedures.intervals.state import Steps, width
from bascule.core.types import FloatArray, IntArray
from bascule.simulation.kernels import two_arms
from bascule.simulation.kernels.compiled import arms_to_fix, compile_loop
from bascule.simulation.kernels.control import ALIVE, STOP, WAITING, Kernel
from bascule.simulation.kernels.intervals import BURST, CALLED, build, build_table
from bascule.simulation.kernels.two_arms import OUTGROWN
from bascule.simulation.random.draws import NORMAL, Draws
from bascule.simulation.random.streams import WORDS
from bascule.simulation.runs import AnyArray, Runs
from bascule.simulation.worlds.world import World

SMALLEST_TABLE, LARGEST_TABLE = 1 << 12, 1 << 21

SMALLEST_PART = 0.1
"""Radii below this part of half the smallest gap are computed where they are needed."""


@lru_cache(maxsize=64)
def interval_loop(
    steps: Steps,
    fixed_arms: int,
    endless: bool = False,
    draws: Draws = NORMAL,
    radius_of: Radius = radius,
) -> Kernel:
    """The loop for a rule, for one number of arms with the loops unrolled, or for any (0)."""

    def made(fingerprint: str) -> Kernel:
        if fixed_arms == 2 and two_arms.fits_registers(steps):
            return two_arms.build(steps, endless, fingerprint, draws, radius_of)
        return build(steps, fixed_arms, endless, fingerprint, draws, radius_of)

    return compile_loop(made, CALLED)


@lru_cache(maxsize=4)
def radius_table(radius_of: Radius = radius) -> Kernel:
    """The loop that fills a table of radii."""
    return compile_loop(lambda fingerprint: build_table(fingerprint, radius_of), CALLED)


def _lanes(arms: int) -> int:
    """Runs played at once: enough to hide latency, few enough to stay in the first cache."""
    return max(4, min(16, 256 // arms))


NO_TABLE = np.empty(0)
"""Without a table every radius is computed."""


class IntervalRuns(Runs):
    """Runs of intervals that go by units alone, where a world is steady."""

    def __init__(
        self,
        design: Design,
        procedure: IntervalProcedure,
        draws: Draws,
        world: World,
        seed: int,
        runs: int,
    ) -> None:
        super().__init__(design, world, seed, runs)
        shape, steps = procedure.shape, procedure.steps
        self.radius_of = (shape.factor, shape.count, design.calibration.delta)
        self.threshold = procedure.threshold
        self.sigma, self.alpha = design.outcome.sigma, procedure.alpha
        self.procedure, self.draws = procedure, draws
        fixed = arms_to_fix(self.arms, runs)
        self.tabulated: Kernel = interval_loop(steps, fixed, False, draws, shape.radius)
        self.endless: Callable[[], Kernel] = lambda: interval_loop(
            steps, fixed, True, draws, shape.radius
        )
        self.radii = self._table(world.start, shape.radius)

    def _table(self, means: tuple[float, ...], radius_of: Radius) -> FloatArray:
        wanted, gap = 0.5 * SMALLEST_TABLE, min(rival_gaps(means))
        # In the mean the intervals part when the leader's radius is this part of the gap.
        parted = 0.5 * max(SMALLEST_PART, 1.0 - 1.0 / self.alpha) * gap
        while wanted < LARGEST_TABLE and radius_of(wanted, self.sigma, *self.radius_of) > parted:
            wanted *= 2.0
        return self._radii(2.0 * wanted, radius_of)

    def _radii(self, counts: float, radius_of: Radius) -> FloatArray:
        radii = np.empty(int(min(counts, self.cap, LARGEST_TABLE)) + 2 * BURST)
        radius_table(radius_of)(radii, self.sigma, *self.radius_of)
        return radii

    def lengthen_table(self, times: float) -> None:
        """Replace the table of radii by one that is `times` as long, up to the largest size."""
        self.radii = self._radii(times * len(self.radii), self.procedure.shape.radius)

    @property
    def functions(self) -> tuple[Any, ...]:
        """The functions of the rule that make up the loop."""
        return self.procedure.steps, self.procedure.shape.radius

    can_draw_sums = False

    def build(self, draws: Draws, fixed_arms: int, by_sums: bool = False) -> Kernel:  # noqa: ARG002
        """Return the loop that looks radii up in a table, uncompiled."""
        steps, radius_of = self.functions
        return build(steps, fixed_arms, False, "", draws, radius_of)

    def build_endless(self, draws: Draws, fixed_arms: int) -> Kernel:
        """Return the loop that computes each radius, uncompiled."""
        steps, radius_of = self.functions
        return build(steps, fixed_arms, True, "", draws, radius_of)

    def scratch(self, lanes: int = 1) -> tuple[AnyArray, ...]:
        """Return the arrays that the loop works in."""
        return (
            np.empty(width(self.arms) * lanes),
            np.empty(WORDS * lanes, np.uint64),
            np.empty(lanes, np.int64),
            np.empty(lanes, np.int64),
            np.empty(BURST * lanes),
        )

    def settings(self, endless: bool = False) -> tuple[Any, ...]:
        """Return the arguments of the loop beside the runs to play; endless ones have no table."""
        radii = NO_TABLE if endless else self.radii
        limits = (self.cap, self.means, self.sigma, self.alpha)
        return (*limits, *self.radius_of, self.threshold, radii, self.ziggurat)

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile."""
        before = (*self.scratch(min(_lanes(self.arms), max(runs, 1))), self.arms)
        chunk, columns = self.order(first_run, runs, control)
        arguments = (*before, chunk, *self.settings(), columns)
        control[ALIVE] = control[WAITING] = 0
        self.tabulated(*arguments)
        while control[ALIVE] > 0 and not control[STOP]:
            self.endless()(*arguments)
            self.tabulated(*arguments)
        for row in np.flatnonzero(columns.winners == OUTGROWN).tolist():
            chunk, columns = self.order(first_run + row, 1, control)
            self.endless()(*before, chunk, *self.settings(), columns)
