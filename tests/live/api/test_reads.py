"""Reads across experiments: what did not change is one query, and what is to be settled is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
from sqlalchemy import Engine, event

import bascule as bs
from bascule.live.api.reads import Summary, read_summaries

DAY = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(1), measure=bs.Measure("1d", "any"))


def filled(store: bs.Store, tests: int) -> None:
    for i in range(tests):
        test = store.create(f"test-{i}", DAY)
        test.assign_many([f"u{k}" for k in range(10)])
        test.record("u1", 1.0)


def copies(store: bs.Store, tests: int) -> None:
    """Have so many experiments, which are copies of the first, with its units."""
    columns = "created, design, phase, state, statistics, version, delivery"
    units = "number, unit, arm, deal, probability, time"
    with store.writing() as connection:
        for i in range(2, tests + 1):
            for statement in (
                f"INSERT INTO experiments (id, name, {columns}) "
                f"SELECT {i}, 'copy-{i}', {columns} FROM experiments WHERE id = 1",
                f"INSERT INTO assignments (experiment, {units}) "
                f"SELECT {i}, {units} FROM assignments WHERE experiment = 1",
            ):
                connection.exec_driver_sql(statement)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, new_database: Callable[[], str]) -> str:
    return ":memory:" if request.param == "sqlite" else new_database()


@contextmanager
def counted(store: bs.Store) -> Iterator[list[str]]:
    """The queries that run meanwhile."""
    queries: list[str] = []

    def count(statement: str) -> None:
        if statement.lstrip().startswith("SELECT"):
            queries.append(statement)

    def execute(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        count(statement)

    if store.is_shared:
        event.listen(Engine, "before_cursor_execute", execute)
        yield queries
        event.remove(Engine, "before_cursor_execute", execute)
        return
    # Statements go to this driver directly; in memory there is one connection.
    with store.reading() as connection:
        driver: Any = connection.connection.driver_connection
    driver.set_trace_callback(count)
    yield queries
    driver.set_trace_callback(None)


def read(store: bs.Store, known: dict[str, Summary] | None = None) -> dict[str, Summary]:
    found, damaged = read_summaries(store, {one.test.id: one for one in (known or {}).values()})
    assert damaged == {}
    return found


def test_a_list_is_one_query_where_nothing_has_changed(place: str, clock: bs.ManualClock) -> None:
    with bs.open(place, clock=clock) as store:
        filled(store, 1)
        # On PostgreSQL by a program that has read nothing before.
        is_shared = store.is_shared
        with bs.open(place, clock=clock) if is_shared else nullcontext(store) as other:
            for tests in (1, 200):
                copies(store, tests)
                found: dict[str, Summary] = {}
                for most in (2 + tests, 1):
                    with counted(other) as queries:
                        found = read(other, found)
                        statuses = {name: one.status() for name, one in found.items()}
                    assert len(queries) == most, queries
                    assert len(statuses) == tests
            for name in ("test-0", "copy-200"):
                assert statuses[name] == other.get(name).status()
                assert statuses[name].waiting is not None


def test_what_has_units_that_matured_is_said_and_shown_as_it_is_stored(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    filled(store, 3)
    found = read(store)
    found["test-0"].test.pause()
    clock.advance("2d")
    found["test-1"].test.settle()
    again = read(store, found)
    assert [one.is_settled for one in again.values()] == [False, True, False]
    assert [one.status().matured for one in again.values()] == [0, 10, 0]
    assert [one.status().state for one in again.values()] == ["paused", "running", "running"]
    for one in again.values():
        assert one.test.status().matured == 10
    assert all(one.is_settled for one in read(store, again).values())


def test_damaged_rows_do_not_hide_others(place: str, clock: bs.ManualClock) -> None:
    with bs.open(place, clock=clock) as store:
        filled(store, 4)
        with store.writing() as connection:
            for i, damage in enumerate(("", "{", '{"folding":{"folded":1e999}}')):
                changed = f"UPDATE experiments SET version = 99, state = '{damage}'"
                connection.exec_driver_sql(f"{changed} WHERE name = 'test-{i}'")
        found, damaged = read_summaries(store, {})
        assert [*found] == ["test-3"]
        assert [*damaged] == ["test-0", "test-1", "test-2"]
