"""Assignments and outcomes of an experiment as tables in files: CSV, or Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from string import whitespace
from typing import Any

from sqlalchemy import Connection

from bascule.core.design import Design
from bascule.core.errors import invalid, require
from bascule.core.inputs.files import replacing
from bascule.live.api.backup import write_copy
from bascule.live.api.experiment import Experiment
from bascule.live.clock import moment
from bascule.live.storage.deals import Deal
from bascule.live.storage.queries import Rows
from bascule.live.storage.statements import fetch

COLUMNS = {
    "assignments": ("unit", "arm", "number", "probability", "block", "size", "time"),
    "outcomes": ("unit", "arm", "value", "at", "received", "id"),
}
ROWS_AT_ONCE, BLOCKS_AT_ONCE = 10_000, 1000

_TABLES = {
    "assignments": (
        "SELECT number, number, unit, arm, probability, deal, time, covariates FROM assignments "
        "WHERE experiment = ? AND number > ? ORDER BY number LIMIT ?"
    ),
    "outcomes": (
        "SELECT o.number, o.id, o.number, unit, arm, value, at, received, event, per "
        "FROM outcomes o "
        "JOIN assignments a ON a.experiment = o.experiment AND a.number = o.number "
        "WHERE o.experiment = ? AND coalesce(metric, '') = ? AND (o.number, o.id) > (?, ?) "
        "ORDER BY o.number, o.id LIMIT ?"
    ),
}
"""For each table, the query for a page of rows, sorted by key. The first columns are a row's key;
the next page begins after the key of the last row."""

START = {"assignments": (-1,), "outcomes": (-1, -1)}
"""For each table, a key that sorts before the keys of all rows."""


def export(
    experiment: Experiment, folder: str | Path, form: str = "csv", *, spreadsheet: bool = False
) -> tuple[Path, ...]:
    """Write the tables of an experiment as files into a folder, and return their paths.

    The files are `NAME-assignments`, `NAME-outcomes` for the primary metric,
    `NAME-outcomes-METRIC` for each other metric, and `NAME-description.txt` if there is a
    description.

    `form` is "csv", "parquet" or "store". The last writes `NAME.db`, a store with all data of this
    experiment, for `Store.import_experiment`. With `spreadsheet`, text in CSV that a spreadsheet
    would take for a formula gets an apostrophe before it.
    """
    if form not in ("csv", "parquet", "store"):
        raise invalid(f'form must be "csv", "parquet" or "store" (got {form!r})')
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    if form == "store":
        path = target / f"{experiment.name}.db"
        with experiment.store.reporting() as source:
            write_copy(source, path, experiment.id)
        return (path,)
    paths = (
        target / f"{experiment.name}-assignments.{form}",
        target / f"{experiment.name}-outcomes.{form}",
        *(target / f"{experiment.name}-outcomes-{name}.{form}" for name in experiment.metrics),
    )
    write = partial(_write_csv, spreadsheet=spreadsheet) if form == "csv" else _write_parquet
    tables = [("assignments", None), *(("outcomes", name) for name in (None, *experiment.metrics))]
    design = experiment.design
    with experiment.store.reading() as connection:
        for path, (table, metric) in zip(paths, tables, strict=True):
            rows = (row[1:] for row in _rows(connection, experiment.id, design, table, metric))
            write(path, columns_of(design, table, metric), rows)
    if words := experiment.description:
        path = target / f"{experiment.name}-description.txt"
        path.write_text(words, encoding="utf-8")
        return (*paths, path)
    return paths


def columns_of(design: Design, table: str, metric: str | None = None) -> tuple[str, ...]:
    """Return the columns of an exported table; the covariates of the design come last.

    Outcomes of a ratio have `per` at the end: the denominator, with the numerator in `value`.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Numeric(), bs.Tilt(3), covariates=[bs.Covariate("age")])
    >>> columns_of(design, "assignments")[-2:]
    ('time', 'age')
    """
    if table == "outcomes":
        measured = design if metric is None else design.metric_design(metric)
        return (*COLUMNS[table], *("per",) * measured.outcome.pairs)
    return (*COLUMNS[table], *(covariate.name for covariate in design.covariates or ()))


def some_rows(
    experiment: Experiment,
    table: str,
    after: tuple[int, ...] | None = None,
    names: bool = True,
    metric: str | None = None,
) -> tuple[list[tuple[Any, ...]], tuple[int, ...] | None]:
    """Return a page of assignments or outcomes, and the key after which the next page starts.

    The key is None after the last page. Times are written as text. Outcomes are those of a metric,
    the primary one if none is named. Without `names`, units have numbers in place of their names,
    the same in both tables, and events have no ids.

    >>> import bascule as bs
    >>> week = bs.Measure("7d", "any")
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=week)
    >>> with bs.open(":memory:") as store:
    ...     test = store.create("button", design)
    ...     some_rows(test, "assignments")
    ([], None)
    """
    design = experiment.design
    with experiment.store.reading() as connection:
        rows = _rows(connection, experiment.id, design, table, metric, after, names)
        part = [*islice(rows, ROWS_AT_ONCE)]
    last = part[-1][0] if len(part) == ROWS_AT_ONCE else None
    return [tuple(_plain(value) for value in row[1:]) for row in part], last


def _rows(
    connection: Connection,
    experiment: int,
    design: Design,
    table: str,
    metric: str | None = None,
    after: tuple[int, ...] | None = None,
    names: bool = True,
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table in order, each preceded by its key."""
    key = after or START[table]
    of_metric = () if table == "assignments" else (metric or "",)
    read = partial(fetch, connection, _TABLES[table], experiment, *of_metric)
    covariates = [None] * len(design.covariates or ())
    deals: dict[int, Deal] = {}
    while rows := read(*key, ROWS_AT_ONCE):
        for row in rows:
            key, (number, unit, arm, *rest) = tuple(row[: len(key)]), row[len(key) :]
            named = unit if names else f"unit-{number}", design.arms[arm]
            if table == "outcomes":
                value, at, received, event, per = rest
                times, ratio = (moment(at), moment(received)), () if per is None else (per,)
                yield key, *named, value, *times, event if names else None, *ratio
                continue
            probability, deal, time, known = rest
            # The covariates of erased units are gone.
            values = covariates if known is None else json.loads(known)
            if deal is not None and deal not in deals:
                deals = Rows(connection, experiment).find_deals(deal, deal + BLOCKS_AT_ONCE)
            size = len(deals[deal].slots) if deal in deals else None
            yield key, *named, number, probability, deal, size, moment(time), *values


def _write_csv(
    path: Path, names: Sequence[str], rows: Iterator[tuple[Any, ...]], *, spreadsheet: bool
) -> None:
    with replacing(path) as made, made.open("w", newline="", encoding="utf-8") as file:
        plain = (tuple(map(_plain, row)) for row in rows)
        file.writelines(csv_lines(chain([names], plain), spreadsheet))


def csv_lines(rows: Iterable[Sequence[Any]], spreadsheet: bool) -> Iterator[str]:
    """Yield rows as lines of CSV, with formulas made harmless if `spreadsheet` is true."""
    line = StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for row in rows:
        writer.writerow(map(safe_cell, row) if spreadsheet else row)
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def safe_cell(value: Any) -> Any:
    """Return a value, with a leading apostrophe if a spreadsheet would take it for a formula.

    >>> safe_cell("=HYPERLINK(1)"), safe_cell(-1.5), safe_cell("user-42")
    ("'=HYPERLINK(1)", -1.5, 'user-42')
    """
    # Spreadsheets skip white space and a byte order mark before a formula.
    text = value.lstrip(f"{whitespace}\ufeff") if isinstance(value, str) else ""
    is_formula = text.startswith(("=", "+", "-", "@"))
    return f"'{value}" if is_formula or str(value)[:1] in ("\t", "\r") else value


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _write_parquet(path: Path, names: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> None:
    require("analyze", "a Parquet file", "pyarrow")
    import pyarrow
    from pyarrow import parquet

    kinds = dict.fromkeys(("number", "block", "size"), pyarrow.int64())
    kinds |= dict.fromkeys(("probability", "value", "per"), pyarrow.float64())
    kinds |= dict.fromkeys(("time", "at", "received"), pyarrow.timestamp("us", "UTC"))
    known = dict.fromkeys(names[len(COLUMNS["assignments"]) :], pyarrow.float64())
    schema = pyarrow.schema([(n, (kinds | known).get(n, pyarrow.string())) for n in names])
    with replacing(path) as made, parquet.ParquetWriter(made, schema) as writer:
        while part := list(islice(rows, ROWS_AT_ONCE)):
            columns = [list(column) for column in zip(*part, strict=True)]
            writer.write_table(pyarrow.table(columns, schema=schema))
