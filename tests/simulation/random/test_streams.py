"""The random streams: the words NumPy would give, and normals that are normal."""

from __future__ import annotations

import math
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import bascule as bs
from bascule.core.evidence.radius import radius
from bascule.core.progress import interval_procedure
from bascule.simulation.kernels.compiled import compile_loop
from bascule.simulation.kernels.intervals import build
from bascule.simulation.random import (
    LAYERS,
    NORMAL,
    ROW,
    WORDS,
    advance,
    fill_normals,
    seed_stream,
    uniform,
    ziggurat_table,
)
from bascule.simulation.trace import normals


def wrapping() -> np.errstate:
    """Arithmetic modulo 2^64, of which NumPy's scalars warn."""
    return np.errstate(over="ignore")


def state_of(seed: int, run: int) -> NDArray[Any]:
    streams = np.empty(WORDS, np.uint64)
    with wrapping():
        seed_stream(streams, 0, np.uint64(seed), np.uint64(run))
    return streams


def many_normals(seed: int, run: int, count: int) -> NDArray[Any]:
    return np.array(list(islice(normals(seed, run), count)))


def test_the_words_are_those_of_numpys_generator() -> None:
    streams = state_of(7, 3)
    reference = np.random.SFC64(0)
    reference.state = {
        "bit_generator": "SFC64",
        "state": {"state": streams.copy()},
        "has_uint32": 0,
        "uinteger": 0,
    }
    words, state = [], tuple(streams)
    with wrapping():
        for _ in range(200):
            word, *rest = advance(*state)
            words.append(int(word))
            state = tuple(rest)
    assert words == [int(w) for w in reference.random_raw(200)]


def test_seeding_mixes_as_numpy_does_from_the_same_words() -> None:
    reference = np.random.SFC64(0)
    reference.state = {
        "bit_generator": "SFC64",
        "state": {"state": np.array([7, 3, 0x62617363756C65, 1], np.uint64)},
        "has_uint32": 0,
        "uinteger": 0,
    }
    reference.random_raw(18)
    assert np.array_equal(reference.state["state"]["state"], state_of(7, 3))


def test_different_seeds_and_runs_have_different_streams() -> None:
    states = {tuple(state_of(seed, run)) for seed in range(30) for run in range(30)}
    assert len(states) == 900


def test_neighbouring_runs_are_uncorrelated() -> None:
    first = np.array([many_normals(1, run, 4) for run in range(3000)])
    both = np.corrcoef(np.concatenate([first[:-1].T, first[1:].T]))
    off_diagonal = both[~np.eye(8, dtype=bool)]
    assert np.abs(off_diagonal).max() < 4.5 / math.sqrt(3000)


def test_neighbouring_seeds_and_runs_begin_like_independent_normals() -> None:
    grid = np.array([[many_normals(seed, run, 1)[0] for run in range(60)] for seed in range(60)])
    assert stats.kstest(grid.ravel(), "norm").pvalue > 0.001
    assert stats.kstest(grid.sum(axis=0) / math.sqrt(60), "norm").pvalue > 0.001
    assert stats.kstest(grid.sum(axis=1) / math.sqrt(60), "norm").pvalue > 0.001


def test_uniforms_fill_the_unit_interval() -> None:
    streams = state_of(5, 0)
    with wrapping():
        values = np.array([uniform(streams, 0) for _ in range(5000)])
    assert values.min() >= 0
    assert values.max() < 1
    assert stats.kstest(values, "uniform").pvalue > 0.001


def test_ziggurat_layers_have_equal_areas_and_end_at_the_top() -> None:
    table = ziggurat_table().reshape(LAYERS, ROW)
    edge, scale, low, high = table.T
    widths = scale * 2.0**52
    areas = widths[1:] * (high[1:] - low[1:])
    assert np.allclose(areas, areas[-1], rtol=1e-9)
    assert widths[0] * math.exp(-0.5 * edge[0] ** 2) == np.float64(areas[-1]) or math.isclose(
        widths[0] * math.exp(-0.5 * edge[0] ** 2), areas[-1], rel_tol=1e-9
    )
    assert high[1] == 1.0
    assert np.allclose(low[1:], np.exp(-0.5 * widths[1:] ** 2), rtol=1e-12)


def test_normals_have_the_normal_distribution() -> None:
    values = many_normals(11, 0, 200_000)
    assert stats.kstest(values, "norm").pvalue > 0.001
    n = len(values)
    for power, moment, spread in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs(np.mean(values**power) - moment) < 4 * math.sqrt(spread / n)


def test_normals_have_the_normals_tails() -> None:
    """Beyond the last layer the ziggurat falls back on another method; count what it gives."""
    values = np.abs(many_normals(13, 0, 400_000))
    for edge in (2.5, 3.0, 3.6541528853610088, 4.0):
        expected = 400_000 * math.erfc(edge / math.sqrt(2))
        assert abs(int(np.sum(values > edge)) - expected) < 4 * math.sqrt(expected)


def test_filling_in_two_parts_gives_the_same_as_in_one() -> None:
    table, whole, parts = ziggurat_table(), np.empty(500), np.empty(500)
    with wrapping():
        fill_normals(state_of(3, 9), 0, whole, 0, 500, table)
        streams = state_of(3, 9)
        fill_normals(streams, 0, parts, 0, 123, table)
        fill_normals(streams, 0, parts, 123, 377, table)
    assert np.array_equal(whole, parts)


def test_the_compiled_interval_kernel_is_made_once() -> None:
    two, three = (
        interval_procedure(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(alpha), sides=1))
        for alpha in (2, 3)
    )
    loops = {
        compile_loop(build, procedure.steps, 2, False, NORMAL, radius) for procedure in (two, three)
    }
    assert len(loops) == 1
