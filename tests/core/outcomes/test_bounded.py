"""Outcomes within limits: what they accept, and their scale."""

from __future__ import annotations

import pytest

import bascule as bs


def test_the_scale_is_the_width_and_sigma_half_of_it() -> None:
    outcome = bs.Bounded(-1, 3)
    assert (outcome.low, outcome.high, outcome.scale, outcome.sigma) == (-1.0, 3.0, 4.0, 2.0)
    assert bs.Bounded() == bs.Bounded(0, 1)


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (1, 1, "high must be above low, 1 (got 1)"),
        (2, 1, "high must be above low, 2 (got 1)"),
        (float("nan"), 1, "low must be a number"),
        (0, float("inf"), "high must be finite"),
    ],
)
def test_limits_that_are_none_are_refused(low: float, high: float, message: str) -> None:
    with pytest.raises(bs.InputError) as caught:
        bs.Bounded(low, high)
    assert str(caught.value).startswith(message)


def test_values_and_means_outside_are_refused() -> None:
    outcome = bs.Bounded(0, 500)
    for inside in (0.0, 250.0, 500.0):
        outcome.check_value(inside)
        outcome.check_mean(inside)
    with pytest.raises(bs.InputError, match="value must lie between 0 and 500"):
        outcome.check_value(500.01)
    with pytest.raises(bs.InputError, match="means must lie between 0 and 500"):
        outcome.check_mean(-1.0)


def test_a_design_with_limits_survives_its_file() -> None:
    design = bs.Design(["a", "b"], bs.Bounded(0, 500), bs.Tilt(3), sides=1)
    assert bs.Design.from_dict(design.to_dict()) == design
