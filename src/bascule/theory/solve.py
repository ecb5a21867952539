"""Solve for the number of units at which the radius of an interval falls to a given width.

If outcomes recur, the weight of a unit grows with the number of its outcomes, and no two units of
an arm arrive at the same stage. So the n units of an arm have given at least 1, 2, ..., n outcomes,
which bounds its clock from below and its radius from above.
"""

from __future__ import annotations

import math

from bascule.core.design import Design
from bascule.core.evidence.looks import look_part
from bascule.core.evidence.radius import FIRST_UNITS, lg, radius
from bascule.core.numerics import first_after, turning_point
from bascule.core.outcomes import Outcome
from bascule.core.procedures.intervals.procedure import Shape
from bascule.core.procedures.recurrent import equal_weight
from bascule.core.progress import interval_procedure, recurrent_procedure


def units_until(width: float, sigma: float, shape: Shape, delta: float) -> float:
    """Return the real number of units from which on the radius is at most `width`.

    At a large delta the radius may rise a little before it falls; the result is the last n at which
    it comes down to `width`.

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
        # The radius of a normal mixture falls with every unit.
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
    """Return the largest n with `n / log(count lg(n)^2 / delta) <= information`.

    This is the equation of the paper's exact theorems, solved instead of bounded.

    >>> round(units_within(100.0, Shape(2.0, 3.0, 2), 0.01))
    956
    """
    return units_until(math.sqrt(shape.factor / information), 1.0, shape, delta)


def clock_until(age: float, outcome: Outcome) -> float:
    """Return the integral of a unit's precision weight over its number of outcomes, up to `age`.

    The weight rises with the age, so units that have given 1, 2, ..., n outcomes have at least the
    clock `clock_until(n)`.

    >>> from bascule import Recurrent
    >>> round(clock_until(100.0, Recurrent(1.0, 1.0)), 3), clock_until(100.0, Recurrent(2.0, 0.0))
    (95.385, 100.0)
    """
    largest = outcome.sigma
    of_unit, of_noise = ((spread / largest) ** 2 for spread in outcome.unit_spreads)
    ratio = of_unit * age / of_noise if of_noise else math.inf
    if ratio < 1e-4:
        # The series of x - log(1 + x), in which no digits cancel.
        return age * age / of_noise * (0.5 - ratio / 3.0 + ratio * ratio / 4.0)
    rest = math.log1p(ratio) / ratio if ratio < math.inf else 0.0
    return age / of_unit * (1.0 - rest)


def widest_radius(design: Design, units: float, look: int = 1) -> float:
    """Return the largest possible radius of an arm with `units` units, at a planned look.

    The radius is largest if the units have given as few outcomes as possible. Looks count from 1.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Recurrent(1, 1), bs.UCB(2), delta=0.05)
    >>> round(widest_radius(design, 100), 4)
    0.8165
    """
    procedure = recurrent_procedure(design)
    outcome, shape = design.outcome, procedure.shape
    clock = units if shape.weight is equal_weight else clock_until(units, outcome)
    level = math.log(shape.count / design.calibration.delta)
    if shape.growth > 0:
        level -= math.log(look_part(look))
    return shape.radius(units, clock, *outcome.unit_spreads, level)


def arm_units_until(design: Design, width: float) -> float:
    """Return the real number of units at which the largest possible radius falls to `width`.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Recurrent(1, 1), bs.UCB(2), delta=0.05)
    >>> round(arm_units_until(design, 0.8165308))
    100
    """
    if width <= 0:
        return math.inf
    return first_after(lambda n: widest_radius(design, n) > width, float(FIRST_UNITS))


def units_at_width(design: Design, width: float) -> float:
    """Return the real number of units at which an arm's radius is `width`, for any outcome model.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=0.01)
    >>> round(units_at_width(design, 0.5))
    69
    """
    if design.outcome.recurring:
        return arm_units_until(design, width)
    shape, delta = interval_procedure(design).shape, design.calibration.delta
    return units_until(width, design.outcome.sigma, shape, delta)
