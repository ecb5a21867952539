"""The loop for units: the rules stage by stage, the same on any threads, and its limits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any
from unittest import mock

import numpy as np
import pytest

import bascule as bs
from bascule.simulation.engines.backends import threads as engine
from bascule.simulation.recurrent.runs import EngineName, Fast, Plain

pytestmark = pytest.mark.slow

WAYS: tuple[EngineName, ...] = ("fast", "plain")

PLAIN_RULES: tuple[Any, ...] = (
    *(bs.UCB(2), bs.UCB(2, radius="mixture", stop="mixture")),
    *(bs.UCB(3, radius="looks"), bs.ETC(), bs.ETCPrime()),
)


def design(rule: Any, arms: int = 2, outcome: Any = None, **more: Any) -> bs.Design:
    names = [f"arm {i}" for i in range(arms)]
    given = {"sides": None if "delta" in more else 1, **more}
    return bs.Design(names, outcome or bs.Recurrent(1, 1), rule, **given)


def same(one: bs.simulation.Simulation, two: bs.simulation.Simulation) -> bool:
    return (
        np.array_equal(one.winner, two.winner)
        and np.array_equal(one.decision_time, two.decision_time)
        and np.array_equal(one.units, two.units)
    )


@pytest.mark.parametrize(
    ("rule", "means"),
    [(rule, (0.0, 2.0)) for rule in PLAIN_RULES[:-1]]
    + [(rule, (0.0, 2.0, 0.3)) for rule in PLAIN_RULES[1::2] + PLAIN_RULES[-1:]],
)
def test_plain_runs_are_the_rules_stage_by_stage(rule: Any, means: tuple[float, ...]) -> None:
    test = design(rule, len(means), bs.Recurrent(0.8, 1.2), max_units=120)
    result = bs.simulate(test, means, runs=12, seed=5, engine="plain")
    for run in (0, 11):
        *_, last = bs.simulation.trace_stages(test, means, seed=5, run=run)
        assert result.units[run].tolist() == [arm.units for arm in last.statistics.arms]
        assert result.winner[run] == (-1 if last.decision is None else last.decision.arm)
        assert result.decision_time[run] == last.statistics.units


def test_a_stage_brings_every_unit_one_outcome() -> None:
    test = design(bs.UCB(2), max_units=30)
    for number, stage in enumerate(bs.simulation.trace_stages(test, [0, 0], seed=2), start=1):
        assert len(stage.values) == number
        assert len(stage.joined) == 1
        assert stage.statistics.stage == stage.statistics.units == number
        ages = [c.outcomes for arm in stage.statistics.arms for c in arm.cohorts]
        assert sorted(ages) == list(range(1, number + 1))


def test_an_even_split_brings_one_unit_for_every_arm_still_in() -> None:
    test = design(bs.ETC(), 3, error=0.1)
    stages = list(islice(bs.simulation.trace_stages(test, [0.0, 3.0, 2.9], seed=3), 60))
    assert stages[0].joined == (0, 1, 2)
    assert stages[-1].joined == (1, 2)
    units = [arm.units for arm in stages[-1].statistics.arms]
    assert units[0] < units[1] == units[2]


@pytest.mark.parametrize("rule", [bs.UCB(2, radius="mixture"), bs.UCB(3, radius="looks")])
@pytest.mark.parametrize("way", WAYS)
def test_threads_do_not_matter(rule: Any, way: Any) -> None:
    test = design(rule, error=0.1)
    alone = bs.simulate(test, [0, 2], 200, seed=4, threads=1, engine=way)
    assert same(alone, bs.simulate(test, [0, 2], 200, seed=4, threads=3, engine=way))


@pytest.mark.parametrize("kind", [Fast, Plain])
def test_a_run_that_outgrows_its_room_starts_afresh_and_alone(kind: Any) -> None:
    """What a run draws must not depend on the runs before it, nor on how they are chunked."""

    def play() -> bs.simulation.Simulation:
        return bs.simulate(test, [0, 3], 130, seed=4, engine="fast" if kind is Fast else "plain")

    def chunks(runs: int, threads: int) -> Iterator[tuple[int, int]]:
        return ((k, min(7, runs - k)) for k in range(0, runs, 7))

    test = design(bs.UCB(2))
    ample = play()
    with mock.patch.object(kind, "room", return_value=150.0):
        small = play()
        with mock.patch.object(engine, "_chunks", chunks):
            assert same(small, play())
    assert 0 < (small.decision_time > 150).sum() < 130
    # With other powers of their ages units draw other numbers; every outcome stays what it was.
    assert same(small, ample) == (kind is Plain)


def test_a_longer_simulation_begins_with_the_shorter_one() -> None:
    test = design(bs.UCB(2, radius="mixture"))
    short, long = (bs.simulate(test, [0, 1], runs, seed=3) for runs in (70, 300))
    assert np.array_equal(short.units, long.units[:70])


@pytest.mark.parametrize("way", WAYS)
def test_runs_that_meet_the_cap_are_undecided(way: Any) -> None:
    rule = bs.UCB(2, radius="mixture")
    capped = bs.simulate(design(rule, max_units=150), [0, 1], 300, seed=1, engine=way)
    late = capped.winner == -1
    assert 0 < late.sum() < 300
    assert np.all(capped.decision_time[late] == 150)
    assert np.all(capped.units.sum(axis=1) == capped.decision_time)


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.ETC()])
def test_the_smallest_cap_gives_every_arm_its_first_units(rule: Any) -> None:
    result = bs.simulate(design(rule, max_units=6), [0, 9], runs=5, seed=1)
    assert result.units.tolist() == [[3, 3]] * 5


def test_a_stage_that_does_not_fit_under_the_cap_is_not_begun() -> None:
    result = bs.simulate(design(bs.ETC(), 3, max_units=10), [0, 0, 0], runs=5, seed=1)
    assert result.decision_time.tolist() == [9] * 5


def test_more_arms_than_are_looked_through() -> None:
    means = [0.0] * 10 + [3.0]
    result = bs.simulate(design(bs.UCB(2, radius="mixture"), 11), means, runs=30, seed=1)
    assert result.error_rate == 0
    assert result.units.min() >= 3


@pytest.mark.parametrize("rule", [bs.UCB(2, radius="mixture"), bs.ETC(stop="mixture")])
def test_the_units_of_measurement_do_not_matter(rule: Any) -> None:
    plain = bs.simulate(design(rule), [0.0, 1.0], runs=100, seed=3)
    scaled = design(rule, outcome=bs.Recurrent(1024, 1024))
    again = bs.simulate(scaled, [0.0, 1024.0], runs=100, seed=3)
    assert np.mean(again.decision_time == plain.decision_time) > 0.98


def test_differences_that_do_not_matter_end_a_test() -> None:
    test = design(bs.UCB(2, radius="mixture"), min_effect=1.5, error=0.1)
    result = bs.simulate(test, [0, 0.1], runs=50, seed=1)
    assert result.no_difference > 40
    stage = list(bs.simulation.trace_stages(test, [0, 0.1], seed=1))[-1]
    assert stage.decision is not None
    assert stage.decision.arm is None


def test_the_result_says_how_it_was_played() -> None:
    test = design(bs.UCB(2, radius="mixture"))
    fast, plain = (bs.simulate(test, [0, 2], 10, engine=way) for way in WAYS)
    assert (fast.engine, plain.engine, plain.accuracy) == ("fast", "plain", 0)
    assert 0 < fast.accuracy <= 1e-2
    assert fast.to_dict()["accuracy"] == fast.accuracy
    assert "right to within" in repr(fast)
    assert "every outcome drawn" in repr(plain)
    once = bs.simulate(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), sides=1), [0, 2], 10)
    assert "engine" not in once.to_dict()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"engine": "slow"}, 'engine must be "fast" or "plain"'),
        ({"world": {"batch": 5}}, "batch does not go with"),
        ({"world": "delay"}, "delay does not go with"),
    ],
)
def test_what_cannot_be_played_is_refused(more: Any, words: str) -> None:
    with pytest.raises(bs.InputError, match=words):
        bs.simulate(design(bs.UCB(2)), [0, 1], runs=5, **more)


def test_engines_belong_to_units() -> None:
    once = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), sides=1)
    with pytest.raises(bs.InputError, match="belongs to Recurrent"):
        bs.simulate(once, [0, 1], engine="plain")
    with pytest.raises(bs.InputError, match="trace_stages"):
        next(bs.trace(design(bs.UCB(2)), [0, 1]))
    with pytest.raises(bs.InputError, match="must be Recurrent"):
        next(bs.simulation.trace_stages(once, [0, 1]))


def test_what_would_never_end_is_refused() -> None:
    with pytest.raises(bs.InputError, match="too small"):
        bs.simulate(design(bs.UCB(2)), [0, 1e-4])
    with pytest.raises(bs.InputError, match="would end nearly every run undecided"):
        bs.simulate(design(bs.UCB(2), max_units=100), [0, 0.1])
    with pytest.raises(bs.InputError, match="at most 100000000"):
        bs.simulate(design(bs.UCB(2), max_units=10**9), [0, 1])


@pytest.mark.parametrize("outcome", [bs.Recurrent(1, 0), bs.Recurrent(0, 1), bs.Recurrent(1e-9, 1)])
def test_either_spread_may_vanish(outcome: bs.Recurrent) -> None:
    test = design(bs.UCB(2, radius="mixture"), outcome=outcome)
    fast, plain = (bs.simulate(test, [0, 0.5], 300, seed=2, engine=way) for way in WAYS)
    spread = math.hypot(*(r.decision_time.std() / math.sqrt(300) for r in (fast, plain)))
    assert abs(fast.decision_time.mean() - plain.decision_time.mean()) < 4 * spread
