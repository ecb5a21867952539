"""The database of a store: durable transactions, snapshots, and readable errors.

Calls that assign and record have their own connections, so that no report can delay them: they use
`writing` and `reading_hot`. `reading` is for short reads, and `reporting` for long reads, of which
few run at a time. Every read is one snapshot of the tables. A database in memory has a single
connection, which everyone shares.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from threading import Condition, RLock
from typing import Any

from sqlalchemy import Connection, Engine, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from bascule.core.errors import InputError, StoreError
from bascule.live.storage.databases.postgresql import (
    PoolLimits,
    check_encoding,
    postgresql_engine,
)
from bascule.live.storage.databases.sqlite import (
    CACHE,
    CHECKPOINT_PATIENCE,
    FAILURES,
    HOT_CACHE,
    Writer,
    create_file,
    file_engine,
    memory_engine,
    refuse_other_files,
)
from bascule.live.storage.schema import make_tables, stored_version

HOT = PoolLimits(kept=4, more=6, statement=15.0)
READS = PoolLimits(kept=5, more=10, statement=15.0)
REPORTS = PoolLimits(kept=2, more=0, statement=300.0, wait=60.0, reads_all=True)
"""Pool limits for long reads; `HOT` is for assigning and recording, `READS` for short reads."""

LONGEST_COPY = 3600.0

MEMORY = ":memory:"

NOT_KEPT = "nothing of this call was kept"
MAYBE_KEPT = "this call may have been kept: repeat it, an outcome with an id counts once"

PLAIN_WORDS = (
    ("disk is full", "the disk is full"),
    ("no space left", "the disk is full"),
    ("readonly", "it can only be read, not written"),
    ("read-only", "it can only be read, not written"),
    ("unable to open", "it cannot be opened: does its folder exist, and may you write there?"),
    ("lock timeout", "other programs kept it busy: try again"),
    ("statement timeout", "it took too long to answer: try again"),
    ("connection timeout", "the server did not answer in time: try again"),
    ("timeout expired", "the server did not answer in time: try again"),
    ("terminating connection", "the server closed the connection: try again"),
    ("connection is lost", "the server did not answer, or closed the connection: try again"),
    ("closed the connection", "the server did not answer, or closed the connection: try again"),
    ("interrupted", "the store was closed meanwhile"),
    ("queuepool limit", "all its connections are in use: try again"),
    ("locked", "other programs kept it busy: try again"),
    ("not a database", "it is not a SQLite file"),
    ("malformed", "the file is damaged"),
    ("no such table", "its tables are gone"),
    ("does not exist", "its tables are gone"),
)


class _TakenBackError(Exception):
    """An error that rolls a transaction back."""


class Database:
    """Connections to one database; if it is empty, its tables are created.

    If `make` is false, the database is opened without creating tables. Error messages show `name`,
    or the location if no name is given.
    """

    def __init__(self, location: str, make: bool = True, name: str = "") -> None:
        self.name = name or shown(location)
        self._is_closed = False
        self._process = os.getpid()
        self._is_memory = location == MEMORY
        # A database in memory has a single connection, which everyone shares.
        self._alone = RLock()
        self._current: Connection | None = None
        self._active_reads: list[Any] = []
        self._reads_change = Condition()
        self._engines = _engines(location)
        self._hot, self._reads, self._reports = self._engines
        self.is_sqlite = self._hot.dialect.name == "sqlite"
        is_file = self.is_sqlite and not self._is_memory
        self._writer = Writer(self._hot, self.name) if is_file else None
        self._begin: Callable[[], AbstractContextManager[Connection]] = self._hot.begin
        if self._writer is not None:
            self._begin = self._writer.begin
        elif self._is_memory:
            self._begin = self._begin_in_memory
        if not make:
            return
        if is_file:
            create_file(Path(location))
        try:
            with self.writing() as connection:
                if not self.is_sqlite:
                    check_encoding(connection, self.name)
                    connection.execute(text("SET LOCAL statement_timeout = 0"))
                    connection.execute(text("SET LOCAL lock_timeout = '60s'"))
                    connection.execution_options(client_seconds=LONGEST_COPY)
                make_tables(connection, self.name)
        except BaseException:
            for engine in self._engines:
                engine.dispose()
            raise

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Run a transaction that is on disk when it ends, or is rolled back on an error.

        If the connection to a server is lost during the commit, it may be either.
        """
        self.check_open()
        in_commit = False
        try:
            with self._begin() as connection:
                yield connection
                in_commit = not self.is_sqlite
        except FAILURES as problem:
            raise self._error(problem, MAYBE_KEPT if in_commit else NOT_KEPT) from problem

    @contextmanager
    def erasing(self) -> Iterator[Connection]:
        """Run a transaction; on SQLite, the rows deleted in it are overwritten in the file."""
        with self.writing() as connection:
            if self.is_sqlite:
                connection.execute(text("PRAGMA secure_delete = ON"))
            yield connection
        if self._writer is not None:
            # The write-ahead log still has the deleted rows.
            with suppress(*FAILURES):
                self._writer.checkpoint()

    def reading(self) -> AbstractContextManager[Connection]:
        """Return a context with a snapshot of the tables, for short reads."""
        return self._snapshot(self._reads)

    def reading_hot(self) -> AbstractContextManager[Connection]:
        """Return a context with a snapshot, on a connection for assigning and recording."""
        return self._snapshot(self._hot)

    def reporting(self) -> AbstractContextManager[Connection]:
        """Return a context with a snapshot for long reads, of which few run at a time."""
        return self._snapshot(self._reports)

    @contextmanager
    def _snapshot(self, engine: Engine) -> Iterator[Connection]:
        self.check_open()
        options: dict[str, Any] = {"reading": True}
        if not self.is_sqlite:
            options["isolation_level"] = "REPEATABLE READ"
        try:
            if self._is_memory:
                with self._begin_in_memory(reading=True) as connection:
                    yield connection
                return
            with engine.connect() as connection, self._counted(connection):
                # Statements may go straight to the driver, which begins no transaction by itself.
                connection.execution_options(**options).begin()
                yield connection
        except FAILURES as problem:
            raise self._error(problem, NOT_KEPT) from problem

    @contextmanager
    def _begin_in_memory(self, reading: bool = False) -> Iterator[Connection]:
        """Run a transaction in memory; a read inside another transaction of the thread joins it."""
        with self._alone:
            before = self._current
            if reading and before is not None:
                yield before
                return
            with self._hot.begin() as connection:
                self._current = connection
                try:
                    yield connection
                finally:
                    self._current = before

    @contextmanager
    def _counted(self, connection: Connection) -> Iterator[None]:
        """Register a read of a file, so that closing the store can interrupt it and wait for it."""
        if self._writer is None:
            yield
            return
        file: Any = connection.connection.driver_connection
        with self._reads_change:
            self._active_reads.append(file)
        try:
            yield
        finally:
            with self._reads_change:
                self._active_reads.remove(file)
                self._reads_change.notify_all()

    def _end_reads(self) -> None:
        """Interrupt the active reads, and wait a short time until they have ended."""
        with self._reads_change:
            for file in self._active_reads:
                file.interrupt()
            self._reads_change.wait_for(lambda: not self._active_reads, CHECKPOINT_PATIENCE)

    def version(self) -> str | None:
        """Return the version of the tables, or None for an empty database."""
        with self.reading() as connection:
            return stored_version(connection, self.name)

    def check_writable(self) -> None:
        """Write something and roll it back; raise `StoreError` if that fails."""
        with suppress(_TakenBackError), self.writing() as connection:
            connection.execute(text("CREATE TABLE bascule_probe (probe TEXT)"))
            connection.execute(text("INSERT INTO bascule_probe VALUES ('probe')"))
            raise _TakenBackError

    def close(self) -> None:
        """Close every connection; a SQLite file then also has the data of its write-ahead log."""
        if self._is_closed:
            return
        self._is_closed = True
        self._end_reads()
        self._reads.dispose()
        self._reports.dispose()
        if self._writer is not None:
            self._writer.close()
        self._hot.dispose()

    def check_open(self) -> None:
        """Raise `StoreError` if the database was closed, or opened before a fork of the process."""
        if self._is_closed:
            raise StoreError(f"{self.name} was closed: open it again")
        # Some servers fork without running Python's hooks, so process numbers are compared.
        if self._process != os.getpid():
            # Locks that other threads held at the fork are never released.
            raise StoreError(f"{self.name} was opened before a fork: open it in this process")

    def _error(self, problem: Exception, kept: str) -> StoreError:
        return StoreError(f"{self.name}: {_words(problem)}; {kept}")


def shown(location: str) -> str:
    """Return a location without its password, so that it can be shown.

    >>> shown("postgresql://ann:secret@host/tests")
    'postgresql://ann:***@host/tests'
    """
    if "://" not in location:
        return location
    try:
        return make_url(location).render_as_string(hide_password=True)
    except ArgumentError:
        return location.partition("://")[0]


def _engines(location: str) -> tuple[Engine, Engine, Engine]:
    """Return engines for assigning and recording, for short reads, and for long reads."""
    if "://" in location:
        return _postgresql(location)
    if location == MEMORY:
        engine = memory_engine()
        return engine, engine, engine
    refuse_other_files(Path(location))
    hot, reads, reports = (
        file_engine(location, cache, limits.kept, limits.more, limits.wait)
        for cache, limits in ((HOT_CACHE, HOT), (CACHE, READS), (CACHE, REPORTS))
    )
    return hot, reads, reports


def _postgresql(location: str) -> tuple[Engine, Engine, Engine]:
    try:
        url = make_url(location)
        if url.drivername in ("postgresql", "postgres"):
            url = url.set(drivername="postgresql+psycopg")
        if not url.drivername.startswith("postgresql"):
            raise InputError(
                "store",
                f"{shown(location)} is not a store: give the path of a file, ':memory:' or "
                "postgresql://user@host/database",
            )
        hot, reads, reports = (postgresql_engine(url, limits) for limits in (HOT, READS, REPORTS))
    except (ArgumentError, NoSuchModuleError):
        raise InputError(
            "store",
            f"{shown(location)} is not a valid location: give postgresql://user@host/database",
        ) from None
    except ModuleNotFoundError:
        raise InputError(
            "store", "PostgreSQL needs a driver: pip install 'bascule[postgresql]'"
        ) from None
    return hot, reads, reports


def _words(problem: Exception) -> str:
    said = str(problem.orig) if isinstance(problem, DBAPIError) else str(problem)
    words = next((plain for sign, plain in PLAIN_WORDS if sign in said.lower()), None)
    return words or re.sub(r"\s+", " ", said).strip()[:200]
