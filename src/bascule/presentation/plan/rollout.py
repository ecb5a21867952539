"""The plan of a guarded rollout as a report: its cases, and what is guaranteed."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from bascule.core.approximate import two_digits
from bascule.core.calendar import DAY
from bascule.planning.request.arrivals import Returning
from bascule.presentation.guarantees import sentence
from bascule.presentation.numbers import count, duration, percent
from bascule.presentation.plan.question import arrival_words, column_words, grace_days, windows
from bascule.presentation.report import Cells, Report, Table

if TYPE_CHECKING:
    from bascule.planning.rollout_result import Rollout

DAYS = "days: the median of the rollouts that ended by the deadline; none if fewer than half did"


def report(plan: Rollout) -> Report:
    """Return each case with how often the new version is out or back, days and users."""
    unchanged = plan.cases[0]
    chance = f"with probability {percent(unchanged.shipped)},"
    end = f"in about {duration(unchanged.shown_days)}, {chance}"
    if math.isnan(unchanged.shown_days):
        end = "by the deadline in fewer than half of the cases"
    tables = [Table(tuple(_cases(plan)))]
    notes = [*_promises(plan), DAYS, origin(plan)]
    if isinstance(plan.arrivals, Returning):
        needed = partial(plan.arrivals.users_needed, plan.design)
        grace = grace_days(plan.design)
        tables.append(windows(plan.arrivals, plan.traffic, plan.deadline_days, needed, grace))
        notes.append(arrival_words(plan.arrivals, plan.deadline_days))
        notes.append(column_words("an unchanged version is out on average"))
    pairs = zip(plan.ramp, plan.traffic, strict=True)
    steps = ", ".join(
        f"{percent(share)} after {at / DAY:g} d ({percent(traffic)} in the test)"
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
