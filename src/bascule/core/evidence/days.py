"""Evidence from the sums of whole days, for outcomes within known limits.

A log that was split by a hash is compared day by day. All that is kept of a pair of arms is
`total`, the sum of h D over the days, `clock`, that of h, and for each slope what its line charges
for the squares that were seen. D is the difference of the day's means, in widths of the limits, and
h = n_i n_j / (n_i + n_j). docs/research/analyse.md has the proof.
"""

from __future__ import annotations

import math

import numpy as np

from bascule.core.evidence.radius import PRICES, TILTS
from bascule.core.types import FloatArray

SLOPES: FloatArray = np.array(TILTS)
"""The slopes of the lines; no unit is ever staked with more than its slope."""

COSTS: FloatArray = np.array(PRICES)
"""What each line adds to the log threshold."""

SERIES_BELOW = 0.05
"""Below this the curve is taken from its series, to lose no digits."""

NEWTON_STEPS = 200
"""More than any search for a boundary takes."""

CLOSE = 1e-12
"""The search ends at a relative step this small."""


def curves(slopes: FloatArray) -> FloatArray:
    """What each slope is charged for a unit of squares: -log(1 - slope) - slope.

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
    """What each line is charged for a day, by the units and squares of its two arms.

    The squares are those of the distances from what was expected, in widths of the limits.

    >>> round(float(day_charges(100, 100, 5.0, 5.0)[3]), 6)
    0.01644
    """
    units = units_a + units_b
    curves_a = curves(SLOPES * (units_b / units))
    curves_b = curves_a if units_a == units_b else curves(SLOPES * (units_a / units))
    return curves_a * squares_a + curves_b * squares_b


def weighted_charges(heaviest: float, squares: float) -> FloatArray:
    """What each line is charged for the outcomes of an arm that count with weights between 0 and 1.

    `squares` is the sum of weight^2 times the squared distance of the outcome from what was
    expected, in widths of the limits, and `heaviest` the largest weight among them.

    >>> float(weighted_charges(1.0, 5.0)[3]) == float(curves(SLOPES)[3] * 5.0)
    True
    >>> weighted_charges(0.0, 0.0).any()
    np.False_
    """
    if heaviest <= 0.0:
        return np.zeros(len(SLOPES))
    # curves(slope * weight) / weight^2 grows with the weight, so the largest one bounds them all.
    charges: FloatArray = curves(SLOPES * heaviest) * (squares / (heaviest * heaviest))
    return charges


def lines_boundary(charges: FloatArray, log_threshold: float) -> float:
    """Return the total at which the log of the evidence for a positive drift is `log_threshold`.

    It is infinite if no line can reach the threshold.

    >>> round(lines_boundary(np.ones(len(SLOPES)), math.log(20.0)), 3)
    7.72
    """
    # One line alone would reach the threshold here, so this lies above the boundary; from above,
    # Newton's method on a convex function comes down to it and never passes it.
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
