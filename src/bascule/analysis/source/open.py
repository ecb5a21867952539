"""Where a log comes from: a file, a data frame, an Ibis table, or a database and a query.

Whatever it is, it becomes an Ibis table, and the work is done where the data is.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from bascule.core.errors import InputError

FORMS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
"""Endings of files that can be read, and how."""

MEMORY, MEMORY_BY_DAY = "350MB", "280MB"
"""What DuckDB may take; beyond it, it works on disk. With the days it takes more than it says."""

SNIFFED = 200_000
"""Lines of a CSV file from which its types are told."""

INSTALL = "pip install 'bascule[warehouse]'"


@dataclass(frozen=True, slots=True)
class Workshop:
    """A DuckDB for files and frames, and the databases that were asked so far, by their URLs."""

    local: Any
    remote: dict[str, Any] = field(default_factory=dict)


@contextmanager
def workshop(memory: str) -> Iterator[Workshop]:
    """An empty DuckDB, with a folder for what does not fit into memory, as long as it is used."""
    ibis = _ibis()
    with tempfile.TemporaryDirectory(prefix="bascule-") as folder, warnings.catch_warnings():
        # What Ibis uses of DuckDB is not the user's concern.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            local = ibis.duckdb.connect(temp_directory=folder, memory_limit=memory)
        except Exception:
            raise InputError(
                "memory", f'memory must be an amount such as "300MB" or "2GB" (got {memory!r})'
            ) from None
        local.raw_sql("SET preserve_insertion_order = false; SET TimeZone = 'UTC'")
        shop = Workshop(local)
        try:
            yield shop
        finally:
            for backend in (local, *shop.remote.values()):
                backend.disconnect()


def open_table(shop: Workshop, given: object, query: str | None, field: str) -> Any:
    """The table that was given, for Ibis; files and frames are read by DuckDB."""
    if isinstance(given, (str, Path)):
        text = str(given)
        if query is not None or "://" in text:
            return _asked(shop, text, query, field)
        return _read_file(shop.local, Path(text), field)
    if query is not None:
        raise InputError("query", "query goes with a database: give its URL as the first argument")
    if type(given).__module__.startswith("ibis."):
        return given
    return _framed(given, field)


def _read_file(con: Any, path: Path, field: str) -> Any:
    text = str(path)
    pattern = any(sign in text for sign in "*?[")
    endings = [ending for ending in path.suffixes if ending != ".gz"]
    form = FORMS.get(endings[-1].lower()) if endings else None
    if path.is_dir():
        text, form, pattern = str(path / "**" / "*.parquet"), "parquet", True
    if not pattern and not path.exists():
        raise InputError(field, f"{field}: there is no file {path}")
    if form is None:
        known = ", ".join(sorted(FORMS))
        raise InputError(field, f"{field}: {path} has no ending that says what it is ({known})")
    if not pattern and path.stat().st_size == 0:
        raise InputError(field, f"{field}: {path} is empty")
    try:
        if form == "parquet":
            return con.read_parquet(text)
        if form == "json":
            return con.read_json(text)
        return con.read_csv(text, sample_size=SNIFFED) if pattern else _read_csv(con, text)
    except Exception as problem:
        raise InputError(field, f"{field}: cannot read {path}: {first_line(problem)}") from None


def _read_csv(con: Any, text: str) -> Any:
    """One CSV file, whose form is told once; DuckDB would tell it anew for every question."""
    try:
        found = con.con.execute("FROM sniff_csv(?, sample_size = ?)", [text, SNIFFED])
        names = [column[0] for column in found.description]
        reader = dict(zip(names, found.fetchone(), strict=True))["Prompt"].rstrip(";")
        name = f"bascule_csv_{sha256(text.encode()).hexdigest()[:16]}"
        con.raw_sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {reader}")
        return con.table(name)
    except Exception:
        # What cannot be told so: DuckDB reads it in its own way, or has the words for it.
        return con.read_csv(text, sample_size=SNIFFED)


def _asked(shop: Workshop, url: str, query: str | None, field: str) -> Any:
    """What a database answers; a query may also be the name of a table."""
    if query is None:
        raise InputError("query", "query is missing: say which rows, as in SELECT * FROM events")
    if "://" not in url:
        if Path(url).suffix not in (".duckdb", ".ddb", ".db") or not Path(url).exists():
            raise InputError(
                "query", f"query goes with a database, and {url} is none: leave it out"
            )
        url = f"duckdb://{url}?read_only=1"
    remote = _connected(shop, url, field)
    query = query.strip().rstrip(";")
    try:
        if query.isidentifier():
            return remote.table(query)
        if remote.name != "postgres":
            return remote.sql(query)
        # A view of this session alone: some versions of Ibis cannot describe a query otherwise.
        remote.raw_sql(f"CREATE TEMPORARY VIEW bascule_{field} AS {query}").close()
        return remote.table(f"bascule_{field}")
    except Exception as problem:
        raise InputError("query", f"query: {first_line(problem)}") from None


def _connected(shop: Workshop, url: str, field: str) -> Any:
    """The database at a URL; two tables in the same one share the connection."""
    if url not in shop.remote:
        kind = url.split("://", 1)[0]
        try:
            remote = _ibis().connect(url)
        except ModuleNotFoundError as problem:
            raise InputError(
                field, f"{kind} needs {problem.name}: pip install 'ibis-framework[{kind}]'"
            ) from None
        except Exception as problem:
            # The address may hold a password, so it is not repeated.
            raise InputError(
                field, f"{field}: cannot connect to the {kind} database: {first_line(problem)}"
            ) from None
        if remote.name == "postgres":
            # Of tables that a query makes, PostgreSQL knows no sizes, and would loop over them.
            remote.raw_sql("SET TIME ZONE 'UTC'; SET enable_nestloop = off").close()
        shop.remote[url] = remote
    return shop.remote[url]


def _framed(given: object, field: str) -> Any:
    """A data frame of any library that Narwhals knows, as an Arrow table."""
    ibis = _ibis()
    try:
        import narwhals as nw
        import pyarrow as pa
    except ModuleNotFoundError as problem:
        raise InputError(field, f"{field}: data frames need {problem.name}: {INSTALL}") from None
    if isinstance(given, dict):
        given = pa.table(given)
    try:
        frame: Any = nw.from_native(given)
    except TypeError:
        raise InputError(
            field,
            f"{field} must be a file, a data frame, an Ibis table or a database URL "
            f"(got {type(given).__name__})",
        ) from None
    if hasattr(frame, "collect"):
        frame = frame.collect()
    try:
        return ibis.memtable(frame.to_arrow())
    except (pa.ArrowInvalid, pa.ArrowTypeError) as problem:
        raise InputError(
            field, f"{field}: a column has values of several types: {first_line(problem)}"
        ) from None


def _ibis() -> Any:
    try:
        import ibis
    except ModuleNotFoundError:
        raise InputError("events", f"reading logs needs Ibis and DuckDB: {INSTALL}") from None
    return ibis


def first_line(problem: BaseException) -> str:
    r"""What a library says is wrong, in one line of moderate length.

    >>> first_line(ValueError("no such file\nat all"))
    'no such file'
    """
    lines = str(problem).strip().splitlines() or [type(problem).__name__]
    return lines[0][:300]
