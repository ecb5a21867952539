from __future__ import annotations

import dataclasses
import inspect
import json
import math
import os
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import bascule as bs

GOOD: dict[str, Any] = {"arms": ["a", "b"], "outcome": bs.Gaussian(1), "rule": bs.UCB(2)}


def design(**changes: Any) -> bs.Design:
    return bs.Design(**{**GOOD, **changes})


def test_the_error_is_five_percent_unless_said() -> None:
    assert design().error == 0.05
    assert design().calibration.guarantee == "proven"


def test_a_design_is_a_value() -> None:
    assert design() == design()
    assert len({design(), design(), design(error=0.01)}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        design().error = 0.1  # type: ignore[misc]


def test_delta_is_reported_with_the_error_it_proves() -> None:
    calibration = design(delta=0.017).calibration
    assert calibration.delta == 0.017
    assert calibration.error == pytest.approx(0.05, rel=0.01)


def test_a_delta_that_proves_nothing_says_so() -> None:
    calibration = design(delta=0.9).calibration
    assert calibration.error == 1.0
    assert calibration.guarantee == "as published"


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"arms": ["a"]}, "arms", "at least 2"),
        ({"arms": ["a", "a"]}, "arms", "'a' occurs twice"),
        ({"arms": "ab"}, "arms", "a list of names"),
        ({"arms": ["a", ""]}, "arms", "named with text"),
        ({"arms": ["a", 3]}, "arms", "named with text"),
        ({"arms": [str(i) for i in range(1001)]}, "arms", "at most 1000"),
        ({"outcome": 1.0}, "outcome", r"Gaussian\(sigma\)"),
        ({"rule": "ucb"}, "rule", r"UCB\(alpha\)"),
        ({"error": 0}, "error", "strictly between 0 and 1"),
        ({"error": 1}, "error", "strictly between 0 and 1"),
        ({"error": math.nan}, "error", "must be a number"),
        ({"error": "low"}, "error", "must be a number"),
        ({"delta": 1.5}, "delta", "strictly between 0 and 1"),
        ({"error": 0.05, "delta": 0.01}, "error", "does not go with delta"),
        ({"max_units": 5}, "max_units", "at least 6"),
        ({"max_units": 10.5}, "max_units", "whole number"),
    ],
)
def test_bad_designs_name_the_field(changes: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(bs.InputError, match=words) as caught:
        design(**changes)
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sigma", [0, -1, math.nan, math.inf, "wide"])
def test_sigma_is_a_positive_number(sigma: Any) -> None:
    with pytest.raises(bs.InputError, match="sigma") as caught:
        bs.Gaussian(sigma)
    assert caught.value.field == "sigma"


@pytest.mark.parametrize("alpha", [0.5, -1, math.nan, "two"])
def test_alpha_is_at_least_one(alpha: Any) -> None:
    with pytest.raises(bs.InputError, match="alpha must be") as caught:
        bs.UCB(alpha)
    assert caught.value.field == "alpha"


def test_alpha_one_needs_a_cap() -> None:
    with pytest.raises(bs.InputError, match="set max_units") as caught:
        design(rule=bs.UCB(1))
    assert caught.value.field == "max_units"
    assert design(rule=bs.UCB(1), max_units=1000).max_units == 1000


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.UCB(math.inf), bs.ETC(), bs.ETCPrime()])
def test_a_design_survives_its_file(rule: Any, tmp_path: Path) -> None:
    before = design(rule=rule, error=0.01, max_units=500)
    before.save(tmp_path / "design.json")
    assert bs.Design.load(tmp_path / "design.json") == before
    # Strict JSON: infinity is a word there, not a bare token.
    json.loads((tmp_path / "design.json").read_text(), parse_constant=pytest.fail)


def test_delta_survives_its_file() -> None:
    before = design(delta=0.01)
    assert bs.Design.from_dict(before.to_dict()) == before


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"rule": {"kind": "ucb", "alpha": 0.5}}, "alpha", "at least 1"),
        ({"rule": {"kind": "thompson"}}, "rule", "'ucb', 'etc', 'etc-prime'"),
        ({"rule": None}, "rule", "rule"),
        ({"colour": "green"}, "colour", "not a field of a design:"),
        ({"rule": {"kind": "etc", "alpha": 2}}, "alpha", "not a field of a design's rule"),
        ({"error": "x"}, "error", "must be a number"),
        ({"arms": ["a", "a"]}, "arms", "twice"),
        ({"outcome": {"kind": "gaussian", "sigma": -1}}, "sigma", "above 0"),
    ],
)
def test_bad_design_files_name_the_field(changes: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(bs.InputError, match=words) as caught:
        bs.Design.from_dict({**design().to_dict(), **changes})
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


def test_a_missing_field_is_named() -> None:
    data = design().to_dict()
    del data["rule"]
    with pytest.raises(bs.InputError, match="rule is missing"):
        bs.Design.from_dict(data)


def test_files_that_cannot_be_read_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(bs.InputError, match="No such file"):
        bs.Design.load(tmp_path / "none.json")
    broken = tmp_path / "broken.json"
    broken.write_text('{"arms": [')
    with pytest.raises(bs.InputError, match="not valid JSON"):
        bs.Design.load(broken)
    broken.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(bs.InputError, match="not a text file"):
        bs.Design.load(broken)
    broken.write_text("[1, 2]")
    with pytest.raises(bs.InputError, match="design"):
        bs.Design.load(broken)


def test_a_design_is_saved_to_a_file_that_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(bs.InputError, match="path must name a file"):
        design().save(tmp_path)
    with pytest.raises(bs.InputError, match=r"there is no folder .*none"):
        design().save(tmp_path / "none" / "design.json")


def test_a_design_for_lower_outcomes_says_so_and_survives_plain_data() -> None:
    lower = design(goal="decrease", control="b")
    assert bs.Design.from_dict(lower.to_dict()) == lower
    assert "goal='decrease'" in repr(lower)
    assert (lower.control_arm, design().control_arm) == ("b", "a")
    # Designs of the first edition look as before.
    assert "goal" not in design().to_dict()
    assert "goal" not in repr(design())


@pytest.mark.parametrize(("field", "value"), [("goal", "lower"), ("control", "c")])
def test_a_goal_or_a_control_that_does_not_exist_is_refused(field: str, value: str) -> None:
    with pytest.raises(bs.InputError, match=f"{field} must be"):
        design(**{field: value})


def test_two_sides_halve_the_error_of_each() -> None:
    both = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.05)
    half = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.025, sides=1)
    assert both.calibration == half.calibration
    assert bs.Design.from_dict(both.to_dict()) == both
    *_, last = bs.trace(both, means=[0.0, 1.0], seed=1)
    (effect,) = bs.progress.effects(both, last.statistics)
    assert effect.level == pytest.approx(0.95)
    assert last.decision is not None
    assert last.decision.error == 0.025


def test_two_sides_are_the_default_and_are_written_down() -> None:
    two = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), sides=2)
    assert two == bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
    assert two.to_dict()["sides"] == 2
    assert "sides" not in repr(two)
    one = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), sides=1)
    assert one.to_dict()["sides"] == 1
    assert "sides=1" in repr(one)
    assert bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=0.01).sides is None


def test_guardrails_have_one_side_and_secondary_metrics_two() -> None:
    metrics = [
        bs.Metric("harm", bs.Bernoulli(), margin=0.1, error=0.05),
        bs.Metric("shown", bs.Bernoulli(), role="secondary", error=0.05),
    ]
    whole = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), metrics=metrics)
    assert [one.calibration.error for one in whole.metric_designs] == [0.05, 0.025]
    assert [one.calibration.error for one in whole.harm_designs if one] == [0.05]


@pytest.mark.parametrize("sides", [0, 3, True, "2", 1.5])
def test_other_sides_are_refused(sides: Any) -> None:
    with pytest.raises(bs.InputError, match="sides must be"):
        bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), sides=sides)


def test_sides_belong_to_an_error() -> None:
    with pytest.raises(bs.InputError, match="sides does not go with delta"):
        bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=0.01, sides=2)


def test_arms_removed_by_hand_are_judged_within_the_error_of_one_side() -> None:
    arms = ["a", "b", "c", "d"]
    both = bs.Design(arms, bs.Gaussian(1), bs.Tilt(3), error=0.05)
    half = bs.Design(arms, bs.Gaussian(1), bs.Tilt(3), error=0.025, sides=1)
    assert both.stricter.calibration == half.stricter.calibration


@pytest.mark.parametrize("value", [bs.Design, bs.Tilt, bs.Measure])
def test_help_explains_every_field_with_its_type_and_default(value: Any) -> None:
    listed = set(re.findall(r"- `(\w+)`:", inspect.getdoc(value) or ""))
    assert listed == {field.name for field in fields(value)} - {"kind"}
    assert "Annotated" not in str(inspect.signature(value))


def test_a_design_can_be_saved_into_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        design().save(pipe)
        assert bs.Design.from_dict(json.loads(os.read(reader, 10_000))) == design()
    finally:
        os.close(reader)
