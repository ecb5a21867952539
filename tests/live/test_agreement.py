"""The simulator and the live store, fed the same outcomes, decide the same at the same unit."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

import bascule as bs

GAUSSIAN, COIN = (bs.Gaussian(1), [0.0, 1.5]), (bs.Bernoulli(), [0.1, 0.9])
THREE = (bs.Gaussian(1), [0.0, 0.3, 2.0])
WORLDS = [
    (bs.UCB(2), GAUSSIAN),
    (bs.UCB(2), COIN),
    (bs.UCB(2), THREE),
    (bs.UCB(3, stop="mixture"), GAUSSIAN),
    (bs.ETC(), GAUSSIAN),
    (bs.ETC(), COIN),
    (bs.ETC(), THREE),
    (bs.ETCPrime(), GAUSSIAN),
    (bs.ETCPrime(), COIN),
    (bs.Tilt(3), GAUSSIAN),
    (bs.Tilt(3), COIN),
    (bs.Tilt(3), THREE),
    (bs.Tilt(2, effect=1.0, batch=5), GAUSSIAN),
    (bs.Tilt(2, batch=5), COIN),
]


class Replay:
    """A shuffle that deals the slots in the order in which the simulator dealt them."""

    def __init__(self, arms: list[int]) -> None:
        self.left = deque(arms)

    def __call__(self, slots: list[int]) -> None:
        wanted = [self.left.popleft() for _ in slots]
        assert sorted(wanted) == sorted(slots), "the blocks of the simulator have other sizes"
        slots[:] = wanted


@pytest.mark.parametrize(("rule", "world"), WORLDS, ids=str)
def test_same_outcomes_same_arms_same_decision_at_the_same_unit(rule: Any, world: Any) -> None:
    outcome, means = world
    design = bs.Design(
        [f"arm {i}" for i in range(len(means))], outcome, rule, error=0.1, reports="always"
    )
    steps = list(bs.trace(design, means, seed=5))
    with bs.open(":memory:", shuffle=Replay([step.arm for step in steps])) as store:
        test = store.create("same", design)
        units = [f"unit {i}" for i in range(len(steps))]
        for unit, step in zip(units, steps, strict=True):
            assert test.assign(unit) == design.arms[step.arm]
            assert test.record(unit, step.value).accepted
        status = test.status()
        assert status.state == "decided"
        assert status.decision is not None
        assert steps[-1].decision is not None
        assert status.decision.arm == steps[-1].decision.arm
        assert status.decision.units == len(steps)
        assert test.verify().agrees


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.ETC(), bs.Tilt(3)], ids=str)
def test_outcomes_that_come_in_another_order_lead_to_the_same_statistics(rule: Any) -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), rule, error=0.1, reports="always")
    found = []
    for backwards in (False, True):
        with bs.open(":memory:", shuffle=lambda slots: None) as store:
            test = store.create("order", design)
            units = [f"unit {i}" for i in range(8)]
            arms = test.assign_many(units)
            events = [
                (unit, 0.1 * len(unit) + (arm == "b"))
                for unit, arm in zip(units, arms, strict=True)
            ]
            for event in reversed(events) if backwards else events:
                test.record(*event)
            found.append(test.status().arms)
    assert found[0] == found[1]


TWICE = (bs.Recurrent(1, 1), [0.0, 1.5])
COMING = [
    (bs.UCB(2, radius="mixture"), TWICE),
    (bs.UCB(3, radius="mixture", stop="mixture"), TWICE),
    (bs.UCB(2, radius="looks"), (bs.Recurrent(1, 1), [0.0, 4.0])),
    (bs.UCB(2, radius="mixture"), (bs.Recurrent(1, 2), [0.0, 0.5, 4.0])),
]


@pytest.mark.parametrize(("rule", "world"), COMING, ids=str)
def test_outcomes_that_keep_coming_lead_to_the_same_decision_at_the_same_stage(
    rule: Any, world: Any
) -> None:
    outcome, means = world
    measure = bs.Measure(period="1d")
    names = [f"arm {i}" for i in range(len(means))]
    design = bs.Design(names, outcome, rule, error=0.1, measure=measure)
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("same", design)
        for stage, step in enumerate(bs.simulation.trace_stages(design, means, seed=5), 1):
            (arm,) = step.joined
            assert test.assign(f"unit {stage}") == names[arm]
            clock.advance("12h")
            test.record_many((f"unit {i}", value) for i, value in enumerate(step.values, 1))
            assert test.status().stage == stage - 1
            clock.advance("12h")
            status = test.status()
            assert (status.stage, status.decision is None) == (stage, step.decision is None)
        assert status.decision is not None
        assert step.decision is not None
        assert status.decision.arm == step.decision.arm
        assert status.decision.units == stage
        assert test.verify().agrees


def test_a_recurring_test_without_a_window_has_every_report() -> None:
    """Units of a recurring test never mature: no report may ask when they do."""
    measure = bs.Measure(period="1d", grace="6h")
    design = bs.Design(
        ["a", "b", "c"], bs.Recurrent(1, 1), bs.UCB(2, radius="mixture"), measure=measure
    )
    assert design.matures(0.0) is None
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("returning", design)
        for day in range(4):
            units = [f"{day}-{one}" for one in range(6)]
            test.assign_many(units)
            test.record_many([(unit, 1.0) for unit in units])
            clock.advance(86400.0)
        assert test.even_split() is None
        assert test.alarms() == ()
        assert test.verify().agrees
    assert "not played" not in repr(bs.simulate(design, [0.0, 0.5, 1.0], 5, threads=1))
