"""Open the tables of a log: whatever it is, it becomes an Ibis table where the data is."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bascule.analysis.source.backend import OWN
from bascule.analysis.source.databases import query_database
from bascule.analysis.source.files import files_of, read_files
from bascule.analysis.source.frames import read_frame
from bascule.analysis.source.places import (
    CLOSED,
    Connections,
    Source,
    close_to_others,
    is_polars,
    load_ibis,
)
from bascule.core.errors import InputError

MEMORY, MEMORY_BY_DAY = "350MB", "280MB"
"""What DuckDB may take; beyond it, it works on disk. With the days it takes more than it says."""

MEMORY_OF_A_CORE = 300e6
"""With less for each core, grouping spills so often that two cores are slower than one."""


@contextmanager
def connections(memory: str) -> Iterator[Connections]:
    """Open an empty DuckDB, with a folder for what memory does not hold; close it at the end."""
    ibis = load_ibis()
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


def open_tables(opened: Connections, sources: Sequence[Source]) -> list[Any]:
    """Open every source as an Ibis table, then close the local DuckDB to everything else.

    Files and frames are read by DuckDB. It may read the files that were named from then on, and
    write to its own temporary folder: no other file, no network, no extension.
    """
    elsewhere = any(
        source.is_database or (source.is_ibis and not is_polars(source.place)) for source in sources
    )
    files: list[str] = []
    tables = []
    for source in sources:
        if source.is_database:
            tables.append(query_database(opened, source))
            continue
        if source.query is not None:
            raise InputError(
                "query", "query goes with a database: give its URL as the first argument"
            )
        if source.is_ibis and not is_polars(source.place):
            tables.append(source.place)
        elif isinstance(source.place, (str, Path)):
            names, form = files_of(Path(source.place), source.field)
            table, used = read_files(opened, names, form, source)
            files += used
            tables.append(table)
        else:
            # Beside a table that lives elsewhere, Ibis takes the frame there.
            table, written = read_frame(opened, source, elsewhere=elsewhere)
            files += written
            tables.append(table)
    close_to_others(opened.local.con, files)
    return tables
