"""The procedure of interval rules for units whose outcomes recur, stage by stage.

In the layout of `intervals.state` the clock of an arm takes the place of its units, and its
weighted sum that of its total; both are what the evidence of two arms asks for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from bascule.core.cohorts import CohortStatistics
from bascule.core.errors import InputError
from bascule.core.evidence.looks import coming_look, look_part
from bascule.core.evidence.radius import FIRST_UNITS
from bascule.core.procedures.base import AnyStatistics
from bascule.core.procedures.intervals.procedure import ArmProcedure, Shape, Shown
from bascule.core.procedures.recurrent.estimators import equal_weight, precision_weight, weighted
from bascule.core.procedures.recurrent.shapes import UnitShape
from bascule.core.statistics import Statistics


@dataclass(frozen=True, slots=True)
class RecurrentProcedure(ArmProcedure):
    """Intervals of arms whose units give an outcome at every stage.

    `clock_shape` is the shape with which the clocks of arms behave as units do that give one
    outcome each; None where the radius goes by the number of units.
    """

    shape: UnitShape
    clock_shape: Shape | None
    counts: ClassVar[Literal["stages"]] = "stages"
    kind: ClassVar[str] = "recurrent"

    @property
    def spreads(self) -> tuple[float, float]:
        """The spread between units and that within them."""
        return self.outcome.unit_spreads

    @property
    def sequences(self) -> int:
        """How many sequences share the error."""
        return self.shape.sequences

    def empty(self) -> CohortStatistics:
        """Return the statistics before the first unit."""
        return CohortStatistics.empty(self.arms)

    def log_level(self, stage: int) -> float:
        """Return what the radius is given: the level of the design, or of the look to come."""
        level = math.log(self.shape.count / self.design.calibration.delta)
        if self.shape.growth > 0:
            number, _ = coming_look(stage, FIRST_UNITS * self.arms, self.shape.growth)
            level -= math.log(look_part(number))
        return level

    def may_decide(self, statistics: AnyStatistics) -> bool:
        """Return whether the rule allows a decision at this stage."""
        assert isinstance(statistics, CohortStatistics)
        return self.looks_at(statistics.stage)

    def check_live(self) -> None:
        """Refuse what needs one new unit an arm and a stage."""
        if self.shape.weight is equal_weight or self.shape.together:
            raise InputError(
                "rule",
                f"{self.label} asks for one new unit an arm and a stage, which a live test "
                'cannot keep to: use UCB(alpha, radius="mixture"), or radius="looks"',
            )

    def looks_at(self, stage: int) -> bool:
        """Return whether a stage is one at which the rule looks."""
        growth = self.shape.growth
        return growth == 0 or coming_look(stage, FIRST_UNITS * self.arms, growth)[1] == stage

    def next_size(self, statistics: AnyStatistics) -> int:
        """Return how many units the next stage brings."""
        return self.arms - len(statistics.out) if self.shape.together else 1

    @property
    def has_separate(self) -> bool:
        """Whether an arm alone has an interval: the proof of ETC-MM is about differences only."""
        return self.shape.weight is precision_weight

    def shown(self, statistics: AnyStatistics) -> list[Shown]:
        """Return the clock, the weighted sum and the radius of each arm."""
        self.check(statistics)
        assert isinstance(statistics, CohortStatistics)
        shape, spreads, level = self.shape, self.spreads, self.log_level(statistics.stage)
        shown = []
        for arm in statistics.arms:
            units, (total, clock) = float(arm.units), weighted(arm, shape.weight, *spreads)
            shown.append(Shown(units, clock, total, shape.radius(units, clock, *spreads, level)))
        return shown

    def record(self, statistics: Statistics, arm: int, value: float) -> Statistics:
        """Refuse a single outcome, which says too little where outcomes recur."""
        raise InputError(
            "outcome",
            "one outcome says too little where they keep coming: count the cohorts of a whole "
            "stage as CohortStatistics, and close_stage drops the arms that are beaten",
        )

    def close_stage(self, statistics: CohortStatistics) -> CohortStatistics:
        """Return the statistics at the end of a stage, with newly beaten arms dropped."""
        return replace(statistics, dropped=self.dropped(statistics))
