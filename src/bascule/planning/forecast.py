"""Forecast the days, the cost and the decision of a design, by theory or by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import InfeasibleError, NoPredictionError
from bascule.core.gaps import gaps_of
from bascule.core.inputs.checks import tidy
from bascule.core.inputs.serialization import finite_data
from bascule.core.options import options_of
from bascule.core.rules import Rule
from bascule.core.types import NOBODY, FloatArray
from bascule.planning.request.options import PlanFields
from bascule.planning.request.request import PlanRequest
from bascule.simulation import Estimate, Simulation, World, simulate
from bascule.simulation.result import share_estimate, wilson
from bascule.theory import Prediction, predict

PLAYED = 100
"""Default number of simulated runs of a test, if theory cannot predict it."""

PREDICTED_WITHIN = 0.02
"""Tolerance for the error of a predicted probability of a decision."""

ROUNDING = 1e-9
"""Relative difference up to which numbers of units are considered equal."""


SHARED = tuple(name for name in options_of(PlanFields) if name in options_of(Design))
"""Options that a plan and its design have in common."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Forecast of a test that ends at the deadline at the latest, even if it is undecided.

    It was either simulated, with standard errors, or predicted, without them (they are nan). Half
    of all tests have ended by `p50_days` and nine tenths by `p90_days`: decided, or ended by their
    plan (horizon or futility). Either is infinite if it lies beyond the deadline. Both are nan, as
    they are unknown, in a prediction for equal arms with futility.
    """

    days: Estimate
    """Mean number of days until the test ends."""
    p50_days: float
    """Day by which half of all tests have ended."""
    p90_days: float
    """Day by which nine tenths of all tests have ended."""
    cost: Estimate
    """Mean loss until the test ends, compared with giving every unit the best arm."""
    decided: Estimate
    """Probability of a decision by the deadline."""
    wrong: Estimate
    """Probability of a wrong decision."""
    runs: int = 0
    """Number of simulated tests; 0 for a prediction."""

    @property
    def simulated(self) -> bool:
        """Whether the forecast was simulated, not predicted."""
        return self.runs > 0

    @property
    def decided_interval(self) -> tuple[float, float]:
        """95 % confidence interval of the probability of a decision by the deadline."""
        if not self.simulated:
            return self.decided.mean, self.decided.mean
        return wilson(round(self.decided.mean * self.runs), self.runs)

    def decides_with(self, power: float) -> bool:
        """Return whether a decision by the deadline is about as likely as `power`, or likelier.

        The tolerance is two standard errors of a simulation, or `PREDICTED_WITHIN` of a prediction.
        """
        doubt = 2.0 * self.decided.se if self.simulated else PREDICTED_WITHIN
        return self.decided.mean + doubt >= power

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; unknown values, and days beyond the deadline, are None."""
        low, high = self.decided_interval
        data: dict[str, Any] = finite_data(
            {
                "expected_days": self.days,
                "p50_days": self.p50_days,
                "p90_days": self.p90_days,
                "expected_cost": self.cost,
                "decided_by_deadline": {**finite_data(self.decided), "low": low, "high": high},
                "wrong": self.wrong,
                "runs": self.runs,
            }
        )
        return data


def design_of(request: PlanRequest, rule: Rule) -> Design:
    """Return the design with a request's options and a rule, and its deadline as a cap on units.

    With a window the design has a measure, if the outcome models of all metrics determine theirs.

    >>> import bascule as bs
    >>> design_of(PlanRequest(), bs.Tilt(3)).max_units
    140000
    """
    measure = request.measure_of(request.outcome)
    measured = [metric.measure or request.measure_of(metric.outcome) for metric in request.metrics]
    metrics = request.metrics
    if measure is None or None in measured:
        measure = None
    else:
        # In a design all metrics have a measure or none has, including the primary one.
        pairs = zip(request.metrics, measured, strict=True)
        metrics = tuple(
            replace(metric, measure=measure_of_metric) for metric, measure_of_metric in pairs
        )
    shared: dict[str, Any] = {name: getattr(request, name) for name in SHARED}
    shared["metrics"] = metrics
    return Design(
        rule=rule,
        measure=measure,
        max_units=request.max_units,
        covariates=request.covariates,
        **shared,
    )


def played_design(request: PlanRequest, design: Design) -> Design:
    """Return a design in the form in which plans simulate it: with the primary metric only."""
    return replace(design, outcome=request.played_outcome, measure=None, metrics=())


def even_rule(rule: Rule) -> Rule:
    """Return the rule with its knob at the value that decides soonest, usually an even split.

    Rules that differ only by their knob have the same even rule. A rule without a knob is its own.

    >>> import bascule as bs
    >>> even_rule(bs.Tilt(5, effect=0.5))
    Tilt(tilt=1.0, effect=0.5, batch=1)
    """
    return rule if rule.knob is None else rule.with_knob(rule.knob.soonest)


@lru_cache(maxsize=512)
def prediction(request: PlanRequest, rule: Rule, equal: bool = False) -> Prediction | None:
    """Return the theoretical prediction of a rule, ignoring the deadline; None if there is none.

    The prediction is at the requested lift, or with all arms `equal`. Times are numbers of units
    whose outcomes are known; a window adds to the duration of the test.

    >>> import bascule as bs
    >>> prediction(PlanRequest(), bs.UCB(2)) is None
    True
    """
    forecast = _without_window(request, rule, equal)
    if forecast is None or not request.waiting_units:
        return forecast
    if rule.uses_signals:
        return None
    even = even_rule(rule)
    if not design_of(request, even).procedure.even:
        return None
    even_forecast = forecast if even == rule else _without_window(request, even, equal)
    return (
        None
        if even_forecast is None
        else after_even_start(forecast, even_forecast, request.waiting_units)
    )


@lru_cache(maxsize=512)
def _without_window(request: PlanRequest, rule: Rule, equal: bool) -> Prediction | None:
    """Return the prediction of a rule as if outcomes were known at once; None if there is none."""
    design = played_design(request, design_of(request, rule))
    gaps, best, cap = request.gaps, request.best, None
    if equal:
        if design.procedure.counts != "blocks":
            return None
        gaps, best, cap = (0.0,) * len(gaps), request.baseline, float(request.max_units)
    noise = request.spread
    if request.covariates is not None and request.outcome.estimated:
        noise = request.usual_spread * math.sqrt(request.unexplained)
    try:
        return predict(design, gaps, best=best, noise=noise, cap=cap)
    except NoPredictionError:
        return None


@lru_cache(maxsize=256)
def played(request: PlanRequest, rule: Rule, world: World, runs: int = PLAYED) -> Forecast:
    """Return the forecast of a rule from simulated runs in a world; results are cached."""
    design = played_design(request, design_of(request, rule))
    return forecast_by(lambda: simulate(design, world=world, runs=runs), request, world.start)


def goes_by_signals(request: PlanRequest, rule: Rule) -> bool:
    """Return whether a test uses early signals, for which there is no prediction."""
    return rule.uses_signals and request.delay is not None


def predicted(request: PlanRequest, rule: Rule) -> Forecast | None:
    """Return the theoretical forecast of a rule; None if theory has no decision times for it.

    Tests that use early signals are simulated.

    >>> import bascule as bs
    >>> round(predicted(PlanRequest(), bs.Tilt(3)).decided.mean, 2)
    1.0
    """
    if goes_by_signals(request, rule):
        return played(request, rule, request.world)
    forecast = prediction(request, rule)
    if forecast is None or not forecast.course:
        return None
    cap = float(request.max_units)
    # Enrolment pauses while the pending units suffice for the horizon. The horizon depends on
    # futility, so it is fixed before futility is left out.
    fixed = rule.with_fixed_plan(design_of(request, rule))
    whole_way = prediction(request, fixed.without_futility()) or forecast
    enrolled = min(cap, whole_way.open_until) if whole_way.limited else cap
    waiting = min(float(request.waiting_units), enrolled)
    decided = forecast.decided_by(cap)
    longest = _open_time(forecast) or math.inf

    # Units that arrive while the first window is open are split evenly. Those after them cost as
    # much as the first units of a test without a window: its regret grows with the square root of
    # its units, and none of them costs more than in an even split.
    even = max(sum(request.gaps) / len(request.names), forecast.regret / longest)
    later = _open_time(forecast, enrolled - waiting)
    tilted = min(even * later, forecast.regret * math.sqrt(later / longest))
    held_days, held_units = _withheld(request, forecast, enrolled)
    days = _open_time(forecast, cap, request.traffic.days_until) * forecast.decision_time / longest
    # While a decision is withheld, the leading arm has its largest share.
    most_tilt = design_of(request, rule).procedure.most_tilt
    held = held_units * request.gap / (1.0 + most_tilt)
    return Forecast(
        days=_exact(request.window_days + days + held_days),
        p50_days=_days_until(request, forecast, 0.5),
        p90_days=_days_until(request, forecast, 0.9),
        cost=_exact(waiting * even + tilted + held),
        decided=_exact(decided),
        wrong=_exact(forecast.wrong),
    )


def _days_until(request: PlanRequest, forecast: Prediction, share: float) -> float:
    """Return the days by which a share of all tests has ended; infinite if they take longer."""
    cap = float(request.max_units)
    if share <= forecast.decided_by(cap):
        return request.announced_days(request.traffic.known_after(forecast.time_until(share)))
    # In a prediction with a cap, undecided tests end at the cap, up to rounding.
    is_over = forecast.open_until < (1.0 - ROUNDING) * cap
    return request.traffic.known_after(forecast.open_until) if is_over else math.inf


def _withheld(request: PlanRequest, forecast: Prediction, enrolled: float) -> tuple[float, float]:
    """Return the mean days for which a decision is withheld, and the mean units enrolled then."""
    if not request.withholds:
        return 0.0, 0.0
    days = units = before = 0.0
    for time, decided in forecast.course:
        reached = request.traffic.known_after(time)
        until = request.announced_days(reached)
        come = (request.traffic.units_after(day) for day in (until, reached))
        by_announcement, by_decision = (min(enrolled, enrolled_by) for enrolled_by in come)
        days += (decided - before) * (until - reached)
        units += (decided - before) * (by_announcement - by_decision)
        before = decided
    return days, units


@lru_cache(maxsize=256)
def predicted_at_zero(request: PlanRequest, rule: Rule) -> Forecast | None:
    """Return the theoretical forecast of a rule if all arms are equal; None if there is none.

    Tests that use early signals are simulated.

    >>> import bascule as bs
    >>> round(predicted_at_zero(PlanRequest(), bs.Tilt(3)).days.mean)
    27
    """
    if goes_by_signals(request, rule):
        return played(request, rule, request.world_at((request.baseline,) * len(request.names)))
    forecast = prediction(request, rule, equal=True)
    if forecast is None:
        return None
    decided = _exact(forecast.decided_by(request.max_units))
    p50_days, p90_days = (_days_until(request, forecast, share) for share in (0.5, 0.9))
    if rule.without_futility() != rule:
        # Only the mean time of an end by futility is predicted.
        p50_days = p90_days = math.nan
    return Forecast(
        days=_exact(request.traffic.known_after(forecast.decision_time)),
        p50_days=p50_days,
        p90_days=p90_days,
        cost=_exact(0.0),
        decided=decided,
        wrong=decided,
    )


def after_even_start(forecast: Prediction, even: Prediction, waiting: float) -> Prediction:
    """Return the prediction of a test whose first `waiting` units are split evenly.

    No outcome is known before the first window closes, so a test proceeds like its `even` split
    until then, and afterwards like a test without a window. By then it has gained a part of the
    information that it needs: `waiting` divided by the duration of the even split.

    >>> slow, quick = Prediction((200.0, 100.0), (0.1,)), Prediction((100.0, 100.0), (0.1,))
    >>> round(after_even_start(slow, quick, 100.0).decision_time)
    250
    """
    mean = float(_mixed_time(forecast.decision_time, even.decision_time, waiting))
    part = mean / forecast.decision_time
    course, last = forecast.course, forecast.open_until
    if course and even.course:
        times, decided = np.array(course).T
        at, reached = np.array(even.course).T
        mixed = _mixed_time(times, np.interp(decided, reached, at), waiting)
        ordered = np.maximum.accumulate(mixed)
        course = tuple(zip(ordered.tolist(), decided.tolist(), strict=True))
        if forecast.limited and even.limited:
            last = float(_mixed_time(forecast.open_until, even.open_until, waiting))
    return replace(
        forecast,
        units=tuple(part * units for units in forecast.units),
        course=course,
        open_until=last,
    )


def _mixed_time(time: Any, even: Any, waiting: float) -> Any:
    """Return the duration, in units, of a test that splits its first `waiting` units evenly."""
    evenly = np.maximum(even, 1e-9)
    return np.where(evenly <= waiting, evenly, waiting + (1.0 - waiting / evenly) * time)


def forecast_by(
    play: Callable[[], Simulation], request: PlanRequest, means: tuple[float, ...]
) -> Forecast:
    """Return the forecast from simulated runs, or `hopeless` if none can decide in time."""
    try:
        return forecast_of(play(), request)
    except InfeasibleError:
        return hopeless(request, means)


def forecast_of(result: Simulation, request: PlanRequest) -> Forecast:
    """Return the forecast from the simulated runs of a capped design."""
    decided = result.winner != NOBODY
    days = request.traffic.days_until(result.decision_time.astype(float))
    late = np.where(decided | _ended_by_plan(result), days, math.inf)
    return Forecast(
        days=Estimate.of(days),
        p50_days=_quantile(late, 0.5),
        p90_days=_quantile(late, 0.9),
        cost=Estimate.of(result.regret),
        decided=share_estimate(int(decided.sum()), result.runs),
        wrong=share_estimate(int(result.wrong.sum()), result.runs),
        runs=result.runs,
    )


def _ended_by_plan(result: Simulation) -> Any:
    """Return whether each undecided run was ended by its plan: the cap had room for a block."""
    procedure, cap = result.design.procedure, result.design.max_units
    if not procedure.has_horizon:
        return False
    return cap is None or result.units.sum(axis=1) <= cap - (procedure.largest_block or 1)


def hopeless(request: PlanRequest, means: tuple[float, ...]) -> Forecast:
    """Return the forecast of a test that is undecided at the deadline, with units split evenly.

    >>> hopeless(PlanRequest(), (0.05, 0.06)).cost.mean
    700.0
    """
    return Forecast(
        days=_exact(request.deadline_days),
        p50_days=math.inf,
        p90_days=math.inf,
        cost=_exact(tidy(request.max_units * sum(gaps_of(means)) / len(means))),
        decided=_exact(0.0),
        wrong=_exact(0.0),
    )


def _exact(value: float) -> Estimate:
    return Estimate(value, math.nan)


def _quantile(values: np.ndarray[Any, np.dtype[np.float64]], share: float) -> float:
    """Return a quantile of values, some of which may be infinite."""
    return float(np.sort(values)[math.ceil(share * len(values)) - 1])


def _open_time(
    forecast: Prediction,
    end: float = math.inf,
    time_of: Callable[[FloatArray], FloatArray] = np.asarray,
) -> float:
    """Return the mean time until a test ends, with times after `end` counted as `end`.

    Time is counted in units, or converted by `time_of`.
    """
    times, decided = (np.array(column) for column in zip(*forecast.course, strict=True))
    times = np.concatenate([[0.0], times])
    still_open = 1.0 - np.concatenate([[0.0], decided])
    if forecast.limited:
        times = np.append(times, max(forecast.open_until, times[-1]))
        still_open = np.append(still_open, still_open[-1])
    middle = (still_open[1:] + still_open[:-1]) / 2
    return float(np.diff(time_of(np.minimum(times, end))) @ middle)
