"""The average path of units whose outcomes keep coming, from that of outcomes that come once.

Around a precision-weighted mean the rules do with clocks what they do with units when each gives
one outcome. So the path of the latter gives the clocks, and the units follow from how much a unit
counts on average when they have arrived evenly over the stages of the test.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

from bascule.core.design import Design
from bascule.core.outcomes import Gaussian, Recurrent
from bascule.core.procedures.looks import look_part
from bascule.core.rules import UCB
from bascule.core.rules.radius import FIRST_UNITS
from bascule.theory.solve import turning_point
from bascule.theory.unit_solve import clock_until, recurrent

ROUNDS = 100
"""More than the search for a path that agrees with its own length takes."""


def twin(design: Design, look: float = 1.0) -> Design:
    """The design whose units, with one outcome each, are the clocks of this one.

    Its error is the part that a look has of the whole.

    >>> import bascule as bs
    >>> twin(bs.Design(["a", "b"], bs.Recurrent(1, 2), bs.UCB(2, radius="mixture"))).outcome
    Gaussian(sigma=2.0)
    """
    rule, error = design.rule, design.calibration.error
    if isinstance(rule, UCB) and rule.radius == "looks":
        rule, error = UCB(rule.alpha, radius="mixture"), error * look_part(look)
    return dataclasses.replace(
        design, outcome=Gaussian(recurrent(design).sigma), rule=rule, error=error, delta=None
    )


def units_at(clock: float, stages: float, outcome: Recurrent) -> float:
    """Units that arrived evenly over so many stages and have this clock together.

    >>> round(units_at(90.0, 100.0, Recurrent(1.0, 1.0)), 1)
    94.0
    """
    average = (clock_until(stages + 0.5, outcome) - clock_until(0.5, outcome)) / stages
    return clock / average


def settled_path(design: Design, path: Callable[[float], tuple[float, ...]]) -> tuple[float, ...]:
    """The units of each arm, best first, where `path` gives the clocks that a look's level asks.

    How much a unit counts depends on how long the test takes, and so does the number of the look;
    so the search goes on until the length of the path is the one it was made for.
    """
    outcome, shape = recurrent(design), design.paper_rule.unit_shape(len(design.arms))
    clocks = path(1.0)
    if math.isinf(sum(clocks)):
        return clocks
    if shape.together:
        return tuple(_stages_for(clock, outcome) for clock in clocks)
    first = FIRST_UNITS * len(clocks)
    # A moment at random lies this many times before the next look, on average.
    wait = (shape.growth - 1.0) / math.log(shape.growth) if shape.growth > 0 else 1.0
    stages, units = sum(clocks), clocks
    for _ in range(ROUNDS):
        if shape.growth > 0:
            clocks = path(1.0 + math.log(max(1.0, wait * stages / first)) / math.log(shape.growth))
        units = tuple(units_at(clock, stages, outcome) for clock in clocks)
        if abs(sum(units) - stages) <= 1e-9 * stages:
            break
        stages = sum(units)
    # While the decision waits for the look the indices stay level: an arm's radius, which falls
    # with the root of its units, falls as fast as that of the others.
    pace = [(count / units[0]) ** 1.5 for count in units]
    late = (wait - 1.0) * stages / sum(pace)
    return tuple(count + late * part for count, part in zip(units, pace, strict=True))


def _stages_for(clock: float, outcome: Recurrent) -> float:
    """Stages after which units that arrive one a stage have this clock."""
    start = clock_until(0.5, outcome)
    high = 1.0
    while clock_until(high + 0.5, outcome) - start < clock:
        high *= 2.0
    return turning_point(lambda n: clock_until(n + 0.5, outcome) - start < clock, 0.0, high)
