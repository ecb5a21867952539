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
from bascule.core.errors import InputError
from bascule.core.evidence.calibration import Calibration
from bascule.core.evidence.looks import look_part
from bascule.core.evidence.radius import FIRST_UNITS
from bascule.core.numerics import turning_point
from bascule.core.outcomes import Gaussian, Outcome
from bascule.core.procedures.base import Problem
from bascule.core.procedures.intervals.procedure import IntervalProcedure, Shape
from bascule.core.procedures.recurrent.procedure import RecurrentProcedure
from bascule.core.progress import recurrent_procedure
from bascule.core.rules import Rule
from bascule.core.rules.mixture import calibrate_mixture
from bascule.theory.proven.unit_solve import clock_until

ROUNDS = 100
"""More than the search for a path that agrees with its own length takes."""


@dataclasses.dataclass(frozen=True)
class ClockRule(Rule):
    """The rule that treats the clocks of a recurrent procedure as units with one outcome each."""

    recurrent: RecurrentProcedure

    @property
    def label(self) -> str:
        """The label of the rule that it stands for."""
        return self.recurrent.label

    @property
    def words(self) -> str:
        """What it is."""
        return f"clocks of {self.label}"

    @property
    def shape(self) -> Shape:
        """The shape of the intervals around clocks."""
        shape = self.recurrent.clock_shape
        if shape is None:
            raise InputError(
                "rule", f"{self.label} goes by the number of units, and its clocks say nothing"
            )
        return shape

    def check_outcome(self, outcome: Outcome) -> None:
        """Accept the outcomes that `twin` gives it."""

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        """Give each sequence its part of the error."""
        return calibrate_mixture(self.shape, error, delta)

    def procedure(self, design: Problem) -> IntervalProcedure:
        """Return the procedure of the same steps on units."""
        like = self.recurrent
        return IntervalProcedure(
            design,
            like.label,
            like.alpha,
            like.steps,
            like.within,
            like.pairwise,
            like.eliminates,
            self.shape,
        )


def twin(design: Design, look: float = 1.0) -> Design:
    """The design whose units, with one outcome each, are the clocks of this one.

    Its error is the part that a look has of the whole.

    >>> import bascule as bs
    >>> twin(bs.Design(["a", "b"], bs.Recurrent(1, 2), bs.UCB(2, radius="mixture"))).outcome
    Gaussian(sigma=2.0)
    """
    procedure, error = recurrent_procedure(design), design.calibration.error
    if procedure.shape.growth > 0:
        error *= look_part(look)
    return dataclasses.replace(
        design,
        outcome=Gaussian(design.outcome.sigma),
        rule=ClockRule(procedure),
        error=error,
        delta=None,
    )


def units_at(clock: float, stages: float, outcome: Outcome) -> float:
    """Units that arrived evenly over a number of stages and have this clock together.

    >>> from bascule import Recurrent
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
    outcome, shape = design.outcome, recurrent_procedure(design).shape
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


def _stages_for(clock: float, outcome: Outcome) -> float:
    """Stages after which units that arrive one a stage have this clock."""
    start = clock_until(0.5, outcome)
    high = 1.0
    while clock_until(high + 0.5, outcome) - start < clock:
        high *= 2.0
    return turning_point(lambda n: clock_until(n + 0.5, outcome) - start < clock, 0.0, high)
