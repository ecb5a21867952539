"""The noise of all units at once: the distribution of drawing every outcome, however long."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest

from bascule.core.types import FloatArray, IntArray
from bascule.simulation.kernels.compiled import compile_loop
from bascule.simulation.recurrent.crowds import STEPS, advance, clear, draws, new_memory, tables
from bascule.simulation.recurrent.exponential_sum import ExponentialSum, fit

Loop = Callable[..., None]


def build(fingerprint: str) -> Loop:
    def play(
        memory: FloatArray,
        table: FloatArray,
        arrivals: IntArray,
        normals: FloatArray,
        values: FloatArray,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        clear(memory)
        at = 0
        for stage in range(arrivals.size):
            came = float(arrivals[stage])
            count = draws(memory, 0, table, came)
            values[stage] = advance(memory, 0, table, came, normals[at : at + count])
            at += count

    return play


@lru_cache(maxsize=1)
def compiled() -> Loop:
    return compile_loop(build)


def powers_for(stages: int, accuracy: float = 1e-5) -> ExponentialSum:
    return fit(max(9, stages - 1), accuracy, 1.0)


def table_of(powers: ExponentialSum) -> FloatArray:
    return tables(np.array(powers.nodes), np.array(powers.weights))


def run(
    loop: Loop, powers: ExponentialSum, arrivals: IntArray, normals: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The sum of the noises after each stage, and the memory at the end."""
    memory, values = new_memory(1, powers.terms), np.empty(len(arrivals))
    memory[:] = np.nan
    loop(memory, table_of(powers), arrivals, normals, values)
    return values, memory


def ages(arrivals: IntArray, stage: int) -> FloatArray:
    """The ages, at a stage, of the units that are there."""
    return np.repeat(stage - np.arange(stage + 1) + 1.0, arrivals[: stage + 1])


def random_arrivals(stages: int, probability: float, seed: int) -> IntArray:
    generator = np.random.default_rng(seed)
    crowd = generator.integers(1, 4, stages)
    return np.where(generator.random(stages) < probability, crowd, 0).astype(np.int64)


PATTERNS = {
    "one a stage": np.ones(40, np.int64),
    "now and then": random_arrivals(40, 0.3, 1),
    "one crowd": np.array([5] + 39 * [0]),
    "late": np.array(20 * [0] + [1, 0, 0, 2] + 16 * [0]),
    "after a long time": np.array([2, 1] + 150 * [0] + [1] + 47 * [0]),
}


@pytest.mark.parametrize("arrivals", PATTERNS.values(), ids=PATTERNS.keys())
def test_covariances_between_stages_are_those_of_drawing_every_outcome(arrivals: IntArray) -> None:
    """What each normal adds to each stage gives the covariances without any chance.

    In the last pattern terms fall asleep before the last unit arrives.
    """
    powers = powers_for(len(arrivals), 1e-6)
    rows = np.empty((len(arrivals), 2 * powers.terms * len(arrivals)))
    normals = np.zeros(rows.shape[1])
    for i in range(len(normals)):
        normals[i] = 1.0
        rows[:, i] = run(compiled(), powers, arrivals, normals)[0]
        normals[i] = 0.0
    found = rows @ rows.T
    for late in range(len(arrivals)):
        for early in range(late + 1):
            # Of each unit that is there at the earlier stage the two share the noises until then.
            wanted = np.sum(1.0 / (ages(arrivals, early) + late - early))
            assert found[early, late] == pytest.approx(wanted, rel=2e-6, abs=1e-12)


def test_drawing_every_outcome_gives_the_same_distribution() -> None:
    stages, runs = 60, 4000
    arrivals = random_arrivals(stages, 0.5, 3)
    generator = np.random.default_rng(4)
    every = np.zeros((runs, stages))
    for arrived in np.repeat(np.arange(stages), arrivals):
        noises = generator.normal(size=(runs, stages - arrived))
        every[:, arrived:] += np.cumsum(noises, axis=1) / np.arange(1, stages - arrived + 1)
    powers = powers_for(stages)
    normals = generator.normal(size=(runs, 2 * stages * powers.terms))
    few = np.array([run(compiled(), powers, arrivals, row)[0] for row in normals])
    for stage in (9, 29, 59):
        exact = np.sum(1.0 / ages(arrivals, stage))
        for sample in (every, few):
            assert abs(sample[:, stage].mean()) < 4 * math.sqrt(exact / runs)
            assert abs(sample[:, stage].var() / exact - 1) < 4 * math.sqrt(2 / runs)
    # Fisher's transformation makes the standard error of a correlation the same everywhere.
    gap = np.arctanh(np.corrcoef(every[:, 29], every[:, 59])[0, 1]) - np.arctanh(
        np.corrcoef(few[:, 29], few[:, 59])[0, 1]
    )
    assert abs(gap) < 4 * math.sqrt(2 / (runs - 3))


@pytest.mark.parametrize("probability", [1.0, 0.3, 0.001])
def test_variances_stay_exact_over_a_hundred_thousand_stages(probability: float) -> None:
    stages = 100_000
    arrivals = random_arrivals(stages, probability, 5)
    powers = powers_for(stages)
    nodes, terms = np.array(powers.nodes), powers.terms
    normals = np.random.default_rng(6).normal(size=2 * stages * terms)
    values, memory = run(compiled(), powers, arrivals, normals)
    left = ages(arrivals, stages - 1) - 1.0
    sums = sum(np.power(nodes[:, np.newaxis], some).sum(axis=1) for some in np.split(left, [999]))
    wanted = (1.0 - nodes) * np.array(powers.weights) * sums
    assert memory[0, STEPS, :terms] ** 2 == pytest.approx(wanted, rel=1e-10, abs=1e-18)
    assert np.isfinite(values).all()


@pytest.mark.parametrize("accuracy", [1e-3, 1e-2])
def test_no_variance_is_negative(accuracy: float) -> None:
    """The proof needs positive weights, and a sum that is at most 1 at the first age."""
    for stages in (*range(9, 60, 5), *np.geomspace(60, 10**8, 12).astype(int).tolist()):
        powers = powers_for(stages, accuracy)
        assert min(powers.weights) > 0.0
        assert np.sum(np.array(powers.weights) / np.array(powers.nodes)) < 1.0


def test_nothing_lingers_when_nobody_comes() -> None:
    """Terms fall asleep instead of shrinking into numbers that a processor handles slowly."""
    arrivals = np.array(50 * [1] + 50_000 * [0])
    powers = powers_for(len(arrivals))
    terms, table = powers.terms, table_of(powers)
    normals = np.random.default_rng(7).normal(size=2 * arrivals.size * terms)
    values, memory = run(compiled(), powers, arrivals, normals)
    assert not np.any((np.abs(memory) > 0.0) & (np.abs(memory) < 1e-100))
    assert draws(memory, 0, table, 0.0) < terms // 2
    assert draws(memory, 0, table, 1.0) == 2 * terms
    # The mean of the last noises of 50 units of about the same age.
    assert abs(values[-1]) < 4 * math.sqrt(50 / 50_000)


def test_compiled_gives_what_plain_python_gives() -> None:
    arrivals = np.array([0, 1, 1, 3, 0, 0, 1] + 60 * [0] + [1, 0, 2])
    powers = powers_for(len(arrivals))
    normals = np.random.default_rng(8).normal(size=2 * arrivals.size * powers.terms)
    plain, machine = (run(loop, powers, arrivals, normals) for loop in (build(""), compiled()))
    assert machine[0] == pytest.approx(plain[0], rel=1e-12, abs=1e-12)
    assert machine[1] == pytest.approx(plain[1], rel=1e-12, abs=1e-12)


def test_before_the_first_unit_there_is_no_noise() -> None:
    powers = powers_for(100)
    values, memory = run(build(""), powers, np.zeros(5, np.int64), np.array([math.nan]))
    assert (values == 0.0).all()
    assert draws(memory, 0, table_of(powers), 0.0) == 0


def test_arms_do_not_touch_each_other() -> None:
    powers = powers_for(30)
    terms, table = powers.terms, table_of(powers)
    normals = np.random.default_rng(9).normal(size=(30, 2, 2 * terms))
    patterns = random_arrivals(60, 0.5, 10).reshape(2, 30)

    def play(memory: FloatArray, entry: int, arm: int, stage: int) -> float:
        came = float(patterns[arm, stage])
        # Only the normals that were asked for are used.
        given = np.full(2 * terms, math.nan)
        count = draws(memory, entry, table, came)
        given[:count] = normals[stage, arm, :count]
        return advance(memory, entry, table, came, given)

    both = new_memory(2, terms)
    together = [[play(both, arm, arm, stage) for arm in range(2)] for stage in range(30)]
    for arm in range(2):
        alone = new_memory(1, terms)
        assert [play(alone, 0, arm, stage) for stage in range(30)] == [row[arm] for row in together]
