"""Two names of one person keep one arm: the first, whoever asks, in whatever order."""

from __future__ import annotations

import multiprocessing
import time
from contextlib import suppress
from pathlib import Path

import pytest

import bascule as bs
from bascule.live.storage.queries import Listed, all_experiments
from bascule.live.storage.statements import execute

COINS = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
PEOPLE, PROCESSES = 10, 8
UNITS = [f"user-{i}" for i in range(40)]


def test_who_signs_in_keeps_the_arm_and_is_one_unit(store: bs.Store) -> None:
    test = store.create("sign-in", COINS)
    arm = test.assign("visitor")
    assert test.link("visitor", "user") == arm == test.assign("user")
    assert test.link("user", "visitor") == arm
    assert test.link("user", "phone") == arm == test.assign("phone")
    assert test.record("user", 1.0).accepted
    assert test.record("phone", 1.0).reason == "second outcome"
    assert (test.status().units, test.status().matured) == (1, 1)
    assert test.assignment("phone") == test.assignment("visitor")
    assert test.verify().agrees


def test_names_that_are_linked_before_they_come_get_one_arm(store: bs.Store) -> None:
    test = store.create("early", COINS)
    assert test.link("visitor", "user") is None
    arms = test.assign_many(["user", "visitor", "user"])
    assert len(set(arms)) == 1
    assert test.status().units == 1


def test_of_two_arms_the_first_stays_and_outcomes_stay_where_they_were(tmp_path: Path) -> None:
    with bs.open(tmp_path / "links.db") as store, bs.open(tmp_path / "links.db") as other:
        test = store.create("two", COINS)
        there = other.get("two")
        units = [f"u{i}" for i in range(20)]
        arms = test.assign_many(units)
        assert [there.assign(unit) for unit in units] == arms
        first = units[0]
        second = next(unit for unit, arm in zip(units, arms, strict=True) if arm != arms[0])
        test.record(second, 1.0)
        assert test.link(second, first) == arms[0] == test.assign(second)
        time.sleep(1.0)
        assert there.assign(second) == arms[0]
        assert test.record(second, 0.0).accepted
        assert test.record(first, 0.0).reason == "second outcome"
        test.record_many([(unit, 0.0) for unit in units if unit not in (first, second)])
        assert test.status().units == test.status().matured == 20
        assert sum(row.mean for row in test.status().arms if row.mean) > 0
        assert test.verify().agrees


def test_links_of_a_store_are_made_in_every_open_test(store: bs.Store) -> None:
    tests = [store.create(f"test-{i}", COINS) for i in range(3)]
    tests[2].stop()
    arms = [test.assign("visitor") for test in tests[:2]]
    assert store.link("visitor", "user") == {"test-0": arms[0], "test-1": arms[1]}
    assert [test.assign("user") for test in tests[:2]] == arms


def test_a_name_of_no_experiment_is_not_left_out_silently(store: bs.Store) -> None:
    test = store.create("checkout", COINS)
    arm = test.assign("visitor")
    for call in (
        lambda names: store.link("visitor", "user", names),
        lambda names: store.unit_data("visitor", names),
        lambda names: store.erase("visitor", names),
    ):
        with pytest.raises(bs.InputError, match="no experiment 'chekout': did you mean 'checkout'"):
            call(["checkout", "chekout"])
    assert test.assignment("visitor") is not None
    assert test.assignment("user") is None
    assert store.link("visitor", "user", ["checkout"]) == {"checkout": arm}
    assert store.link("visitor", "user", []) == {}


def test_a_damaged_test_and_a_deleted_one_keep_no_other_from_being_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bascule.live.api.store.LINKED_TOGETHER", 2)
    with bs.open(tmp_path / "tests.db") as store:
        tests = [store.create(f"test-{i}", COINS) for i in range(5)]
        arms = {test.name: test.assign("visitor") for test in tests}
        # One is deleted after the tests to link in were listed.
        monkeypatch.setattr(
            "bascule.live.api.store.all_experiments",
            lambda connection: [*all_experiments(connection), Listed(10**6, "gone", "running", 1)],
        )
        assert store.link("visitor", "user") == arms
        with store.writing() as connection:
            execute(connection, "UPDATE experiments SET state = '{' WHERE name = ?", ("test-0",))
    with bs.open(tmp_path / "tests.db") as store:
        with pytest.raises(bs.InputError, match="test-0 cannot be read, and names are linked in"):
            store.link("user", "phone")
        for name in ("test-1", "test-2", "test-4"):
            assert store.get(name).assign("phone") == arms[name]
        with pytest.raises(bs.InputError, match="test-0 cannot be read, so nothing was erased"):
            store.erase("user")
        assert store.get("test-1").assignment("user") is not None
        with pytest.raises(bs.InputError, match="test-0 cannot be read, so its data"):
            store.unit_data("user")
        assert store.unit_data("user", ["test-1"])["experiments"][0]["experiment"] == "test-1"


def test_a_person_is_erased_under_all_names(store: bs.Store) -> None:
    test = store.create("gone", COINS)
    test.assign("visitor")
    test.link("visitor", "user")
    test.record("user", 1.0)
    store.erase("user")
    assert test.assignment("visitor") is None
    assert test.assignment("user") is None
    assert test.verify().agrees
    with store.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM links").scalar() == 0


Told = tuple[dict[str, str], int]
"""What a process was told: the arms of all names, and how many tests of a layer it could create."""


def _race(location: str, process: int, answers: multiprocessing.Queue[Told]) -> None:
    """Assign, link and assign again, in another order in each process; create tests of a layer."""
    with bs.open(location) as store:
        made = 0
        for i in range(2):
            with suppress(bs.InputError):
                layer = bs.Audience(layer=bs.Layer("till", 0.1))
                store.create(f"layer-{process}-{i}", COINS, audience=layer)
                made += 1
        test = store.get("race")
        for i in range(PEOPLE):
            names = [f"visitor-{i}", f"user-{i}", f"phone-{i}"]
            names = names[process % 3 :] + names[: process % 3]
            if process % 2:
                test.assign(names[0])
            test.link(names[0], names[1])
            test.assign(names[1])
            test.link(names[1], names[2])
        time.sleep(1.0)
        arms = {name: test.assign(name) for i in range(PEOPLE) for name in _names(i)}
        answers.put((arms, made))


def _names(i: int) -> list[str]:
    return [f"visitor-{i}", f"user-{i}", f"phone-{i}"]


@pytest.mark.parametrize("database", ["file", "postgresql"])
def test_eight_racing_processes_give_linked_names_one_arm_and_no_slot_of_a_layer_twice(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    location = str(tmp_path / "race.db")
    if database == "postgresql":
        location = request.getfixturevalue("new_database")()
    with bs.open(location) as store:
        store.create("race", COINS)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    racing = [
        context.Process(target=_race, args=(location, process, answers))
        for process in range(PROCESSES)
    ]
    for one in racing:
        one.start()
    told = [answers.get(timeout=100) for _ in racing]
    for one in racing:
        one.join(timeout=100)
    assert [one.exitcode for one in racing] == [0] * PROCESSES
    for i in range(PEOPLE):
        assert len({arms[name] for arms, _ in told for name in _names(i)}) == 1
    # Sixteen tests want a tenth of the layer each, so ten of them get it.
    assert sum(made for _, made in told) == 10
    with bs.open(location) as store:
        assert store.get("race").verify().agrees
        layers = [test for test in store.experiments() if test.name != "race"]
        for test in layers:
            test.assign_many(UNITS)
        for unit in UNITS:
            assert sum(test.assignment(unit) is not None for test in layers) == 1
