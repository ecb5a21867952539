"""Tilted blocks in simulation: the figures they are known by, their error, and determinism."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bascule as bs

pytestmark = pytest.mark.slow

RUNS = 20_000

TABLE = {
    # (tilt, error, gap): regret, decision time; 5,000 runs and fewer, given to three digits.
    (3, 0.05, 1.0): (16.5, 54.5),
    (3, 0.001, 1.0): (28.0, 100.5),
    (3, 0.05, 0.1): (129, 4140),
    (3, 0.001, 0.1): (247, 8830),
    (10, 0.05, 1.0): (14.6, 107.3),
    (10, 0.001, 1.0): (24.1, 211.5),
    (10, 0.05, 0.1): (113.5, 7930),
    (10, 0.001, 0.1): (212, 18550),
}

PAPER = {
    # error, gap: the paper's rules at the delta of its corollary, regret and decision time.
    (0.05, 1.0): [(40, 81), (58, 222), (40, 394), (32, 792)],
    (0.001, 1.0): [(60, 120), (81, 308), (56, 557), (45, 1123)],
    (0.05, 0.1): [(467, 9300), (664, 25000), (444, 45000), (356, 93000)],
    (0.001, 0.1): [(646, 12900), (871, 33000), (603, 61000), (477, 125000)],
}


def simulate(
    rule: Any, means: list[float], error: float = 0.05, **more: Any
) -> bs.simulation.Simulation:
    names = [str(i) for i in range(len(means))]
    test = bs.Design(
        names, bs.Gaussian(1), rule, error=error, max_units=more.pop("cap", None), sides=1
    )
    return bs.simulate(test, means, **{"runs": RUNS, "seed": 11, **more})


@pytest.mark.parametrize(("cell", "figures"), TABLE.items(), ids=str)
def test_regret_and_time(cell: tuple[float, float, float], figures: tuple[float, float]) -> None:
    tilt, error, gap = cell
    summary = simulate(bs.Tilt(tilt), [0, gap], error, runs=RUNS if gap == 1 else 4000).summary()
    for column, figure in zip(("regret", "decision_time"), figures, strict=True):
        assert abs(summary[column].mean - figure) <= 4 * summary[column].se + 0.01 * figure


@pytest.mark.parametrize(("error", "gap"), PAPER)
def test_tilt_three_dominates_every_rule_of_the_paper(error: float, gap: float) -> None:
    ours = simulate(bs.Tilt(3), [0, gap], error, runs=4000)
    for regret, time in PAPER[error, gap]:
        assert ours.regret.mean() < regret
        assert ours.decision_time.mean() < time


@pytest.mark.parametrize(
    ("gap", "error", "regret", "time"),
    [(1, 0.05, 12.5, 38), (1, 0.001, 23.5, 83)],
)
def test_an_effect_pays_where_it_is_right(
    gap: float, error: float, regret: float, time: float
) -> None:
    informed = simulate(bs.Tilt(3, effect=1.0), [0, gap], error)
    assert informed.regret.mean() <= regret
    assert informed.decision_time.mean() <= time


@pytest.mark.parametrize("gap", [0.5, 2.0])
@pytest.mark.parametrize("error", [0.05, 0.001])
def test_an_effect_pays_at_half_and_at_twice_that(gap: float, error: float) -> None:
    plain = simulate(bs.Tilt(3), [0, gap], error)
    informed = simulate(bs.Tilt(3, effect=1.0), [0, gap], error)
    assert informed.regret.mean() < plain.regret.mean()
    assert informed.decision_time.mean() < plain.decision_time.mean()


def test_five_arms() -> None:
    result = simulate(bs.Tilt(3), [0.5, 0.25, 0.25, 0, 0], runs=4000)
    assert result.regret.mean() <= 240
    assert result.decision_time.mean() <= 1650
    assert result.error_rate <= 0.05


@pytest.mark.parametrize("rule", [bs.Tilt(1), bs.Tilt(3), bs.Tilt(10), bs.Tilt(3, effect=1.0)])
def test_wrong_decisions_stay_within_the_promise(rule: Any) -> None:
    for gap, runs in ((0.3, 4000), (0.03, 300)):
        assert simulate(rule, [0, gap], error=0.1, runs=runs).error_rate <= 0.1


@pytest.mark.parametrize("rule", [bs.Tilt(3), bs.Tilt(3, effect=0.1)])
def test_without_a_difference_few_tests_ever_decide(rule: Any) -> None:
    result = simulate(rule, [0, 0], runs=1000, cap=100_000)
    # Each of the two wrong claims has its own five percent.
    assert result.error_rate <= 2 * 0.05
    assert result.undecided + result.wrong.sum() == 1000


@pytest.mark.parametrize("rule", [bs.Tilt(3), bs.Tilt(3, effect=1.0), bs.Tilt(4.4, batch=3)])
@pytest.mark.parametrize("means", [[0.0, 1.0], [0.5, 0.2, 0.2, 0.0], [0.0] * 11 + [1.0]])
def test_compiled_runs_are_the_rule_step_by_step(rule: Any, means: list[float]) -> None:
    names = [str(i) for i in range(len(means))]
    test = bs.Design(names, bs.Gaussian(2), rule, max_units=600, sides=1)
    scaled = [2 * mean for mean in means]
    result = bs.simulate(test, scaled, runs=20, seed=5)
    for run in (0, 7, 19):
        *_, last = bs.trace(test, scaled, seed=5, run=run)
        assert result.units[run].tolist() == [arm.units for arm in last.statistics.arms]
        assert result.winner[run] == (-1 if last.decision is None else last.decision.arm)


def test_threads_do_not_matter() -> None:
    one, two = (simulate(bs.Tilt(3), [0, 1], runs=500, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.units, two.units)
    assert np.array_equal(one.winner, two.winner)


def test_a_block_that_does_not_fit_under_the_cap_is_not_begun() -> None:
    result = simulate(bs.Tilt(3, batch=10), [0, 0.5], runs=50, cap=95)
    assert result.decision_time.max() <= 95
    assert np.all(result.units.sum(axis=1) == result.decision_time)


def test_the_order_within_a_block_is_random_and_fair() -> None:
    """The challenger's place among the units of a full block is anywhere with equal chance."""
    test = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(4), error=1e-12, sides=1)
    places = np.zeros(5)
    for run in range(25):
        arms = [step.arm for step in bs.trace(test, [3.0, 0.0], seed=2, run=run)]
        # Blocks of five from the end, where the tilt is full.
        for end in range(len(arms), 20, -5):
            block = arms[end - 5 : end]
            if block.count(1) == 1:
                places[block.index(1)] += 1
    expected = places.sum() / 5
    assert places.sum() > 100
    assert np.abs(places - expected).max() < 4 * math.sqrt(expected)


@pytest.mark.parametrize("tilt", [1, 3, 10])
@pytest.mark.parametrize(("error", "gap"), [(0.05, 1.0), (0.001, 1.0), (0.05, 0.1), (0.001, 0.1)])
def test_predictions_are_near(tilt: float, error: float, gap: float) -> None:
    test = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(tilt), error=error, sides=1)
    expected = bs.theory.predict(test, gap)
    measured = bs.simulate(test, [0, gap], runs=2000, seed=1)
    assert expected.regret == pytest.approx(measured.regret.mean(), rel=0.25)
    assert expected.decision_time == pytest.approx(measured.decision_time.mean(), rel=0.25)
