"""Draws of single outcomes and delays, each from the stream of its run.

Plain functions on scalars and flat arrays, as in `simulate.streams`; `cell` is one number of room.
"""

from __future__ import annotations

import math

from bascule.core.types import FloatArray
from bascule.simulation.random.streams import WordArray, fill_normals, uniform


def normal(streams: WordArray, cell: FloatArray, ziggurat: FloatArray) -> float:
    """A standard normal; one after the other they are the numbers of `fill_normals`."""
    fill_normals(streams, 0, cell, 0, 1, ziggurat)
    return float(cell[0])


def exponential(streams: WordArray) -> float:
    """A positive number with mean 1, at most 53 log 2 = 36.7, by inversion."""
    return -math.log1p(-uniform(streams, 0))


def gamma(streams: WordArray, shape: float, cell: FloatArray, ziggurat: FloatArray) -> float:
    """A gamma number with scale 1: a cube of a normal, accepted or not (Marsaglia and Tsang)."""
    boost = 1.0
    if shape < 1.0:
        # The method needs a shape of 1 at least; a power of a uniform leads back from there.
        boost = math.pow(1.0 - uniform(streams, 0), 1.0 / shape)
        shape += 1.0
    centre = shape - 1.0 / 3.0
    scale = 1.0 / math.sqrt(9.0 * centre)
    while True:
        value = normal(streams, cell, ziggurat)
        root = 1.0 + scale * value
        if root > 0.0:
            cube = root * root * root
            level = math.log(1.0 - uniform(streams, 0))
            if level < 0.5 * value * value + centre * (1.0 - cube + math.log(cube)):
                return boost * centre * cube


def beta(
    streams: WordArray, mean: float, concentration: float, cell: FloatArray, ziggurat: FloatArray
) -> float:
    """A number of [0, 1] from the beta distribution with this mean and sum of parameters."""
    if mean <= 0.0 or mean >= 1.0:
        return mean
    first = gamma(streams, mean * concentration, cell, ziggurat)
    second = gamma(streams, (1.0 - mean) * concentration, cell, ziggurat)
    if first + second == 0.0:
        # Both are too small to tell apart: so little concentration leaves only the two ends.
        return 1.0 if uniform(streams, 0) < mean else 0.0
    return first / (first + second)


def student_t(streams: WordArray, df: float) -> float:
    """Student's t with scale 1, by Bailey's polar method."""
    while True:
        u = 2.0 * uniform(streams, 0) - 1.0
        v = 2.0 * uniform(streams, 0) - 1.0
        square = u * u + v * v
        if 0.0 < square < 1.0:
            return u * math.sqrt(df * math.expm1(-2.0 / df * math.log(square)) / square)


def pick(streams: WordArray, points: FloatArray, chances: FloatArray, first: int) -> float:
    """One of the points; `chances[first:]` holds the probability of each point or one before it."""
    level = uniform(streams, 0)
    i = 0
    while i < points.size - 1 and level >= chances[first + i]:
        i += 1
    return float(points[i])
