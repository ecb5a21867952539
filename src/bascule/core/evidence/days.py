"""Evidence from the sums of whole days, for outcomes within known limits.

A log that was split by a hash is compared day by day. All that is kept of a pair of arms is
`total`, the sum of h D over the days, `clock`, that of h, and for each slope what its line charges
for the squares that were seen. D is the difference of the day's means, in widths of the limits, and
h = n_i n_j / (n_i + n_j). docs/explanation/analyse.md has the proof.
"""

from __future__ import annotations

import math

from bascule.core.evidence.bernstein import PRICES, TILTS

SLOPES = TILTS
"""The slopes of the lines; no unit is ever staked with more than its slope."""

SERIES_BELOW = 0.1
"""Below this the curve is taken from its series, to lose no digits."""

NEWTON_STEPS = 200
"""More than any search for a boundary takes."""

CLOSE = 1e-12
"""The search ends at a relative step this small."""


def curve(slope: float) -> float:
    """What a slope is charged for a unit of squares: -log(1 - slope) - slope.

    >>> round(curve(0.5), 6), curve(1e-9)
    (0.193147, 5.000000003333333e-19)
    """
    if slope > SERIES_BELOW:
        return -math.log1p(-slope) - slope
    charge = 0.0
    for k in range(19, 1, -1):
        charge = charge * slope + 1.0 / k
    return charge * slope * slope


def day_charges(
    units_a: float, units_b: float, squares_a: float, squares_b: float
) -> tuple[float, ...]:
    """What each line is charged for a day with so many units and squares in two arms.

    The squares are those of the distances from what was expected, in widths of the limits.

    >>> round(day_charges(100, 100, 5.0, 5.0)[3], 6)
    0.01644
    """
    both = units_a + units_b
    return tuple(
        curve(slope * units_b / both) * squares_a + curve(slope * units_a / both) * squares_b
        for slope in SLOPES
    )


def scored_charges(smallest: float, squares: float) -> tuple[float, ...]:
    """What each line is charged for scores: outcomes divided by the probabilities of their arms.

    `smallest` is the smallest of these probabilities and `squares` the sum of the squared scores.
    Lines that would stake more than everything are out of the game, at an endless charge.

    >>> scored_charges(0.1, 4.0)[0], round(scored_charges(0.1, 4.0)[5], 6)
    (inf, 0.00196)
    """
    return tuple(
        curve(slope / smallest) * smallest * smallest * squares if slope < smallest else math.inf
        for slope in SLOPES
    )


def log_lines(total: float, charges: tuple[float, ...]) -> float:
    """Log of the evidence that the drift of `total` is positive.

    >>> round(log_lines(0.0, (0.0,) * len(SLOPES)), 6)
    0.0
    """
    return _value_and_slope(total, charges)[0]


def lines_boundary(charges: tuple[float, ...], log_threshold: float) -> float:
    """The total at which `log_lines` is `log_threshold`; infinite if no line is in the game.

    >>> round(lines_boundary((1.0,) * len(SLOPES), math.log(20.0)), 3)
    7.72
    """
    if min(charges) == math.inf:
        return math.inf
    # One line alone would reach the threshold here, so this lies above the boundary; from above,
    # Newton's method on a convex function comes down to it and never passes it.
    total = min(
        (log_threshold + price + charge) / slope
        for price, charge, slope in zip(PRICES, charges, SLOPES, strict=True)
    )
    for _ in range(NEWTON_STEPS):
        value, slope = _value_and_slope(total, charges)
        step = (value - log_threshold) / slope
        total -= step
        if abs(step) <= CLOSE * abs(total):
            break
    return total


def _value_and_slope(total: float, charges: tuple[float, ...]) -> tuple[float, float]:
    exponents = [
        slope * total - charge - price
        for slope, charge, price in zip(SLOPES, charges, PRICES, strict=True)
    ]
    top = max(exponents)
    parts = [math.exp(exponent - top) for exponent in exponents]
    mass = sum(parts)
    slope = sum(part * each for part, each in zip(parts, SLOPES, strict=True)) / mass
    return top + math.log(mass), slope
