"""A plan as one page to hand around, with its frontier as a chart that fits any width."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bascule.planning.search.choose import Point
from bascule.presentation import numbers, pages
from bascule.presentation.guarantees import guarantee
from bascule.presentation.numbers import amount, count, estimate, percent
from bascule.presentation.pages import Frame, Spot, Tick, path, round_steps
from bascule.presentation.plan import tables
from bascule.presentation.plan import text as words
from bascule.presentation.plan.figure import affordable, knob_words, main_curve, other_curves
from bascule.presentation.plan.tables import decided_words, is_first_look

if TYPE_CHECKING:
    from bascule.planning.result import Plan

HEIGHTS = (400.0, 330.0)
"""Heights of the chart in pixels, on a screen and on a phone."""

MARGINS = (46.0, 14.0, 26.0, 40.0)
"""Left, right, top and bottom, in pixels."""

NEAR = 26.0
"""Labels nearer to each other than this are not all written."""

FAR = 6.0
"""A deadline that is more than this factor later than everything else is not drawn."""


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
        tables=tables,
        numbers=numbers,
        guarantee=guarantee(plan.design),
        bars=_bars(plan),
        charts=[chart_of(plan, frame) for frame in pages.frames(HEIGHTS, MARGINS)],
        comparison=tables.comparison(plan),
        what_if=tables.what_if(plan),
        by_evidence=tables.by_evidence(plan),
        frontier=tables.frontier(plan),
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
            "cost": amount(cost),
            "days": amount(days),
            "cost_part": 100 * cost / most,
            "days_part": 100 * days / longest,
        }
        for name, days, cost, chosen in rows
    ]


@dataclass(frozen=True, slots=True)
class DesignSpot(Spot):
    """A design on the chart: its kind, its label, and the ends of a standard error, if any."""

    kind: str
    label: str
    low: float = math.nan
    high: float = math.nan

    @property
    def has_bar(self) -> bool:
        """Whether there is a standard error to draw."""
        return not math.isnan(self.low)


@dataclass(frozen=True, slots=True)
class Chart:
    """The chart at one width, in pixels."""

    frame: Frame
    spots: tuple[DesignSpot, ...]
    curves: tuple[tuple[str, str], ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    deadline: float | None


def chart_of(plan: Plan, frame: Frame) -> Chart:
    """Return the chart of a plan: days to the right, on a log scale, and cost upwards, from 0."""
    curve = main_curve(plan)
    rest = [point for point in plan.points if point not in curve]
    others = affordable(plan, rest)
    shown = [*others, *curve]
    days = [plan.fixed_horizon.days, *(point.forecast.days.mean for point in shown)]
    costs = [plan.fixed_horizon.cost, *(_top(point) for point in shown)]
    deadline = plan.request.deadline_days
    first, last = 0.85 * min(days), 1.15 * max(days)
    drawn = deadline < FAR * last
    last = max(last, 1.1 * deadline) if drawn else last
    most = 1.08 * max(costs)

    def x(day: float) -> float:
        return frame.x(math.log(day / first) / math.log(last / first))

    def y(cost: float) -> float:
        return frame.y(cost / most)

    def spot(kind: str, point: Point) -> DesignSpot:
        forecast = point.forecast
        ends = (forecast.cost.mean - forecast.cost.se, forecast.cost.mean + forecast.cost.se)
        return DesignSpot(
            x(forecast.days.mean),
            y(forecast.cost.mean),
            point.rule.label,
            spoken(plan, point),
            kind + ("" if forecast.simulated else " expected"),
            knob_words(point),
            *(map(y, ends) if forecast.simulated else ()),
        )

    def curve_of(points: Sequence[Point]) -> str:
        return path((x(p.expected.days.mean), y(p.expected.cost.mean)) for p in points)

    kind = plan.points[0].rule.kind
    spots = [spot("plain" if point.rule.kind == kind else "ucb", point) for point in others]
    test = plan.fixed_horizon
    spots.append(
        DesignSpot(x(test.days), y(test.cost), "Fixed horizon", _fixed_words(plan), "fixed", "")
    )
    spots += [
        spot("even" if point.even else "tilt", point) for point in curve if point.rule != plan.rule
    ]
    spots.append(spot("chosen", plan.chosen))
    lines = [("curve", curve), *(("ucb", points) for points in other_curves(plan))]
    return Chart(
        frame,
        _thinned(spots),
        tuple((kind, curve_of(points)) for kind, points in lines if len(points) > 1),
        tuple(Tick(x(day), f"{day:g}") for day in nice_days(first, last, int(frame.width / 60))),
        tuple(Tick(y(cost), f"{cost:,g}") for cost in round_steps(0.0, most)),
        x(deadline) if drawn else None,
    )


def spoken(plan: Plan, point: Point) -> tuple[str, ...]:
    """Return what a point says when pointed at."""
    forecast = point.forecast
    few = "a first look, " if is_first_look(forecast) else ""
    origin = f"{few}{count(forecast.runs)} simulated tests" if forecast.simulated else "predicted"
    return (
        f"{estimate(forecast.days)} days",
        f"cost {estimate(forecast.cost)} {plan.request.cost_unit}",
        f"decided by day {plan.request.deadline_days:g}: {decided_words(forecast)}",
        origin,
    )


def nice_days(first: float, last: float, most: int) -> list[float]:
    """Return at most `most` round numbers between two.

    >>> nice_days(2.6, 33.0, 8)
    [5.0, 10.0, 20.0]
    """
    for steps in ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        lowest, highest = math.floor(math.log10(first)), math.ceil(math.log10(last))
        found = [
            float(f"{step * 10.0**power:.3g}")
            for power in range(lowest, highest + 1)
            for step in steps
            if first <= step * 10.0**power <= last
        ]
        if len(found) <= most and steps != (1, 2, 3, 5, 7):
            return found
        if len(found) <= most and len(found) <= 3:
            return found
    return found[:: -(-len(found) // max(1, most))]


def _top(point: Point) -> float:
    cost = point.forecast.cost
    return cost.mean + (cost.se if point.forecast.simulated else 0.0)


def _fixed_words(plan: Plan) -> tuple[str, ...]:
    test = plan.fixed_horizon
    return (
        f"{amount(test.days)} days",
        f"cost {amount(test.cost)} {plan.request.cost_unit}",
        f"{test.units_per_arm:,} units in each arm, power {percent(test.power)}",
    )


def _thinned(spots: Sequence[DesignSpot]) -> tuple[DesignSpot, ...]:
    """The spots without labels that would touch another one; the recommended one keeps its own."""
    kept: list[DesignSpot] = []
    taken: list[tuple[float, float]] = []
    for spot in reversed(spots):
        near = any(abs(spot.x - a) < NEAR and abs(spot.y - b) < NEAR for a, b in taken)
        if spot.label and not near:
            taken.append((spot.x, spot.y))
            kept.append(spot)
        else:
            kept.append(replace(spot, label=""))
    return tuple(reversed(kept))
