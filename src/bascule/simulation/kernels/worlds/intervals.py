"""Runs of rules that compare intervals, in any world, played one after the other.

The rule sees an outcome when the world reports it. Until then the outcome waits in a calendar:
`heads` has, for each time ahead, the first of the units that are due then, and `nexts` has, for
each unit, the next one that is due at the same time. Both are rings; their length is a power of
two, so that their indexes are quick to compute.

An even split (alpha = infinity) chooses arms by the numbers of assigned units, and compares
complete rounds. The outcomes of a round are shown together, as soon as all of them and all earlier
rounds are known; a round with a missing outcome is left out. So all active arms have the same
number of outcomes, and the order of the rounds says nothing about their outcomes.
"""

from __future__ import annotations

import math

import numpy as np

from bascule.core.course import fits
from bascule.core.design import Design
from bascule.core.evidence.radius import FIRST_UNITS, Radius
from bascule.core.procedures.intervals.procedure import IntervalProcedure
from bascule.core.procedures.intervals.state import (
    ROWS,
    SCORES,
    TOTALS,
    UNITS,
    UPPERS,
    Steps,
    Within,
    clear,
    highest,
    place,
    round_complete,
)
from bascule.core.types import NO_DIFFERENCE, NOBODY, FloatArray, IntArray
from bascule.simulation.kernels.compiled import (
    STOP,
    Chunk,
    IntervalSettings,
    Kernel,
    RunColumns,
    compile_loop,
    finish_run,
)
from bascule.simulation.kernels.intervals import interval_settings, tabulate_radii
from bascule.simulation.kernels.worlds.unit import (
    NoiseSource,
    UnitSteps,
    source_of,
    units_of,
)
from bascule.simulation.random import seed_stream
from bascule.simulation.runs import WorldRuns, ring
from bascule.simulation.worlds.world import World

LARGEST_TABLE = 1 << 16
"""Maximum number of radii tabulated before the runs; later ones are computed when needed."""

EMPTY = -1
"""Marks a time in the calendar of outcomes at which none is due."""


def next_in_line(scores: FloatArray, arms: int, assigned: FloatArray) -> int:
    """Return the arm with the highest score, or an arm without an interval if there is one.

    Of several arms without an interval, the one with the fewest units is returned; all numbers
    below `FIRST_UNITS` count alike. Nothing is known of these arms while their first outcomes are
    under way, so they share the units.
    """
    best = highest(scores, arms)
    if scores[best] == math.inf:
        fewest = math.inf
        for arm in range(arms):
            if scores[arm] == math.inf:
                units = max(assigned[arm], FIRST_UNITS - 1.0)
                best = arm if units < fewest else best
                fewest = min(fewest, units)
    return best


def schedule(heads: IntArray, nexts: IntArray, dues: IntArray, slot: int, due: int) -> None:
    """Enter a unit into the calendar, at the time when its outcome is due."""
    dues[slot] = due
    at = due & (heads.size - 1)
    nexts[slot] = heads[at]
    heads[at] = slot


def wipe(heads: IntArray, dues: IntArray, units: int) -> None:
    """Remove from the calendar the outcomes that were still due when a run ended."""
    turn = heads.size - 1
    for unit in range(max(0, units - heads.size), units):
        heads[dues[unit & turn] & turn] = EMPTY


def build(
    steps: Steps,
    within: Within,
    radius_of: Radius,
    world_units: UnitSteps,
    fingerprint: str,
) -> Kernel:
    """Build the loop for one rule, with any number of arms.

    Radii are looked up as far as the table `radii` goes.
    """
    score, decide = steps
    draw, mean_and_gap, arrival = world_units

    def play(
        state: FloatArray,
        assigned: FloatArray,
        heads: IntArray,
        nexts: IntArray,
        dues: IntArray,
        owners: IntArray,
        values: FloatArray,
        arms: int,
        chunk: Chunk,
        settings: IntervalSettings,
        source: NoiseSource,
        columns: RunColumns,
        regrets: FloatArray,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        max_units, sigma, alpha = settings.max_units, settings.sigma, settings.alpha
        margin = settings.margin
        factor, count, delta = settings.factor, settings.constant, settings.delta
        threshold, radii = settings.threshold, settings.radii
        (seed, first_run, runs), control = chunk, columns.control
        streams, _, world, means, _, _, _ = source
        even = math.isinf(alpha)
        turn = heads.size - 1
        scores, uppers = state[SCORES], state[UPPERS]
        unseen = score(0.0, math.inf, 0.0, alpha)
        for i in range(heads.size):
            heads[i] = EMPTY
        for row in range(runs):
            seed_stream(streams, 0, seed, np.uint64(first_run + row))
            clear(state, arms, unseen)
            for arm in range(arms):
                assigned[arm] = 0.0
            units, clock, under_way = 0, 0, 0
            round_size, round_due, is_whole = 0, 0, True
            regret = 0.0
            winner = NOBODY
            while (
                winner == NOBODY
                and (fits(units, 1, max_units) or under_way > 0)
                and control[STOP] == 0
            ):
                if fits(units, 1, max_units):
                    arm = next_in_line(scores, arms, assigned)
                    mean, gap = mean_and_gap(world, means, arm, units)
                    value = draw(source, arm, mean)
                    due, came = arrival(streams, world, units, value)
                    slot = units & turn
                    values[slot] = value
                    owners[slot] = arm
                    dues[slot] = 0
                    regret += gap
                    assigned[arm] += 1.0
                    units += 1
                    if even:
                        scores[arm] = score(0.0, 0.0, assigned[arm], alpha)
                        round_size += 1
                        round_due = max(round_due, due)
                        is_whole = is_whole and came
                        if round_complete(state, arms):
                            for unit in range(units - round_size, units):
                                if is_whole:
                                    schedule(heads, nexts, dues, unit & turn, round_due)
                                    under_way += 1
                            round_size = 0
                            is_whole = True
                        elif units == max_units:
                            # The cap leaves this round incomplete: its units do not count.
                            for unit in range(units - round_size, units):
                                arm = owners[unit & turn]
                                before = assigned[arm] - 1.0
                                scores[arm] = score(0.0, 0.0, before, alpha)
                    elif came:
                        schedule(heads, nexts, dues, slot, due)
                        under_way += 1
                clock += 1
                slot = heads[clock & turn]
                heads[clock & turn] = EMPTY
                while slot != EMPTY:
                    under_way -= 1
                    arm = owners[slot]
                    # A removed arm has an upper bound of minus infinity, and keeps it.
                    if uppers[arm] > -math.inf:
                        observed = state[UNITS][arm] + 1.0
                        total = state[TOTALS][arm] + values[slot]
                        mean = total / observed
                        if observed < radii.size:
                            wide = radii[np.uint64(observed)]
                        else:
                            wide = radius_of(observed, sigma, factor, count, delta)
                        urgency = scores[arm]
                        if not even:
                            urgency = score(mean, wide, observed, alpha)
                        place(state, arm, observed, total, mean, wide, urgency)
                    slot = nexts[slot]
                winner = decide(state, arms, sigma, threshold)
                if (
                    margin > 0.0
                    and winner == NOBODY
                    and within(state, arms, sigma, threshold, margin)
                ):
                    winner = NO_DIFFERENCE
            wipe(heads, dues, units)
            if control[STOP] != 0:
                break
            regrets[row] = regret
            finish_run(assigned, row, clock, winner, columns)

    return play


class WorldIntervalRuns(WorldRuns):
    """Runs of a procedure that compares intervals, in any world."""

    def __init__(
        self, design: Design, procedure: IntervalProcedure, world: World, seed: int, runs: int
    ) -> None:
        super().__init__(design, world, seed, runs)
        shape = procedure.shape
        radii = np.empty(min(self.cap, LARGEST_TABLE) + 2)
        self.settings = interval_settings(design, procedure, self.cap, self.means, radii)
        tabulate_radii(shape.radius, self.settings)
        rule = procedure.steps, procedure.within, shape.radius
        self.loop = compile_loop(build, *rule, units_of(world))

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play `runs` runs from number `first_run` on; with 0 runs, only compile the loop."""
        chunk, columns = self.order(first_run, runs, control)
        length = ring(self.longest_wait + self.arms)
        calendar = tuple(np.empty(length, np.int64) for _ in range(4))
        self.loop(
            np.empty((ROWS, self.arms)),
            np.empty(self.arms),
            *calendar,
            np.empty(length),
            self.arms,
            chunk,
            self.settings,
            source_of(self.world),
            columns,
            self.regrets_of(first_run, runs),
        )
