"""SQLite files: the connection that writes, connections that read, and files of other programs."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any

from sqlalchemy import URL, Connection, Engine, StaticPool, create_engine, event
from sqlalchemy.exc import SQLAlchemyError

from bascule.core.errors import InputError, StoreError
from bascule.live.storage.schema import MARK

logger = logging.getLogger("bascule.live")

PATIENCE = 10.0
"""Seconds that a program waits for another one to finish writing."""

LONG_WAIT = 1.0
"""Seconds of waiting after which it is logged."""

CHECKPOINT_PATIENCE = 2.0
"""Seconds that closing a file waits for reads that are still under way."""

SQLITE_HEADER = b"SQLite format 3\0"

FAILURES = (SQLAlchemyError, sqlite3.Error, OSError)

HOT_CACHE, CACHE = 32768, 8192
"""Memory for pages of a file, in kB: of a connection that writes, and of one that reads."""


CHECKPOINT_PAGES = 4000
"""Pages of the write-ahead log after which SQLite copies them into the file. With its default of
1,000 the copies take a sixth of the time of small transactions."""


def file_engine(location: str, cache: int, kept: int, overflow: int, wait: float) -> Engine:
    """Return an engine for a file, whose pool keeps some connections and may open more."""
    engine = create_engine(
        URL.create("sqlite", database=location),
        connect_args={"timeout": PATIENCE},
        pool_size=kept,
        max_overflow=overflow,
        pool_timeout=wait,
    )
    return _with_listeners(engine, cache)


def memory_engine() -> Engine:
    """Return an engine for a database in memory: one connection, which everyone shares."""
    connected: dict[str, Any] = {"check_same_thread": False}
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args=connected)
    return _with_listeners(engine, HOT_CACHE)


class Writer:
    """The connection that writes to a file: kept, since only one can write at a time.

    To take one from the pool, begin, commit and put it back takes longer than to write a few rows.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine = engine
        self._name = name
        self._lock = Lock()
        self._connection: Connection | None = None

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Run a transaction."""
        with self._lock:
            connection = self._connection or self._engine.connect()
            # Whatever goes wrong, the next transaction has a connection that knows nothing of it.
            self._connection = None
            try:
                file = connection.connection.dbapi_connection
                assert file is not None
                started = perf_counter()
                file.execute("BEGIN IMMEDIATE")
                waited = perf_counter() - started
                if waited > LONG_WAIT:
                    logger.warning(
                        "%s: waited %.1f s for another program to finish writing",
                        self._name,
                        waited,
                    )
                yield connection
                file.execute("COMMIT")
            except BaseException:
                connection.invalidate()
                connection.close()
                raise
            # It has begun what we have ended.
            connection.rollback()
            self._connection = connection

    def checkpoint(self) -> None:
        """Write the log beside the file back into it, as far as nobody reads older rows."""
        with self._lock:
            connection = self._connection or self._engine.connect()
            self._connection = connection
            file: Any = connection.connection.dbapi_connection
            file.execute("PRAGMA secure_delete = OFF")
            file.execute(f"PRAGMA busy_timeout = {1000 * CHECKPOINT_PATIENCE:.0f}")
            is_busy = file.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            file.execute(f"PRAGMA busy_timeout = {1000 * PATIENCE:.0f}")
        if is_busy:
            logger.warning(
                "%s: another program uses it, so a part of it stays in %s-wal: copy both",
                self._name,
                self._name,
            )

    def close(self) -> None:
        """Write all of the log back into the file, and close the connection."""
        # A disk that is full, or a file that is gone, has nothing that could be written back.
        with suppress(*FAILURES):
            self.checkpoint()
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None


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


def create_file(path: Path) -> None:
    """Create the file of a new store, which only its owner may read; another one stays as it is.

    The files beside it get the permissions that it has.
    """
    # What is wrong with its folder is said by SQLite.
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _with_listeners(engine: Engine, cache: int) -> Engine:
    """Return an engine that sets up its connections, and begins transactions itself."""

    def connected(connection: Any, _: object) -> None:
        # Transactions begin where SQLAlchemy says so, not where the driver guesses.
        connection.isolation_level = None
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        if mark not in (MARK, 0):
            return
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if mark == MARK or tables == 0:
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA cache_size = -{cache}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")

    def begun(connection: Connection) -> None:
        file: Any = connection.connection.dbapi_connection
        if not file.in_transaction:
            reading = connection.get_execution_options().get("reading", False)
            file.execute("BEGIN" if reading else "BEGIN IMMEDIATE")

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)
    return engine


LOST_LOG = (
    "{} has no tables, but was written with a log beside it: {0}-wal was deleted or not copied; "
    "restore a backup"
).replace("{}", "{0}")


def has_lost_log(path: Path) -> bool:
    """Whether a file without tables was in use with a write-ahead log, which is not there."""
    with path.open("rb") as file:
        head = file.read(20)
    # Bytes 18 and 19 are the versions for writing and reading: 2 is a write-ahead log.
    return len(head) == 20 and head[18:20] == b"\x02\x02"
