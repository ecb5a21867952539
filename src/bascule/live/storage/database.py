"""A database as a store needs it: durable transactions, and errors that can be read."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Lock, RLock
from typing import Any

from sqlalchemy import URL, Connection, Engine, StaticPool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from bascule.core.errors import InputError, StoreError
from bascule.live.storage.upgrade import MARK, bring_up_to_date

PATIENCE = 30.0
"""Seconds that a program waits for another one to finish writing."""

MEMORY = ":memory:"
SQLITE_HEADER = b"SQLite format 3\0"

FAILURES = (SQLAlchemyError, sqlite3.Error, OSError)

PLAIN_WORDS = (
    ("disk is full", "the disk is full"),
    ("no space left", "the disk is full"),
    ("readonly", "it can only be read, not written"),
    ("read-only", "it can only be read, not written"),
    ("unable to open", "it cannot be opened: does its folder exist, and may you write there?"),
    ("locked", "other programs kept it busy"),
    ("not a database", "it is not a SQLite file"),
    ("malformed", "the file is damaged"),
    ("no such table", "its tables are gone"),
    ("does not exist", "its tables are gone"),
)


class Database:
    """Connections to one database, whose tables are up to date."""

    def __init__(self, location: str) -> None:
        self.name = shown(location)
        self._is_closed = False
        # In memory there is one connection, which everyone shares.
        self._alone = RLock() if location == MEMORY else nullcontext()
        self._engine = _engine(location)
        is_file = self.is_sqlite and location != MEMORY
        self._writer = Writer(self._engine) if is_file else None
        try:
            with self.writing() as connection:
                bring_up_to_date(connection, self.name)
        except BaseException:
            self._engine.dispose()
            raise

    @property
    def is_sqlite(self) -> bool:
        """Whether one writer has the whole database to itself."""
        return self._engine.dialect.name == "sqlite"

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is on disk when it ends, or has not happened."""
        self._check_open()
        begin = self._engine.begin if self._writer is None else self._writer.begin
        try:
            with self._alone, begin() as connection:
                yield connection
        except FAILURES as problem:
            raise self._said(problem) from problem

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One moment's view of the data, that waits for nobody."""
        self._check_open()
        options: dict[str, Any] = {"reading": True}
        if not self.is_sqlite:
            options["isolation_level"] = "REPEATABLE READ"
        try:
            with self._alone, self._engine.connect() as connection:
                yield connection.execution_options(**options)
        except FAILURES as problem:
            raise self._said(problem) from problem

    def close(self) -> None:
        """Let go of every connection."""
        self._is_closed = True
        if self._writer is not None:
            self._writer.close()
        self._engine.dispose()

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreError(f"{self.name} was closed: open it again")

    def _said(self, problem: Exception) -> StoreError:
        return StoreError(_line(self.name, problem))


class Writer:
    """The connection that writes to a file: kept, since only one can write at a time.

    To take one from the pool, begin, commit and put it back takes longer than to write a few rows.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = Lock()
        self._connection: Connection | None = None

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A transaction."""
        with self._lock:
            connection = self._connection or self._engine.connect()
            # Whatever goes wrong, the next transaction has a connection that knows nothing of it.
            self._connection = None
            try:
                file = connection.connection.driver_connection
                assert file is not None
                file.execute("BEGIN IMMEDIATE")
                yield connection
                file.execute("COMMIT")
            except BaseException:
                connection.invalidate()
                connection.close()
                raise
            # It has begun what we have ended.
            connection.rollback()
            self._connection = connection

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None


def shown(location: str) -> str:
    """A location as it may be shown: without a password.

    >>> shown("postgresql://ann:secret@host/tests")
    'postgresql://ann:***@host/tests'
    """
    if "://" not in location:
        return location
    try:
        return make_url(location).render_as_string(hide_password=True)
    except ArgumentError:
        return location.partition("://")[0]


def _engine(location: str) -> Engine:
    if "://" in location:
        return _postgresql(location)
    if location == MEMORY:
        connected: dict[str, Any] = {"check_same_thread": False}
        engine = create_engine("sqlite://", poolclass=StaticPool, connect_args=connected)
    else:
        refuse_other_files(Path(location))
        url = URL.create("sqlite", database=location)
        engine = create_engine(url, connect_args={"timeout": PATIENCE})
    event.listen(engine, "connect", _connected)
    event.listen(engine, "begin", _begun)
    return engine


def _postgresql(location: str) -> Engine:
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
        return create_engine(url, pool_pre_ping=True, pool_size=10, max_overflow=60)
    except (ArgumentError, NoSuchModuleError):
        raise InputError(
            "store", f"{shown(location)} cannot be read: postgresql://user@host/database is one"
        ) from None
    except ModuleNotFoundError:
        raise InputError(
            "store", "PostgreSQL needs a driver: pip install 'bascule[postgresql]'"
        ) from None


def refuse_other_files(path: Path) -> None:
    """Raise if there is a file that is not a store; it is only read."""
    if path.is_dir():
        raise InputError("store", f"{path} is a folder: give the path of a file")
    if not path.is_file() or path.stat().st_size == 0:
        return
    try:
        with path.open("rb") as file:
            header = file.read(72)
    except OSError as problem:
        raise StoreError(f"{path}: {problem.strerror}") from None
    if not header.startswith(SQLITE_HEADER):
        raise InputError("store", f"{path} is not a store of bascule's: it was not touched")
    # The mark stands in the first page, and in none of a file that is still empty.
    if int.from_bytes(header[68:72], "big") not in (MARK, 0):
        raise InputError(
            "store", f"{path} belongs to another program: it was not touched; give another path"
        )


def _connected(connection: Any, _: object) -> None:
    # Transactions begin where SQLAlchemy says so, not where the driver guesses.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA application_id")
    if cursor.fetchone()[0] in (MARK, 0):
        _settle_in(cursor)
    cursor.close()


def _settle_in(cursor: Any) -> None:
    cursor.execute("SELECT count(*) FROM sqlite_master")
    is_new = cursor.fetchone()[0] == 0
    cursor.execute("PRAGMA application_id")
    if is_new or cursor.fetchone()[0] == MARK:
        cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA cache_size = -65536")


def _begun(connection: Connection) -> None:
    file: Any = connection.connection.driver_connection
    if not file.in_transaction:
        reading = connection.get_execution_options().get("reading", False)
        file.execute("BEGIN" if reading else "BEGIN IMMEDIATE")


def _line(name: str, problem: Exception) -> str:
    said = str(problem.orig) if isinstance(problem, DBAPIError) else str(problem)
    words = next((plain for sign, plain in PLAIN_WORDS if sign in said.lower()), None)
    if words is None:
        words = re.sub(r"\s+", " ", said).strip()[:200]
    return f"{name}: {words}; nothing of this call was kept"
