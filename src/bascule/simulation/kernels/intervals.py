"""Runs of rules that compare intervals: many of them interleaved, to hide each other's latency.

`build` returns a plain function around a rule's steps, which is compiled. Everything in it works on
scalars and flat arrays that the caller owns, and allocates nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bascule.core.design import Design
from bascule.core.evidence.radius import Radius
from bascule.core.gaps import rival_gaps
from bascule.core.procedures.intervals.procedure import IntervalProcedure
from bascule.core.procedures.intervals.state import (
    ROWS,
    SCORES,
    TOTALS,
    UNITS,
    Steps,
    clear,
    highest,
    place,
)
from bascule.core.types import NOBODY, FloatArray, IntArray, called_rarely
from bascule.simulation.kernels import two_arms
from bascule.simulation.kernels.compiled import (
    ALIVE,
    STOP,
    WAITING,
    Chunk,
    IntervalSettings,
    Kernel,
    RunColumns,
    arms_to_fix,
    compile_loop,
    finish_run,
)
from bascule.simulation.random import (
    WORDS,
    Draws,
    WordArray,
    seed_stream,
    ziggurat_table,
)
from bascule.simulation.runs import AnyArray, Runs
from bascule.simulation.worlds.world import World

BURST = 32
"""Number of outcomes drawn for a run at a time."""

IDLE = -1
"""Row of a lane (one of several interleaved runs) that has no run left to play."""

SMALLEST_TABLE, LARGEST_TABLE = 1 << 12, 1 << 21

SMALLEST_PART = 0.1
"""Radii below this fraction of half the smallest gap are not tabulated, but computed."""


@called_rarely
def start_run(
    state: FloatArray,
    arms: int,
    unseen_score: float,
    streams: WordArray,
    lane: int,
    chunk: Chunk,
    row: int,
) -> None:
    """Start a run in a lane: without units, with unbounded intervals and the stream of the run."""
    seed_stream(streams, lane * WORDS, chunk.seed, np.uint64(chunk.first_run + row))
    clear(state[lane], arms, unseen_score)


@called_rarely
def move_lane(
    state: FloatArray,
    streams: WordArray,
    rows: IntArray,
    units: IntArray,
    source: int,
    target: int,
) -> None:
    """Copy the run in lane `source` to lane `target`."""
    rows[target] = rows[source]
    units[target] = units[source]
    for i in range(WORDS):
        streams[target * WORDS + i] = streams[source * WORDS + i]
    for row in range(ROWS):
        for arm in range(state.shape[2]):
            state[target, row, arm] = state[source, row, arm]


def build(
    steps: Steps,
    fixed_arms: int,
    endless: bool,
    draws: Draws,
    radius_of: Radius,
    fingerprint: str,
) -> Kernel:
    """Build the loop for one rule; `fixed_arms` above 0 lets the compiler unroll loops over arms.

    With `endless` the loop computes each radius; otherwise it looks radii up in a table. The loop
    with the table returns as soon as an arm outgrows the table, and the endless loop as soon as all
    arms fit again; then the other loop goes on. `fingerprint` is a digest of the loop's source: the
    compiler's cache stores it with the machine code, and so notices a change in a file that it does
    not watch itself.
    """
    score, decide = steps
    fill, outcome = draws.fill, draws.outcome

    def play(
        state: FloatArray,
        streams: WordArray,
        rows: IntArray,
        units: IntArray,
        noise: FloatArray,
        any_arms: int,
        chunk: Chunk,
        settings: IntervalSettings,
        columns: RunColumns,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        max_units, means, sigma = settings.max_units, settings.means, settings.sigma
        alpha, threshold, radii = settings.alpha, settings.threshold, settings.radii
        factor, count, delta = settings.factor, settings.constant, settings.delta
        ziggurat = settings.ziggurat
        runs, control = chunk.runs, columns.control
        arms = fixed_arms if fixed_arms > 0 else any_arms
        unseen = score(0.0, math.inf, 0.0, alpha)
        alive = control[ALIVE]
        waiting = control[WAITING]
        while waiting < min(rows.size, runs):
            rows[waiting] = waiting
            units[waiting] = 0
            start_run(state, arms, unseen, streams, waiting, chunk, waiting)
            waiting += 1
            alive += 1
        while alive > 0 and control[STOP] == 0:
            # A burst ends when the first lane reaches the cap on units.
            burst = min(BURST, max_units)
            longest = 0.0
            for lane in range(alive):
                if units[lane] == max_units:
                    winner = decide(state[lane], arms, sigma, threshold)
                    finish_run(state[lane][UNITS], rows[lane], max_units, winner, columns)
                    units[lane] = 0
                    rows[lane] = IDLE
                    if waiting < runs:
                        rows[lane] = waiting
                        start_run(state, arms, unseen, streams, lane, chunk, waiting)
                        waiting += 1
                burst = min(burst, max_units - units[lane])
                for arm in range(arms):
                    longest = max(longest, state[lane][UNITS][arm])
            if endless == (longest + burst < radii.size):
                break
            for lane in range(alive):
                fill(streams, lane * WORDS, noise, lane * BURST, burst, ziggurat)
            for step in range(burst):
                for lane in range(alive):
                    numbers = state[lane]
                    # Decide at the lane's next turn and not right after the unit: by then the arm's
                    # new bounds are in the cache, and the processor does not have to wait for them.
                    winner = decide(numbers, arms, sigma, threshold)
                    if winner != NOBODY and rows[lane] != IDLE:
                        taken = units[lane] + step
                        finish_run(numbers[UNITS], rows[lane], taken, winner, columns)
                        rows[lane] = IDLE
                        if waiting < runs:
                            rows[lane] = waiting
                            units[lane] = -step
                            start_run(state, arms, unseen, streams, lane, chunk, waiting)
                            fill(
                                streams,
                                lane * WORDS,
                                noise,
                                lane * BURST + step,
                                burst - step,
                                ziggurat,
                            )
                            waiting += 1
                    arm = highest(numbers[SCORES], arms)
                    at = np.uint64(arm)
                    observed = numbers[UNITS][at] + 1.0
                    added = outcome(means[at], sigma, noise[lane * BURST + step])
                    total = numbers[TOTALS][at] + added
                    mean = total / observed
                    if endless:
                        wide = radius_of(observed, sigma, factor, count, delta)
                    else:
                        wide = radii[np.uint64(observed)]
                    urgency = score(mean, wide, observed, alpha)
                    place(numbers, arm, observed, total, mean, wide, urgency)
            for lane in range(alive):
                units[lane] += burst
            lane = 0
            while lane < alive:
                if rows[lane] == IDLE:
                    alive -= 1
                    move_lane(state, streams, rows, units, alive, lane)
                else:
                    lane += 1
        control[ALIVE] = alive
        control[WAITING] = waiting

    return play


def build_table(radius_of: Radius, fingerprint: str) -> Kernel:
    """Build the loop that tabulates the radii of confidence intervals."""

    def tabulate(
        radii: FloatArray, sigma: float, factor: float, count: float, delta: float
    ) -> None:
        made_of = fingerprint  # noqa: F841
        for n in range(radii.size):
            radii[n] = radius_of(n, sigma, factor, count, delta)

    return tabulate


def _lanes(arms: int) -> int:
    """Return how many runs to interleave: enough to hide latency, few enough for the L1 cache."""
    return max(4, min(16, 256 // arms))


NO_TABLE = np.empty(0)
"""An empty table, with which every radius is computed."""


def interval_settings(
    design: Design, procedure: IntervalProcedure, cap: int, means: FloatArray, radii: FloatArray
) -> IntervalSettings:
    """Return the settings of a loop that compares intervals."""
    shape = procedure.shape
    return IntervalSettings(
        *(cap, means, design.outcome.sigma, procedure.alpha),
        *(shape.factor, shape.count, design.calibration.delta, procedure.threshold),
        *(design.min_effect or 0.0, radii, ziggurat_table()),
    )


def tabulate_radii(radius_of: Radius, settings: IntervalSettings) -> None:
    """Fill the table of the settings with radii."""
    tabulate = compile_loop(build_table, radius_of)
    tabulate(settings.radii, *radius_numbers(settings))


def radius_numbers(settings: IntervalSettings) -> tuple[float, float, float, float]:
    """Return the arguments of a radius other than the number of units."""
    return settings.sigma, settings.factor, settings.constant, settings.delta


class IntervalRuns(Runs):
    """Runs of rules that compare intervals, in a steady world in which outcomes come at once."""

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
        self._tabulate(2.0 * self._units_in_table(world.start))

    def _loop(self, endless: bool) -> Kernel:
        steps, radius_of = self.functions
        parts = endless, self.draws, radius_of
        if self.fixed_arms == 2 and two_arms.fits_registers(steps):
            return compile_loop(two_arms.build, steps, *parts)
        return compile_loop(build, steps, self.fixed_arms, *parts)

    def _units_in_table(self, means: tuple[float, ...]) -> float:
        units, gap = 0.5 * SMALLEST_TABLE, min(rival_gaps(means))
        # On average, intervals separate when the leader's radius has fallen to `parted`.
        parted = 0.5 * max(SMALLEST_PART, 1.0 - 1.0 / self.numbers.alpha) * gap
        radius_of, numbers = self.procedure.shape.radius, radius_numbers(self.numbers)
        while units < LARGEST_TABLE and radius_of(units, *numbers) > parted:
            units *= 2.0
        return units

    def _tabulate(self, units: float) -> None:
        radii = np.empty(int(min(units, self.cap, LARGEST_TABLE)) + 2 * BURST)
        self.numbers = self.numbers._replace(radii=radii)
        tabulate_radii(self.procedure.shape.radius, self.numbers)

    def lengthen_table(self, times: float) -> None:
        """Replace the table of radii by one that is `times` as long, up to the largest size."""
        self._tabulate(times * len(self.numbers.radii))

    @property
    def functions(self) -> tuple[Any, ...]:
        """The functions of the rule from which the loop is built."""
        return self.procedure.steps, self.procedure.shape.radius

    can_draw_sums = False

    def build(self, draws: Draws, by_sums: bool, endless: bool) -> Kernel:  # noqa: ARG002
        """Return the loop, uncompiled; if `endless`, it computes radii without a table."""
        steps, radius_of = self.functions
        return build(steps, self.arms, endless, draws, radius_of, "")

    def settings(self, endless: bool = False) -> tuple[IntervalSettings]:
        """Return the settings passed to the loop; an endless loop gets no table of radii."""
        return (self.numbers._replace(radii=NO_TABLE) if endless else self.numbers,)

    def scratch(self, lanes: int = 1) -> tuple[AnyArray, ...]:
        """Return the work arrays of the loop."""
        return (
            np.empty((lanes, ROWS, self.arms)),
            np.empty(WORDS * lanes, np.uint64),
            np.empty(lanes, np.int64),
            np.empty(lanes, np.int64),
            np.empty(BURST * lanes),
        )

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play `runs` runs from number `first_run` on; with 0 runs, only compile the loop."""
        before = (*self.scratch(min(_lanes(self.arms), max(runs, 1))), self.arms)
        chunk, columns = self.order(first_run, runs, control)
        arguments = (*before, chunk, self.numbers, columns)
        control[ALIVE] = control[WAITING] = 0
        self._loop(endless=False)(*arguments)
        while control[ALIVE] > 0 and not control[STOP]:
            self._loop(endless=True)(*arguments)
            self._loop(endless=False)(*arguments)
        for row in np.flatnonzero(columns.winners == two_arms.OUTGROWN).tolist():
            chunk, columns = self.order(first_run + row, 1, control)
            self._loop(endless=True)(*before, chunk, self.numbers, columns)
