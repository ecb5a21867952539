"""The paper's rules with a mixture: as soon and as cheap as they should be, and as rarely wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bascule as bs

pytestmark = pytest.mark.slow

RULES: dict[str, Any] = {
    "radius": bs.UCB(2, radius="mixture"),
    "stop": bs.UCB(2, stop="mixture"),
    "both": bs.UCB(2, radius="mixture", stop="mixture"),
    "etc": bs.ETC(stop="mixture"),
}


def design(rule: Any, arms: int = 2, **more: Any) -> bs.Design:
    given = {"sides": None if "delta" in more else 1, **more}
    return bs.Design([f"arm {i}" for i in range(arms)], bs.Gaussian(1), rule, **given)


@pytest.mark.parametrize(
    ("name", "error", "gap", "regret", "time"),
    [
        ("radius", 0.05, 1.0, 21.5, 180),
        ("radius", 0.001, 1.0, 37.5, 332.5),
        ("radius", 0.05, 0.1, 190.5, 18_500),
        ("radius", 0.001, 0.1, 342.5, 33_500),
        ("stop", 0.05, 1.0, 17, 95),
        ("stop", 0.001, 1.0, 27, 163),
        ("stop", 0.05, 0.1, 149, 10_000),
        ("stop", 0.001, 0.1, 260, 17_000),
        ("both", 0.05, 1.0, 17, 95),
        ("both", 0.001, 1.0, 27, 163),
        ("both", 0.05, 0.1, 149, 10_000),
        ("both", 0.001, 0.1, 260, 17_000),
        ("etc", 0.05, 1.0, 22, 44),
        ("etc", 0.001, 1.0, 38.5, 77),
        ("etc", 0.05, 0.1, 171, 3_450),
        ("etc", 0.001, 0.1, 348, 7_000),
    ],
)
def test_regret_and_time_are_no_higher_than_expected(
    name: str, error: float, gap: float, regret: float, time: float
) -> None:
    runs = 10_000 if gap == 1.0 else 800
    result = bs.simulate(design(RULES[name], error=error), [0.0, gap], runs=runs, seed=12)
    assert result.undecided == 0
    # The reference has whole numbers, and an error of its own.
    for seen, expected in ((result.regret, regret), (result.decision_time, time)):
        assert seen.mean() <= expected + 3.5 * seen.std() / math.sqrt(runs)
    assert result.error_rate <= error


@pytest.mark.parametrize("name", RULES)
def test_more_arms(name: str) -> None:
    means = [0.5, 0.25, 0.25, 0.0, 0.0]
    result = bs.simulate(design(RULES[name], 5), means, runs=400, seed=2)
    paper = bs.simulate(design(bs.UCB(2), 5), means, runs=200, seed=2)
    assert result.error_rate <= 0.05
    assert result.regret.mean() < 0.8 * paper.regret.mean()
    assert result.decision_time.mean() < 0.8 * paper.decision_time.mean()


@pytest.mark.parametrize("name", RULES)
def test_a_small_gap_is_rarely_decided_wrongly(name: str) -> None:
    error, runs = 0.2, 2000
    test = design(RULES[name], error=error, max_units=3000)
    wrong = bs.simulate(test, [0.0, 0.1], runs=runs, seed=4).winner == 0
    assert wrong.mean() <= error + 3 * math.sqrt(error * (1 - error) / runs)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("arms", [2, 4])
def test_equal_arms_are_rarely_told_apart(name: str, arms: int) -> None:
    error, runs = 0.1, 1000
    test = design(RULES[name], arms, error=error, max_units=3000)
    result = bs.simulate(test, [0.0] * arms, runs=runs, seed=4)
    assert 1 - result.undecided / runs <= 2 * error


def test_the_units_of_sigma_do_not_matter() -> None:
    for rule in RULES.values():
        plain = bs.simulate(design(rule), [0.0, 1.0], runs=200, seed=3)
        scaled = bs.Design(["a", "b"], bs.Gaussian(1024.0), rule, sides=1)
        times = bs.simulate(scaled, [0.0, 1024.0], runs=200, seed=3).decision_time
        assert np.mean(times == plain.decision_time) > 0.98


@pytest.mark.parametrize("rule", [RULES["radius"], bs.UCB(5, radius="mixture"), RULES["etc"]])
def test_bounds_hold(rule: Any) -> None:
    test = design(rule, 3, error=0.05)
    promise = bs.theory.bounds(test, [0.5, 1.0])
    seen = bs.simulate(test, [1.0, 0.5, 0.0], runs=1000, seed=9)
    kept = (
        (seen.winner == 0)
        & (seen.decision_time <= promise.decision_time)
        & np.all(seen.units <= np.array(promise.units), axis=1)
    )
    assert kept.mean() >= 0.95
    assert promise.decision_time < bs.theory.bounds(design(bs.UCB(2), 3), [0.5, 1.0]).decision_time


def test_a_table_that_is_too_short_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from bascule.simulation.kernels import intervals as interval_runs

    test = design(RULES["radius"])
    before = bs.simulate(test, [0, 1], runs=100, seed=8)
    monkeypatch.setattr(interval_runs, "SMALLEST_TABLE", 50)
    monkeypatch.setattr(interval_runs, "LARGEST_TABLE", 50)
    after = bs.simulate(test, [0, 1], runs=100, seed=8)
    assert np.mean(before.decision_time == after.decision_time) > 0.99
