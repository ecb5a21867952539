"""SQLite files: connections that write and read, and checks for files of other programs."""

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
"""Seconds to wait for another program to finish writing."""

LONG_WAIT = 1.0
"""Seconds after which a wait for another program is logged."""

CHECKPOINT_PATIENCE = 2.0
"""Seconds to wait for active reads when a file is closed."""

SQLITE_HEADER = b"SQLite format 3\0"

FAILURES = (SQLAlchemyError, sqlite3.Error, OSError)

HOT_CACHE, CACHE = 32768, 8192
"""Page cache of a writing connection and of a reading one, in kB."""


CHECKPOINT_PAGES = 4000
"""Number of pages in the write-ahead log after which SQLite copies them into the file. With its
default of 1,000, the copies take a sixth of the time of small transactions."""


def file_engine(location: str, cache: int, kept: int, overflow: int, wait: float) -> Engine:
    """Return an engine for a file, with a pool that keeps some connections and may open more."""
    engine = create_engine(
        URL.create("sqlite", database=location),
        connect_args={"timeout": PATIENCE},
        pool_size=kept,
        max_overflow=overflow,
        pool_timeout=wait,
    )
    return _with_listeners(engine, cache)


def memory_engine() -> Engine:
    """Return an engine for a database in memory, with a single shared connection."""
    connected: dict[str, Any] = {"check_same_thread": False}
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args=connected)
    return _with_listeners(engine, HOT_CACHE)


class Writer:
    """The single connection that writes to a file; it is kept open, since only one can write.

    Taking a connection from a pool and returning it would take longer than writing a few rows.
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
            # After an error, the next transaction gets a new connection.
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
            # COMMIT bypassed SQLAlchemy, whose own transaction is still open: close it.
            connection.rollback()
            self._connection = connection

    def checkpoint(self) -> None:
        """Copy the write-ahead log into the file, as far as no reader needs older pages."""
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
        """Copy the write-ahead log into the file, and close the connection."""
        # This fails if the disk is full or the file is gone; the connection is closed anyway.
        with suppress(*FAILURES):
            self.checkpoint()
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None


def refuse_other_files(path: Path) -> None:
    """Raise if the path holds a file that is not a store; the file is not changed."""
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
    # The header of a store has the mark. It is 0 in a database without tables, and in those of
    # programs that set no mark: their tables are checked later.
    if int.from_bytes(header[68:72], "big") not in (MARK, 0):
        raise InputError(
            "store", f"{path} belongs to another program: it was not touched; give another path"
        )


def create_file(path: Path) -> None:
    """Create the file of a new store, readable by its owner only; an existing file is kept.

    SQLite gives the same permissions to the files that it creates beside it.
    """
    # SQLite will report what is wrong with the folder.
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _with_listeners(engine: Engine, cache: int) -> Engine:
    """Return the engine, with listeners that set up connections and begin transactions."""

    def connected(connection: Any, _: object) -> None:
        # SQLAlchemy begins transactions explicitly; the driver must not begin any by itself.
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
    """Whether a file was used with a write-ahead log, which must have had the missing tables."""
    with path.open("rb") as file:
        head = file.read(20)
    # Bytes 18 and 19 are the format versions for writing and reading; 2 means write-ahead log.
    return len(head) == 20 and head[18:20] == b"\x02\x02"
