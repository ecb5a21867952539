"""The steps of the rules against their definitions, for few arms and for many."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.procedures.intervals.state import (
    clear,
    eliminate,
    highest,
    parted,
    place,
    round_complete,
    width,
)
from bascule.core.types import NOBODY, FloatArray

MEANS = st.lists(st.floats(-10, 10), min_size=2, max_size=40)


def laid_out(means: list[float], radii: list[float]) -> FloatArray:
    """A test of arms with these intervals and equal scores."""
    lows = [m - r for m, r in zip(means, radii, strict=True)]
    highs = [m + r for m, r in zip(means, radii, strict=True)]
    arms = len(means)
    return np.concatenate([np.zeros(2 * arms), [-9.0] * arms, lows, highs])


def winner_by_definition(means: list[float], radii: list[float]) -> int:
    for i, (mean, radius) in enumerate(zip(means, radii, strict=True)):
        others = [m + r for j, (m, r) in enumerate(zip(means, radii, strict=True)) if j != i]
        if mean - radius > max(others):
            return i
    return NOBODY


@given(MEANS)
def test_highest_is_the_first_of_the_largest(values: list[float]) -> None:
    assert highest(np.array(values), 0, len(values)) == values.index(max(values))


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=40))
def test_highest_takes_the_first_on_a_tie(values: list[int]) -> None:
    as_floats = [float(v) for v in values]
    assert highest(np.array(as_floats), 0, len(values)) == values.index(max(values))


@given(st.data(), MEANS)
def test_parted_finds_the_interval_above_all_others(
    data: st.DataObject, means: list[float]
) -> None:
    arms = len(means)
    radii = data.draw(st.lists(st.floats(0, 2), min_size=arms, max_size=arms))
    assert parted(laid_out(means, radii), 0, arms) == winner_by_definition(means, radii)


@given(st.data(), MEANS)
def test_parted_goes_with_the_arms_when_they_are_permuted(
    data: st.DataObject, means: list[float]
) -> None:
    arms = len(means)
    radii = data.draw(st.lists(st.floats(0, 2), min_size=arms, max_size=arms))
    order = data.draw(st.permutations(range(arms)))
    before = parted(laid_out(means, radii), 0, arms)
    moved = laid_out([means[i] for i in order], [radii[i] for i in order])
    after = parted(moved, 0, arms)
    assert (NOBODY if after == NOBODY else order[after]) == before


@pytest.mark.parametrize("arms", [2, 9, 1000])
def test_a_test_starts_with_endless_intervals_and_no_winner(arms: int) -> None:
    state = np.empty(width(arms))
    clear(state, 0, arms, 0.0)
    assert highest(state, 2 * arms, arms) == 0
    assert parted(state, 0, arms) == NOBODY
    assert round_complete(state, 0, arms)
    assert np.all(state[: 2 * arms] == 0)


@pytest.mark.parametrize("arms", [2, 5, 9, 33])
def test_place_writes_one_arm_and_no_other(arms: int) -> None:
    size = width(arms)
    state = np.empty(3 * size)
    for test in range(3):
        clear(state, test * size, arms, math.inf)
    before = state.copy()
    place(state, size, arms, arms - 1, 4.0, 2.0, 0.5, 0.25, 7.0)
    assert np.array_equal(state[:size], before[:size])
    assert np.array_equal(state[2 * size :], before[2 * size :])
    assert state[size + arms - 1] == 4.0
    assert state[size + 2 * arms - 1] == 2.0
    assert (state[size + 4 * arms - 1], state[size + 5 * arms - 1]) == (0.25, 0.75)


@pytest.mark.parametrize("arms", [3, 20])
def test_a_round_is_complete_when_all_arms_in_have_as_many_units(arms: int) -> None:
    state = laid_out([0.0] * arms, [1.0] * arms)
    assert round_complete(state, 0, arms)
    state[2 * arms] = -10.0
    assert not round_complete(state, 0, arms)
    state[2 * arms] = -math.inf
    assert round_complete(state, 0, arms)


@pytest.mark.parametrize("arms", [3, 20])
def test_eliminate_takes_out_what_lies_below_another_interval(arms: int) -> None:
    means = [0.0] * arms
    means[1], means[2] = 5.0, 4.5
    state = laid_out(means, [1.0] * arms)
    eliminate(state, 0, arms)
    left = [arm for arm in range(arms) if state[2 * arms + arm] > -math.inf]
    assert left == [1, 2]
    assert parted(state, 0, arms) == NOBODY
