"""Data frames that hold a log, as tables of DuckDB or of the place where another table lives."""

from __future__ import annotations

import re
from typing import Any

from bascule.analysis.source.files import read_files
from bascule.analysis.source.places import (
    INSTALL,
    Connections,
    Source,
    first_line,
    load_ibis,
    registered,
)
from bascule.core.errors import InputError

ROW_NUMBERS = r"__index_level_\d+__"
"""The column into which Arrow puts an index of pandas that has no name."""


def read_frame(opened: Connections, source: Source, *, elsewhere: bool) -> tuple[Any, list[str]]:
    """A data frame of any library that Narwhals knows, and files that were written for it.

    It becomes a table of the local DuckDB, or one that Ibis takes to wherever another table lives.
    What is lazy is written to a file, piece by piece: it may be larger than memory.
    """
    ibis, data, field = load_ibis(), source.place, source.field
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
        return registered(opened.local, data, field), []
    if isinstance(data, (ds.Dataset, pa.RecordBatchReader)):
        data = data.to_table() if isinstance(data, ds.Dataset) else data.read_all()
    if hasattr(data, "sink_parquet") and not elsewhere:
        path = opened.folder / f"{field}.parquet"
        data.sink_parquet(path)
        return read_files(opened, [str(path)], "parquet", source)
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
    return registered(opened.local, _in_microseconds(arrow), field), []


def _in_microseconds(arrow: Any) -> Any:
    """An Arrow table with zoned times in microseconds; Ibis cannot read finer ones from DuckDB."""
    import pyarrow as pa

    for place, column in enumerate(arrow.schema):
        if pa.types.is_timestamp(column.type) and column.type.tz and column.type.unit == "ns":
            times = arrow.column(place).cast(pa.timestamp("us", column.type.tz), safe=False)
            arrow = arrow.set_column(place, column.name, times)
    return arrow
