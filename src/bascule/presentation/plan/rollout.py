"""The plan of a guarded rollout as a report: its cases, and what is guaranteed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bascule.core.approximate import two_digits
from bascule.planning.arrivals import Returning
from bascule.presentation.guarantees import sentence
from bascule.presentation.numbers import count, duration, number, percent
from bascule.presentation.report import Cells, Report, Table

if TYPE_CHECKING:
    from bascule.planning.rollout_result import Rollout

WINDOWS = (1.0, 3.0, 7.0, 14.0)
"""Days of the windows that are compared for users who come back."""

DAYS = "days: the median of the rollouts that ended by the deadline; none if fewer than half did"


def report(plan: Rollout) -> Report:
    """Return each case with how often the new version is out or back, days and users."""
    days = plan.cases[0].shown_days
    end = f"in about {duration(days)}"
    if math.isnan(days):
        end = "by the deadline in fewer than half of the cases"
    tables = [Table(tuple(_cases(plan)))]
    notes = [*_promises(plan), DAYS, origin(plan)]
    if isinstance(plan.arrivals, Returning):
        tables.append(Table(tuple(_windows(plan, plan.arrivals)), "Windows of other lengths"))
        notes += _returning(plan, plan.arrivals)
    pairs = zip(plan.ramp, plan.traffic, strict=True)
    steps = ", ".join(
        f"{percent(share)} after {at / 86400:g} d ({percent(traffic)} in the test)"
        for (at, share), (_, traffic) in pairs
    )
    return Report(
        f"Guarded rollout: {' or '.join(plan.design.arms[1:])} is out {end} if it is unchanged",
        f"Share with a new version: {steps}; {plan.arrivals.words}.",
        tables=tuple(tables),
        notes=tuple(map(sentence, notes)),
    )


def _cases(plan: Rollout) -> list[Cells]:
    rows: list[Cells] = [
        (_subject(plan), "rolled out", "rolled back", "open", "days", "users before")
    ]
    for case in plan.cases:
        shares = map(percent, (case.shipped, case.rolled_back, round(case.undecided, 6)))
        days = "-" if math.isnan(case.shown_days) else f"{case.shown_days:.2g}"
        rows.append((case.name, *shares, days, two_digits(case.exposed)))
    return rows


def _subject(plan: Rollout) -> str:
    return f"if {'each' if len(plan.design.arms) > 2 else 'the'} new version is"


def _promises(plan: Rollout) -> list[str]:
    """Return what is guaranteed, a sentence each."""
    harm = percent(plan.design.harm_error)
    return [
        f"a version that is not harmful is rolled back with probability at most {harm}, over the "
        "whole ramp",
        *(
            f"a version worse by {metric.margin:g} or more on {metric.name} is rolled out with "
            f"probability at most {percent(metric.error)}"
            for metric in plan.design.guardrails
        ),
    ]


def origin(plan: Rollout) -> str:
    """Say where the figures of the cases come from."""
    each = f"{count(plan.runs)} rollouts of each kind"
    if plan.played:
        return f"{each}, played unit by unit"
    unknown = [one.name for one in plan.design.guardrails if not one.outcome.known_spread]
    words = f"{each}, by normal paths of the evidence"
    if not unknown:
        return words
    return (
        f"{words}; approximate, because the spread of {' and '.join(unknown)} is not known "
        "and playing so many units takes long: set runs to play that many unit by unit"
    )


def _returning(plan: Rollout, crowd: Returning) -> list[str]:
    deadline = plan.deadline_days
    return [
        f"{count(crowd.come(1.0))} of the users come on the first day, and "
        f"{count(crowd.come(deadline))} by day {deadline:g}",
        "counted: of all requests until the deadline; day: when an unchanged version is out on "
        "average, - if not by the deadline",
    ]


def _windows(plan: Rollout, crowd: Returning) -> list[Cells]:
    """Return what windows of other lengths would count and take."""
    rows: list[Cells] = [("window", "requests a user", "counted", "users needed", "day")]
    deadline = plan.deadline_days
    for days in (days for days in WINDOWS if days < deadline):
        needed = crowd.users_needed(plan.design, days)
        day = crowd.days_until(plan.traffic, needed) + days
        requests = crowd.requests_in(days)
        counted = requests * crowd.units_after(plan.traffic, deadline - days)
        rows.append(
            (
                f"{days:g} d",
                number(requests, 3),
                percent(round(counted / (crowd.requests_per_day * deadline), 2)),
                count(needed),
                f"{day:.2g}" if day <= deadline else "-",
            )
        )
    return rows
