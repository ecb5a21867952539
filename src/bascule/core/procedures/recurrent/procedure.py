"""The procedure of interval rules for units whose outcomes recur, stage by stage.

In the layout of `intervals.state` the clock of an arm takes the place of its units, and its
weighted sum that of its total; both are what the evidence of two arms asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np

from bascule.core.cohorts import ArmCohorts, CohortStatistics
from bascule.core.errors import InputError
from bascule.core.evidence.looks import coming_look, look_part
from bascule.core.evidence.radius import FIRST_UNITS
from bascule.core.procedures.base import AnyStatistics, Interval
from bascule.core.procedures.intervals.procedure import ArmProcedure, Shape
from bascule.core.procedures.intervals.state import place, width
from bascule.core.procedures.recurrent.estimators import equal_weight, precision_weight, weighted
from bascule.core.procedures.recurrent.shapes import UnitShape, clock_radius
from bascule.core.statistics import Statistics
from bascule.core.types import FloatArray


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

    def coming(self, statistics: AnyStatistics) -> int:
        """Return how many units the next stage brings."""
        return self.arms - len(statistics.out) if self.shape.together else 1

    def interval_of_arms(
        self, stage: int
    ) -> Callable[[ArmCohorts], tuple[float, float, float, float]]:
        """Return the function from an arm's cohorts to its weighted sum, clock, mean and radius."""
        shape, spreads, level = self.shape, self.spreads, self.log_level(stage)

        def interval_of(arm: ArmCohorts) -> tuple[float, float, float, float]:
            total, clock = weighted(arm, shape.weight, *spreads)
            wide = shape.radius(float(arm.units), clock, *spreads, level)
            return total, clock, total / clock if clock else 0.0, wide

        return interval_of

    def intervals(self, statistics: AnyStatistics) -> tuple[Interval, ...]:
        """Return the interval of each arm; where looks are planned, it holds at the looks."""
        self.check(statistics)
        assert isinstance(statistics, CohortStatistics)
        interval_of = self.interval_of_arms(statistics.stage)
        return tuple(Interval(*interval_of(arm)[2:]) for arm in statistics.arms)

    def alike(self, statistics: AnyStatistics) -> list[bool]:
        """Return for each pair whether units, and with a mixture also clocks, are equally many.

        The radius of ETC-MM goes by units alone; that of a mixture is for two arms of one clock.
        """
        assert isinstance(statistics, CohortStatistics)
        clocks = [(float(arm.units), 0.0) for arm in statistics.arms]
        if self.shape.weight is precision_weight:
            clocks = [
                (units, clock)
                for (units, _), (clock, _) in zip(clocks, self.clocks(statistics), strict=True)
            ]
        return [
            mine[0] == theirs[0] and math.isclose(mine[1], theirs[1], rel_tol=1e-9)
            for mine, theirs in combinations(clocks, 2)
        ]

    def separate_intervals(self, statistics: AnyStatistics) -> tuple[Interval, ...]:
        """Return the interval of a mixture for each arm alone; an endless one for ETC-MM.

        The proof of ETC-MM is about differences of equally many units and has no such interval.
        """
        assert isinstance(statistics, CohortStatistics)
        shape, spreads, level = self.shape, self.spreads, -math.log(0.5 * self.end_error)
        intervals = []
        for arm in statistics.arms:
            total, clock = weighted(arm, shape.weight, *spreads)
            wide = math.inf
            if shape.weight is precision_weight:
                wide = clock_radius(float(arm.units), clock, *spreads, level)
            intervals.append(Interval(total / clock if clock else 0.0, wide))
        return tuple(intervals)

    def clocks(self, statistics: AnyStatistics) -> list[tuple[float, float]]:
        """Return clock and mean of each arm."""
        assert isinstance(statistics, CohortStatistics)
        interval_of = self.interval_of_arms(statistics.stage)
        return [interval_of(arm)[1:3] for arm in statistics.arms]

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

    def lay_out(self, statistics: AnyStatistics) -> FloatArray:
        """Return the statistics as the steps take them."""
        self.check(statistics)
        assert isinstance(statistics, CohortStatistics)
        arms, out = self.arms, statistics.out
        score, interval_of = self.steps.score, self.interval_of_arms(statistics.stage)
        state = np.full(width(arms), -math.inf)
        for i, arm in enumerate(statistics.arms):
            total, clock, mean, wide = interval_of(arm)
            if i in out:
                place(state, 0, arms, i, clock, total, -math.inf, 0.0, -math.inf)
            else:
                urgency = score(mean, wide, float(arm.units), self.alpha)
                place(state, 0, arms, i, clock, total, mean, wide, urgency)
        return state
