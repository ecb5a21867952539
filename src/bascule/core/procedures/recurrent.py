"""Where a test of units whose outcomes keep coming stands, laid out as `core.arms` wants it.

In that layout the clock of an arm takes the place of its units, and its weighted sum that of its
total; both are what the evidence of two arms asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bascule.core.design import Design
from bascule.core.outcomes import Recurrent
from bascule.core.procedures.cohorts import ArmCohorts, CohortStatistics
from bascule.core.procedures.estimators import weighted
from bascule.core.procedures.interval_state import FloatArray, place, width
from bascule.core.procedures.looks import coming_look, look_part
from bascule.core.rules.radius import FIRST_UNITS


def log_level(design: Design, stage: int) -> float:
    """What the radius is given at a stage: the level of the design, or of the look to come.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Recurrent(1, 1), bs.UCB(2), error=0.05)
    >>> round(math.exp(log_level(design, 10)), 6)
    20.0
    """
    arms = len(design.arms)
    shape = design.paper_rule.unit_shape(arms)
    level = math.log(shape.count / design.calibration.delta)
    if shape.growth > 0:
        number, _ = coming_look(stage, FIRST_UNITS * arms, shape.growth)
        level -= math.log(look_part(number))
    return level


def may_decide(design: Design, stage: int) -> bool:
    """Whether the rule allows a decision at this stage.

    >>> import bascule as bs
    >>> looks = bs.Design(["a", "b"], bs.Recurrent(1, 1), bs.UCB(2, radius="looks"))
    >>> [stage for stage in range(1, 30) if may_decide(looks, stage)]
    [6, 9, 14, 21]
    """
    arms = len(design.arms)
    growth = design.paper_rule.unit_shape(arms).growth
    return growth == 0 or coming_look(stage, FIRST_UNITS * arms, growth)[1] == stage


def joining(design: Design, statistics: CohortStatistics) -> int:
    """How many units the next stage brings.

    >>> import bascule as bs
    >>> joining(bs.Design(["a", "b"], bs.Recurrent(1, 1), bs.ETC()), CohortStatistics.empty(2))
    2
    """
    arms = len(design.arms)
    together = design.paper_rule.unit_shape(arms).together
    return arms - len(statistics.out) if together else 1


def arm_interval(design: Design, arm: ArmCohorts, stage: int) -> tuple[float, float, float, float]:
    """An arm's weighted sum, its clock, its mean and its radius."""
    return _interval_of_arms(design, stage)(arm)


def _interval_of_arms(
    design: Design, stage: int
) -> Callable[[ArmCohorts], tuple[float, float, float, float]]:
    """`arm_interval`, with what all arms of the design share looked up once."""
    outcome = design.outcome
    assert isinstance(outcome, Recurrent)
    shape = design.paper_rule.unit_shape(len(design.arms))
    spreads = (outcome.sigma_unit, outcome.sigma_noise)
    level = log_level(design, stage)

    def interval_of(arm: ArmCohorts) -> tuple[float, float, float, float]:
        total, clock = weighted(arm, shape.weight, *spreads)
        wide = shape.radius(float(arm.units), clock, *spreads, level)
        return total, clock, total / clock if clock else 0.0, wide

    return interval_of


def laid_out(design: Design, statistics: CohortStatistics) -> FloatArray:
    """The state of the test, ready for a rule's steps."""
    arms, rule = len(design.arms), design.paper_rule
    score, interval_of = rule.steps().score, _interval_of_arms(design, statistics.stage)
    out = statistics.out
    state = np.full(width(arms), -math.inf)
    for i, arm in enumerate(statistics.arms):
        total, clock, mean, wide = interval_of(arm)
        if i in out:
            place(state, 0, arms, i, clock, total, -math.inf, 0.0, -math.inf)
        else:
            urgency = score(mean, wide, float(arm.units), rule.alpha)
            place(state, 0, arms, i, clock, total, mean, wide, urgency)
    return state
