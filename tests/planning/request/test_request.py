"""PlanRequest: what is meant, and what is refused with one helpful line."""

from __future__ import annotations

from typing import Any

import pytest

import bascule as bs
from bascule import InputError, PlanRequest
from bascule.planning.request.read import plan_request
from bascule.planning.request.words import question_of

SAMPLE = bs.planning.Sample.of([0.0, 1.0, 2.0, 3.0, 4.0] * 4)


def test_the_question_that_is_answered_when_none_is_asked() -> None:
    request = plan_request()
    assert request == PlanRequest()
    assert request.means == (0.05, 0.06)
    assert (request.error, request.units_per_day, request.deadline_days) == (0.05, 5000, 28)
    assert request.max_units == 140_000


def test_a_lift_in_percent_and_one_in_points_are_told_apart() -> None:
    relative, absolute = PlanRequest(lift="1%"), PlanRequest(lift=0.01)
    assert relative.means == (0.05, 0.0505)
    assert absolute.means == (0.05, 0.06)
    assert (
        question_of(relative) == "5 % against 5.05 %: a lift of 0.05 points, +1 % of the baseline"
    )
    assert question_of(absolute) == "5 % against 6 %: a lift of 1 point, +20 % of the baseline"


def test_the_lift_of_other_outcomes_is_in_their_unit() -> None:
    assert question_of(PlanRequest(bs.Gaussian(5), 20, "10%")) == (
        "20 against 22: a lift of 2, +10 % of the baseline"
    )
    assert question_of(PlanRequest(bs.Gaussian(5), 0, 2)) == "0 against 2: a lift of 2"


def test_other_arms_are_at_the_baseline() -> None:
    assert PlanRequest(arms=4).means == (0.05, 0.06, 0.05, 0.05)
    assert PlanRequest(arms=4).gap == pytest.approx(0.01)


def test_a_loss_is_shared_by_all_new_arms_so_that_one_arm_is_best() -> None:
    assert PlanRequest(lift=-0.01, arms=3).means == (0.05, 0.04, 0.04)


def test_each_arm_may_have_a_lift_of_its_own() -> None:
    request = PlanRequest(lift=["20%", 0.005])
    assert request.means == (0.05, 0.06, 0.055)
    assert request.names == ("control", "variant-1", "variant-2")
    assert request.gap == pytest.approx(0.005)


def test_arms_may_have_names() -> None:
    assert PlanRequest(arms=["old", "new"]).names == ("old", "new")


def test_scaling_changes_every_lift() -> None:
    halved = PlanRequest(lift=[0.02, -0.01]).scaled(0.5)
    assert halved is not None
    assert halved.means == (0.05, 0.06, 0.045)


def test_a_lift_that_outcomes_have_no_room_for_cannot_be_reached_by_scaling() -> None:
    assert PlanRequest(baseline=0.5, lift=0.3).scaled(2.0) is None


def test_more_units_than_can_be_followed_are_refused_where_outcomes_recur() -> None:
    with pytest.raises(bs.InputError, match="at most 1e"):
        PlanRequest(bs.Recurrent(1, 1), 0, 1, units_per_day=1e7)


def test_a_whole_request_stands_alone() -> None:
    request = PlanRequest(bs.Gaussian(5), 20, "10%", units_per_day=20)
    assert bs.plan(request, runs=20).request is request
    with pytest.raises(bs.InputError, match="given twice"):
        bs.plan(request, lift=3)
    with pytest.raises(bs.InputError, match="given twice"):
        bs.plan(request, error=0.01)


def test_outcomes_within_limits_have_a_spread_of_their_own() -> None:
    request = PlanRequest(bs.Bounded(0, 100), 20, 3, spread=15)
    noise = request.world.noise
    assert noise is not None
    assert noise.spread(20) == pytest.approx(15)


def test_a_sample_gives_what_is_not_given() -> None:
    request = plan_request(lift="10%", sample=SAMPLE)
    assert request.outcome == bs.Numeric(SAMPLE.sigma)  # which proves nothing from a sample
    assert request.baseline == 2.0
    assert plan_request(bs.Bounded(0, 4), lift=0.1, sample=SAMPLE).spread == SAMPLE.sigma
    assert plan_request(baseline=7, lift=1, sample=SAMPLE).baseline == 7
    assert plan_request(sample=bs.planning.Sample.of([0, 0, 0, 1] * 5)).means == (0.25, 0.3)


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"lift": -0.06}, "lift", "below the 0"),
        ({"lift": 0.96}, "lift", "above the 1"),
        ({"lift": 0}, "lift", "one arm better"),
        ({"lift": [0.01, 0.01]}, "lift", "one arm better"),
        ({"lift": "x"}, "lift", "number"),
        ({"lift": [0.01], "arms": 3}, "lift", "each of 2 arms after the first"),
        ({"baseline": 5}, "baseline", "5 % is 0.05"),
        ({"arms": 1}, "arms", "at least 2"),
        ({"arms": "ab"}, "arms", "list of names"),
        ({"error": 0}, "error", "strictly between 0 and 1"),
        ({"units_per_day": 0}, "units_per_day", "above 0"),
        ({"units_per_day": 1e12}, "units_per_day", "smaller units_per_day"),
        ({"deadline_days": -1}, "deadline_days", "above 0"),
        ({"deadline_days": 0.001}, "deadline_days", "first blocks take 6"),
        ({"spread": 0.1}, "spread", "is for bounded"),
        ({"outcome": "bernoulli"}, "outcome", "must be one of"),
        ({"outcome": bs.Bounded(0, 1), "lift": 0.1, "spread": 0.3}, "spread", "below 0.2179"),
        ({"outcome": bs.Gaussian(5)}, "lift", "lift is missing"),
        ({"outcome": bs.Bounded(0, 1), "baseline": 0.0, "lift": 0.1}, "baseline", "inside"),
    ],
)
def test_nonsense_gets_one_helpful_line(changes: dict[str, Any], field: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        PlanRequest(**changes)
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"outcome": bs.Gaussian(1)}, "lift"),
        ({"outcome": bs.Bernoulli, "lift": 0.1}, "outcome"),
        ({"outcome": bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3))}, "outcome"),
        ({"outcome": bs.Bounded(0, 1), "lift": 0.1}, "baseline"),
        ({"outcome": bs.Bernoulli(), "sample": SAMPLE}, "sample"),
        ({"outcome": bs.Bounded(0, 3), "sample": SAMPLE, "lift": 0.1}, "sample"),
        ({"sample": bs.planning.Sample.of([1.0] * 20)}, "sample"),
    ],
)
def test_what_is_missing_or_does_not_fit_is_named(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        plan_request(**given)
    assert caught.value.field == field


def test_a_plan_for_lower_outcomes() -> None:
    request = plan_request(goal="decrease")
    assert request.means == (0.05, 0.04)
    assert request.best == 0.04
    assert request.gap == pytest.approx(0.01)
    assert request.rival == pytest.approx(0.05)
    assert question_of(request).endswith("-20 % of the baseline; lower is better")
    assert PlanRequest(arms=3, lift="20%", goal="decrease").means == (0.05, 0.06, 0.06)
    assert PlanRequest(goal="decrease").means == (0.05, 0.04)
    assert question_of(PlanRequest(lift="20%", goal="decrease")).endswith("so this lift is a loss")
    made = bs.plan(baseline="50%", lift="-50%", goal="decrease", runs=20)
    assert made.design.goal == "decrease"
    assert made.possible


def test_a_cap_plans_for_amounts_up_to_it() -> None:
    sample = bs.planning.Sample.of([0.0] * 90 + [10.0] * 9 + [500.0], cap="99%")
    request = plan_request(sample=sample, lift="10%", cap="99%")
    assert request.outcome == bs.Bounded(0, sample.high)
    assert request.baseline == pytest.approx(sample.mean)
    assert plan_request(baseline=5, lift=1, cap=50).outcome == bs.Bounded(0, 50)
    with pytest.raises(bs.InputError, match="quantile of earlier outcomes"):
        plan_request(baseline=5, lift=1, cap="99%")
    with pytest.raises(bs.InputError, match="cap does not go with outcome"):
        plan_request(bs.Gaussian(1), lift=1, cap=5)


def test_a_covariate_is_planned_by_name_with_limits_where_outcomes_have_them() -> None:
    request = plan_request(bs.Numeric(2.0), lift=1, covariate="spend", correlation=0.7)
    assert request.covariates == (bs.Covariate("spend"),)
    assert request.world.correlation == 0.7
    assert request.unexplained == pytest.approx(0.51)
    limited = plan_request(covariate="age:18:90", correlation=0.3)
    assert limited.covariates == (bs.Covariate("age", 18, 90, missing=18),)
    assert plan_request(bs.Numeric(2.0), lift=1, correlation=0.5).covariates is not None
    for name, correlation, match in (
        (None, 0.5, "name:low:high"),
        (None, 2.0, "at most 0.999"),
        ("a:b", 0.5, "name:low:high"),
    ):
        with pytest.raises(InputError, match=match):
            plan_request(covariate=name, correlation=correlation)
