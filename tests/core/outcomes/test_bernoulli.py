from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

import bascule as bs

DATA: dict[str, Any] = {"arms": ["a", "b"], "outcome": {"kind": "bernoulli"}}


def design(rule: Any, arms: int = 2, **more: Any) -> bs.Design:
    given = {"sides": None if "delta" in more else 1, **more}
    return bs.Design([str(i) for i in range(arms)], bs.Bernoulli(), rule, **given)


def test_it_is_a_value_with_the_spread_that_every_such_outcome_is_within() -> None:
    assert bs.Bernoulli() == bs.Bernoulli()
    assert (bs.Bernoulli().sigma, bs.Bernoulli().low, bs.Bernoulli().high) == (0.5, 0.0, 1.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        bs.Bernoulli().kind = "gaussian"  # type: ignore[assignment, misc]


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.ETC(), bs.ETCPrime(), bs.Tilt(3, batch=2)])
def test_a_design_survives_its_file(rule: Any, tmp_path: Path) -> None:
    before = design(rule, error=0.01)
    before.save(tmp_path / "design.json")
    assert bs.Design.load(tmp_path / "design.json") == before
    assert before.calibration.guarantee == "proven"


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"outcome": {"kind": "poisson"}}, "outcome", "'gaussian', 'bernoulli'"),
        ({"outcome": {"kind": "bernoulli", "sigma": 1}}, "sigma", "remove it"),
        ({"outcome": None}, "outcome", "outcome"),
        ({"rule": {"kind": "tilt", "effect": 0.1}}, "effect", "give baseline too"),
    ],
)
def test_bad_design_files_name_the_field(changes: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(bs.InputError, match=words) as caught:
        bs.Design.from_dict({**DATA, "rule": {"kind": "tilt"}, **changes})
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


def test_a_file_that_names_no_kind_is_about_gaussian_outcomes() -> None:
    read = bs.Design.from_dict({**DATA, "outcome": {"sigma": 2}, "rule": {"kind": "etc"}})
    assert read.outcome == bs.Gaussian(2)


def test_an_effect_belongs_to_outcomes_with_a_known_spread() -> None:
    with pytest.raises(bs.InputError, match="give baseline too") as caught:
        design(bs.Tilt(3, effect=0.01))
    assert caught.value.field == "effect"


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.Tilt(3)])
@pytest.mark.parametrize("means", [[0.05, 1.1], [-0.1, 0.5]])
def test_means_are_probabilities(rule: Any, means: list[float]) -> None:
    with pytest.raises(bs.InputError, match="between 0 and 1") as caught:
        bs.simulate(design(rule), means, runs=10)
    assert caught.value.field == "means"
    with pytest.raises(bs.InputError, match="between 0 and 1"):
        next(bs.trace(design(rule), means))


@pytest.mark.parametrize("value", [0.5, 2, -1, math.nan])
def test_outcomes_are_zero_or_one(value: float) -> None:
    test = design(bs.UCB(2))
    with pytest.raises(bs.InputError, match="0 or 1") as caught:
        bs.progress.record(test, bs.progress.Statistics.empty(2), 0, value)
    assert caught.value.field == "value"
    assert bs.progress.record(test, bs.progress.Statistics.empty(2), 0, 1).arms[0].total == 1


def test_tilted_blocks_are_predicted_with_the_mean_of_the_best_arm() -> None:
    with pytest.raises(bs.InputError, match="the mean of the best arm") as caught:
        bs.theory.predict(design(bs.Tilt(3)), 0.01)
    assert caught.value.field == "best"
    assert bs.theory.predict(design(bs.Tilt(3)), 0.01, best=0.06).regret > 0
