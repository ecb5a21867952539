"""Units whose outcomes keep coming and lie within known limits, with spreads that nobody knows.

At a stage fixed beforehand the averages of an arm's units, in the order of their arrival, are like
outcomes within limits that come one after the other, and the radius of Bernstein holds for their
mean. docs/research/units.md, "Units within limits", has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from bascule.core.cohorts import ArmCohorts
from bascule.core.evidence.bernstein import bernstein_radius
from bascule.core.procedures.recurrent.procedure import RecurrentProcedure


@dataclass(frozen=True, slots=True)
class LimitedUnits(RecurrentProcedure):
    """UCB at planned looks, by the averages of units within limits.

    It needs the average of every unit, which the sums of cohorts do not have, so that it can be
    simulated and not yet run live.
    """

    kind: ClassVar[str] = "limited-units"

    def check_live(self) -> None:
        """Raise: a live test keeps sums of cohorts, not the averages of units."""
        self._refuse_sums()

    def interval_of_arms(
        self,
        stage: int,
    ) -> Callable[[ArmCohorts], tuple[float, float, float, float]]:
        """Raise: the sums of cohorts do not say how far averages lie apart."""
        self._refuse_sums()

    def _refuse_sums(self) -> NoReturn:
        self._refuse(
            "needs the average of every unit at planned looks: it can be simulated, and not run "
            'live; use UCB(alpha, radius="looks") with both spreads stated'
        )


def average_radius(
    units: float, squares: float, low: float, high: float, log_level: float
) -> float:
    """Return the radius around the mean of the averages of `units` units, at one planned look.

    `squares` is the sum of the squared distances of the averages from what was expected of each by
    those before it.

    >>> round(average_radius(1000, 50.0, 0.0, 1.0, math.log(40)), 4)
    0.0306
    """
    return bernstein_radius(units, squares, low, high, math.exp(-log_level))
