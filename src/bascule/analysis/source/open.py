"""Where a log comes from: a file, a data frame, an Ibis table, or a database and a query.

Whatever it is, it becomes an Ibis table, and the work is done where the data is.
"""

from __future__ import annotations

import glob
import os
import re
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bascule.analysis.source.backend import OWN
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

DATABASES = (".duckdb", ".ddb", ".db")
"""Endings of files of DuckDB."""

STORES = ("file", "s3", "gs", "gcs", "abfs", "abfss", "hdfs")
"""Object stores that pyarrow reads."""

MEMORY, MEMORY_BY_DAY = "350MB", "280MB"
"""What DuckDB may take; beyond it, it works on disk. With the days it takes more than it says."""

MEMORY_OF_A_CORE = 300e6
"""With less for each core, grouping spills so often that two cores are slower than one."""

SNIFFED = 200_000
"""Lines of a CSV file from which its types are detected."""

INSTALL = "pip install 'bascule[warehouse]'"

CLOSED = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
"""DuckDB fetches and loads no extension, and sees no variable of this program by its name."""

DATE_TYPES = ("DATE", "TIMESTAMP")

ROW_NUMBERS = r"__index_level_\d+__"
"""The column into which Arrow puts an index of pandas that has no name."""

EMPTY = "(empty)"
"""What DuckDB's CSV sniffer writes for a character that a file does not use."""


@dataclass(frozen=True, slots=True)
class Connections:
    """A DuckDB for files and frames, and the databases that were opened so far, by their URLs."""

    local: Any
    folder: Path
    remote: dict[str, Any] = field(default_factory=dict)


@contextmanager
def connections(memory: str) -> Iterator[Connections]:
    """Open an empty DuckDB, with a folder for what memory does not hold; close it at the end."""
    ibis = _ibis()
    with tempfile.TemporaryDirectory(prefix="bascule-") as folder, warnings.catch_warnings():
        # What Ibis uses of DuckDB is not the user's concern.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            local = ibis.duckdb.connect(
                temp_directory=folder, memory_limit=memory, threads=_cores(memory), **CLOSED
            )
        except Exception:
            raise InputError(
                "memory", f'memory must be an amount such as "300MB" or "2GB" (got {memory!r})'
            ) from None
        local.raw_sql(
            "SET preserve_insertion_order = false; SET TimeZone = 'UTC'; "
            "SET enable_progress_bar = false"
        )
        OWN.add(local)
        opened = Connections(local, Path(folder))
        try:
            yield opened
        finally:
            for backend in (local, *opened.remote.values()):
                backend.disconnect()


def _cores(memory: str) -> int:
    """How many cores may work within an amount of memory.

    >>> _cores("350MB")
    1
    """
    amount = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?)I?B?\s*", memory.upper())
    if amount is None:
        return 1
    size = float(amount[1]) * 1000.0 ** " KMGT".index(amount[2] or " ")
    return max(1, min(os.cpu_count() or 1, int(size / MEMORY_OF_A_CORE)))


@dataclass(frozen=True, slots=True)
class Source:
    """Where a log is: a file, a data frame, an Ibis table, or a database and a query."""

    place: object
    query: str | None
    field: str

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
            or self.scheme not in (None, *STORES)
            or Path(self.place).suffix.lower() in DATABASES
        )

    @property
    def scheme(self) -> str | None:
        """What stands before the slashes of an address; None for a path."""
        if not isinstance(self.place, (str, Path)):
            return None
        found = re.match(r"([a-z][a-z0-9+]*)://", str(self.place))
        return found.group(1) if found else None

    @property
    def is_ibis(self) -> bool:
        """Whether it is a table of Ibis already."""
        return type(self.place).__module__.startswith("ibis.")


def open_tables(opened: Connections, sources: Sequence[Source]) -> list[Any]:
    """Open every source as an Ibis table, then close the local DuckDB to everything else.

    Files and frames are read by DuckDB. It may read the files that were named from then on, and
    write to its own temporary folder: no other file, no network, no extension.
    """
    elsewhere = any(
        source.is_database or (source.is_ibis and not _is_polars(source.place))
        for source in sources
    )
    files: list[str] = []
    tables = []
    for source in sources:
        if source.is_database:
            tables.append(_query_database(opened, source))
            continue
        if source.query is not None:
            raise InputError(
                "query", "query goes with a database: give its URL as the first argument"
            )
        if source.is_ibis and not _is_polars(source.place):
            tables.append(source.place)
        elif source.scheme is not None:
            tables.append(_read_store(opened, source))
        elif isinstance(source.place, (str, Path)):
            names, form = _files(Path(source.place), source.field)
            files += names
            tables.append(_read_files(opened.local, names, form, source))
        else:
            # Beside a table that lives elsewhere, Ibis takes the frame there.
            table, written = _read_frame(opened, source, elsewhere=elsewhere)
            files += written
            tables.append(table)
    _close(opened.local.con, files)
    return tables


def _close(connection: Any, files: Sequence[str]) -> None:
    """Let a DuckDB read these files and nothing else, for good."""
    # DuckDB asks for a name as its reader has it, escaped, and as the file system has it.
    allowed = sorted({*files, *map(glob.escape, files)})
    places = ", ".join(["?"] * len(allowed))
    connection.execute(f"SET allowed_paths = [{places}]", allowed).fetchall()
    connection.execute("SET enable_external_access = false").fetchall()
    connection.execute("SET lock_configuration = true").fetchall()


def _files(path: Path, field: str) -> tuple[list[str], str]:
    """The files that a path or a pattern means, as absolute paths, and their form.

    A file of exactly that name is meant literally, whatever signs of a pattern its name has.
    """
    text = str(path)
    form = _form(path)
    if path.is_dir():
        names, form = _files_of_folder(path, field)
    elif path.exists():
        names = [text]
    elif any(sign in text for sign in "*?["):
        names = sorted(glob.glob(text, recursive=True, include_hidden=True))
        if not names:
            raise InputError(field, f"{field}: no file matches {path}")
    else:
        raise InputError(field, f"{field}: there is no file {path}")
    if form is None:
        known = ", ".join(sorted(FORMS))
        raise InputError(field, f"{field}: {path} has no ending that says what it is ({known})")
    if len(names) == 1 and Path(names[0]).stat().st_size == 0:
        raise InputError(field, f"{field}: {path} is empty")
    return [str(Path(name).absolute()) for name in names], form


def _files_of_folder(folder: Path, field: str) -> tuple[list[str], str]:
    """The files of a folder and of those in it, which must all be of one form."""
    found: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("*")):
        form = _form(file)
        if form is not None and file.is_file():
            found.setdefault(form, []).append(str(file))
    if not found:
        raise InputError(field, f"{field}: the folder {folder} has no Parquet, CSV or JSON files")
    if len(found) > 1:
        counts = ", ".join(f"{len(names)} {form}" for form, names in found.items())
        raise InputError(
            field, f"{field}: the folder {folder} has files of several forms ({counts}): name one"
        )
    ((form, names),) = found.items()
    return names, form


def _form(path: Path) -> str | None:
    endings = [ending for ending in path.suffixes if ending != ".gz"]
    return FORMS.get(endings[-1].lower()) if endings else None


def _read_store(opened: Connections, source: Source) -> Any:
    """A file or folder in an object store, which pyarrow reads and DuckDB scans."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    from pyarrow import fs

    address, field = str(source.place), source.field
    try:
        system, path = fs.FileSystem.from_uri(address)
        form = _form(Path(path)) or "parquet"
        data = ds.dataset(path, filesystem=system, format=form)
    except (pa.ArrowException, OSError, ValueError) as problem:
        shown = source.shown
        raise InputError(field, f"{field}: cannot read {shown}: {first_line(problem)}") from None
    return _registered(opened.local, data, field)


def _registered(local: Any, data: Any, field: str) -> Any:
    name = f"bascule_{field}"
    local.con.register(name, data)
    return local.table(name)


def _read_files(local: Any, names: Sequence[str], form: str, source: Source) -> Any:
    """Files as a table, by DuckDB's own readers: no statement is put together from what they hold.

    The reader takes names for patterns, so their special signs are escaped.
    """
    import duckdb

    connection, literal = local.con, [glob.escape(name) for name in names]
    try:
        if form == "parquet":
            relation = connection.read_parquet(literal)
        elif form == "json":
            relation = connection.read_json(literal)
        elif len(literal) > 1:
            relation = _read_many_csv(connection, literal)
        else:
            relation = _read_csv(connection, literal[0])
        name = f"bascule_{source.field}"
        relation.create_view(name, replace=True)
        return local.table(name)
    except (duckdb.Error, UnicodeError) as problem:
        raise InputError(
            source.field, f"{source.field}: cannot read {source.place}: {first_line(problem)}"
        ) from None


def _read_many_csv(connection: Any, names: Sequence[str]) -> Any:
    """Several CSV files; dates that do not begin with the year stay text."""
    relation = connection.read_csv(names, header=True, sample_size=SNIFFED)
    dates = [c for c, t in zip(relation.columns, relation.types, strict=True) if t in DATE_TYPES]
    if not dates:
        return relation
    sniffed = connection.execute("FROM sniff_csv(?, sample_size = ?)", [names[0], SNIFFED])
    form = dict(zip([c[0] for c in sniffed.description], sniffed.fetchall()[0], strict=True))
    if not _is_doubtful({name: form[name] for name in ("DateFormat", "TimestampFormat")}):
        return relation
    texts = dict.fromkeys(dates, "VARCHAR")
    return connection.read_csv(names, header=True, sample_size=SNIFFED, dtype=texts)


def _read_csv(connection: Any, name: str) -> Any:
    """One CSV file, whose form is detected once; DuckDB would detect it anew for every query."""
    import duckdb

    try:
        sniffed = connection.execute("FROM sniff_csv(?, sample_size = ?)", [name, SNIFFED])
        columns = [column[0] for column in sniffed.description]
        (values,) = sniffed.fetchall()
        form: dict[str, Any] = {
            column: "" if value == EMPTY else value
            for column, value in zip(columns, values, strict=True)
        }
        formats = {"date_format": form["DateFormat"], "timestamp_format": form["TimestampFormat"]}
        types = {column["name"]: column["type"] for column in form["Columns"]}
        if _is_doubtful(formats):
            # Whether a day or a month comes first is not DuckDB's to guess.
            types = {c: "VARCHAR" if t in DATE_TYPES else t for c, t in types.items()}
            formats = {}
        return connection.read_csv(
            name,
            auto_detect=False,
            delimiter=form["Delimiter"],
            quotechar=form["Quote"],
            escapechar=form["Escape"],
            comment=form["Comment"],
            skiprows=form["SkipRows"],
            header=form["HasHeader"],
            columns=types,
            **{name: value for name, value in formats.items() if value},
        )
    except (duckdb.Error, ValueError, TypeError):
        # Where the form cannot be detected, DuckDB reads it its own way or says what is wrong.
        return connection.read_csv(name, header=True, sample_size=SNIFFED)


def _is_doubtful(formats: dict[str, str]) -> bool:
    """Whether dates in a CSV file do not begin with the year."""
    return any(form and not form.startswith("%Y") for form in formats.values())


def _query_database(opened: Connections, source: Source) -> Any:
    """The answer of a database to a query, which may also be the name of a table."""
    url, query, field = str(source.place), source.query, source.field
    if source.scheme is None:
        if Path(url).suffix.lower() not in DATABASES or not Path(url).exists():
            if query is None:
                raise InputError(field, f"{field}: there is no file {url}")
            raise InputError(
                "query", f"query goes with a database, and {url} is none: leave it out"
            )
        remote = _open_duckdb(opened, Path(url), field)
    elif query is None:
        raise InputError("query", "query is missing: say which rows, as in SELECT * FROM events")
    else:
        remote = _connect(opened, url, field)
    query = _only_table(remote, url) if query is None else query.strip().rstrip(";")
    if re.fullmatch(r"\w+(\.\w+)+", query):
        query = f"SELECT * FROM {query}"  # nosec B608 - letters, digits and dots alone
    try:
        if query.isidentifier():
            return remote.table(query)
        if remote.name == "duckdb":
            # Not by Ibis, which calls what DuckDB 2 no longer has. The view is this session's own.
            statements = remote.con.extract_statements(query)
            if len(statements) != 1:
                raise InputError("query", "query must be one statement, as SELECT * FROM events")
            view = f"CREATE OR REPLACE TEMPORARY VIEW bascule_{field} AS {statements[0].query}"
            remote.con.execute(view).fetchall()
            return remote.table(f"bascule_{field}")
        if remote.name != "postgres":
            return remote.sql(query)
        # A view of this session alone: some versions of Ibis cannot describe a query otherwise.
        remote.raw_sql(f"CREATE TEMPORARY VIEW bascule_{field} AS {query}").close()
        return remote.table(f"bascule_{field}")
    except InputError:
        raise
    except Exception as problem:
        raise InputError("query", f"query: {first_line(problem)}") from None


def _only_table(remote: Any, url: str) -> str:
    """The name of the one table that a database has."""
    listed = "SELECT table_schema, table_name FROM information_schema.tables"
    names = [
        name if schema == "main" else f"{schema}.{name}"
        for schema, name in remote.con.execute(listed).fetchall()
    ]
    if len(names) != 1:
        known = ", ".join(sorted(names)) or "none"
        raise InputError("query", f"query is missing: name a table of {url} (it has {known})")
    return str(names[0])


def _open_duckdb(opened: Connections, path: Path, field: str) -> Any:
    """A file of DuckDB, to read only: its views reach no other file, and no extension is loaded."""
    key = str(path.absolute())
    if key not in opened.remote:
        try:
            remote = _ibis().duckdb.connect(path, read_only=True, **CLOSED)
            _close(remote.con, [])
        except Exception as problem:
            raise InputError(field, f"{field}: cannot open {path}: {first_line(problem)}") from None
        opened.remote[key] = remote
    return opened.remote[key]


def _connect(opened: Connections, url: str, field: str) -> Any:
    """The database at a URL; two tables in the same one share the connection."""
    if url not in opened.remote:
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
        opened.remote[url] = remote
    return opened.remote[url]


def _is_polars(table: Any) -> bool:
    """Whether a table of Ibis is one that Polars would compute."""
    backend = _ibis().get_backend(table)
    return bool(backend.name == "polars")


def _read_frame(opened: Connections, source: Source, *, elsewhere: bool) -> tuple[Any, list[str]]:
    """A data frame of any library that Narwhals knows, and files that were written for it.

    It becomes a table of the local DuckDB, or one that Ibis takes to wherever another table lives.
    What is lazy is written to a file, piece by piece: it may be larger than memory.
    """
    ibis, data, field = _ibis(), source.place, source.field
    try:
        import narwhals as nw
        import pyarrow as pa
        import pyarrow.dataset as ds
    except ModuleNotFoundError as problem:
        raise InputError(field, f"{field}: data frames need {problem.name}: {INSTALL}") from None
    if source.is_ibis:
        data = ibis.get_backend(data).compile(data)
    if isinstance(data, dict):
        data = pa.table(data)
    if isinstance(data, ds.Dataset) and not elsewhere:
        return _registered(opened.local, data, field), []
    if isinstance(data, (ds.Dataset, pa.RecordBatchReader)):
        data = data.to_table() if isinstance(data, ds.Dataset) else data.read_all()
    if hasattr(data, "sink_parquet") and not elsewhere:
        path = opened.folder / f"{field}.parquet"
        data.sink_parquet(path)
        return _read_files(opened.local, [str(path)], "parquet", source), [str(path)]
    try:
        frame: Any = nw.from_native(data)
    except TypeError:
        raise InputError(
            field,
            f"{field} must be a file, a data frame, an Ibis table or a database URL "
            f"(got {type(data).__name__})",
        ) from None
    if hasattr(frame, "collect"):
        frame = frame.collect()
    try:
        arrow = frame.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError) as problem:
        raise InputError(
            field, f"{field}: a column has values of several types: {first_line(problem)}"
        ) from None
    # The numbers of rows that pandas keeps are no column of the log.
    arrow = arrow.drop_columns([c for c in arrow.column_names if re.fullmatch(ROW_NUMBERS, c)])
    if elsewhere:
        return ibis.memtable(arrow), []
    return _registered(opened.local, _in_microseconds(arrow), field), []


def _in_microseconds(arrow: Any) -> Any:
    """An Arrow table whose zoned times have microseconds: finer ones of DuckDB Ibis cannot read."""
    import pyarrow as pa

    for place, column in enumerate(arrow.schema):
        if pa.types.is_timestamp(column.type) and column.type.tz and column.type.unit == "ns":
            times = arrow.column(place).cast(pa.timestamp("us", column.type.tz), safe=False)
            arrow = arrow.set_column(place, column.name, times)
    return arrow


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
