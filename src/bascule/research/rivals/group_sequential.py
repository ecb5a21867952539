"""Group-sequential tests: boundaries by error spending, and error, power and mean duration.

The statistic is a Brownian motion at the information times of the looks, as for means of normal
outcomes. Its density inside the boundaries is carried from look to look by numerical integration
(Armitage, McPherson and Rowe 1969; Lan and DeMets 1983).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from bascule.core.evidence.horizon import quantile
from bascule.core.numerics import turning_point
from bascule.core.types import FloatArray

POINTS = 601
"""Number of points of the grid on which a density is kept."""

REACH = 8.0
"""Standard deviations to which a grid extends on a side without a boundary."""

_erfc = np.vectorize(math.erfc, otypes=[float])


def tail(z: FloatArray) -> FloatArray:
    """Return the probability that a standard normal is above z."""
    upper: FloatArray = 0.5 * _erfc(z / math.sqrt(2.0))
    return upper


class Carried(NamedTuple):
    """The density of the statistic at a look, of the tests that continue after that look."""

    time: float
    points: FloatArray
    weights: FloatArray


START = Carried(0.0, np.zeros(1), np.ones(1))
"""The statistic before the first look."""


def above(before: Carried, time: float, bound: float, drift: float) -> float:
    """Return the probability that a test reaches a look and then exceeds its boundary."""
    step = time - before.time
    z = (bound - before.points - drift * step) / math.sqrt(step)
    return float(before.weights @ tail(z))


def carried(before: Carried, time: float, low: float, high: float, drift: float) -> Carried:
    """Return the density at the next look, of the tests that continue after that look."""
    step = time - before.time
    far = REACH * math.sqrt(time)
    points = np.linspace(max(low, drift * time - far), min(high, drift * time + far), POINTS)
    width = np.full(POINTS, points[1] - points[0])
    width[0] = width[-1] = width[0] / 2
    z = (points[:, None] - before.points[None, :] - drift * step) / math.sqrt(step)
    density = np.exp(-0.5 * z**2) @ before.weights / math.sqrt(2.0 * math.pi * step)
    return Carried(time, points, density * width)


def spending_bounds(times: Sequence[float], spent: Callable[[float], float]) -> list[float]:
    """Return one-sided boundaries, as z scores, for a spending function of the error.

    >>> [round(bound, 2) for bound in spending_bounds((0.25, 0.5, 0.75, 1), lambda t: 0.05 * t)]
    [2.24, 2.13, 2.02, 1.93]
    """
    before, used, bounds = START, 0.0, []
    for time in times:
        root, state, part = math.sqrt(time), before, spent(time) - used

        def too_low(z: float) -> bool:
            return above(state, time, z * root, 0.0) > part  # noqa: B023

        bounds.append(turning_point(too_low, 0.0, REACH))
        used = spent(time)
        before = carried(before, time, -math.inf, bounds[-1] * root, 0.0)
    return bounds


class Performance(NamedTuple):
    """Probabilities of crossing the upper and the lower boundary, and the mean time of the end."""

    up: float
    down: float
    time: float
    """The mean information time at which a test ends."""


def performance(
    times: Sequence[float], bounds: Sequence[float], drift: float, sides: int = 1
) -> Performance:
    """Return the performance, at a given drift, of a test with these boundaries (z scores)."""
    before, up, down, time_sum, left = START, 0.0, 0.0, 0.0, 1.0
    for time, bound in zip(times, bounds, strict=True):
        high = bound * math.sqrt(time)
        upwards = above(before, time, high, drift)
        downwards = 0.0
        if sides == 2:
            mirrored = Carried(before.time, -before.points, before.weights)
            downwards = above(mirrored, time, high, -drift)
        up, down = up + upwards, down + downwards
        ended = upwards + downwards if time < times[-1] else left
        time_sum, left = time_sum + time * ended, left - ended
        before = carried(before, time, -high if sides == 2 else -math.inf, high, drift)
    return Performance(up, down, time_sum)


class Pocock(NamedTuple):
    """A two-sided Pocock design: its boundary (a z score) and the information that it needs.

    `most` is the maximum information; `null` and `alternative` are the means without and with the
    effect. All are relative to the information of a test with a single look.
    """

    bound: float
    most: float
    null: float
    alternative: float


def pocock(looks: int, error: float, power: float) -> Pocock:
    """Return the Pocock design with equally spaced looks for a two-sided error and a power.

    >>> [round(100 * part, 2) for part in pocock(4, 0.05, 0.9)[1:]]
    [118.31, 115.61, 69.75]
    """
    times = [(look + 1) / looks for look in range(looks)]

    def too_often(z: float) -> bool:
        up, down, _ = performance(times, [z] * looks, 0.0, 2)
        return up + down > error

    bound = turning_point(too_often, 1.0, 5.0)

    def too_weak(drift: float) -> bool:
        return performance(times, [bound] * looks, drift, 2).up < power

    drift = turning_point(too_weak, 0.0, 10.0)
    most = (drift / (quantile(1 - error / 2) + quantile(power))) ** 2
    null, alternative = (
        most * performance(times, [bound] * looks, at, 2).time for at in (0.0, drift)
    )
    return Pocock(bound, most, null, alternative)
