"""Evidence from daily sums, for outcomes within known limits.

The arms of a log that was split by a hash are compared day by day. A pair of arms has a `total`,
the sum of h D over the days, a `clock`, the sum of h, and for each slope a charge that grows with
the squared deviations of the outcomes. D is the difference of the day's means, in widths of the
limits, and h = n_i n_j / (n_i + n_j). docs/research/analyse.md has the proof.
"""

from __future__ import annotations

import math

import numpy as np

from bascule.core.evidence.radius import PRICES, TILTS
from bascule.core.types import FloatArray

SLOPES: FloatArray = np.array(TILTS)
"""Stakes of bets side by side: the largest share of its wealth that a bet puts on one unit."""

COSTS: FloatArray = np.array(PRICES)
"""Increase of the log threshold for each of the `SLOPES`, for using them all at once."""

SERIES_BELOW = 0.05
"""Slope below which `curves` uses a series, which loses no digits."""

NEWTON_STEPS = 200
"""Maximum number of Newton steps; no search for a boundary needs as many."""

CLOSE = 1e-12
"""Relative size of a Newton step at which the search ends."""


def curves(slopes: FloatArray) -> FloatArray:
    """Return -log(1 - slope) - slope for each slope: the charge for a unit of squared deviations.

    >>> curves(np.array([0.5, 1e-9])).tolist()
    [0.1931471805599453, 5.000000003333333e-19]
    """
    exact = -np.log1p(-slopes) - slopes
    series = np.zeros(len(slopes))
    for k in range(13, 1, -1):
        series = series * slopes + 1.0 / k
    charges: FloatArray = np.where(slopes > SERIES_BELOW, exact, series * slopes * slopes)
    return charges


def day_charges(units_a: float, units_b: float, squares_a: float, squares_b: float) -> FloatArray:
    """Return the charge of each slope: by how much one day of two arms lowers its log evidence.

    `squares_a` and `squares_b` are the sums of squared differences between the outcomes and their
    predictions, in widths of the limits.

    >>> round(float(day_charges(100, 100, 5.0, 5.0)[3]), 6)
    0.01644
    """
    units = units_a + units_b
    curves_a = curves(SLOPES * (units_b / units))
    curves_b = curves_a if units_a == units_b else curves(SLOPES * (units_a / units))
    return curves_a * squares_a + curves_b * squares_b


def weighted_charges(heaviest: float, squares: float) -> FloatArray:
    """Return by how much outcomes with weights from 0 to 1 lower the log evidence of each slope.

    `squares` is the sum of weight^2 times the squared difference between an outcome and its
    prediction, in widths of the limits, and `heaviest` the largest weight.

    >>> float(weighted_charges(1.0, 5.0)[3]) == float(curves(SLOPES)[3] * 5.0)
    True
    >>> weighted_charges(0.0, 0.0).any()
    np.False_
    """
    if heaviest <= 0.0:
        return np.zeros(len(SLOPES))
    # curves(slope * weight) / weight^2 grows with the weight: the largest weight gives a bound.
    charges: FloatArray = curves(SLOPES * heaviest) * (squares / (heaviest * heaviest))
    return charges


def lines_boundary(charges: FloatArray, log_threshold: float) -> float:
    """Return the total at which the log of the evidence for a positive drift is `log_threshold`.

    It is infinite if no line can reach the threshold.

    >>> round(lines_boundary(np.ones(len(SLOPES)), math.log(20.0)), 3)
    7.72
    """
    # At this total one slope alone reaches the threshold, so the total is above the boundary. From
    # there Newton's method on a convex function decreases to the boundary and never passes it.
    total = float(np.min((log_threshold + COSTS + charges) / SLOPES))
    if total == math.inf:
        return math.inf
    for _ in range(NEWTON_STEPS):
        value, slope = _value_and_slope(total, charges)
        step = (value - log_threshold) / slope
        total -= step
        if abs(step) <= CLOSE * abs(total):
            break
    return total


def log_lines(total: float, charges: FloatArray) -> float:
    """Return the log of the evidence that the drift of `total` is positive.

    >>> charges = np.ones(len(SLOPES))
    >>> round(math.exp(log_lines(lines_boundary(charges, math.log(20.0)), charges)), 6)
    20.0
    """
    return _value_and_slope(total, charges)[0]


def _value_and_slope(total: float, charges: FloatArray) -> tuple[float, float]:
    """Return the log of the evidence that the drift of `total` is positive, and its slope."""
    exponents = SLOPES * total - charges - COSTS
    top = float(exponents.max())
    parts = np.exp(exponents - top)
    mass = float(parts.sum())
    return top + math.log(mass), float(parts @ SLOPES) / mass
