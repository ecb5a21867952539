"""Static populations in simulation: against plain draws, their error, and what was predicted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp

import bascule as bs
from bascule.core.types import NOBODY, FloatArray
from bascule.research.static.procedure import static_procedure
from bascule.research.static.thresholds import scale
from bascule.simulation.trace import normals

pytestmark = pytest.mark.slow

STOPS: tuple[Any, ...] = ("horizon", "intervals", "looks", "mixture")
EVERY_STAGE = STOPS[1:]


def design(
    stop: Any,
    population: Any = 1000,
    horizon: int | None = 40,
    arms: int = 2,
    spreads: tuple[float, float] = (1.0, 3.0),
    **more: Any,
) -> bs.Design:
    names = [str(i) for i in range(arms)]
    return bs.Design(
        names, bs.Recurrent(*spreads), bs.research.Static(population, horizon, stop=stop), **more
    )


def first_decisions(test: bs.Design, differences: FloatArray) -> tuple[Any, Any]:
    """Winner and stage of runs, from the running mean differences (second arm less first)."""
    rule = test.rule
    assert isinstance(rule, bs.research.Static)
    first, second = rule.sizes(2)
    asked = [
        static_procedure(test).threshold(stage) for stage in range(1, differences.shape[1] + 1)
    ]
    reached = np.abs(differences) >= np.array(asked) / scale(first, second)
    ended = reached.any(axis=1)
    at = np.where(ended, reached.argmax(axis=1), differences.shape[1] - 1)
    ahead = differences[np.arange(len(at)), at] > 0
    return np.where(ended, ahead.astype(int), NOBODY), at + 1


def plain_differences(
    rng: np.random.Generator, runs: int, sizes: tuple[int, int], stages: int, gap: float, draw: Any
) -> FloatArray:
    """Every unit and every outcome drawn, with sigma_unit 1 and sigma_noise 3."""
    means = []
    for size, mean in zip(sizes, (0.0, gap), strict=True):
        units = draw(rng, (runs, size, 1))
        outcomes = mean + units + 3.0 * draw(rng, (runs, size, stages))
        means.append(outcomes.mean(axis=1).cumsum(axis=1) / np.arange(1, stages + 1))
    difference: FloatArray = means[1] - means[0]
    return difference


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    return rng.standard_normal(shape)


def coin(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """1 or -1: as wide as a 1-sub-Gaussian number can be, and not normal at all."""
    return rng.choice([-1.0, 1.0], shape)


@pytest.mark.parametrize("stop", STOPS)
def test_a_mean_and_a_walk_are_as_good_as_every_outcome(stop: Any) -> None:
    runs, sizes, stages, gap = 2000, (12, 8), 20, 1.2
    test = design(stop, sizes, stages)
    drawn = plain_differences(np.random.default_rng(5), runs, sizes, stages, gap, normal)
    winners, times = first_decisions(test, drawn)
    fast = bs.simulate(test, [0.0, gap], runs=20_000, seed=3)
    for arm in (NOBODY, 0, 1):
        share, expected = np.mean(winners == arm), np.mean(fast.winner == arm)
        assert share == pytest.approx(expected, abs=4 * math.sqrt(0.25 / runs))
    assert ks_2samp(times, fast.decision_time).pvalue > 0.001


@pytest.mark.parametrize("stop", STOPS)
def test_a_run_can_be_followed(stop: Any) -> None:
    sizes, means = (300, 400, 300), (0.1, 0.0, 0.5)
    test = design(stop, sizes, 40, arms=3)
    fast = bs.simulate(test, means, runs=6, seed=9)
    for run in range(6):
        noise = normals(9, run)
        centres = [mean + next(noise) / math.sqrt(n) for mean, n in zip(means, sizes, strict=True)]
        walks = [0.0, 0.0, 0.0]
        stage, decided = 0, None
        while decided is None and stage < 40:
            step = 40 if stop == "horizon" else 1
            stage += step
            for arm, size in enumerate(sizes):
                walks[arm] += math.sqrt(step) * 3.0 / math.sqrt(size) * next(noise)
            seen = [centre + walk / stage for centre, walk in zip(centres, walks, strict=True)]
            decided = bs.research.look(test, stage, seen).decision
        assert fast.decision_time[run] == stage
        assert fast.winner[run] == (NOBODY if decided is None else decided.arm)
    assert fast.units.tolist() == [list(sizes)] * 6


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("spreads", [(1.0, 3.0), (0.0, 1.0), (0.1, 10.0), (1.0, 0.0)])
def test_the_error_at_no_gap_and_at_a_small_one(stop: Any, spreads: tuple[float, float]) -> None:
    error, runs = 0.1, 10_000
    allowed = 3 * math.sqrt(error * (1 - error) / runs)
    test = design(stop, 1000, 500, spreads=spreads, error=error)
    null = bs.simulate(test, [0.0, 0.0], runs=runs, seed=1)
    for arm in (0, 1):
        assert np.mean(null.winner == arm) <= error + allowed
    # The gap of a hundredth of the first threshold is lost in the noise.
    gap = 0.01 * bs.research.smallest_gap(test)
    small = bs.simulate(test, [0.0, gap], runs=runs, seed=2)
    assert small.error_rate <= error + allowed
    assert np.mean(small.winner == 1) > np.mean(small.winner == 0)


@pytest.mark.parametrize("stop", ["horizon", "intervals", "looks"])
@pytest.mark.parametrize("sizes", [(1, 1), (3, 9)])
def test_what_is_proven_holds_for_coins(stop: Any, sizes: tuple[int, int]) -> None:
    error, runs, stages = 0.2, 4000, 50
    test = design(stop, sizes, stages, error=error)
    drawn = plain_differences(np.random.default_rng(8), runs, sizes, stages, 0.0, coin)
    winners, _ = first_decisions(test, drawn)
    for arm in (0, 1):
        assert np.mean(winners == arm) <= error + 3 * math.sqrt(error * (1 - error) / runs)


@pytest.mark.parametrize("stop", STOPS)
def test_more_arms_keep_the_error(stop: Any) -> None:
    error, runs = 0.1, 5000
    test = design(stop, [400, 100, 300, 200], 100, arms=4, error=error)
    result = bs.simulate(test, [0.05, 0.0, 0.04, 0.04], runs=runs, seed=7)
    assert result.error_rate <= error + 3 * math.sqrt(error * (1 - error) / runs)


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("spreads", [(1.0, 3.0), (0.1, 10.0)])
def test_bounds_hold(stop: Any, spreads: tuple[float, float]) -> None:
    test = design(stop, 1000, 400, spreads=spreads)
    for gap in (1.01 * bs.research.smallest_gap(test), 2 * bs.research.smallest_gap(test)):
        seen = bs.simulate(test, [gap, 0.0], runs=4000, seed=4)
        promise = bs.theory.bounds(test, gap)
        assert promise.decision_time < math.inf
        kept = (seen.winner == 0) & (seen.decision_time <= promise.decision_time)
        assert kept.mean() >= 0.95
        assert promise.regret == pytest.approx(seen.regret.max())


def test_the_sharper_stops_are_sooner() -> None:
    gap, times = 0.35, {}
    for stop in EVERY_STAGE:
        result = bs.simulate(design(stop, 1000, 200), [0.0, gap], runs=4000, seed=6)
        times[stop] = result.decision_time.mean()
    assert times["looks"] < 0.6 * times["intervals"]
    assert times["mixture"] < 0.6 * times["intervals"]


def test_the_number_of_threads_does_not_matter() -> None:
    test = design("looks", 1000, 40)
    one = bs.simulate(test, [0.0, 0.3], runs=500, seed=2, threads=1)
    two = bs.simulate(test, [0.0, 0.3], runs=500, seed=2, threads=2)
    assert np.array_equal(one.decision_time, two.decision_time)
    assert np.array_equal(one.winner, two.winner)


def test_without_a_horizon_a_run_may_go_on_to_the_limit() -> None:
    result = bs.simulate(design("intervals", 1000, None), [0.0, 0.3], runs=40, seed=2)
    assert 0 < result.undecided < 40
    assert result.decision_time.max() == 100_000


def test_times_are_in_stages() -> None:
    result = bs.simulate(design("looks"), [0.0, 0.3], runs=50)
    assert "stages to decide" in repr(result)
    assert result.plot().axes[1].get_xlabel() == "decision time (stages)"
    assert set(result.to_dict()) >= {"decision_time", "share", "guarantee"}


def test_what_never_ends_is_refused() -> None:
    with pytest.raises(bs.InputError, match="set the horizon of Static") as caught:
        bs.simulate(design("intervals", 1000, None), [0.0, 0.0], runs=5)
    assert caught.value.field == "means"


def test_a_horizon_beyond_memory_is_refused() -> None:
    with pytest.raises(bs.InputError, match="horizon must be at most") as caught:
        bs.simulate(design("looks", 1000, 10**9), [0.0, 1.0], runs=5)
    assert caught.value.field == "horizon"
    late = bs.simulate(design("horizon", 1000, 10**9), [0.0, 1.0], runs=5)
    assert set(late.decision_time) == {10**9}


def test_there_are_no_units_to_follow_one_by_one() -> None:
    with pytest.raises(bs.InputError, match="one by one"):
        next(bs.trace(design("looks"), [0.0, 1.0]))
