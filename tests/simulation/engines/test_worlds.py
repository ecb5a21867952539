"""Worlds that are not plain: the loops by hand, against the quick ones, and in figures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.progress import block_procedure, interval_procedure
from bascule.simulation.kernels.compiled import new_control
from bascule.simulation.kernels.worlds import blocks as world_block_kernel
from bascule.simulation.kernels.worlds import intervals as world_interval_kernel
from bascule.simulation.kernels.worlds.blocks import WorldBlockRuns
from bascule.simulation.kernels.worlds.intervals import WorldIntervalRuns

pytestmark = pytest.mark.slow

CERTAIN = bs.worlds.Discrete([0, 1], [[1, 0], [0, 1]])
"""The first arm always gives 0, the second always 1."""


def design(rule: Any, outcome: Any = None, arms: int = 2, **more: Any) -> bs.Design:
    given = {"sides": None if "delta" in more else 1, **more}
    return bs.Design([f"arm {i}" for i in range(arms)], outcome or bs.Gaussian(1), rule, **given)


def general_loop(test: bs.Design, means: list[float], runs: int, seed: int) -> Any:
    """The runs that the general loop plays in a plain world."""
    met = bs.worlds.World(means).for_outcome(test.outcome, len(means))
    played = (
        WorldBlockRuns(test, block_procedure(test), met, seed, runs)
        if test.procedure.counts == "blocks"
        else WorldIntervalRuns(test, interval_procedure(test), met, seed, runs)
    )
    played.play(0, runs, new_control())
    return played


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.ETC(), bs.Tilt(3), bs.Tilt(4.4, batch=3)])
@pytest.mark.parametrize("outcome", [bs.Gaussian(1), bs.Bernoulli()])
@pytest.mark.parametrize("means", [[0.2, 0.9], [0.9, 0.2, 0.3, 0.2], [0.2] * 8 + [0.9]])
def test_in_a_plain_world_the_general_loop_plays_the_runs_of_the_quick_one(
    rule: Any, outcome: Any, means: list[float]
) -> None:
    test = design(rule, outcome, len(means), max_units=700)
    quick, general = bs.simulate(test, means, runs=50, seed=3), general_loop(test, means, 50, 3)
    assert np.array_equal(general.counts.reshape(50, -1), quick.units)
    assert np.array_equal(general.winners, quick.winner)
    assert np.allclose(general.regrets, quick.regret, atol=1e-9)


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        (bs.UCB(2, stop="mixture"), bs.Gaussian(1)),
        (bs.UCB(math.inf), bs.Gaussian(1)),
        (bs.ETC(stop="mixture"), bs.Gaussian(1)),
        (bs.Tilt(3, effect=1.0), bs.Gaussian(1)),
        (bs.Tilt(3, batch=2), bs.Bernoulli()),
    ],
)
def test_the_loops_run_uncompiled_too(
    rule: Any, outcome: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def uncompiled(build: Any, *parts: Any) -> Any:
        return build(*parts, "")

    for family in (world_interval_kernel, world_block_kernel):
        monkeypatch.setattr(family, "compile_loop", uncompiled)
    test = design(rule, outcome, error=0.2, max_units=60)
    means = [0.1, 0.9] if isinstance(outcome, bs.Bernoulli) else [0.0, 1.5]
    quick = bs.simulate(test, means, runs=6, seed=2)
    with np.errstate(over="ignore"):
        general = general_loop(test, means, 6, 2)
    assert np.array_equal(general.counts.reshape(6, 2), quick.units)
    assert np.array_equal(general.winners, quick.winner)


def test_arms_that_outgrow_the_table_of_radii_go_on_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    test, world = design(bs.UCB(2)), {"batch": 5}
    before = bs.simulate(test, [0, 1], runs=100, seed=8, world=world)
    assert before.units.max() > 500
    monkeypatch.setattr(world_interval_kernel, "LARGEST_TABLE", 100)
    after = bs.simulate(test, [0, 1], runs=100, seed=8, world=world)
    # The table holds what the same function gives, but compiled sums may differ in the last bit.
    assert np.mean(before.decision_time == after.decision_time) > 0.99


def test_threads_do_not_matter() -> None:
    world = {
        "means": [0.0, 0.3],
        "noise": {"kind": "student-t"},
        "trend": {"kind": "wave", "size": 0.5, "span": 100},
        "delay": {"mean": 20, "kind": "random", "high_outcomes": 3, "window": 200},
        "batch": 7,
        "missing": 0.1,
    }
    for rule in (bs.UCB(2), bs.Tilt(3)):
        test = design(rule, max_units=3000)
        one, two = (
            bs.simulate(test, runs=200, seed=4, threads=threads, world=world) for threads in (1, 2)
        )
        assert np.array_equal(one.units, two.units)
        assert np.array_equal(one.regret, two.regret)
        few = bs.simulate(test, runs=70, seed=4, world=world)
        assert np.array_equal(few.units, one.units[:70])


def rounds_needed(test: bs.Design) -> int:
    """Rounds after which an even split tells a sure 0 from a sure 1."""
    seen = bs.progress.Statistics.empty(2)
    while bs.progress.decision(test, seen) is None:
        seen = bs.progress.record(test, bs.progress.record(test, seen, 0, 0.0), 1, 1.0)
    return seen.units // 2


@pytest.mark.parametrize(
    ("parts", "extra"),
    [
        ({}, 0),
        ({"delay": bs.worlds.Delay(10)}, 10),
        # A decision falls at the end of a round only.
        ({"delay": bs.worlds.Delay(11)}, 12),
        ({"delay": bs.worlds.Delay(10, high_outcomes=3)}, 30),
        ({"batch": 2}, 0),
    ],
)
def test_an_even_split_stays_even_and_waits_for_its_rounds(
    parts: dict[str, Any], extra: int
) -> None:
    test = design(bs.ETC())
    result = bs.simulate(test, runs=2, world=bs.worlds.World(noise=CERTAIN, **parts))
    time = 2 * rounds_needed(test) + extra
    assert result.decision_time.tolist() == [time, time]
    assert result.units.tolist() == [[time // 2, time // 2]] * 2
    assert result.winner.tolist() == [1, 1]
    assert np.array_equal(result.regret, result.units[:, 0])


def test_a_batch_shows_its_outcomes_when_it_is_full() -> None:
    for rule in (bs.ETC(), bs.UCB(2), bs.Tilt(3)):
        result = bs.simulate(design(rule), runs=3, world=bs.worlds.World(noise=CERTAIN, batch=50))
        assert np.all(result.decision_time % 50 == 0)
        assert np.all(result.winner == 1)


def test_a_rule_without_outcomes_gives_every_arm_its_share() -> None:
    """Until the first batch is there, nobody knows anything."""
    for rule in (bs.UCB(2), bs.ETC(), bs.Tilt(3)):
        test = design(rule, max_units=60)
        blind = bs.simulate(
            test, runs=2, world=bs.worlds.World(noise=CERTAIN, delay=bs.worlds.Delay(500))
        )
        assert blind.units.tolist() == [[30, 30]] * 2


def test_after_the_cap_outcomes_under_way_are_awaited() -> None:
    for rule in (bs.UCB(2), bs.ETC(), bs.Tilt(3)):
        free = bs.simulate(design(rule), runs=2, world=bs.worlds.World(noise=CERTAIN))
        cap = 2 * int(free.decision_time.max()) + 1
        test = design(rule, max_units=cap)
        late = bs.simulate(
            test, runs=2, world=bs.worlds.World(noise=CERTAIN, delay=bs.worlds.Delay(5000))
        )
        assert late.winner.tolist() == [1, 1]
        assert np.all(late.decision_time >= cap - 1)


def test_outcomes_that_never_come_in_time_decide_nothing() -> None:
    late = bs.worlds.World(noise=CERTAIN, delay=bs.worlds.Delay(10, high_outcomes=3, window=20))
    for rule in (bs.UCB(2), bs.ETC(), bs.Tilt(3)):
        result = bs.simulate(design(rule, max_units=300), runs=2, world=late)
        assert result.undecided == 2
        assert np.all(result.units.sum(axis=1) >= 299)


def test_blocks_with_gaps_count_with_what_they_have() -> None:
    test = design(bs.Tilt(1), error=1e-3)
    whole = bs.simulate(test, [0, 1], runs=400, seed=1)
    gaps = bs.simulate(test, [0, 1], runs=400, seed=1, world={"missing": 0.3})
    ratio = gaps.decision_time.mean() / whole.decision_time.mean()
    # Both outcomes of a block come with a probability of 0.7 squared.
    assert ratio == pytest.approx(1 / 0.49, rel=0.1)
    assert gaps.error_rate == 0


def test_many_arms_with_everything_at_once() -> None:
    world = {"batch": 20, "delay": {"mean": 30, "kind": "random"}, "missing": 0.2}
    means = [0.0] * 10 + [1.5]
    for rule in (bs.UCB(2), bs.ETC(), bs.Tilt(3)):
        result = bs.simulate(design(rule, arms=11), means, runs=20, seed=1, world=world)
        assert result.error_rate == 0
        assert result.undecided == 0
        assert np.array_equal(result.units.sum(axis=1), result.decision_time)
        assert np.allclose(result.regret, 1.5 * result.units[:, :10].sum(axis=1))


def test_regret_and_decisions_follow_a_change() -> None:
    """The first arm is worse by 1, and from unit 20 on better by 1."""
    shift = bs.worlds.World(
        [0.0, 1.0], noise=bs.worlds.Normal(1e-6), change=bs.worlds.Change(0, by=2.0, at=20)
    )
    test = design(bs.ETCPrime(), max_units=500)
    result = bs.simulate(test, runs=2, world=shift)
    # Ten units of the second arm lie before the change, and cost nothing there.
    assert np.allclose(result.regret, 10 + (result.units[:, 1] - 10))
    assert result.winner.tolist() == [0, 0]
    assert not result.wrong.any()
    early = bs.worlds.World([0.0, 1.0], change=bs.worlds.Change(0, by=2.0, at=490))
    hasty = bs.simulate(design(bs.Tilt(3), max_units=495), runs=50, seed=1, world=early)
    assert np.all(hasty.decision_time <= 490)
    assert not hasty.wrong.any()


@pytest.mark.parametrize(("trend", "wrong"), [("steady", 0.0), ("rising", 0.06), ("steep", 0.23)])
def test_a_common_trend_misleads_ucb_but_not_blocks(trend: str, wrong: float) -> None:
    runs, means = 800, [0.0, 0.1]
    ucb = bs.simulate(design(bs.UCB(2), delta=0.05), means, runs=runs, seed=1, world=trend)
    assert abs(ucb.error_rate - wrong) <= 4 * math.sqrt(max(wrong, 1 / runs) / runs)
    blocks = bs.simulate(design(bs.Tilt(3), error=0.05), means, runs=runs, seed=1, world=trend)
    assert blocks.error_rate <= 0.005
    assert blocks.undecided == 0


@pytest.mark.parametrize(("batch", "figure"), [(50, 134), (200, 141), (1000, 178)])
def test_batches_cost_blocks_little(batch: int, figure: float) -> None:
    """The figures ask for the evidence once a batch; asked block by block, it comes sooner."""
    result = bs.simulate(design(bs.Tilt(3)), [0, 0.1], runs=800, seed=1, world={"batch": batch})
    regret = result.summary()["regret"]
    assert regret.mean + 3 * regret.se >= 126
    assert regret.mean - 3 * regret.se <= figure
    assert result.error_rate <= 0.05


def test_outcomes_that_tell_by_their_delay_mislead_ucb_but_not_rules_that_wait() -> None:
    late = {"delay": {"mean": 3000, "kind": "random", "high_outcomes": 0.2}}
    for rule, most in ((bs.Tilt(3), 0.1), (bs.ETC(), 0.1)):
        test = design(rule, error=0.05, max_units=20_000)
        assert bs.simulate(test, [0, 0], runs=200, seed=1, world=late).error_rate <= most
    misled = bs.simulate(
        design(bs.UCB(2), error=0.05, max_units=20_000), [0, 0], runs=100, seed=1, world=late
    )
    assert misled.error_rate > 0.5


@pytest.mark.parametrize("world", ["rising", "batches", "random-delay", "missing"])
def test_without_a_difference_few_tests_ever_decide(world: str) -> None:
    test = design(bs.Tilt(3), error=0.05, max_units=100_000)
    result = bs.simulate(test, [0, 0], runs=150, seed=1, world=world)
    # Each of the two wrong claims has its own five percent.
    assert result.error_rate <= 2 * 0.05
    assert result.undecided + result.wrong.sum() == 150


def test_bounded_outcomes_are_bet_on_with_their_limits_alone() -> None:
    test = design(bs.Tilt(3), bs.Bounded(0, 10), error=0.05)
    result = bs.simulate(test, [4.0, 5.0], runs=300, seed=1)
    assert result.world.noise == bs.worlds.Beta(low=0, high=10)
    assert result.error_rate <= 0.05
    narrow = bs.simulate(
        test, [4.0, 5.0], runs=300, seed=1, world={"noise": {"kind": "beta", "concentration": 50,
        "low": 0, "high": 10}},
    )  # fmt: skip
    assert narrow.decision_time.mean() < result.decision_time.mean()


def test_the_result_says_which_world_it_was() -> None:
    result = bs.simulate(design(bs.Tilt(3)), [0, 1], runs=20, world="rising")
    assert result.means == (0.0, 1.0)
    assert "trend -0.5 exp(-t / 2000)" in repr(result)
    assert result.to_dict()["world"]["trend"]["size"] == -0.5
    assert result.predicted() is None
    assert result.proven() is None
    plain = bs.simulate(design(bs.Tilt(3)), [0, 1], runs=20)
    assert "world" not in plain.to_dict()
    assert plain.predicted() is not None


def test_a_world_without_a_difference_needs_a_cap() -> None:
    with pytest.raises(bs.InputError, match="one best arm"):
        bs.simulate(design(bs.Tilt(3)), [0, 1], world="null")
    # The difference comes later, or goes.
    later = bs.worlds.World([0, 0], change=bs.worlds.Change(1, 1.0, 10))
    assert bs.simulate(design(bs.Tilt(3)), runs=20, world=later).undecided == 0
    with pytest.raises(bs.InputError, match="one best arm"):
        bs.simulate(
            design(bs.Tilt(3)), world=bs.worlds.World([0, 1], change=bs.worlds.Change(1, -1.0, 10))
        )
