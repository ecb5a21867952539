"""The loops of the rules for simulation: outcomes within limits, and units drawn one by one.

A loop for units draws every outcome of every unit, so that a stage costs as much as there are
units.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.evidence.looks import following_look, look_part
from bascule.core.evidence.normal import mixture_boundary
from bascule.core.evidence.radius import FIRST_UNITS, bernstein_radius, most_squares
from bascule.core.types import NOBODY, FloatArray, IntArray
from bascule.research.variants.rules import BERNSTEIN, BOUNDED_UNITS, MEANS, VariantProcedure
from bascule.simulation.engines.choose import Order
from bascule.simulation.kernels.compiled import (
    STOP,
    Chunk,
    Kernel,
    RunColumns,
    compile_loop,
    finish_run,
)
from bascule.simulation.kernels.worlds.unit import Source, mean_and_gap, outcome_of, source_of
from bascule.simulation.random import beta, normal, seed_stream, uniform
from bascule.simulation.runs import Runs, WorldRuns
from bascule.simulation.worlds.world import World

MOST_UNITS = 20_000
"""Units after which a run of units ends, undecided, unless a design has another cap."""

SUM_COLUMNS = 3
UNITS, FIRST, SECOND = range(SUM_COLUMNS)
"""What is kept of an arm. Its units; then the sum of outcomes, or of units' averages, and that of
their squares; with one of two means the weighted sum and its variance."""

MEMBER_COLUMNS = 4
ARM, ARRIVAL, OWN, SO_FAR = range(MEMBER_COLUMNS)
"""What is kept of a unit: its arm, the stage it came at, its own mean, and its sum of outcomes."""


class VariantSettings(NamedTuple):
    """The numbers of a rule: estimator, alpha, growth of looks, how alike units are, limits,
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
    """Return the arm with the highest index; the first of those without an interval."""
    best = 0
    for arm in range(means.size):
        if math.isinf(radii[arm]):
            return arm
        index = means[arm] + alpha * radii[arm]
        # At infinity alpha compares radii alone.
        if math.isinf(alpha):
            better = radii[arm] > radii[best]
        else:
            better = index > means[best] + alpha * radii[best]
        if better:
            best = arm
    return best


def parted(means: FloatArray, radii: FloatArray) -> int:
    """Return the arm whose interval lies above every other, or `NOBODY`."""
    best = 0
    for arm in range(means.size):
        if means[arm] > means[best]:
            best = arm
    for arm in range(means.size):
        if arm != best and not means[best] - radii[best] > means[arm] + radii[arm]:
            return NOBODY
    return best


def build_outcomes(fingerprint: str) -> Kernel:
    """Return the loop for units that give one outcome each."""

    def play(
        sums: FloatArray,
        means: FloatArray,
        radii: FloatArray,
        assigned: FloatArray,
        chunk: Chunk,
        source: Source,
        settings: VariantSettings,
        columns: RunColumns,
        regrets: FloatArray,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        (seed, first_run, runs), control = chunk, columns.control
        streams, _, world, truth, _, _, _ = source
        _, alpha, _, _, low, high, _, _, level, max_units = settings
        for row in range(runs):
            seed_stream(streams, 0, seed, np.uint64(first_run + row))
            sums[:] = 0.0
            means[:] = 0.0
            radii[:] = math.inf
            assigned[:] = 0.0
            units, winner, regret = 0, NOBODY, 0.0
            while winner == NOBODY and units < max_units and control[STOP] == 0:
                arm = next_arm(means, radii, alpha)
                mean, gap = mean_and_gap(world, truth, arm, units)
                value = outcome_of(source, arm, mean)
                sums[arm, UNITS] += 1.0
                sums[arm, FIRST] += value
                sums[arm, SECOND] += value * value
                n, total, squares = sums[arm, UNITS], sums[arm, FIRST], sums[arm, SECOND]
                spread = most_squares(n, total, squares, low, high)
                means[arm] = total / n
                radii[arm] = bernstein_radius(n, spread, low, high, level)
                regret += gap
                assigned[arm] += 1.0
                units += 1
                winner = parted(means, radii)
            if control[STOP] != 0:
                break
            regrets[row] = regret
            finish_run(assigned, row, units, winner, columns)

    return play


def build_units(fingerprint: str) -> Kernel:
    """Return the loop for units that give an outcome at every stage; one unit joins at each."""

    def play(
        members: FloatArray,
        sums: FloatArray,
        means: FloatArray,
        radii: FloatArray,
        assigned: FloatArray,
        chunk: Chunk,
        source: Source,
        settings: VariantSettings,
        columns: RunColumns,
        regrets: FloatArray,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        (seed, first_run, runs), control = chunk, columns.control
        streams, cell, world, truth, _, _, ziggurat = source
        estimator, alpha, growth, alike, low, high, s_unit, s_noise, level, max_units = settings
        arms, width = means.size, high - low
        for row in range(runs):
            seed_stream(streams, 0, seed, np.uint64(first_run + row))
            means[:] = 0.0
            radii[:] = math.inf
            assigned[:] = 0.0
            units, winner, regret = 0, NOBODY, 0.0
            look, number = FIRST_UNITS * arms, 1
            while winner == NOBODY and units < max_units and control[STOP] == 0:
                arm = next_arm(means, radii, alpha)
                mean, gap = mean_and_gap(world, truth, arm, units)
                regret += gap
                own = mean
                if estimator == BOUNDED_UNITS:
                    share = (mean - low) / width
                    own = beta(streams, share, alike, cell, ziggurat)
                else:
                    own += s_unit * normal(streams, cell, ziggurat)
                members[units, ARM], members[units, ARRIVAL] = arm, units
                members[units, OWN], members[units, SO_FAR] = own, 0.0
                assigned[arm] += 1.0
                units += 1
                if units > look:
                    look = following_look(look, growth)
                    number += 1
                sums[:] = 0.0
                for unit in range(units):
                    own = members[unit, OWN]
                    if estimator == BOUNDED_UNITS:
                        value = high if uniform(streams, 0) < own else low
                    else:
                        value = own + s_noise * normal(streams, cell, ziggurat)
                    members[unit, SO_FAR] += value
                    joined = int(members[unit, ARM])
                    age = units - members[unit, ARRIVAL]
                    average = members[unit, SO_FAR] / age
                    if estimator == BOUNDED_UNITS:
                        sums[joined, UNITS] += 1.0
                        sums[joined, FIRST] += average
                        sums[joined, SECOND] += average * average
                    else:
                        # Weights are relative to the stage of the look, which is planned.
                        weight = 1.0 if estimator == MEANS else age / look
                        sums[joined, UNITS] += weight
                        sums[joined, FIRST] += weight * average
                        variance = s_unit * s_unit + s_noise * s_noise / age
                        sums[joined, SECOND] += weight * weight * variance
                part = level * look_part(number)
                for other in range(arms):
                    total, squares = sums[other, FIRST], sums[other, SECOND]
                    if assigned[other] < FIRST_UNITS:
                        continue
                    n = sums[other, UNITS]
                    means[other] = total / n
                    if estimator == BOUNDED_UNITS:
                        spread = most_squares(n, total, squares, low, high)
                        radii[other] = bernstein_radius(n, spread, low, high, part)
                    else:
                        radii[other] = mixture_boundary(squares, -math.log(part)) / n
                if units == look:
                    winner = parted(means, radii)
            if control[STOP] != 0:
                break
            regrets[row] = regret
            finish_run(assigned, row, units, winner, columns)

    return play


class VariantRuns(WorldRuns):
    """Runs of a rule for simulation."""

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
        """Play some of the runs; with none, only compile."""
        chunk, columns = self.order(first_run, runs, control)
        recurs = self.settings.estimator != BERNSTEIN
        members = (np.empty((self.settings.max_units, MEMBER_COLUMNS)),) if recurs else ()
        room = np.empty((self.arms, SUM_COLUMNS)), *(np.empty(self.arms) for _ in range(3))
        compile_loop(build_units if recurs else build_outcomes)(
            *members,
            *room,
            chunk,
            source_of(self.world),
            self.settings,
            columns,
            self.regrets_of(first_run, runs),
        )


def play_variant(procedure: VariantProcedure, order: Order) -> Runs:
    """Return the runs of a rule for simulation, ready to be played."""
    order.refuse_engine()
    world = order.world
    recurs = procedure.estimator != BERNSTEIN
    moved = recurs and not world.plain_for(order.design.outcome)
    if moved or world.delay is not None or world.batch > 1 or world.missing > 0:
        raise InputError(
            "world",
            f"{procedure.label} is simulated where outcomes come at once"
            f"{', in a steady world' if recurs else ''}, not with {world.words}",
        )
    return VariantRuns(order.design, procedure, order.written_out, order.seed, order.runs)
