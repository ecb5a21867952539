from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.errors import InputError
from bascule.core.statistics import ArmStatistics, Statistics

OUTCOMES = st.lists(st.tuples(st.integers(0, 2), st.integers(-100, 100)), max_size=30)


def seen(outcomes: list[tuple[int, int]]) -> Statistics:
    statistics = Statistics.empty(3)
    for arm, value in outcomes:
        statistics = statistics.record(arm, value)
    return statistics


@given(OUTCOMES, OUTCOMES)
def test_two_halves_add_up_to_the_whole(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    assert seen(first) + seen(second) == seen(first + second)


def test_an_arm_without_units_has_mean_zero() -> None:
    assert ArmStatistics().mean == 0.0
    assert ArmStatistics(4, 10.0).mean == 2.5


def test_units_are_counted_over_all_arms() -> None:
    assert seen([(0, 1), (2, 5), (2, 6)]).units == 3


@pytest.mark.parametrize("arm", [-1, 2, 0.5])
def test_an_outcome_belongs_to_an_arm_that_exists(arm: int) -> None:
    with pytest.raises(InputError, match="arm must be"):
        Statistics.empty(2).record(arm, 1.0)


@pytest.mark.parametrize("value", [math.nan, math.inf, "1"])
def test_an_outcome_is_a_finite_number(value: float) -> None:
    with pytest.raises(InputError, match="value must be"):
        Statistics.empty(2).record(0, value)
