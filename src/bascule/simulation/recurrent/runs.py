"""Runs with recurring outcomes: every outcome drawn, or units kept as sums of powers.

In a world that is not steady, as with trends, missing outcomes or heavy tails, every outcome is
drawn. A trend adds to all outcomes of a stage; `arrivals` shifts all outcomes of a unit by the
value of the trend at its arrival. A unit is counted from its first outcome on, which is never
missing; a unit's average is over the outcomes that came.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import invalid
from bascule.core.evidence.looks import coming_look
from bascule.core.evidence.radius import FIRST_UNITS
from bascule.core.gaps import rival_gaps
from bascule.core.outcomes import Outcome
from bascule.core.procedures.intervals.state import ROWS
from bascule.core.procedures.recurrent import RecurrentProcedure, UnitRadius, Weight, equal_weight
from bascule.core.types import FloatArray, IntArray
from bascule.simulation.kernels.compiled import ALIVE, STOP, WAITING, arms_to_fix, compile_loop
from bascule.simulation.random import WORDS, WordArray, normal, student_t, uniform
from bascule.simulation.recurrent.crowds import MEANS, PRECISE, new_memory
from bascule.simulation.recurrent.crowds import tables as noise_tables
from bascule.simulation.recurrent.exponential_sum import FEW_AGES, fit
from bascule.simulation.recurrent.kernel import (
    ARM,
    BURST,
    CLOCK,
    COUNT,
    EFFECT,
    EVERY_OUTCOME,
    FIRST_CLOCK,
    MEMBER,
    PER_LOG,
    POINTS,
    SHARES,
    SUM,
    TOTAL,
    WEIGHTS,
    Crowd,
    Find,
    UnitSettings,
    build,
    build_by_clock,
    build_tables,
    by_clock,
    computed,
    join_members,
)
from bascule.simulation.runs import Runs
from bascule.simulation.worlds.world import Trend, World
from bascule.theory import mean_path

EngineName = Literal["fast", "plain"]
"""How outcomes are drawn: "fast" in sums of outcomes or of powers, "plain" one by one."""

UNSEEN = 1e-4
"""Maximum relative error of the spread of an arm's mean at the horizon: so small that only millions
of runs would reveal it."""

FINER, COARSER = 1e-3, 1e-2
"""Smallest and largest relative error that is required of the sums of powers, at any horizon."""


@dataclass(frozen=True, slots=True)
class Plain:
    """Settings for simulating units one by one: every outcome of every unit is drawn."""

    outcome: Outcome
    weight: Weight
    name: EngineName = "plain"
    crowd: Crowd = EVERY_OUTCOME

    def room(self, expected: float) -> float:
        """Return the number of units to make room for: few, since a run is cheap to play again."""
        return max(256.0, 2.0 * expected)

    def memory(self, arms: int, room: int) -> FloatArray:  # noqa: ARG002
        """Return the memory of a run: an entry for each unit."""
        return np.empty((room, 1, MEMBER))

    def table(self, room: int) -> FloatArray:
        """Return the weights of a unit by its number of outcomes."""
        table = np.empty((2, room + 1))
        tabulate = compile_loop(build_tables, self.weight)
        tabulate(table, *self.outcome.unit_spreads)
        return table

    def accuracy(self, room: int) -> float:  # noqa: ARG002
        """Return 0, because nothing is approximated."""
        return 0.0

    def find(self, radius_of: UnitRadius) -> Find:
        """Return the function that computes the radius of the rule."""
        return computed(radius_of)

    def radii(self, radius_of: UnitRadius, room: int, looks: int, level: float) -> FloatArray:  # noqa: ARG002
        """Return an empty table: every radius is computed."""
        return np.empty(0)


@dataclass(frozen=True, slots=True)
class Fast(Plain):
    """Settings for simulating units as sums of powers of their ages; all noise is normal."""

    name: EngineName = "fast"

    def __post_init__(self) -> None:
        object.__setattr__(self, "crowd", MEANS if self.even else PRECISE)

    def room(self, expected: float) -> float:
        """Return the number of units to make room for: many, since terms grow with its log only."""
        return math.inf if math.isnan(expected) else max(1024.0, 8.0 * expected)

    @property
    def even(self) -> bool:
        """Whether all units have the same weight, so that an arm's clock is its number of units."""
        return self.weight is equal_weight or self.outcome.unit_spreads[1] == 0

    def memory(self, arms: int, room: int) -> FloatArray:
        """Return the memory of a run: an entry for each arm, however many units it has."""
        return new_memory(arms, len(self._powers(room)[0]))

    def table(self, room: int) -> FloatArray:
        """Return the table of nodes and weights that the crowd uses."""
        nodes, weights, _ = self._powers(room)
        if self.even:
            return noise_tables(np.array(nodes), np.array(weights))
        of_first = self.weight(1.0, *self.outcome.unit_spreads)
        everywhere = np.ones(len(nodes))
        scale = everywhere / self._spreads[1]
        return np.array([nodes, weights, of_first * everywhere, scale])

    def accuracy(self, room: int) -> float:
        """Return the largest relative error of a unit's variance or clock up to the age `room`."""
        return self._powers(room)[2]

    def find(self, radius_of: UnitRadius) -> Find:
        """Return the function that computes a radius from units, or looks it up by the clock."""
        return computed(radius_of) if self.weight is equal_weight else by_clock

    def radii(self, radius_of: UnitRadius, room: int, looks: int, level: float) -> FloatArray:
        """Return a table of radii by the clock; it is empty if all units weigh the same."""
        if self.weight is equal_weight:
            return np.empty(0)
        spreads, radii = self.outcome.unit_spreads, np.empty(POINTS * looks)
        longest = room * self.weight(float(room), *spreads)
        last = min(POINTS - 1, math.ceil(math.log(longest / FIRST_CLOCK) * PER_LOG) + 3)
        tabulate = compile_loop(build_by_clock, radius_of)
        tabulate(radii, last, looks > 1, *spreads, level)
        return radii

    @property
    def _spreads(self) -> tuple[float, float]:
        """Standard deviations of units and of their noise, divided by that of the outcome model."""
        of_unit, of_noise = self.outcome.unit_spreads
        return of_unit / self.outcome.sigma, of_noise / self.outcome.sigma

    def _accuracy_wanted(self, room: int) -> float:
        """Return an accuracy of the powers that hardly changes the spread of a mean at the horizon.

        Take the mean of the averages of n units of all ages. To its variance the units' own means
        contribute `sigma_unit**2 / n`, and the noise `sigma_noise**2 * log(n) / n**2`. With
        precisions as weights, the variance is one over the clock.
        """
        if not self.even:
            return 2.0 * UNSEEN
        units = max(2.0, room / 2.0)
        of_unit = self.outcome.unit_spreads[0] ** 2 * units
        of_noise = self.outcome.unit_spreads[1] ** 2 * math.log(units)
        return min(COARSER, max(FINER, 2.0 * UNSEEN * (of_unit + of_noise) / of_noise))

    def _powers(self, room: int) -> tuple[tuple[float, ...], tuple[float, ...], float]:
        """Return nodes, weights and accuracy for `1 / age`, or for the growth of a unit's weight.

        At least `FEW_AGES + 1` ages are fitted: with fewer ages some weights could be negative, and
        the longer horizon needs no more terms.
        """
        of_unit, of_noise = (spread**2 for spread in self._spreads)
        if of_noise == 0:
            return (1.0,), (0.0,), 0.0
        shift = 1.0 if self.even else of_noise / of_unit if of_unit else math.inf
        if shift > 1e16:
            # The means of units hardly differ, so every outcome has the same weight.
            return (1.0,), (1.0 / of_noise,), 0.0
        ages = max(FEW_AGES + 1, room - 1)
        powers = fit(ages, self._accuracy_wanted(room), shift, differences=not self.even)
        scale = 1.0 if self.even else shift / of_unit
        return powers.nodes, tuple(scale * weight for weight in powers.weights), powers.accuracy


MORE = 4
"""Factor by which the room for units grows when a run has used it up."""


class UnitRuns(Runs):
    """Runs of units whose outcomes recur."""

    def __init__(
        self,
        design: Design,
        procedure: RecurrentProcedure,
        engine: Plain,
        world: World,
        seed: int,
        runs: int,
    ) -> None:
        super().__init__(design, world, seed, runs)
        shape = procedure.shape
        self.spreads, self.alpha, self.shape = procedure.spreads, procedure.alpha, shape
        self.log_level = math.log(shape.count / design.calibration.delta)
        self.threshold = procedure.threshold
        self.margin = design.min_effect or 0.0
        self.units_engine = engine
        self.engine = engine.name
        self.room = self._first_room(design, world.start)
        self.accuracy = engine.accuracy(self.room)
        self.loop = compile_loop(
            build,
            procedure.steps,
            procedure.within,
            engine.find(shape.radius),
            shape.together,
            shape.growth > 0,
            engine.crowd,
            arms_to_fix(self.arms, runs),
        )

    def _first_room(self, design: Design, means: tuple[float, ...]) -> int:
        gaps = rival_gaps(means)
        expected = mean_path(design, gaps).decision_time if min(gaps) > 0 else math.nan
        return int(min(self.cap, self.units_engine.room(expected)))

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Play `runs` runs from number `first_run` on; with 0 runs, only compile the loop."""
        control[WAITING] = 0
        self._play(self.room, first_run, runs, control)
        while control[ALIVE] and not control[STOP]:
            # Only the run that needs more room gets it. With more room there are other powers, and
            # units draw other numbers, but the numbers of a run must not depend on the runs before
            # it.
            row, room = int(control[WAITING]), self.room
            while control[ALIVE] and not control[STOP]:
                room = min(MORE * room, self.cap)
                self._play(room, first_run, row + 1, control)
            self._play(self.room, first_run, runs, control)

    def _radii(self, room: int) -> FloatArray:
        looks = 1
        if self.shape.growth > 0:
            looks, _ = coming_look(room, FIRST_UNITS * self.arms, self.shape.growth)
        return self.units_engine.radii(self.shape.radius, room, looks, self.log_level)

    def _play(self, room: int, first_run: int, runs: int, control: IntArray) -> None:
        self.accuracy = max(self.accuracy, self.units_engine.accuracy(room))
        chunk, columns = self.order(first_run, runs, control)
        self.loop(
            np.empty((ROWS, self.arms)),
            self.units_engine.memory(self.arms, room),
            np.empty((3, self.arms)),
            self.units_engine.table(room),
            np.empty(WORDS, np.uint64),
            np.empty(BURST),
            self.arms,
            chunk,
            UnitSettings(
                self.cap,
                room,
                self.means,
                *self.spreads,
                self.alpha,
                self.log_level,
                self.shape.growth,
                self.threshold,
                self.margin,
                self._radii(room),
                self.ziggurat,
            ),
            columns,
        )


NOISES = ("normal", "student-t")


def check_units_world(world: World, outcome: Outcome) -> None:
    """Raise `InputError` if units whose outcomes recur cannot be simulated in a world."""
    refused = {
        "change": world.change is not None,
        "batch": world.batch > 1,
        "delay": world.delay is not None,
        "correlation": world.correlation != 0,
        "noise": world.noise is not None and world.noise.kind not in NOISES,
    }
    for name, option in refused.items():
        if option:
            raise invalid(
                f"{name} does not go with {outcome!r}: worlds of recurring outcomes have a trend, "
                "arrivals, missing outcomes, and Normal or StudentT noise",
            )


def crowd_in(world: World, outcome: Outcome) -> Crowd:
    """Return the crowd that draws units in a world; `EVERY_OUTCOME` if the world is steady."""
    if world.plain_for(outcome):
        return EVERY_OUTCOME
    numbers = world.noise.numbers if world.noise is not None else {}
    return _crowd(
        world.trend,
        world.arrivals,
        world.missing,
        numbers.get("spread", 0.0),
        numbers.get("df", 0.0),
    )


def drift(wave: bool, size: float, span: float, stage: float) -> float:
    """Return the amount that a trend adds at a stage."""
    if wave:
        return size * math.sin(2.0 * math.pi * stage / span)
    return size * math.exp(-stage / span)


@lru_cache(maxsize=32)
def _crowd(
    trend: Trend | None, arrivals: Trend | None, missing: float, spread: float, df: float
) -> Crowd:
    """Return the crowd that draws units in a world with these parts.

    If `spread` is 0, the spread of the design is used; if `df` is 0, noise is normal.
    """
    moved, moved_wave, moved_size, moved_span = _numbers(trend)
    joined, joined_wave, joined_size, joined_span = _numbers(arrivals)

    def join(memory: FloatArray, unit: int, arm: int, stage: int, effect: float) -> None:
        if joined:
            effect += drift(joined_wave, joined_size, joined_span, float(stage))
        join_members(memory, unit, arm, stage, effect)

    def advance(
        memory: FloatArray,
        arms: int,
        table: FloatArray,
        units: int,
        stage: int,
        sigma_noise: float,
        streams: WordArray,
        scratch: FloatArray,
        ziggurat: FloatArray,
        tallies: FloatArray,
    ) -> None:
        for arm in range(arms):
            tallies[CLOCK, arm] = 0.0
            tallies[SUM, arm] = 0.0
        common = drift(moved_wave, moved_size, moved_span, float(stage)) if moved else 0.0
        sigma = spread if spread > 0.0 else sigma_noise
        for unit in range(units):
            came = memory[unit, 0, COUNT] == 0.0 or missing == 0.0 or uniform(streams, 0) >= missing
            if came:
                number = student_t(streams, df) if df > 0.0 else normal(streams, scratch, ziggurat)
                memory[unit, 0, TOTAL] += memory[unit, 0, EFFECT] + common + sigma * number
                memory[unit, 0, COUNT] += 1.0
            count = int(memory[unit, 0, COUNT])
            arm = int(memory[unit, 0, ARM])
            tallies[CLOCK, arm] += table[WEIGHTS, count]
            tallies[SUM, arm] += table[SHARES, count] * memory[unit, 0, TOTAL]

    return EVERY_OUTCOME._replace(join=join, advance=advance)


def _numbers(trend: Trend | None) -> tuple[bool, bool, float, float]:
    if trend is None:
        return False, False, 0.0, 1.0
    return True, trend.kind == "wave", trend.size, trend.span
