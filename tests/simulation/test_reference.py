"""Figures that are known from elsewhere, at 20,000 runs and three standard errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bascule as bs

pytestmark = pytest.mark.slow

RUNS = 20_000

TABLE = {
    (4, 1.5): (21.0, 519.6),
    (4, 2): (26.4, 265.2),
    (4, 4): (38.9, 149.6),
    (4, 32): (58.3, 124.8),
    (12, 1.5): (45.7, 1143.5),
    (12, 2): (56.6, 562.9),
    (12, 4): (82.0, 311.6),
    (12, 32): (121.4, 259.2),
    (20, 1.5): (69.4, 1751.6),
    (20, 2): (85.8, 852.7),
    (20, 4): (124.0, 469.7),
    (20, 32): (182.9, 390.3),
}
"""(log(1/delta), alpha) -> regret, decision time; 4,000,000 runs a cell, means 0 and 1."""

ROUNDING = 0.05


def run(rule: Any, log_inverse_delta: float, seed: int) -> bs.simulation.Simulation:
    delta = math.exp(-log_inverse_delta)
    design = bs.Design(["a", "b"], bs.Gaussian(1), rule, delta=delta)
    return bs.simulate(design, [0, 1], runs=RUNS, seed=seed)


@pytest.mark.parametrize(("cell", "figures"), TABLE.items(), ids=str)
def test_ucb_alpha(cell: tuple[float, float], figures: tuple[float, float]) -> None:
    summary = run(bs.UCB(cell[1]), cell[0], seed=2019).summary()
    for column, figure in zip(("regret", "decision_time"), figures, strict=True):
        assert abs(summary[column].mean - figure) <= 3 * summary[column].se + ROUNDING


@pytest.mark.parametrize(
    ("rule", "regret", "time"), [(bs.ETC(), 58.5, 117), (bs.ETCPrime(), 129, 259)]
)
def test_etc(rule: Any, regret: float, time: float) -> None:
    result = run(rule, 12, seed=2019)
    for column, figure, rounding in (
        (result.regret, regret, 0.5),
        (result.decision_time, time, 0.5),
    ):
        # The figures come from 1,000 runs, whose own error is the larger part.
        se = float(np.std(column)) * math.sqrt(1 / 1000 + 1 / RUNS)
        assert abs(float(np.mean(column)) - figure) <= 3 * se + rounding


@pytest.mark.parametrize("rule", [bs.UCB(1.5), bs.UCB(2), bs.UCB(32), bs.ETC(), bs.ETCPrime()])
@pytest.mark.parametrize(("gap", "runs"), [(0.3, 4000), (0.05, 400)])
def test_wrong_decisions_stay_within_the_promise(rule: Any, gap: float, runs: int) -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), rule, error=0.05, sides=1)
    result = bs.simulate(design, [0, gap], runs=runs, seed=7)
    assert result.undecided == 0
    assert result.error_rate <= 0.05


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.ETC(), bs.ETCPrime()])
@pytest.mark.parametrize("error", [0.05, 0.2])
def test_the_hardest_gaps_are_wrong_most_often_and_still_within_the_promise(
    rule: Any, error: float
) -> None:
    """Tiny gaps with a cap: whatever is decided by then is close to pure chance."""
    design = bs.Design(["a", "b"], bs.Gaussian(1), rule, error=error, max_units=20_000, sides=1)
    result = bs.simulate(design, [0, 0.04], runs=4000, seed=9)
    assert result.error_rate <= error


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.ETC()])
def test_without_a_difference_few_tests_ever_decide(rule: Any) -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), rule, error=0.05, max_units=20_000, sides=1)
    result = bs.simulate(design, [0, 0], runs=4000, seed=9)
    # Each of the two wrong claims has its own five percent.
    assert result.error_rate <= 2 * 0.05
    assert result.wrong.sum() + result.undecided == 4000


def test_a_delta_that_proves_nothing_is_seen_to_be_wrong_often() -> None:
    """What the tests above look for is there to be found when nothing is promised."""
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.ETC(), delta=0.5, max_units=2000)
    assert design.calibration.error > 0.9
    assert bs.simulate(design, [0, 0], runs=4000, seed=9).error_rate > 0.15


def test_many_arms_keep_the_promise() -> None:
    design = bs.Design(list("abcdef"), bs.Gaussian(1), bs.UCB(2), error=0.1, sides=1)
    result = bs.simulate(design, [0.2, 0, 0, 0, 0, 0.1], runs=300, seed=3)
    assert result.error_rate <= 0.1


def test_regret_grows_with_alpha_and_decision_time_falls() -> None:
    results = [run(bs.UCB(alpha), 12, seed=1).summary() for alpha in (1.2, 1.5, 2, 4, 32)]
    regrets = [r["regret"].mean for r in results]
    times = [r["decision_time"].mean for r in results]
    assert regrets == sorted(regrets)
    assert times == sorted(times, reverse=True)
