"""Forecasts: predictions and simulations say the same, with the deadline in both."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.planning.playing import played

import bascule as bs
from bascule.planning.forecast import (
    design_of,
    forecast_of,
    hopeless,
    predicted,
    predicted_at_zero,
    prediction,
)

REQUEST = bs.PlanRequest(bs.Gaussian(1), 0, 0.5, units_per_day=10, deadline_days=18, sides=1)


@pytest.mark.parametrize("tilt", [1, 3, 8])
def test_predicted_and_played_agree_though_the_deadline_cuts(tilt: float) -> None:
    rule = bs.Tilt(tilt, effect=0.5)
    expected = predicted(REQUEST, rule)
    seen, _ = played(REQUEST, design_of(REQUEST, rule), 2000, seed=5)
    assert expected is not None
    assert 0.5 < seen.decided.mean < 0.95
    assert expected.decided.mean == pytest.approx(seen.decided.mean, abs=0.05)
    assert expected.days.mean == pytest.approx(seen.days.mean, rel=0.1)
    assert expected.cost.mean == pytest.approx(seen.cost.mean, rel=0.15)
    assert expected.p50_days == pytest.approx(seen.p50_days, rel=0.15)


def test_days_without_an_effect_are_finite_if_the_plan_ends_tests_in_time() -> None:
    request, rule = bs.PlanRequest(sides=1), bs.Tilt(3, effect=0.01, power=0.9, baseline=0.05)
    world = request.world_at((0.05, 0.05))
    seen = forecast_of(bs.simulate(design_of(request, rule), world=world, runs=200), request)
    expected = predicted_at_zero(request, rule)
    assert expected is not None
    assert expected.p50_days == pytest.approx(seen.p50_days, rel=0.1)
    assert expected.p90_days == pytest.approx(seen.p90_days, rel=0.1)
    futile = predicted_at_zero(request, replace(rule, futility=0.2))
    assert futile is not None
    assert math.isnan(futile.p50_days)
    assert futile.to_dict()["p50_days"] is None


@pytest.mark.parametrize("window", [None, "7d"])
def test_days_without_an_effect_are_infinite_without_a_horizon(window: str | None) -> None:
    request = bs.PlanRequest(sides=1, window=window)
    expected = predicted_at_zero(request, bs.Tilt(3))
    assert expected is not None
    assert (expected.p50_days, expected.p90_days) == (math.inf, math.inf)


@pytest.mark.slow
def test_a_covariate_also_shortens_a_test_without_an_effect() -> None:
    numbers = {"covariate": "before", "correlation": 0.8, "units_per_day": 2000}
    request = bs.PlanRequest(bs.Numeric(5), 20, "2%", guarantee=("asymptotic"), **numbers)  # type: ignore[arg-type]
    rule = bs.Tilt(1, 0.4, power=0.9)
    expected, world = predicted_at_zero(request, rule), request.world_at((20.0, 20.0))
    seen = forecast_of(bs.simulate(design_of(request, rule), world=world, runs=200), request)
    assert expected is not None
    assert expected.days.mean == pytest.approx(seen.days.mean, rel=0.1)


def test_percentiles_beyond_the_deadline_are_infinite_and_null_in_plain_data() -> None:
    seen, result = played(REQUEST, design_of(REQUEST, bs.Tilt(5, effect=0.5)), 400, seed=1)
    assert seen.p90_days == math.inf
    assert seen.to_dict()["p90_days"] is None
    assert seen.p50_days <= REQUEST.deadline_days
    assert seen.days.mean == pytest.approx(result.decision_time.mean() / 10)
    assert seen.decided.mean == 1 - result.undecided / result.runs


def test_the_interval_holds_the_share() -> None:
    seen, _ = played(REQUEST, design_of(REQUEST, bs.Tilt(3)), 400, seed=1)
    low, high = seen.decided_interval
    assert low < seen.decided.mean < high
    assert high - low == pytest.approx(2 * 1.96 * seen.decided.se, rel=0.05)


def test_theory_is_silent_about_intervals_and_about_when_recurring_outcomes_decide() -> None:
    assert prediction(bs.PlanRequest(sides=1), bs.UCB(2)) is None
    recurring = bs.PlanRequest(bs.Recurrent(1, 1), 0, 1, units_per_day=50, sides=1)
    assert predicted(recurring, bs.ETC(stop="mixture")) is None


def test_recurring_outcomes_are_played_with_the_noise_of_what_comes_between_two_arrivals() -> None:
    """A unit gives 4 outcomes a day and 100 units arrive: 1/25 of an outcome in between."""
    request = bs.PlanRequest(
        bs.Recurrent(1, 2), 0, 1, units_per_day=100, outcomes_per_day=4, sides=1
    )
    assert request.played_outcome == bs.Recurrent(1, 10)
    assert design_of(request, bs.ETC(stop="mixture")).outcome == bs.Recurrent(1, 2)


def test_a_hopeless_test_costs_what_an_even_split_costs_until_the_deadline() -> None:
    request = bs.PlanRequest(bs.Gaussian(1), 0, 0.5, units_per_day=3, deadline_days=8, sides=1)
    seen, _ = played(request, design_of(request, bs.Tilt(1)), 200, seed=1)
    expected = hopeless(request, request.means)
    assert expected.cost.mean == pytest.approx(np.mean(seen.cost.mean), rel=0.1)
    assert expected.decided.mean == 0


def test_wrong_decisions_are_counted() -> None:
    design = design_of(REQUEST, bs.Tilt(1))
    tied = bs.simulate(design, [0.0, 0.0], runs=400, seed=2)
    seen = forecast_of(tied, REQUEST)
    assert seen.wrong.mean == seen.decided.mean > 0
