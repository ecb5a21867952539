"""Ibis backends: running expressions where the data is, and quick checks of text columns.

Most entries of text pass the quick checks, so few need the slow ones.
"""

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


BLANK_TEXTS = ("", "nan", "null", "na", "n/a", "n.a.", "#n/a", "<na>", "none", "-", "\\n")
"""Text that stands for no value, in any case and with spaces around it."""

LONGEST = 17
"""The most characters of a number that is certain to be read exactly as it is written."""

FEWEST_GROUPED = 3
"""A column is ambiguous if at least this many numbers may have points as thousands separators."""

KINDS = ("int64", "float64", "timestamp")
"""Types that a column of text may surely have, the narrowest first."""


def surely(text: Any, kind: str) -> Any:
    """Whether a text is surely of one of the `KINDS`, and read as it is written.

    It is false for some, such as numbers with spaces and times without seconds.
    """
    import ibis

    if kind == "timestamp":
        same = text.try_cast("timestamp").cast("string") == text
        return (same | (text.try_cast("date").cast("string") == text)).fill_null(False)
    if kind == "int64":
        return (text.try_cast("int64").cast("string") == text).fill_null(False)
    # No leading zero, no word such as inf; DuckDB also reads 1_000 as a number.
    digits = ibis.ifelse(text.startswith("-"), text.substr(1), text)
    begins = ((digits >= "1") & (digits < ":")) | (digits == "0") | digits.startswith("0.")
    plain = begins & ~text.contains("_") & (text.length() <= LONGEST)
    return (plain & text.try_cast("float64").notnull()).fill_null(False)


def points(text: Any, name: str = "") -> dict[str, Any]:
    """Count numbers such as 1.234, numbers with a point, and whole numbers below a thousand."""
    at, length = text.find("."), text.length()
    begins, negative = (text >= "1") & (text < ":"), text.startswith("-")
    grouped = (begins & (at <= 3)) | (negative & (at > 1) & (at <= 4))
    return {
        f"grouped{name}": (grouped & (at > 0) & ((length - at) % 4 == 0)).sum(),
        f"pointed{name}": (at >= 0).sum(),
        f"whole{name}": (begins & (at < 0) & (length <= 3)).sum(),
    }


def unclear_points(row: Record, name: str = "") -> int:
    """How many numbers of a column may have points that separate thousands; 0 if none may.

    >>> unclear_points({"grouped0": 9, "pointed0": 9, "whole0": 4}, "0")
    9
    """
    grouped, pointed, whole = (
        int(row.get(f"{form}{name}") or 0) for form in ("grouped", "pointed", "whole")
    )
    return grouped if grouped == pointed and grouped >= FEWEST_GROUPED and whole else 0
