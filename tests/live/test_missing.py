"""Values that are missing: what they count as is said beforehand, and arms that differ are told."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bascule as bs

DAY = bs.Measure("1d", "any")


def guarded(missing: Any, rule: Any = None) -> bs.Design:
    measure = bs.Measure("1d", "mean", missing)
    latency = bs.Metric(
        "latency", bs.Bounded(0, 500), goal="decrease", margin=20.0, measure=measure, harm="any"
    )
    return bs.Design(
        ["control", "green"], bs.Bernoulli(), rule or bs.Tilt(1), metrics=[latency], measure=DAY
    )


def run(design: bs.Design, lost: float, slower: float, seed: int = 1) -> bs.Experiment:
    """A test whose second arm is slower, and loses a share of its latencies."""
    chance, clock = random.Random(seed), bs.ManualClock()
    store = bs.open(":memory:", clock=clock, shuffle=chance.shuffle)
    test = store.create("latency", design)
    for day in range(12):
        units = [f"{day}-{i}" for i in range(60)]
        events: list[tuple[Any, ...]] = []
        for unit, arm in zip(units, test.assign_many(units), strict=True):
            if chance.random() < (0.9 if arm == "green" else 0.4):
                events.append((unit, 1.0))
            if arm == "control" or chance.random() >= lost:
                value = chance.gauss(100.0 + slower * (arm == "green"), 20.0)
                events.append((unit, min(max(value, 0.0), 500.0), None, None, "latency"))
        test.record_many(events)
        clock.advance("1d")
    return test


def test_a_slower_arm_that_loses_half_of_its_latencies_does_not_ship() -> None:
    test = run(guarded("exclude"), lost=0.5, slower=40.0)
    status = test.status()
    (latency,) = status.metrics
    (effect,) = latency.contrasts
    assert latency.standings != ("within margin",)
    assert 25.0 < effect.difference < 55.0
    assert status.decision is None or status.decision.name != "green"
    (found,) = [one for one in test.diagnostics() if one.name == "missing values of latency"]
    assert found.flagged
    assert "missing more often in some arms" in found.message
    assert [one.name for one in test.alarms()] == ["missing values of latency"]
    assert test.verify().agrees


def test_values_that_are_missing_as_often_in_both_arms_are_no_alarm() -> None:
    test = run(guarded("exclude"), lost=0.0, slower=0.0)
    (found,) = [one for one in test.diagnostics() if one.name.startswith("missing values")]
    assert not found.flagged
    assert test.verify().agrees


@pytest.mark.parametrize(
    ("design", "words"),
    [
        (guarded(None), "a unit may have no value of metric latency"),
        (guarded("exclude", bs.UCB(2)), "needs tilted blocks"),
        (
            bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(1), measure=bs.Measure("1d", "mean")),
            "a unit may have no value",
        ),
        (
            bs.Design(
                ["a", "b"], bs.Gaussian(1), bs.Tilt(1), measure=bs.Measure("1d", "last", "exclude")
            ),
            "beside the primary one",
        ),
    ],
)
def test_what_a_missing_value_is_has_to_be_said(design: bs.Design, words: str) -> None:
    with bs.open(":memory:") as store, pytest.raises(bs.InputError, match=words) as refused:
        store.create("test", design)
    assert refused.value.field == "missing"


OUTCOMES = st.sampled_from([bs.Bernoulli(), bs.Bounded(0, 1), bs.Gaussian(0.5), bs.Numeric()])


@settings(max_examples=40, deadline=None)
@given(
    outcome=OUTCOMES,
    rule=st.sampled_from([bs.Tilt(1), bs.Tilt(3), bs.UCB(2), bs.ETC()]),
    arms=st.integers(2, 4),
    values=st.lists(st.sampled_from([0.0, 1.0]), min_size=4, max_size=60),
)
def test_no_interval_excludes_its_own_estimate(
    outcome: Any, rule: Any, arms: int, values: list[float]
) -> None:
    try:
        design = bs.Design(list("abcd")[:arms], outcome, rule, error=0.2, reports="always")
    except bs.InputError:
        # Not every rule takes every outcome.
        return
    with bs.open(":memory:", shuffle=lambda slots: None) as store:
        test = store.create("test", design)
        for i, value in enumerate(values):
            arm = test.assign(i)
            # Long runs in which one arm is ahead, and then the other.
            high = (arm == "a") == (i < len(values) // 2)
            test.record(i, value if i % 7 == 0 else float(high))
            for effect in test.status().effects:
                assert effect.low <= effect.difference <= effect.high
