"""Paths of a test in blocks: what they are, where they end, and the noise that they follow.

The random numbers are always the same, so a prediction is a smooth function of the design.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bascule.core.evidence.horizon import conditional_power
from bascule.core.numerics import turning_point
from bascule.core.types import FloatArray
from bascule.theory.prediction.course import POINTS
from bascule.theory.prediction.passage import Line

FEWEST_STEPS = 256
"""Steps whose noise is drawn together, at the least."""

CELLS, MOST_PATHS, FEWEST_PATHS = 10_000, 1000, 150
"""Paths times pairs of arms that are followed at once, and how many paths there are."""

GROWTH = 0.1
"""By which part of itself a test grows in one step, once it is long."""

GROWTH_TO_END = 0.03
"""As `GROWTH`, for a test with a horizon: many decisions fall into its last steps, and the time by
which most tests are decided is a time within one of these."""

EARLY = 0.05
"""The part of the way to a horizon in which hardly any test is decided, so that steps are long."""

LONGEST = 1e16
"""Blocks after which a path that is still open is left alone."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a test ends without a decision: at a clock of some pair, at units, or when futile.

    `effect` is the planned one, in standard deviations of an outcome, and `futility` the
    conditional power at it below which a test ends.
    """

    clock: float = math.inf
    units: float = math.inf
    effect: float = 0.0
    futility: float = 0.0

    @property
    def none(self) -> bool:
        """Whether nothing but a decision ends a test."""
        return math.isinf(self.clock) and math.isinf(self.units)


@dataclass(frozen=True, slots=True)
class Paths:
    """Units of every arm, best first, at the end of each path, and the arm that won; -1 for none.

    Without limits only paths that found the best arm are there.
    """

    units: FloatArray
    winners: NDArray[np.int64]

    @property
    def course(self) -> tuple[tuple[float, float], ...]:
        """Pairs of a number of units and the probability of a decision by then."""
        times = self.units.sum(axis=1)[self.winners >= 0]
        if not len(times):
            return ((0.0, 0.0),)
        # Paths of an even split end together, at the end of a step.
        at, counts = np.unique(times, return_counts=True)
        so_far = np.append(np.cumsum(counts) - counts / 2, len(times)) / len(self.units)
        kept = np.unique(np.linspace(0, len(at), POINTS).astype(np.int64))
        return tuple(zip(np.append(at, at[-1])[kept].tolist(), so_far[kept].tolist(), strict=True))

    @property
    def open_until(self) -> float:
        """The units at which a test that is still undecided ends; infinite if there is none."""
        still = self.units.sum(axis=1)[self.winners < 0]
        return float(still.mean()) if len(still) else math.inf

    @property
    def wrong(self) -> float:
        """The share of paths that another arm than the best has won."""
        return float(np.mean(self.winners > 0))


NO_LIMITS = Limits()


def paths_of(arms: int) -> int:
    """Return how many paths are followed.

    >>> paths_of(2), paths_of(10)
    (1000, 150)
    """
    return 2 * (min(MOST_PATHS, max(FEWEST_PATHS, CELLS // arms**2)) // 2)


def growth_of(latest: float, limits: Limits, stride: float) -> float:
    """Return the relative growth of a test in one step, when the latest clock is `latest`.

    Steps are `stride` times as long as usual.

    >>> growth_of(10.0, NO_LIMITS, 1.0), growth_of(10.0, Limits(clock=100.0), 2.0)
    (0.1, 0.06)
    """
    return stride * (GROWTH if latest < EARLY * limits.clock else GROWTH_TO_END)


def noise_at(step: int, count: int, arms: int) -> FloatArray:
    """Return the noise of one step: a row for each arm, a column for each path.

    It is the same in every prediction, so it is drawn once for many steps.

    >>> noise_at(0, 1000, 2).shape, bool(noise_at(70, 4, 3)[2, 0] == -noise_at(70, 4, 3)[2, 2])
    ((2, 1000), True)
    """
    noise: FloatArray = _noise(count, arms, max(FEWEST_STEPS, 2 ** step.bit_length()))[step]
    return noise


@lru_cache(maxsize=4)
def _noise(count: int, arms: int, steps: int) -> FloatArray:
    half = np.random.default_rng(1).standard_normal((steps, count // 2, arms)).transpose(0, 2, 1)
    return np.concatenate([half, -half], axis=2)


def tabulated(line: Line) -> Line:
    """Return a boundary that is computed at some clocks and interpolated between them."""
    first, last, parts = math.log(0.05), math.log(1e13), 199
    known = line(np.exp(np.linspace(first, last, parts + 1)))
    with np.errstate(invalid="ignore"):
        rises = np.diff(known)
    # A clock beside one at which nothing can be decided has no boundary either.
    rises[~np.isfinite(rises)] = 0.0

    def at(clocks: FloatArray) -> FloatArray:
        places = (np.log(np.maximum(clocks, 1e-12)) - first) * (parts / (last - first))
        left = np.clip(places, 0.0, parts - 1.0).astype(np.int64)
        values = known.take(left) + rises.take(left) * np.minimum(places - left, 1.0)
        values[places < 0.0] = math.inf
        return np.asarray(values)

    return at


@lru_cache(maxsize=16)
def futile_rooms(whole: float, futility: float) -> tuple[FloatArray, FloatArray]:
    """Return how far the boundary may be when so much is left, in units of the planned effect.

    >>> lefts, rooms = futile_rooms(10.5, 0.2)
    >>> bool(rooms[0] == 0.0), round(float(rooms[-1]), 1)
    (True, 13.6)
    """
    lefts = np.linspace(0.0, whole, 60)
    rooms = [
        turning_point(lambda room, left=left: conditional_power(room, left) >= futility, 0.0, 1e3)  # type: ignore[misc]
        for left in lefts[1:].tolist()
    ]
    return lefts, np.array([0.0, *rooms])
