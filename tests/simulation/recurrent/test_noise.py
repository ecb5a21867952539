"""The noise of all units at once: the distribution of drawing every outcome, however long."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray

from bascule.core.procedures.intervals.state import FloatArray
from bascule.simulation.kernels.compiled import compile_loop
from bascule.simulation.recurrent.exponential_sum import ExponentialSum, fit
from bascule.simulation.recurrent.noise import (
    HEAD,
    KINDS,
    ROOTS,
    SCALES,
    advance,
    clear,
    draws,
    read,
    width,
)

IntArray = NDArray[np.int64]
Loop = Callable[..., None]


def build(fingerprint: str) -> Loop:
    def play(
        state: FloatArray,
        terms: int,
        nodes: FloatArray,
        weights: FloatArray,
        arrivals: IntArray,
        normals: FloatArray,
        values: FloatArray,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        clear(state, 0, terms, nodes)
        at = 0
        for stage in range(arrivals.size):
            count = draws(state, 0, terms, arrivals[stage])
            values[stage] = advance(
                state, 0, terms, nodes, weights, arrivals[stage], 0.0, normals, at
            )
            at += count

    return play


@lru_cache(maxsize=1)
def compiled() -> Loop:
    return compile_loop(build)


def run(
    loop: Loop, powers: ExponentialSum, arrivals: IntArray, normals: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The sum of the noises after each stage, and the state at the end."""
    state, values = np.full(width(powers.terms), np.nan), np.empty(len(arrivals))
    nodes, weights = np.array(powers.nodes), np.array(powers.weights)
    loop(state, powers.terms, nodes, weights, arrivals, normals, values)
    return values, state


def factor(state: FloatArray, terms: int) -> FloatArray:
    """The factor of the innovations' covariance that a state holds."""
    lower, at = np.eye(terms), KINDS * terms + HEAD
    for i in range(terms):
        lower[i, :i] = state[at : at + i]
        at += i
    scales, roots = (state[kind * terms : (kind + 1) * terms] for kind in (SCALES, ROOTS))
    return np.asarray(scales[:, np.newaxis] * lower * roots)


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
    "rarely": np.array([1] + 30 * [0] + [1] + 8 * [0]),
}


def responses(powers: ExponentialSum, arrivals: IntArray) -> FloatArray:
    """What each normal adds to the sum at each stage; products of rows are exact covariances."""
    found = np.empty((len(arrivals), powers.terms * len(arrivals)))
    normals = np.zeros(found.shape[1])
    for i in range(len(normals)):
        normals[i] = 1.0
        found[:, i] = run(compiled(), powers, arrivals, normals)[0]
        normals[i] = 0.0
    return found


@pytest.mark.parametrize("arrivals", PATTERNS.values(), ids=PATTERNS.keys())
def test_covariances_between_stages_are_those_of_drawing_every_outcome(arrivals: IntArray) -> None:
    powers = fit(len(arrivals), 1e-6)
    rows = responses(powers, arrivals)
    found = rows @ rows.T
    for late in range(len(arrivals)):
        for early in range(late + 1):
            # Up to the earlier stage the two share `age` noises of each unit.
            then = ages(arrivals, early)
            wanted = np.sum(1.0 / (then + late - early))
            assert found[early, late] == pytest.approx(wanted, rel=3e-6, abs=1e-12)


def test_covariances_of_totals_are_exact() -> None:
    arrivals = PATTERNS["now and then"]
    powers = fit(len(arrivals), 1e-3)
    total = ExponentialSum(powers.horizon, 0.0, powers.nodes, powers.total, 0.0)
    rows = responses(total, arrivals)
    for late in range(len(arrivals)):
        for early in range(late + 1):
            wanted = np.sum(ages(arrivals, early))
            assert rows[early] @ rows[late] == pytest.approx(wanted, rel=1e-12)


def test_means_and_totals_go_together() -> None:
    """The same state gives both: their covariance is the number of units, whatever their ages."""
    arrivals = PATTERNS["one a stage"]
    powers = fit(len(arrivals), 1e-6)
    total = ExponentialSum(powers.horizon, 0.0, powers.nodes, powers.total, 0.0)
    joint = np.sum(responses(powers, arrivals) * responses(total, arrivals), axis=1)
    assert joint == pytest.approx(np.cumsum(arrivals), rel=2e-6)


def test_drawing_every_outcome_gives_the_same_distribution() -> None:
    stages, runs = 60, 4000
    arrivals = random_arrivals(stages, 0.5, 3)
    generator = np.random.default_rng(4)
    every = np.zeros((runs, stages))
    for arrived in np.repeat(np.arange(stages), arrivals):
        noises = generator.normal(size=(runs, stages - arrived))
        every[:, arrived:] += np.cumsum(noises, axis=1) / np.arange(1, stages - arrived + 1)
    powers = fit(stages)
    normals = generator.normal(size=(runs, stages * powers.terms))
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
def test_the_factor_stays_exact_over_a_hundred_thousand_stages(probability: float) -> None:
    stages = 100_000
    arrivals = random_arrivals(stages, probability, 5)
    powers = fit(stages)
    nodes = np.array(powers.nodes)
    normals = np.random.default_rng(6).normal(size=stages * powers.terms)
    values, state = run(compiled(), powers, arrivals, normals)
    left = ages(arrivals, stages - 1) - 1.0
    wanted = np.zeros((powers.terms, powers.terms))
    for some in np.array_split(left, 200):
        columns = np.power(nodes[:, np.newaxis], some)
        wanted += columns @ columns.T
    sizes = np.sqrt(np.diag(wanted)) + 1e-12
    found = factor(state, powers.terms)
    # Rounding of a running sum grows with its length; every row is measured by its own size.
    assert np.abs((found @ found.T - wanted) / np.outer(sizes, sizes)).max() < 1e-11
    assert (state[ROOTS * powers.terms : (ROOTS + 1) * powers.terms] >= 0.0).all()
    assert np.isfinite(values).all()


def test_nothing_lingers_when_nobody_comes() -> None:
    """Terms fall asleep instead of shrinking into numbers that a processor handles slowly."""
    arrivals = np.array(50 * [1] + 50_000 * [0])
    powers = fit(len(arrivals))
    normals = np.random.default_rng(7).normal(size=arrivals.size * powers.terms)
    values, state = run(compiled(), powers, arrivals, normals)
    assert not np.any((np.abs(state) > 0.0) & (np.abs(state) < 1e-100))
    assert draws(state, 0, powers.terms, 0) < powers.terms // 2
    assert draws(state, 0, powers.terms, 1) == powers.terms
    # The mean of the last noises of 50 units of about the same age.
    assert abs(values[-1]) < 4 * math.sqrt(50 / 50_000)


def test_sleeping_terms_change_nothing() -> None:
    arrivals = np.array([2, 1] + 150 * [0] + [1] + 47 * [0])
    powers = fit(len(arrivals), 1e-6)
    rows = responses(powers, arrivals)
    for late in (150, 151, 152, 153, 199):
        for early in (1, 100, 150):
            wanted = np.sum(1.0 / (ages(arrivals, early) + late - early))
            assert rows[early] @ rows[late] == pytest.approx(wanted, rel=3e-6)


def test_compiled_gives_what_plain_python_gives() -> None:
    arrivals = np.array([0, 1, 1, 3, 0, 0, 1] + 60 * [0] + [1, 0, 2])
    powers = fit(len(arrivals))
    normals = np.random.default_rng(8).normal(size=arrivals.size * powers.terms)
    plain, machine = (run(loop, powers, arrivals, normals) for loop in (build(""), compiled()))
    assert machine[0] == pytest.approx(plain[0], rel=1e-12, abs=1e-12)
    assert machine[1] == pytest.approx(plain[1], rel=1e-9, abs=1e-12)


def test_before_the_first_unit_there_is_no_noise() -> None:
    powers = fit(100)
    values, state = run(build(""), powers, np.zeros(5, np.int64), np.array([math.nan]))
    assert (values == 0.0).all()
    assert draws(state, 0, powers.terms, 0) == 0


def test_only_the_normals_asked_for_are_used() -> None:
    powers = fit(50)
    nodes, weights, terms = np.array(powers.nodes), np.array(powers.weights), powers.terms
    state = np.empty(width(terms))
    clear(state, 0, terms, nodes)
    for arrived in [1, 2] + 40 * [0]:
        normals = np.full(terms + 1, math.nan)
        normals[: draws(state, 0, terms, arrived)] = 0.5
        assert math.isfinite(advance(state, 0, terms, nodes, weights, arrived, 0.0, normals, 0))


def test_noises_from_before_joining_count_like_those_of_the_stage() -> None:
    powers = fit(50)
    nodes, weights, terms = np.array(powers.nodes), np.array(powers.weights), powers.terms
    state, silent = np.empty(width(terms)), np.zeros(terms)
    clear(state, 0, terms, nodes)
    found = advance(state, 0, terms, nodes, weights, 1, 3.0, silent, 0)
    assert found == pytest.approx(3.0 * powers.at(np.array([1.0]))[0])
    for age in range(2, 40):
        found = advance(state, 0, terms, nodes, weights, 0, 0.0, silent, 0)
        assert found == pytest.approx(3.0 / age, rel=2e-5)


def test_arms_are_separate_stretches_of_one_array() -> None:
    powers = fit(30)
    nodes, weights, terms = np.array(powers.nodes), np.array(powers.weights), powers.terms
    normals = np.random.default_rng(9).normal(size=(30, 2, terms))
    patterns = random_arrivals(60, 0.5, 10).reshape(2, 30)
    both = np.full(2 * width(terms) + 3, 7.0)
    for arm in range(2):
        clear(both, 1 + arm * width(terms), terms, nodes)
    for stage in range(30):
        for arm in range(2):
            first = 1 + arm * width(terms)
            given = (patterns[arm, stage], 0.0, normals[stage, arm], 0)
            advance(both, first, terms, nodes, weights, *given)
    assert both[0] == both[-1] == both[-2] == 7.0
    for arm in range(2):
        alone = np.empty(width(terms))
        clear(alone, 0, terms, nodes)
        for stage in range(30):
            given = (patterns[arm, stage], 0.0, normals[stage, arm], 0)
            advance(alone, 0, terms, nodes, weights, *given)
        together = read(both, 1 + arm * width(terms), terms, weights)
        assert together == read(alone, 0, terms, weights)
