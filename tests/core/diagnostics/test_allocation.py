from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from bascule.core.diagnostics.allocation import (
    FACTORS,
    AllocationStatistics,
    allocation_any_time,
    allocation_once,
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


def moving(rng: np.random.Generator, count: int) -> tuple[list[int], list[list[float]]]:
    """Units whose probabilities follow outcomes without any difference between the arms."""
    assigned, chances, total = [], [], 0.0
    for t in range(count):
        share = 0.1 + 0.8 / (1.0 + math.exp(-total / math.sqrt(t + 1.0)))
        arm = int(rng.random() >= share)
        total += rng.standard_normal() * (1 - 2 * arm)
        assigned.append(arm)
        chances.append([share, 1.0 - share])
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


def test_with_constant_probabilities_it_is_pearsons_chi_square() -> None:
    assigned = [0] * 130 + [1] * 60 + [2] * 70
    seen = AllocationStatistics.of(assigned, [[0.5, 0.3, 0.2]] * 260)
    pearson = chisquare([130, 60, 70], [130, 78, 52])
    assert allocation_once(seen).statistic == pytest.approx(pearson.statistic)
    assert allocation_once(seen).p_value == pytest.approx(pearson.pvalue)


def test_the_even_split_is_no_yardstick() -> None:
    seen = AllocationStatistics.of([0] * 900 + [1] * 100, [[0.9, 0.1]] * 1000)
    assert not allocation_once(seen).flagged
    assert not allocation_any_time(seen).flagged


def test_arms_that_hardly_vary_are_taken_together() -> None:
    """Two units where 0.2 were expected, and all of them where there are 20 such arms."""
    chances = [[0.48, 0.48, *[0.002] * 20]] * 100
    one = AllocationStatistics.of([0] * 49 + [1] * 49 + [2] * 2, chances)
    assert allocation_once(one).p_value > 0.5
    many = AllocationStatistics.of([0] * 40 + [1] * 40 + [2] * 20, chances)
    assert allocation_once(many).flagged


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


@pytest.mark.parametrize("world", [blocks, moving])
def test_one_look_stays_near_its_level(world: type) -> None:
    rng, runs = np.random.default_rng(3), 300
    found = [allocation_once(AllocationStatistics.of(*world(rng, 60))) for _ in range(runs)]
    for level in (0.01, 0.05, 0.2):
        share = sum(one.p_value <= level for one in found) / runs
        assert share == pytest.approx(level, abs=3.0 * math.sqrt(level * (1.0 - level) / runs))


def test_lost_units_are_found_and_named() -> None:
    rng = np.random.default_rng(4)
    assigned, chances = blocks(rng, 2000)
    kept = [i for i, arm in enumerate(assigned) if arm != 2 or rng.random() < 0.8]
    seen = AllocationStatistics.of([assigned[i] for i in kept], [chances[i] for i in kept])
    for found in (allocation_once(seen), allocation_any_time(seen)):
        assert found.flagged
        assert found.message.startswith("arm 2 has ")


def test_assignments_without_chance_are_right_or_impossible() -> None:
    right = AllocationStatistics.of([0, 1, 1], [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    for found in (allocation_once(right), allocation_any_time(right)):
        assert found.p_value == pytest.approx(1.0)
        assert "no assignment was left to chance" in found.message
    wrong = right.record(0, [0.0, 1.0])
    for found in (allocation_once(wrong), allocation_any_time(wrong)):
        assert (found.p_value, found.statistic) == (0.0, math.inf)
        assert found.message.startswith("1 units are in an arm whose logged probability was 0")


def test_before_the_first_unit_nothing_is_wrong() -> None:
    empty = AllocationStatistics.empty(2)
    for found in (allocation_once(empty), allocation_any_time(empty)):
        assert found.p_value == pytest.approx(1.0)


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
