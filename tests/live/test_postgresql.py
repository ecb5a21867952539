"""The same store on a real PostgreSQL, which the tests start for themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url, text

import bascule as bs

UNRECORDED = (
    "SELECT unit FROM assignments WHERE number NOT IN (SELECT number FROM outcomes) ORDER BY number"
)
DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")


@pytest.fixture
def location(new_database: Callable[[], str]) -> str:
    """A database of the test's own."""
    return new_database()


def ask(uri: str, statement: str) -> list[tuple[Any, ...]]:
    engine = create_engine(
        uri.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT"
    )
    try:
        with engine.connect() as connection:
            found = connection.execute(text(statement))
            return [tuple(row) for row in found] if found.returns_rows else []
    finally:
        engine.dispose()


def test_a_test_from_its_first_unit_to_its_end(location: str) -> None:
    clock = bs.ManualClock()
    measured = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("1d", "any"))
    with bs.open(location, clock=clock) as store:
        test = store.create("test", measured)
        for day in range(30):
            # What means something to COPY, in which many rows travel, is text like any other.
            units = [f"{day}-{i}\\N \\. 'é" for i in range(10)]
            arms = zip(units, test.assign_many(units), strict=True)
            sales = [(unit, 1.0, None, unit + str(k)) for unit, b in arms for k in "01" if b == "b"]
            assert {receipt.accepted for receipt in test.record_many(sales)} <= {True}
            clock.advance("1d")
        status = test.status()
        assert status.decision is not None
        assert status.decision.name == "b"
        assert test.verify().agrees
    with bs.open(location) as store:
        assert store.get("test").status().decision == status.decision
        store.get("test").stop()
        store.delete("test")
        assert [entry["action"] for entry in store.audit("test")][-2:] == ["stop", "delete"]
    with pytest.raises(Exception, match="can only grow"):
        ask(location, "DELETE FROM audit")


def test_a_database_with_such_tables_of_others_is_not_touched(location: str) -> None:
    ask(location, "CREATE TABLE assignments (teacher TEXT)")
    with pytest.raises(bs.InputError, match="not bascule's"):
        bs.open(location)
    tables = ask(location, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    assert tables == [("assignments",)]


def test_programs_that_ask_for_the_same_units_get_the_same_arms(
    location: str, programs: Any
) -> None:
    with bs.open(location) as store:
        store.create("test", programs.endless)
    programs.start(location, 0, 30)
    programs.start(location, 44, 14, -1)
    told = programs.finish()
    for arms in told:
        assert all(told[0].get(i, arm) == arm for i, arm in arms.items())
    assert ask(location, "SELECT count(DISTINCT unit), count(*) FROM assignments") == [(45, 45)]
    with bs.open(location) as store:
        assert store.get("test").verify().agrees


def test_what_was_answered_survives_a_kill(location: str, programs: Any) -> None:
    with bs.open(location) as store:
        store.create("test", programs.endless)
        arms, recorded = programs.kill_together(location, 1, seed=3)
    stored: dict[str, int] = dict(ask(location, "SELECT unit, arm FROM assignments"))
    assert {f"unit {i}": "ab".index(arm) for i, arm in arms.items()}.items() <= stored.items()
    events = [row[0] for row in ask(location, "SELECT event FROM outcomes")]
    assert {f"event {i}" for i in recorded} <= set(events)
    assert len(events) == len(set(events))
    with bs.open(location) as store:
        test = store.get("test")
        assert test.verify().agrees
        units = [f"later {i}" for i in range(2000)]
        for first in range(0, 2000, 1000):
            some = units[first : first + 1000]
            test.assign_many(some)
            test.record_many([(unit, 1.0) for unit in some])
        silent = [row[0] for row in ask(location, UNRECORDED)]
        test.record_many([(unit, 1.0) for unit in silent])
        test.settle()
        assert test.status().units == test.status().matured == len(stored) + 2000
        assert test.verify().agrees


def test_a_database_that_goes_away_in_the_middle_of_a_call_leaves_no_half_state(
    location: str,
) -> None:
    goes_away = False

    def shuffle(slots: list[int]) -> None:
        # Called while a block is dealt, in the middle of the transaction.
        if goes_away:
            ask(
                location,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()",
            )

    with bs.open(location, shuffle=shuffle) as store:
        test = store.create("test", DESIGN)
        arms = test.assign_many(["u", "v"])
        goes_away = True
        with pytest.raises(bs.StoreError) as refused:
            test.assign("w")
        assert "\n" not in str(refused.value)
        goes_away = False
        assert test.status().units == 2
        assert test.assign_many(["u", "v"]) == arms
        test.assign("w")
        assert test.verify().agrees


def test_no_server_is_one_line() -> None:
    folder = Path("/nonexistent")
    with pytest.raises(bs.StoreError) as refused:
        bs.open(f"postgresql://ann:secret@/tests?host={folder}")
    assert "\n" not in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_database_that_cannot_hold_all_names_is_refused(location: str) -> None:
    collation = "LC_COLLATE 'C' LC_CTYPE 'C'"
    ask(location, f"CREATE DATABASE bare ENCODING 'SQL_ASCII' {collation} TEMPLATE template0")
    bare = make_url(location).set(database="bare").render_as_string(hide_password=False)
    with pytest.raises(bs.InputError, match=r"has the encoding SQL_ASCII.*ENCODING 'UTF8'"):
        bs.open(bare)
