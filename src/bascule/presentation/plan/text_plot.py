"""The frontier as a terminal can show it: cost against days."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from bascule.presentation.plan.figure import affordable

if TYPE_CHECKING:
    from bascule.planning.result import Plan

WIDTH, HEIGHT = 62, 9
"""Columns and rows of the drawing."""

MARGIN = 8
"""Columns for the numbers beside it."""

FAR = 4.0
"""A deadline that is more than this factor later than everything else is not drawn."""


class Mark(NamedTuple):
    """A sign and where it stands."""

    days: float
    cost: float
    sign: str


def text_plot(plan: Plan) -> list[str]:
    """Return lines with a sign for each design, the recommended one above all others."""
    marks = marks_of(plan)
    if len(marks) < 2:
        return []
    costs, days = [mark.cost for mark in marks], [mark.days for mark in marks]
    low, high = 0.9 * min(costs), max(costs)
    deadline = plan.request.deadline_days
    drawn = min(days) < deadline <= FAR * max(days)
    first, last = min(days), max(*days, deadline) if drawn else max(days)
    rows = [[" "] * WIDTH for _ in range(HEIGHT)]

    def column(day: float) -> int:
        return round(math.log(day / first) / math.log(last / first) * (WIDTH - 1))

    if drawn:
        for row in rows:
            row[column(deadline)] = ":"
    for mark in marks:
        height = (mark.cost - low) / (high - low)
        rows[round((1 - height) * (HEIGHT - 1))][column(mark.days)] = mark.sign
    beside = [f"{high:,.3g}", *[""] * (HEIGHT - 2), f"{low:,.3g}"]
    lines = [
        f"{label:>{MARGIN}} |{''.join(row)}".rstrip()
        for label, row in zip(beside, rows, strict=True)
    ]
    indent = " " * MARGIN
    scale = f"{first:.2g}", f"{last:.2g} days"
    legend = "* to run  o same rule  = even split  F fixed horizon"
    legend += "  u others" if any(mark.sign == "u" for mark in marks) else ""
    legend += "  : deadline" if drawn else ""
    return [
        f"{'cost':>{MARGIN}}  {legend}",
        *lines,
        f"{indent} +{'-' * WIDTH}",
        f"{indent}  {scale[0]}{scale[1]:>{WIDTH - len(scale[0])}}",
    ]


def marks_of(plan: Plan) -> list[Mark]:
    """Return the signs to draw, the recommended one last.

    Others stand where they are expected: a curve of simulated points would bend with their noise.
    """
    marks = [Mark(plan.fixed_horizon.days, plan.fixed_horizon.cost, "F")]
    for point in affordable(plan, list(plan.points)):
        expected = point.expected
        sign = "=" if point.even else "o" if point.rule.kind == plan.points[0].rule.kind else "u"
        if point.rule != plan.rule:
            marks.append(Mark(expected.days.mean, expected.cost.mean, sign))
    chosen = plan.chosen.forecast
    marks.append(Mark(chosen.days.mean, chosen.cost.mean, "*"))
    latest = FAR * max(chosen.days.mean, plan.request.deadline_days)
    return [mark for mark in marks if mark.days <= latest]
