"""Tilted blocks with many arms: which pairs a block compares, what is kept, and what is listed."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.metrics.effects import beaten_by
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.many_arms.procedure import ManyArmsProcedure
from bascule.core.procedures.many_arms.state import MANY, references
from bascule.core.statistics import PairStatistics
from bascule.live.storage.state import statistics_from_json, statistics_to_json

OUTCOMES = [bs.Gaussian(0.5), bs.Bernoulli(), bs.Bounded(-1, 3)]
LARGE = 60


def design(outcome: Any, arms: int = LARGE, rule: Any = None, **more: Any) -> bs.Design:
    return bs.Design([f"arm {i}" for i in range(arms)], outcome, rule or bs.Tilt(3), **more)


def ones(values: Any) -> list[bs.ArmStatistics]:
    """One unit of each arm with these outcomes; none where there is None."""
    return [
        bs.ArmStatistics() if value is None else bs.ArmStatistics(1, value, value * value)
        for value in values
    ]


def played(test: bs.Design, rates: Any, blocks: int, seed: int = 0) -> bs.Statistics:
    rng = np.random.default_rng(seed)
    seen = bs.Statistics.empty(len(test.arms))
    for _ in range(blocks):
        values = (rng.random(len(test.arms)) < rates).astype(float)
        seen = bs.fold_block(test, seen, ones(values.tolist()))
    return seen


def pairs_with_evidence(seen: bs.Statistics) -> set[frozenset[int]]:
    return {
        frozenset((row.arm, rival))
        for row in seen.rows
        for rival, clock in enumerate(row.clocks)
        if clock > 0.0
    }


def test_up_to_twenty_arms_nothing_is_left_out() -> None:
    assert type(design(bs.Bernoulli(), MANY).procedure) is BlockProcedure
    assert isinstance(design(bs.Bernoulli(), MANY + 1).procedure, ManyArmsProcedure)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_large_block_compares_its_leader_and_the_control_with_each_arm(outcome: Any) -> None:
    arms = 700
    test = design(outcome, arms)
    block = ones([*[0.0] * 7, 1.0, *[0.0] * (arms - 8)])
    first = bs.fold_block(test, bs.Statistics.empty(arms), block)
    assert pairs_with_evidence(first) == {frozenset((0, arm)) for arm in range(1, arms)}
    assert bs.next_block(test, first).leader == 7
    second = bs.fold_block(test, first, ones([0.0] * arms))
    assert pairs_with_evidence(second) == {
        frozenset((one, arm)) for one in (0, 7) for arm in range(arms) if arm != one
    }
    control, leader = second.rows
    assert (control.led, leader.led) == (1, 1)
    # In each block the pair of these two is compared once, as any other pair is.
    assert control.clocks[1] == control.clocks[7] + leader.clocks[0] == 2 * leader.clocks[1]


def test_a_small_block_compares_all_of_its_pairs() -> None:
    test = design(bs.Gaussian(1))
    inside = [*range(3, 53)]
    block = ones([float(arm) if arm in inside else None for arm in range(LARGE)])
    seen = bs.fold_block(test, bs.Statistics.empty(LARGE), block, look=False)
    assert pairs_with_evidence(seen) == {frozenset(pair) for pair in combinations(inside, 2)}


def test_a_block_between_compares_the_arms_with_the_highest_means() -> None:
    arms = 100
    test = design(bs.Gaussian(1), arms, bs.Tilt(1), error=1e-9)
    seen = bs.fold_block(test, bs.Statistics.empty(arms), ones([arm / 10 for arm in range(arms)]))
    after = bs.fold_block(test, seen, ones([0.0] * arms))
    new = pairs_with_evidence(after) - pairs_with_evidence(seen)
    highest = {*range(arms - references(arms) + 1, arms)}
    assert all(pair & highest for pair in new)
    assert references(arms) == 12
    assert {frozenset((90, arm)) for arm in range(arms) if arm != 90} <= pairs_with_evidence(after)


def test_evidence_is_that_of_all_pairs_where_all_are_compared() -> None:
    """The sums give what bets on every block have won, or hardly less, never more."""
    arms, rng = MANY + 1, np.random.default_rng(5)
    test, few = design(bs.Bernoulli(), arms), design(bs.Bernoulli(), 2)
    many, two = bs.Statistics.empty(arms), bs.Statistics.empty(2)
    for _ in range(300):
        values = (rng.random(arms) < np.linspace(0.05, 0.3, arms)).astype(float).tolist()
        many = bs.fold_block(test, many, ones(values), look=False)
        two = bs.fold_block(few, two, ones([values[0], values[-1]]), look=False)
    (exact,) = two.pairs
    procedure = test.procedure
    assert isinstance(procedure, ManyArmsProcedure)
    state = procedure._with_rows(many, many.rows)
    kept = procedure.steps.read(state, arms, 0, arms - 1)
    assert (kept.blocks, kept.differences, kept.squares) == pytest.approx(
        (exact.blocks, exact.differences, exact.squares)
    )
    assert np.all(np.array(kept.wins) <= np.array(exact.wins) + 1e-9)
    best = max(exact.wins)
    assert max(kept.wins) >= 0.95 * best > 3.0


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_statistics_add_up_row_by_row(outcome: Any) -> None:
    test = design(outcome, error=1e-9)
    one, two = played(test, 0.3, 4, seed=1), played(test, 0.3, 5, seed=2)
    joined = one + two
    assert joined == two + one
    assert [row.arm for row in joined.rows] == sorted({row.arm for row in one.rows + two.rows})
    assert sum(row.led for row in joined.rows) == 9
    clocks = [sum(sum(row.clocks) for row in seen.rows) for seen in (one, two, joined)]
    assert clocks[0] + clocks[1] == pytest.approx(clocks[2])
    assert joined + bs.Statistics.empty(LARGE) == joined


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_rows_are_stored_as_json_and_go_on_the_same(outcome: Any) -> None:
    test = design(outcome)
    seen = played(test, 0.2, 5)
    again = statistics_from_json(statistics_to_json(seen))
    assert again == seen
    block = ones([1.0, *[0.0] * (LARGE - 1)])
    assert bs.fold_block(test, again, block) == bs.fold_block(test, seen, block)
    assert len(json.loads(statistics_to_json(seen))["rows"]) < LARGE


@pytest.mark.parametrize("outcome", [bs.Gaussian(1), bs.Bernoulli()])
def test_statistics_that_were_stored_with_every_pair_load_and_go_on(outcome: Any) -> None:
    arms = 30
    test = design(outcome, arms)
    few = design(outcome, 2, error=0.05 / 29)
    two = bs.Statistics.empty(2)
    for _ in range(40):
        two = bs.fold_block(few, two, ones([0.0, 1.0]), look=False)
    (pair,) = two.pairs
    dense = [PairStatistics()] * (arms * (arms - 1) // 2)
    dense[0] = pair
    stored = bs.Statistics((*two.arms, *[bs.ArmStatistics(40)] * (arms - 2)), pairs=tuple(dense))
    old = {"arms": [[a.units, a.total, a.squares] for a in stored.arms], "dropped": []}
    old |= {"removed": [], "pairs": [[*vars_of(one)] for one in dense]}
    loaded = statistics_from_json(json.dumps(old))
    assert loaded == stored
    assert isinstance(loaded, bs.Statistics)
    after = bs.fold_block(test, loaded, ones([None, None, *[0.0] * (arms - 2)]))
    assert not after.pairs
    assert after.dropped == {0}
    assert bs.effects(test, loaded)[0].high <= 0.0


def vars_of(pair: PairStatistics) -> tuple[Any, ...]:
    numbers = (pair.total, pair.clock, pair.blocks, pair.differences, pair.squares)
    return (*numbers, list(pair.wins))


@pytest.mark.parametrize("outcome", [bs.Gaussian(1), bs.Bernoulli()])
def test_effects_list_the_pairs_with_the_control_and_with_the_leader(outcome: Any) -> None:
    rates = np.full(LARGE, 0.05)
    rates[9] = 0.9
    test = design(outcome, rule=bs.Tilt(1))
    seen = played(test, rates, 30)
    leader = bs.next_block(test, seen).leader
    assert leader == 9
    listed = [(effect.first, effect.second) for effect in bs.effects(test, seen)]
    assert len(set(listed)) == len(listed) == 2 * LARGE - 3
    assert all("arm 0" in pair or "arm 9" in pair for pair in listed)


@pytest.mark.parametrize("outcome", [bs.Gaussian(0.5), bs.Bernoulli()])
def test_an_arm_is_dropped_when_its_interval_is_on_one_side_of_zero(outcome: Any) -> None:
    rates = np.full(LARGE, 0.05)
    rates[9] = 0.95
    test = design(outcome, rule=bs.Tilt(1))
    seen, before = bs.Statistics.empty(LARGE), frozenset[int]()
    rng = np.random.default_rng(3)
    while len(seen.dropped) < LARGE // 2:
        values = (rng.random(LARGE) < rates).astype(float)
        block = ones([None if i in before else v for i, v in enumerate(values.tolist())])
        seen = bs.fold_block(test, seen, block)
        beaten = beaten_by(test, seen, without=frozenset())
        assert seen.dropped == before | beaten
        for effect in bs.effects(test, seen):
            second = int(effect.second.split()[1])
            if effect.low >= 0.0 and second not in before:
                assert second in seen.dropped
        before = seen.dropped


def test_arms_that_only_the_removed_one_had_beaten_come_back() -> None:
    rates = np.full(LARGE, 0.05)
    rates[9] = 0.95
    test = design(bs.Bernoulli(), rule=bs.Tilt(1))
    seen = played(test, rates, 40)
    assert seen.dropped == set(range(LARGE)) - {9}
    without = bs.remove_arm(test, seen, "arm 9")
    assert without.removed == {9}
    assert not without.dropped


def test_many_equal_arms_end_without_a_difference_that_matters() -> None:
    """No arm is dropped, and so not every pair is compared; all are near the same arm."""
    test = design(bs.Gaussian(1), rule=bs.Tilt(1, batch=400), min_effect=1.0)
    rng = np.random.default_rng(0)
    seen, ends = bs.Statistics.empty(LARGE), []
    for _ in range(6):
        totals = rng.normal(0.0, 20.0, LARGE)
        seen = bs.fold_block(test, seen, [bs.ArmStatistics(400, t, 400.0) for t in totals.tolist()])
        reached = bs.decision(test, seen)
        ends.append(None if reached is None else reached.name)
    assert ends[0] is None
    assert ends[-1] == "no difference that matters"
    assert test.procedure.threshold > design(bs.Gaussian(1)).procedure.threshold  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("outcome", "means"),
    [(bs.Gaussian(1), [0.0] * 55 + [2.0]), (bs.Bernoulli(), [0.1] * 55 + [0.9])],
)
def test_a_trace_is_the_run_that_simulate_plays(outcome: Any, means: list[float]) -> None:
    """From large blocks to small ones, and in batches of blocks whose leader may change."""
    test = design(outcome, len(means), bs.Tilt(3, batch=2), max_units=100_000)
    result = bs.simulate(test, means=means, runs=3, seed=4)
    for run in range(3):
        *_, last = bs.trace(test, means, seed=4, run=run)
        assert last.decision is not None
        assert last.decision.arm == result.winner[run]
        assert [arm.units for arm in last.statistics.arms] == result.units[run].tolist()


@pytest.mark.parametrize(
    ("outcome", "means"),
    [(bs.Gaussian(1), [1.0, *[0.0] * 55]), (bs.Bernoulli(), [0.7, *[0.2] * 55])],
)
def test_the_best_arm_wins_but_for_the_stated_error(outcome: Any, means: list[float]) -> None:
    """At the bound of 30 %, 100 runs would give 30 wrong ones, and 44 at three standard errors."""
    test = design(outcome, len(means), bs.Tilt(3, batch=2), error=0.3, max_units=100_000)
    result = bs.simulate(test, means=means, runs=100, seed=2)
    assert result.undecided == 0.0
    assert (result.winner != 0).sum() <= 44
