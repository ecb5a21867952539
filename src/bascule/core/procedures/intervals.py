"""Where a test stands: intervals, next arm, decision, each a pure function of design and data.

These are the rules as the live store, the log analysis and a reader meet them. They lay the
statistics out as `core.arms` wants them and call the same steps that the simulator compiles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.outcomes import Recurrent
from bascule.core.procedures import recurrent as unit_progress
from bascule.core.procedures import static as static_progress
from bascule.core.procedures.blocks import winner_of
from bascule.core.procedures.cohorts import CohortStatistics
from bascule.core.procedures.decision import Decision
from bascule.core.procedures.interval_state import (
    NO_DIFFERENCE,
    NOBODY,
    FloatArray,
    highest,
    place,
    span,
    value_of,
    width,
)
from bascule.core.rules import Static, Tilt
from bascule.core.rules.mixture import log_threshold
from bascule.core.statistics import ArmStatistics, Statistics

__all__ = ["Decision", "Interval", "close_stage", "decision", "intervals", "next_arm", "record"]

AnyStatistics = Statistics | CohortStatistics
"""What a test has seen: an outcome a unit, or cohorts where the outcomes keep coming."""

SAME = "no difference that matters"
"""What a decision is called that declares no arm the best."""


@dataclass(frozen=True, slots=True)
class Interval:
    """What a rule compares: an arm's mean and the radius around it.

    When one arm's interval lies above another's, its mean does too, but for the error of the
    design. The radius is made for that comparison: with ETC on two arms it is half of what their
    difference needs, and no interval for one mean alone.
    """

    mean: float
    radius: float

    @property
    def low(self) -> float:
        """The lower end."""
        return self.mean - self.radius

    @property
    def high(self) -> float:
        """The upper end."""
        return self.mean + self.radius


def arm_radius(design: Design, arm: ArmStatistics) -> float:
    """The radius an arm of this design has after what it has shown.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=0.05)
    >>> round(arm_radius(design, ArmStatistics(100)), 4)
    0.3781
    """
    return _radius_of_arms(design)(arm)


def _radius_of_arms(design: Design) -> Callable[[ArmStatistics], float]:
    """`arm_radius`, with what all arms of the design share looked up once."""
    outcome = design.outcome
    shape = design.paper_rule.shape(outcome, len(design.arms))
    delta = design.calibration.delta

    def radius_of(arm: ArmStatistics) -> float:
        spread = shape.spread_of(
            arm.units, arm.total, arm.squares, outcome.sigma, outcome.low, outcome.high
        )
        return shape.radius(arm.units, spread, shape.factor, shape.count, delta)

    return radius_of


def intervals(design: Design, statistics: AnyStatistics) -> tuple[Interval, ...]:
    """The interval of each arm; infinitely wide until an arm has three units.

    Where looks are planned, the intervals hold at the looks.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2))
    >>> intervals(design, Statistics.empty(2))[0].high
    inf
    """
    checked_statistics(design, statistics)
    if isinstance(statistics, CohortStatistics):
        found = (
            unit_progress.arm_interval(design, arm, statistics.stage) for arm in statistics.arms
        )
        return tuple(Interval(mean, wide) for _, _, mean, wide in found)
    radius_of = _radius_of_arms(design)
    return tuple(Interval(arm.mean, radius_of(arm)) for arm in statistics.arms)


def next_arm(design: Design, statistics: AnyStatistics) -> int:
    """The arm that the next unit joins.

    >>> import bascule as bs
    >>> next_arm(bs.Design(["a", "b"], bs.Gaussian(1), bs.ETC()), Statistics.empty(2))
    0
    """
    arms = len(design.arms)
    return highest(_laid_out(design, statistics), 2 * arms, arms)


def record(design: Design, statistics: Statistics, arm: int, value: float) -> Statistics:
    """The statistics after one more outcome, with the arms dropped that the rule drops then."""
    after = _with_outcome(design, statistics, arm, value)
    return replace(after, dropped=_dropped(design, after))


def record_and_decide(
    design: Design, statistics: Statistics, arm: int, value: float
) -> tuple[Statistics, Decision | None]:
    """What `record` and then `decision` give, in half the time unless an arm is dropped.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2))
    >>> seen, reached = record_and_decide(design, Statistics.empty(2), 0, 1.5)
    >>> seen == record(design, Statistics.empty(2), 0, 1.5), reached == decision(design, seen)
    (True, True)
    """
    after = _with_outcome(design, statistics, arm, value)
    state, winner = _decided(design, after)
    out = _dropped_in(design, state, after)
    if out == after.dropped:
        return after, _as_decision(design, winner)
    after = replace(after, dropped=out)
    return after, decision(design, after)


def _with_outcome(design: Design, statistics: Statistics, arm: int, value: float) -> Statistics:
    if isinstance(design.outcome, Recurrent):
        raise InputError(
            "outcome",
            "one outcome says too little where they keep coming: count the cohorts of a whole "
            "stage as CohortStatistics, and close_stage drops the arms that are beaten",
        )
    design.outcome.check_value(value)
    return statistics.record(arm, value)


def close_stage(design: Design, statistics: CohortStatistics) -> CohortStatistics:
    """The statistics at the end of a stage, with the arms dropped that the rule drops then.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b", "c"], bs.Recurrent(1, 1), bs.ETC())
    >>> arms = tuple(bs.ArmCohorts((bs.Cohort(90, 90, 8100.0 * mean),)) for mean in (0, 1, 1))
    >>> close_stage(design, bs.CohortStatistics(arms, stage=90)).dropped
    frozenset({0})
    """
    return replace(statistics, dropped=_dropped(design, statistics))


def _dropped(design: Design, statistics: AnyStatistics) -> frozenset[int]:
    return _dropped_in(design, _decided(design, statistics)[0], statistics)


def _dropped_in(design: Design, state: FloatArray, statistics: AnyStatistics) -> frozenset[int]:
    arms = len(design.arms)
    uppers = 2 * arms + 2 * span(arms)
    out = frozenset(arm for arm in range(arms) if value_of(state, uppers, arms, arm) == -math.inf)
    return (statistics.dropped | out) - statistics.removed


def decision(design: Design, statistics: AnyStatistics) -> Decision | None:
    """The decision that the data allow, or None.

    >>> import bascule as bs
    >>> from bascule.core.statistics import ArmStatistics
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05)
    >>> seen = Statistics((ArmStatistics(100, 0.0), ArmStatistics(100, 100.0)))
    >>> decision(design, seen).name
    'b'
    """
    if isinstance(design.rule, Static):
        checked_statistics(design, statistics)
        assert isinstance(statistics, CohortStatistics)
        return static_progress.look_at_cohorts(design, statistics).decision
    if isinstance(design.rule, Tilt) and isinstance(statistics, Statistics):
        winner = winner_of(design, statistics)
    else:
        _, winner = _decided(design, statistics)
    return _as_decision(design, winner)


def _as_decision(design: Design, winner: int) -> Decision | None:
    if winner == NOBODY:
        return None
    promise = design.calibration
    if winner == NO_DIFFERENCE:
        return Decision(None, SAME, promise.error, promise.guarantee)
    return Decision(winner, design.arms[winner], promise.error, promise.guarantee)


def _decided(design: Design, statistics: AnyStatistics) -> tuple[FloatArray, int]:
    arms = len(design.arms)
    state = _laid_out(design, statistics)
    if isinstance(statistics, CohortStatistics) and not unit_progress.may_decide(
        design, statistics.stage
    ):
        return state, NOBODY
    scores, stretch = 2 * arms, span(arms)
    where = (scores, scores + stretch, scores + 2 * stretch, arms)
    wanted = (design.outcome.sigma, log_threshold(arms, design.calibration.error))
    winner = design.paper_rule.steps().decide(state, *where, *wanted)
    if winner == NOBODY and design.min_effect is not None:
        within = design.paper_rule.within()
        if within(state, *where, *wanted, design.min_effect):
            winner = NO_DIFFERENCE
    return state, winner


def checked_statistics(design: Design, statistics: AnyStatistics) -> None:
    """Raise if the statistics are not of such a design."""
    arms = len(design.arms)
    if len(statistics.arms) != arms:
        raise InputError(
            "statistics",
            f"statistics must have the design's {arms} arms (got {len(statistics.arms)})",
        )
    recurrent = isinstance(design.outcome, Recurrent)
    if recurrent != isinstance(statistics, CohortStatistics):
        wanted = "CohortStatistics" if recurrent else "Statistics"
        raise InputError(
            "statistics",
            f"statistics must be {wanted} with {design.outcome!r} "
            f"(got {type(statistics).__name__})",
        )


def _laid_out(design: Design, statistics: AnyStatistics) -> FloatArray:
    checked_statistics(design, statistics)
    if isinstance(statistics, CohortStatistics):
        return unit_progress.laid_out(design, statistics)
    arms = len(design.arms)
    rule, out = design.paper_rule, statistics.out
    score, radius_of = rule.steps().score, _radius_of_arms(design)
    state = np.full(width(arms), -math.inf)
    for i, arm in enumerate(statistics.arms):
        if i in out:
            place(state, 0, arms, i, arm.units, arm.total, -math.inf, 0.0, -math.inf)
        else:
            wide, mean = radius_of(arm), arm.mean
            urgency = score(mean, wide, float(arm.units), rule.alpha)
            place(state, 0, arms, i, arm.units, arm.total, mean, wide, urgency)
    return state
