"""0/1 outcomes in simulation: what bets cost, how often they are wrong, and the paper's rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.simulation.random import WORDS, ZERO_OR_ONE, seed_stream, ziggurat_table

pytestmark = pytest.mark.slow


def simulate(
    rule: Any, means: list[float], error: float = 0.05, **more: Any
) -> bs.simulation.Simulation:
    names = [str(i) for i in range(len(means))]
    test = bs.Design(
        names, bs.Bernoulli(), rule, error=error, max_units=more.pop("cap", None), sides=1
    )
    return bs.simulate(test, means, **{"runs": 2000, "seed": 11, **more})


def test_six_percent_against_five() -> None:
    result = simulate(bs.Tilt(3), [0.05, 0.06], runs=4000)
    regret, time = result.summary()["regret"], result.summary()["decision_time"]
    # Measured apart from the simulator: 61.1 and 19,200, standard errors 0.6 and 180.
    assert abs(regret.mean - 61.1) <= 4 * (regret.se**2 + 0.6**2) ** 0.5
    assert abs(time.mean - 19_200) <= 4 * (time.se**2 + 180**2) ** 0.5
    assert regret.mean + 3 * regret.se <= 72
    assert time.mean + 3 * time.se <= 23_500
    assert result.error_rate <= 0.05


@pytest.mark.parametrize("rule", [bs.Tilt(1), bs.Tilt(3), bs.Tilt(10), bs.Tilt(3, batch=4)])
def test_wrong_decisions_stay_within_the_promise(rule: Any) -> None:
    for means in ([0.3, 0.33], [0.97, 0.98], [0.02, 0.024]):
        result = simulate(rule, means, error=0.1, runs=300)
        assert result.undecided == 0
        # So rare that even the luck of 300 runs stays below what is promised.
        assert result.error_rate <= 0.1


def test_a_batch_costs_little() -> None:
    result = simulate(bs.Tilt(3, batch=100), [0.05, 0.06], runs=1000)
    assert result.regret.mean() <= 72
    assert result.decision_time.mean() <= 23_500
    # Until the cap, whole batches only.
    capped = simulate(bs.Tilt(3, batch=10), [0.05, 0.06], runs=50, cap=4995)
    assert capped.decision_time.max() <= 4995
    assert np.all(capped.decision_time % 10 == 0)


@pytest.mark.parametrize("mean", [0.05, 0.5])
def test_without_a_difference_few_tests_ever_decide(mean: float) -> None:
    result = simulate(bs.Tilt(3), [mean, mean], cap=25_000, runs=1000)
    # Each of the two wrong claims has its own five percent.
    assert 0 < result.error_rate <= 2 * 0.05
    assert result.undecided + result.wrong.sum() == 1000


def test_four_arms() -> None:
    result = simulate(bs.Tilt(3), [0.1, 0.3, 0.1, 0.2], runs=1000)
    assert result.error_rate <= 0.05
    assert result.undecided == 0
    assert result.share[1] == max(result.share)
    tied = simulate(bs.Tilt(3), [0.1, 0.1, 0.1, 0.1], runs=400, cap=8000)
    assert tied.error_rate <= 4 * 0.05


@pytest.mark.parametrize("means", [[0.0, 0.5], [0.0, 1.0], [1.0, 0.4], [1e-9, 0.01]])
def test_certain_and_hopeless_arms(means: list[float]) -> None:
    result = simulate(bs.Tilt(3), means, runs=50)
    assert result.error_rate == 0
    assert result.undecided == 0


@pytest.mark.parametrize("rule", [bs.Tilt(3), bs.Tilt(4.4, batch=3), bs.UCB(2), bs.ETC()])
@pytest.mark.parametrize("means", [[0.1, 0.5], [0.5, 0.2, 0.2, 0.0], [0.1] * 8 + [0.9]])
def test_compiled_runs_are_the_rule_step_by_step(rule: Any, means: list[float]) -> None:
    names = [str(i) for i in range(len(means))]
    test = bs.Design(names, bs.Bernoulli(), rule, max_units=400, sides=1)
    result = bs.simulate(test, means, runs=20, seed=5)
    for run in (0, 19):
        *_, last = bs.trace(test, means, seed=5, run=run)
        assert result.units[run].tolist() == [arm.units for arm in last.statistics.arms]
        assert result.winner[run] == (-1 if last.decision is None else last.decision.arm)


@pytest.mark.parametrize("rule", [bs.Tilt(3), bs.UCB(2)])
def test_threads_do_not_matter(rule: Any) -> None:
    one, two = (simulate(rule, [0.2, 0.3], runs=500, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.units, two.units)
    assert np.array_equal(one.winner, two.winner)


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.UCB(4), bs.ETC(), bs.ETCPrime()])
def test_the_rules_of_the_paper_keep_their_error(rule: Any) -> None:
    assert simulate(rule, [0.5, 0.6], error=0.1, runs=500).error_rate <= 0.1
    assert simulate(rule, [0.5, 0.5], error=0.1, runs=500, cap=5000).error_rate <= 2 * 0.1
    assert simulate(rule, [0.2, 0.5, 0.3], error=0.1, runs=300).error_rate <= 0.1


def test_hits_are_as_frequent_as_their_mean() -> None:
    streams, noise = np.empty(WORDS, np.uint64), np.empty(50_000)
    with np.errstate(over="ignore"):
        seed_stream(streams, 0, np.uint64(3), np.uint64(0))
        ZERO_OR_ONE.fill(streams, 0, noise, 0, noise.size, ziggurat_table())
    assert 0.0 <= noise.min() < noise.max() < 1.0
    for mean in (0.05, 0.5, 0.99):
        hits = np.array([ZERO_OR_ONE.outcome(mean, 0.5, value) for value in noise.tolist()])
        assert set(hits) == {0.0, 1.0}
        assert abs(hits.mean() - mean) <= 4 * (mean * (1 - mean) / hits.size) ** 0.5


def test_a_gap_too_small_to_be_found_is_refused() -> None:
    with pytest.raises(bs.InputError, match="too small"):
        simulate(bs.Tilt(3), [0.5, 0.5000001])
    with pytest.raises(bs.InputError, match="would end nearly every run undecided"):
        simulate(bs.Tilt(3), [0.05, 0.06], cap=500)
    with pytest.raises(bs.InputError, match="one best arm"):
        simulate(bs.Tilt(3), [0.05, 0.05])
