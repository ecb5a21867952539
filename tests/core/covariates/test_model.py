"""Covariates as a design declares them, and as they come with a unit."""

from __future__ import annotations

import math
from typing import Any

import pytest

import bascule as bs
from bascule.core.covariates import known_of

AGE, SPEND = bs.Covariate("age", 0, 100, missing=40), bs.Covariate("spend")


def test_values_come_in_the_order_of_the_design_and_are_counted_where_missing_or_beyond() -> None:
    assert known_of((AGE, SPEND), {"spend": 3, "age": 120}) == ((100.0, 3.0), 0, 1)
    assert known_of((AGE, SPEND), {"spend": None}) == ((40.0, 0.0), 2, 0)
    assert known_of((AGE,), None).missing == 1


@pytest.mark.parametrize(
    "given", [{"ages": 1.0}, {"age": "old"}, {"age": math.nan}, {"age": 10**400}, ["age"], "age"]
)
def test_what_is_no_covariate_is_refused(given: Any) -> None:
    with pytest.raises(bs.InputError) as caught:
        known_of((AGE,), given)
    assert caught.value.field == "covariates"


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"name": ""}, "needs a name of 1 to 100"),
        ({"name": "arm"}, "export"),
        ({"name": "x", "low": 2, "high": 1}, "above low"),
        ({"name": "x", "low": 1, "high": 2}, "missing"),
    ],
)
def test_a_covariate_that_cannot_be_is_refused(given: Any, match: str) -> None:
    with pytest.raises(bs.InputError, match=match):
        bs.Covariate(**given)


def design(outcome: Any, *covariates: Any, rule: Any = None, **options: Any) -> bs.Design:
    return bs.Design(["a", "b"], outcome, rule or bs.Tilt(3), covariates=covariates, **options)


@pytest.mark.parametrize(
    ("outcome", "covariates", "rule", "match"),
    [
        (bs.Gaussian(1), [SPEND], None, r"use Numeric\(\)"),
        (bs.Bernoulli(), [SPEND], None, "needs low and high"),
        (bs.Bernoulli(), [AGE], bs.UCB(2), "compare blocks"),
        (bs.Bernoulli(), [AGE], bs.Tilt(3, effect=0.1, baseline=0.2), "do not go together"),
        (bs.Numeric(), [SPEND, SPEND], None, "different names"),
        (bs.Numeric(), [bs.Covariate(str(i)) for i in range(11)], None, "at most 10"),
        (bs.Numeric(), ["spend"], None, "must be a list"),
    ],
)
def test_designs_that_cannot_have_them_are_refused(
    outcome: Any, covariates: Any, rule: Any, match: str
) -> None:
    with pytest.raises(bs.InputError, match=match):
        design(outcome, *covariates, rule=rule)


@pytest.mark.parametrize(
    "options",
    [
        {"measure_on": True},
        {
            "decides": "guardrails",
            "metrics": [bs.Metric("crash", bs.Numeric(), margin=1, measure=bs.Measure("1d"))],
        },
    ],
    ids=["measured on", "guardrails"],
)
def test_they_go_together_with_what_needs_a_window_or_a_guardrail(options: Any) -> None:
    for rule in (bs.Tilt(3), bs.Tilt(3, effect=0.1, power=0.9)):
        made = design(bs.Numeric(), SPEND, rule=rule, measure=bs.Measure("7d"), **options)
        assert bs.Design.from_dict(made.to_dict()) == made


def test_a_design_with_covariates_survives_plain_data_and_keeps_its_guarantee() -> None:
    proven, estimated = design(bs.Bernoulli(), AGE), design(bs.Numeric(), SPEND)
    assert bs.Design.from_dict(proven.to_dict()) == proven
    assert proven.calibration.guarantee == "proven"
    assert estimated.calibration.guarantee == "asymptotic"
    assert design(bs.Numeric()).covariates is None
