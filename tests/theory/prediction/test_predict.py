"""What is predicted has to happen: on average, and for the share of tests that it names."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import bascule as bs
from bascule.core.errors import InputError
from bascule.core.outcomes.noise import Beta
from bascule.theory import Prediction, mean_path, predict
from bascule.theory.prediction.predict import quick_prediction

WITHIN, WITHIN_FOR_BETS = 0.06, 0.08
"""How far a prediction may be off, beyond three standard errors of the simulation."""

CELLS = [
    (bs.Tilt(1), 0.05, 0.3, 4000),
    (bs.Tilt(3), 0.1, 1.0, 8000),
    (bs.Tilt(3), 0.001, 0.3, 4000),
    (bs.Tilt(3), 0.1, 0.05, 2000),
    (bs.Tilt(10), 0.1, 1.0, 8000),
    (bs.Tilt(10), 0.01, 0.1, 1500),
    (bs.Tilt(3, 0.5), 0.05, 0.5, 4000),
    (bs.Tilt(3, batch=10), 0.05, 0.3, 4000),
]

COINS = [
    (bs.Tilt(1), 0.05, (0.3, 0.2)),
    (bs.Tilt(3), 0.01, (0.12, 0.09)),
    (bs.Tilt(10), 0.05, (0.5, 0.4)),
    (bs.Tilt(3, batch=20), 0.05, (0.3, 0.2)),
]


def check(expected: Prediction, measured: bs.simulation.Simulation, within: float) -> None:
    for value, seen in (
        (expected.regret, measured.regret),
        (expected.decision_time, measured.decision_time),
    ):
        mean, error = float(seen.mean()), float(seen.std()) / math.sqrt(measured.runs)
        assert value == pytest.approx(mean, abs=within * mean + 3 * error)
    for share in (0.25, 0.5, 0.75):
        time = float(np.quantile(measured.decision_time, share))
        assert expected.decided_by(time) == pytest.approx(share, abs=0.1)


@pytest.mark.parametrize(("rule", "error", "gap", "runs"), CELLS)
def test_two_arms_are_predicted_with_their_noise(
    rule: object, error: float, gap: float, runs: int
) -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), rule, error=error, sides=1)  # type: ignore[arg-type]
    measured = bs.simulate(design, [0, gap], runs=runs, seed=2)
    check(predict(design, gap), measured, WITHIN)


@pytest.mark.parametrize(("rule", "error", "means"), COINS)
def test_coins_are_predicted_from_the_best_mean(
    rule: object, error: float, means: tuple[float, float]
) -> None:
    design = bs.Design(["a", "b"], bs.Bernoulli(), rule, error=error, sides=1)  # type: ignore[arg-type]
    measured = bs.simulate(design, means, runs=3000, seed=2)
    check(predict(design, means[0] - means[1], best=means[0]), measured, WITHIN_FOR_BETS)


@pytest.mark.slow
def test_outcomes_within_limits_are_predicted_from_their_noise() -> None:
    design = bs.Design(["a", "b"], bs.Bounded(0, 1), bs.Tilt(3), error=0.05, sides=1)
    # From means around 1/2 such outcomes deviate by 0.2.
    world = bs.worlds.World([0.475, 0.525], noise=Beta(5.25))
    measured = bs.simulate(design, world=world, runs=1500, seed=2)
    check(predict(design, 0.05, noise=0.2), measured, WITHIN_FOR_BETS)
    wider = bs.Design(["a", "b"], bs.Bounded(-5, 5), bs.Tilt(3), error=0.05, sides=1)
    assert predict(wider, 0.5, noise=2.0).units == pytest.approx(
        predict(design, 0.05, noise=0.2).units
    )


def test_the_course_and_the_means_are_of_one_piece() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.05, sides=1)
    expected = predict(design, 0.2)
    assert expected.decision_time == pytest.approx(sum(expected.units))
    assert expected.regret == pytest.approx(0.2 * expected.units[1])
    for share in (0.1, 0.5, 0.9):
        assert expected.decided_by(expected.time_until(share)) == pytest.approx(share)
    times, decided = zip(*expected.course, strict=True)
    mean = float(np.sum((np.array(times)[1:] + times[:-1]) / 2 * np.diff(decided)))
    assert mean == pytest.approx(expected.decision_time, rel=0.02)
    assert expected.decided_by(1) == 0
    assert expected.decided_by(1e9) == pytest.approx(1, abs=1e-3)


def test_the_worked_example_of_the_mean_path() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=math.exp(-20))
    expected = mean_path(design, 1.0)
    assert expected.regret == pytest.approx(85.6, abs=0.05)
    assert expected.decision_time == pytest.approx(882, abs=0.5)
    assert math.isnan(expected.decided_by(800))
    assert math.isnan(expected.time_until(0.5))


@pytest.mark.parametrize("rule", [bs.Tilt(1), bs.Tilt(3), bs.Tilt(8, 0.4, batch=2)])
def test_several_arms_are_predicted_within_a_tenth(rule: bs.design.Rule) -> None:
    gaps, means = (0.4, 0.4, 0.8), [0.8, 0.4, 0.4, 0.0]
    design = bs.Design(list("abcd"), bs.Gaussian(1), rule, error=0.001, sides=1)
    expected = predict(design, gaps)
    measured = bs.simulate(design, means, runs=1000, seed=2)
    # The standard error of a mean over runs is about 1.5 %.
    assert expected.decision_time == pytest.approx(measured.decision_time.mean(), rel=0.1)
    assert expected.regret == pytest.approx(measured.regret.mean(), rel=0.1)
    late = float(np.quantile(measured.decision_time, 0.9))
    assert expected.time_until(0.9) == pytest.approx(late, rel=0.15)


@pytest.mark.slow
def test_several_arms_with_bets_are_predicted_within_a_tenth() -> None:
    design = bs.Design(list("abc"), bs.Bernoulli(), bs.Tilt(3), error=0.05, sides=1)
    expected = predict(design, (0.1, 0.1), best=0.3)
    measured = bs.simulate(replace(design, max_units=100_000), [0.3, 0.2, 0.2], runs=800, seed=2)
    found = measured.winner == 0
    assert expected.decision_time == pytest.approx(measured.decision_time[found].mean(), rel=0.1)
    assert expected.regret == pytest.approx(measured.regret[found].mean(), rel=0.1)


def test_twenty_arms_are_predicted_within_a_tenth() -> None:
    rule = bs.Tilt(3, effect=0.5, power=0.9, guarantee="gaussian")
    design = bs.Design([f"a{i}" for i in range(20)], bs.Gaussian(1), rule, error=0.05)
    expected = predict(design, [0.5] * 19)
    measured = bs.simulate(design, [0.5] + [0.0] * 19, runs=200, seed=2)
    assert expected.decision_time == pytest.approx(measured.decision_time.mean(), rel=0.1)
    assert expected.regret == pytest.approx(measured.regret.mean(), rel=0.1)


ENDING = bs.Tilt(3, 0.05, power=0.9, baseline=0.3, futility=0.2)


@pytest.mark.parametrize(
    ("rule", "means", "cap"),
    [
        (bs.Tilt(5, 0.05, power=0.9, baseline=0.3), (0.35, 0.3), None),
        (ENDING, (0.35, 0.3), None),
        (ENDING, (0.32, 0.3), None),
        (ENDING, (0.3, 0.3), 100_000),
        (bs.Tilt(1), (0.35, 0.3), 2500),
        (bs.Tilt(3), (0.35, 0.3), 3000),
    ],
)
def test_tests_that_end_undecided_are_predicted(
    rule: bs.Tilt, means: tuple[float, float], cap: int | None
) -> None:
    design = bs.Design(["a", "b"], bs.Bernoulli(), rule, error=0.05, max_units=cap)
    expected = predict(design, means[0] - means[1], best=means[0], cap=cap)
    measured = bs.simulate(design, means, runs=2000, seed=2)
    time = measured.decision_time
    error = 3.0 * float(time.std()) / math.sqrt(measured.runs)
    assert expected.decision_time == pytest.approx(time.mean(), abs=0.05 * time.mean() + error)
    decided = float((measured.winner >= 0).mean())
    # Three standard errors of a share, and what a prediction may be off.
    assert expected.decided_by(1e9) == pytest.approx(decided, abs=0.034 + 0.02)
    assert cap is None or max(expected.open_until, expected.course[-1][0]) <= cap + 1e-6


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.UCB(2, stop="mixture"), bs.ETC(), bs.ETCPrime()])
def test_rules_by_intervals_have_a_mean_path_only(rule: bs.design.Rule) -> None:
    design = bs.Design(list("ab"), bs.Gaussian(1), rule, error=0.001, sides=1)
    with pytest.raises(InputError, match="has no prediction: simulate it"):
        predict(design, 0.4)
    measured = bs.simulate(design, [0.4, 0.0], runs=300, seed=2)
    assert measured.predicted() is None
    # A forecast of a live test takes the mean path instead.
    expected = quick_prediction(design, (0.4,), 0.4, None)
    assert expected == mean_path(design, 0.4)
    assert expected.decision_time == pytest.approx(measured.decision_time.mean(), rel=0.15)


def test_what_never_ends_takes_for_ever() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(1), max_units=100, sides=1)
    assert mean_path(design, 1.0).decision_time == math.inf
    coins = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), error=0.05, sides=1)
    assert predict(coins, 1e-7, best=0.5).regret == math.inf


def test_what_a_prediction_needs_is_asked_for() -> None:
    coins = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), error=0.05, sides=1)
    with pytest.raises(InputError, match="best, the mean of the best arm: give it"):
        predict(coins, 0.01)
    limits = bs.Design(["a", "b"], bs.Bounded(0, 1), bs.Tilt(3), error=0.05, sides=1)
    with pytest.raises(InputError, match="with noise: give it"):
        predict(limits, 0.01)


@pytest.mark.parametrize(
    ("outcome", "rule", "gaps", "best", "apart"),
    [
        (bs.Gaussian(1), bs.Tilt(3), (0.1,), 0.1, 0.015),
        (bs.Bernoulli(), bs.Tilt(8), (0.01,), 0.06, 0.015),
        (bs.Bernoulli(), bs.Tilt(3, 0.05, power=0.9, baseline=0.3), (0.05,), 0.35, 0.02),
        (bs.Gaussian(1), bs.Tilt(3), (0.1, 0.2, 0.2), 0.1, 0.05),
    ],
)
def test_a_quick_prediction_is_near_the_one_in_short_steps(
    outcome: bs.design.Outcome,
    rule: bs.design.Rule,
    gaps: tuple[float, ...],
    best: float,
    apart: float,
) -> None:
    design = bs.Design([f"arm {i}" for i in range(len(gaps) + 1)], outcome, rule, sides=1)
    quick, slow = quick_prediction(design, gaps, best, None), predict(design, gaps, best=best)
    assert quick.decision_time == pytest.approx(slow.decision_time, rel=apart)
    assert quick.regret == pytest.approx(slow.regret, rel=2 * apart)
    # Steps are longer indeed.
    assert quick.decision_time != slow.decision_time


@pytest.mark.parametrize(
    ("rule", "gap", "cap"),
    [
        (bs.Tilt(5, batch=100), 0.6, 100),
        (bs.Tilt(5, batch=50), 0.6, 150),
        (bs.Tilt(3, effect=0.3, power=0.8, batch=100), 0.3, 300),
    ],
)
def test_no_test_is_predicted_to_go_beyond_its_cap(rule: bs.Tilt, gap: float, cap: int) -> None:
    found = bs.theory.predict(bs.Design(["a", "b"], bs.Gaussian(1), rule), gap, cap=cap)
    assert found.decision_time <= cap
    assert max(time for time, _ in found.course) <= cap
    assert (found.decided_by(cap) == 0.0) is (cap < 2 * rule.batch)


def test_means_of_0_or_1_outcomes_are_possible_ones() -> None:
    design = bs.Design(["a", "b", "c"], bs.Bernoulli(), bs.Tilt(3))
    with pytest.raises(bs.InputError, match="between 0 and 1"):
        bs.theory.predict(replace(design, arms=["a", "b"]), 0.5, best=0.3)
    with pytest.raises(bs.InputError, match="between 0 and 1"):
        bs.theory.predict(design, [0.1, 0.5], best=0.3)
