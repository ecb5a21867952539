"""Draws one at a time: each has the distribution that it is named after."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from bascule.simulation.random import (
    WORDS,
    beta,
    exponential,
    fill_normals,
    gamma,
    normal,
    pick,
    seed_stream,
    student_t,
    ziggurat_table,
)

ZIGGURAT = ziggurat_table()
CELL = np.empty(1)


def stream(seed: int) -> NDArray[np.uint64]:
    streams = np.empty(WORDS, np.uint64)
    with np.errstate(over="ignore"):
        seed_stream(streams, 0, np.uint64(seed), np.uint64(0))
    return streams


def many(draw: Callable[[NDArray[np.uint64]], float], count: int = 10_000) -> NDArray[Any]:
    streams = stream(17)
    with np.errstate(over="ignore"):
        return np.array([draw(streams) for _ in range(count)])


def test_normals_one_at_a_time_are_those_of_a_burst() -> None:
    burst, streams = np.empty(300), stream(3)
    with np.errstate(over="ignore"):
        fill_normals(stream(3), 0, burst, 0, 300, ZIGGURAT)
        single = [normal(streams, CELL, ZIGGURAT) for _ in range(300)]
    assert burst.tolist() == single


def test_exponentials() -> None:
    values = many(exponential)
    assert stats.kstest(values, "expon").pvalue > 0.001
    assert values.max() < 37


@pytest.mark.parametrize("shape", [0.2, 1.0, 7.5])
def test_gammas(shape: float) -> None:
    values = many(lambda streams: gamma(streams, shape, CELL, ZIGGURAT))
    assert stats.kstest(values, stats.gamma(shape).cdf).pvalue > 0.001
    assert abs(values.mean() - shape) < 4 * math.sqrt(shape / values.size)


@pytest.mark.parametrize(("mean", "concentration"), [(0.05, 4.0), (0.5, 1.0), (0.9, 50.0)])
def test_betas(mean: float, concentration: float) -> None:
    values = many(lambda streams: beta(streams, mean, concentration, CELL, ZIGGURAT))
    expected = stats.beta(mean * concentration, (1 - mean) * concentration)
    assert stats.kstest(values, expected.cdf).pvalue > 0.001
    assert abs(values.mean() - mean) < 4 * expected.std() / math.sqrt(values.size)


def test_a_beta_without_room_is_its_mean_and_one_without_concentration_a_coin() -> None:
    assert set(many(lambda streams: beta(streams, 1.0, 4.0, CELL, ZIGGURAT), 5)) == {1.0}
    ends = many(lambda streams: beta(streams, 0.3, 1e-5, CELL, ZIGGURAT), 2000)
    assert set(ends.round(12)) == {0.0, 1.0}
    assert abs(ends.mean() - 0.3) < 4 * math.sqrt(0.21 / ends.size)


@pytest.mark.parametrize("df", [2.5, 3.0, 30.0])
def test_students_t(df: float) -> None:
    values = many(lambda streams: student_t(streams, df))
    assert stats.kstest(values, stats.t(df).cdf).pvalue > 0.001


def test_points_come_with_their_chances() -> None:
    points, chances = np.array([0.0, 10.0, 50.0]), np.cumsum([[1, 0, 0], [0.5, 0.3, 0.2]], axis=1)
    flat = chances.astype(np.float64).ravel()
    assert set(many(lambda streams: pick(streams, points, flat, 0), 100)) == {0.0}
    values = many(lambda streams: pick(streams, points, flat, 3))
    for point, chance in zip(points, (0.5, 0.3, 0.2), strict=True):
        share = float(np.mean(values == point))
        assert abs(share - chance) < 4 * math.sqrt(chance * (1 - chance) / values.size)
