"""Blocks with bets: what a round pays, why it cannot pay on average, and who is dropped."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.evidence.betting import BETS, ORDINARY, log_wealth
from bascule.core.procedures.blocks import betting as betting_blocks
from bascule.core.procedures.blocks import state as blocks
from bascule.core.procedures.blocks.betting import (
    STAKES,
    UNSEEN,
    clear,
    drop_beaten,
    fold,
    leader,
    observe,
    spread,
    stake,
)
from bascule.core.procedures.blocks.betting_steps import BETTING
from bascule.core.procedures.blocks.state import begin_block, last_in
from bascule.core.types import FloatArray

CRITERION = BETTING.criterion(ORDINARY, math.log(40.0))


def fresh(arms: int) -> FloatArray:
    state = np.full(betting_blocks.width(arms), math.nan)
    clear(state, 0, arms)
    return state


def play_block(state: FloatArray, arms: int, front: int, outcomes: list[list[float]]) -> None:
    others = [len(values) for arm, values in enumerate(outcomes) if arm != front]
    begin_block(state, 0, arms, front, len(outcomes[front]), max(others))
    for arm, values in enumerate(outcomes):
        for value in values:
            observe(state, 0, arms, arm, value)
    fold(state, 0, arms, 1.0)


@given(
    block=st.lists(
        st.tuples(
            st.lists(st.integers(0, 1), min_size=1, max_size=3).map(lambda v: [*map(float, v)]),
            st.integers(0, 1).map(float),
        ),
        max_size=12,
    )
)
def test_a_block_is_a_round_for_both_sides_of_a_pair(
    block: list[tuple[list[float], float]],
) -> None:
    state = fresh(2)
    for many, one in block:
        play_block(state, 2, 0, [many, [one]])
    differences = [sum(many) / len(many) - one for many, one in block]
    for k, share in enumerate(BETS):
        for (i, j), sign in (((0, 1), 1.0), ((1, 0), -1.0)):
            won = sum(math.log1p(sign * share * difference) for difference in differences)
            assert state[stake(0, 2, i, j) + k] == pytest.approx(won, rel=1e-12, abs=1e-12)
    seen = [value for many, one in block for value in (*many, one)]
    expected = float(np.std(seen)) if len(set(seen)) > 1 else UNSEEN
    assert spread(state, 0, 2) == pytest.approx(expected)
    front, ahead = leader(state, 0, 2)
    assert (front, ahead * expected) == pytest.approx(blocks.leader(state, 0, 2))


@pytest.mark.parametrize("leaders", [1, 2, 3])
@pytest.mark.parametrize(("best", "other"), [(0.05, 0.05), (0.5, 0.5), (0.9, 0.2), (1.0, 1.0)])
def test_on_average_no_round_pays_who_bets_on_the_worse_arm(
    leaders: int, best: float, other: float
) -> None:
    """All outcomes of a block, each with its probability; either arm may be the leader."""
    for front in (0, 1):
        means = [best, other]
        units = [leaders if arm == front else 1 for arm in (0, 1)]
        wealth = np.zeros(STAKES)
        for bits in product((0.0, 1.0), repeat=sum(units)):
            outcomes = [list(bits[: units[0]]), list(bits[units[0] :])]
            chance = math.prod(
                mean if bit else 1.0 - mean
                for mean, values in zip(means, outcomes, strict=True)
                for bit in values
            )
            state = fresh(2)
            play_block(state, 2, front, outcomes)
            first = stake(0, 2, 1, 0)
            wealth += chance * np.exp(state[first : first + STAKES])
        assert np.all(wealth <= 1.0 + 1e-12)
        assert wealth == pytest.approx(1.0 - np.array(BETS) * (best - other))


def test_an_arm_is_dropped_when_the_bets_against_it_have_won_enough() -> None:
    state, rounds = fresh(3), 0
    while state[3 + 2] > 0.0:
        play_block(state, 3, 0, [[1.0], [1.0], [0.0]])
        drop_beaten(state, 0, 3, CRITERION, np.zeros(0))
        rounds += 1
        wealth = log_wealth(state, stake(0, 3, 0, 2))
        assert (state[3 + 2] == 0.0) == (wealth >= math.log(40.0))
    assert rounds > 5
    assert last_in(state, 0, 3) == -1
    frozen = state[stake(0, 3, 0, 2)]
    play_block(state, 3, 0, [[1.0], [0.0], []])
    assert state[stake(0, 3, 0, 2)] == frozen
    while last_in(state, 0, 3) == -1:
        play_block(state, 3, 0, [[1.0], [0.0], []])
        drop_beaten(state, 0, 3, CRITERION, np.zeros(0))
    assert last_in(state, 0, 3) == 0
