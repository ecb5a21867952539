"""The frontier as a terminal can show it: cost against days."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from bascule.core.rules import Tilt

if TYPE_CHECKING:
    from bascule.plan.answer import Plan

WIDTH, HEIGHT = 60, 10
"""Columns and rows of the drawing."""

ROOM = 1.15
"""Points that cost more than this many times the tilted ones and the fixed horizon are left out."""


class Mark(NamedTuple):
    """A sign and where it stands."""

    days: float
    cost: float
    sign: str


def text_plot(plan: Plan) -> list[str]:
    """Lines with a sign for each design: * is the recommended one."""
    marks = marks_of(plan)
    if len(marks) < 2:
        return []
    most = max(mark.cost for mark in marks)
    first, last = min(mark.days for mark in marks), max(mark.days for mark in marks)
    deadline = plan.wishes.deadline_days
    shown_deadline = first < deadline <= 4 * last
    last = max(last, deadline) if shown_deadline else last
    rows = [[" "] * WIDTH for _ in range(HEIGHT)]

    def column(days: float) -> int:
        part = math.log(days / first) / math.log(last / first) if last > first else 0.0
        return round(part * (WIDTH - 1))

    if shown_deadline:
        for row in rows:
            row[column(deadline)] = "|"
    for mark in marks:
        row = round((1 - mark.cost / most) * (HEIGHT - 1))
        rows[row][column(mark.days)] = mark.sign
    margin = max(len(f"{most:,.3g}"), 4)
    labels = [f"{most:,.3g}", *[""] * (HEIGHT - 2), "0"]
    lines = [
        f"{label:>{margin}} |{''.join(row)}".rstrip()
        for label, row in zip(labels, rows, strict=True)
    ]
    ends = f"{first:.2g}", f"{last:.2g} days"
    axis = f"{'':>{margin}} +{'-' * WIDTH}"
    below = f"{'':>{margin}}  {ends[0]}{ends[1]:>{WIDTH - len(ends[0])}}"
    legend = "cost against days: * recommended, o tilted blocks, = even split, F fixed horizon"
    if any(mark.sign == "u" for mark in marks):
        legend += ", u UCB"
    return [f"  {legend}", *lines, axis, below]


def marks_of(plan: Plan) -> list[Mark]:
    """The signs to draw, the recommended one last so that it covers others."""
    fixed = Mark(plan.fixed_horizon.days, plan.fixed_horizon.cost, "F")
    tilted, others, chosen = [], [], []
    for point in plan.points:
        mark = Mark(point.outlook.days.mean, point.outlook.cost.mean, "o")
        if math.isnan(mark.cost):
            continue
        if point.rule == plan.rule:
            chosen.append(mark._replace(sign="*"))
        elif isinstance(point.rule, Tilt):
            tilted.append(mark._replace(sign="=" if point.rule.tilt == 1 else "o"))
        else:
            others.append(mark._replace(sign="u"))
    most = ROOM * max(mark.cost for mark in (fixed, *tilted, *chosen))
    return [mark for mark in (*others, fixed, *tilted, *chosen) if mark.cost <= most]
