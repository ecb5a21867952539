"""A PostgreSQL that is busy, stalled or restarted is given up on, and the call can be repeated."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, event

import bascule as bs
from bascule.live.reports import diagnostics
from bascule.live.storage.databases import database, postgresql
from bascule.live.storage.databases.postgresql import PoolLimits
from bascule.live.storage.statements import fetch

pytestmark = pytest.mark.slow

DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
ACTIVE = (
    "SELECT pid FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@pytest.fixture(scope="module")
def database_location(new_database: Callable[[], str]) -> str:
    """One database for all tests of this file."""
    return new_database()


@pytest.fixture
def location(database_location: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A store without experiments, whose calls may take half a second."""
    monkeypatch.setattr(database, "HOT", PoolLimits(kept=2, more=2, statement=1.0, wait=0.5))
    monkeypatch.setattr(database, "READS", PoolLimits(kept=2, more=2, statement=1.0, wait=0.5))
    monkeypatch.setattr(postgresql, "GRACE", 0.5)
    yield database_location
    with bs.open(database_location) as store:
        for test in store.experiments():
            test.stop()
            store.delete(test.name)


def other(location: str) -> psycopg.Connection[Any]:
    return psycopg.connect(location, autocommit=True)


def test_a_server_that_stalls_is_given_up_on(location: str) -> None:
    with bs.open(location) as store, other(location) as watching:
        test = store.create("test", DESIGN)
        test.assign("u")
        stalled = [pid for (pid,) in watching.execute(ACTIVE).fetchall()]
        assert stalled
        for pid in stalled:
            os.kill(pid, signal.SIGSTOP)
        try:
            started = perf_counter()
            # A connection that does not answer is replaced by one that does.
            test.assign("v")
            assert test.status().units == 2
            assert perf_counter() - started < 5.0
        finally:
            for pid in stalled:
                os.kill(pid, signal.SIGCONT)
        assert test.verify().agrees


def test_a_server_that_stalls_in_the_middle_of_a_transaction_is_an_error(location: str) -> None:
    stalled: list[int] = []

    def shuffle(slots: list[int]) -> None:
        # Called while a block is dealt, in the middle of the transaction.
        if stalls:
            with other(location) as watching:
                stalled.extend(pid for (pid,) in watching.execute(ACTIVE).fetchall())
            for pid in stalled:
                os.kill(pid, signal.SIGSTOP)

    stalls = False
    with bs.open(location, shuffle=shuffle) as store:
        test = store.create("test", DESIGN)
        arms = test.assign_many(["u", "v"])
        stalls = True
        started = perf_counter()
        try:
            with pytest.raises(bs.StoreError, match="try again"):
                test.assign("w")
        finally:
            stalls = False
            for pid in stalled:
                os.kill(pid, signal.SIGCONT)
        assert perf_counter() - started < 5.0
        test.assign("w")
        assert test.assign_many(["u", "v"]) == arms
        assert test.verify().agrees


def test_a_lock_that_another_program_holds_is_an_error_after_a_while(location: str) -> None:
    with bs.open(location) as store, other(location) as holding:
        test = store.create("test", DESIGN)
        holding.execute("BEGIN")
        holding.execute("SELECT * FROM experiments FOR UPDATE")
        with pytest.raises(bs.StoreError, match="kept it busy: try again"):
            test.assign("u")
        # Who only reads does not wait.
        assert test.status().units == 0
        holding.execute("ROLLBACK")
        test.assign("u")


def test_a_read_that_takes_too_long_is_an_error(location: str) -> None:
    with bs.open(location) as store:
        with (
            pytest.raises(bs.StoreError, match="took too long"),
            store.reading() as connection,
        ):
            connection.exec_driver_sql("SELECT pg_sleep(5)")
        assert store.experiments() == []


def test_a_report_on_tables_that_have_just_grown_joins_them_as_a_whole(location: str) -> None:
    with bs.open(location) as store:
        test = store.create("test", DESIGN)
        units = [f"u{i}" for i in range(200)]
        test.assign_many(units)
        test.record_many([(unit, 1.0) for unit in units])
        with store.reporting() as connection:
            plan = fetch(connection, f"EXPLAIN {diagnostics._DELAYS}", test.id, 200, 100)
        assert not any("Nested Loop" in line for (line,) in plan), plan


def test_every_read_is_one_moment(location: str) -> None:
    with bs.open(location) as store:
        test = store.create("test", DESIGN)
        with store.reading() as connection:
            asked = "SELECT count(*) FROM assignments"
            assert connection.exec_driver_sql(asked).scalar() == 0
            test.assign("u")
            assert connection.exec_driver_sql(asked).scalar() == 0


def test_a_server_that_was_restarted_is_asked_again(location: str) -> None:
    with bs.open(location) as store, other(location) as ending:
        test = store.create("test", DESIGN)
        assert test.status().units == 0
        ending.execute(f"SELECT pg_terminate_backend(pid) FROM ({ACTIVE}) AS theirs")
        test.assign("u")
        assert test.status().units == 1
        store.check_writable()


def test_a_connection_that_is_lost_in_the_commit_leaves_open_what_was_kept(location: str) -> None:
    with bs.open(location) as store, other(location) as ending:
        test = store.create("test", DESIGN)

        def end(_: Connection) -> None:
            ending.execute(f"SELECT pg_terminate_backend(pid, 5000) FROM ({ACTIVE}) AS theirs")

        engine = store._database._hot
        event.listen(engine, "commit", end)
        try:
            with pytest.raises(bs.StoreError, match="may have been kept: repeat it"):
                test.assign("u")
        finally:
            event.remove(engine, "commit", end)
        test.assign("u")
        assert test.status().units == 1


def test_a_server_that_is_stopped_as_a_whole_is_given_up_on(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's main process accepts connections; stopped, it leaves new ones unanswered."""
    monkeypatch.setattr(postgresql, "CONNECT_SECONDS", 2)
    with bs.open(location) as store, other(location) as watching:
        test = store.create("test", DESIGN)
        test.assign("u")
        (folder,) = watching.execute("SHOW data_directory").fetchone() or ("",)
        main_process = int(Path(folder, "postmaster.pid").read_text().split()[0])
        stalled = [main_process]
        os.kill(main_process, signal.SIGSTOP)
        try:
            # Connections that are there go on, for they have processes of their own.
            test.assign("v")
            started = perf_counter()
            with pytest.raises(bs.StoreError, match="try again"):
                bs.open(location)
            assert perf_counter() - started < 6.0
            # With these stopped as well nothing answers, neither old connections nor new ones.
            for (pid,) in watching.execute(ACTIVE).fetchall():
                os.kill(pid, signal.SIGSTOP)
                stalled.append(pid)
            started = perf_counter()
            with pytest.raises(bs.StoreError, match="try again"):
                test.assign("w")
            assert perf_counter() - started < 8.0
        finally:
            for pid in stalled:
                os.kill(pid, signal.SIGCONT)
        test.assign("w")
        assert test.status().units == 3
        assert test.verify().agrees
