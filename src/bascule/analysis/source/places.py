"""Where a log is, in the words of its user, and what is open for reading it."""

from __future__ import annotations

import gc
import glob
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bascule.core.errors import InputError

DATABASES = (".duckdb", ".ddb", ".db")
"""Endings of files of DuckDB."""

ELSEWHERE = ("http", "https", "s3", "gs", "gcs", "abfs", "abfss", "hdfs", "file")
"""Addresses of files that are not fetched."""

RAGGED_LINE = "line with too few or too many columns"
REPEATED_HEADER = "line that repeats the names of the columns"

INSTALL = "pip install --upgrade bascule"

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
        its = self.unreadable.get(source.field, Unreadable())
        lines = "1 line" if its.above == 1 else f"{its.above} lines"
        parts = [f"without {lines} above the table"] if its.above else []
        if its.encoding is not None:
            parts.append(f"not in UTF-8, read as {its.encoding}: state encoding if that is wrong")
        return source.shown + (f" ({'; '.join(parts)})" if parts else "")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a log is: a file, a data frame, an Ibis table, or a database and a query."""

    place: object
    query: str | None
    field: str
    encoding: str | None = None

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
            self.query is not None
            or self.scheme is not None
            or Path(self.place).suffix.lower() in DATABASES
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


def registered(local: Any, data: Any, field: str) -> Any:
    """Arrow data as a table of the local DuckDB."""
    name = f"bascule_{field}"
    local.con.register(name, data)
    return local.table(name)


def load_ibis() -> Any:
    """Import Ibis and its DuckDB, or say how they are installed."""
    if "ibis.backends.duckdb" in sys.modules:
        return sys.modules["ibis"]
    collects = gc.isenabled()
    # Loading makes very many objects, and none of them is garbage: to look for it takes a tenth of
    # the time of a small analysis.
    gc.disable()
    try:
        import ibis

        ibis.duckdb  # noqa: B018
    except ModuleNotFoundError:
        raise InputError("events", f"reading logs needs Ibis and DuckDB: {INSTALL}") from None
    finally:
        if collects:
            gc.enable()
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
