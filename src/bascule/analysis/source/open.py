"""Open the tables of a log as Ibis tables: files, data frames, Ibis tables and databases."""

from __future__ import annotations

import glob
import os
import re
import tempfile
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bascule.analysis.source import csv_files
from bascule.analysis.source.places import (
    CLOSED,
    ELSEWHERE,
    OPENED_HERE,
    Connections,
    Source,
    Unreadable,
    close_to_others,
    first_line,
    is_opened_here,
    load_ibis,
    queried,
    viewed,
)
from bascule.core.errors import InputError, invalid, require

ROW_NUMBERS = r"__index_level_\d+__"
"""Pattern of the column in which Arrow stores a pandas index without a name."""

MEMORY, MEMORY_BY_DAY = "350MB", "280MB"
"""Memory limits of DuckDB, beyond which it uses the disk. The second one is for logs by day, for
which DuckDB exceeds its limit."""

MEMORY_OF_A_CORE = 300e6
"""Minimum memory per core; with less, two cores spill so often that they are slower than one."""


@contextmanager
def connections(memory: str) -> Iterator[Connections]:
    """Open an empty DuckDB with a temporary folder to spill to; close it at the end."""
    ibis = load_ibis()
    with tempfile.TemporaryDirectory(prefix="bascule-") as folder, warnings.catch_warnings():
        # Hide warnings about deprecated functions of DuckDB that Ibis calls.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            local = ibis.duckdb.connect(
                temp_directory=folder, memory_limit=memory, threads=_cores(memory), **CLOSED
            )
        except Exception:
            raise invalid(
                f'memory must be an amount such as "300MB" or "2GB" (got {memory!r})'
            ) from None
        local.raw_sql(
            "SET preserve_insertion_order = false; SET TimeZone = 'UTC'; "
            "SET enable_progress_bar = false; SET perfect_ht_threshold = 16"
        )
        OPENED_HERE.add(local)
        opened = Connections(local, Path(folder))
        try:
            yield opened
        finally:
            for backend in (local, *opened.remote.values()):
                backend.disconnect()


def _cores(memory: str) -> int:
    """Return the number of cores that can work within an amount of memory.

    >>> _cores("350MB")
    1
    """
    amount = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?)I?B?\s*", memory.upper())
    if amount is None:
        return 1
    size = float(amount[1]) * 1000.0 ** " KMGT".index(amount[2] or " ")
    return max(1, min(os.cpu_count() or 1, int(size / MEMORY_OF_A_CORE)))


def open_tables(opened: Connections, sources: Sequence[Source]) -> list[Any]:
    """Open every source as an Ibis table, then restrict the local DuckDB to these sources.

    Files and frames are read by DuckDB. From then on it may read only the files that were named,
    and write to its own temporary folder: no other file, no network, no extension.
    """
    elsewhere = any(source.is_database or source.is_ibis for source in sources)
    files: list[str] = []
    tables = []
    for source in sources:
        if source.is_database:
            tables.append(_of_database(opened, source))
        elif source.is_ibis:
            if source.query is not None:
                raise invalid(
                    "query goes with a file, a frame or a database: select rows of an Ibis table "
                    "with Ibis"
                )
            table: Any = source.place
            refuse_others(table.get_backend().name, source.field)
            tables.append(table)
        else:
            if isinstance(source.place, (str, Path)):
                names, form = files_of(Path(source.place), source.field)
                table, used = read_files(opened, names, form, source)
            else:
                # If another table is in a remote database, Ibis sends the frame there.
                table, used = _of_frame(opened, source, elsewhere=elsewhere)
            files += used
            tables.append(table)
    close_to_others(opened.local.con, files)
    return [_queried(opened, *pair) for pair in zip(sources, tables, strict=True)]


def _queried(opened: Connections, source: Source, table: Any) -> Any:
    """Return the result of a query over a file or a frame, which the query calls `log`."""
    if source.query is None or source.is_database:
        return table
    if not is_opened_here(table.get_backend()):
        raise invalid(
            "query cannot be used on a data frame if the other table is in a database: select its "
            "rows in Python"
        )
    try:
        query = _select(opened.local.con, source.query)
        return queried(table, query, f"bascule_{source.field}_rows")
    except InputError:
        raise
    except Exception as problem:
        columns = ", ".join(table.columns)
        raise invalid(
            f"query: {first_line(problem)} (the table is called log and has {columns})"
        ) from None


def _select(connection: Any, query: str) -> str:
    """Return a query without a trailing semicolon; raise an error unless it is one statement."""
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        raise invalid("query must be one statement, as SELECT * FROM log")
    return str(statements[0].query).strip().rstrip(";")


def _of_frame(opened: Connections, source: Source, *, elsewhere: bool) -> tuple[Any, list[str]]:
    """Return a table of any data frame that Narwhals supports, and the files written for it.

    The frame becomes a table of the local DuckDB or, with `elsewhere`, an Ibis table that can be
    sent to another database. A lazy frame is written to a file in batches, since it may be larger
    than memory.
    """
    data, field = source.place, source.field
    require("analyze", "reading data frames", "narwhals", "pyarrow")
    import narwhals as nw
    import pyarrow as pa
    import pyarrow.dataset as ds

    if isinstance(data, ds.Dataset):
        if not elsewhere:
            return viewed(opened.local, opened.local.con.from_arrow(data), field), []
        data = data.to_table()
    try:
        if isinstance(data, (dict, pa.RecordBatchReader)):
            data = pa.table(data)
        frame: Any = nw.from_native(data)
    except nw.exceptions.DuplicateError as problem:
        raise InputError(
            field, f"{field}: {' '.join(str(problem).split())}: rename one of them"
        ) from None
    except TypeError:
        raise InputError(
            field,
            f"{field} must be a file, a data frame, an Ibis table or a database URL "
            f"(got {type(data).__name__})",
        ) from None
    if isinstance(frame, nw.LazyFrame):
        if not elsewhere:
            path = opened.folder / f"{field}.parquet"
            frame.sink_parquet(path)
            return read_files(opened, [str(path)], "parquet", source)
        frame = frame.collect()
    try:
        arrow = frame.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError) as problem:
        raise InputError(
            field, f"{field}: a column has values of several types: {first_line(problem)}"
        ) from None
    # The row numbers of a pandas index are not a column of the log.
    arrow = arrow.drop_columns([c for c in arrow.column_names if re.fullmatch(ROW_NUMBERS, c)])
    if elsewhere:
        return load_ibis().memtable(arrow), []
    return viewed(opened.local, opened.local.con.from_arrow(arrow), field), []


def _of_database(opened: Connections, source: Source) -> Any:
    """Return the result of a query to a database; the query may also be the name of a table."""
    url, query, field = str(source.place), source.query, source.field
    refuse_others(source.scheme or "", field)
    is_file = source.scheme is None
    if is_file and not Path(url).exists():
        raise InputError(field, f"{field}: there is no file {url}: check the path")
    if source.scheme in ELSEWHERE:
        raise InputError(
            field,
            f"{field}: files are read by their path, not from a URL: give the path of a copy of "
            f"{source.shown}, or, in Python, pyarrow.dataset.dataset(...) or a table of Ibis",
        )
    if query is None and not is_file:
        raise invalid("query is missing: say which rows, as in SELECT * FROM events")
    remote = _connected(opened, source)
    query = _only_table(remote, url) if query is None else query.strip().rstrip(";")
    if re.fullmatch(r"\w+(\.\w+)+", query):
        query = f"SELECT * FROM {query}"  # nosec B608 - letters, digits and dots alone
    try:
        if remote.name == "sqlite":
            # SQLite lacks too many functions: its rows are read, and DuckDB does the rest.
            table = remote.table(query) if query.isidentifier() else remote.sql(query)
            return viewed(opened.local, opened.local.con.from_arrow(table.to_pyarrow()), field)
        if query.isidentifier():
            return remote.table(query)
        if remote.name == "duckdb":
            # Ibis would call functions that DuckDB 2 lacks. The view belongs to this session.
            view = f"CREATE OR REPLACE TEMPORARY VIEW bascule_{field} AS "
            remote.con.execute(view + _select(remote.con, query)).fetchall()
            return remote.table(f"bascule_{field}")
        if remote.name != "postgres":
            return remote.sql(query)
        return remote.sql(query, schema=_schema(remote, query))
    except InputError:
        raise
    except load_ibis().common.exceptions.TableNotFound:
        raise invalid(f"query: there is no table {query}") from None
    except Exception as problem:
        raise invalid(f"query: {first_line(problem)}") from None


def _schema(remote: Any, query: str) -> dict[str, Any]:
    """Return the columns of a query to PostgreSQL, without creating anything.

    Ibis would create a view for it, for which read-only roles lack the permission.
    """
    with remote.con.transaction(), remote.con.cursor() as cursor:
        # The query is on lines of its own, since it may end in a comment.
        cursor.execute(f"SELECT * FROM (\n{query}\n) AS bascule_rows LIMIT 0")  # nosec B608
        columns = [(column.name, column.type_code) for column in cursor.description]
        kinds = {}
        for code in {code for _, code in columns}:
            (kinds[code],) = cursor.execute("SELECT format_type(%s, NULL)", [code]).fetchone()
    read = remote.compiler.type_mapper.from_string
    repeated = [name for name, times in Counter(name for name, _ in columns).items() if times > 1]
    if repeated:
        raise invalid(f"query: two columns are called {repeated[0]}: rename one")
    return {name: read(kinds[code]) for name, code in columns}


UNTRIED = {
    **{"clickhouse": "ClickHouse", "mysql": "MySQL", "mariadb": "MariaDB"},
    **{"mssql": "SQL Server", "oracle": "Oracle"},
}
"""Names of databases whose SQL lacks required functions or gives other results, by URL scheme."""


def refuse_others(kind: str, field: str) -> None:
    """Raise an error if a kind of database is not supported."""
    if kind in UNTRIED:
        raise InputError(
            field,
            f"{field}: {UNTRIED[kind]} is not supported: export the rows to Parquet or CSV, and "
            "analyse the file",
        )


def _only_table(remote: Any, url: str) -> str:
    """Return the name of the only table of a database."""
    listed = "SELECT table_schema, table_name FROM information_schema.tables"
    names = [
        name if schema == "main" else f"{schema}.{name}"
        for schema, name in remote.con.execute(listed).fetchall()
    ]
    if len(names) != 1:
        known = ", ".join(sorted(names)) or "none"
        raise invalid(f"query is missing: name a table of {url} (it has {known})")
    return str(names[0])


def _connected(opened: Connections, source: Source) -> Any:
    """Return the connection to a database; sources in the same database share it.

    A DuckDB file is opened read-only: its views cannot read other files or load extensions.
    """
    url, kind = str(source.place), source.scheme or "duckdb"
    if url in opened.remote:
        return opened.remote[url]
    try:
        if source.scheme is None:
            remote = load_ibis().duckdb.connect(url, read_only=True, **CLOSED)
            close_to_others(remote.con, [])
        else:
            remote = load_ibis().connect(url)
    except ModuleNotFoundError as problem:
        raise InputError(
            source.field, f"{kind} needs {problem.name}: pip install 'ibis-framework[{kind}]'"
        ) from None
    except Exception as problem:
        # The address may contain a password, so it is not repeated.
        raise InputError(
            source.field,
            f"{source.field}: cannot connect to the {kind} database: {first_line(problem)}",
        ) from None
    if remote.name == "postgres":
        # PostgreSQL does not know the sizes of derived tables, and would choose nested loops.
        remote.raw_sql("SET TIME ZONE 'UTC'; SET enable_nestloop = off").close()
    opened.remote[url] = remote
    return remote


FORMS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
"""Formats of files by their endings."""

SHEET = "save the sheet as CSV, or read it with pandas and give the data frame"
HINTS = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), SHEET),
    **dict.fromkeys((".txt", ".dat", ".log"), "if it has columns, rename it to end in .csv"),
    **dict.fromkeys((".zip", ".bz2", ".xz", ".tar"), "unpack it first"),
    **dict.fromkeys((".feather", ".arrow", ".orc"), "give it as a dataset of pyarrow"),
    **dict.fromkeys(
        (".sqlite", ".sqlite3"),
        "give the URL sqlite:// followed by the path, and a query (--query), as SELECT * FROM log",
    ),
}
"""Advice for files with other endings."""


def files_of(path: Path, field: str) -> tuple[list[str], str]:
    """Return the absolute paths of the files that `path` matches, and their common format.

    A file of exactly that name is meant literally, even if its name looks like a pattern.
    """
    text, is_pattern = str(path), any(sign in str(path) for sign in "*?[")
    if path.is_dir():
        names = sorted(str(file) for file in path.rglob("*") if file.is_file() and form_of(file))
    elif path.exists() or not is_pattern:
        names = [text] if path.exists() else []
    else:
        names = sorted(glob.glob(text, recursive=True, include_hidden=True))
    if not names and not path.is_dir():
        reason = f"no file matches {path}" if is_pattern else f"there is no file {path}"
        raise InputError(field, f"{field}: {reason}: check the path")
    forms = Counter(form_of(Path(name)) for name in names)
    if None in forms:
        known = ", ".join(sorted(FORMS))
        advice = HINTS.get(path.suffix.lower(), "rename it")
        raise InputError(field, f"{field}: {path} has no known ending ({known}): {advice}")
    if len(forms) != 1:
        counts = ", ".join(f"{count} {form}" for form, count in forms.items()) or "none"
        raise InputError(
            field,
            f"{field}: {path} must have files of one form, Parquet, CSV or JSON (it "
            f"has {counts}): name one",
        )
    if len(names) == 1 and Path(names[0]).stat().st_size == 0:
        raise InputError(field, f"{field}: {path} is empty")
    return [str(Path(name).absolute()) for name in names], str(next(iter(forms)))


def form_of(path: Path) -> str | None:
    """Return the format of a file by its ending; None if unknown."""
    endings = [ending for ending in path.suffixes if ending != ".gz"]
    return FORMS.get(endings[-1].lower()) if endings else None


def read_files(
    opened: Connections, names: Sequence[str], form: str, source: Source
) -> tuple[Any, list[str]]:
    """Return files as a table, and the files actually read, which may be converted copies.

    DuckDB's own readers are used: no SQL is built from the contents of files.
    """
    import duckdb

    if form == "csv":
        read = partial(_read_csv, opened, names, source)
    elif source.encoding is not None:
        raise invalid(f"encoding goes with CSV files, and {source.shown} is not one: leave it out")
    else:
        read = partial(_read_typed, opened, names, form, source.field)
    try:
        return read()
    except (duckdb.Error, UnicodeError, OSError, EOFError, zlib.error) as problem:
        raise InputError(
            source.field, f"{source.field}: cannot read {source.place}: {first_line(problem)}"
        ) from None


def _read_csv(opened: Connections, names: Sequence[str], source: Source) -> tuple[Any, list[str]]:
    """Read CSV files, through a copy in which every line has been checked."""
    import duckdb

    local, folder = opened.local, opened.folder
    used, view = (
        [csv_files.in_utf8(name, folder, source.encoding) for name in names],
        f"bascule_{source.field}",
    )
    note = Unreadable()

    def read(paths: Sequence[str]) -> tuple[list[str], Unreadable]:
        return csv_files.read_csv(local, paths, names, folder, view, source.file_column)

    try:
        copies, unreadable = read(used)
    except csv_files.EncodingError:
        older = csv_files.older_copies(used, folder)
        if older is None:
            raise
        note = Unreadable(encoding=csv_files.OLDER)
        copies, unreadable = read(older)
    except duckdb.Error:
        # DuckDB usually fails because of mixed line endings.
        used = [csv_files.plain_copy(name, folder) for name in used]
        copies, unreadable = read(used)
    opened.unreadable[source.field] = unreadable + note
    return local.table(view), copies


def _read_typed(
    opened: Connections, names: Sequence[str], form: str, field: str
) -> tuple[Any, list[str]]:
    # The reader treats names as patterns, so special characters are escaped.
    connection, literal = opened.local.con, [glob.escape(name) for name in names]
    relation = (
        connection.read_parquet(literal, union_by_name=True)
        if form == "parquet"
        else connection.read_json(literal)
    )
    return viewed(opened.local, relation, field), list(names)
