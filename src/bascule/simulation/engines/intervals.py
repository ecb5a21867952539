"""Runs of the rules that compare intervals."""

from __future__ import annotations

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
from bascule.simulation.kernels.intervals import (
    BURST,
    CALLED,
    IntervalSettings,
    build,
    build_table,
)
from bascule.simulation.kernels.two_arms import OUTGROWN
from bascule.simulation.random.draws import NORMAL, Draws
from bascule.simulation.random.streams import WORDS, ziggurat_table
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


def interval_settings(
    design: Design, procedure: IntervalProcedure, cap: int, means: FloatArray, radii: FloatArray
) -> IntervalSettings:
    """Return the settings of a loop that compares intervals."""
    outcome, shape = design.outcome, procedure.shape
    return IntervalSettings(
        *(cap, means, outcome.sigma, float(outcome.low), float(outcome.high), procedure.alpha),
        *(shape.factor, shape.count, design.calibration.delta, procedure.threshold),
        *(design.min_effect or 0.0, radii, ziggurat_table()),
    )


def radius_numbers(settings: IntervalSettings) -> tuple[float, float, float, float]:
    """Return what a radius depends on beside the units."""
    return settings.sigma, settings.factor, settings.constant, settings.delta


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
        self.procedure, self.draws = procedure, draws
        self.fixed_arms = arms_to_fix(self.arms, runs)
        self.numbers = interval_settings(design, procedure, self.cap, self.means, NO_TABLE)
        self.tabulated = self._loop(endless=False)
        self._tabulate(2.0 * self._units_in_table(world.start))

    def _loop(self, endless: bool) -> Kernel:
        steps, radius_of = self.functions
        return interval_loop(steps, self.fixed_arms, endless, self.draws, radius_of)

    def _units_in_table(self, means: tuple[float, ...]) -> float:
        units, gap = 0.5 * SMALLEST_TABLE, min(rival_gaps(means))
        # In the mean the intervals part when the leader's radius is this part of the gap.
        parted = 0.5 * max(SMALLEST_PART, 1.0 - 1.0 / self.numbers.alpha) * gap
        radius_of, numbers = self.procedure.shape.radius, radius_numbers(self.numbers)
        while units < LARGEST_TABLE and radius_of(units, *numbers) > parted:
            units *= 2.0
        return units

    def _tabulate(self, units: float) -> None:
        radii = np.empty(int(min(units, self.cap, LARGEST_TABLE)) + 2 * BURST)
        radius_table(self.procedure.shape.radius)(radii, *radius_numbers(self.numbers))
        self.numbers = self.numbers._replace(radii=radii)

    def lengthen_table(self, times: float) -> None:
        """Replace the table of radii by one that is `times` as long, up to the largest size."""
        self._tabulate(times * len(self.numbers.radii))

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

    def settings(self, endless: bool = False) -> tuple[IntervalSettings]:
        """Return the argument of the loop beside the runs to play; endless ones have no table."""
        return (self.numbers._replace(radii=NO_TABLE) if endless else self.numbers,)

    def scratch(self, lanes: int = 1) -> tuple[AnyArray, ...]:
        """Return the arrays that the loop works in."""
        return (
            np.empty(width(self.arms) * lanes),
            np.empty(WORDS * lanes, np.uint64),
            np.empty(lanes, np.int64),
            np.empty(lanes, np.int64),
            np.empty(BURST * lanes),
        )

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile."""
        before = (*self.scratch(min(_lanes(self.arms), max(runs, 1))), self.arms)
        chunk, columns = self.order(first_run, runs, control)
        arguments = (*before, chunk, self.numbers, columns)
        control[ALIVE] = control[WAITING] = 0
        self.tabulated(*arguments)
        while control[ALIVE] > 0 and not control[STOP]:
            self._loop(endless=True)(*arguments)
            self.tabulated(*arguments)
        for row in np.flatnonzero(columns.winners == OUTGROWN).tolist():
            chunk, columns = self.order(first_run + row, 1, control)
            self._loop(endless=True)(*before, chunk, self.numbers, columns)
