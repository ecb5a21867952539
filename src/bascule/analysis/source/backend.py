"""Where a table of Ibis lives, and how an expression is computed there."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

Record = dict[str, Any]
"""A line of an answer, by the names of its columns."""

BATCH = 100_000

OPENED_HERE: WeakSet[Any] = WeakSet()
"""The backends of Ibis that were opened here, for files and frames."""


def run(expression: Any) -> list[Record]:
    """Have an expression computed where its data is."""
    backend = expression.get_backend()
    if is_opened_here(backend):
        # Without the data frames that Ibis loads for an answer.
        answer = backend.con.execute(backend.compile(expression))
        names = [column[0] for column in answer.description]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
    rows: list[Record] = expression.to_pyarrow().to_pylist()
    return rows


def batches(expression: Any) -> Any:
    """The rows of an expression in the DuckDB that was opened here, as batches of Arrow."""
    backend = expression.get_backend()
    return backend.con.sql(backend.compile(expression)).to_arrow_reader(BATCH)


def stored(expression: Any, name: str) -> Any:
    """An expression as a table of the DuckDB that was opened here; elsewhere as it is."""
    backend = expression.get_backend()
    if not is_opened_here(backend):
        return expression
    backend.con.execute(
        f"CREATE OR REPLACE TEMPORARY TABLE {name} AS {backend.compile(expression)}"
    )
    return backend.table(name)


def is_opened_here(backend: Any) -> bool:
    """Whether a backend of Ibis is a DuckDB that was opened here, with nothing else in it."""
    return backend in OPENED_HERE


def is_duckdb(table: Any) -> bool:
    """Whether a table is one of DuckDB."""
    return bool(table.get_backend().name == "duckdb")
