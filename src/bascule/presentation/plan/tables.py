"""The tables of a plan: alternatives, shares of the traffic, all designs, and other lifts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bascule.core.calendar import DAY
from bascule.planning.forecast import Forecast
from bascule.planning.request.request import PlanRequest
from bascule.planning.request.words import lift_words
from bascule.planning.search.choose import Candidate
from bascule.presentation.numbers import (
    amount,
    count,
    day,
    duration,
    estimate,
    lost,
    part,
    percent,
)
from bascule.presentation.report import Cells, Table

if TYPE_CHECKING:
    from bascule.core.rules import Rule
    from bascule.planning.result import Plan, WhatIf
    from bascule.planning.search.alternatives import Pace

FIRST_LOOK = 200
"""Maximum number of runs that count as a first look, too few to be shown as a result."""

CASE_NAMES = {"half": "half as large", "double": "twice as large", "zero": "zero: no arm is worse"}


def comparison(plan: Plan) -> list[Cells]:
    """Compare the recommended design with the alternatives and with a fixed-horizon test."""
    chosen, fixed = plan.chosen, plan.fixed_horizon
    rows: list[Cells] = [
        ("", "days", "90 % by", lost(plan.request.cost_unit), "days at no effect"),
        ("this design", *_design_cells(chosen, plan.at_zero)),
    ]
    if (guarded := plan.guarded) is not None:
        cells = (estimate(guarded.days), day(guarded.p90_days), estimate(guarded.cost), "-")
        rows.append(("with guardrails", *cells))
    even = plan.even_point
    for name, point in (("fastest", plan.fastest), ("cheapest", plan.cheapest)):
        if point is not chosen:
            label = "even split" if point is even else f"{name}, {_knob_words(point)}"
            rows.append((label, *_design_cells(point, point.zero)))
    if not chosen.even and even is not plan.fastest:
        rows.append(("even split", *_design_cells(even, even.zero)))
    if plan.steered is not None and plan.request.every is not None:
        at_lift, at_zero = plan.steered
        late = day(float(np.quantile(at_lift.days, 0.9)))
        label = f"steered every {duration(float(plan.request.every) / DAY)}"
        figures = (estimate(at_lift.expected_days), late, estimate(at_lift.expected_cost))
        rows.append((label, *figures, estimate(at_zero.expected_days)))
    days = amount(fixed.days)
    return [*rows, ("fixed horizon", days, days, amount(fixed.cost), days)]


def _knob_words(point: Candidate) -> str:
    """Return the setting of a rule in a few words, or its label."""
    knob = point.rule.knob
    return point.rule.label if knob is None else f"{knob.name} {knob.value:g}"


def _design_cells(point: Candidate, zero: Forecast | None) -> Cells:
    """Return cells: mean days, days until 90 % have ended, cost, and days if no arm is better."""
    forecast, at_zero = point.forecast, "-" if zero is None else estimate(zero.days)
    return (estimate(forecast.days), day(forecast.p90_days), estimate(forecast.cost), at_zero)


def pace_table(plan: Plan) -> Table:
    """Compare the fastest, the recommended and the cheapest share of the traffic."""
    alike: dict[tuple[float, Rule], list[Pace]] = {}
    for pace in plan.paces:
        alike.setdefault((pace.share, pace.point.rule), []).append(pace)
    mine = (plan.request.share, plan.rule)
    rows = []
    for (share, rule), paces in alike.items():
        names = ", ".join(pace.name for pace in paces)
        point = paces[0].point
        forecast, zero = point.forecast, plan.zero_of(point)
        rows.append(
            (
                f"{names} (this)" if (share, rule) == mine else names,
                percent(share),
                "-" if rule.knob is None else f"{rule.knob.value:g}",
                amount(forecast.days.mean),
                day(forecast.p90_days),
                amount(forecast.cost.mean),
                "-" if zero is None else amount(zero.days.mean),
                amount(paces[0].unwon),
            )
        )
    heading = ("traffic", "share", "tilt", "days", "90 % by", "lost", "no effect", "forgone")
    strong = tuple(place for place, place_rule in enumerate(alike) if place_rule == mine)
    return Table((heading, *rows), "Other shares of the traffic", strong)


def forecast_cells(forecast: Forecast) -> Cells:
    """Return days, their percentiles, cost, and the probability of a decision in time."""
    return (
        estimate(forecast.days),
        f"{day(forecast.p50_days)}, {day(forecast.p90_days)}",
        estimate(forecast.cost),
        decided_words(forecast),
    )


def decided_words(forecast: Forecast) -> str:
    """Return the probability of a decision in time, with its 95 % interval."""
    if not forecast.simulated:
        return percent(forecast.decided.mean)
    low, high = forecast.decided_interval
    return f"{percent(forecast.decided.mean)} ({part(low, 2)}-{part(high, 2)})"


def _named(point: Candidate) -> str:
    """Return the name of a design, with its guarantee if that is weaker than requested."""
    kind = point.design.calibration.guarantee
    return point.rule.label if point.accepted else f"{point.rule.label} ({kind})"


def frontier(plan: Plan) -> list[Cells]:
    """List every design that was tried, with headings."""
    headings = ("design", "days", "50 %, 90 %", "cost", "decided in time", "days at no effect")
    rows = [(*headings, "runs")]
    return rows + [
        (
            _named(point),
            *forecast_cells(point.forecast),
            # If no arm is better, a test has no cost, only a duration.
            "-" if zero is None else amount(zero.days.mean),
            runs_words(point.forecast),
        )
        for point, zero in ((point, plan.zero_of(point)) for point in plan.points)
    ]


def runs_words(forecast: Forecast) -> str:
    """Say where a forecast comes from: how many simulated tests, a first look, or theory."""
    if not forecast.simulated:
        return "predicted"
    return "first look" if is_first_look(forecast) else count(forecast.runs)


def is_first_look(forecast: Forecast) -> bool:
    """Whether a forecast comes from too few simulated tests to be shown as a result."""
    return 0 < forecast.runs <= FIRST_LOOK


def what_if(plan: Plan) -> list[Cells]:
    """List the forecasts of the recommended design at other lifts, with headings."""
    rows = [("if the true lift is", "days", "cost", "decided", "wrong")]
    return rows + [(case_words(case, plan.request), *_case_cells(case)) for case in plan.what_if]


def case_words(case: WhatIf, request: PlanRequest) -> str:
    """Describe a lift other than the requested one."""
    name = CASE_NAMES[case.name]
    return name if case.lift == 0 else f"{name} ({lift_words(request.outcome, case.lift)})"


def _case_cells(case: WhatIf) -> Cells:
    forecast = case.forecast
    if forecast is None:
        return ("-", "-", "-", "-")
    return (
        estimate(forecast.days),
        estimate(forecast.cost),
        decided_words(forecast),
        percent(forecast.wrong.mean) if forecast.simulated and case.lift != 0 else "-",
    )
