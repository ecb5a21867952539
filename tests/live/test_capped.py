"""Outcomes beyond the limits count as the nearest limit, and are counted, in every aggregate."""

from __future__ import annotations

import pytest

import bascule as bs

SPEND = bs.Bounded(0, 100)
LIMITS = "outcomes{} beyond the limits, counted as the nearest: {}"


@pytest.mark.parametrize("aggregate", ["sum", "mean", "last"])
def test_outcomes_above_a_cap_are_capped_and_counted_by_arm(aggregate: str) -> None:
    measure = bs.Measure("1d", aggregate, missing="zero")  # type: ignore[arg-type]
    spend = bs.Metric("spend", SPEND, role="secondary", measure=measure)
    design = bs.Design(["a", "b"], SPEND, bs.Tilt(1), measure=measure, metrics=[spend])
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("caps", design)
        arms = dict(zip("uvwx", test.assign_many([*"uvwx"]), strict=True))
        for unit, arm in arms.items():
            assert test.record(unit, 250.0 if arm == "b" else 40.0).accepted
            assert test.record(unit, -3.0, metric="spend").accepted
        clock.advance("2d")
        status = test.status()
        assert {arm.name: (arm.clipped, arm.mean) for arm in status.arms} == {
            "a": (0, 40.0),
            "b": (2, 100.0),
        }
        assert status.metrics[0].clipped == (2, 2)
        assert status.metrics[0].means == (0.0, 0.0)
        assert LIMITS.format("", "0 of a, 2 of b") in str(status)
        assert LIMITS.format(" of spend", "2 of a, 2 of b") in str(status)
        assert status.to_dict()["arms"][1]["clipped"] == 2
        assert test.excluded_counts() == {"clipped": 6}
        assert test.verify().agrees


def test_a_number_that_is_recorded_once_is_capped_and_a_rate_takes_0_and_1_alone() -> None:
    rate = bs.Metric("rate", bs.Bernoulli(), role="secondary")
    design = bs.Design(["a", "b"], SPEND, bs.Tilt(1), metrics=[rate], reports="always")
    with bs.open(":memory:") as store:
        test = store.create("caps", design)
        arm = test.assign("u")
        assert test.record("u", 1e6).accepted
        assert test.record("u", 2.0, metric="rate").reason == "out of range"
        assert test.record("u", 1.0, metric="rate").accepted
        assert {one.name: one.clipped for one in test.status().arms}[arm] == 1
        assert test.verify().agrees


@pytest.mark.parametrize("aggregate", ["sum", "mean", "last"])
def test_a_log_counts_outcomes_beyond_the_limits_by_arm(aggregate: str) -> None:
    log = {
        "unit": [*range(40)],
        "arm": ["a", "b"] * 20,
        "value": [40.0, 250.0, 40.0, 40.0] * 10,
        "day": [i // 10 for i in range(40)],
    }
    measure = bs.LogMetric("value", outcome=SPEND, aggregate=aggregate, missing="zero")  # type: ignore[arg-type]
    found = bs.analyze(log, measure)
    assert LIMITS.format("", "0 of a, 10 of b") in found.notes
    assert [arm.mean for arm in found.arms] == [40.0, 70.0]
