"""Runs of units whose outcomes keep coming and lie within limits.

An outcome is one of the two limits. Half of the units have a mean of their own that lies
`sigma_unit` above that of their arm, half one that lies as far below. Between two looks an arm's
mean is that of the look before, and its radius shrinks with the root of its units.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.evidence.bernstein import bernstein_boundary, bernstein_radius, expected
from bascule.core.evidence.looks import following_look, look_part
from bascule.core.evidence.radius import FIRST_UNITS
from bascule.core.procedures.recurrent.limited import LimitedUnits, average_radius
from bascule.core.types import NOBODY, FloatArray, IntArray
from bascule.simulation.kernels.compiled import compile_loop
from bascule.simulation.kernels.control import (
    ALIVE,
    STOP,
    WAITING,
    Chunk,
    Kernel,
    RunColumns,
    finish_run,
)
from bascule.simulation.random.streams import WORDS, WordArray, seed_stream, uniform
from bascule.simulation.runs import Runs
from bascule.simulation.worlds.world import World

ROOM = 4096
"""Units for which there is room at first; it doubles where a run needs more."""

UNIT, ARM = 3, 6
"""Numbers that are kept of a unit (its arm, its chance, its total) and of an arm."""


def best_of(
    means: FloatArray, radii: FloatArray, counts: FloatArray, units: FloatArray, alpha: float
) -> int:
    """Return the arm with the highest index; of arms with an infinite one, that with least units.

    Means and radii are those of the look before, with the units `seen` then.

    >>> pair = np.array([0.2, 0.3]), np.array([0.2, 0.01]), np.array([9.0, 9.0])
    >>> best_of(*pair, np.array([9.0, 9.0]), 2.0), best_of(*pair, np.array([400.0, 9.0]), 2.0)
    (0, 1)
    """
    best, highest = 0, -math.inf
    for arm in range(means.size):
        index = math.inf
        if radii[arm] < math.inf:
            index = means[arm] + alpha * radii[arm] * math.sqrt(counts[arm] / units[arm])
        if index > highest or (index == highest and units[arm] < units[best]):
            best, highest = arm, index
    return best


def winner_of(means: FloatArray, radii: FloatArray) -> int:
    """Return the arm whose interval has parted from all others, or nobody.

    >>> winner_of(np.array([0.2, 0.6]), np.array([0.1, 0.1]))
    1
    """
    best = 0
    for arm in range(1, means.size):
        if means[arm] > means[best]:
            best = arm
    for arm in range(means.size):
        if arm != best and means[best] - radii[best] <= means[arm] + radii[arm]:
            return NOBODY
    return best


def build(fingerprint: str) -> Kernel:
    """Return the loop; `fingerprint` is that of the source, for the cache.

    A run that needs more room than it has is left unfinished, with its row in `WAITING` and 1 in
    `ALIVE`, and is played from the start when the loop is called again.
    """

    def play(
        streams: WordArray,
        members: FloatArray,
        states: FloatArray,
        true_means: FloatArray,
        chunk: Chunk,
        max_units: int,
        spread: float,
        low: float,
        high: float,
        alpha: float,
        log_level: float,
        growth: float,
        columns: RunColumns,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        (seed, first_run, runs), control = chunk, columns.control
        arms = true_means.size
        joined, chances, totals = members[0], members[1], members[2]
        counts, sums, squares = states[0], states[1], states[2]
        means, radii, observed = states[3], states[4], states[5]
        control[ALIVE] = 0
        for row in range(control[WAITING], runs):
            seed_stream(streams, 0, seed, np.uint64(first_run + row))
            for arm in range(arms):
                counts[arm], observed[arm], means[arm], radii[arm] = 0.0, 0.0, 0.0, math.inf
            units, before, number = 0, 0, 1
            look = FIRST_UNITS * arms
            winner = NOBODY
            while winner == NOBODY and units < max_units and control[STOP] == 0:
                until = min(look, max_units)
                if until > joined.size:
                    control[ALIVE] = 1
                    break
                while units < until:
                    arm = best_of(means, radii, observed, counts, alpha)
                    side = spread if uniform(streams, 0) < 0.5 else -spread
                    joined[units] = arm
                    chances[units] = (true_means[arm] + side - low) / (high - low)
                    totals[units] = 0.0
                    counts[arm] += 1.0
                    units += 1
                # Unit u arrives at stage u + 1 and gives an outcome at that stage and every later.
                for arm in range(arms):
                    counts[arm], sums[arm], squares[arm] = 0.0, 0.0, 0.0
                for unit in range(units):
                    ones = 0.0
                    for _ in range(max(before, unit), units):
                        if uniform(streams, 0) < chances[unit]:
                            ones += 1.0
                    totals[unit] += ones
                    arm = int(joined[unit])
                    average = low + (high - low) * totals[unit] / (units - unit)
                    off = average - expected(counts[arm], sums[arm], low, high)
                    squares[arm] += off * off
                    sums[arm] += average
                    counts[arm] += 1.0
                before = units
                level = log_level - math.log(look_part(number))
                for arm in range(arms):
                    observed[arm] = counts[arm]
                    means[arm] = sums[arm] / counts[arm] if counts[arm] > 0.0 else 0.0
                    radii[arm] = average_radius(counts[arm], squares[arm], low, high, level)
                if units == look:
                    winner = winner_of(means, radii)
                    look = following_look(look, growth)
                    number += 1
            if control[STOP] != 0 or control[ALIVE] != 0:
                break
            control[WAITING] = row + 1
            finish_run(counts, 0, arms, row, units, winner, columns)

    return play


@lru_cache(maxsize=1)
def loop() -> Kernel:
    """Return the compiled loop."""
    called = (seed_stream, finish_run, bernstein_boundary, bernstein_radius, best_of)
    return compile_loop(build, (*called, winner_of))


class LimitedRuns(Runs):
    """Runs of units within limits."""

    def __init__(
        self, design: Design, procedure: LimitedUnits, world: World, seed: int, runs: int
    ) -> None:
        super().__init__(design, world, seed, runs)
        if design.min_effect is not None:
            raise InputError(
                "min_effect",
                f"min_effect does not go with {procedure.label} on recurring outcomes within "
                "limits: leave it out",
            )
        outcome = design.outcome
        low, high = outcome.low, outcome.high
        self.numbers = (
            _checked_spread(design, world),
            low,
            high,
            procedure.alpha,
            -math.log(design.calibration.delta),
            procedure.shape.growth,
        )

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play some of the runs; with none, only compile."""
        chunk, columns = self.order(first_run, runs, control)
        streams, states = np.empty(WORDS, np.uint64), np.empty((ARM, self.arms))
        room = min(ROOM, self.cap)
        control[WAITING], control[ALIVE] = 0, 1
        while control[ALIVE] and not control[STOP]:
            members = np.empty((UNIT, room))
            loop()(streams, members, states, self.means, chunk, self.cap, *self.numbers, columns)
            room = min(2 * room, self.cap)


def _checked_spread(design: Design, world: World) -> float:
    """Return how far units differ, if there is room for it between means and limits."""
    outcome = design.outcome
    spread = outcome.spread_of_units
    for mean in world.start:
        if not outcome.low <= mean - spread <= mean + spread <= outcome.high:
            raise InputError(
                "sigma_unit",
                f"sigma_unit ({spread:g}) leaves no room between a mean of {mean:g} and the limits "
                f"{outcome.low:g} and {outcome.high:g}: units lie that far above and below it in "
                "a simulation",
            )
    return spread
