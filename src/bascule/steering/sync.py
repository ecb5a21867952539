"""Outcomes of a live test from a warehouse: the rows of a query, each recorded once by its id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC
from typing import Any

from bascule.analysis.api import one_line
from bascule.analysis.log.naming import named, usual
from bascule.analysis.log.times import moment, times_of
from bascule.analysis.source.open import MEMORY, connections, open_tables
from bascule.analysis.source.places import Source, run
from bascule.core.errors import InputError, invalid
from bascule.live.api.experiment import Experiment

DUPLICATE = "duplicate"
"""The reason of a receipt for an outcome that was recorded before."""


@dataclass(frozen=True, slots=True)
class QueryColumns:
    """The columns of a query; `unit` and `time` are found by usual names if not given.

    Without a `value` every row counts as 1. Rows with the same `id` count once, however often they
    are read.
    """

    id: str
    unit: str | None = None
    value: str | None = None
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Synced:
    """Counts of the rows of a query, by what was done with them."""

    rows: int
    recorded: int
    """Outcomes that are new."""
    before: int
    """Outcomes that were recorded by an earlier run."""
    strangers: int
    """Rows of units that the test does not have."""
    excluded: Mapping[str, int] = field(default_factory=dict)
    """Number of outcomes that do not count, by reason."""

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Return the counts in words."""
        said = [
            f"{self.recorded:,} of {self.rows:,} rows are new outcomes; {self.before:,} were "
            f"recorded before, {self.strangers:,} are of units that the test does not have"
        ]
        return said + [f"{n:,} do not count: {reason}" for reason, n in self.excluded.items()]


def sync(
    test: Experiment,
    source: object,
    columns: QueryColumns,
    *,
    query: str | None = None,
    metric: str | None = None,
) -> Synced:
    """Record the outcomes that a query returns, except for rows that were recorded before.

    Rows of units that the test has not assigned are counted and left out: a warehouse has the
    events of everyone. A row that arrives after its unit has counted is late, so the `grace` of the
    measure has to allow for the delay of the warehouse.
    """
    rows = _rows(Source(source, query, "source"), columns)
    enrolled = {unit for unit in {row["unit"] for row in rows} if test.assignment(unit) is not None}
    outcomes = [
        (row["unit"], row["value"], row["time"].replace(tzinfo=UTC), row["id"], metric)
        for row in rows
        if row["unit"] in enrolled
    ]
    receipts = test.record_many(outcomes)
    refused = Counter(str(receipt.reason) for receipt in receipts if not receipt.accepted)
    before = refused.pop(DUPLICATE, 0)
    recorded = sum(receipt.accepted for receipt in receipts)
    return Synced(len(rows), recorded, before, len(rows) - len(outcomes), refused)


def _rows(source: Source, columns: QueryColumns) -> list[dict[str, Any]]:
    """Return unit, value, time and id of a query's rows; raise `InputError` if one is missing."""
    with connections(MEMORY) as opened, one_line():
        (table,) = open_tables(opened, [source])
        names = list(table.columns)
        name = named("id", columns.id, names)
        unit = _column("unit", columns.unit, [column for column in names if column != name])
        time = _column("time", columns.time, names)
        values = {}
        if columns.value is not None:
            values["value"] = table[named("value", columns.value, names)].cast("float64")
        rows = run(
            table.select(
                unit=table[unit].cast("string"),
                **values,
                time=moment(table, times_of(table, time, None)),
                id=table[name].cast("string"),
            )
        )
    for place, row in enumerate(rows, 1):
        row.setdefault("value", 1.0)
        lacking = [part for part in ("unit", "value", "time", "id") if row[part] is None]
        if lacking:
            raise invalid(
                f"query: row {place} has no {' and no '.join(lacking)}, so that nothing was "
                "recorded: leave such rows out, as in WHERE ... IS NOT NULL",
            )
    return rows


def _column(field: str, name: str | None, columns: list[str]) -> str:
    """Return the column that was named, or the only one with a usual name."""
    if name is not None:
        return named(field, name, columns)
    likely = usual(field, columns)
    if len(likely) != 1:
        raise InputError(
            field, f"{field}: which column is it, of {', '.join(likely or columns)}? Name it"
        )
    return likely[0]
