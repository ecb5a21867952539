"""Radii of arms with recurring outcomes, computed or looked up.

A loop asks for the radius of every arm at every stage. Those of the paper are computed. Those of a
mixture, which take longer, depend on the clock, any number: a table at clocks that grow by a fixed
factor, and a cubic through the four nearest, gives them to about one part in a hundred million.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from bascule.core.evidence.looks import look_part
from bascule.core.evidence.radius import FIRST_UNITS
from bascule.core.procedures.recurrent.shapes import UnitRadius
from bascule.core.types import FloatArray
from bascule.simulation.kernels.control import Kernel

Find = Callable[[FloatArray, int, float, float, float, float, float], float]
"""(radii, number of the look, units, clock, sigma_unit, sigma_noise, level) -> the radius."""

OCTAVE, OCTAVES = 16, 64
"""Clocks in the table between one and twice that, and how often they double."""

POINTS = OCTAVE * OCTAVES
"""Clocks in the table of one look."""

FIRST_CLOCK = 0.125
"""Well below any clock that an arm has by the time it has a radius."""

PER_LOG = OCTAVE / math.log(2.0)


@lru_cache(maxsize=16)
def computed(radius_of: UnitRadius) -> Find:
    """The radius itself."""

    def find(
        radii: FloatArray,  # noqa: ARG001
        number: int,  # noqa: ARG001
        units: float,
        clock: float,
        sigma_unit: float,
        sigma_noise: float,
        level: float,
    ) -> float:
        return radius_of(units, clock, sigma_unit, sigma_noise, level)

    return find


def by_clock(
    radii: FloatArray,
    number: int,
    units: float,
    clock: float,
    sigma_unit: float,  # noqa: ARG001
    sigma_noise: float,  # noqa: ARG001
    level: float,  # noqa: ARG001
) -> float:
    """From a table by the clock, with a row for each look.

    The table holds the radius times the root of the clock, which changes little.
    """
    if units < FIRST_UNITS:
        return math.inf
    place = math.log(clock / FIRST_CLOCK) * PER_LOG
    below = math.floor(place)
    t = place - below
    at = np.uint64((number - 1) * POINTS + below - 1)
    a, b = radii[at], radii[at + np.uint64(1)]
    c, d = radii[at + np.uint64(2)], radii[at + np.uint64(3)]
    # Lagrange's cubic through the points at -1, 0, 1 and 2.
    outer = (d * (t + 1.0) - a * (t - 2.0)) * (t * (t - 1.0) / 6.0)
    inner = (b * (t - 1.0) - c * t) * ((t + 1.0) * (t - 2.0) / 2.0)
    return float((outer + inner) / math.sqrt(clock))


def build_by_clock(radius_of: UnitRadius, fingerprint: str) -> Kernel:
    """The loop that fills a table by the clock, a row for each look, up to `last` in each."""

    def tabulate(
        radii: FloatArray,
        last: int,
        planned: bool,
        sigma_unit: float,
        sigma_noise: float,
        level: float,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        for row in range(radii.size // POINTS):
            here = level - math.log(look_part(row + 1.0)) if planned else level
            for i in range(last + 1):
                clock = FIRST_CLOCK * math.exp(i / PER_LOG)
                wide = radius_of(float(FIRST_UNITS), clock, sigma_unit, sigma_noise, here)
                radii[row * POINTS + i] = wide * math.sqrt(clock)

    return tabulate
