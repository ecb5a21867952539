"""Loops that simulate the variant rules, for bounded outcomes and for recurring outcomes.

The loop for recurring outcomes draws every outcome of every unit, so that a stage takes longer the
more units there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.evidence.looks import following_look, look_part
from bascule.core.evidence.normal import mixture_boundary
from bascule.core.evidence.radius import FIRST_UNITS, bernstein_radius, most_squares
from bascule.core.types import NOBODY, FloatArray, IntArray
from bascule.research.variants.rules import BERNSTEIN, BOUNDED_UNITS, TOTAL, VariantProcedure
from bascule.simulation.engines.choose import Order
from bascule.simulation.kernels.compiled import (
    STOP,
    Chunk,
    Kernel,
    RunColumns,
    compile_loop,
    finish_run,
)
from bascule.simulation.kernels.worlds.unit import NoiseSource, mean_and_gap, outcome_of, source_of
from bascule.simulation.random import beta, normal, seed_stream, uniform
from bascule.simulation.runs import Runs, WorldRuns
from bascule.simulation.worlds.world import World

MOST_UNITS = 20_000
"""Default cap on the units of a run with recurring outcomes, which then ends undecided."""

SUM_COLUMNS = 3
UNITS, FIRST, SECOND = range(SUM_COLUMNS)
"""Columns of an arm's sums: the number of units, the sum of outcomes (or of units' averages), and
the sum of their squares. For `UnitMeans` they have the sum of weights, the weighted sum of units'
averages, and the variance of that sum."""

MEMBER_COLUMNS = 4
ARM, ARRIVAL, OWN, SO_FAR = range(MEMBER_COLUMNS)
"""Columns of a unit: its arm, its stage of arrival, its own mean, and its sum of outcomes."""


class VariantSettings(NamedTuple):
    """The parameters of a rule: estimator, alpha, growth of looks, how alike units are, limits,
    spreads between units and within them, the level of an arm, and the cap on units.
    """

    estimator: int
    alpha: float
    growth: float
    alike: float
    low: float
    high: float
    sigma_unit: float
    sigma_noise: float
    level: float
    max_units: int


def next_arm(means: FloatArray, radii: FloatArray, alpha: float) -> int:
    """Return the arm with the highest index; the first arm without an interval, if there is one."""
    best = 0
    for arm in range(means.size):
        if math.isinf(radii[arm]):
            return arm
        index = means[arm] + alpha * radii[arm]
        # With an infinite alpha, only the radii are compared.
        if math.isinf(alpha):
            better = radii[arm] > radii[best]
        else:
            better = index > means[best] + alpha * radii[best]
        if better:
            best = arm
    return best


def parted(means: FloatArray, radii: FloatArray) -> int:
    """Return the arm whose interval lies above every other, or `NOBODY`."""
    best = int(means.argmax())
    for arm in range(means.size):
        if arm != best and not means[best] - radii[best] > means[arm] + radii[arm]:
            return NOBODY
    return best


class Room(NamedTuple):
    """Arrays of a loop for one run: units, sums and intervals of arms, and the next look."""

    members: FloatArray
    sums: FloatArray
    means: FloatArray
    radii: FloatArray
    assigned: FloatArray
    looks: FloatArray


LOOK, NUMBER = range(2)
"""Positions in `looks`: the number of units at which the next look is, and that look's number."""


Step = Callable[[Room, int, float, int, NoiseSource, VariantSettings], int]
"""(room, arm, mean, units with this one, source, settings) -> the winner, or `NOBODY`."""


def outcome_step(
    room: Room, arm: int, mean: float, units: int, source: NoiseSource, settings: VariantSettings
) -> int:
    """Draw the only outcome of a new unit; return the winner, or `NOBODY`."""
    _, sums, means, radii, _, _ = room
    low, high = settings.low, settings.high
    value = outcome_of(source, arm, mean)
    sums[arm, UNITS] += 1.0
    sums[arm, FIRST] += value
    sums[arm, SECOND] += value * value
    n, total, squares = sums[arm, UNITS], sums[arm, FIRST], sums[arm, SECOND]
    spread = most_squares(n, total, squares, low, high)
    means[arm] = total / n
    radii[arm] = bernstein_radius(n, spread, low, high, settings.level)
    return parted(means, radii)


def stage_step(
    room: Room, arm: int, mean: float, units: int, source: NoiseSource, settings: VariantSettings
) -> int:
    """Add a unit, draw an outcome of every unit, and return the winner at a look, or `NOBODY`."""
    members, sums, means, radii, assigned, looks = room
    streams, cell, _, _, _, _, ziggurat = source
    estimator, _, growth, alike, low, high, s_unit, s_noise, level, _ = settings
    own = mean
    if estimator == BOUNDED_UNITS:
        own = beta(streams, (mean - low) / (high - low), alike, cell, ziggurat)
    else:
        own += s_unit * normal(streams, cell, ziggurat)
    joined = units - 1
    members[joined, ARM], members[joined, ARRIVAL] = arm, joined
    members[joined, OWN], members[joined, SO_FAR] = own, 0.0
    if units > looks[LOOK]:
        looks[LOOK] = following_look(int(looks[LOOK]), growth)
        looks[NUMBER] += 1.0
    sums[:] = 0.0
    for unit in range(units):
        own = members[unit, OWN]
        if estimator == BOUNDED_UNITS:
            value = high if uniform(streams, 0) < own else low
        else:
            value = own + s_noise * normal(streams, cell, ziggurat)
        members[unit, SO_FAR] += value
        its_arm = int(members[unit, ARM])
        age = units - members[unit, ARRIVAL]
        average = members[unit, SO_FAR] / age
        # Weights are relative to the next planned look, whose stage does not depend on outcomes.
        weight = age / looks[LOOK] if estimator == TOTAL else 1.0
        square = average * average
        if estimator != BOUNDED_UNITS:
            square = weight * weight * (s_unit * s_unit + s_noise * s_noise / age)
        sums[its_arm, UNITS] += weight
        sums[its_arm, FIRST] += weight * average
        sums[its_arm, SECOND] += square
    part = level * look_part(int(looks[NUMBER]))
    for other in range(means.size):
        if assigned[other] >= FIRST_UNITS:
            n, total, squares = sums[other, UNITS], sums[other, FIRST], sums[other, SECOND]
            means[other] = total / n
            if estimator == BOUNDED_UNITS:
                spread = most_squares(n, total, squares, low, high)
                radii[other] = bernstein_radius(n, spread, low, high, part)
            else:
                radii[other] = mixture_boundary(squares, -math.log(part)) / n
    return parted(means, radii) if units == looks[LOOK] else NOBODY


def build(step: Step, fingerprint: str) -> Kernel:
    """Return the loop that simulates runs with the step function of one kind of outcomes."""

    def play(
        room: Room,
        chunk: Chunk,
        source: NoiseSource,
        settings: VariantSettings,
        columns: RunColumns,
        regrets: FloatArray,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        (seed, first_run, runs), control = chunk, columns.control
        streams, _, world, truth, _, _, _ = source
        for row in range(runs):
            seed_stream(streams, 0, seed, np.uint64(first_run + row))
            room.sums[:] = 0.0
            room.means[:] = 0.0
            room.radii[:] = math.inf
            room.assigned[:] = 0.0
            room.looks[LOOK], room.looks[NUMBER] = FIRST_UNITS * room.means.size, 1.0
            units, winner, regret = 0, NOBODY, 0.0
            while winner == NOBODY and units < settings.max_units and control[STOP] == 0:
                arm = next_arm(room.means, room.radii, settings.alpha)
                mean, gap = mean_and_gap(world, truth, arm, units)
                regret += gap
                room.assigned[arm] += 1.0
                units += 1
                winner = step(room, arm, mean, units, source, settings)
            if control[STOP] != 0:
                break
            regrets[row] = regret
            finish_run(room.assigned, row, units, winner, columns)

    return play


class VariantRuns(WorldRuns):
    """Simulated runs of a variant rule."""

    def __init__(
        self, design: Design, procedure: VariantProcedure, world: World, seed: int, runs: int
    ) -> None:
        super().__init__(design, world, seed, runs)
        outcome, estimator = design.outcome, procedure.estimator
        recurs = estimator != BERNSTEIN
        spreads = outcome.unit_spreads if outcome.recurring else (0.0, 0.0)
        cap = design.max_units or MOST_UNITS if recurs else self.cap
        limits = (outcome.low, outcome.high) if outcome.limited else (0.0, 1.0)
        self.settings = VariantSettings(
            estimator,
            float(procedure.alpha),
            procedure.growth,
            procedure.alike,
            *limits,
            *spreads,
            design.calibration.delta,
            cap,
        )

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        """Simulate some of the runs; if `runs` is 0, only compile."""
        chunk, columns = self.order(first_run, runs, control)
        recurs = self.settings.estimator != BERNSTEIN
        room = Room(
            np.empty((self.settings.max_units if recurs else 0, MEMBER_COLUMNS)),
            np.empty((self.arms, SUM_COLUMNS)),
            means=np.empty(self.arms),
            radii=np.empty(self.arms),
            assigned=np.empty(self.arms),
            looks=np.empty(2),
        )
        compile_loop(build, stage_step if recurs else outcome_step)(
            room,
            chunk,
            source_of(self.world),
            self.settings,
            columns,
            self.regrets_of(first_run, runs),
        )


def play_variant(procedure: VariantProcedure, order: Order) -> Runs:
    """Return the runs of a variant rule, ready to be simulated."""
    order.refuse_engine()
    world = order.world
    recurs = procedure.estimator != BERNSTEIN
    moved = recurs and not world.plain_for(order.design.outcome)
    if moved or world.delay is not None or world.batch > 1 or world.missing > 0:
        raise InputError(
            "world",
            f"{procedure.label} is simulated where outcomes come at once"
            f"{', in a steady world' if recurs else ''}, not with {world.words}: give "
            "means alone",
        )
    return VariantRuns(order.design, procedure, order.written_out, order.seed, order.runs)
