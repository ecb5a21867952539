"""Rules and outcome models from outside, in plans and simulations: what takes compiled loops."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from tests.core.rules.test_allocation import ARMS, Bold
from tests.test_contract import PAGE

import bascule as bs
from bascule.core.evidence.calibration import STATED
from bascule.core.rules import RULES

pytestmark = pytest.mark.slow

Poisson = PAGE["Poisson"]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    RULES.register(Bold)
    yield
    RULES.forget("test-bold")


def test_a_simulation_shows_whose_claim_a_guarantee_is() -> None:
    played = bs.simulate(bs.Design(ARMS, bs.Gaussian(1), Bold()), [0.0, 1.0], runs=20, seed=1)
    assert played.to_dict()["guarantee"] == STATED
    assert "(stated by its author)" in str(played)


def test_a_plan_shows_the_label_and_recommends_what_is_checked() -> None:
    made = bs.plan(
        bs.Gaussian(1), baseline=0.0, lift=0.5, runs=40, rules=[Bold(0.1)], deadline_days=30
    )
    (point,) = [one for one in made.points if one.rule == Bold(0.1)]
    assert (point.accepted, point.to_dict(chosen=False)["guarantee"]) == (False, STATED)
    assert made.design.calibration.guarantee == "proven"
    assert "Bold_0.1 (stated by its author)" in made.html()


@pytest.mark.parametrize(("most", "baseline", "lift"), [(20, 1.0, 0.3), (20, 3.0, 0.5)])
def test_a_plan_with_counts_is_what_is_played(most: int, baseline: float, lift: float) -> None:
    traffic: dict[str, Any] = {"units_per_day": 500, "deadline_days": 200}
    made = bs.plan(Poisson(most), baseline=baseline, lift=lift, runs=200, **traffic)
    missed = made.prediction_error()
    assert missed is not None
    # Predictions of bets are within a tenth, and so are averages of 200 runs.
    assert max(abs(part) for part in missed) < 0.2
    # It was 4.6 and 2.9 days while the horizon was planned by too small a variance.
    assert made.expected_days.mean < 4.0
    assert f"spread of {math.sqrt(baseline):.4g}" in str(made)


def test_counts_have_the_mean_and_the_limits_that_were_asked_for() -> None:
    asked = {1: (0.5, 1.0), 20: (0.0, 20.0), 170: (85.0,), 999: (998.0,)}
    for most, means in asked.items():
        assert Poisson(most).noise(means).means == pytest.approx(means, abs=1e-9)
    for wrong in (0, -1, 2.5, 1000):
        with pytest.raises(bs.InputError, match="most must be"):
            Poisson(wrong)
