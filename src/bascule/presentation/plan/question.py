"""The question of a plan in words, and what a plan says about returning users."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bascule.core.calendar import DAY
from bascule.core.errors import InputError
from bascule.core.evidence.spread import units_needed
from bascule.core.outcomes import Outcome
from bascule.planning.request.arrivals import Returning, TrafficSteps
from bascule.planning.request.request import PlanRequest
from bascule.planning.request.sample import Sample
from bascule.planning.search.alternatives import time_needed
from bascule.presentation.guarantees import sentence, sides_words
from bascule.presentation.numbers import count, day_count, duration, number, percent
from bascule.presentation.report import Cells, Table

if TYPE_CHECKING:
    from bascule.core.design import Design
    from bascule.planning.result import Plan


SKEWED = 2.0
"""A sample with a larger skewness is one of money, more often than not: a cap is recommended."""


def conditions(request: PlanRequest) -> str:
    """Say what the test has to keep to.

    >>> conditions(PlanRequest())
    '0/1 outcomes; 5,000 units a day for 28 days; error 5 %, two-sided (either of two equal arms \
wins)'
    """
    parts = [
        outcome_words(request),
        f"{request.arrivals.words}{share_words(request)} for {day_count(request.deadline_days)}",
        f"error {percent(request.error)}, {sides_words(request.sides)}",
    ]
    if request.window is not None:
        is_longer = request.window_days * DAY > float(request.window)
        longest = ", the longest window of its metrics" * is_longer
        parts.insert(1, f"known {duration(request.window_days)} after the assignment{longest}")
    if request.withholds:
        least = "" if request.min_days is None else f"at least {duration(request.min_days)}"
        weeks = "whole weeks" if request.whole_weeks else ""
        parts.append(f"the test lasts {' and '.join(filter(None, (least, weeks)))}")
    if request.waiting_cost is not None:
        parts.append(f"a day of waiting is worth {request.waiting_cost:g} {request.cost_unit}")
    return "; ".join(parts)


def share_words(request: PlanRequest) -> str:
    """Say which share of the traffic gets in, where it is not all of it.

    >>> share_words(PlanRequest(share=0.3))
    ', of which 30 % get in,'
    """
    return "" if request.share == 1.0 else f", of which {percent(request.share)} get in,"


def outcome_words(request: PlanRequest) -> str:
    """Return the outcome model in words, with what was assumed of it or taken from a sample."""
    words = request.outcome.words
    if request.spread is not None:
        is_assumed = request.sample is None and request.spread_is_usual and request.outcome.limited
        words += f" with {'an assumed' if is_assumed else 'a'} spread of {request.spread:.4g}"
    if request.outcomes_per_day is not None:
        words += f", {request.outcomes_per_day:g} a day of each unit"
    if request.covariates is not None:
        name = request.covariates[0].name
        words += f", adjusted for {name} (correlation {request.correlation:g})"
    if request.sample is not None:
        words += f", from a sample of {count(request.sample.outcomes)}"
        if request.sample.recurring:
            words += f" of {count(request.sample.units)} units"
        words += _shape_words(request.outcome, request.sample)
    return words


def _shape_words(outcome: Outcome, sample: Sample) -> str:
    """What a cap cuts off, or how long an estimated spread has to wait for skewed outcomes."""
    if sample.cap is not None:
        return f", of which {percent(sample.above_cap)} lie above the cap and count as it"
    if not outcome.estimated or not math.isfinite(sample.skewness):
        return ""
    waits = f"; no decision before each arm has about {count(units_needed(sample.skewness, 0.0))}"
    skewed = abs(sample.skewness) > SKEWED and sample.low >= 0.0
    cap = " (with a cap, such as cap=99%, nothing has to wait)" if skewed else ""
    return f"{waits} units, because the skewness is {sample.skewness:.2g}{cap}"


def measure_example(request: PlanRequest) -> tuple[str, str]:
    """Return the window of a request as text, and what events mostly add up to.

    >>> measure_example(PlanRequest(window="7d")), measure_example(PlanRequest(window="36h"))
    (('7d', 'any'), ('129600s', 'any'))
    """
    days = float(request.window or 0.0) / DAY
    window = f"{days:.0f}d" if days == int(days) else f"{request.window:.10g}s"
    return window, "any" if request.outcome.binary else "sum"


WINDOWS = (1.0, 3.0, 7.0, 14.0)
"""Days of the windows that are compared."""

NEARLY_ALL = 0.9
"""The share of the users from which on nearly all have come."""


def arrival_words(crowd: Returning, deadline: float) -> str:
    """Say how many users come by when."""
    first, last = crowd.come(np.array([1.0, deadline]))
    return (
        f"{count(first)} of the users come on the first day, and {count(last)} by day {deadline:g}"
    )


def column_words(day: str) -> str:
    """Say what the columns of windows are, given what happens on their day."""
    return (
        "counted is the share of all requests until the deadline that count; day is the day on "
        f"which {day}, or - if that is after the deadline"
    )


def grace_days(design: Design) -> float:
    """Return the most days for which outcomes of a design may come after a window."""
    measures = (design.measure, *(metric.measure for metric in design.metrics))
    return max(0.0 if one is None else float(one.grace) for one in measures) / DAY


def windows(
    crowd: Returning,
    steps: TrafficSteps,
    deadline: float,
    needed: Callable[[float], float],
    grace: float,
) -> Table:
    """Return what windows of other lengths would count and take, given the users they need.

    `grace` has the days for which outcomes may come after a window.
    """
    rows: list[Cells] = [("window", "requests a user", "counted", "users needed", "day")]
    for days in (days for days in WINDOWS if days + grace < deadline):
        users = needed(days)
        day = crowd.days_until(steps, np.asarray(users)).item() + days + grace
        requests = crowd.requests_in(days)
        users_in_time = crowd.units_after(steps, np.asarray(deadline - days - grace)).item()
        counted = min(1.0, requests * users_in_time / (crowd.requests_per_day * deadline))
        rows.append(
            (
                f"{days:g} d",
                number(requests, 3),
                percent(round(counted, 2)),
                count(users) if math.isfinite(users) else "-",
                f"{day:.2g}" if day <= deadline else "-",
            )
        )
    return Table(tuple(rows), "Windows of other lengths")


def plan_windows(plan: Plan) -> Table | None:
    """Return the windows of other lengths of a plan; None where users do not come back."""
    request, crowd = plan.request, plan.request.units_per_day
    if not isinstance(crowd, Returning):
        return None

    def needed(days: float) -> float:
        was = float(request.window or 0.0) / DAY
        outcome = crowd.respread(request.outcome, request.baseline, was, days)
        try:
            other = replace(request, window=days * DAY, outcome=outcome, metrics=())
        except InputError:
            # The request does not go with a window of this length.
            return math.inf
        return max(time_needed(other), crowd.users_needed(plan.design, days, least=0.0))

    steps, grace = ((0.0, request.share),), grace_days(plan.design)
    return windows(crowd, steps, request.deadline_days, needed, grace)


def plan_words(plan: Plan) -> list[str]:
    """Say when users who come back are enrolled, and that they are too few where they are."""
    request, crowd = plan.request, plan.request.units_per_day
    if not isinstance(crowd, Returning):
        return []
    all_users = request.share * crowd.users
    days = duration(request.traffic.days_until(NEARLY_ALL * all_users).item())
    said = [
        f"{percent(NEARLY_ALL)} of the {count(all_users)} users who can be enrolled have come "
        f"after {days}; then hardly anybody is new, and a longer test adds little evidence.",
    ]
    if not plan.possible and plan.reach.deadline_days is None:
        longer = (
            ": a longer window counts more requests of each user (see the windows), but does not "
            "remove the differences between users"
        )
        said.append(
            "There are too few users for this lift, however long the test runs"
            f"{longer if request.outcome.pairs else ''}."
        )
    requests = crowd.requests_in(float(request.window or 0.0) / DAY)
    if request.outcome.pairs:
        said.append(
            f"The cost counts users: each makes {number(requests, 3)} requests on average while it "
            "counts."
        )
    by_day = (
        "an even split has the users that it needs to find the lift with probability "
        f"{percent(request.power)}"
    )
    return [
        *said,
        sentence(arrival_words(crowd, request.deadline_days)),
        sentence(column_words(by_day)),
    ]
