"""One request, one id: its cost, latency and quality arrive one by one, later, by that id."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import bascule as bs
from bascule.live.api.exports import export

DAY = bs.Measure("1d")
COST = bs.Metric("cost", bs.Ratio(), goal="decrease", role="secondary", measure=DAY)
LATENCY = bs.Metric("latency", bs.Ratio(), goal="decrease", role="secondary", measure=DAY)
DESIGN = bs.Design(
    ["a", "b"], bs.Ratio(), bs.Tilt(1), measure=DAY, metrics=[COST, LATENCY], sides=1
)


def test_metrics_of_a_request_share_its_id_and_a_repeat_is_harmless(tmp_path: Path) -> None:
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("models", DESIGN)
        test.assign_many(["ann", "bob"])
        assert test.record("ann", (0.002, 1), id="r1", metric="cost").accepted
        assert test.record("ann", (1.1, 1), id="r1", metric="latency").accepted
        # The judge knows the request, not the user.
        assert test.record(None, (True, 1), id="r1").accepted
        assert test.record(None, (True, 1), id="r1").reason == "duplicate"
        assert test.record(None, (False, 1), id="r1").reason == "id used before"
        assert test.record("bob", (9.0, 1), id="r1", metric="cost").reason == "id used before"
        unknown = test.record(None, (True, 1), id="r7")
        assert (unknown.reason, "name the unit" in unknown.detail) == ("unknown unit", True)
        # All in one call, the judgement first.
        two = [(None, (0, 1), None, "r2", None), ("bob", (0.001, 1), None, "r2", "cost")]
        assert all(one.accepted for one in test.record_many(two))
        with pytest.raises(bs.InputError, match="unit must be text"):
            test.record(None, (True, 1))
        clock.advance(90_000.0)
        status = test.status()
        arms = {arm.name: arm.mean for arm in status.arms}
        assert sorted(mean for mean in arms.values() if mean is not None) == [0.0, 1.0]
        assert test.verify().agrees
        # A log of a ratio without its design has the denominator beside the value.
        for form in ("csv", "parquet"):
            _, outcomes, *_ = export(test, tmp_path, form)
            assert {one.name: one.mean for one in bs.analyze(outcomes).arms} == arms


def test_a_judgement_happened_when_its_request_did() -> None:
    """A judge that takes hours is not late while the grace of the window lasts."""
    clock = bs.ManualClock()
    hour = bs.Measure("1h", grace="6h")
    cost = bs.Metric("cost", bs.Ratio(), goal="decrease", role="secondary", measure=hour)
    design = bs.Design(["a", "b"], bs.Ratio(), bs.Tilt(1), measure=hour, metrics=[cost])
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("models", design)
        test.assign_many(["ann", "bob"])
        clock.advance(3000.0)
        assert test.record("ann", (0.002, 1), id="r1", metric="cost").accepted
        clock.advance(1800.0)
        assert test.record("bob", (0.002, 1), id="r2", metric="cost").reason == "late"
        assert test.record(None, (1, 1), id="r1").accepted
        # The request itself came too late: so does its judgement, and sending it again is no use.
        assert test.record(None, (1, 1), id="r2").reason == "late"
        other = test.record(None, (0, 1), id="r1")
        assert (other.reason, other.detail) == (
            "id used before",
            "id 'r1' was recorded before with another value",
        )
        clock.advance(25_000.0)
        status = test.status()
        assert [arm.mean for arm in status.arms if arm.mean is not None] == [1.0]
        assert test.verify().agrees


def test_a_judgement_belongs_to_the_request_that_counted_before_one_that_did_not() -> None:
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("models", DESIGN)
        arm = test.assign("ann")
        assert test.assign("bob") != arm
        for stranger in ("eve", "dan"):
            assert test.record(stranger, (1.0, 1), id="r1", metric="cost").reason == "unknown unit"
        both = [(None, (1, 1), None, "r1", None), ("ann", (0.002, 1), None, "r1", "cost")]
        assert all(one.accepted for one in test.record_many(both))
        clock.advance(90_000.0)
        assert {one.name: one.mean for one in test.status().arms}[arm] == 1.0
        assert test.verify().agrees


def test_a_judgement_finds_the_unit_of_a_request_that_was_erased_meanwhile() -> None:
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("models", DESIGN)
        arm = test.assign("ann")
        assert test.record("ann", (0.002, 1), id="r1", metric="cost").accepted
        store.erase("ann")
        assert test.record(None, (1, 1), id="r1").accepted
        test.assign("bob")
        clock.advance(90_000.0)
        means = {one.name: one.mean for one in test.status().arms}
        assert means[arm] == 1.0
        assert test.verify().agrees


def test_the_first_model_that_is_not_worse_is_shipped_and_a_worse_one_goes_back() -> None:
    """Three models: cheap is 10 points worse, other as good as the present one, both cheaper."""
    quality = bs.Metric("quality", bs.Ratio(), margin=0.05, measure=DAY)
    design = bs.Design(
        ["present", "cheap", "other"],
        bs.Ratio(),
        bs.Tilt(1),
        goal="decrease",
        measure=DAY,
        metrics=[quality, bs.Metric("speed", bs.Ratio(), role="secondary", measure=DAY)],
        decides="guardrails",
    )
    good = {"present": 0.8, "cheap": 0.6, "other": 0.8}
    rng, clock = np.random.default_rng(4), bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("models", design)
        test.assign("first")
        assert "in the rollout of cheap or other" in test.status().headline
        for day in range(20):
            units = [f"{day}-{i}" for i in range(200)]
            events = []
            for unit, arm in zip(units, test.assign_many(units), strict=True):
                requests = int(rng.geometric(0.15))
                judged = int(rng.binomial(requests, 0.6))
                price = 0.005 if arm == "present" else 0.002
                events += [
                    (unit, (price * requests, requests), None, f"{unit}-r", None),
                    (unit, (rng.binomial(judged, good[arm]), judged), None, f"{unit}-r", "quality"),
                    (unit, (2.0 * requests, requests), None, f"{unit}-r", "speed"),
                ]
            test.record_many(events)
            clock.advance(90_000.0)
            status = test.status()
            if status.decision is not None:
                break
        assert status.decision is not None
        assert (status.decision.name, status.decision.by) == ("other", "guardrails")
        wanted = "Ship other: quality at most 0.05 worse (asymptotic at 5 %); speed 0 %"
        assert status.headline == wanted
        assert "beaten" not in {arm.part for arm in status.arms if arm.name == "other"}
        assert test.verify().agrees


def test_a_finite_population_says_what_its_window_loses() -> None:
    """300 users who come every day: soon all have counted, and 4 of 5 events are late."""
    design = bs.Design(["a", "b"], bs.Ratio(), bs.Tilt(1), measure=DAY)
    users, clock = [str(user) for user in range(300)], bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("models", design)
        for day in range(5):
            test.assign_many(users)
            test.record_many([(user, (1, 2), None, f"{day}-{user}") for user in users])
            status = test.status()
            clock.advance("1d")
        assert (status.events, status.late) == (300, 1200)
        assert "80 % of the events of these units, 1,200 of 1,500, came after" in str(status)
        # A retry is counted once.
        test.record("0", (1, 2), id="4-0")
        assert test.status().late == 1200
        assert test.verify().agrees


def test_a_test_of_users_who_come_back_ends_at_its_deadline() -> None:
    clock = bs.ManualClock()
    deadline = datetime.fromtimestamp(clock.now(), UTC) + timedelta(days=20)
    design = bs.Design(["a", "b"], bs.Ratio(), bs.Tilt(1), measure=DAY, deadline=deadline)
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("models", design)
        test.assign_many([str(user) for user in range(150)])
        for _ in range(19):
            clock.advance("1d")
            test.record("7", (1, 2))
            assert test.state == "running"
        clock.advance("1d")
        test.settle()
        assert (test.state, test.status().ended_by) == ("over", None)
        assert test.verify().agrees
