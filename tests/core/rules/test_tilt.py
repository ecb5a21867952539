from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

import bascule as bs


def design(rule: Any, arms: int = 2, **more: Any) -> bs.Design:
    given = {"sides": None if "delta" in more else 1, **more}
    return bs.Design([str(i) for i in range(arms)], bs.Gaussian(1), rule, **given)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"tilt": 0.5}, "tilt"),
        ({"tilt": math.inf}, "tilt"),
        ({"tilt": math.nan}, "tilt"),
        ({"effect": 0.0}, "effect"),
        ({"effect": -1.0}, "effect"),
        ({"batch": 0}, "batch"),
        ({"batch": 1.5}, "batch"),
        ({"power": 0.9}, "effect"),
        ({"effect": 1.0, "power": 1.0}, "power"),
        ({"effect": 1.0, "power": 0.9, "reach": 3.0}, "reach"),
        ({"effect": 1.0, "guarantee": "gaussian"}, "guarantee"),
        ({"effect": 1.0, "power": 0.9, "guarantee": "asymptotic"}, "guarantee"),
        ({"baseline": 0.1}, "baseline"),
        ({"effect": 1.0, "futility": 0.2}, "futility"),
        ({"effect": 1.0, "power": 0.9, "futility": 0.95}, "futility"),
        ({"effect": 1.0, "power": 0.9, "on_futility": "advise"}, "on_futility"),
    ],
)
def test_bad_knobs_name_the_field(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(bs.InputError, match=field) as caught:
        bs.Tilt(**arguments)
    assert caught.value.field == field


def test_each_pair_is_compared_at_its_part_of_the_error() -> None:
    assert design(bs.Tilt(3), error=0.05).calibration.delta == 0.05
    assert design(bs.Tilt(3), 5, error=0.04).calibration.delta == pytest.approx(0.01)
    assert design(bs.Tilt(3), 5).calibration.guarantee == "proven"


def test_the_papers_delta_is_not_for_blocks() -> None:
    with pytest.raises(bs.InputError, match="give error instead") as caught:
        design(bs.Tilt(3), delta=0.01)
    assert caught.value.field == "delta"


def test_blocks_have_no_interval_for_an_arm() -> None:
    test = design(bs.Tilt(3))
    with pytest.raises(bs.InputError, match="not intervals of arms"):
        bs.progress.intervals(test, bs.progress.Statistics.empty(2))
    with pytest.raises(bs.InputError, match="no proven bound on its decision time"):
        bs.theory.bounds(test, 1.0)


@pytest.mark.parametrize(
    "rule",
    [
        bs.Tilt(3),
        bs.Tilt(5.5, effect=0.2, batch=10),
        bs.Tilt(3, effect=0.2, power=0.9, guarantee="gaussian", futility=0.2, on_futility="advise"),
    ],
)
def test_a_tilted_design_survives_its_file(rule: bs.Tilt) -> None:
    before = design(rule, error=0.01)
    assert bs.Design.from_dict(before.to_dict()) == before


@pytest.mark.parametrize(
    ("rule", "outcome", "field"),
    [
        (bs.Tilt(3, effect=0.1), bs.Bernoulli(), "effect"),
        (bs.Tilt(3, effect=0.1), bs.Bounded(0, 1), "effect"),
        (bs.Tilt(3, effect=1.0, power=0.9), bs.Bernoulli(), "effect"),
        (bs.Tilt(3, effect=0.1, power=0.9, guarantee="gaussian"), bs.Bernoulli(), "guarantee"),
        (bs.Tilt(3, effect=0.1, baseline=5.0), bs.Bernoulli(), "baseline"),
        (bs.Tilt(3, effect=0.1, baseline=0.5), bs.Gaussian(1), "baseline"),
        (bs.Tilt(3, effect=0.1, power=0.9, guarantee="proven"), bs.Numeric(1.0), "guarantee"),
    ],
    ids=repr,
)
def test_a_plan_that_does_not_fit_the_outcomes_is_refused(
    rule: bs.Tilt, outcome: Any, field: str
) -> None:
    with pytest.raises(bs.InputError) as caught:
        bs.Design(["a", "b"], outcome, rule)
    assert caught.value.field == field


def test_an_effect_for_many_arms_with_limits_needs_a_horizon() -> None:
    arms, rule = [str(i) for i in range(30)], bs.Tilt(3, effect=0.1, baseline=0.1)
    with pytest.raises(bs.InputError, match="give power too"):
        bs.Design(arms, bs.Bernoulli(), rule)
    planned = bs.Design(arms, bs.Bernoulli(), replace(rule, power=0.9), sides=1)
    assert planned.calibration.guarantee == "proven"
