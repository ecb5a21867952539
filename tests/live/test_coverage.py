"""Values that were not recorded ship no arm: coverage is counted, shown, and a condition."""

from __future__ import annotations

import random
from typing import Any

import pytest

import bascule as bs
from bascule.core.metrics import coverage
from bascule.core.statistics import LackingRow

DAY = bs.Measure("1d", "any")


def quality(missing: Any, share: float | None = None) -> bs.Metric:
    measure = bs.Measure("1d", "mean", missing, coverage=share)
    return bs.Metric("quality", bs.Bounded(0, 1), margin=0.3, error=0.2, measure=measure)


def rollout(missing: Any, share: float | None = None) -> bs.Design:
    return bs.Design(
        ["a", "b"],
        bs.Bernoulli(),
        bs.Tilt(1),
        metrics=[quality(missing, share)],
        measure=DAY,
        decides="guardrails",
    )


def play(design: bs.Design, recorded: dict[str, float], days: int = 5) -> bs.Experiment:
    """A test whose second arm is far better on the primary metric; both are alike on others."""
    chance, clock = random.Random(7), bs.ManualClock()
    test = bs.open(":memory:", clock=clock, shuffle=chance.shuffle).create("test", design)
    for day in range(days):
        units = [f"{day}-{i}" for i in range(80)]
        events: list[tuple[Any, ...]] = []
        for unit, arm in zip(units, test.assign_many(units), strict=True):
            is_good = float(chance.random() < 0.8)
            if design.metrics:
                if chance.random() < recorded[arm]:
                    events.append((unit, is_good, None, None, "quality"))
                if arm == "b":
                    events.append((unit, 1.0))
            elif chance.random() < recorded[arm]:
                events.append((unit, is_good if arm == "a" else 1.0 + chance.random()))
        test.record_many(events)
        clock.advance("1d")
    return test


def test_a_number_that_is_made_up_does_not_ship_an_arm() -> None:
    test = play(rollout(0.82), {"a": 0.0, "b": 0.0})
    status = test.status()
    (metric,) = status.metrics
    assert status.decision is None
    assert metric.standings == ("open",)
    assert metric.coverage == (0.0, 0.0)
    assert "missing values of quality: 0 % of the units of b have a value" in status.headline
    assert [one.name for one in test.alarms()] == ["missing values of quality"]
    assert "values of 0 % of the units of a, 0 % of b" in str(status)
    assert test.verify().agrees
    # Without the condition, which a design may give up, the same test ships b.
    given_up = play(rollout(0.82, 0.0), {"a": 0.0, "b": 0.0}).status()
    assert given_up.decision is not None
    assert given_up.decision.name == "b"


@pytest.mark.parametrize(
    ("missing", "share", "recorded", "ships"),
    [
        ("exclude", None, {"a": 0.7, "b": 0.7}, True),
        ("exclude", None, {"a": 0.45, "b": 0.45}, False),
        ("exclude", 0.4, {"a": 0.45, "b": 0.45}, True),
        ("exclude", None, {"a": 0.95, "b": 0.6}, False),
        ("exclude", 0.0, {"a": 0.95, "b": 0.6}, True),
        ("zero", None, {"a": 0.95, "b": 0.95}, True),
        (0.8, None, {"a": 0.7, "b": 0.7}, False),
    ],
)
def test_a_guardrail_is_open_while_values_are_missing(
    missing: Any, share: float | None, recorded: dict[str, float], ships: bool
) -> None:
    test = play(rollout(missing, share), recorded, days=7)
    decision = test.status().decision
    assert (decision is not None and decision.name == "b") == ships
    assert test.verify().agrees


def primary(share: float | None = None, rule: Any = None, **more: Any) -> bs.Design:
    measure = bs.Measure("1d", "mean", 0.5, coverage=share)
    rule = rule or bs.Tilt(1)
    return bs.Design(["a", "b"], bs.Bounded(0, 2), rule, 0.2, measure=measure, **more)


@pytest.mark.parametrize("rule", [bs.Tilt(1), bs.Tilt(3, effect=0.3, power=0.9)])
def test_the_winner_on_the_primary_metric_waits_for_its_values(rule: Any) -> None:
    few = {"a": 0.6, "b": 0.6}
    status = play(primary(rule=rule), few, days=9).status()
    assert status.decision is None
    assert status.state == "running"
    assert "b has won on the primary metric and is held: missing values: " in status.headline
    assert status.time_left is None
    shares = [arm.coverage for arm in status.arms]
    assert all(0.5 < share < 0.7 for share in shares if share is not None)
    for design, recorded in ((primary(0.0, rule), few), (primary(rule=rule), {"a": 1.0, "b": 1.0})):
        decision = play(design, recorded, days=9).status().decision
        assert decision is not None
        assert decision.name == "b"


@pytest.mark.parametrize("share", [0.0, None])
def test_rules_without_blocks_count_missing_values(share: float | None) -> None:
    design = primary(share, bs.UCB(2))
    seen = bs.progress.Statistics.empty(2)
    for i in range(3000):
        arm = bs.progress.next_arm(design, seen)
        seen = bs.progress.record(design, seen, arm, float(arm), lacking=[i % 2 == 0])
        if bs.progress.decision(design, seen) is not None:
            break
    assert sum(row[0] for row in seen.lacking) == (seen.units + 1) // 2
    assert (bs.progress.decision(design, seen) is not None) == (share == 0.0)


def test_values_that_are_made_up_show_no_equality() -> None:
    none = {"a": 0.0, "b": 0.0}
    assert play(primary(min_effect=1.0), none, days=9).status().decision is None
    decision = play(primary(0.0, min_effect=1.0), none, days=9).status().decision
    assert decision is not None
    assert decision.arm is None


def test_a_held_test_is_restored_as_it_is(tmp_path: Any) -> None:
    test = play(rollout("exclude"), {"a": 0.9, "b": 0.3}, days=3)
    path = tmp_path / "copy.db"
    assert isinstance(test.store, bs.Store)
    test.store.backup(path)
    with bs.open(path, clock=test.store.clock) as copy:
        assert copy.get("test").status() == test.status()
        assert copy.get("test").verify().agrees


def test_arms_that_lose_values_alike_are_rarely_said_to_differ() -> None:
    """At any time of 300 tests with lost values, more often in some blocks than in others."""
    chance, wrong, tests = random.Random(3), 0, 300
    for _ in range(tests):
        rows: tuple[LackingRow, ...] = ()
        flagged = False
        for block in range(150):
            sizes = (1, 1) if block < 75 else (1, 4)
            rate = 0.7 if block % 20 < 10 else 0.1
            lost = [sum(chance.random() < rate for _ in range(n)) for n in sizes]
            rows = coverage.with_block(rows, sizes, lost, 0)
            flagged = flagged or coverage.p_value(rows[1]) <= 0.1
        wrong += flagged
    assert wrong <= 0.1 * tests + 3 * (0.1 * 0.9 * tests) ** 0.5
    rows = ()
    for _ in range(100):
        lost = [int(chance.random() < rate) for rate in (0.1, 0.4)]
        rows = coverage.with_block(rows, (1, 1), lost, 0)
    assert coverage.differs(rows[1])
    assert coverage.p_value(rows[1]) < 0.01


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"coverage": 1.5}, "within 0 and 1"),
        ({"coverage": 0.5, "aggregate": "sum"}, "values that may be missing"),
    ],
)
def test_a_coverage_that_makes_no_sense_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(bs.InputError, match=words) as refused:
        bs.Measure("1d", **{"aggregate": "mean", **given})
    assert refused.value.field == "coverage"


def test_periods_without_values_are_not_made_up_in_silence() -> None:
    measure = bs.Measure(period="1d", aggregate="mean", missing=0.82)
    design = bs.Design(["a", "b"], bs.Recurrent(1, 1), bs.ETC(), measure=measure)
    with bs.open(":memory:") as store, pytest.raises(bs.InputError, match="measured") as refused:
        store.create("test", design)
    assert refused.value.field == "coverage"
