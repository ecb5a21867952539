"""Back up and restore a store, and move single experiments between stores.

A copy of a store, on SQLite or PostgreSQL, is one SQLite file. It is a store itself, so that it can
be opened, verified and restored into either database. Files that are restored or imported are
checked before any of their rows is used.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, text

from bascule.core.errors import InputError, StoreError
from bascule.core.inputs.files import replacing
from bascule.live.api.experiment import Experiment
from bascule.live.commit.context import StoreContext
from bascule.live.reports.verification.verify import verify
from bascule.live.steps.inputs import check_name
from bascule.live.storage import schema, statements
from bascule.live.storage.databases.database import LONGEST_COPY, Database, shown
from bascule.live.storage.databases.sqlite import LOST_LOG, has_lost_log, refuse_other_files
from bascule.live.storage.delivery import check_places
from bascule.live.storage.queries import (
    add_experiment,
    all_experiments,
    check_free,
    stored_row,
)
from bascule.live.storage.records import log
from bascule.live.storage.schema import VERSION_TABLE, check_version, schema_problems

ROWS_AT_ONCE = 5000

COMPUTED = re.compile(r"\b(CHECK|GENERATED|AS|USING)\b", re.IGNORECASE)
"""SQL keywords of checks, computed columns and virtual tables.

A file is refused if the definition of a table has one of them.
"""

SESSIONS = "service_sessions"
"""Table of sign-in sessions, which are not restored: users sign in again."""

ENDED = ("over", "stopped")
"""Phases of experiments that will never enrol another unit."""


def backup(location: str | Path, path: str | Path) -> None:
    """Copy a snapshot of a store into a new SQLite file; the store may be in use meanwhile.

    The file is a store itself, whichever database it came from: `bascule experiment verify` and
    `restore` take it.
    """
    location = str(location)
    if "://" not in location and not Path(location).is_file():
        raise InputError("store", f"there is no store {location}: check the path (--store)")
    with closing(Database(location, make=False)) as database, database.reporting() as source:
        if not check_version(source, database.name):
            raise InputError("store", f"{database.name} is empty: there is nothing to back up")
        write_copy(source, Path(path))


def write_copy(source: Connection, path: Path, experiment: int | None = None) -> None:
    """Copy all rows of a store, or those of one experiment, into a new SQLite file."""
    with new_store(path) as target:
        if experiment is None:
            for table in _tables(target):
                copy_rows(source, target, table)
            _keep_numbers(target)
            return
        copy_rows(source, target, "experiments", "id", experiment)
        for table in (*schema.OF_EXPERIMENT, "audit"):
            copy_rows(source, target, table, "experiment", experiment)


def restore(path: str | Path, location: str | Path) -> None:
    """Make a new store from a backup: a new SQLite file, or an empty PostgreSQL database.

    Sessions of the dashboard are left out. API keys are as they were at the time of the backup: a
    key that was revoked since is valid again.
    """
    location = str(location)
    is_file = "://" not in location
    if is_file and Path(location).exists():
        raise InputError(
            "store", f"{location} already exists: move it away, or restore to another path"
        )
    with (
        opened_copy(Path(path)) as copy,
        copy.reporting() as rows,
        new_store(Path(location)) if is_file else _written(location) as target,
    ):
        tables = [table for table in _tables(target) if table != SESSIONS]
        for table in tables:
            (filled,) = target.execute(text(f"SELECT count(*) FROM {table}")).one()  # nosec B608
            if filled:
                raise InputError(
                    "store",
                    f"{shown(location)} is not empty ({table} has rows): restore into a "
                    "new database; nothing was changed",
                )
        for table in tables:
            copy_rows(rows, target, table)
        _keep_numbers(target)


def import_experiment(
    store: StoreContext, path: str | Path, experiment: str | None = None, name: str | None = None
) -> Experiment:
    """Copy an experiment from a backup or an exported store into a store, and return it.

    `experiment` selects an experiment if the file has several, and `name` gives it another name.
    The experiment is verified before anything is added.
    """
    with opened_copy(Path(path)) as source, source.reporting() as rows:
        numbers = {experiment.name: experiment.id for experiment in all_experiments(rows)}
        chosen = _chosen(numbers, experiment)
        verification = verify(rows, numbers[chosen], chosen)
        if not verification.agrees:
            raise InputError("file", f"the file is damaged or was changed: {verification}"[:500])
        wanted = chosen if name is None else name
        check_name(wanted)
        moved = stored_row(rows, numbers[chosen], chosen)
        with store.writing() as connection:
            check_free(connection, wanted)
            if moved.phase not in ENDED:
                check_places(connection, chosen, moved.delivery)
            number = _copy_in(rows, connection, numbers[chosen], wanted)
            detail = {"experiment": chosen, "units": verification.units}
            now = store.runner.store_time(connection)
            log(connection, (number, wanted), now, store.actor, "import", detail)
    return Experiment(store, number, wanted)


def _chosen(names: Iterable[str], experiment: str | None) -> str:
    listed = sorted(names)
    if experiment in listed or (experiment is None and len(listed) == 1):
        return experiment or listed[0]
    if not listed:
        raise InputError("file", "the file has no experiments: there is nothing to import")
    shown = ", ".join(listed)
    if experiment is None:
        raise InputError(
            "experiment", f"the experiments of the file are {shown}: say which one to import"
        )
    message = f"the file has no experiment {experiment!r:.60}: it has {shown}"
    raise InputError("experiment", message)


def _copy_in(source: Connection, target: Connection, experiment: int, name: str) -> int:
    """Copy one experiment into another store, and return its new number."""
    asked = text("SELECT * FROM experiments WHERE id = :id")
    row = {**source.execute(asked, {"id": experiment}).mappings().one(), "name": name}
    columns = [column for column in schema.COLUMNS["experiments"] if column != "id"]
    number = add_experiment(target, {column: row[column] for column in columns})
    replaced: dict[str, Any] = {"experiment": number}
    for table in schema.OF_EXPERIMENT:
        copy_rows(source, target, table, "experiment", experiment, replaced)
    replaced["name"] = name
    copy_rows(source, target, "audit", "experiment", experiment, replaced)
    return number


def copy_rows(
    source: Connection,
    target: Connection,
    table: str,
    column: str | None = None,
    value: int | None = None,
    given: Mapping[str, Any] | None = None,
) -> None:
    """Copy the rows of a table: all of them, or those in which `column` equals `value`.

    `given` replaces the values of some columns; the rows are then renumbered in order.
    """
    given = given or {}
    names = [column["name"] for column in inspect(target).get_columns(table)]
    if given and "id" in names:
        names.remove("id")
    order = ", ".join(inspect(target).get_pk_constraint(table)["constrained_columns"])
    condition = "" if column is None else f" WHERE {column} = :value"
    quoted = ", ".join(f'"{name}"' for name in names)
    # The names come from the schema of this program, not from a user.
    asked = text(f"SELECT {quoted} FROM {table}{condition} ORDER BY {order}")  # nosec B608
    replaced = [(names.index(name), new) for name, new in given.items()]
    parameters = {} if column is None else {"value": value}
    result = source.execute(asked, parameters, execution_options={"stream_results": True})
    for batch in result.partitions(ROWS_AT_ONCE):
        rows = [list(row) for row in batch]
        _check_texts(table, names, rows)
        for place, new in replaced:
            for row in rows:
                row[place] = new
        statements.insert(target, table, names, [tuple(row) for row in rows])


def _check_texts(table: str, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Raise `InputError` if a value is bytes or has a NUL character, which PostgreSQL rejects."""
    for row in rows:
        for name, value in zip(names, row, strict=True):
            if isinstance(value, bytes) or (isinstance(value, str) and "\0" in value):
                raise InputError(
                    "file",
                    f"the file is damaged or was changed: {name} of {table} is stored as "
                    f"{value!r:.60}, which is not text that can be kept",
                )


@contextmanager
def opened_copy(path: Path) -> Iterator[Database]:
    """Open a temporary, checked copy of a backup or export; the file itself is not changed."""
    if not path.is_file():
        raise InputError("file", f"there is no file {path}: give the path of a backup or export")
    refuse_other_files(path)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "copy.db"
        _copy_pages(path, work)
        _check_pages(work, path.name)
        with closing(Database(str(work), make=False, name=path.name)) as database:
            with database.reading() as connection:
                if not check_version(connection, path.name):
                    empty = "the file is empty: it is not a backup or export of bascule"
                    lost = LOST_LOG.format(path.name)
                    raise InputError("file", lost if has_lost_log(work) else empty)
                _check_tables(connection)
            yield database


def _check_pages(path: Path, name: str) -> None:
    """Raise if an imported file is damaged or contains code.

    The code in triggers, views, checks, computed columns and indexes can run whenever the tables
    are used, even when the pages of the file are checked.
    """
    with closing(sqlite3.connect(path)) as file:
        try:
            parts = file.execute("SELECT type, name, sql FROM sqlite_master WHERE sql <> ''")
            strange = sorted(part for kind, part, sql in parts if _is_strange(kind, sql))
            if strange:
                words = f"the file has code that is not bascule's ({', '.join(strange)[:60]})"
                raise InputError("file", f"{words}: refused")
            (said,) = file.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.Error as problem:
            raise StoreError(f"{name}: {problem}") from None
    if said != "ok":
        raise StoreError(f"the file is damaged: {said}")


def _is_strange(kind: str, sql: str) -> bool:
    """Whether a table, index or trigger of a file has code that bascule's own schema lacks."""
    if kind == "table":
        return COMPUTED.search(sql) is not None
    if kind == "index":
        return _plain(sql) not in map(_plain, schema.statements_of("sqlite"))
    return sql not in schema.APPEND_ONLY["sqlite"]


def _plain(sql: str) -> str:
    """Return a statement without spaces and quotes, which differ between versions of SQLite."""
    return re.sub(r'[\s"]', "", sql).casefold()


def _check_tables(connection: Connection) -> None:
    """Raise if the tables of a file are incomplete, or the name of an experiment is invalid."""
    problems = schema_problems(connection)
    if problems:
        raise InputError("file", f"the file is damaged or was changed: {'; '.join(problems)[:300]}")
    for (name,) in statements.fetch(connection, "SELECT name FROM experiments"):
        check_name(name)


@contextmanager
def new_store(target: Path) -> Iterator[Connection]:
    """Yield a transaction on a new SQLite store; the file gets its final name on success."""
    if target.exists():
        raise InputError("file", f"{target} already exists: give another name")
    for left in (Path(f"{target}-wal"), Path(f"{target}-journal")):
        if left.exists():
            raise InputError(
                "file",
                f"{left} is left of another store, and SQLite would apply it to {target}: move it "
                "away, or choose another path",
            )
    if not target.parent.is_dir():
        raise InputError("file", f"the folder {target.parent} does not exist: create it first")
    # Private, since the file has the names of units and the hashes of API keys.
    with (
        replacing(target, private=True) as path,
        closing(Database(str(path))) as copy,
        copy.writing() as connection,
    ):
        yield connection


def _copy_pages(source: Path, target: Path) -> None:
    """Copy a SQLite file with its write-ahead log, as of one moment."""
    try:
        with closing(sqlite3.connect(source)) as file, closing(sqlite3.connect(target)) as copy:
            file.backup(copy)
    except sqlite3.Error as problem:
        raise StoreError(f"{source}: cannot be copied: {problem}") from None


def _tables(connection: Connection) -> list[str]:
    """Return the tables of a store."""
    return sorted(set(inspect(connection).get_table_names()) - {VERSION_TABLE})


def _keep_numbers(connection: Connection) -> None:
    """Set the id counters past all ids used so far, including those of deleted experiments."""
    last = connection.execute(
        text(
            "SELECT coalesce(max(number), 0) FROM (SELECT max(id) AS number FROM experiments "
            "UNION ALL SELECT max(experiment) FROM audit) AS numbers"
        )
    ).scalar_one()
    if connection.dialect.name == "sqlite":
        connection.execute(text("DELETE FROM sqlite_sequence WHERE name = 'experiments'"))
        connection.execute(
            text("INSERT INTO sqlite_sequence VALUES ('experiments', :last)"), {"last": last}
        )
        return
    numbers = {"experiments": last}
    for table in ("outcomes", "set_aside", "audit"):
        asked = text(f"SELECT coalesce(max(id), 0) FROM {table}")  # nosec B608
        numbers[table] = connection.execute(asked).scalar_one()
    for table, number in numbers.items():
        if number:
            connection.execute(
                text("SELECT setval(pg_get_serial_sequence(:table, 'id'), :number)"),
                {"table": table, "number": number},
            )


@contextmanager
def _written(location: str) -> Iterator[Connection]:
    """Yield a transaction on a PostgreSQL database; it may take long enough to copy a store."""
    with closing(Database(location)) as database, database.writing() as connection:
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        connection.execution_options(client_seconds=LONGEST_COPY)
        yield connection
