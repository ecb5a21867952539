"""Blocks with bets: what a round pays, why it cannot pay on average, and what four sums keep."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bascule as bs
from bascule.core.evidence.betting import BETS, log_wealth, log_wealth_of_sums
from bascule.core.evidence.families.bets import (
    BETTING,
    BLOCKS,
    DIFFERENCES,
    MINE,
    SQUARES,
    STAKES,
    THEIRS,
    UNSEEN,
    WON,
)
from bascule.core.evidence.families.four_sums import CUBES, FOUR_SUMS, FOURTHS
from bascule.core.evidence.families.rows import ACTIVE
from bascule.core.progress import block_procedure


def coins(arms: int) -> bs.Design:
    return bs.Design(
        [f"arm {i}" for i in range(arms)], bs.Bernoulli(), bs.Tilt(3), error=0.05, sides=1
    )


def block(*arms: list[float]) -> list[bs.progress.ArmStatistics]:
    return [
        bs.progress.ArmStatistics(len(each), sum(each), sum(x * x for x in each)) for each in arms
    ]


@given(
    rounds=st.lists(
        st.tuples(
            st.lists(st.integers(0, 1), min_size=1, max_size=3).map(lambda v: [*map(float, v)]),
            st.integers(0, 1).map(float),
        ),
        max_size=12,
    )
)
def test_a_block_is_a_round_for_both_sides_of_a_pair(
    rounds: list[tuple[list[float], float]],
) -> None:
    procedure, seen = block_procedure(coins(2)), bs.progress.Statistics.empty(2)
    for many, one in rounds:
        seen = procedure.fold_block(seen, block(many, [one]), look=False)
    arms, (pair,) = procedure.rows(seen)
    differences = [sum(many) / len(many) - one for many, one in rounds]
    for k, share in enumerate(BETS):
        for first, sign in ((MINE, 1.0), (THEIRS, -1.0)):
            won = sum(math.log1p(sign * share * difference) for difference in differences)
            assert pair[first + k] == pytest.approx(won, rel=1e-12, abs=1e-12)
    first = MINE if pair[DIFFERENCES] > 0.0 else THEIRS
    assert pair[WON] >= log_wealth(np.array(pair), first) - 1e-12 or not any(differences)
    outcomes = [value for many, one in rounds for value in (*many, one)]
    expected = float(np.std(outcomes)) if len(set(outcomes)) > 1 else UNSEEN
    assert BETTING.spread(arms, 2, procedure.params) == pytest.approx(expected)


@pytest.mark.parametrize("leaders", [1, 2, 3])
@pytest.mark.parametrize(("best", "other"), [(0.05, 0.05), (0.5, 0.5), (0.9, 0.2), (1.0, 1.0)])
def test_on_average_no_round_pays_who_bets_on_the_worse_arm(
    leaders: int, best: float, other: float
) -> None:
    """All outcomes of a block, each with its probability; either arm may be the leader."""
    procedure = block_procedure(coins(2))
    for front in (0, 1):
        units = [leaders if arm == front else 1 for arm in (0, 1)]
        wealth = np.zeros(STAKES)
        for bits in product((0.0, 1.0), repeat=sum(units)):
            outcomes = [list(bits[: units[0]]), list(bits[units[0] :])]
            chance = math.prod(
                mean if bit else 1.0 - mean
                for mean, values in zip((best, other), outcomes, strict=True)
                for bit in values
            )
            seen = procedure.fold_block(
                bs.progress.Statistics.empty(2), block(*outcomes), look=False
            )
            wealth += chance * np.exp(seen.pairs[0][THEIRS:])
        assert np.all(wealth <= 1.0 + 1e-12)
        assert wealth == pytest.approx(1.0 - np.array(BETS) * (best - other))


def test_an_arm_is_dropped_when_the_bets_against_it_have_won_enough() -> None:
    test, seen, rounds = coins(3), bs.progress.Statistics.empty(3), 0
    while not seen.dropped:
        seen = bs.progress.fold_block(test, seen, block([1.0], [1.0], [0.0]))
        rounds += 1
        wealth = log_wealth(np.array(seen.pairs[1]), MINE)
        assert bool(seen.dropped) == (wealth >= math.log(40.0))
    assert rounds > 5
    assert seen.dropped == {2}
    frozen = seen.pairs[1]
    while bs.progress.decision(test, seen) is None:
        seen = bs.progress.fold_block(test, seen, block([1.0], [0.0], []))
    assert seen.dropped == {1, 2}
    assert seen.pairs[1] == frozen


def test_four_sums_say_what_bets_have_won_or_hardly_less() -> None:
    arms, rng = 21, np.random.default_rng(5)
    many, few = block_procedure(coins(arms)), block_procedure(coins(2))
    assert (many.evidence, few.evidence) == (FOUR_SUMS, BETTING)
    seen, two = bs.progress.Statistics.empty(arms), bs.progress.Statistics.empty(2)
    for _ in range(300):
        values = (rng.random(arms) < np.linspace(0.05, 0.3, arms)).astype(float).tolist()
        seen = many.fold_block(seen, block(*([value] for value in values)), look=False)
        two = few.fold_block(two, block([values[0]], [values[-1]]), look=False)
    kept, (exact,) = seen.pairs[arms - 2], two.pairs
    sums = [BLOCKS, DIFFERENCES, SQUARES]
    assert [kept[k] for k in sums] == pytest.approx([exact[k] for k in sums])
    for sign, first in ((1.0, MINE), (-1.0, THEIRS)):
        least = log_wealth_of_sums(
            sign * kept[DIFFERENCES], kept[SQUARES], sign * kept[CUBES], kept[FOURTHS]
        )
        won = log_wealth(np.array(exact), first)
        assert least <= won + 1e-9
        if won > 0.0:
            assert least >= 0.95 * won > 3.0


@pytest.mark.parametrize("outcome", [bs.Gaussian(0.5), bs.Bernoulli()])
def test_tests_of_many_arms_find_the_best_and_more_than_fifty_are_refused(
    outcome: bs.design.Outcome,
) -> None:
    names = [f"arm {i}" for i in range(50)]
    test, rng = bs.Design(names, outcome, bs.Tilt(1), sides=1), np.random.default_rng(3)
    seen, rates = bs.progress.Statistics.empty(50), np.full(50, 0.05)
    rates[9] = 0.95
    blocks = 0
    while bs.progress.decision(test, seen) is None:
        values = (rng.random(50) < rates).astype(float).tolist()
        active = [row[ACTIVE] > 0.0 for row in block_procedure(test).rows(seen)[0]]
        units = [[value] if there else [] for value, there in zip(values, active, strict=True)]
        seen = bs.progress.fold_block(test, seen, block(*units))
        blocks += 1
        if blocks % 5 == 1:
            listed = [(effect.first, effect.second) for effect in bs.progress.effects(test, seen)]
            leader = f"arm {bs.progress.next_block(test, seen).leader}"
            assert all("arm 0" in pair or leader in pair for pair in listed)
    assert bs.progress.decision(test, seen).name == "arm 9"  # type: ignore[union-attr]
    with pytest.raises(bs.InputError, match="arms must be at most 50 with Tilt_1"):
        bs.Design([*names, "one more"], outcome, bs.Tilt(1))
    bs.Design([*names, "one more"], bs.Gaussian(1), bs.UCB(2), sides=1)
