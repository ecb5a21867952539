"""How many units a radius needs to become as small as asked: the equation behind every bound."""

from __future__ import annotations

import math

from bascule.core.evidence.radius import FIRST_UNITS, lg, radius
from bascule.core.numerics import turning_point
from bascule.core.procedures.intervals.procedure import Shape


def units_until(width: float, sigma: float, shape: Shape, delta: float) -> float:
    """The real n at which the radius has come down to `width` for good.

    At a large delta the radius may rise a little before it falls; what counts is the last n at
    which it comes down to `width`.

    >>> round(units_until(0.5, 1.0, Shape(2.0, 3.0, 2), 0.01))
    69
    """
    if width <= 0:
        return math.inf
    if math.isinf(width):
        return float(FIRST_UNITS)

    def above(n: float) -> bool:
        return shape.radius(n, sigma, shape.factor, shape.count, delta) > width

    def falling(n: float) -> bool:
        # The radius of a mixture always falls.
        if shape.radius is not radius:
            return True
        return math.log(shape.count * lg(n) ** 2 / delta) >= 2.0 / math.log(n)

    low, high = float(FIRST_UNITS), 2.0 * FIRST_UNITS
    while above(high) or not falling(high):
        low, high = high, 2.0 * high
        if high > 1e300:
            return math.inf
    if not above(low):
        return low if falling(low) else high
    return turning_point(above, low, high)


def units_within(information: float, shape: Shape, delta: float) -> float:
    """The largest n with `n / log(count lg(n)^2 / delta) <= information`.

    This is the equation of the paper's exact theorems, solved instead of bounded.

    >>> round(units_within(100.0, Shape(2.0, 3.0, 2), 0.01))
    956
    """
    return units_until(math.sqrt(shape.factor / information), 1.0, shape, delta)
