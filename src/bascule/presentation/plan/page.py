"""A plan as one page to hand around: everything is in it, and nothing is loaded from elsewhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bascule.presentation import numbers, pages
from bascule.presentation.guarantees import guarantee
from bascule.presentation.plan import text as words
from bascule.presentation.plan.chart import chart_of

if TYPE_CHECKING:
    from bascule.planning.result import Plan

WIDE, NARROW = (pages.WIDE, 400.0), (pages.NARROW, 330.0)
"""The chart in pixels, on a screen and on a phone."""


def page(plan: Plan) -> str:
    """Return the page as HTML.

    >>> import bascule as bs
    >>> text = page(bs.plan(bs.Gaussian(1), lift=0.5, units_per_day=20, runs=20))
    >>> text.startswith("<!doctype html>"), "http" in text
    (True, False)
    """
    return pages.template("plan.html").render(
        plan=plan,
        request=plan.request,
        words=words,
        numbers=numbers,
        guarantee=guarantee(plan.design),
        bars=_bars(plan),
        charts=(chart_of(plan, "wide", *WIDE), chart_of(plan, "narrow", *NARROW)),
        comparison=words.comparison(plan),
        what_if=words.what_if(plan),
        frontier=words.frontier(plan),
        design_file=json.dumps(plan.design.to_dict(), indent=2),
        means=" ".join(f"{mean:g}" for mean in plan.request.means),
    )


def _bars(plan: Plan) -> list[dict[str, Any]]:
    """Cost and days of the recommended design and of what it is compared with, as parts."""
    rows = [("this design", plan.expected_days.mean, plan.expected_cost.mean, True)]
    if plan.chosen.forecast is not plan.even_split:
        even = plan.even_split
        rows.append(("even split", even.days.mean, even.cost.mean, False))
    test = plan.fixed_horizon
    rows.append(("fixed horizon", test.days, test.cost, False))
    rows = [row for row in rows if row[2] == row[2]]
    most = max((row[2] for row in rows), default=1.0)
    longest = max((row[1] for row in rows), default=1.0)
    return [
        {
            "name": name,
            "chosen": chosen,
            "cost": numbers.amount(cost),
            "days": numbers.amount(days),
            "cost_part": 100 * cost / most,
            "days_part": 100 * days / longest,
        }
        for name, days, cost, chosen in rows
    ]
