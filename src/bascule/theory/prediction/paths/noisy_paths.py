"""Paths of tests with their noise, which is drawn once, and where they end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bascule.core.procedures.intervals.state import FloatArray
from bascule.theory.prediction.course import POINTS

FEWEST_STEPS = 64
"""Steps whose noise is drawn together, at the least."""

CELLS, MOST_PATHS, FEWEST_PATHS = 10_000, 1000, 150
"""Paths times pairs of arms that are followed at once, and how many paths there are."""

Line = Callable[[FloatArray], FloatArray]
"""(clocks) -> the totals at which a pair is decided."""


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


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of a number of arms, each once: the arm `one` against the `other`.

    `rivals` are those of each arm, and `place` is where its pair with each of them is.
    """

    one: NDArray[np.int64]
    other: NDArray[np.int64]
    rivals: NDArray[np.int64]
    place: NDArray[np.int64]

    @classmethod
    def of(cls, arms: int) -> Pairs:
        """Return the pairs.

        >>> Pairs.of(3).rivals.tolist(), Pairs.of(3).place.tolist()
        ([[1, 2], [0, 2], [0, 1]], [[0, 1], [0, 2], [1, 2]])
        """
        one, other = np.triu_indices(arms, 1)
        rivals = [[rival for rival in range(arms) if rival != arm] for arm in range(arms)]
        numbers = np.zeros((arms, arms), np.int64)
        numbers[one, other] = numbers[other, one] = np.arange(len(one))
        return cls(one, other, np.array(rivals), np.take_along_axis(numbers, np.array(rivals), 1))

    def by_arm(self, forth: NDArray[Any], back: NDArray[Any]) -> NDArray[Any]:
        """Return, for each arm, rival and path, what holds for that arm against that rival.

        `forth` says for each pair and path what holds for one against the other; `back`, for the
        other against the one.
        """
        is_one = np.arange(len(self.place))[:, None] < self.rivals
        return np.where(
            is_one[:, :, None], forth.take(self.place, axis=0), back.take(self.place, axis=0)
        )


NO_LIMITS = Limits()


def paths_of(arms: int) -> int:
    """Return how many paths are followed.

    >>> paths_of(2), paths_of(10)
    (1000, 150)
    """
    return 2 * (min(MOST_PATHS, max(FEWEST_PATHS, CELLS // arms**2)) // 2)


def mirrored(rng: np.random.Generator, count: int, *shape: int) -> FloatArray:
    """Return normals for a number of paths, the second half of which mirrors the first."""
    half = rng.standard_normal((count // 2, *shape))
    return np.concatenate([half, -half])


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


def tabulated(line: Callable[[float], float]) -> Line:
    """Return a boundary that is computed at some clocks and interpolated between them."""
    first, last, parts = math.log(0.05), math.log(1e13), 199
    known = np.array([line(math.exp(log)) for log in np.linspace(first, last, parts + 1)])
    with np.errstate(invalid="ignore"):
        rises = np.diff(known)
    # A clock beside one at which nothing can be decided has no boundary either.
    rises[~np.isfinite(rises)] = 0.0

    def at(clocks: FloatArray) -> FloatArray:
        places = (np.log(np.maximum(clocks, 1e-12)) - first) * (parts / (last - first))
        left = np.clip(places, 0.0, parts - 1.0).astype(np.int64)
        found = known.take(left) + rises.take(left) * np.minimum(places - left, 1.0)
        found[places < 0.0] = math.inf
        return np.asarray(found)

    return at
