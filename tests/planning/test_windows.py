"""Conversion windows in plans: what is predicted is what tests with late outcomes show."""

from __future__ import annotations

import pytest

import bascule as bs
from bascule.planning.forecast import (
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


def ending(tilt: float) -> bs.Tilt:
    """Tilted blocks with a horizon for 5 % against 6 %."""
    return bs.Tilt(tilt, effect=0.01, power=0.9, baseline=0.05)


def played(request: bs.PlanRequest, rule: bs.Tilt) -> tuple[float, float, float, float, float]:
    """Days and cost with their standard errors, and the day by which 90 % are decided."""
    design = played_design(request, design_of(request, rule))
    result = bs.simulate(design, runs=RUNS, seed=4, world=request.world)
    seen = forecast_of(result, request.units_per_day)
    return seen.days.mean, seen.days.se, seen.cost.mean, seen.cost.se, seen.p90_days


@pytest.mark.parametrize(("tilt", "cost"), [(3, 219), (8, 203)])
def test_a_week_of_waiting_is_predicted_and_played(tilt: int, cost: int) -> None:
    """Without any freeze of enrolment such tests take 9.6 days, 90 % by day 11.1.

    The reach of a horizon may change by up to 7 % of the 2.6 days without the window.
    """
    request, rule = bs.PlanRequest(window="7d"), ending(tilt)
    days, days_se, lost, lost_se, nine = played(request, rule)
    assert days == pytest.approx(9.6, abs=0.2 + 3 * days_se)
    assert nine == pytest.approx(11.1, abs=0.4)
    assert lost == pytest.approx(cost, abs=0.2 * 5000 * 0.005 + 3 * lost_se)
    expected = predicted(request, rule)
    assert expected is not None
    assert expected.days.mean == pytest.approx(days, rel=0.03)
    assert expected.p90_days == pytest.approx(nine, rel=0.05)
    assert expected.cost.mean == pytest.approx(lost, rel=0.05)


def test_a_window_shorter_than_the_test_delays_the_tilt() -> None:
    request, rule = bs.PlanRequest(window="2d"), ending(8)
    days, days_se, lost, lost_se, _ = played(request, rule)
    expected = predicted(request, rule)
    assert expected is not None
    assert expected.days.mean == pytest.approx(days, rel=0.05, abs=3 * days_se)
    assert expected.cost.mean == pytest.approx(lost, rel=0.05, abs=3 * lost_se)


def test_enrolment_that_ends_before_the_deadline_costs_no_more_and_waits() -> None:
    """Half of the 28 days is window: every test decides after its enrolment has ended."""
    request, rule = bs.PlanRequest(window="14d"), ending(3)
    days, _, lost, lost_se, nine = played(request, rule)
    assert 14 < days < nine < 28
    assert lost == pytest.approx(70_000 * 0.005)
    assert lost_se == 0.0
    expected = predicted(request, rule)
    assert expected is not None
    assert expected.days.mean == pytest.approx(days, rel=0.03)
    assert expected.cost.mean == pytest.approx(lost)


def test_nothing_says_fewer_days_than_the_window() -> None:
    plan = next(stages(bs.PlanRequest(window="7d"), threads=1))
    days = [point.forecast.days.mean for point in plan.points]
    days += [point.zero.days.mean for point in plan.points if point.zero is not None]
    assert min(*days, plan.fixed_horizon.days, plan.even_split.days.mean) > 7
    assert plan.reach.deadline_days is not None
    assert plan.reach.deadline_days > 7
    without = fixed_horizon(bs.PlanRequest())
    assert plan.fixed_horizon.days == pytest.approx(without.days + 7)
    assert plan.fixed_horizon.cost == without.cost
    zero = predicted_at_zero(bs.PlanRequest(window="7d"), ending(3))
    assert zero is not None
    assert zero.days.mean > plan.fixed_horizon.days - 1


def test_the_recommended_design_is_measured_where_that_is_certain() -> None:
    plan = next(stages(bs.PlanRequest(window="7d"), threads=1))
    assert plan.design.measure == bs.Measure("7d", "any")
    assert plan.design.max_units == 21 * 5000
    assert bs.Design.from_dict(plan.design.to_dict()) == plan.design
    assert "known 7 days after the assignment" in conditions(plan.request)
    amounts = bs.PlanRequest(bs.Gaussian(5), 20, "10%", window="7d", units_per_day=40)
    assert design_of(amounts, bs.Tilt(3)).measure is None


def test_a_metric_beside_is_measured_as_well() -> None:
    failed = bs.Metric("failed", bs.Bernoulli(), goal="decrease", margin=0.01, baseline=0.02)
    plan = next(stages(bs.PlanRequest(window="7d", metrics=[failed]), threads=1))
    assert [metric.measure for metric in plan.design.metrics] == [bs.Measure("7d", "any")]
    assert plan.guardrails["failed"] is not None
    assert plan.guardrails["failed"] > 7


def test_segments_wait_for_one_window_each() -> None:
    weights = {"mobile": 0.75, "desktop": 0.25}
    plan = bs.plan_segments("device", weights, bs.Bernoulli(), 0.1, "50%", runs=20, window="2d")
    days = plan.expected_days
    assert (days["desktop"] - 2) / (days["mobile"] - 2) == pytest.approx(3)


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
    found = [reach(bs.PlanRequest(window="7d", units_per_day=rate)) for rate in (5e3, 5e5)]
    assert [one.deadline_days is not None and one.deadline_days > 7 for one in found] == [True] * 2
