"""Tests with an information horizon: their error, power and duration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bascule as bs

pytestmark = pytest.mark.slow

RUNS = 1000


def played(
    rule: bs.Tilt, outcome: Any, means: list[float], **more: Any
) -> bs.simulation.Simulation:
    design = bs.Design([f"arm {i}" for i in range(len(means))], outcome, rule, sides=1)
    return bs.simulate(design, means, runs=RUNS, seed=3, **more)


@pytest.mark.parametrize("guarantee", ["proven", "gaussian"])
def test_duration_and_power_are_those_of_a_flat_boundary(guarantee: Any) -> None:
    # A quarter of the units that the table in the docs has for half the effect.
    rule = bs.Tilt(1, effect=0.2, power=0.9, guarantee=guarantee)
    found = played(rule, bs.Gaussian(1), [0.0, 0.2])
    power = float((found.winner == 1).mean())
    assert power >= 0.9 - 3 * math.sqrt(0.09 / RUNS)
    mean = float(found.decision_time.mean())
    error = float(found.decision_time.std()) / math.sqrt(RUNS)
    assert mean <= 2510 / 4 * 1.03 + 3 * error
    assert np.quantile(found.decision_time, 0.9) <= 3932 / 4 * 1.05
    assert found.decision_time.max() <= 4 * (3.2415 / 0.2) ** 2 + 2


@pytest.mark.parametrize(
    ("rule", "outcome", "mean"),
    [
        (bs.Tilt(3, effect=0.2, power=0.9, guarantee="gaussian"), bs.Gaussian(1), 0.0),
        (bs.Tilt(8, effect=0.2, power=0.9), bs.Gaussian(1), 0.0),
        (bs.Tilt(1, effect=0.05, power=0.9), bs.Bernoulli(), 0.1),
        (bs.Tilt(4, effect=0.05, power=0.9, baseline=0.1), bs.Bernoulli(), 0.1),
        (bs.Tilt(8, effect=0.2, power=0.9), bs.Numeric(1.0), 0.0),
    ],
    ids=repr,
)
def test_equal_arms_win_no_more_often_than_stated_and_the_test_ends(
    rule: bs.Tilt, outcome: Any, mean: float
) -> None:
    found = played(rule, outcome, [mean, mean])
    for arm in (0, 1):
        assert float((found.winner == arm).mean()) <= 0.05 + 3 * math.sqrt(0.0475 / RUNS)
    assert found.undecided > 0.8 * RUNS


@pytest.mark.parametrize(
    ("rule", "outcome", "means"),
    [
        # Few conversions, and large stakes.
        (bs.Tilt(1, effect=0.3, power=0.9, baseline=0.3), bs.Bernoulli(), [0.3, 0.6]),
        (bs.Tilt(4, effect=0.05, power=0.9, baseline=0.05), bs.Bernoulli(), [0.05, 0.1]),
        (bs.Tilt(8, effect=0.2, power=0.9), bs.Numeric(1.0), [0.0, 0.2]),
    ],
    ids=repr,
)
def test_the_planned_effect_is_found_as_often_as_planned(
    rule: bs.Tilt, outcome: Any, means: list[float]
) -> None:
    found = played(rule, outcome, means)
    assert float((found.winner == 1).mean()) >= 0.9 - 3 * math.sqrt(0.09 / RUNS)


def test_a_covariate_brings_the_horizon_nearer() -> None:
    rule, covariate = bs.Tilt(8, effect=0.2, power=0.9), bs.Covariate("before")
    design = bs.Design(["a", "b"], bs.Numeric(1.0), rule, covariates=[covariate], sides=1)
    equal, better = (
        bs.simulate(design, world=bs.worlds.World(means, correlation=0.7), runs=RUNS, seed=3)
        for means in ([0.0, 0.0], [0.0, 0.2])
    )
    for arm in (0, 1):
        assert float((equal.winner == arm).mean()) <= 0.05 + 3 * math.sqrt(0.0475 / RUNS)
    assert float((better.winner == 1).mean()) >= 0.9 - 3 * math.sqrt(0.09 / RUNS)
    # Of the variance the covariate leaves half.
    known = played(rule, bs.Gaussian(1), [0.0, 0.2])
    assert better.decision_time.mean() < 0.6 * known.decision_time.mean()


def test_five_arms_share_the_error() -> None:
    rule = bs.Tilt(3, effect=1.0, power=0.9)
    found = played(rule, bs.Gaussian(1), [0.0] * 5)
    for arm in range(5):
        assert float((found.winner == arm).mean()) <= 0.05 + 3 * math.sqrt(0.0475 / RUNS)
    found = played(rule, bs.Gaussian(1), [0.0, 0.0, 0.0, 0.0, 1.0])
    # The best arm beats all four with the power that was asked for.
    assert float((found.winner == 4).mean()) >= 0.9 - 3 * math.sqrt(0.09 / RUNS)


def test_many_arms_end_at_the_horizon() -> None:
    rule = bs.Tilt(2, effect=1.0, power=0.9, guarantee="gaussian")
    design = bs.Design([f"arm {i}" for i in range(25)], bs.Gaussian(1), rule, sides=1)
    (*_, last) = bs.trace(design, [0.0] * 24 + [2.0], seed=1)
    assert last.decision is not None
    assert last.decision.arm == 24
    (*_, last) = bs.trace(design, [0.0] * 25, seed=1)
    assert last.decision is None
    ending = bs.progress.ending(design, last.statistics)
    assert ending is not None
    assert ending.kind == "undecided"


def test_many_arms_with_limits_keep_error_and_power() -> None:
    rule = bs.Tilt(2, effect=0.3, power=0.9, baseline=0.2)
    design = bs.Design([f"arm {i}" for i in range(25)], bs.Bernoulli(), rule, sides=1)
    equal, better = (
        bs.simulate(design, [0.2] * 24 + [best], runs=200, seed=3) for best in (0.2, 0.5)
    )
    assert float((equal.winner >= 0).mean()) <= 0.05 + 3 * math.sqrt(0.0475 / 200)
    assert float((better.winner == 24).mean()) >= 0.9 - 3 * math.sqrt(0.09 / 200)
    *_, last = bs.trace(design, [0.2] * 24 + [0.5], seed=3, run=1)
    assert [arm.units for arm in last.statistics.arms] == better.units[1].tolist()


def test_a_trend_and_late_outcomes_leave_the_error_as_it_is() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3, effect=0.3, power=0.9), sides=1)
    world = {"trend": {"kind": "fading", "size": -1.0, "span": 200}, "batch": 20}
    found = bs.simulate(design, [0.0, 0.0], runs=RUNS, seed=2, world=world)
    for arm in (0, 1):
        assert float((found.winner == arm).mean()) <= 0.05 + 3 * math.sqrt(0.0475 / RUNS)
