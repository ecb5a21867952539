"""Several programs on one file, and programs that are killed in the middle of their work."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import create_engine, text

import bascule as bs


def rows(path: Path, question: str) -> list[tuple[Any, ...]]:
    engine = create_engine(f"sqlite:///{path}")
    try:
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(question))]
    finally:
        engine.dispose()


def test_programs_that_ask_for_the_same_units_get_the_same_arms(
    tmp_path: Path, programs: Any
) -> None:
    path = tmp_path / "shared.db"
    with bs.open(path) as store:
        store.create("test", programs.endless)
    programs.start(path, 0, 40)
    programs.start(path, 59, 19, -1)
    told = programs.finish()
    for arms in told:
        assert all(told[0].get(i, arm) == arm for i, arm in arms.items())
    with bs.open(path) as store:
        test = store.get("test")
        assert test.status().units == 60
        assert test.verify().agrees
    assert rows(path, "SELECT count(DISTINCT unit), count(*) FROM assignments") == [(60, 60)]
    assert rows(path, "SELECT count(*) FROM outcomes") == [(60,)]


def test_what_was_answered_survives_a_kill(tmp_path: Path, programs: Any) -> None:
    path = tmp_path / "killed.db"
    with bs.open(path) as store:
        store.create("test", programs.endless)
    arms, recorded = programs.kill(path, 1, seed=7)
    stored: dict[str, int] = dict(rows(path, "SELECT unit, arm FROM assignments"))
    assert {f"unit {i}": "ab".index(arm) for i, arm in arms.items()}.items() <= stored.items()
    events = Counter(row[0] for row in rows(path, "SELECT event FROM outcomes"))
    assert {f"event {i}" for i in recorded} <= set(events)
    assert set(events.values()) == {1}
    with bs.open(path) as store:
        assert store.get("test").verify().agrees


@pytest.mark.parametrize("location", ["file", "memory"])
def test_many_threads_share_transactions_and_no_unit_has_two_arms(
    tmp_path: Path, location: str, programs: Any
) -> None:
    place = ":memory:" if location == "memory" else tmp_path / "threads.db"
    with bs.open(place) as store:
        test = store.create("test", programs.endless)
        heard: list[list[str]] = [[] for _ in range(16)]

        def ask(mine: list[str]) -> None:
            for i in range(20):
                mine.append(test.assign(i))
                test.record(i, 1.0, id=str(i))

        threads = [Thread(target=ask, args=(mine,)) for mine in heard]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(mine == heard[0] for mine in heard)
        assert (test.status().units, test.status().matured) == (20, 20)
        assert test.verify().agrees


def test_a_store_that_was_closed_or_forked_answers_nobody(tmp_path: Path) -> None:
    """A remembered unit is not answered either; a child says what to do and does not hang."""
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
    with bs.open(tmp_path / "store.db") as store:
        test = store.create("test", design)
        test.assign("known")
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                test.assign("known")
            except bs.StoreError as problem:
                os.write(writer, str(problem).encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert b"was opened before a fork: open it in this process" in os.read(reader, 1000)
    calls: list[Any] = [test.assign, test.evaluate, test.soon.assign]
    for call in calls:
        with pytest.raises(bs.StoreError, match="was closed: open it again"):
            call("known")
