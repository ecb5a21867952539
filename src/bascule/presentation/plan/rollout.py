"""The plan of a guarded rollout as a report: its cases, and what is guaranteed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bascule.core.approximate import two_digits
from bascule.core.calendar import DAY
from bascule.presentation.guarantees import sentence
from bascule.presentation.numbers import count, duration, percent
from bascule.presentation.plan.question import traffic_words
from bascule.presentation.report import Cells, Report, Table

if TYPE_CHECKING:
    from bascule.planning.rollout import Rollout

DAYS = "days: the median of the rollouts that ended by the deadline; none if fewer than half did"


def report(plan: Rollout) -> Report:
    """Return the report of a rollout plan: each case with its probabilities, days and users."""
    unchanged = plan.cases[0]
    chance = f"with probability {percent(unchanged.shipped)},"
    end = f"in about {duration(unchanged.shown_days)}, {chance}"
    if math.isnan(unchanged.shown_days):
        end = "by the deadline in fewer than half of the cases"
    notes = [*_promises(plan), *_needs(plan), DAYS, _origin(plan)]
    pairs = zip(plan.ramp, plan.traffic, strict=True)
    steps = ", ".join(
        f"{percent(share)} after {at / DAY:g} d ({percent(traffic)} in the test)"
        for (at, share), (_, traffic) in pairs
    )
    return Report(
        f"Guarded rollout: {' or '.join(plan.design.arms[1:])} is out {end} if it is unchanged",
        f"Share with a new version: {steps}; {traffic_words(plan.units_per_day)}.",
        tables=(Table(tuple(_cases(plan))),),
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
    """Return the guarantees, one sentence for each."""
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


def _needs(plan: Rollout) -> list[str]:
    """Say how many users it takes to show that an unchanged version is within each margin."""
    return [
        f"to show that an unchanged version is within its margin on {name} takes about "
        f"{two_digits(users)} users, of all versions together"
        for name, users in plan.users_needed.items()
        if users is not None
    ]


def _origin(plan: Rollout) -> str:
    """Say where the figures of the cases come from."""
    return f"{count(plan.runs)} simulated rollouts of each kind"
