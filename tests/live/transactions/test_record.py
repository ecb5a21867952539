"""Outcomes as they come: which of them count, when, and what is said of the others."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any

from tests.live.conftest import START

import bascule as bs

COINS = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
WEEK = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("7d", "any"))


def reasons(test: bs.Experiment) -> list[str]:
    return [row["reason"] for row in test.excluded()]


def test_outcomes_that_do_not_count_are_listed_with_their_reason(store: bs.Store) -> None:
    test = store.create("aside", COINS)
    test.assign("u")
    later, sooner = START + timedelta(hours=1), START - timedelta(hours=1)
    given: list[tuple[tuple[Any, ...], str]] = [
        (("u", math.nan), "not a number"),
        (("u", math.inf), "not a number"),
        (("u", "1"), "not a number"),
        (("u", 0.5), "out of range"),
        (("nobody", 1.0), "unknown unit"),
        (("u", 1.0, sooner), "early"),
        (("u", 1.0, later), "future"),
    ]
    for event, reason in given:
        receipt = test.record(*event)
        assert (receipt.accepted, receipt.reason) == (False, reason)
    assert test.status().matured == 0
    assert test.record("u", 1.0).accepted
    assert test.record("u", 1.0).reason == "second outcome"
    assert reasons(test) == [*(reason for _, reason in given), "second outcome"]
    assert [row["unit"] for row in test.excluded("unknown unit")] == ["nobody"]
    assert test.verify().agrees


def test_an_event_of_a_rate_is_0_or_1_in_every_aggregate(store: bs.Store) -> None:
    last = bs.Measure("7d", "last", missing="exclude")
    rate = bs.Metric("rate", bs.Bernoulli(), margin=0.1, measure=last)
    test = store.create("rates", replace(WEEK, metrics=(rate,)))
    test.assign("u")
    wrong: list[Any] = [3, -1, 0.5, "yes"]
    for metric, value in product((None, "rate"), wrong):
        receipt = test.record("u", value, metric=metric)
        reason = "not a number" if value == "yes" else "out of range"
        assert (receipt.accepted, receipt.reason) == (False, reason)
    assert test.record("u", 3).detail.startswith("value must be 0 or 1 (got 3.0)")
    assert all(test.record("u", value, metric="rate").accepted for value in (True, 0, 1.0))
    assert test.verify().agrees


def test_an_outcome_of_a_unit_of_another_experiment_is_that_of_an_unknown_unit(
    store: bs.Store,
) -> None:
    here, there = store.create("here", COINS), store.create("there", COINS)
    there.assign("u")
    receipts = here.record_many([("nobody", 1.0), ("u", 1.0), ("u", 0.0, None, "e1")])
    assert {receipt.reason for receipt in receipts} == {"unknown unit"}
    assert "there" not in receipts[1].detail
    assert there.record("u", 1.0).accepted


def test_an_event_id_makes_a_retry_harmless(store: bs.Store) -> None:
    test = store.create("retry", WEEK)
    test.assign_many(["u", "v"])
    assert test.record("u", 1.0, id="e1").accepted
    assert test.record("u", 1.0, id="e1").reason == "duplicate"
    assert test.record("u", 0.0, id="e1").reason == "id used before"
    assert test.record("v", 1.0, id="e1").reason == "id used before"
    receipts = test.record_many([("v", 1.0, None, "e2"), ("v", 1.0, None, "e2")])
    assert [receipt.reason for receipt in receipts] == [None, "duplicate"]
    for _ in range(2):
        test.record("nobody", 1.0, id="e3")
    assert reasons(test) == ["id used before", "unknown unit"]


def test_a_unit_counts_when_its_window_is_over_with_missing_if_nothing_came(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    test = store.create("window", WEEK)
    test.assign_many(["u", "v"])
    clock.advance("3d")
    test.record("u", 1.0)
    assert test.status().matured == 0
    clock.advance("4d")
    status = test.status()
    assert status.matured == 2
    assert sorted(arm.mean or 0.0 for arm in status.arms) == [0.0, 1.0]
    assert test.record("v", 1.0).reason == "late"
    assert test.record("v", 1.0, at=START + timedelta(days=1)).reason == "late"
    assert test.status().arms == status.arms
    assert test.verify().agrees


def test_events_may_come_out_of_order_and_within_the_grace(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    measure = bs.Measure("1d", "last", "zero", grace="6h")
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), measure=measure)
    test = store.create("grace", design)
    test.assign("u")
    clock.advance("1d")
    assert test.record("u", 5.0, at=START + timedelta(hours=20)).accepted
    assert test.record("u", 3.0, at=START + timedelta(hours=10)).accepted
    assert test.record("u", 4.0).reason == "late"
    clock.advance("6h")
    (mean,) = (arm.mean for arm in test.status().arms if arm.matured)
    assert mean == 5.0


def test_a_sum_beyond_the_limits_counts_as_the_limit_and_is_listed(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    measure = bs.Measure("1d", "sum")
    design = bs.Design(["a", "b"], bs.Bounded(0, 100), bs.UCB(2), measure=measure)
    test = store.create("limits", design)
    test.assign("u")
    test.record_many([("u", 70.0), ("u", 80.0)])
    clock.advance("1d")
    (mean,) = (arm.mean for arm in test.status().arms if arm.matured)
    assert mean == 100.0
    assert reasons(test) == ["clipped"]
    assert test.verify().agrees
