"""A test whose outcomes are to decrease, from the first unit to the analysis of its export."""

from __future__ import annotations

import random

import pytest

import bascule as bs

INFECTED = {"placebo": 0.3, "drug": 0.08}


@pytest.fixture(scope="module")
def trial() -> bs.Experiment:
    """A drug trial counted in infections, up to its decision."""
    design = bs.Design([*INFECTED], bs.Bernoulli(), bs.Tilt(3), goal="decrease", reports="always")
    test = bs.open(":memory:").create("trial", design)
    chance = random.Random(3)
    for i in range(3000):
        arm = test.assign(i)
        test.record(i, float(chance.random() < INFECTED[arm]))
        if test.state == "decided":
            break
    return test


def test_the_drug_wins_a_trial_counted_in_infections(trial: bs.Experiment) -> None:
    status = trial.status()
    assert status.headline.startswith("Ship drug: −")
    assert status.leader == "drug"
    means = {arm.name: arm.mean for arm in status.arms}
    assert means["placebo"] == pytest.approx(0.3, abs=0.15)
    assert means["drug"] == pytest.approx(0.08, abs=0.05)
    (effect,) = status.effects
    assert effect.name == "drug - placebo"
    assert effect.low < effect.difference < effect.high <= 0.0
    assert status.cost is not None
    assert status.cost > 0.0
    units = {arm.name: arm.units for arm in status.arms}
    assert units["drug"] > units["placebo"]


def test_verify_agrees(trial: bs.Experiment) -> None:
    assert trial.verify().agrees


def test_a_log_is_read_with_the_goal_that_is_given() -> None:
    log = {
        "unit": range(4000),
        "arm": ["placebo", "drug"] * 2000,
        "value": [1, 0, 0, 0] * 1000,
        "time": [i // 400 for i in range(4000)],
    }
    assert bs.analyze(log).decision.name == "placebo"  # type: ignore[union-attr]
    found = bs.analyze(log, bs.LogMetric(goal="decrease"))
    assert found.decision is not None
    assert found.decision.name == "drug"
    assert found.cost == pytest.approx(1000.0)
    assert found.design.goal == "decrease"
    assert "lower is better" in str(found).splitlines()
    assert "the lower their mean, the better the arm" in found.html()
