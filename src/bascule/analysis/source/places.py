"""Sources of a log and their open connections, and how Ibis expressions run where the data is.

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

from bascule.core.inputs.extras import require

Record = dict[str, Any]
"""A line of an answer, by the names of its columns."""

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
"""The most characters of a whole number that is certain to be read exactly as it is written."""

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
    grouped, pointed, wholes = (
        int(row.get(f"{form}{name}") or 0) for form in ("grouped", "pointed", "whole")
    )
    return grouped if grouped == pointed and grouped >= FEWEST_GROUPED and wholes else 0


DATABASES = (".duckdb", ".ddb", ".db")
"""Endings of files of DuckDB."""

ELSEWHERE = ("http", "https", "s3", "gs", "gcs", "abfs", "abfss", "hdfs", "file")
"""Addresses of files that are not fetched."""

RAGGED_LINE = "line with too few or too many columns"
REPEATED_HEADER = "line that repeats the names of the columns"

CLOSED = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
"""DuckDB fetches and loads no extension, and sees no variable of this program by its name."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Lines of CSV files that were left out.

    `ragged` counts those with too few or too many columns, of which there are `examples`,
    `headers` those that repeat the names of the columns, and `above` those above the first of them.
    `encoding` is there where files are not in UTF-8 and none was stated.
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
        """How many lines do not count, by reason."""
        counts = {RAGGED_LINE: self.ragged, REPEATED_HEADER: self.headers}
        return {reason: count for reason, count in counts.items() if count}


@dataclass(frozen=True, slots=True)
class Connections:
    """A DuckDB for files and frames, and the databases that were opened so far, by their URLs.

    `unreadable` says which lines of a source were left out, by its field.
    """

    local: Any
    folder: Path
    remote: dict[str, Any] = field(default_factory=dict)
    unreadable: dict[str, Unreadable] = field(default_factory=dict)

    def place(self, source: Source) -> str:
        """Where a log is, in words, how many lines stand above its table, and its encoding."""
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
    """Where a log is: a file, a data frame, an Ibis table, or a database and a query."""

    place: object
    query: str | None
    field: str
    encoding: str | None = None
    file_column: str | None = None
    """Name of a column with the name of each row's file, where one is asked for."""

    @property
    def shown(self) -> str:
        """Where the log is, in words; the address of a database may hold a password."""
        if isinstance(self.place, (str, Path)):
            text = str(self.place)
            address = re.sub(r"//[^/@]*@", "//", text).split("?")[0]
            return address if self.query is None else f"{address}, {' '.join(self.query.split())}"
        return "a table of Ibis" if self.is_ibis else f"a {type(self.place).__name__}"

    @property
    def is_database(self) -> bool:
        """Whether it is the address of a database."""
        return isinstance(self.place, (str, Path)) and (
            self.scheme is not None or Path(self.place).suffix.lower() in DATABASES
        )

    @property
    def scheme(self) -> str | None:
        """What stands before the slashes of an address; None for a path."""
        if not isinstance(self.place, (str, Path)):
            return None
        match = re.match(r"([a-z][a-z0-9+]*)://", str(self.place))
        return match.group(1) if match else None

    @property
    def is_ibis(self) -> bool:
        """Whether it is a table of Ibis already."""
        return type(self.place).__module__.startswith("ibis.")


def close_to_others(connection: Any, files: Sequence[str]) -> None:
    """Let a DuckDB read these files and nothing else, for good."""
    # DuckDB asks for a name as its reader has it, escaped, and as the file system has it.
    allowed = sorted({*files, *map(glob.escape, files)})
    places = ", ".join(["?"] * len(allowed))
    connection.execute(f"SET allowed_paths = [{places}]", allowed).fetchall()
    connection.execute("SET enable_external_access = false").fetchall()
    connection.execute("SET lock_configuration = true").fetchall()


def viewed(local: Any, relation: Any, field: str) -> Any:
    """A relation of the local DuckDB as a table; zoned times are in microseconds.

    Ibis does not know the finer ones that DuckDB reads from Parquet files and data frames.
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
    """Look for no garbage meanwhile.

    Loading Ibis makes very many objects, and none of them is garbage: to look for it takes a tenth
    of the time of a small analysis.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def load_ibis() -> Any:
    """Import Ibis and its DuckDB, or say how they are installed."""
    if "ibis.backends.duckdb" in sys.modules:
        return sys.modules["ibis"]
    require("analyze", "reading logs", "ibis", "duckdb", "pyarrow", "pandas")
    with uncollected():
        import ibis

        ibis.duckdb  # noqa: B018
    return ibis


def first_line(problem: BaseException) -> str:
    r"""What a library says is wrong, in one line of moderate length.

    >>> first_line(ValueError("no such file\nat all"))
    'no such file'
    """
    lines = str(problem).strip().splitlines() or [type(problem).__name__]
    text = lines[0]
    if "CSV Error" in text:
        # What is wrong stands below the line of the file that has it.
        text = "; ".join(line for line in lines[:4] if line and "Original Line" not in line)
    if "utf-8" in text.lower():
        text = f"it is not in UTF-8: give encoding (--encoding), such as latin-1 or cp1252 ({text})"
    return text[:300]
