"""A live test from its first unit to its end, on a clock that the test moves."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.live.conftest import START

import bascule as bs
from bascule.live.reports import diagnostics

COINS = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
WEEK = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("7d", "any"))


def reasons(test: bs.Experiment) -> list[str]:
    return [row["reason"] for row in test.excluded()]


def decide(test: bs.Experiment, best: str) -> None:
    for i in range(1000):
        if test.state != "running":
            return
        unit = f"{best}-{i}"
        test.record(unit, float(test.assign(unit) == best))
    raise AssertionError("there should have been a decision")


def test_what_is_no_design_is_refused_and_the_design_of_a_plan_named(store: bs.Store) -> None:
    with pytest.raises(bs.InputError, match=r"got int\): the design of a plan is plan\.design"):
        store.create("plan", 3)  # type: ignore[arg-type]


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
    test = store.create(
        "slots", bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3, batch=3), reports="always")
    )
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
    design = bs.Design(["a", "b", "c"], bs.Gaussian(1), rule, max_units=10_000, reports="always")
    test = store.create("burst", design)
    counts = Counter(test.assign_many(range(60)))
    assert set(counts.values()) == {20}


def test_a_burst_on_an_arm_that_looks_better_spreads_as_its_radius_shrinks(store: bs.Store) -> None:
    test = store.create("burst", bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), reports="always"))
    for i in range(40):
        test.record(i, 0.3 * (test.assign(i) == "b"))
    before = test.status()
    counts = Counter(test.assign_many(range(100, 300)))
    assert before.decision is None
    assert counts["b"] > counts["a"] > 40


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
    design = bs.Design(["a", "b"], bs.Gaussian(0.1), bs.Tilt(3), min_effect=0.5, reports="always")
    test = store.create("same", design)
    for i in range(250):
        test.assign(i)
        test.record(i, 0.0)
    status = test.status()
    assert status.decision is not None
    assert status.decision.arm is None
    assert test.assign("new") == "a"


def test_the_cap_ends_a_test_undecided_when_its_units_are_mature(store: bs.Store) -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), max_units=10, reports="always")
    test = store.create("cap", design)
    test.assign_many(range(10))
    with pytest.raises(bs.InputError, match="max_units is reached"):
        test.assign("one more", strict=True)
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
        test.assign("new", strict=True)
    assert test.verify().agrees


def test_a_pause_takes_no_new_units_but_counts_outcomes(store: bs.Store) -> None:
    test = store.create("pause", COINS)
    arms = test.assign_many(["u", "v"])
    test.pause()
    with pytest.raises(bs.InputError, match="start it again"):
        test.assign("w", strict=True)
    assert test.assign("u") == arms[0]
    test.record_many([("u", 1.0), ("v", 0.0)])
    assert test.status().matured == 2
    test.start()
    test.assign("w")


def test_a_test_that_was_not_started_takes_no_units(store: bs.Store) -> None:
    test = store.create("later", COINS, start=False)
    with pytest.raises(bs.InputError, match="start it first"):
        test.assign("u", strict=True)
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


def test_units_that_are_pending_at_the_decision_are_part_of_its_cost(
    store: bs.Store, clock: bs.ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    week = bs.Measure("7d", "any")
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(1), measure=week)
    test = store.create("pending", design)
    for i in range(60):
        if test.assign(f"early {i}") == "b":
            test.record(f"early {i}", 1.0)
    clock.advance(6 * 86400.0)
    late = [test.assign(f"late {i}") for i in range(40)]
    clock.advance(2 * 86400.0)
    test.settle()
    status = test.status()
    assert status.decision is not None
    assert (status.decision.name, status.units) == ("b", 100)
    assert status.matured < 100
    met = status.arms[0].units
    assert met > late.count("a") > 0
    difference = abs(status.effects[0].difference)
    assert status.cost == pytest.approx(met * difference)
    # An even split would have had the same units.
    assert status.even_cost == pytest.approx(50 * difference)
    test.assign_many([f"after {i}" for i in range(50)])
    after = test.status()
    assert (after.cost, after.even_cost) == (status.cost, status.even_cost)
    # Pages of units that came after the decision have no blocks.
    monkeypatch.setattr(diagnostics, "READ_AT_ONCE", 20)
    assert test.diagnostics()


def test_status_says_what_it_cost_and_what_is_left(store: bs.Store, clock: bs.ManualClock) -> None:
    test = store.create(
        "cost", bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(1.5), reports="always")
    )
    for i in range(60):
        clock.advance("1h")
        test.record(i, 0.5 * (test.assign(i) == "b") + 0.25 * (i % 2))
    status = test.status()
    assert status.cost is not None
    assert status.even_cost is not None
    assert 0.0 < status.cost < status.even_cost
    assert 0.0 < status.evidence < 1.0
    assert status.leader == "b"
    assert status.time_left is not None
    left = status.time_left
    assert 0.0 <= left.low_units < left.units < left.high_units
    # A unit came every hour, the first one an hour after the start.
    assert left.days == pytest.approx(left.units / 24)
    assert "Keep running: " in str(status)
    assert "hours left" in str(status) or "days left" in str(status)
    assert status.to_dict()["arms"][0]["name"] == "a"


def test_history_has_a_point_each_time_the_test_has_grown(store: bs.Store) -> None:
    test = store.create("past", COINS)
    decide(test, "b")
    points = test.history()
    assert [point.matured for point in points] == sorted({point.matured for point in points})
    assert points[-1].matured == test.status().matured
    assert points[-1].effects == test.status().effects


def test_a_design_may_come_from_a_file(store: bs.Store, tmp_path: Path) -> None:
    file = tmp_path / "design.json"
    WEEK.save(file)
    assert store.create("json", file).design == WEEK
    for text in ('{"arms": ["a", "b"', "[1]", ""):
        file.write_text(text)
        with pytest.raises(bs.InputError) as refused:
            store.create("bad", file)
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


def decided(store: bs.Store, name: str) -> bs.Experiment:
    """A test that has decided for b."""
    test = store.create(name, COINS)
    for unit in range(1000):
        test.record(unit, float(test.assign(unit) == "b"))
        if test.state == "decided":
            return test
    raise AssertionError("no decision")


def test_a_release_belongs_to_the_experiment_and_not_to_its_name(store: bs.Store) -> None:
    test = decided(store, "test")
    test.release()
    assert test.status().everyone is not None
    test.stop()
    store.delete("test")
    again = store.create("test", COINS)
    assert again.status().everyone is None
    assert [entry["action"] for entry in again.audit()] == ["create", "start"]
    # All that happened under the name is still there.
    assert "release" in [entry["action"] for entry in store.audit("test")]


def test_a_test_that_was_decided_and_then_stopped_enrols_nobody(store: bs.Store) -> None:
    test = decided(store, "test")
    units = test.status().units
    arm = test.assign(0)
    test.stop()
    with pytest.raises(bs.InputError, match="ended by hand"):
        test.assign("new", strict=True)
    assert (test.assign("new"), test.evaluate("new").reason) == ("b", "STATIC")
    assert test.assign(0) == arm
    assert test.status().units == units


def test_a_test_that_was_released_and_then_stopped_gives_everyone_the_winner(
    store: bs.Store,
) -> None:
    test = decided(store, "test")
    test.release()
    units = test.status().units
    test.stop()
    assert {test.assign(unit) for unit in (0, 1, "new")} == {"b"}
    assert test.status().units == units
    assert test.verify().agrees


def test_a_live_test_needs_a_conversion_window_or_units_that_always_report(
    store: bs.Store,
) -> None:
    plain = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3))
    with pytest.raises(
        bs.InputError, match=r"a live test needs a measure.*Measure\(\"7d\", \"any\""
    ):
        store.create("test", plain)
    week = bs.Measure("7d", "any")
    assert store.create("window", plain, measure=week).design.measure == week
    assert store.create("always", plain, reports="always").design.reports == "always"
    with pytest.raises(bs.InputError, match="the design already has its reports"):
        store.create("both", COINS, measure=week)
    with pytest.raises(bs.InputError, match="reports does not go with measure"):
        bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=week, reports="always")


def test_with_a_window_nobody_waits_longer_than_it_for_a_unit_that_never_reports(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    """Of 3,000 units all but the first convert or say nothing, and all count after a week."""
    test = store.create("test", WEEK)
    arms = test.assign_many(range(3000))
    test.record_many([(i, 1.0) for i in range(1, 3000) if i % (20 if arms[i] == "a" else 2) == 0])
    clock.advance("6d")
    waiting = test.status().waiting
    assert waiting is not None
    assert waiting.units == 3000
    clock.advance("1d")
    status = test.status()
    assert status.waiting is None
    assert status.decision is not None


def test_a_test_that_takes_nobody_answers_with_the_control_and_a_reason(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    """Nobody's request fails because a test is paused, full or over, and nobody is enrolled."""
    design = replace(COINS, max_units=6, control="b")
    test = store.create("answers", design, start=False)

    def asked(unit: str) -> tuple[str, str, bool]:
        found = test.evaluate(unit)
        assert found.arm == test.assign(unit) == test.soon.assign(unit).result()
        assert test.soon.evaluate(unit).result() == found
        assert test.soon.assign_many([unit]).result() == [found.arm]
        return found.arm, found.reason, found.enrolled

    assert asked("new") == ("b", "DISABLED", False)
    test.start()
    arms = test.assign_many(range(4))
    test.pause()
    assert asked("new") == ("b", "DISABLED", False)
    assert asked("0") == (arms[0], "SPLIT", True)
    test.start()
    test.assign_many(range(6))
    assert asked("new") == ("b", "DISABLED", False)
    assert "max_units is reached" in test.evaluate("new").detail
    with pytest.raises(bs.InputError, match="max_units is reached"):
        test.assign_many(["0", "new"], strict=True)
    test.record_many([(i, 0.0) for i in range(6)])
    assert test.state == "over"
    assert asked("new") == ("b", "DISABLED", False)
    assert test.status().units == 6
    test.stop()
    assert asked("new") == ("b", "DISABLED", False)
    assert asked("0") == (arms[0], "SPLIT", True)
    test.stop(to="a")
    assert asked("new") == ("a", "STATIC", False)
    assert asked("0") == ("a", "STATIC", True)
    assert test.verify().agrees


def test_experiments_are_named_in_a_list(store: bs.Store) -> None:
    """A text was searched for the names: "checkout-2" erased a unit of the test `checkout`, too."""
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
    for name in ("checkout", "checkout-2"):
        store.create(name, design).assign("ann")
    wrong: Any = "checkout-2"
    for call in (store.erase, store.unit_data):
        with pytest.raises(bs.InputError, match="experiments must be a list"):
            call("ann", experiments=wrong)
    assert store.erase("ann", experiments=["checkout-2"]) == ("checkout-2",)


def test_an_evaluation_is_plain_data_also_of_a_unit_that_is_not_enrolled(store: bs.Store) -> None:
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
    found = asdict(store.create("button", design, start=False).evaluate("ann"))
    assert json.loads(json.dumps(found)) == found
    assert not found["enrolled"]
