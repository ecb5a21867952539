"""The estimate of an unknown spread of outcomes, which allows for skewed outcomes.

The guarantee of whatever uses these estimates is "asymptotic". Two rules keep it honest for few
units. The variance of an arm is the larger of its own and that of all arms together: a small arm
without a buyer has a variance of 0, and would otherwise win or lose at once. And nothing is decided
before each arm has `20 * skewness^2` units, because until then the normal approximation of its mean
is poor. Live tests, the simulator and the analysis of logs call these functions.
docs/research/unknown-spread.md has the measurements.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from bascule.core.types import FloatArray

Sums = TypeVar("Sums", float, FloatArray)
"""One number, or one for each of several stretches."""

UNITS_PER_SKEWNESS = 20.0
"""How many units an arm needs for each unit of squared skewness before it can be decided on."""

FEWEST_UNITS = 20
"""With fewer units in an arm an estimated spread says too little, however even it looks."""

ROUNDING = 1e-12
"""Sums of squares about a mean that are a smaller part of the raw squares are rounding errors."""


def squares_about_mean(units: Sums, totals: Sums, squares: Sums) -> Sums:
    """The sums of squared distances from the mean, from units, sums and sums of squares.

    >>> ones = np.array([2.0, 0.0])
    >>> squares_about_mean(np.array([4.0, 0.0]), ones, ones).tolist()
    [1.0, 0.0]
    """
    about = squares - totals * totals / np.maximum(units, 1.0)
    return about * (about > ROUNDING * squares)  # type: ignore[no-any-return]


def larger_variances(
    units: float, about: float, other_units: float, other_about: float
) -> tuple[float, float]:
    """The variance of an outcome of each of two arms: the larger of its own and the pooled one.

    >>> larger_variances(11.0, 40.0, 11.0, 0.0)
    (4.0, 2.0)
    """
    if units < 2.0 or other_units < 2.0:
        return math.inf, math.inf
    pooled = (about + other_about) / (units + other_units - 2.0)
    return max(about / (units - 1.0), pooled), max(other_about / (other_units - 1.0), pooled)


def skewness(units: float, total: float, squares: float, cubes: float) -> float:
    """The sample skewness from sums of outcomes, their squares and cubes; NaN if all are the same.

    >>> round(skewness(10.0, 1.0, 1.0, 1.0), 4)
    2.6667
    """
    if units < 2.0:
        return math.nan
    mean = total / units
    variance = squares / units - mean * mean
    if variance <= ROUNDING * squares / units:
        return math.nan
    third = cubes / units - 3.0 * mean * squares / units + 2.0 * mean * mean * mean
    return third / (variance * math.sqrt(variance))


def units_needed(own_skewness: float, common_skewness: float) -> float:
    """How many units an arm needs before a decision may rest on its estimated spread.

    An arm whose outcomes are all the same (a skewness of NaN) shows nothing of its own, and needs
    as many as the outcomes of all arms together ask for.

    >>> units_needed(4.0, 5.0), units_needed(math.nan, 5.0), units_needed(0.1, 0.0)
    (320.0, 500.0, 20.0)
    """
    used = common_skewness if math.isnan(own_skewness) else own_skewness
    if math.isnan(used):
        return math.inf
    return max(float(FEWEST_UNITS), UNITS_PER_SKEWNESS * used * used)


def enough_units(
    units: FloatArray, totals: FloatArray, squares: FloatArray, cubes: FloatArray
) -> bool:
    """Whether every arm has the units that its skewness asks for.

    >>> n, ones = np.array([500.0, 500.0]), np.array([25.0, 10.0])
    >>> enough_units(n, ones, ones, ones), enough_units(2 * n, 2 * ones, 2 * ones, 2 * ones)
    (False, True)
    """
    sums = (units, totals, squares, cubes)
    common = skewness(*(float(part.sum()) for part in sums))
    return all(
        float(arm[0]) >= units_needed(skewness(*(float(part) for part in arm)), common)
        for arm in zip(*sums, strict=True)
    )


def daily_variances(units: FloatArray, about: FloatArray) -> FloatArray:
    """The variance of outcomes on each day: that day's own where it has units enough, else of all.

    `about` has the squared distances from the mean of each day.

    >>> daily_variances(np.array([101.0, 3.0]), np.array([100.0, 4.0])).round(3).tolist()
    [1.0, 1.02]
    """
    free = float(np.maximum(units - 1.0, 0.0).sum())
    pooled = float(about.sum()) / free if free > 0.0 else 0.0
    variances: FloatArray = np.where(
        units >= FEWEST_UNITS, about / np.maximum(units - 1.0, 1.0), pooled
    )
    return variances


def noise_of_arm(weights: FloatArray, arm_variance: FloatArray, common: FloatArray) -> float:
    """The variance that an arm adds to a weighted sum of its daily means.

    `arm_variance` and `common` are the variances of its outcomes and of those of all arms on each
    day; the one that makes the noise larger is taken. `weights` multiply them.

    >>> noise_of_arm(np.array([0.5]), np.array([0.0]), np.array([3.0]))
    1.5
    """
    return max(float(weights @ arm_variance), float(weights @ common))
