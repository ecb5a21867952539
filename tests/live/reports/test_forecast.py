"""Forecasts: of the means as they look, of the arms that are left, and along the knob."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import bascule as bs
from bascule.live.reports.forecast import expectation, knob_of, turns

TILT = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(4))


def seen(units: int, *shares: float) -> bs.progress.Statistics:
    """Arms with as many units each, of which these shares bought."""
    return bs.progress.Statistics(
        tuple(bs.progress.ArmStatistics(units, units * share, units * share) for share in shares)
    )


def test_the_knob_of_a_rule() -> None:
    assert knob_of(TILT) == ("tilt", 4.0)
    assert knob_of(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(3))) == ("alpha", 3.0)
    assert knob_of(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(math.inf))) is None
    assert knob_of(bs.Design(["a", "b"], bs.Gaussian(1), bs.ETC())) is None


def test_where_the_knob_stands_the_forecast_is_that_of_the_status() -> None:
    (turn,) = turns(TILT, seen(500, 0.10, 0.13), 800.0, [4.0])
    assert turn.units == pytest.approx(800.0)


def test_more_tilt_takes_longer_and_costs_less() -> None:
    found = turns(TILT, seen(500, 0.10, 0.13), 800.0, [1.0, 4.0, 8.0])
    units, costs = [turn.units for turn in found], [turn.cost for turn in found]
    assert units == sorted(units)
    assert costs == sorted(costs, reverse=True)


def test_an_arm_that_is_out_is_left_aside() -> None:
    three = replace(TILT, arms=["a", "b", "c"])
    everyone = seen(500, 0.10, 0.13, 0.05)
    two = replace(everyone, dropped=frozenset({2}))
    all_in, left = expectation(three, everyone), expectation(three, two)
    assert all_in is not None
    assert left is not None
    assert len(all_in.units) == 3
    assert left == expectation(replace(TILT, error=0.025), seen(500, 0.10, 0.13))


def test_nothing_is_said_before_every_arm_has_outcomes_or_where_they_are_alike() -> None:
    assert expectation(TILT, bs.progress.Statistics.empty(2)) is None
    assert turns(TILT, seen(500, 0.1, 0.1), 800.0, [4.0]) == ()


def test_a_forecast_goes_on_after_a_named_control_is_beaten() -> None:
    design = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3), control="a")
    arms = [bs.progress.ArmStatistics(40, 40.0 * mean, 60.0) for mean in (-1.0, 0.5, 1.0)]
    beaten = bs.progress.Statistics(tuple(arms), dropped=frozenset({0}))
    assert turns(design, beaten, 100.0, [3.0])
