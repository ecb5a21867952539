"""Estimate the unknown spread of outcomes, which may be skewed.

The guarantee of a test with these estimates is "asymptotic". Two rules prevent wrong decisions when
there are few units. The variance of an arm is the larger of its own and that of all arms together:
a small arm without a buyer has a variance of 0, and would otherwise win or lose at once. And
nothing is decided before each arm has `20 * skewness^2` units, because until then the normal
approximation of its mean is poor. Live tests, the simulator and the analysis of logs call these
functions. docs/research/unknown-spread.md has the measurements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from bascule.core.types import FloatArray

Sums = TypeVar("Sums", float, FloatArray)
"""A number, or an array with one number for each of several time periods."""

UNITS_PER_SKEWNESS = 20.0
"""Number of units that an arm needs before a decision, per unit of squared skewness."""

FEWEST_UNITS = 20
"""Minimum number of units in an arm before its spread is estimated, whatever its skewness."""

ROUNDING = 1e-12
"""Squares about the mean up to this fraction of the raw squares are rounding errors, set to 0."""


def squares_about_mean(units: Sums, totals: Sums, squares: Sums) -> Sums:
    """Return sums of squared deviations from the mean, from units, sums and sums of squares.

    >>> ones = np.array([2.0, 0.0])
    >>> squares_about_mean(np.array([4.0, 0.0]), ones, ones).tolist()
    [1.0, 0.0]
    """
    about = squares - totals * totals / np.maximum(units, 1.0)
    return about * (about > ROUNDING * squares)  # type: ignore[no-any-return]


def larger_variances(
    units: float, about: float, other_units: float, other_about: float
) -> tuple[float, float]:
    """Return, for each of two arms, the larger of its own and the pooled variance of an outcome.

    >>> larger_variances(11.0, 40.0, 11.0, 0.0)
    (4.0, 2.0)
    """
    if units < 2.0 or other_units < 2.0:
        return math.inf, math.inf
    pooled = (about + other_about) / (units + other_units - 2.0)
    return max(about / (units - 1.0), pooled), max(other_about / (other_units - 1.0), pooled)


def skewness(units: float, total: float, squares: float, cubes: float) -> float:
    """Return the sample skewness from sums of outcomes, squares and cubes; NaN if all are equal.

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
    """Return the number of units that an arm needs before its estimated spread may be used.

    For an arm whose outcomes are all equal (a skewness of NaN), the skewness of the outcomes of all
    arms is used instead.

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
    """Return whether every arm has as many units as its skewness requires.

    >>> n, ones = np.array([500.0, 500.0]), np.array([25.0, 10.0])
    >>> enough_units(n, ones, ones, ones), enough_units(2 * n, 2 * ones, 2 * ones, 2 * ones)
    (False, True)
    """
    arms = np.stack((units, totals, squares, cubes), axis=1).tolist()
    return all(arm[0] >= needed for arm, needed in zip(arms, units_for_spread(arms), strict=True))


def units_for_spread(arms: Sequence[Sequence[float]]) -> list[float]:
    """Return the number of units that each arm needs, from its units and first three power sums.

    It is infinite while all outcomes are equal.

    >>> ones = (25.0, 5.0, 5.0, 5.0), (25.0, 25.0, 25.0, 25.0)
    >>> [round(units) for units in units_for_spread(ones)]
    [45, 20]
    """
    common = skewness(*(sum(column) for column in zip(*arms, strict=True)))
    return [units_needed(skewness(*sums), common) for sums in arms]


def daily_variances(units: FloatArray, about: FloatArray) -> FloatArray:
    """Return the variance of outcomes on each day: the pooled one for days with too few units.

    `about` has the sums of squared deviations from the mean of each day.

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
    """Return the variance that an arm contributes to a weighted sum of its daily means.

    `arm_variance` and `common` are the daily variances of the arm's outcomes and of the outcomes of
    all arms. Both are summed with `weights`, and the larger sum is returned.

    >>> noise_of_arm(np.array([0.5]), np.array([0.0]), np.array([3.0]))
    1.5
    """
    return max(float(weights @ arm_variance), float(weights @ common))
