"""What is remembered of units has a bound in bytes, and tells new units from forgotten ones."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import bascule as bs
from bascule.live.commit.memory import ENTRY_BYTES, Memory
from bascule.live.storage import queries
from bascule.live.storage.unit_marks import UnitMarks

DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), error=1e-9, reports="always")


def test_long_names_do_not_take_more_memory_than_short_ones() -> None:
    memory = Memory(most_units=1000, most_bytes=100_000)
    for first in range(0, 5000, 100):
        memory.learn(1, {f"{i}" + "x" * 400: 0 for i in range(first, first + 100)})
    assert memory.size <= 100_000
    known = memory.of(1)
    assert 100 < len(known) < 200
    # Those that came last are remembered.
    assert "4999" + "x" * 400 in known


def test_the_bound_is_for_all_experiments_together_and_the_largest_gives_way() -> None:
    memory = Memory(most_units=1000, most_bytes=100_000)
    memory.learn(1, {"few": 0})
    for experiment in range(2, 8):
        memory.learn(experiment, {f"{i}": 1 for i in range(400)})
    assert memory.size <= 100_000
    assert memory.of(1) == {"few": 0}


def test_a_unit_that_comes_again_is_counted_once() -> None:
    memory = Memory(most_units=1000, most_bytes=100_000)
    for _ in range(1000):
        memory.learn(1, {"u": 0, "v": 1, "not enrolled": None})
    assert memory.of(1) == {"u": 0, "v": 1}
    assert 2 * ENTRY_BYTES < memory.size < 4 * ENTRY_BYTES
    memory.forget(1)
    assert memory.size == 0
    # Its units are not known to be all: nothing is marked that would have to be looked up.
    assert memory.of(1).unread({"u": None}, 1) == ["u"]


def test_marks_find_every_unit_that_was_added_and_few_others() -> None:
    marks = UnitMarks(1000)
    units = [f"user-{i}" for i in range(20_000)]
    for start in range(0, len(units), 500):
        marks.add(units[start : start + 500])
    assert marks.among(units) == units
    # Five tables, of which all but the last are full: an expected share of 0.0015.
    assert len(marks.among([f"other-{i}" for i in range(20_000)])) < 100
    assert marks.size < 8 * len(units)


def test_marks_are_given_up_where_they_would_take_too_much_memory() -> None:
    memory = Memory(most_units=100, most_mark_bytes=6000)
    known = memory.of(1)
    for first in range(0, 1500, 50):
        units = [str(i) for i in range(first, first + 50)]
        memory.learn(1, dict.fromkeys(units, 0), 50, first + 50)
        # A table for 1,024 units has 4,096 bytes, and the next one would be four times as large.
        assert (known.marks is None) == (first < 100 or first >= 1000), first
    assert known.unread({"new": None}, 1500) == ["new"]


def test_new_units_are_not_looked_up_after_others_were_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def find(connection: Any, experiment: int, units: list[str]) -> dict[str, int]:
        looked.extend(units)
        return find_arms(connection, experiment, units)

    find_arms = queries.find_arms
    monkeypatch.setattr(queries, "find_arms", find)
    monkeypatch.setattr(Memory.__init__, "__defaults__", (200, 2**20, 2**20))
    with bs.open(tmp_path / "store.db") as store:
        test = store.create("test", DESIGN)
        given: dict[str, str] = {}
        for first in range(0, 1000, 100):
            units = [f"user-{i}" for i in range(first, first + 100)]
            given |= dict(zip(units, test.assign_many(units), strict=True))
        assert len(looked) < 20
        # Forgotten ones are looked up, and new ones beside them are not.
        looked.clear()
        units = ["user-7", "user-999", *(f"new-{i}" for i in range(20))]
        assert test.assign_many(units)[:2] == [given["user-7"], given["user-999"]]
        assert looked[0] == "user-7"
        assert len(looked) < 5
        # As soon as another program has assigned a unit, all are looked up.
        with bs.open(tmp_path / "store.db") as other:
            arm = other.get("test").assign("theirs")
        assert test.assign_many(["theirs", "newer"])[0] == arm
        assert looked[-2:] == ["theirs", "newer"]


def test_two_programs_that_forget_units_agree_on_all_arms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Memory.__init__, "__defaults__", (30, 2**20, 2**20))
    chance = random.Random(1)
    path = tmp_path / "store.db"
    given: dict[str, str] = {}
    with bs.open(path) as one, bs.open(path) as two:
        one.create("test", DESIGN)
        tests = [one.get("test"), two.get("test")]
        for step in range(100):
            # Alone at first, so that the marks of one have all units; then both.
            test = tests[0] if step < 50 else chance.choice(tests)
            units = [*{f"{chance.randrange(100 + 9 * step)}" for _ in range(chance.randrange(9))}]
            for unit, arm in zip(units, test.assign_many(units), strict=True):
                assert given.setdefault(unit, arm) == arm
            if step == 60:
                tests[0].assign("7")
                tests[0].record("7", 1.0)
                one.erase("7")
                given.pop("7", None)
        assert tests[0].verify().agrees
