"""A live test from its first unit to its end, on a clock that the test moves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import bascule as bs

START = datetime(2026, 1, 1, tzinfo=UTC)
COINS = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3))
WEEK = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("7d", "any"))


@pytest.fixture
def clock() -> bs.ManualClock:
    return bs.ManualClock(START)


@pytest.fixture
def store(clock: bs.ManualClock) -> Iterator[bs.Store]:
    with bs.open(":memory:", clock=clock) as opened:
        yield opened


def reasons(test: bs.Experiment) -> list[str]:
    return [row["reason"] for row in test.set_aside()]


def decide(test: bs.Experiment, best: str) -> None:
    for i in range(1000):
        if test.state != "running":
            return
        unit = f"{best}-{i}"
        test.record(unit, float(test.assign(unit) == best))
    raise AssertionError("there should have been a decision")


def test_a_unit_keeps_its_arm(store: bs.Store) -> None:
    test = store.create("sticky", COINS)
    first = {f"u{i}": test.assign(f"u{i}") for i in range(20)}
    assert {unit: test.assign(unit) for unit in reversed(first)} == first
    assert test.assign_many(list(first)) == list(first.values())
    assert store.get("sticky").status().units == 20


def test_a_whole_number_is_the_same_unit_as_its_digits(store: bs.Store) -> None:
    test = store.create("digits", COINS)
    test.assign(42)
    test.assign("42")
    assert test.status().units == 1


@pytest.mark.parametrize("unit", ["", None, 1.5, True, "x" * 501, "a\0b", "\ud800"])
def test_what_cannot_name_a_unit_is_refused(store: bs.Store, unit: Any) -> None:
    with pytest.raises(bs.InputError) as refused:
        store.create("names", COINS).assign(unit)
    assert refused.value.field == "unit"


def test_asking_for_an_assignment_enrols_nobody(store: bs.Store) -> None:
    test = store.create("asking", COINS)
    assert test.assignment("u") is None
    arm = test.assign("u")
    found = test.assignment("u")
    assert found is not None
    assert (test.design.arms[found.arm], found.number, found.time) == (arm, 0, START.timestamp())


def test_blocks_hand_out_exactly_their_slots_with_the_probabilities_that_they_had(
    store: bs.Store,
) -> None:
    test = store.create("slots", bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3, batch=3)))
    for block in range(5):
        units = [f"{block}-{i}" for i in range(6)]
        assert Counter(test.assign_many(units)) == {"a": 3, "b": 3}
        found = [test.assignment(unit) for unit in units]
        left = Counter({0: 3, 1: 3})
        for assigned in found:
            assert assigned is not None
            assert assigned.probability == left[assigned.arm] / left.total()
            left[assigned.arm] -= 1


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.ETC(), bs.UCB(1.5, stop="mixture")], ids=str)
def test_a_burst_without_outcomes_does_not_land_on_one_arm(store: bs.Store, rule: Any) -> None:
    design = bs.Design(["a", "b", "c"], bs.Gaussian(1), rule, max_units=10_000)
    test = store.create("burst", design)
    counts = Counter(test.assign_many(range(60)))
    assert set(counts.values()) == {20}


def test_a_burst_on_an_arm_that_looks_better_spreads_as_its_radius_shrinks(store: bs.Store) -> None:
    test = store.create("burst", bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2)))
    for i in range(40):
        test.record(i, 0.3 * (test.assign(i) == "b"))
    before = test.status()
    counts = Counter(test.assign_many(range(100, 300)))
    assert before.decision is None
    assert counts["b"] > counts["a"] > 40


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
    assert [row["unit"] for row in test.set_aside("unknown unit")] == ["nobody"]
    assert test.verify().agrees


def test_an_outcome_that_belongs_to_another_experiment_says_so(store: bs.Store) -> None:
    here, there = store.create("here", COINS), store.create("there", COINS)
    there.assign("u")
    receipts = here.record_many([("nobody", 1.0), ("u", 1.0), ("u", 0.0, None, "e1")])
    assert [receipt.reason for receipt in receipts] == [
        *("unknown unit", "other experiment", "other experiment")
    ]
    assert "'there'" in receipts[1].detail
    assert reasons(here) == [receipt.reason for receipt in receipts]
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
    measure = bs.Measure("1d", "last", grace="6h")
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


def test_after_the_decision_new_units_get_the_winner_and_old_ones_keep_their_arm(
    store: bs.Store,
) -> None:
    test = store.create("winner", COINS)
    decide(test, "b")
    status = test.status()
    assert status.decision is not None
    assert status.decision.name == "b"
    assert {test.assign(f"new {i}") for i in range(20)} == {"b"}
    old = {unit: test.assign(unit) for unit in ("b-0", "b-1", "b-2", "b-3")}
    assert set(old.values()) == {"a", "b"}
    test.release()
    assert {test.assign(unit) for unit in old} == {"b"}
    assert test.verify().agrees


def test_a_decision_never_reverts(store: bs.Store) -> None:
    test = store.create("firm", COINS)
    test.assign_many([f"late {i}" for i in range(40)])
    for i in range(40):
        test.record(f"late {i}", 0.0)
    decide(test, "b")
    decided = test.status().decision
    test.assign_many([f"after {i}" for i in range(200)])
    test.record_many([(f"after {i}", 0.0) for i in range(200)])
    status = test.status()
    assert status.decision == decided
    assert status.matured == decided.units if decided else False
    assert test.verify().agrees


def test_no_difference_that_matters_gives_everyone_the_first_arm(store: bs.Store) -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(0.1), bs.Tilt(3), min_effect=0.5)
    test = store.create("same", design)
    for i in range(250):
        test.assign(i)
        test.record(i, 0.0)
    status = test.status()
    assert status.decision is not None
    assert status.decision.arm is None
    assert test.assign("new") == "a"


def test_the_cap_ends_a_test_undecided_when_its_units_are_mature(store: bs.Store) -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), max_units=10)
    test = store.create("cap", design)
    test.assign_many(range(10))
    with pytest.raises(bs.InputError, match="max_units is reached"):
        test.assign("one more")
    assert test.state == "running"
    test.record_many([(i, 0.0) for i in range(10)])
    assert test.status().headline == "The test has ended undecided"
    assert test.verify().agrees


def test_the_deadline_ends_a_test_undecided(store: bs.Store, clock: bs.ManualClock) -> None:
    measure = bs.Measure("1d")
    deadline = START + timedelta(days=2)
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), deadline=deadline, measure=measure)
    test = store.create("deadline", design)
    test.assign_many(range(4))
    clock.advance("36h")
    test.assign("too late to count")
    clock.advance("10d")
    status = test.status()
    assert (status.state, status.units, status.matured) == ("over", 5, 4)
    with pytest.raises(bs.InputError, match="takes no new units"):
        test.assign("new")
    assert test.verify().agrees


def test_a_pause_takes_no_new_units_but_counts_outcomes(store: bs.Store) -> None:
    test = store.create("pause", COINS)
    arms = test.assign_many(["u", "v"])
    test.pause()
    with pytest.raises(bs.InputError, match="start it again"):
        test.assign("w")
    assert test.assign("u") == arms[0]
    test.record_many([("u", 1.0), ("v", 0.0)])
    assert test.status().matured == 2
    test.start()
    test.assign("w")


def test_a_test_that_was_not_started_takes_no_units(store: bs.Store) -> None:
    test = store.create("later", COINS, start=False)
    with pytest.raises(bs.InputError, match="start it first"):
        test.assign("u")
    test.start()
    test.assign("u")


def test_stop_is_for_good_and_only_then_can_be_deleted(store: bs.Store) -> None:
    test = store.create("gone", COINS)
    test.assign("u")
    with pytest.raises(bs.InputError, match="stop it, then delete it"):
        store.delete("gone")
    test.stop()
    assert test.record("u", 1.0).reason == "over"
    for change in (test.start, test.pause, test.stop):
        with pytest.raises(bs.InputError, match="is stopped"):
            change()
    store.delete("gone")
    assert store.experiments() == []
    with pytest.raises(bs.InputError, match="no experiment 'gone'"):
        test.assign("u")
    again = store.create("gone", COINS)
    assert again.status().units == 0
    assert [entry["action"] for entry in store.audit("gone")] == [
        *("create", "start", "stop", "delete", "create", "start")
    ]


def test_every_change_is_in_the_audit_log_with_time_and_actor(clock: bs.ManualClock) -> None:
    with bs.open(":memory:", actor="ann", clock=clock) as store:
        test = store.create("log", bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3)))
        clock.advance("1h")
        test.knob(tilt=5)
        test.pause_arm("a")
        test.resume_arm("a")
        test.drop_arm("c")
        test.stop()
        log = test.audit()
    actions = ["create", "start", "knob", "pause arm", "resume arm", "drop arm", "stop"]
    assert [entry["action"] for entry in log] == actions
    assert {entry["actor"] for entry in log} == {"ann"}
    assert log[2]["detail"] == {"knob": "tilt", "before": 3.0, "now": 5.0, "after": 0}
    assert log[2]["time"] == START.timestamp() + 3600


def test_the_knob_of_another_rule_is_refused(store: bs.Store) -> None:
    test = store.create("knob", COINS)
    for wrong in ({"alpha": 2.0}, {}, {"alpha": 2.0, "tilt": 2.0}, {"tilt": 0.5}):
        with pytest.raises(bs.InputError):
            test.knob(**wrong)
    assert [entry["action"] for entry in test.audit()] == ["create", "start"]


def test_an_arm_taken_out_leaves_the_other_blocks_of_its_row(store: bs.Store) -> None:
    design = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(1))
    test = store.create("row", design)
    test.assign_many(range(7 * 3 + 1))
    test.drop_arm("c")
    test.record_many([(unit, 0.0) for unit in range(7 * 3 + 1)])
    assert test.verify().agrees
    test.assign_many(range(100, 500))
    test.record_many([(unit, 0.0) for unit in range(100, 500)])
    assert test.verify().agrees
    assert test.status().units == 7 * 3 + 1 + 400


def test_a_knob_turned_moves_the_next_blocks(store: bs.Store) -> None:
    test = store.create("turned", bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(1)))
    for i in range(12):
        test.record(i, 1.0 * (test.assign(i) == "b"))
    assert {arm.units for arm in test.status().arms} == {6}
    test.knob(tilt=9)
    counts = Counter(test.assign_many(range(100, 120)))
    assert counts["b"] > 2 * counts["a"]


def test_an_arm_taken_out_gets_nothing_more_of_a_block_and_the_others_all_of_theirs(
    store: bs.Store,
) -> None:
    design = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3, batch=4))
    test = store.create("out", design)
    arms = test.assign_many(range(3))
    for i in range(3):
        test.record(i, 0.1 * i)
    test.drop_arm("c")
    handed = Counter(arms) + Counter(
        test.assign_many(range(3, 3 + 8 - sum(a != "c" for a in arms)))
    )
    assert (handed["a"], handed["b"], handed["c"]) == (4, 4, arms.count("c"))
    for i in range(3, sum(handed.values())):
        test.record(i, 0.5)
    status = test.status()
    assert status.matured == status.units
    assert next(arm.part for arm in status.arms if arm.name == "c") == "taken out"
    assert {test.assign(f"later {i}") for i in range(20)} == {"a", "b"}
    assert test.verify().agrees


def test_a_paused_arm_gets_no_new_block(store: bs.Store) -> None:
    test = store.create("rest", bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.UCB(2)))
    test.pause_arm("c")
    assert Counter(test.assign_many(range(20))) == {"a": 10, "b": 10}
    with pytest.raises(bs.InputError, match="fewer than two"):
        test.pause_arm("b")
    test.resume_arm("c")
    assert set(test.assign_many(range(20, 30))) == {"c"}


def test_status_says_what_it_cost_and_what_is_left(store: bs.Store, clock: bs.ManualClock) -> None:
    test = store.create("cost", bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(1.5)))
    for i in range(60):
        clock.advance("1h")
        test.record(i, 0.5 * (test.assign(i) == "b") + 0.25 * (i % 2))
    status = test.status()
    assert status.cost is not None
    assert status.even_cost is not None
    assert 0.0 < status.cost < status.even_cost
    assert status.left is not None
    assert status.days_left == pytest.approx(status.left / 24)
    assert 0.0 < status.evidence < 1.0
    assert status.leader == "b"
    assert "Keep running: about" in str(status)
    assert status.to_dict()["arms"][0]["name"] == "a"


def test_history_has_a_point_each_time_the_test_has_grown(store: bs.Store) -> None:
    test = store.create("past", COINS)
    decide(test, "b")
    points = test.history()
    assert [point.matured for point in points] == sorted({point.matured for point in points})
    assert points[-1].matured == test.status().matured
    assert points[-1].effects == test.status().effects


def test_a_design_may_come_from_a_file(store: bs.Store, tmp_path: Path) -> None:
    json_file, yaml_file = tmp_path / "design.json", tmp_path / "design.yaml"
    WEEK.save(json_file)
    yaml_file.write_text(
        "arms: [a, b]\noutcome: {kind: bernoulli}\nrule: {kind: tilt, tilt: 3}\n"
        "measure: {window: 7d, aggregate: any}\n"
    )
    assert store.create("json", json_file).design == WEEK
    assert store.create("yaml", yaml_file).design == WEEK
    for text in ("arms: [a, b", "- 1", ""):
        yaml_file.write_text(text)
        with pytest.raises(bs.InputError) as refused:
            store.create("bad", yaml_file)
        assert refused.value.field == "design"


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "x" * 101, None, "é"])
def test_names_are_those_that_every_client_can_send(store: bs.Store, name: Any) -> None:
    with pytest.raises(bs.InputError) as refused:
        store.create(name, COINS)
    assert refused.value.field == "name"


def test_a_name_is_used_once(store: bs.Store) -> None:
    store.create("once", COINS)
    with pytest.raises(bs.InputError, match="already"):
        store.create("once", COINS)
