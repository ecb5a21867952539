"""Covariates of simulated units: drawn with a given correlation to the outcome.

The first covariate is `r (y - mean) / spread + sqrt(1 - r^2) e`, with e standard normal: it has
correlation r with the outcome y of its arm and the same mean in every arm. All others are noise
alone. Covariates with limits are then shifted, scaled and clipped to lie within these.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bascule.core.covariates import width
from bascule.core.design import Design
from bascule.core.types import FloatArray
from bascule.simulation.random import WordArray, normal
from bascule.simulation.worlds.world import World

CENTRE, UNIT, LOW, HIGH, RANGE = range(5)
"""Columns of a covariate: the middle of its limits, its standard deviation, its limits, and the
distance between them."""

DEVIATIONS = 3.0
"""Distance from the middle of a covariate's limits to each limit, in standard deviations."""


class DrawnCovariates(NamedTuple):
    """The covariates of simulated units."""

    rows: FloatArray
    """A row for each covariate."""
    correlation: float
    """The correlation of the first one with the outcome."""
    most: float
    """The most by which all covariates together may change a difference; 0 for no limit."""


def drawn_covariates(design: Design, world: World) -> DrawnCovariates:
    """Return a design's covariates, and the first one's correlation, as the loops read them."""
    adjustment = design.adjustment
    if adjustment is None:
        return DrawnCovariates(np.zeros((0, RANGE + 1)), 0.0, 0.0)
    rows = np.zeros((len(adjustment.covariates), RANGE + 1))
    for row, covariate in zip(rows, adjustment.covariates, strict=True):
        low = -math.inf if covariate.low is None else covariate.low
        high = math.inf if covariate.high is None else covariate.high
        limited = math.isfinite(covariate.width)
        row[CENTRE] = (low + high) / 2 if limited else 0.0
        row[UNIT] = covariate.width / (2.0 * DEVIATIONS) if limited else 1.0
        row[LOW], row[HIGH], row[RANGE] = low, high, covariate.width
    return DrawnCovariates(rows, world.correlation, adjustment.most)


def room_for_sums(count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return arrays of zeros for the sums of all blocks, of one block, and for the coefficients."""
    return np.zeros(width(count)), np.zeros(width(count)), np.zeros(max(1, count * (count + 2)))


def spreads_of(world: World) -> FloatArray:
    """Return the standard deviation of an outcome of each arm."""
    assert world.noise is not None
    return np.array([world.noise.spread(mean) for mean in world.start])


def draw_covariates(
    streams: WordArray,
    drawn: DrawnCovariates,
    deviation: float,
    xs: FloatArray,
    at: int,
    cell: FloatArray,
    ziggurat: FloatArray,
) -> None:
    """Draw the covariates of a unit into `xs`, from index `at` on.

    The outcome of the unit is `deviation` standard deviations above the mean of its arm.
    """
    rows, correlation, _ = drawn
    for k in range(rows.shape[0]):
        value = normal(streams, cell, ziggurat)
        if k == 0:
            value = correlation * deviation + math.sqrt(1.0 - correlation * correlation) * value
        row = rows[k]
        value = row[CENTRE] + row[UNIT] * value
        xs[at + k] = min(max(value, row[LOW]), row[HIGH])
