"""Conversion windows in plans: what is predicted is what tests with late outcomes show."""

from __future__ import annotations

from typing import Any

import pytest

import bascule as bs
from bascule.planning.forecast import (
    design_of,
    forecast_of,
    played_design,
    predicted,
    predicted_at_zero,
)
from bascule.planning.search.alternatives import reach, saving_of
from bascule.planning.search.fixed_horizon import fixed_horizon
from bascule.planning.search.stages import stages
from bascule.presentation.plan.question import conditions, traffic_words

RUNS = 400


def ending(tilt: float, futility: float | None = None) -> bs.Tilt:
    """Tilted blocks with a horizon for 20 % against 25 %."""
    return bs.Tilt(tilt, effect=0.05, power=0.9, baseline=0.2, futility=futility)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "rule"),
    [
        ({"window": "7d", "sides": 2}, ending(1, futility=0.2)),
        ({"window": "7d"}, ending(1, futility=0.05)),
        ({"window": "7d"}, ending(3)),
        ({"window": "7d", "share": 0.5}, ending(8)),
        ({"window": "2d"}, ending(8, futility=0.2)),
        ({"window": "14d"}, ending(3)),
    ],
)
def test_predictions_are_what_simulations_show(parts: dict[str, Any], rule: bs.Tilt) -> None:
    """Cost within 5 %, days within 5 % or half of a window of the tests that end undecided.

    Enrolment ends once the units under way suffice for the horizon, which follows the spread of the
    outcomes. Predictions know the spread. A test estimates it, and enrols again when the estimate
    exceeds the plan: it costs 1 to 2 % more, and waits for a second window if it is undecided.
    """
    usual: dict[str, Any] = {"baseline": 0.2, "lift": 0.05, "units_per_day": 700, "sides": 1}
    request = bs.PlanRequest(**{**usual, **parts})
    expected = predicted(request, rule)
    assert expected is not None
    design = played_design(request, design_of(request, rule))
    result = bs.simulate(design, runs=RUNS, seed=4, world=request.world)
    shown = forecast_of(result, request)
    near = 0.05 * expected.cost.mean + 3 * shown.cost.se
    assert shown.cost.mean == pytest.approx(expected.cost.mean, abs=near)
    waits = request.window_days * (1.0 - expected.decided.mean)
    apart = shown.days.mean - expected.days.mean
    assert -0.05 * expected.days.mean < apart < max(0.05 * expected.days.mean, waits / 2)
    assert shown.decided.mean == pytest.approx(0.9, abs=0.02 + 3 * shown.decided.se)
    assert shown.days.mean > request.window_days


@pytest.fixture(scope="module")
def plan() -> bs.planning.Plan:
    """What is said first about a window of a week."""
    return next(stages(bs.PlanRequest(window="7d", sides=1), threads=1))


def test_a_window_is_added_to_what_a_test_takes_without_one() -> None:
    plan = next(stages(bs.PlanRequest(window="7d", sides=1), threads=1))
    without = fixed_horizon(bs.PlanRequest(sides=1))
    assert plan.fixed_horizon.days == pytest.approx(without.days + 7)
    assert min(point.forecast.days.mean for point in plan.points) > 7
    assert plan.fixed_horizon.cost == without.cost
    zero = predicted_at_zero(plan.request, bs.Tilt(3, effect=0.01, power=0.9, baseline=0.05))
    assert zero is not None
    assert zero.days.mean > plan.fixed_horizon.days - 1


def test_the_recommended_design_is_measured_where_that_is_certain(plan: bs.planning.Plan) -> None:
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


def test_windows_that_too_many_units_wait_for_are_said() -> None:
    request = bs.PlanRequest(units_per_day=1e6, deadline_days=60, window="30d", delay="1d")
    assert "1,000,000 units a day" in traffic_words(request.units_per_day)
    assert saving_of(request, bs.Tilt(3)) is None
    with pytest.raises(bs.InputError, match=r"30,000,000 units would wait.*a smaller share"):
        _ = request.world


def test_a_plan_counts_the_longest_window_that_any_metric_has() -> None:
    """As live tests do, in which a unit counts when its last window closes."""
    measures = [bs.Measure(window, "any") for window in ("1d", "14d")]
    quick, slow = (
        bs.Metric(name, bs.Bernoulli(), margin=0.02, baseline=0.05, measure=measure)
        for name, measure in zip(("quick", "slow"), measures, strict=True)
    )
    request = bs.PlanRequest(window="7d", metrics=[quick, slow])
    same = bs.PlanRequest(window="14d")
    assert (request.window_days, request.max_units) == (14.0, same.max_units)
    design = design_of(request, bs.Tilt(3))
    assert design.matures(0.0) == 14 * 86_400.0
    assert [one.measure for one in design.metrics] == measures
    plan = next(stages(request, threads=1))
    assert plan.expected_days.mean == next(stages(same, threads=1)).expected_days.mean
    assert min(days or 0.0 for days in plan.guardrails.values()) >= 14.0
    assert "known 14 days after the assignment, the longest window of its metrics" in conditions(
        request
    )
