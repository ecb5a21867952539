"""The steps of the rules against their definitions, for few arms and for many."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.procedures.intervals.state import (
    LOWERS,
    ROWS,
    SCORES,
    TOTALS,
    UNITS,
    UPPERS,
    clear,
    eliminate,
    highest,
    parted,
    place,
    round_complete,
)
from bascule.core.types import NOBODY, FloatArray

MEANS = st.lists(st.floats(-10, 10), min_size=2, max_size=40)


def laid_out(means: list[float], radii: list[float]) -> FloatArray:
    """A test of arms with these intervals and equal scores."""
    lows = [m - r for m, r in zip(means, radii, strict=True)]
    highs = [m + r for m, r in zip(means, radii, strict=True)]
    arms = len(means)
    return np.array([[0.0] * arms, [0.0] * arms, [-9.0] * arms, lows, highs])


def winner_by_definition(means: list[float], radii: list[float]) -> int:
    for i, (mean, radius) in enumerate(zip(means, radii, strict=True)):
        others = [m + r for j, (m, r) in enumerate(zip(means, radii, strict=True)) if j != i]
        if mean - radius > max(others):
            return i
    return NOBODY


@given(MEANS)
def test_highest_is_the_first_of_the_largest(values: list[float]) -> None:
    assert highest(np.array(values), len(values)) == values.index(max(values))


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=40))
def test_highest_takes_the_first_on_a_tie(values: list[int]) -> None:
    as_floats = [float(v) for v in values]
    assert highest(np.array(as_floats), len(values)) == values.index(max(values))


@given(st.data(), MEANS)
def test_parted_finds_the_interval_above_all_others(
    data: st.DataObject, means: list[float]
) -> None:
    arms = len(means)
    radii = data.draw(st.lists(st.floats(0, 2), min_size=arms, max_size=arms))
    assert parted(laid_out(means, radii), arms) == winner_by_definition(means, radii)


@given(st.data(), MEANS)
def test_parted_goes_with_the_arms_when_they_are_permuted(
    data: st.DataObject, means: list[float]
) -> None:
    arms = len(means)
    radii = data.draw(st.lists(st.floats(0, 2), min_size=arms, max_size=arms))
    order = data.draw(st.permutations(range(arms)))
    before = parted(laid_out(means, radii), arms)
    moved = laid_out([means[i] for i in order], [radii[i] for i in order])
    after = parted(moved, arms)
    assert (NOBODY if after == NOBODY else order[after]) == before


@pytest.mark.parametrize("arms", [2, 9, 1000])
def test_a_test_starts_with_endless_intervals_and_no_winner(arms: int) -> None:
    state = np.empty((ROWS, arms))
    clear(state, arms, 0.0)
    assert highest(state[SCORES], arms) == 0
    assert parted(state, arms) == NOBODY
    assert round_complete(state, arms)
    assert np.all(state[:SCORES] == 0)


@pytest.mark.parametrize("arms", [2, 5, 9, 33])
def test_place_writes_one_arm_and_no_other(arms: int) -> None:
    state = np.empty((ROWS, arms))
    clear(state, arms, math.inf)
    before = state.copy()
    place(state, arms - 1, 4.0, 2.0, 0.5, 0.25, 7.0)
    assert np.array_equal(state[:, :-1], before[:, :-1])
    written = state[:, -1]
    assert written[[UNITS, TOTALS, SCORES]].tolist() == [4.0, 2.0, 7.0]
    assert written[[LOWERS, UPPERS]].tolist() == [0.25, 0.75]


@pytest.mark.parametrize("arms", [3, 20])
def test_a_round_is_complete_when_all_arms_in_have_as_many_units(arms: int) -> None:
    state = laid_out([0.0] * arms, [1.0] * arms)
    assert round_complete(state, arms)
    state[SCORES][0] = -10.0
    assert not round_complete(state, arms)
    state[SCORES][0] = -math.inf
    assert round_complete(state, arms)


@pytest.mark.parametrize("arms", [3, 20])
def test_eliminate_takes_out_what_lies_below_another_interval(arms: int) -> None:
    means = [0.0] * arms
    means[1], means[2] = 5.0, 4.5
    state = laid_out(means, [1.0] * arms)
    eliminate(state, arms)
    left = [arm for arm in range(arms) if state[SCORES][arm] > -math.inf]
    assert left == [1, 2]
    assert parted(state, arms) == NOBODY
