"""Changes by hand take effect between blocks: nobody can choose when a known place is filled."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count

import pytest

import bascule as bs

pytestmark = pytest.mark.slow

DAY, NIGHT = 0.7, 0.3
ERROR = 0.05


def with_pause(test: bs.Experiment, wanted: bool) -> None:
    if wanted and test.state == "paused":
        test.start()
    elif not wanted and test.state == "running":
        test.pause()


def with_share(test: bs.Experiment, wanted: bool) -> None:
    audience = test.audience
    share = 1.0 if audience is None else audience.share
    if share != float(wanted):
        test.set_share(float(wanted))


def wins_by_waiting(control: Callable[[bs.Experiment, bool], None], seed: int) -> bool:
    """Whether an operator who lets the second place of each block wait for its hour makes b win.

    A unit arrives every hour. Both arms convert at 70 % by day and 30 % by night; whoever knows the
    first arm of a block of two knows the second.
    """
    chance = random.Random(seed)
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(1), error=ERROR, reports="always")
    with bs.open(":memory:", shuffle=chance.shuffle) as store:
        test = store.create("test", design)
        first: str | None = None
        for hour in range(1500):
            rate = DAY if hour % 2 else NIGHT
            # b is wanted by day, a by night; between blocks anyone may come.
            control(test, first is None or (first == "a") == (rate == DAY))
            found = test.evaluate(hour)
            if not found.enrolled:
                continue
            test.record(hour, float(chance.random() < rate))
            first = found.arm if first is None else None
            if test.state == "decided":
                decision = test.status().decision
                assert decision is not None
                return decision.name == "b"
    return False


@pytest.mark.parametrize("control", [with_pause, with_share])
def test_nobody_wins_by_choosing_the_hour_of_a_known_place(
    control: Callable[[bs.Experiment, bool], None],
) -> None:
    # At 2.5 % a side, more than one false winner of eight has a probability of 1.6 %.
    assert sum(wins_by_waiting(control, seed) for seed in range(8)) <= 1


def test_a_pause_lets_the_open_block_fill_and_says_how_many_places_are_left() -> None:
    design = bs.Design(["a", "b", "c"], bs.Bernoulli(), bs.Tilt(1), reports="always")
    with bs.open(":memory:") as store:
        test = store.create("test", design)
        arms = [test.assign(0)]
        assert test.pause() == test.status().places_left == 2
        assert "after the next 2 units" in test.status().headline
        found = [test.evaluate(i) for i in range(1, 5)]
        assert [one.enrolled for one in found] == [True, True, False, False]
        assert {*arms, found[0].arm, found[1].arm} == {"a", "b", "c"}
        assert test.status().places_left == 0
        assert test.verify().agrees


def test_a_batch_fills_the_open_block_by_its_own_share_and_the_rest_by_the_new_one() -> None:
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(1), reports="always")
    with bs.open(":memory:") as store:
        test = store.create("test", design, audience=bs.Audience(share=0.5))
        units = (str(i) for i in count())
        while not test.evaluate(next(units)).enrolled:
            pass
        assert test.set_share(0.0) == 1
        some = [next(units) for _ in range(40)]
        test.assign_many(some)
        # One of the next units, the first that is in half of the traffic; then nobody.
        half = [u for u in some if bs.Audience(share=0.5).keeps_out("test", u, {}) is None]
        assert [unit for unit in some if test.assignment(unit) is not None] == half[:1]
        test.set_share(1.0)
        assert all(test.evaluate(next(units)).enrolled for _ in range(5))


def test_a_stop_and_a_dropped_arm_act_at_once() -> None:
    design = bs.Design(["a", "b", "c"], bs.Bernoulli(), bs.Tilt(1), reports="always")
    with bs.open(":memory:", shuffle=lambda slots: None) as store:
        test = store.create("test", design)
        test.assign("first")
        test.drop_arm("b")
        assert test.status().places_left == 1
        assert test.assign("second") == "c"
        test.assign("third")
        test.stop()
        assert not test.evaluate("fourth").enrolled
        assert test.verify().agrees


def test_a_ramp_follows_the_time_for_which_the_test_has_run() -> None:
    clock = bs.ManualClock()
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(1), measure=bs.Measure("1h", "any"))
    ramp = bs.Audience(ramp=[("1h", 0.2), ("1d", 1)])
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("test", design, audience=ramp)

        def enrolled(name: str) -> int:
            test.assign_many([f"{name}-{i}" for i in range(400)])
            return sum(test.assignment(f"{name}-{i}") is not None for i in range(400))

        assert enrolled("early") == 0
        clock.advance("2h")
        assert 40 < enrolled("first") < 130
        test.pause()
        clock.advance("4d")
        test.start()
        assert 40 < enrolled("resumed") < 130
        clock.advance("22h")
        assert enrolled("later") >= 399
        assert test.verify().agrees


LATENCY = bs.Metric(
    "latency",
    bs.Gaussian(100),
    goal="decrease",
    measure=bs.Measure("7d", "mean", "zero"),
    margin=50.0,
)


def test_a_ramp_with_guardrails_holds_while_nothing_counts() -> None:
    clock = bs.ManualClock()
    rollout = bs.Audience(ramp=[("0d", 0.1), ("1d", 0.5), ("2d", 1)])
    design = bs.Design(
        ["a", "b"],
        bs.Bernoulli(),
        bs.Tilt(1),
        control="a",
        metrics=[LATENCY],
        measure=bs.Measure("7d", "any"),
    )
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("test", design, audience=rollout)

        def share(name: str) -> float:
            test.assign_many([f"{name}-{i}" for i in range(1000)])
            return sum(test.assignment(f"{name}-{i}") is not None for i in range(1000)) / 1000

        assert 0.05 < share("first") < 0.15
        clock.advance("3d")
        assert 0.05 < share("held") < 0.15
        clock.advance("5d")
        # Those who came first have counted.
        assert 0.45 < share("second") < 0.55
        clock.advance("6d")
        assert 0.45 < share("held again") < 0.55


def test_a_silent_first_user_holds_a_rollout_that_has_no_window_and_the_status_says_so() -> None:
    clock = bs.ManualClock()
    guards = [
        bs.Metric(name, bs.Gaussian(1), goal="decrease", margin=1.0) for name in ("slow", "large")
    ]
    ramp = bs.Audience(ramp=[("0d", 0.1), ("1d", 0.5), ("2d", 1)])
    design = bs.Design(
        ["present", "new"],
        bs.Gaussian(1),
        bs.Tilt(1),
        metrics=guards,
        decides="guardrails",
        reports="always",
    )
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("rollout", design, audience=ramp)
        silent: str | None = None
        for day in range(5):
            units = [f"{day} {i}" for i in range(500)]
            arms = dict(zip(units, test.assign_many(units), strict=True))
            entered = [unit for unit in units if test.assignment(unit) is not None]
            assert 0.04 < len(entered) / 500 < 0.16
            silent = silent or entered[0]
            for unit in entered:
                worse = 9.0 * (arms[unit] == "new")
                for metric in (None, "slow", "large") if unit != silent else ():
                    assert test.record(unit, worse, metric=metric).accepted
            clock.advance("1d")
        status = test.status()
        assert (status.state, status.matured) == ("running", 0)
        assert status.waiting is not None
        # Once it reports, both guardrails are harmed at once: one rollback, which names both.
        for metric in (None, "slow", "large"):
            test.record(str(silent), 0.0, metric=metric)
        test.settle()
        decision = test.status().decision
        assert decision is not None
        assert (decision.name, decision.harm) == ("present", ("large", "slow"))
        assert decision.error <= design.harm_error
        assert {test.assign(f"later {i}") for i in range(50)} == {"present"}
        assert test.verify().agrees
