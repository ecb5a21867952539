"""Conversion windows in plans: what is predicted is what tests with late outcomes show."""

from __future__ import annotations

import pytest

import bascule as bs
from bascule.planning.forecast import (
    Forecast,
    design_of,
    forecast_of,
    played_design,
    predicted,
    predicted_at_zero,
)
from bascule.planning.search.fixed_horizon import fixed_horizon
from bascule.planning.search.reach import reach
from bascule.planning.search.stages import stages
from bascule.presentation.plan.text import conditions

RUNS = 300

RESUMED = 0.08
"""By how much more than predicted a test with a window may cost, as a share of its cost.

Enrolment ends once the units under way suffice for the horizon, which follows the spread of the
outcomes. Predictions know the spread. A test estimates it, from few outcomes at first, and enrols
again whenever the estimate exceeds all before it: 5 to 6 % more units in these tests.
"""


def ending(tilt: float) -> bs.Tilt:
    """Tilted blocks with a horizon for 5 % against 6 %."""
    return bs.Tilt(tilt, effect=0.01, power=0.9, baseline=0.05)


def played(request: bs.PlanRequest, rule: bs.Tilt) -> tuple[float, float, float, float, float]:
    """Days and cost with their standard errors, and the day by which 90 % are decided."""
    design = played_design(request, design_of(request, rule))
    result = bs.simulate(design, runs=RUNS, seed=4, world=request.world)
    seen = forecast_of(result, request.units_per_day)
    return seen.days.mean, seen.days.se, seen.cost.mean, seen.cost.se, seen.p90_days


def assert_predicted(expected: Forecast | None, cost: float, cost_se: float) -> Forecast:
    """Check that a test costs what is predicted, or a little more as its enrolment resumes."""
    assert expected is not None
    assert expected.cost.mean - 3 * cost_se <= cost
    assert cost <= (1 + RESUMED) * expected.cost.mean + 3 * cost_se
    return expected


@pytest.mark.parametrize(("tilt", "cost"), [(3, 100), (8, 100)])
def test_a_week_of_waiting_is_predicted_and_played(tilt: int, cost: int) -> None:
    """Such tests take 9.6 days, 90 % by day 11.1, and enrol nobody once their units suffice.

    The reach of a horizon may change by up to 7 % of the 2.6 days without the window.
    """
    request, rule = bs.PlanRequest(window="7d", sides=1), ending(tilt)
    days, days_se, lost, lost_se, nine = played(request, rule)
    assert days == pytest.approx(9.6, abs=0.2 + 3 * days_se)
    assert nine == pytest.approx(11.1, abs=0.4)
    assert lost == pytest.approx(cost, abs=0.2 * 5000 * 0.005 + 3 * lost_se)
    expected = assert_predicted(predicted(request, rule), lost, lost_se)
    assert expected.days.mean == pytest.approx(days, rel=0.03)
    assert expected.p90_days == pytest.approx(nine, rel=0.05)


def test_a_window_shorter_than_the_test_delays_the_tilt() -> None:
    request, rule = bs.PlanRequest(window="2d", sides=1), ending(8)
    days, days_se, lost, lost_se, _ = played(request, rule)
    expected = assert_predicted(predicted(request, rule), lost, lost_se)
    assert expected.days.mean == pytest.approx(days, rel=0.05, abs=3 * days_se)


def test_a_longer_window_costs_no_more_and_waits() -> None:
    """Every test enrols what its horizon needs before the first outcomes are known.

    An undecided one whose enrolment resumed waits for a second window.
    """
    shorter, longer = (bs.PlanRequest(window=window, sides=1) for window in ("7d", "14d"))
    rule = ending(3)
    days, days_se, lost, lost_se, nine = played(longer, rule)
    assert 14 < days < nine < 28
    assert lost == pytest.approx(played(shorter, rule)[2])
    expected = assert_predicted(predicted(longer, rule), lost, lost_se)
    undecided = 1.0 - expected.decided.mean
    assert expected.days.mean - 3 * days_se <= days
    assert days <= expected.days.mean + 14 * undecided + 3 * days_se


def test_nothing_says_fewer_days_than_the_window() -> None:
    plan = next(stages(bs.PlanRequest(window="7d", sides=1), threads=1))
    days = [point.forecast.days.mean for point in plan.points]
    days += [point.zero.days.mean for point in plan.points if point.zero is not None]
    assert min(*days, plan.fixed_horizon.days, plan.even_split.days.mean) > 7
    assert plan.reach.deadline_days is not None
    assert plan.reach.deadline_days > 7
    without = fixed_horizon(bs.PlanRequest(sides=1))
    assert plan.fixed_horizon.days == pytest.approx(without.days + 7)
    assert plan.fixed_horizon.cost == without.cost
    zero = predicted_at_zero(bs.PlanRequest(window="7d", sides=1), ending(3))
    assert zero is not None
    assert zero.days.mean > plan.fixed_horizon.days - 1


def test_the_recommended_design_is_measured_where_that_is_certain() -> None:
    plan = next(stages(bs.PlanRequest(window="7d", sides=1), threads=1))
    assert plan.design.measure == bs.Measure("7d", "any")
    assert plan.design.max_units == 21 * 5000
    assert bs.Design.from_dict(plan.design.to_dict()) == plan.design
    assert "known 7 days after the assignment" in conditions(plan.request)
    amounts = bs.PlanRequest(bs.Gaussian(5), 20, "10%", window="7d", units_per_day=40, sides=1)
    assert design_of(amounts, bs.Tilt(3)).measure is None


def test_a_metric_beside_is_measured_as_well() -> None:
    failed = bs.Metric("failed", bs.Bernoulli(), goal="decrease", margin=0.01, baseline=0.02)
    plan = next(stages(bs.PlanRequest(window="7d", metrics=[failed], sides=1), threads=1))
    assert [metric.measure for metric in plan.design.metrics] == [bs.Measure("7d", "any")]
    assert plan.guardrails["failed"] is not None
    assert plan.guardrails["failed"] > 7


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({"window": "28d"}, "window"),
        ({"window": "0d"}, "window"),
        ({"window": "soon"}, "window"),
        ({"window": "7d", "outcome": bs.Recurrent(1, 1), "baseline": 5, "lift": 1}, "window"),
    ],
)
def test_windows_that_no_test_can_have_are_refused(parts: dict[str, object], field: str) -> None:
    with pytest.raises(bs.InputError) as caught:
        bs.PlanRequest(**parts)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_more_traffic_makes_a_shorter_plan_but_never_shorter_than_the_window() -> None:
    found = [reach(bs.PlanRequest(window="7d", units_per_day=rate, sides=1)) for rate in (5e3, 5e5)]
    assert [one.deadline_days is not None and one.deadline_days > 7 for one in found] == [True] * 2
