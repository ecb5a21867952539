"""What to expect of a design: days, cost, and whether it decides in time; predicted or played."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import NoPredictionError
from bascule.core.gaps import gaps_of
from bascule.core.inputs.written_numbers import tidy
from bascule.core.rules import Rule
from bascule.core.types import NOBODY
from bascule.planning.request.request import PlanRequest
from bascule.simulation import Estimate, Simulation
from bascule.simulation.shares import share_estimate, wilson
from bascule.theory import Prediction, predict


@dataclass(frozen=True, slots=True)
class Forecast:
    """What to expect by the deadline, where a test ends whether or not it has decided.

    Played, with `runs` of them and standard errors; or predicted, without either. The 50th and 90th
    percentile of the days are infinite where they lie beyond the deadline.
    """

    days: Estimate
    p50_days: float
    p90_days: float
    cost: Estimate
    decided: Estimate
    wrong: Estimate
    runs: int = 0

    @property
    def simulated(self) -> bool:
        """Whether this was played, not predicted."""
        return self.runs > 0

    @property
    def decided_interval(self) -> tuple[float, float]:
        """Where the probability of a decision in time lies, with a confidence of 95 %."""
        if not self.simulated:
            return self.decided.mean, self.decided.mean
        return wilson(round(self.decided.mean * self.runs), self.runs)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; what is not known, or lies beyond the deadline, is null."""
        low, high = self.decided_interval
        return {
            "expected_days": plain_estimate(self.days),
            "p50_days": _plain(self.p50_days),
            "p90_days": _plain(self.p90_days),
            "expected_cost": plain_estimate(self.cost),
            "decided_by_deadline": {
                **plain_estimate(self.decided),
                "low": _plain(low),
                "high": _plain(high),
            },
            "wrong": plain_estimate(self.wrong),
            "runs": self.runs,
        }


def design_of(request: PlanRequest, rule: Rule) -> Design:
    """Return the design with this rule that a request asks for; its cap is the deadline.

    >>> import bascule as bs
    >>> design_of(PlanRequest(), bs.Tilt(3)).max_units
    140000
    """
    return Design(
        arms=request.names,
        outcome=request.outcome,
        rule=rule,
        error=request.error,
        sides=request.sides,
        max_units=request.max_units,
        goal=request.goal,
        control=request.control,
        metrics=request.metrics,
        harm_error=request.harm_error,
        covariates=request.covariates,
    )


def played_design(request: PlanRequest, design: Design) -> Design:
    """Return the design that stands for this one in a simulation: of the primary metric alone."""
    return replace(design, outcome=request.played_outcome, metrics=())


@lru_cache(maxsize=256)
def prediction(request: PlanRequest, rule: Rule) -> Prediction | None:
    """Return what theory says of a rule, without the deadline; None if nothing.

    >>> import bascule as bs
    >>> prediction(PlanRequest(arms=20), bs.Tilt(3)) is None
    True
    """
    design = played_design(request, design_of(request, rule))
    noise = request.spread
    if request.covariates is not None and request.outcome.estimated:
        noise = request.usual_spread * math.sqrt(request.unexplained)
    try:
        return predict(design, request.gaps, best=request.best, noise=noise)
    except NoPredictionError:
        return None


def predicted(request: PlanRequest, rule: Rule) -> Forecast | None:
    """Return the forecast by theory, or None where it does not say when a test is decided.

    >>> import bascule as bs
    >>> round(predicted(PlanRequest(), bs.Tilt(3)).decided.mean, 2)
    1.0
    """
    found = prediction(request, rule)
    if found is None or not found.course:
        return None
    cap = request.max_units
    decided = found.decided_by(cap)
    kept = _kept(found, cap)

    def days_until(share: float) -> float:
        return found.time_until(share) / request.units_per_day if share <= decided else math.inf

    return Forecast(
        days=_exact(kept * found.decision_time / request.units_per_day),
        p50_days=days_until(0.5),
        p90_days=days_until(0.9),
        cost=_exact(kept * found.regret),
        decided=_exact(decided),
        wrong=_exact(found.wrong),
    )


@lru_cache(maxsize=256)
def predicted_at_zero(request: PlanRequest, rule: Rule) -> Forecast | None:
    """Return the forecast by theory if no arm is better than another; None where there is none.

    >>> import bascule as bs
    >>> round(predicted_at_zero(PlanRequest(), bs.Tilt(3)).days.mean)
    26
    """
    design = played_design(request, design_of(request, rule))
    if design.procedure.counts != "blocks":
        return None
    zeros, cap = (0.0,) * len(request.gaps), float(request.max_units)
    try:
        found = predict(design, zeros, best=request.baseline, noise=request.spread, cap=cap)
    except NoPredictionError:
        return None
    days = found.decision_time / request.units_per_day
    decided = found.decided_by(cap)
    ends = (_exact(days), math.inf, math.inf, _exact(0.0), _exact(decided), _exact(decided))
    return Forecast(*ends)


def forecast_of(result: Simulation, units_per_day: float) -> Forecast:
    """Return the forecast that the runs of a capped design show."""
    decided = result.winner != NOBODY
    days = result.decision_time / units_per_day
    late = np.where(decided, days, math.inf)
    return Forecast(
        days=Estimate.of(days),
        p50_days=_quantile(late, 0.5),
        p90_days=_quantile(late, 0.9),
        cost=Estimate.of(result.regret),
        decided=share_estimate(int(decided.sum()), result.runs),
        wrong=share_estimate(int(result.wrong.sum()), result.runs),
        runs=result.runs,
    )


def hopeless(request: PlanRequest, means: tuple[float, ...]) -> Forecast:
    """Return the forecast of a test that is still open at the deadline, its units shared evenly.

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


def plain_estimate(estimate: Estimate) -> dict[str, float | None]:
    """Return mean and standard error as JSON has them.

    >>> plain_estimate(Estimate(1.5, math.nan))
    {'mean': 1.5, 'se': None}
    """
    return {"mean": _plain(estimate.mean), "se": _plain(estimate.se)}


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _exact(value: float) -> Estimate:
    return Estimate(value, math.nan)


def _quantile(values: np.ndarray[Any, np.dtype[np.float64]], share: float) -> float:
    """The smallest value that this share of all reaches at most; infinity is one of them."""
    return float(np.sort(values)[math.ceil(share * len(values)) - 1])


def _kept(found: Prediction, end: float) -> float:
    """Which part of the expected time lies before an end: the area above the course up to it."""
    times, decided = (np.array(column) for column in zip(*found.course, strict=True))
    times = np.concatenate([[0.0], times])
    still_open = 1.0 - np.concatenate([[0.0], decided])
    if found.limited:
        times = np.append(times, max(found.open_until, times[-1]))
        still_open = np.append(still_open, still_open[-1])
    middle = (still_open[1:] + still_open[:-1]) / 2
    whole = float(np.diff(times) @ middle)
    before = float(np.diff(np.minimum(times, end)) @ middle)
    return before / whole if whole > 0 else 1.0
