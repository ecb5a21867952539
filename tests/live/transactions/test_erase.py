"""Erased units: names and outcomes go, statistics stay, and nobody can bend a result by erasing."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.live.conftest import START

import bascule as bs
from bascule.live.api import some_rows

SALES = bs.Design(
    ["a", "b"], bs.Bounded(0, 100), bs.Tilt(3), measure=bs.Measure("7d", "sum"), error=1e-6
)
CLICKS = bs.Design(["a", "b"], bs.Bernoulli(), bs.UCB(2), measure=bs.Measure("1d", "any"))


def opened(location: object, clock: bs.ManualClock) -> bs.Store:
    return bs.open(str(location), clock=clock, shuffle=random.Random(3).shuffle)


def run(test: bs.Experiment, clock: bs.ManualClock, units: Iterable[int]) -> None:
    """Enrol units a minute apart; each second one buys twice."""
    for unit in units:
        test.assign(f"customer-{unit}")
        clock.advance("1m")
        if unit % 2:
            test.record(f"customer-{unit}", 12.5 + unit, id=f"order-of-customer-{unit}")
            test.record(f"customer-{unit}", 55.25)


@pytest.mark.parametrize("database", ["file", "postgresql"])
def test_names_and_outcomes_go_and_statistics_stay(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "tests.db"
    location: object = path
    if database == "postgresql":
        create: Callable[[], str] = request.getfixturevalue("new_database")
        location = create()
    clock = bs.ManualClock(START)
    with opened(location, clock) as store:
        test, other = store.create("sales", SALES), store.create("other", CLICKS)
        run(test, clock, range(20))
        other.assign("customer-7")
        test.record("customer-7", math.nan)
        test.record("nobody-known", 1.0, id="nobody-known-1")
        clock.advance("8d")
        before = test.status()
        assert before.matured == 20
        data = store.unit_data("customer-7")
        assert [one["experiment"] for one in data["experiments"]] == ["sales", "other"]
        assert [row["value"] for row in data["experiments"][0]["outcomes"]] == [19.5, 55.25]
        assert [row["reason"] for row in data["experiments"][0]["excluded"]] == ["not a number"]

        assert store.erase("customer-7") == ("sales", "other")
        assert store.erase("nobody-known") == ("sales",)
        assert store.unit_data("customer-7")["experiments"] == []
        assert test.status() == before
        assert test.excluded_counts() == {"not a number": 1, "unknown unit": 1}
        found = test.verify()
        assert found.agrees, found
        assert found.erased == 1
        assert "1 units erased" in str(found)
        assert other.verify().agrees
        # What it counted as is left: one number, without the time at which it came.
        (row,) = [row for row in _rows(store, "outcomes") if row["number"] == 7]
        assert (row["value"], row["event"]) == (74.75, None)
        assert row["at"] == _rows(store, "assignments")[6]["time"]
        assert [entry["action"] for entry in test.audit()][-2:] == ["erase", "erase"]
        with pytest.raises(bs.InputError, match="there is no unit 'customer-7' in this store"):
            store.erase("customer-7")
        # The test goes on.
        run(test, clock, range(20, 30))
        assert test.assign("customer-7") in ("a", "b")
        assert test.status().units == 31
        clock.advance("8d")
        assert test.status().matured == 31
        assert test.verify().agrees
        store.erase("customer-7")
    if database == "file":
        for file in tmp_path.iterdir():
            written = file.read_bytes()
            assert b"customer-8" in written
            assert b"customer-7" not in written
            assert b"nobody-known" not in written


def test_erasing_units_before_they_count_changes_no_result() -> None:
    """Erasing the best customers of one arm at once is what a person would do who roots for it."""
    ends = []
    for erases in (False, True):
        clock = bs.ManualClock(START)
        with opened(":memory:", clock) as store:
            test = store.create("sales", SALES)
            run(test, clock, range(40))
            if erases:
                for unit in (f"customer-{i}" for i in range(1, 40, 2)):
                    if test.assign(unit) == "b":
                        store.erase(unit)
                assert test.status().matured == 0
                erased = {row["number"] for row in _rows(store, "erased")}
                rows = [row for row in _rows(store, "outcomes") if row["number"] in erased]
                assert len(rows) == 2 * len(erased) > 6
                assert not any("order" in str(row["event"]) for row in rows)
            clock.advance("8d")
            ends.append(test.status())
            assert test.verify().agrees
            if erases:
                assert test.verify().erased == len(erased)
                rows = [row for row in _rows(store, "outcomes") if row["number"] in erased]
                assert len(rows) == len(erased)
    assert ends[0] == ends[1]


def test_outcomes_that_will_never_count_go_when_the_test_is_stopped(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    test = store.create("sales", SALES)
    run(test, clock, range(4))
    store.erase("customer-1")
    assert [row["number"] for row in _rows(store, "outcomes")] == [1, 1, 3, 3]
    test.stop()
    assert [row["number"] for row in _rows(store, "outcomes")] == [3, 3]
    store.erase("customer-3")
    assert _rows(store, "outcomes") == []
    assert test.verify().agrees


def test_a_unit_that_a_test_waits_for_still_counts(store: bs.Store) -> None:
    test = store.create(
        "first", bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3)), reports="always"
    )
    _, arm = test.assign_many(["first", "later"])
    assert store.erase("later") == ("first",)
    # It has its arm and counts once, also if it comes back; nobody can read its name.
    assert test.assign("later") == arm
    assert test.record("later", 1.0, id="order").accepted
    assert test.record("later", 1.0, id="order").reason == "duplicate"
    assert "later" not in str(_rows(store, "assignments"))
    assert "order" not in str(_rows(store, "outcomes"))
    test.record("first", 0.0)
    assert (test.status().units, test.status().matured) == (2, 2)
    assert test.verify().agrees
    # Now it has counted, and the key is gone: who comes back is new.
    assert test._loaded().state.names.key == ""
    test.assign("later")
    assert test.status().units == 3


def test_erasing_all_units_of_an_arm_decides_nothing() -> None:
    """Equal arms: whoever erases b's units before they convert would make b lose."""
    design = bs.Design(
        ["a", "b"], bs.Bernoulli(), bs.Tilt(1), measure=bs.Measure("1d", "any"), error=0.05
    )
    decided = 0
    for seed in range(4):
        chance, clock = random.Random(seed), bs.ManualClock(START)
        with bs.open(":memory:", clock=clock, shuffle=chance.shuffle) as store:
            test = store.create("equal", design)
            for day in range(6):
                units = [f"{day}-{i}" for i in range(40)]
                for unit, arm in zip(units, test.assign_many(units), strict=True):
                    if arm == "b":
                        store.erase(unit)
                clock.advance("6h")
                test.record_many([(unit, 1.0) for unit in units if chance.random() < 0.5])
                clock.advance("1d")
            decided += test.status().decision is not None
            assert test.verify().agrees
    assert decided == 0


def test_an_event_id_of_an_erased_unit_stays_in_no_other_row(store: bs.Store) -> None:
    test = store.create("ids", bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3)), reports="always")
    test.assign_many(["u", "v"])
    test.record("u", 1.0, id="order-of-u")
    assert test.record("v", 1.0, id="order-of-u").reason == "id used before"
    store.erase("u")
    (row,) = test.excluded()
    assert (row["unit"], row["event"], row["detail"]) == ("v", None, "")


def test_linked_names_of_an_erased_unit_still_lead_to_it(store: bs.Store) -> None:
    test = store.create(
        "linked", bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3)), reports="always"
    )
    arm = test.assign("visitor")
    test.link("visitor", "user")
    store.erase("user")
    assert test.assign("user") == test.assign("visitor") == arm
    assert test.record("user", 1.0).accepted
    assert test.status().units == 1


def test_who_signs_in_after_an_erasure_is_the_same_unit(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    """Until the unit has counted, or an operator could have users come again in another arm."""
    week = bs.Measure("7d", "any")
    test = store.create("button", bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=week))
    arms = {unit: test.assign(unit) for unit in ("visitor", "other visitor")}
    for number, (unit, arm) in enumerate(arms.items()):
        store.erase(unit)
        pair = (unit, f"user {number}")
        assert test.link(*(pair if number else reversed(pair))) == arm
        assert test.assign(f"user {number}") == arm
        assert test.record(f"user {number}", 1.0).accepted
    clock.advance("8d")
    assert (test.status().units, test.status().matured) == (2, 2)
    assert test.verify().agrees
    # Nothing is left that leads to the unit.
    assert test.assignment("user 0") is None


@pytest.mark.parametrize("first", ["visitor", "user"])
def test_names_linked_after_an_erasure_and_erased_again_stay_one_unit(
    store: bs.Store, clock: bs.ManualClock, first: str
) -> None:
    week = bs.Measure("7d", "any")
    test = store.create("button", bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=week))
    arms = {name: test.assign(name) for name in dict.fromkeys([first, "visitor"])}
    store.erase("visitor")
    assert test.link("visitor", "user") == arms[first]
    store.erase("user")
    assert test.assign("user") == test.assign("visitor") == arms[first]
    clock.advance("8d")
    assert test.status().units == len(arms)
    assert test.verify().agrees


def test_recurring_outcomes_stay_without_a_name(store: bs.Store, clock: bs.ManualClock) -> None:
    design = bs.Design(
        ["a", "b"], bs.Recurrent(1, 1), bs.UCB(2, radius="mixture"), measure=bs.Measure(period="1d")
    )
    test = store.create("visits", design)
    for day in range(3):
        test.assign_many([f"{day}-{i}" for i in range(4)])
        clock.advance("1h")
        test.record(f"{day}-0", 2.0, id=f"{day}-0-first")
        clock.advance("1d")
    before = test.status()
    store.erase("0-0")
    assert test.status() == before
    assert test.verify().agrees
    assert _rows(store, "outcomes")[0]["event"] != "0-0-first"
    # Its later outcomes count as before.
    test.record("0-0", 5.0, id="0-0-later")
    test.record("0-1", 5.0, id="0-1-later")
    clock.advance("2d")
    assert test.status().stage == 5
    assert test.verify().agrees
    test.stop()
    assert {row["event"] for row in _rows(store, "outcomes") if row["number"] == 0} == {None}


def test_another_program_forgets_an_erased_unit(tmp_path: Path) -> None:
    with bs.open(tmp_path / "tests.db") as one, bs.open(tmp_path / "tests.db") as other:
        here = one.create("clicks", CLICKS)
        there = other.get("clicks")
        here.assign_many([f"u{i}" for i in range(9)])
        for i in range(9):
            there.assign(f"u{i}")
        assert there.remembered.get("u4") is not None
        one.erase("u4")
        there.status()
        assert there.remembered.get("u4") is None
        there.assign("u4")
        assert there.status().units == 9


def test_excluded_outcomes_of_others_do_not_delay_an_erasure(tmp_path: Path) -> None:
    """Any program that records can have outcomes listed, and an erasure holds up assignments."""

    def steps(excluded: int) -> int:
        with bs.open(tmp_path / f"{excluded}.db") as store:
            test = store.create("button", SALES)
            test.record_many([(f"nobody {i}", 1.0) for i in range(excluded)])
            test.assign("ann")
            taken: list[int] = []
            with store.writing() as connection:
                file: Any = connection.connection.dbapi_connection
                file.set_progress_handler(lambda: taken.append(1), 1)
            assert store.erase("ann") == ("button",)
            return len(taken)

    assert steps(4000) < 2 * steps(400)


def test_units_are_erased_by_age(store: bs.Store, clock: bs.ManualClock) -> None:
    ended, running = store.create("ended", CLICKS), store.create("running", CLICKS)
    for test in (ended, running):
        test.assign_many([f"old-{i}" for i in range(510)])
        test.record("a-stranger", 1.0)
    clock.advance("60d")
    ended.assign("new")
    ended.stop()
    statuses = ended.status(), running.status()
    assert list(map(str, store.erase_older("30d"))) == [
        "ended: 510 units erased",
        "running: 0 units erased; 510 are kept while the test runs",
    ]
    assert [one["experiment"] for one in store.unit_data("old-3")["experiments"]] == ["running"]
    assert [one["experiment"] for one in store.unit_data("a-stranger")["experiments"]] == [
        "running"
    ]
    assert len(store.unit_data("new")["experiments"]) == 1
    assert [entry["detail"]["units"] for entry in ended.audit()[-1:]] == [510]
    assert store.erase_older("30d", running=True)[-1].erased == 510
    assert store.erase_older("30d", running=True) == ()
    assert (ended.status(), running.status()) == statuses
    assert all(found.agrees for found in store.verify())


def test_an_old_name_like_those_of_erased_units_is_erased_by_age(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    test = store.create("test", CLICKS)
    test.assign_many(["ann", "bob"])
    with store.writing() as connection:
        # As of a version that accepted such names.
        old = "UPDATE assignments SET unit = 'erased-ann' WHERE unit = 'ann'"
        connection.exec_driver_sql(old)
    clock.advance("60d")
    test.stop()
    assert [one.erased for one in store.erase_older("30d")] == [2]
    assert "erased-ann" not in str(_rows(store, "assignments"))
    assert store.erase_older("30d") == ()
    assert "2 units erased" in str(test.verify())


def _rows(store: bs.Store, table: str) -> list[dict[str, object]]:
    from sqlalchemy import text

    with store.reading() as connection:
        asked = text(f"SELECT * FROM {table} WHERE experiment = 1 ORDER BY number")
        return [dict(row) for row in connection.execute(asked).mappings()]


def test_events_of_other_metrics_stay_in_the_statistics(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    """The unit has no event of the primary metric, and one of a guardrail."""
    day = bs.Measure("1d", "sum")
    slow = bs.Metric("errors", bs.Bounded(0, 10), goal="decrease", margin=1.0, measure=day)
    clicks = bs.Measure("1d", "any")
    test = store.create(
        "guarded",
        bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), metrics=[slow], measure=clicks),
    )
    test.assign_many([f"u{i}" for i in range(8)])
    test.record("u3", 4.0, metric="errors")
    clock.advance("2d")
    before = test.status()
    assert store.unit_data("u3")["experiments"][0]["outcomes"][0]["metric"] == "errors"
    store.erase("u3")
    assert test.status() == before
    assert test.verify().agrees


def test_covariates_go_and_what_can_still_be_computed_is_verified(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    before = bs.Covariate("spend_before", 0, 100)
    test = store.create("spend", replace(SALES, covariates=[before]))
    for i in range(60):
        test.assign(f"customer-{i}", covariates={"spend_before": i + 0.25})
        test.record(f"customer-{i}", float(i % 7))
    assert store.unit_data("customer-7")["experiments"][0]["assignment"]["covariates"] == {
        "spend_before": 7.25
    }
    clock.advance("8d")
    status = test.status()
    assert status.matured == 60
    store.erase("customer-7")
    assert [row["covariates"] for row in _rows(store, "assignments")[6:9]] == [
        "[6.25]",
        None,
        "[8.25]",
    ]
    assert test.status() == status
    found = test.verify()
    assert found.agrees, found
    assert "covariates of erased units are gone, so from unit 8 on only" in str(found)
    rows = some_rows(test, "assignments")[0]
    assert {len(row) for row in rows} == {8}
    assert (rows[6][-1], rows[7][-1]) == (6.25, None)
    # What was changed later is still found.
    with store.writing() as connection:
        connection.exec_driver_sql("UPDATE outcomes SET value = 9 WHERE number = 20")
    assert "total stored as" in str(test.verify())


def test_names_that_are_linked_again_after_an_erasure_are_not_stored(store: bs.Store) -> None:
    """A pending unit keeps its hash: linking or assigning its names anew makes no second one."""
    test = store.create("again", SALES)
    arm = test.assign("u")
    test.link("u", "v")
    store.erase("u")
    assert test.link("u", "v") == test.assign("v") == arm
    with pytest.raises(bs.InputError, match="there is no unit 'v'"):
        store.erase("v")
    assert test.status().units == 1
    assert test.verify().agrees
