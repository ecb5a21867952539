"""Blocks: who leads, how large the next one is, what it adds to a pair, and who is dropped."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bascule as bs
from bascule.core.evidence.families.known_spread import NO_FLOORS, part_of
from bascule.core.evidence.families.rows import ACTIVE, BLOCK_UNITS, CLOCK, LEAD, TOTAL, UNITS
from bascule.core.procedures.blocks.procedure import BlockProcedure, LiveRows
from bascule.core.procedures.blocks.steps import (
    begin_block,
    furthest,
    only_active,
    units_of_leader,
)
from bascule.core.progress import block_procedure


def procedure(arms: int, error: float = 0.05) -> BlockProcedure:
    names = [f"arm {i}" for i in range(arms)]
    return block_procedure(bs.Design(names, bs.Gaussian(1), bs.Tilt(3), error=error, sides=1))


def played(arms: int, *outcomes: list[float], error: float = 0.05) -> bs.progress.Statistics:
    block = [bs.progress.ArmStatistics(len(o), sum(o), sum(x * x for x in o)) for o in outcomes]
    return procedure(arms, error).fold_block(bs.progress.Statistics.empty(arms), block)


def fresh(arms: int) -> tuple[LiveRows, LiveRows]:
    return procedure(arms).rows(bs.progress.Statistics.empty(arms))


def test_a_test_starts_with_every_arm_in_and_the_first_in_front() -> None:
    arms, pairs = fresh(3)
    assert furthest(arms, pairs, 3) == (0, 0.0)
    assert only_active(arms, 3) == -1


def test_a_block_adds_its_weighted_difference_to_the_pair() -> None:
    seen = played(2, [1.0], [4.0, 5.0, 6.0])
    assert seen.pairs[0][TOTAL] == pytest.approx(-0.75 * 4.0)
    assert seen.pairs[0][CLOCK] == pytest.approx(0.75)
    assert [row[UNITS] for row in procedure(2).rows(seen)[0]] == [1.0, 3.0]


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=3), st.floats(-100, 100))
def test_what_is_common_to_a_block_cancels(values: list[float], common: float) -> None:
    shifted = [value + common for value in values]
    plain, lifted = played(2, values[:2], values[2:]), played(2, shifted[:2], shifted[2:])
    assert lifted.pairs[0][TOTAL] == pytest.approx(plain.pairs[0][TOTAL], abs=1e-9)


def test_the_leader_is_furthest_ahead_of_its_nearest_rival() -> None:
    arms, pairs = procedure(3).rows(played(3, [1.0], [3.0], [2.5]))
    front, ahead = furthest(arms, pairs, 3)
    assert front == 1
    assert ahead == pytest.approx(0.5 * 0.5 / math.sqrt(0.5))
    assert arms[0][LEAD] < 0


@given(st.floats(-10, 10), st.floats(1, 50))
def test_the_leaders_share_goes_from_one_to_the_tilt(ahead: float, tilt: float) -> None:
    share = units_of_leader(ahead, tilt)
    assert 1 <= share <= math.floor(tilt + 0.5)
    assert units_of_leader(ahead + 1, tilt) >= share
    assert units_of_leader(2.5, tilt) == math.floor(tilt + 0.5)
    assert units_of_leader(0.0, tilt) == 1


def test_arms_that_are_out_get_no_units() -> None:
    arms, _ = fresh(3)
    arms[2][ACTIVE] = 0.0
    assert begin_block(arms, 3, 0, 4, 2) == 6
    assert [row[BLOCK_UNITS] for row in arms] == [4.0, 2.0, 0.0]


def test_an_arm_is_dropped_by_an_arm_that_is_in() -> None:
    assert played(3, [9.0], [5.0], [0.0], error=0.5).dropped == {2}
    assert played(3, [9.0], [2.0], [0.0], error=0.5).dropped == {1, 2}


@given(st.floats(1e-6, 1e18))
def test_parts_grow_with_the_clock(clock: float) -> None:
    assert 0 <= part_of(clock) <= part_of(clock * 1.07) < len(NO_FLOORS)
