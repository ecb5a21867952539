"""Sources of a log, their connections, and running Ibis expressions where the data is.

`surely` and `points` are quick checks of text columns: most entries pass them, so that few need
slow ones.
"""

from __future__ import annotations

import gc
import glob
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakSet

from bascule.core.errors import require

Record = dict[str, Any]
"""A row of a result, by column name."""

OPENED_HERE: WeakSet[Any] = WeakSet()
"""Ibis backends that were opened here, for files and frames."""


def run(expression: Any) -> list[Record]:
    """Return the rows of an expression, computed where its data is."""
    backend = expression.get_backend()
    if is_opened_here(backend):
        # Avoids the data frames that Ibis would load for the result.
        answer = backend.con.execute(backend.compile(expression))
        names = [column[0] for column in answer.description]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
    rows: list[Record] = expression.to_pyarrow().to_pylist()
    return rows


def stored(expression: Any, name: str) -> Any:
    """Store an expression as a temporary table of the local DuckDB; return others unchanged."""
    backend = expression.get_backend()
    if not is_opened_here(backend):
        return expression
    backend.con.execute(
        f"CREATE OR REPLACE TEMPORARY TABLE {name} AS {backend.compile(expression)}"
    )
    return backend.table(name)


def queried(table: Any, query: str, name: str) -> Any:
    """Return a view of a query over a table of the local DuckDB, which the query calls `log`."""
    local = table.get_backend()
    # The query is on lines of its own, since it may end in a comment.
    view = f"WITH log AS ({local.compile(table)}) SELECT * FROM (\n{query}\n)"  # nosec B608
    local.con.sql(view).create_view(name, replace=True)
    return local.table(name)


def is_opened_here(backend: Any) -> bool:
    """Whether an Ibis backend is the local DuckDB, which holds nothing but the log."""
    return backend in OPENED_HERE


def is_duckdb(table: Any) -> bool:
    """Whether a table is in DuckDB."""
    return bool(table.get_backend().name == "duckdb")


BLANK_TEXTS = ("", "nan", "null", "na", "n/a", "n.a.", "#n/a", "<na>", "none", "-", "\\n")
"""Text that stands for no value, in any case and with spaces around it."""

LONGEST = 17
"""Maximum length of a whole number that is certainly parsed without loss."""

FEWEST_GROUPED = 3
"""Minimum number of points that may separate thousands to make a column ambiguous."""

KINDS = ("int64", "float64", "timestamp")
"""Types that are tried for a text column, the narrowest first."""


def surely(text: Any, kind: str) -> Any:
    """Return whether a text certainly has the type `kind` and is parsed without loss.

    False for some other valid texts, such as numbers with spaces and times without seconds.
    """
    import ibis

    if kind == "timestamp":
        is_time = text.try_cast("timestamp").cast("string") == text
        return (is_time | (text.try_cast("date").cast("string") == text)).fill_null(False)
    if kind == "int64":
        return (text.try_cast("int64").cast("string") == text).fill_null(False)
    # No leading zero, no word such as inf; DuckDB also reads 1_000 as a number.
    digits = ibis.ifelse(text.startswith("-"), text.substr(1), text)
    begins = ((digits >= "1") & (digits < ":")) | (digits == "0") | digits.startswith("0.")
    exact = (text.length() <= LONGEST) | text.contains(".")
    plain = begins & ~text.contains("_") & exact
    return (plain & text.try_cast("float64").notnull()).fill_null(False)


def points(text: Any, name: str = "") -> dict[str, Any]:
    """Return expressions that count the numbers in a column of text, by their form.

    The forms are "grouped" for numbers such as 1.234, "pointed" for all numbers with a point, and
    "whole" for whole numbers below a thousand. `name` is appended to the keys.
    """
    at, length = text.find("."), text.length()
    begins, negative = (text >= "1") & (text < ":"), text.startswith("-")
    grouped = (begins & (at <= 3)) | (negative & (at > 1) & (at <= 4))
    return {
        f"grouped{name}": (grouped & (at > 0) & ((length - at) % 4 == 0)).sum(),
        f"pointed{name}": (at >= 0).sum(),
        f"whole{name}": (begins & (at < 0) & (length <= 3)).sum(),
    }


def unclear_points(row: Record, name: str = "") -> int:
    """Return how many numbers of a column may have points as thousands separators.

    >>> unclear_points({"grouped0": 9, "pointed0": 9, "whole0": 4}, "0")
    9
    """
    grouped, pointed, wholes = (
        int(row.get(f"{form}{name}") or 0) for form in ("grouped", "pointed", "whole")
    )
    return grouped if grouped == pointed and grouped >= FEWEST_GROUPED and wholes else 0


DATABASES = (".duckdb", ".ddb", ".db")
"""Endings of DuckDB files."""

ELSEWHERE = ("http", "https", "s3", "gs", "gcs", "abfs", "abfss", "hdfs", "file")
"""URL schemes of files, which are not opened: files are given by their path."""

RAGGED_LINE = "line with too few or too many columns"
REPEATED_HEADER = "line that repeats the names of the columns"

CLOSED = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
"""Settings with which DuckDB loads no extension, and sees no Python variables."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Lines of CSV files that were left out.

    `ragged` is the number of lines with too few or too many columns, with some `examples`;
    `headers` that of lines that repeat the names of the columns, and `above` that of lines above
    the table. `encoding` is the assumed encoding of files that are not in UTF-8 if none was stated.
    """

    ragged: int = 0
    examples: tuple[str, ...] = ()
    headers: int = 0
    above: int = 0
    encoding: str | None = None

    def __add__(self, other: Unreadable) -> Unreadable:
        return Unreadable(
            self.ragged + other.ragged,
            self.examples + other.examples,
            self.headers + other.headers,
            self.above + other.above,
            self.encoding or other.encoding,
        )

    @property
    def excluded(self) -> dict[str, int]:
        """Number of excluded lines, by reason."""
        counts = {RAGGED_LINE: self.ragged, REPEATED_HEADER: self.headers}
        return {reason: count for reason, count in counts.items() if count}


@dataclass(frozen=True, slots=True)
class Connections:
    """The local DuckDB for files and frames, and the open databases by URL.

    `unreadable` has the lines that were left out, by the field of the source.
    """

    local: Any
    folder: Path
    remote: dict[str, Any] = field(default_factory=dict)
    unreadable: dict[str, Unreadable] = field(default_factory=dict)

    def place(self, source: Source) -> str:
        """Describe the location of a log, the lines above its table, and its encoding."""
        unreadable = self.unreadable.get(source.field, Unreadable())
        lines = "1 line" if unreadable.above == 1 else f"{unreadable.above} lines"
        parts = [f"without {lines} above the table"] if unreadable.above else []
        if unreadable.encoding is not None:
            parts.append(
                f"not in UTF-8, read as {unreadable.encoding}: state encoding if that is wrong"
            )
        return source.shown + (f" ({'; '.join(parts)})" if parts else "")


@dataclass(frozen=True, slots=True)
class Source:
    """Location of a log: a file, a data frame, an Ibis table, or a database and a query."""

    place: object
    query: str | None
    field: str
    encoding: str | None = None
    file_column: str | None = None
    """Name of a column to add with the name of each row's file; None to add none."""

    @property
    def shown(self) -> str:
        """Location of the log in words, with its query."""
        is_path = isinstance(self.place, (str, Path)) and self.query is not None
        return f"{self.name}, {' '.join(str(self.query).split())}" if is_path else self.name

    @property
    def name(self) -> str:
        """Location of the log in words, without the password that an address may contain."""
        if isinstance(self.place, (str, Path)):
            return re.sub(r"//[^/@]*@", "//", str(self.place)).split("?")[0]
        return "a table of Ibis" if self.is_ibis else f"a {type(self.place).__name__}"

    @property
    def is_database(self) -> bool:
        """Whether the source is the address of a database."""
        return isinstance(self.place, (str, Path)) and (
            self.scheme is not None or Path(self.place).suffix.lower() in DATABASES
        )

    @property
    def scheme(self) -> str | None:
        """Scheme of an address, as in `scheme://`; None for a path."""
        if not isinstance(self.place, (str, Path)):
            return None
        match = re.match(r"([a-z][a-z0-9+]*)://", str(self.place))
        return match.group(1) if match else None

    @property
    def is_ibis(self) -> bool:
        """Whether the source is an Ibis table."""
        return type(self.place).__module__.startswith("ibis.")


def close_to_others(connection: Any, files: Sequence[str]) -> None:
    """Restrict a DuckDB to reading these files, irrevocably."""
    # DuckDB checks names both escaped, as given to its reader, and as in the file system.
    allowed = sorted({*files, *map(glob.escape, files)})
    places = ", ".join(["?"] * len(allowed))
    connection.execute(f"SET allowed_paths = [{places}]", allowed).fetchall()
    connection.execute("SET enable_external_access = false").fetchall()
    connection.execute("SET lock_configuration = true").fetchall()


def viewed(local: Any, relation: Any, field: str) -> Any:
    """Return a relation of the local DuckDB as a table, with zoned times in microseconds.

    Ibis does not support the finer times that DuckDB reads from Parquet files and data frames.
    """
    import duckdb

    kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
    if "TIMESTAMPTZ_NS" in kinds.values():
        columns = {name: duckdb.ColumnExpression(name) for name in kinds}
        finer = [name for name, kind in kinds.items() if kind == "TIMESTAMPTZ_NS"]
        columns |= {name: columns[name].cast("TIMESTAMPTZ").alias(name) for name in finer}
        relation = relation.select(*columns.values())
    relation.create_view(f"bascule_{field}", replace=True)
    return local.table(f"bascule_{field}")


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable garbage collection in this context.

    Loading Ibis creates very many objects, none of them garbage: collecting takes a tenth of the
    time of a small analysis.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def load_ibis() -> Any:
    """Import Ibis with its DuckDB backend; raise an error with instructions if not installed."""
    if "ibis.backends.duckdb" in sys.modules:
        return sys.modules["ibis"]
    require("analyze", "reading logs", "ibis", "duckdb", "pyarrow", "pandas")
    with uncollected():
        import ibis

        ibis.duckdb  # noqa: B018
    return ibis


def first_line(problem: BaseException) -> str:
    r"""Return the message of an exception in one line of moderate length.

    >>> first_line(ValueError("no such file\nat all"))
    'no such file'
    """
    lines = str(problem).strip().splitlines() or [type(problem).__name__]
    text = lines[0]
    if "CSV Error" in text:
        # DuckDB's message has the cause in its first lines, after a quoted line of the file.
        text = "; ".join(line for line in lines[:4] if line and "Original Line" not in line)
    if "utf-8" in text.lower():
        text = f"it is not in UTF-8: give encoding (--encoding), such as latin-1 or cp1252 ({text})"
    return text[:300]
