"""Covariates of simulated units: drawn with a given correlation to the outcome.

The first covariate is `r (y - mean) / spread + sqrt(1 - r^2) e`, with e standard normal: it has
correlation r with the outcome y of its arm and the same mean in every arm. All others are noise
alone. They are moved and stretched to lie within the limits of the design's covariates.
"""

from __future__ import annotations

import math

import numpy as np

from bascule.core.covariates import width
from bascule.core.design import Design
from bascule.core.types import FloatArray
from bascule.simulation.random import WordArray, normal
from bascule.simulation.worlds.world import World

CORRELATION, MOST, COUNT = 0, 1, 2
"""Places of the numbers before five for each covariate: centre, unit, low, high, range."""

DEVIATIONS = 3.0
"""Standard deviations between the centre of a covariate's limits and either of them."""


def covariate_numbers(design: Design, world: World) -> FloatArray:
    """Return the covariates of a design and their correlation as the array that the loop reads."""
    adjustment = design.adjustment
    if adjustment is None:
        return np.zeros(3)
    numbers = [world.correlation, adjustment.most, float(len(adjustment.covariates))]
    for one in adjustment.covariates:
        limited = math.isfinite(one.width)
        centre = (one.low + one.high) / 2 if one.low is not None and one.high is not None else 0.0
        numbers += [
            *(centre, one.width / (2.0 * DEVIATIONS) if limited else 1.0),
            *(
                -math.inf if one.low is None else one.low,
                math.inf if one.high is None else one.high,
            ),
            one.width,
        ]
    return np.array(numbers)


def ranges_of(numbers: FloatArray) -> FloatArray:
    """Return the range of each covariate."""
    return np.ascontiguousarray(numbers[7::5])


def room_for_sums(count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return room for the sums of all blocks, of one block, and for the coefficients."""
    return np.zeros(width(count)), np.zeros(width(count)), np.zeros(max(1, count * (count + 2)))


def spreads_of(world: World) -> FloatArray:
    """Return the standard deviation of an outcome of each arm."""
    assert world.noise is not None
    return np.array([world.noise.spread(mean) for mean in world.start])


def draw_covariates(
    streams: WordArray,
    numbers: FloatArray,
    deviation: float,
    xs: FloatArray,
    at: int,
    cell: FloatArray,
    ziggurat: FloatArray,
) -> None:
    """Write the covariates of a unit, by how many spreads its outcome lies above its mean."""
    correlation = numbers[CORRELATION]
    for k in range(math.floor(numbers[COUNT])):
        value = normal(streams, cell, ziggurat)
        if k == 0:
            value = correlation * deviation + math.sqrt(1.0 - correlation * correlation) * value
        first = 3 + 5 * k
        value = numbers[first] + numbers[first + 1] * value
        xs[at + k] = min(max(value, numbers[first + 2]), numbers[first + 3])
