from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.evidence import betting
from bascule.core.evidence.betting import (
    BETS,
    LOG_PARTS,
    SMALL,
    bet,
    log_factor,
    log_of_sums,
    log_shifted_wealth,
    log_wealth,
    log_wealth_of_sums,
    never_ruled_out,
    shift_ruled_out,
    sums_may_reach,
)
from bascule.core.numerics import turning_point


def test_the_parts_add_up_to_one_unit() -> None:
    assert sum(map(math.exp, LOG_PARTS)) == pytest.approx(1.0, rel=1e-14)
    assert log_wealth(np.zeros(len(BETS)), 0) == pytest.approx(0.0, abs=1e-14)


@given(gain=st.floats(-2 * SMALL, 2 * SMALL))
def test_small_gains_have_their_logarithm_to_full_precision(gain: float) -> None:
    assert log_factor(gain) == pytest.approx(math.log1p(gain), rel=4e-16, abs=0.0)


@given(differences=st.lists(st.floats(-1, 1), max_size=30), first=st.integers(0, 5))
def test_wealth_is_the_average_product(differences: list[float], first: int) -> None:
    state = np.zeros(first + len(BETS) + 2)
    for difference in differences:
        bet(state, first, difference)
    wealth = sum(
        math.exp(part) * math.prod(1.0 + share * difference for difference in differences)
        for share, part in zip(BETS, LOG_PARTS, strict=True)
    )
    assert log_wealth(state, first) == pytest.approx(math.log(wealth), rel=1e-9, abs=1e-12)
    assert log_wealth(state, first) <= state[first : first + len(BETS)].max() + 1e-12
    assert not state[:first].any()
    assert not state[first + len(BETS) :].any()


def test_wealth_far_beyond_the_numbers_there_are() -> None:
    state = np.zeros(len(BETS))
    for _ in range(5000):
        bet(state, 0, 1.0)
    assert log_wealth(state, 0) == pytest.approx(5000 * math.log(1.99) + LOG_PARTS[0], rel=1e-12)
    state[:] = 0.0
    for _ in range(5000):
        bet(state, 0, -1.0)
    assert -10.0 < log_wealth(state, 0) < 0.0


def test_equal_arms_make_nobody_rich_however_the_blocks_follow_the_outcomes() -> None:
    """Bernoulli at 5 %; the arm that is behind gets one unit a block, the other one to four."""
    rng = np.random.default_rng(3)
    runs, blocks, level = 2000, 2500, 0.1
    shares, parts = np.array(BETS)[:, None], np.array(LOG_PARTS)[:, None]
    logs = np.zeros((len(BETS), runs))
    lead = np.zeros(runs)
    crossed = np.zeros(runs, dtype=bool)
    for _ in range(blocks):
        many = rng.integers(1, 5, runs)
        units_a = np.where(lead >= 0, many, 1)
        units_b = np.where(lead >= 0, 1, many)
        difference = rng.binomial(units_a, 0.05) / units_a - rng.binomial(units_b, 0.05) / units_b
        lead += difference
        logs += np.log1p(shares * difference)
        crossed |= np.exp(logs + parts).sum(axis=0) >= 1.0 / level
    rate = crossed.mean()
    assert rate <= level + 3.0 * math.sqrt(level * (1.0 - level) / runs)
    assert rate > 0.01


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60))
def test_four_sums_give_what_the_bets_have_won_at_the_least(differences: list[float]) -> None:
    state = np.zeros(len(BETS))
    for difference in differences:
        bet(state, 0, difference)
    sums = [sum(d**power for d in differences) for power in (1, 2, 3, 4)]
    for j in range(len(BETS)):
        assert log_of_sums(j, *sums) <= state[j] + 1e-9
    assert log_wealth_of_sums(*sums) <= log_wealth(state, 0) + 1e-9
    mirrored = [-sums[0], sums[1], -sums[2], sums[3]]
    won = max(log_wealth_of_sums(*sums), log_wealth_of_sums(*mirrored))
    assert won <= 0.0 or sums_may_reach(won, sums[0], sums[1])


def test_shifts_of_many_pairs_are_those_found_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    # Newton's method takes few steps, and none that leads away from what is found.
    monkeypatch.setattr(betting, "HALVINGS", 12)
    rng = np.random.default_rng(0)
    rates = rng.uniform(0.0, 1.0, (50, 2))
    blocks = np.floor(10 ** rng.uniform(2, 4, 50))
    differences, squares = np.zeros(50), np.zeros(50)
    for i, (first, second) in enumerate(rates):
        seen = ((first, second) > rng.random((2, int(blocks[i]))).T).astype(float)
        gaps = seen[:, 0] - seen[:, 1]
        differences[i], squares[i] = gaps.sum(), (gaps**2).sum()
    for numbers in zip(blocks.tolist(), differences.tolist(), squares.tolist(), strict=True):

        def ruled_out(below: float, numbers: tuple[float, float, float] = numbers) -> bool:
            return log_shifted_wealth(*numbers, below) >= 5.0

        one_by_one = turning_point(ruled_out, -0.999, numbers[1] / numbers[0])
        assert shift_ruled_out(*numbers, 5.0) == pytest.approx(one_by_one, abs=1e-11)


def test_what_is_never_ruled_out_is_not() -> None:
    rng = np.random.default_rng(1)
    hopeless = 0
    for _ in range(300):
        blocks = int(10 ** rng.uniform(0.7, 2.5))
        gaps = rng.choice([-1.0, 0.0, 1.0], blocks, p=[0.2, 0.5, 0.3])
        numbers = (float(blocks), gaps.sum(), (gaps**2).sum())
        least = never_ruled_out(blocks, blocks * gaps.var(), 5.0)
        reachable = 1.0 + gaps.mean()
        for below in np.linspace(0.0, min(least, reachable), 50)[:-1]:
            assert log_shifted_wealth(*numbers, gaps.mean() - below) < 5.0
        if least >= reachable:
            hopeless += 1
            assert shift_ruled_out(*numbers, 5.0) == -1.0
    assert hopeless > 50
