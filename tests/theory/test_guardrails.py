"""How long guardrails take, against simulated ones."""

from __future__ import annotations

import pytest

import bascule as bs
from bascule.planning.request.read import plan_request
from bascule.planning.search.stages import stages
from bascule.theory.guardrails import metric_spread, units_within_margin


def test_the_expected_units_are_about_those_of_simulated_tests() -> None:
    speed = bs.Metric("speed", bs.Gaussian(1), margin=0.8, baseline=0.0, harm="never")
    design = bs.Design(
        ["control", "b"], bs.Gaussian(1), bs.Tilt(1), metrics=[speed], max_units=400, sides=1
    )
    expected = units_within_margin(design, speed)
    assert expected is not None
    # The primary metric is decided long before, so that all of the time is the guardrail's. So few
    # runs take less time than to compile a loop.
    played = bs.simulate(design, [0.0, 3.0], runs=60, seed=5, engine="plain")
    assert played.decision_time.mean() == pytest.approx(expected, rel=0.25)


def test_half_the_margin_takes_four_times_as_long() -> None:
    def units(margin: float) -> float:
        metric = bs.Metric("speed", bs.Gaussian(1), margin=margin)
        design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), metrics=[metric], sides=1)
        needed = units_within_margin(design, metric)
        assert needed is not None
        return needed

    assert units(0.05) / units(0.1) == pytest.approx(4.0, rel=0.2)


def test_what_is_not_known_is_not_guessed() -> None:
    unknown = bs.Metric("bounced", bs.Bernoulli(), margin=0.01)
    assert metric_spread(unknown) is None
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), metrics=[unknown], sides=1)
    assert units_within_margin(design, unknown) is None


def test_a_plan_says_what_guardrails_take() -> None:
    bounced = bs.Metric("bounced", bs.Bernoulli(), goal="decrease", margin=0.02, baseline=0.3)
    made = next(stages(plan_request(baseline=0.05, lift="40%", metrics=[bounced])))
    assert made.design.metrics == (bounced,)
    days = made.guardrails["bounced"]
    assert days is not None
    assert days > 0.0
    assert "Guardrail bounced (margin 2 points): about" in repr(made)
    assert made.to_dict()["guardrail_days"] == made.guardrails
