"""What a plan says of users who come back: when they come, and what windows count."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bascule.core.calendar import DAY
from bascule.core.errors import InputError
from bascule.planning.request.arrivals import Returning, TrafficSteps
from bascule.planning.search.reach import time_needed
from bascule.presentation.guarantees import sentence
from bascule.presentation.numbers import count, duration, number, percent
from bascule.presentation.report import Cells, Table

if TYPE_CHECKING:
    from bascule.core.design import Design
    from bascule.planning.result import Plan

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
