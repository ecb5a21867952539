"""Files that are ours, and files that are not; errors that say what to do, and no half state."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text

import bascule as bs
from bascule.live.storage.database import Database, shown
from bascule.live.storage.schema import metadata

DESIGN = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))


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
    database = Database(str(tmp_path / "tests.db"))
    with database.writing() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2
    database.close()


def test_the_migrations_make_the_tables_that_the_program_uses(tmp_path: Path) -> None:
    migrated, declared = tmp_path / "migrated.db", tmp_path / "declared.db"
    Database(str(migrated)).close()
    metadata.create_all(create_engine(f"sqlite:///{declared}"))

    def shape(path: Path) -> dict[str, object]:
        found = inspect(create_engine(f"sqlite:///{path}"))
        return {
            name: (
                [(c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(name)],
                found.get_pk_constraint(name)["constrained_columns"],
                sorted(
                    (str(i["name"]), *map(str, i["column_names"])) for i in found.get_indexes(name)
                ),
                sorted(map(str, found.get_unique_constraints(name))),
            )
            for name in metadata.tables
        }

    assert shape(migrated) == shape(declared)


def test_a_newer_store_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    Database(str(path)).close()
    sql(path, "UPDATE bascule_version SET version_num = '9999'")
    before = path.read_bytes()
    with pytest.raises(bs.InputError, match=r"newer bascule .*upgrade bascule"):
        bs.open(path)
    assert path.read_bytes() == before


def test_blocks_of_an_older_store_are_read(tmp_path: Path) -> None:
    path = tmp_path / "older.db"
    with bs.open(path) as store:
        test = store.create("test", DESIGN)
        arms = [test.assign(unit) for unit in range(9)]
    # As it was when each block was a row of its own.
    sql(
        path,
        "UPDATE blocks SET slots = substr(slots, 2, length(slots) - 2)",
        "CREATE INDEX ix_set_aside_experiment ON set_aside (experiment)",
        "DROP INDEX set_aside_events",
        "UPDATE bascule_version SET version_num = '0003'",
    )
    with bs.open(path) as store:
        test = store.get("test")
        assert [test.assign(unit) for unit in range(9)] == arms
        test.assign(9)
        test.record_many([(unit, 1.0) for unit in range(10)])
        assert test.verify().agrees
        assert test.status().arms[0].matured == 5


def test_a_transaction_that_failed_leaves_nothing_to_the_next_one(tmp_path: Path) -> None:
    database = Database(str(tmp_path / "tests.db"))

    def fail() -> None:
        with database.writing() as connection:
            connection.execute(text("INSERT INTO service_webhooks VALUES ('a', 1)"))
            raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            fail()
        with database.writing() as connection:
            rows = connection.execute(text("SELECT count(*) FROM service_webhooks")).scalar()
            assert rows == 0
    database.close()


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
