"""The two ways to play units: draw every outcome, or keep sums of powers of their ages."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol

import numpy as np

from bascule.core.outcomes import Outcome
from bascule.core.procedures.recurrent.estimators import Weight, equal_weight
from bascule.core.procedures.recurrent.shapes import UnitRadius
from bascule.core.types import FloatArray
from bascule.simulation.kernels.compiled import compile_loop
from bascule.simulation.kernels.control import Kernel
from bascule.simulation.recurrent.crowds import MEANS, PRECISE, means_width, precise_width
from bascule.simulation.recurrent.exponential_sum import FEW_AGES, fit
from bascule.simulation.recurrent.kernel import CALLED, EVERY_OUTCOME, MEMBER, Crowd, build_tables
from bascule.simulation.recurrent.noise import tables as noise_tables
from bascule.simulation.recurrent.radii import (
    FIRST_CLOCK,
    PER_LOG,
    POINTS,
    Find,
    build_by_clock,
    build_by_units,
    by_clock,
    by_units,
    computed,
)

EngineName = Literal["fast", "plain"]
"""How units are played: by sums of powers, or outcome by outcome."""

UNSEEN = 1e-4
"""How far, relative to itself, the spread of an arm's mean may be off at the horizon: so little
that runs by the million would be needed to notice."""

FINER, COARSER = 1e-3, 1e-2
"""The accuracy of the sums of powers, at least and at most, whatever the horizon."""

MOST_RADII = 1 << 20
"""Radii in a table by the number of units; later ones are computed."""

Tables = tuple[FloatArray, FloatArray]
"""The table and the shares that a crowd is given."""


class Engine(Protocol):
    """What a run needs to know of the way in which its units are played."""

    @property
    def name(self) -> EngineName:
        """How it is called."""

    @property
    def crowd(self) -> Crowd:
        """The functions that the loop calls."""

    def room(self, expected: float) -> float:
        """For how many units to make room, by how many are expected (nan if that is unknown)."""

    def memory(self, arms: int, room: int) -> int:
        """Numbers that the units of a run take."""

    def tables(self, room: int) -> Tables:
        """What the crowd is given, for runs of up to `room` units."""

    def accuracy(self, room: int) -> float:
        """The largest relative error of the weight of any outcome; 0 if there is none."""

    def find(self, radius_of: UnitRadius) -> Find:
        """How the loop finds a radius."""

    def radii(self, radius_of: UnitRadius, room: int, looks: int, level: float) -> FloatArray:
        """The radii that it finds them in, by the units and looks of a run."""


@lru_cache(maxsize=4)
def weight_tables(weight: Weight) -> Kernel:
    """The loop that tabulates the weights of an estimator."""
    return compile_loop(lambda fingerprint: build_tables(weight, fingerprint), CALLED)


@lru_cache(maxsize=4)
def radii_by_units(radius_of: UnitRadius) -> Kernel:
    """The loop that tabulates a radius by the number of units."""
    return compile_loop(lambda fingerprint: build_by_units(radius_of, fingerprint), CALLED)


@lru_cache(maxsize=4)
def radii_by_clock(radius_of: UnitRadius) -> Kernel:
    """The loop that tabulates a radius by the clock."""
    return compile_loop(lambda fingerprint: build_by_clock(radius_of, fingerprint), CALLED)


@dataclass(frozen=True, slots=True)
class Plain:
    """Every outcome of every unit is drawn: the reference."""

    outcome: Outcome
    weight: Weight
    name: EngineName = "plain"
    crowd: Crowd = EVERY_OUTCOME

    def room(self, expected: float) -> float:
        """Little, since a run that needs more costs little up to there."""
        return max(256.0, 2.0 * expected)

    def memory(self, arms: int, room: int) -> int:  # noqa: ARG002
        """Return how many numbers a run takes: some for each unit."""
        return MEMBER * room

    def tables(self, room: int) -> Tables:
        """The weights of a unit by its number of outcomes."""
        tables = np.empty(room + 1), np.empty(room + 1)
        spreads = self.outcome.unit_spreads
        weight_tables(self.weight)(*tables, *spreads)
        return tables

    def accuracy(self, room: int) -> float:  # noqa: ARG002
        """Nothing is approximated."""
        return 0.0

    def find(self, radius_of: UnitRadius) -> Find:
        """As the rule has it."""
        return computed(radius_of)

    def radii(self, radius_of: UnitRadius, room: int, looks: int, level: float) -> FloatArray:  # noqa: ARG002
        """None are kept."""
        return np.empty(0)


@dataclass(frozen=True, slots=True)
class Fast:
    """Units as sums of powers of their ages; noise and units are normal."""

    outcome: Outcome
    weight: Weight
    name: EngineName = "fast"

    def room(self, expected: float) -> float:
        """Ample, since four times the room takes two more terms."""
        return math.inf if math.isnan(expected) else max(1024.0, 8.0 * expected)

    @property
    def even(self) -> bool:
        """Whether all units count the same, and the clock is their number."""
        return self.weight is equal_weight or self.outcome.unit_spreads[1] == 0

    @property
    def crowd(self) -> Crowd:
        """The sums that the weights ask for."""
        return MEANS if self.even else PRECISE

    def memory(self, arms: int, room: int) -> int:
        """Return how many numbers a run takes: some for each arm, whatever its units."""
        width: Callable[[int, int], int] = means_width if self.even else precise_width
        return width(arms, len(self._powers(room)[0]))

    def tables(self, room: int) -> Tables:
        """What `noise` needs of the powers; with precisions as weights, what `PRECISE` does."""
        nodes, weights, _ = self._powers(room)
        if self.even:
            return noise_tables(np.array(nodes), np.array(weights))
        of_first = self.weight(1.0, *self.outcome.unit_spreads)
        return np.array(nodes), np.array([*weights, of_first, 1.0 / self._spreads[1]])

    def accuracy(self, room: int) -> float:
        """The largest relative error of a unit's variance, or clock, up to an age of `room`."""
        return self._powers(room)[2]

    def find(self, radius_of: UnitRadius) -> Find:
        """In a table."""
        return by_units(radius_of) if self.weight is equal_weight else by_clock

    def radii(self, radius_of: UnitRadius, room: int, looks: int, level: float) -> FloatArray:
        """By the number of units, or by the clock."""
        spreads = self.outcome.unit_spreads
        if self.weight is equal_weight:
            radii = np.empty(min(room, MOST_RADII) + 1)
            radii_by_units(radius_of)(radii, *spreads, level)
            return radii
        radii = np.empty(POINTS * looks)
        longest = room * self.weight(float(room), *spreads)
        last = min(POINTS - 1, math.ceil(math.log(longest / FIRST_CLOCK) * PER_LOG) + 3)
        radii_by_clock(radius_of)(radii, last, looks > 1, *spreads, level)
        return radii

    @property
    def _spreads(self) -> tuple[float, float]:
        """Standard deviations of the units and of their noise, over the larger one."""
        of_unit, of_noise = self.outcome.unit_spreads
        return of_unit / self.outcome.sigma, of_noise / self.outcome.sigma

    def _accuracy_wanted(self, room: int) -> float:
        """An error that hardly moves the spread of a mean at the horizon.

        With n units of all ages the units' own means have the variance `sigma_unit**2 / n` in the
        mean of their means, and the noise `sigma_noise**2 * log(n) / n**2`. With precisions as
        weights the variance is one over the clock.
        """
        if not self.even:
            return 2.0 * UNSEEN
        units = max(2.0, room / 2.0)
        of_unit = self.outcome.unit_spreads[0] ** 2 * units
        of_noise = self.outcome.unit_spreads[1] ** 2 * math.log(units)
        return min(COARSER, max(FINER, 2.0 * UNSEEN * (of_unit + of_noise) / of_noise))

    def _powers(self, room: int) -> tuple[tuple[float, ...], tuple[float, ...], float]:
        """Nodes, weights and accuracy for `1 / age`, or for what a unit's weight gains, from age 2.

        With few ages the weights need not be positive: a longer horizon costs no more terms.
        """
        of_unit, of_noise = (spread**2 for spread in self._spreads)
        if of_noise == 0:
            return (1.0,), (0.0,), 0.0
        shift = 1.0 if self.even else of_noise / of_unit if of_unit else math.inf
        if shift > 1e16:
            # So little does a unit's own mean matter that every outcome counts the same.
            return (1.0,), (1.0 / of_noise,), 0.0
        ages = max(FEW_AGES + 1, room - 1)
        powers = fit(ages, self._accuracy_wanted(room), shift, differences=not self.even)
        scale = 1.0 if self.even else shift / of_unit
        return powers.nodes, tuple(scale * weight for weight in powers.weights), powers.accuracy
