"""Send SQL statements to the database.

Statements are plain text that goes straight to the driver: composing them with SQLAlchemy takes
longer than answering them. `FROM LISTED` and `IS_LISTED` stand for rows that are looked up by a
list of values; each database has its own form that uses the index for every value.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any

from sqlalchemy import Connection

from bascule.live.storage.databases.postgresql import copy_in

COPIED_FROM = 8
"""Minimum number of rows for which COPY is faster than single inserts on PostgreSQL."""

INSERTED_TOGETHER = 32
"""Number of rows that one statement inserts in SQLite, a fifth faster than one by one."""


_DATABASE_TIME = "SELECT extract(epoch FROM clock_timestamp())"


def fetch(connection: Connection, statement: str, *values: Any) -> Sequence[Any]:
    """Return the rows of a query."""
    if connection.dialect.name != "sqlite":
        return connection.exec_driver_sql(statement.replace("?", "%s"), values).fetchall()
    # The driver itself answers short queries in a tenth of SQLAlchemy's time.
    driver: Any = connection.connection.dbapi_connection
    rows: Sequence[Any] = driver.execute(statement, values).fetchall()
    return rows


def fetch_listed(
    connection: Connection, statement: str, experiment: int, listed: Sequence[Any]
) -> Sequence[Any]:
    """Return the rows of an experiment that match a list of values.

    The list is sent as one JSON text: the statement is then the same for any length, and a driver
    would take longer to send an array.
    """
    if not listed:
        return []
    in_dialect = in_sqlite if connection.dialect.name == "sqlite" else in_postgresql
    return fetch(connection, in_dialect(statement), json.dumps(listed), experiment)


@cache
def in_postgresql(statement: str) -> str:
    """Replace the placeholders of a list by PostgreSQL's SQL; the list is the first parameter.

    Each value is looked up on its own. With `= ANY`, PostgreSQL would scan a table that has grown
    since its statistics were taken, and compare each row with the whole list.
    """
    is_number = "number IS_LISTED" in statement or "id IS_LISTED" in statement
    value = "listed.value::bigint" if is_number else "listed.value"
    single = statement.replace("LISTED ", "", 1).replace("IS_LISTED", f"= {value}")
    listed = "json_array_elements_text(?::json) AS listed(value)"
    # Without OFFSET, the query planner might turn the lookups into a join.
    return f"SELECT found.* FROM {listed} CROSS JOIN LATERAL ({single} OFFSET 0) AS found"  # nosec B608


@cache
def in_sqlite(statement: str) -> str:
    """Replace the placeholders of a list by SQLite's SQL; the list is the first parameter.

    A cross join keeps the order of the tables; otherwise SQLite might scan all units of a test.
    """
    first = statement.replace("LISTED ", "json_each(?) AS listed CROSS JOIN ", 1)
    return first.replace("IS_LISTED", "= listed.value")


def execute(connection: Connection, statement: str, values: Sequence[Any]) -> None:
    """Execute a statement that changes data, with one row of values or a list of rows."""
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(statement.replace("?", "%s"), values)
        return
    driver: Any = connection.connection.dbapi_connection
    if isinstance(values, list):
        driver.executemany(statement, values)
    else:
        driver.execute(statement, values)


def insert(
    connection: Connection, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Insert rows into some columns of a table."""
    head, single, several = _inserting(table, tuple(columns))
    if connection.dialect.name != "sqlite":
        if len(rows) >= COPIED_FROM:
            copy_in(connection, f"COPY {head} FROM STDIN", rows)
            return
        execute(connection, single, list(rows))
        return
    together = len(rows) - len(rows) % INSERTED_TOGETHER
    if together:
        values, width = [*chain.from_iterable(rows[:together])], INSERTED_TOGETHER * len(columns)
        parts = [values[first : first + width] for first in range(0, len(values), width)]
        execute(connection, several, parts)
    if together < len(rows):
        execute(connection, single, list(rows[together:]))


@cache
def _inserting(table: str, columns: tuple[str, ...]) -> tuple[str, str, str]:
    """Return a table with its columns as SQL, and the statements that insert one row and many."""
    quoted, marks = ", ".join(f'"{column}"' for column in columns), ", ".join("?" for _ in columns)
    head = f"{table} ({quoted})"
    single = f"INSERT INTO {head} VALUES ({marks})"  # nosec B608
    # An error ends the whole transaction anyway. OR FAIL tells SQLite that it need not be able to
    # undo this statement alone; otherwise it copies every page that the rows change.
    several = single.replace("INSERT", "INSERT OR FAIL", 1) + f", ({marks})" * (
        INSERTED_TOGETHER - 1
    )
    return head, single, several


def database_time(connection: Connection) -> float | None:
    """Return the time of the database's clock; None on SQLite, which uses the machine's clock."""
    if connection.dialect.name == "sqlite":
        return None
    return float(fetch(connection, _DATABASE_TIME)[0][0])


def shared_time(connection: Connection, machine: float) -> float:
    """Return the time that all programs of a store share: the database's, or else the machine's."""
    database_now = database_time(connection)
    return machine if database_now is None else database_now
