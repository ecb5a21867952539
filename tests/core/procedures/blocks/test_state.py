"""Blocks: who leads, how large the next one is, what it adds to a pair, and who is dropped."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.procedures.blocks.state import (
    OCTAVES,
    PARTS,
    Criterion,
    average_can_reach,
    begin_block,
    clear,
    drop_beaten,
    fold,
    last_in,
    lead,
    leader,
    observe,
    part_of,
    units_of_leader,
    width,
)
from bascule.core.types import FloatArray

NO_FLOORS = np.zeros(OCTAVES * PARTS)


def fresh(arms: int) -> FloatArray:
    state = np.empty(width(arms))
    clear(state, 0, arms)
    return state


def play_block(state: FloatArray, arms: int, front: int, outcomes: list[list[float]]) -> None:
    of_leader = len(outcomes[front])
    of_others = max((len(o) for i, o in enumerate(outcomes) if i != front), default=0)
    begin_block(state, 0, arms, front, of_leader, of_others)
    for arm, values in enumerate(outcomes):
        for value in values:
            observe(state, 0, arms, arm, value)
    fold(state, 0, arms, 1.0)


def pair(state: FloatArray, arms: int, i: int, j: int) -> tuple[float, float]:
    totals = 4 * arms + i * arms + j
    return float(state[totals]), float(state[totals + arms * arms])


def test_a_test_starts_with_every_arm_in_and_the_first_in_front() -> None:
    state = fresh(3)
    assert leader(state, 0, 3) == (0, 0.0)
    assert last_in(state, 0, 3) == -1


def test_a_block_adds_its_weighted_difference_to_the_pair() -> None:
    state = fresh(2)
    play_block(state, 2, 1, [[1.0], [4.0, 5.0, 6.0]])
    assert pair(state, 2, 1, 0) == pytest.approx((0.75 * 4.0, 0.75))
    assert pair(state, 2, 0, 1) == pytest.approx((-0.75 * 4.0, 0.75))
    assert state[:2].tolist() == [1.0, 3.0]


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=3), st.floats(-100, 100))
def test_what_is_common_to_a_block_cancels(values: list[float], common: float) -> None:
    plain, lifted = fresh(2), fresh(2)
    play_block(plain, 2, 0, [values[:2], values[2:]])
    shifted = [value + common for value in values]
    play_block(lifted, 2, 0, [shifted[:2], shifted[2:]])
    assert pair(lifted, 2, 0, 1)[0] == pytest.approx(pair(plain, 2, 0, 1)[0], abs=1e-9)


def test_the_leader_is_furthest_ahead_of_its_nearest_rival() -> None:
    state = fresh(3)
    play_block(state, 3, 0, [[1.0], [3.0], [2.5]])
    front, ahead = leader(state, 0, 3)
    assert front == 1
    assert ahead == pytest.approx(0.5 * 0.5 / math.sqrt(0.5))
    assert lead(state, 0, 3, 0) < 0


@given(st.floats(-10, 10), st.floats(1, 50))
def test_the_leaders_share_goes_from_one_to_the_tilt(ahead: float, tilt: float) -> None:
    share = units_of_leader(ahead, tilt)
    assert 1 <= share <= math.floor(tilt + 0.5)
    assert units_of_leader(ahead + 1, tilt) >= share
    assert units_of_leader(2.5, tilt) == math.floor(tilt + 0.5)
    assert units_of_leader(0.0, tilt) == 1


def test_arms_that_are_out_get_no_units() -> None:
    state = fresh(3)
    state[3 + 2] = 0.0
    assert begin_block(state, 0, 3, 0, 4, 2) == 6
    assert state[6:9].tolist() == [4.0, 2.0, 0.0]


def test_an_arm_is_dropped_by_an_arm_that_is_in() -> None:
    def evidence(total: float, clock: float, effect: float) -> float:
        return total

    state = fresh(3)
    play_block(state, 3, 0, [[9.0], [5.0], [0.0]])
    criterion = Criterion(evidence, average_can_reach, None, 0.0, 4.0)
    drop_beaten(state, 0, 3, criterion, NO_FLOORS)
    assert state[3:6].tolist() == [1.0, 1.0, 0.0]
    drop_beaten(state, 0, 3, criterion._replace(threshold=1.9), NO_FLOORS)
    assert last_in(state, 0, 3) == 0


@given(st.floats(1e-6, 1e18))
def test_parts_grow_with_the_clock(clock: float) -> None:
    assert 0 <= part_of(clock) <= part_of(clock * 1.07) < OCTAVES * PARTS
