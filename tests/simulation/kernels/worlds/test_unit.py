"""What a world does to one unit, by hand: its mean, its outcome, and when it can be seen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import bascule as bs
from bascule.core.types import FloatArray
from bascule.simulation.kernels.worlds.unit import (
    arrival,
    drift,
    mean_and_gap,
    outcome_of,
    source_of,
    world_numbers,
)
from bascule.simulation.random import WORDS, WordArray, seed_stream


def numbers(outcome: Any = None, **parts: Any) -> tuple[FloatArray, FloatArray]:
    world = bs.worlds.World(**{"means": [0.0, 1.0], **parts})
    world = world.for_outcome(outcome or bs.Gaussian(1), len(world.start))
    return world_numbers(world), np.array(world.start)


def stream(run: int = 0) -> WordArray:
    streams = np.empty(WORDS, np.uint64)
    with np.errstate(over="ignore"):
        seed_stream(streams, 0, np.uint64(5), np.uint64(run))
    return streams


def test_a_fading_trend_and_a_wave() -> None:
    fading, _ = numbers(trend=bs.worlds.Trend("fading", -0.5, 2000))
    assert drift(fading, 0) == -0.5
    assert drift(fading, 2000) == pytest.approx(-0.5 / math.e)
    wave, _ = numbers(trend=bs.worlds.Trend("wave", 0.5, 100))
    assert drift(wave, 25) == pytest.approx(0.5)
    assert drift(wave, 50) == pytest.approx(0.0)
    still, _ = numbers()
    assert drift(still, 7) == 0.0


def test_a_change_moves_one_arm_and_may_move_the_best() -> None:
    world, means = numbers(change=bs.worlds.Change(0, by=3.0, at=10))
    assert [mean_and_gap(world, means, arm, 9) for arm in (0, 1)] == [(0.0, 1.0), (1.0, 0.0)]
    assert [mean_and_gap(world, means, arm, 10) for arm in (0, 1)] == [(3.0, 0.0), (1.0, 2.0)]


def test_a_common_trend_leaves_the_gap_as_it_is_unless_it_meets_a_limit() -> None:
    world, means = numbers(trend=bs.worlds.Trend("fading", -0.5, 100))
    assert mean_and_gap(world, means, 0, 0) == (-0.5, 1.0)
    coin, means = numbers(
        bs.Bernoulli(), means=[0.1, 0.3], trend=bs.worlds.Trend("fading", -0.2, 100)
    )
    assert mean_and_gap(coin, means, 0, 0) == pytest.approx((0.0, 0.1))


@pytest.mark.parametrize(
    ("parts", "time", "known"),
    [
        ({}, 0, 1),
        ({}, 9, 10),
        ({"delay": bs.worlds.Delay(2)}, 0, 3),
        ({"delay": bs.worlds.Delay(1.5)}, 0, 3),
        ({"batch": 10}, 0, 10),
        ({"batch": 10}, 9, 10),
        ({"batch": 10}, 10, 20),
        ({"batch": 10, "delay": bs.worlds.Delay(3)}, 6, 10),
        ({"batch": 10, "delay": bs.worlds.Delay(3)}, 7, 20),
    ],
)
def test_an_outcome_can_be_seen_after_its_delay_and_with_its_batch(
    parts: dict[str, Any], time: int, known: int
) -> None:
    world, _ = numbers(**parts)
    assert arrival(stream(), world, time, 0.0) == (known, True)


def test_high_outcomes_take_longer() -> None:
    world, _ = numbers(delay=bs.worlds.Delay(4, high_outcomes=5))
    assert arrival(stream(), world, 0, 0.4) == (5, True)
    assert arrival(stream(), world, 0, 0.6) == (21, True)


def test_what_comes_after_the_window_is_missing_when_the_window_ends() -> None:
    world, _ = numbers(delay=bs.worlds.Delay(4, high_outcomes=5, window=19))
    assert arrival(stream(), world, 0, 0.4) == (5, True)
    assert arrival(stream(), world, 0, 0.6) == (20, False)


@pytest.mark.parametrize(("window", "known"), [(None, 11), (30, 41)])
def test_missing_outcomes_are_known_at_once_or_when_the_window_ends(
    window: int | None, known: int
) -> None:
    world, _ = numbers(missing=0.3, delay=bs.worlds.Delay(0, window=window))
    with np.errstate(over="ignore"):
        seen = [arrival(stream(run), world, 10, 0.0) for run in range(2000)]
    assert set(seen) == {(11, True), (known, False)}
    share = sum(not came for _, came in seen) / 2000
    assert abs(share - 0.3) < 4 * math.sqrt(0.21 / 2000)


def test_random_delays_are_exponential() -> None:
    world, _ = numbers(delay=bs.worlds.Delay(1000, "random"))
    with np.errstate(over="ignore"):
        waits = [arrival(stream(run), world, 0, 0.0)[0] - 1 for run in range(3000)]
    assert stats.kstest(np.array(waits) / 1000, "expon").pvalue > 0.001


@pytest.mark.parametrize(
    ("noise", "mean", "expected"),
    [
        (bs.worlds.Normal(2.0), 1.0, stats.norm(1.0, 2.0)),
        (bs.worlds.StudentT(5.0, 2.0), 1.0, stats.t(5.0, 1.0, 2.0 * math.sqrt(3 / 5))),
        (bs.worlds.Beta(4.0, -1.0, 3.0), 1.0, stats.beta(2.0, 2.0, -1.0, 4.0)),
    ],
)
def test_outcomes_are_drawn_around_their_mean(noise: Any, mean: float, expected: Any) -> None:
    values = outcomes(bs.worlds.World([0.0, mean], noise=noise), 1, mean)
    assert stats.kstest(values, expected.cdf).pvalue > 0.001
    assert expected.mean() == pytest.approx(mean)
    assert expected.std() == pytest.approx(noise.spread(mean))


def test_coins_and_points() -> None:
    coins = outcomes(bs.worlds.World([0.2, 0.7], noise=bs.worlds.Coin()), 1, 0.7)
    assert set(coins) == {0.0, 1.0}
    assert abs(coins.mean() - 0.7) < 4 * math.sqrt(0.21 / coins.size)
    world = bs.worlds.World(noise=bs.worlds.Discrete([0, 4], [[0.5, 0.5], [0.25, 0.75]]))
    points = outcomes(world, 1, 3.0)
    assert set(points) == {0.0, 4.0}
    assert abs(points.mean() - 3) < 4 * math.sqrt(3 / points.size)
    # A trend of 0.5 shifts them.
    assert set(outcomes(world, 1, 3.5)) == {0.5, 4.5}


def outcomes(world: bs.worlds.World, arm: int, mean: float) -> FloatArray:
    source = source_of(world, stream())
    with np.errstate(over="ignore"):
        return np.array([outcome_of(source, arm, mean) for _ in range(4000)])
