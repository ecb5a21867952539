from __future__ import annotations

import math
from typing import Any

import pytest

import bascule as bs

DESIGN = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), sides=1)


@pytest.mark.parametrize(
    ("arguments", "field", "words"),
    [
        ({"means": [0.0]}, "means", "2 arms, but 1 means"),
        ({"means": [0.0, math.nan]}, "means", "must be a number"),
        ({"means": [0.0, math.inf]}, "means", "must be finite"),
        ({"means": [1.0, 1.0]}, "means", "one best arm"),
        ({"means": [0.0, 1e-9]}, "means", "too small"),
        ({"runs": 0}, "runs", "at least 1"),
        ({"runs": 1.5}, "runs", "whole number"),
        ({"seed": -1}, "seed", "at least 0"),
        ({"seed": 2**64}, "seed", "at most"),
        ({"threads": 0}, "threads", "at least 1"),
    ],
)
def test_bad_input_names_the_field(arguments: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(bs.InputError, match=words) as caught:
        bs.simulate(DESIGN, **{"means": [0.0, 1.0], **arguments})
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


def test_a_cap_that_is_certain_is_refused() -> None:
    capped = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), max_units=100, sides=1)
    with pytest.raises(bs.InputError, match="would end nearly every run undecided") as caught:
        bs.simulate(capped, [0.0, 0.01])
    assert caught.value.field == "max_units"


def test_equal_means_can_be_studied_with_a_cap() -> None:
    capped = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), max_units=100, sides=1)
    assert bs.simulate(capped, [0.0, 0.0], runs=50).undecided > 40


def test_alpha_one_runs_to_its_cap() -> None:
    capped = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(1), max_units=2000, sides=1)
    result = bs.simulate(capped, [0.0, 1.0], runs=200)
    assert result.undecided > 0
    assert result.decision_time.max() == 2000
