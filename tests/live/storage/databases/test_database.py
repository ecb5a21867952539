"""Files that are ours, and files that are not; errors that say what to do, and no half state."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from threading import Event
from time import perf_counter, sleep

import pytest
from sqlalchemy import text

import bascule as bs
from bascule.live.storage.databases import database, sqlite
from bascule.live.storage.databases.database import Database, shown
from bascule.live.storage.statements import fetch

DESIGN = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), reports="always")


def sql(path: Path, *statements: str) -> list[object]:
    connection = sqlite3.connect(path)
    try:
        found = [connection.execute(statement).fetchone() for statement in statements]
        connection.commit()
        return found
    finally:
        connection.close()


def test_a_file_is_made_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "tests.db"
    with bs.open(path) as store:
        arm = store.create("test", DESIGN).assign("u")
    with bs.open(str(path)) as store:
        assert store.get("test").assign("u") == arm
        assert store.get("test").design == DESIGN


def test_commits_are_durable(tmp_path: Path) -> None:
    opened = Database(str(tmp_path / "tests.db"))
    with opened.writing() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2
    opened.close()


def test_a_newer_store_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    Database(str(path)).close()
    sql(path, "UPDATE bascule_version SET version = '9999'")
    before = path.read_bytes()
    with pytest.raises(bs.InputError, match=r"another bascule \(tables 9999"):
        bs.open(path)
    assert path.read_bytes() == before


def test_a_transaction_that_failed_leaves_nothing_to_the_next_one(tmp_path: Path) -> None:
    opened = Database(str(tmp_path / "tests.db"))

    def fail() -> None:
        with opened.writing() as connection:
            connection.execute(text("INSERT INTO service_webhooks VALUES ('a', 1)"))
            raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            fail()
        with opened.writing() as connection:
            rows = connection.execute(text("SELECT count(*) FROM service_webhooks")).scalar()
            assert rows == 0
    opened.close()


def a_text(path: Path) -> None:
    path.write_text("not a database, but more than sixteen bytes of text\n" * 10)


def someone_elses(path: Path) -> None:
    sql(path, "CREATE TABLE customers (name TEXT)", "INSERT INTO customers VALUES ('ann')")


def someone_elses_marked(path: Path) -> None:
    sql(path, "CREATE TABLE customers (name TEXT)", "PRAGMA application_id = 12345")


@pytest.mark.parametrize("make", [a_text, someone_elses, someone_elses_marked])
def test_a_file_that_is_not_ours_is_not_touched(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "other"
    make(path)
    before = path.read_bytes()
    with pytest.raises(bs.InputError) as refused:
        bs.open(path)
    assert refused.value.field == "store"
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["other"]


def test_a_folder_and_a_place_that_is_not_there_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(bs.InputError, match="is a folder"):
        bs.open(tmp_path)
    with pytest.raises(bs.StoreError, match="cannot be opened") as refused:
        bs.open(tmp_path / "nowhere" / "tests.db")
    assert "\n" not in str(refused.value)


def test_another_kind_of_database_is_refused() -> None:
    with pytest.raises(bs.InputError, match="is not a store"):
        bs.open("mysql://ann@host/tests")


def test_passwords_are_not_shown() -> None:
    assert "secret" not in shown("postgresql://ann:secret@host/tests")


def test_the_audit_log_can_only_grow(tmp_path: Path) -> None:
    path = tmp_path / "tests.db"
    with bs.open(path) as store:
        store.create("test", DESIGN)
    for change in ("UPDATE audit SET actor = 'nobody'", "DELETE FROM audit"):
        with pytest.raises(sqlite3.IntegrityError, match="can only grow"):
            sql(path, change)


def test_a_full_disk_is_an_error_without_half_a_state_and_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    path = tmp_path / "full.db"
    with bs.open(path) as store:
        test = store.create("test", DESIGN)
        arm = test.assign("before")
        with store._database.writing() as connection:
            pages = connection.execute(text("PRAGMA page_count")).scalar()
            connection.execute(text(f"PRAGMA max_page_count = {pages}"))
        with pytest.raises(bs.StoreError, match="the disk is full"):
            test.assign_many([f"unit {i}" + 400 * "x" for i in range(1000)])
        assert test.status().units == 1
        with store._database.writing() as connection:
            connection.execute(text("PRAGMA max_page_count = 1000000"))
        test.assign_many([f"unit {i}" + 400 * "x" for i in range(1000)])
        assert test.assign("before") == arm
        assert test.status().units == 1001
        assert test.verify().agrees


def test_a_file_that_can_only_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "read.db"
    with bs.open(path) as store:
        test = store.create("test", DESIGN)
        with store._database.writing() as connection:
            connection.execute(text("PRAGMA query_only = 1"))
        with pytest.raises(bs.StoreError, match="can only be read"):
            test.assign("u")
        with store._database.reading() as connection:
            connection.execute(text("PRAGMA query_only = 0"))
        test.assign("u")
        assert test.verify().agrees


def test_reads_that_take_long_do_not_delay_those_who_assign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bascule.live.commit.runner.FRESH", 0.0)
    limits = (database.READS, database.REPORTS)
    with bs.open(tmp_path / "tests.db") as store, ExitStack() as held:
        test = store.create("test", DESIGN)
        test.assign("known")
        # Every connection for reads is in use, and each read has begun.
        for read, limit in zip((store.reading, store.reporting), limits, strict=True):
            for _ in range(limit.kept + limit.more):
                connection = held.enter_context(read())
                connection.execute(text("SELECT count(*) FROM assignments")).all()
        started = perf_counter()
        test.assign("known")
        test.assign("new")
        test.record("new", 1.0)
        assert perf_counter() - started < 2.0


def test_every_read_is_one_moment(tmp_path: Path) -> None:
    with bs.open(tmp_path / "tests.db") as store:
        test = store.create("test", DESIGN)
        test.assign_many(range(4))
        for read in (store.reading, store.reporting, store._database.reading_hot):
            with read() as connection:
                # Also by statements that go straight to the driver.
                before = fetch(connection, "SELECT count(*) FROM assignments")
                test.assign(f"new {read.__name__}")
                assert fetch(connection, "SELECT count(*) FROM assignments") == before


def test_a_busy_store_verifies_at_any_time(tmp_path: Path) -> None:
    with bs.open(tmp_path / "tests.db") as store:
        test = store.create("test", DESIGN)
        stop = Event()

        def work() -> None:
            for i in count():
                if stop.is_set():
                    return
                test.assign(i)
                test.record(i, 1.0)

        with ThreadPoolExecutor(1) as thread:
            working = thread.submit(work)
            verified = [test.verify() for _ in range(40)]
            stop.set()
            working.result(10)
        assert [one.differences for one in verified if not one.agrees] == []
        assert verified[-1].units > verified[0].units


def test_a_copy_of_a_closed_file_is_complete_also_where_a_report_was_under_way(
    tmp_path: Path,
) -> None:
    path, copied = tmp_path / "tests.db", tmp_path / "copied.db"
    store = bs.open(path)
    test = store.create("test", DESIGN)
    reads, go_on = Event(), Event()

    def report() -> None:
        with store.reporting() as connection:
            fetch(connection, "SELECT count(*) FROM assignments")
            reads.set()
            endless = (
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                "SELECT count(*) FROM n"
            )
            go_on.wait(10)
            fetch(connection, endless)

    with ThreadPoolExecutor(1) as thread:
        reading = thread.submit(report)
        assert reads.wait(10)
        test.assign_many(range(800))
        go_on.set()
        sleep(0.1)
        store.close()
        with pytest.raises(bs.StoreError, match="closed meanwhile"):
            reading.result(10)
    copied.write_bytes(path.read_bytes())
    assert sql(copied, "SELECT count(*) FROM assignments") == [(800,)]


def test_rows_of_a_deleted_experiment_cannot_be_read_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "tests.db"
    with bs.open(path) as store:
        kept = store.create("kept", DESIGN)
        gone = store.create("gone", DESIGN)
        for start in range(0, 2000, 100):
            gone.assign_many([f"secret person {i}" for i in range(start, start + 100)])
            kept.assign_many([f"other person {i}" for i in range(start, start + 100)])
        gone.record_many([(f"secret person {i}", 1.0, None, f"secret event {i}") for i in range(9)])
        gone.stop()
        store.delete("gone")
        files = [path, tmp_path / "tests.db-wal"]
        assert [file.read_bytes().count(b"secret") for file in files] == [0, 0]
        assert kept.verify().agrees
    assert path.read_bytes().count(b"other person") > 0


def test_a_store_that_cannot_be_written_says_so_before_anyone_assigns(tmp_path: Path) -> None:
    with bs.open(tmp_path / "tests.db") as store:
        store.check_writable()
        with store._database.writing() as connection:
            connection.execute(text("PRAGMA query_only = 1"))
        with pytest.raises(bs.StoreError, match="can only be read"):
            store.check_writable()
        store.check_writable()


def test_a_file_that_another_program_keeps_locked_is_an_error_that_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE", 0.2)
    path = tmp_path / "tests.db"
    with bs.open(path) as store:
        test = store.create("test", DESIGN)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(bs.StoreError, match="kept it busy: try again"):
            test.assign("u")
        other.execute("ROLLBACK")
        other.close()
        test.assign("u")
        monkeypatch.setattr(sqlite, "LONG_WAIT", -1.0)
        test.assign("v")
    assert "waited" in caplog.text
