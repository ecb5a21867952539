"""Harm is looked at before anything is announced, also while a decision is withheld."""

from __future__ import annotations

import random
from typing import Any

import pytest

import bascule as bs
from bascule.live.reports.status import Status
from bascule.live.steps.maturity import Event
from bascule.live.transactions import settle

DAY = 86_400.0
CRASH: dict[str, Any] = {"name": "crash", "outcome": bs.Gaussian(1), "error": 0.2}


def watch(
    store: bs.Store, clock: bs.ManualClock, design: bs.Design, outcomes: Any, units: int
) -> Status:
    """Let units come, 100 a day, until the test is over; `outcomes(unit, arm)` has theirs."""
    test = store.create("test", design)
    names = [metric.name for metric in design.metrics]
    for unit in range(units):
        answer = test.evaluate(f"u{unit}")
        if not answer.enrolled or test.status().state != "running":
            break
        value, *others = outcomes(unit, design.arms.index(answer.arm))
        test.record(f"u{unit}", value)
        for name, other in zip(names, others, strict=True):
            test.record(f"u{unit}", other, metric=name)
        clock.advance(DAY / 100)
    assert test.verify().agrees
    return test.status()


@pytest.mark.parametrize("arms", [2, 3])
def test_harm_voids_a_decision_that_is_withheld(clock: bs.ManualClock, arms: int) -> None:
    """The guardrail falls by two standard deviations from unit 200 on, before day 14."""
    crash = bs.Metric(**CRASH, margin=3.0, harm="any")
    design = bs.Design(
        ["a", "b", "c"][:arms],
        bs.Gaussian(1),
        bs.Tilt(3),
        error=0.2,
        metrics=[crash],
        harm_error=0.2,
        min_days=14,
        reports="always",
    )
    rng = random.Random(4)

    def outcomes(unit: int, arm: int) -> tuple[float, float]:
        bad = arm == 1 and unit > 200
        return rng.gauss(1.0 if arm == 1 else 0.0, 1), rng.gauss(-2.0 if bad else 0.0, 1)

    with bs.open(":memory:", clock=clock, shuffle=rng.shuffle) as store:
        status = watch(store, clock, design, outcomes, 500)
        actions = [entry["action"] for entry in store.get("test").audit()]
    if arms == 2:
        assert status.decision is not None
        assert (status.decision.name, status.decision.harm) == ("a", ("crash",))
        assert status.decision.units < 400
    else:
        assert (status.decision, status.withheld) == (None, None)
        assert actions.count("harm") == 1


def test_a_harmful_arm_is_removed_before_a_winner_is_announced(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    """In the block that decides for b, c is found harmful: pairs are judged more strictly then."""
    crash = bs.Metric(**CRASH, margin=1.5, harm="any")
    design = bs.Design(
        ["a", "b", "c"],
        bs.Gaussian(1),
        bs.Tilt(3),
        error=0.2,
        metrics=[crash],
        harm_error=0.2,
        max_units=400,
        reports="always",
    )
    values, crashes = (0.0, 1.1, 0.0), (0.0, 0.0, -1.2)
    status = watch(store, clock, design, lambda _, arm: (values[arm], crashes[arm]), 400)
    assert status.decision is not None
    assert (status.decision.name, status.decision.units) == ("b", 63)


def test_a_winner_beyond_its_margin_ends_the_test(store: bs.Store, clock: bs.ManualClock) -> None:
    """Nobody looks for harm, so the arm would wait for its guardrail for ever."""
    crash = bs.Metric(**CRASH, margin=0.5, harm="never")
    design = bs.Design(
        ["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.2, metrics=[crash], reports="always"
    )
    status = watch(store, clock, design, lambda _, arm: (1.5 * arm, -2.0 * arm), 2000)
    assert (status.state, status.ended_by) == ("over", "guardrails")
    assert status.metrics[0].standings == ("beyond margin",)
    assert sum(arm.units for arm in status.arms) < 100


@pytest.mark.slow
def test_a_winner_may_wait_for_its_guardrail_far_beyond_the_horizon(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    """Past its horizon the primary metric stands still: its bets once overflowed."""
    slow = bs.Metric("crash", bs.Gaussian(1), margin=0.2, error=0.01)
    design = bs.Design(
        ["a", "b"],
        bs.Gaussian(1),
        bs.Tilt(3, effect=0.5, power=0.8),
        metrics=[slow],
        max_units=9_000,
        reports="always",
    )
    test, rng = store.create("test", design), random.Random(1)
    for unit in range(8_000):
        arm = design.arms.index(test.assign(f"u{unit}"))
        crash = Event(f"u{unit}", -0.195 * arm, metric="crash")
        assert all(
            r.accepted for r in test.record_many([Event(f"u{unit}", rng.gauss(arm, 1)), crash])
        )
    assert test.status().state == "running"
    assert test.verify().agrees


def one_test(clock: bs.ManualClock, design: bs.Design, crashes: tuple[float, ...]) -> str:
    """Run a test of arms that hardly differ on the primary metric; return what `verify` says."""
    rng = random.Random(3)
    with bs.open(":memory:", clock=clock, shuffle=rng.shuffle) as store:
        test = store.create("test", design)
        for unit in range(300):
            answer = test.evaluate(f"u{unit}")
            if not answer.enrolled:
                break
            arm = design.arms.index(answer.arm)
            test.record(f"u{unit}", rng.gauss(0.1 * arm, 1))
            for metric in design.metrics:
                test.record(f"u{unit}", rng.gauss(crashes[arm], 1), metric=metric.name)
        return str(test.verify())


def test_verify_notices_a_removal_that_was_switched_off(
    clock: bs.ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash = bs.Metric(**CRASH, margin=0.5, harm="any")
    design = bs.Design(
        ["a", "b", "c"],
        bs.Gaussian(1),
        bs.Tilt(3),
        metrics=[crash],
        harm_error=0.2,
        max_units=400,
        reports="always",
    )
    crashes = (0.0, 0.0, -2.0)
    assert "to the last digit" in one_test(clock, design, crashes)
    monkeypatch.setattr(settle, "_remove_harmful", lambda work: None)
    assert "c is harmful after" in one_test(clock, design, crashes)


def test_verify_notices_an_end_that_was_switched_off(
    clock: bs.ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = bs.Tilt(3, effect=0.5, power=0.8)
    design = bs.Design(["a", "b"], bs.Gaussian(1), rule, reports="always")
    assert "to the last digit" in one_test(clock, design, ())
    monkeypatch.setattr(settle, "plan_ends", lambda *_: None)
    assert "horizon ends the test after" in one_test(clock, design, ())
