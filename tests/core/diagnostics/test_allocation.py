from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.diagnostics.allocation import (
    FACTORS,
    AllocationStatistics,
    allocation_any_time,
    block_probabilities,
)
from bascule.core.errors import InputError

UNITS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([(0.5, 0.25, 0.25), (0.125, 0.75, 0.125)])),
    max_size=30,
)


def recorded(units: Sequence[tuple[int, tuple[float, ...]]]) -> AllocationStatistics:
    statistics = AllocationStatistics.empty(3)
    for arm, probabilities in units:
        statistics = statistics.record(arm, probabilities)
    return statistics


def close(mine: AllocationStatistics, theirs: AllocationStatistics) -> bool:
    return (
        mine.observed == theirs.observed
        and mine.impossible == theirs.impossible
        and np.allclose(mine.expected, theirs.expected)
        and np.allclose(mine.covariance, theirs.covariance)
        and np.allclose(mine.stakes, theirs.stakes)
    )


def blocks(rng: np.random.Generator, count: int) -> tuple[list[int], list[tuple[float, ...]]]:
    """Units of tilted blocks of three arms in random order, with the probabilities they had."""
    assigned, chances = [], []
    for _ in range(count):
        left = [1, int(rng.integers(1, 4)), 1]
        for arm in rng.permutation(np.repeat(range(3), left)).tolist():
            chances.append(block_probabilities(left))
            assigned.append(arm)
            left[arm] -= 1
    return assigned, chances


@given(UNITS, UNITS)
def test_two_halves_add_up_to_the_whole(
    first: list[tuple[int, tuple[float, ...]]], second: list[tuple[int, tuple[float, ...]]]
) -> None:
    assert close(recorded(first) + recorded(second), recorded(first + second))


@given(UNITS.filter(bool))
def test_many_units_at_once_are_the_same_as_one_by_one(
    units: list[tuple[int, tuple[float, ...]]],
) -> None:
    assigned, chances = zip(*units, strict=True)
    assert close(AllocationStatistics.of(assigned, chances), recorded(units))
    assert recorded(units).units == len(units)


def test_the_even_split_is_no_yardstick() -> None:
    seen = AllocationStatistics.of([0] * 900 + [1] * 100, [[0.9, 0.1]] * 1000)
    assert not allocation_any_time(seen).flagged


def test_the_evidence_is_what_the_bets_have_won() -> None:
    units = [(0, (0.5, 0.25, 0.25)), (2, (0.125, 0.75, 0.125)), (2, (0.5, 0.25, 0.25))]
    won = []
    for arm in range(3):
        for factor in FACTORS:
            wealth = 1.0
            for joined, chances in units:
                stake = math.expm1(factor) / (1.0 + math.expm1(factor) * chances[arm])
                wealth *= 1.0 + stake * ((joined == arm) - chances[arm])
            won.append(wealth)
    assert allocation_any_time(recorded(units)).statistic == pytest.approx(np.mean(won))


def test_no_bet_can_be_expected_to_win() -> None:
    chances = (0.5, 0.3, 0.2)
    after = [
        allocation_any_time(AllocationStatistics.empty(3).record(arm, chances)).statistic
        for arm in range(3)
    ]
    assert np.dot(after, chances) == pytest.approx(1.0)


def test_looks_at_any_time_stay_within_the_level() -> None:
    rng, level, runs = np.random.default_rng(2), 0.2, 100
    flagged = 0
    for _ in range(runs):
        seen = AllocationStatistics.empty(3)
        for _ in range(20):
            seen += AllocationStatistics.of(*blocks(rng, 4))
            if allocation_any_time(seen, level).flagged:
                flagged += 1
                break
    assert flagged / runs <= level


def test_lost_units_are_found_and_named() -> None:
    rng = np.random.default_rng(4)
    assigned, chances = blocks(rng, 2000)
    kept = [i for i, arm in enumerate(assigned) if arm != 2 or rng.random() < 0.8]
    seen = AllocationStatistics.of([assigned[i] for i in kept], [chances[i] for i in kept])
    found = allocation_any_time(seen)
    assert found.flagged
    assert found.message.startswith("arm 2 has ")


def test_assignments_without_chance_are_right_or_impossible() -> None:
    right = AllocationStatistics.of([0, 1, 1], [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    found = allocation_any_time(right)
    assert found.p_value == pytest.approx(1.0)
    assert "no assignment was left to chance" in found.message
    wrong = right.record(0, [0.0, 1.0])
    found = allocation_any_time(wrong)
    assert (found.p_value, found.statistic) == (0.0, math.inf)
    assert found.message.startswith("1 units are in an arm whose logged probability was 0")


def test_before_the_first_unit_nothing_is_wrong() -> None:
    empty = AllocationStatistics.empty(2)
    assert allocation_any_time(empty).p_value == pytest.approx(1.0)


@pytest.mark.parametrize(
    "probabilities", [[0.5, 0.4], [1.5, -0.5], [math.nan, 1.0], [1.0], ["a", "b"], 0.5]
)
def test_probabilities_add_up_to_one(probabilities: list[float]) -> None:
    with pytest.raises(InputError, match="probabilities must"):
        AllocationStatistics.of([0], [probabilities])


@pytest.mark.parametrize("assigned", [[2], [-1], [0.0], [0, 1], ["a"]])
def test_units_join_arms_that_exist(assigned: list[int]) -> None:
    with pytest.raises(InputError, match="assigned must"):
        AllocationStatistics.of(assigned, [[0.5, 0.5]])
