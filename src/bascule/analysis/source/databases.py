"""Databases that hold a log: a file of DuckDB, PostgreSQL, and others that Ibis supports."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from bascule.analysis.source.places import (
    CLOSED,
    DATABASES,
    ELSEWHERE,
    Connections,
    Source,
    close_to_others,
    first_line,
    load_ibis,
)
from bascule.core.errors import InputError


def query_database(opened: Connections, source: Source) -> Any:
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
    elif source.scheme in ELSEWHERE:
        raise InputError(
            field,
            f"{field}: files are not fetched from elsewhere: download {source.shown}, or give in "
            "Python what reads it, pyarrow.dataset.dataset(...) or a table of Ibis",
        )
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
            remote = load_ibis().duckdb.connect(path, read_only=True, **CLOSED)
            close_to_others(remote.con, [])
        except Exception as problem:
            raise InputError(field, f"{field}: cannot open {path}: {first_line(problem)}") from None
        opened.remote[key] = remote
    return opened.remote[key]


def _connect(opened: Connections, url: str, field: str) -> Any:
    """The database at a URL; two tables in the same one share the connection."""
    if url not in opened.remote:
        kind = url.split("://", 1)[0]
        try:
            remote = load_ibis().connect(url)
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
