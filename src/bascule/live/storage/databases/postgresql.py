"""Connections to PostgreSQL, with timeouts.

The server ends statements and lock waits that take too long. A server that does not answer at all
cannot do that, so a thread of this program closes connections whose answer is overdue; the call
then fails with an error, and can be repeated.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock, Thread
from time import monotonic, sleep
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.exc import IntegrityError, InvalidatePoolError, OperationalError

from bascule.core.errors import InputError

CONNECT_SECONDS = 5
"""Seconds to wait for a new connection."""

PING_SECONDS = 3.0
"""Seconds to wait for a pooled connection to show that it is alive."""

GRACE = 5.0
"""Seconds to wait beyond the server's own limit before a connection is closed."""

CHECKED_EVERY = 0.25


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """Limits of a pool: connections kept open, more if needed, and the seconds of a statement."""

    kept: int
    more: int
    statement: float
    wait: float = 10.0
    """Seconds that a caller waits for a connection, or a statement for a lock."""
    reads_all: bool = False
    """Whether statements read whole tables, so that nested loop joins are turned off."""


class Overdue:
    """Closes connections whose answer from the server is overdue."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[int, tuple[float, Any]] = {}
        self._thread: Thread | None = None

    def expect(self, connection: Any, seconds: float) -> None:
        """Expect an answer on a psycopg connection within a number of seconds."""
        with self._lock:
            self._waiting[id(connection)] = (monotonic() + seconds, connection)
            # After a fork the thread object exists, but the thread is not alive.
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._run, name="bascule-overdue", daemon=True)
                self._thread.start()

    def answered(self, connection: Any) -> None:
        """Stop expecting an answer on a connection."""
        with self._lock:
            self._waiting.pop(id(connection), None)

    def _run(self) -> None:
        while True:
            sleep(CHECKED_EVERY)
            now = monotonic()
            with self._lock:
                late = [key for key, (until, _) in self._waiting.items() if until < now]
                for _, connection in map(self._waiting.pop, late):
                    _shut(connection)
                if not self._waiting:
                    self._thread = None
                    return


OVERDUE = Overdue()


def _shut(connection: Any) -> None:
    """Shut down the socket of a connection: a caller that waits gets an error at once."""
    # Use a copy of the descriptor, since the connection closes its own.
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as channel:
        channel.shutdown(socket.SHUT_RDWR)


def check_encoding(connection: Connection, name: str) -> None:
    """Raise `InputError` unless the database can hold names in any script."""
    encoding = connection.execute(text("SHOW server_encoding")).scalar()
    if encoding != "UTF8":
        raise InputError(
            "store",
            f"{name} has the encoding {encoding}, which cannot hold all names: create the database "
            "with ENCODING 'UTF8' TEMPLATE template0",
        )


def postgresql_engine(url: URL, limits: PoolLimits) -> Engine:
    """Return an engine whose calls fail rather than wait for a server that does not answer."""
    seconds = limits.statement + GRACE
    engine = create_engine(
        url,
        pool_size=limits.kept,
        max_overflow=limits.more,
        pool_timeout=limits.wait,
        # Without it a database in SQL_ASCII returns bytes, which SQLAlchemy cannot read.
        connect_args={"connect_timeout": CONNECT_SECONDS, "client_encoding": "utf8"},
        execution_options={"client_seconds": seconds},
    )

    def connected(connection: Any, _: object) -> None:
        OVERDUE.expect(connection, seconds)
        with connection.cursor() as cursor:
            cursor.execute(f"SET statement_timeout = {1000 * limits.statement:.0f}")
            cursor.execute(f"SET lock_timeout = {1000 * limits.wait:.0f}")
            if limits.reads_all:
                # The query planner underestimates tables that have just grown.
                cursor.execute("SET enable_nestloop = off")
        connection.commit()
        OVERDUE.answered(connection)

    def checked_out(connection: Any, *_: object) -> None:
        # After a restart of the server, pooled connections are dead and must be replaced.
        OVERDUE.expect(connection, min(PING_SECONDS, limits.wait))
        try:
            connection.autocommit = True
            connection.execute("SELECT 1")
            connection.autocommit = False
        except Exception as error:
            raise InvalidatePoolError(str(error)) from error
        finally:
            OVERDUE.answered(connection)

    def begins(
        connection: Connection, _cursor: object, statement: str, parameters: Any, *_: object
    ) -> tuple[str, Any]:
        longest = connection.get_execution_options()["client_seconds"]
        OVERDUE.expect(connection.connection.driver_connection, longest)
        return statement, parameters

    def ended(connection: Connection, *_: object) -> None:
        OVERDUE.answered(connection.connection.driver_connection)

    def failed(context: Any) -> None:
        if context.connection is not None and not context.connection.closed:
            with suppress(Exception):
                OVERDUE.answered(context.connection.connection.driver_connection)

    def commits(connection: Connection) -> None:
        OVERDUE.expect(connection.connection.driver_connection, seconds)

    def resets(connection: Any, *_: object) -> None:
        OVERDUE.expect(connection, seconds)

    def checked_in(connection: Any, *_: object) -> None:
        if connection is not None:
            OVERDUE.answered(connection)

    event.listen(engine, "connect", connected)
    event.listen(engine, "checkout", checked_out)
    event.listen(engine, "before_cursor_execute", begins, retval=True)
    event.listen(engine, "after_cursor_execute", ended)
    event.listen(engine, "handle_error", failed)
    event.listen(engine, "commit", commits)
    event.listen(engine, "reset", resets)
    event.listen(engine, "checkin", checked_in)
    event.listen(engine, "close", checked_in)
    return engine


def copy_in(connection: Connection, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows with COPY, in an eighth of the time of single inserts."""
    import psycopg

    driver: Any = connection.connection.driver_connection
    OVERDUE.expect(driver, connection.get_execution_options()["client_seconds"])
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)
    except psycopg.Error as problem:
        # Raise the same errors as SQLAlchemy does for other statements.
        is_conflict = isinstance(problem, psycopg.IntegrityError)
        kind = IntegrityError if is_conflict else OperationalError
        raise kind(statement, None, problem) from problem
    finally:
        OVERDUE.answered(driver)
