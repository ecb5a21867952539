"""One pass over the rows of a log: what they hold, and which of them cannot be used."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from bascule.analysis.log.rows import REASONS, Arms, Columns, good
from bascule.analysis.source.backend import batches, is_duckdb, is_opened_here, run
from bascule.core.inputs.checks import LARGEST


class Survey(NamedTuple):
    """What one pass over the rows of a table shows of them.

    `excluded` and `examples` are by reason, `blank` and `worded` the usable rows without a value
    and with a word for it. `units` is about how many units there are, to 10 % or so.
    """

    rows: int
    excluded: dict[str, int]
    examples: dict[str, tuple[str, ...]]
    blank: int
    worded: int
    first: datetime | None
    last: datetime | None
    units: int


def quick_survey(table: Any, columns: Columns, arms: Arms) -> Survey | None:
    """A survey of a table in which every entry is there and of the right type; None for others.

    It reads little of a file that has statistics, where `surveyed` reads all of it.
    """
    value, time = columns.value, columns.times
    plain = columns.arm is not None and value is not None and columns.unit is not None
    if not plain or time.form != "as is" or time.column is None:
        return None
    kinds = [table[name].type() for name in (value, time.column, columns.unit)]
    whole = kinds[0].is_integer() or kinds[0].is_boolean()
    right = kinds[1].is_timestamp() and kinds[1].timezone is None
    if not (whole or kinds[0].is_floating()) or not right or not kinds[2].is_integer():
        return None
    parts = {"rows": table.count(), "units": table[columns.unit].count()}
    at = table[time.column]
    parts |= {"times": at.count(), "values": table[value].count()}
    parts |= {"first": at.min(), "last": at.max()}
    number = table[value].cast("int8") if kinds[0].is_boolean() else table[value]
    # The largest number is not a number if any is none.
    parts |= {"low": number.min(), "high": number.max()}
    (row,) = run(table.agg(**parts))
    rows = int(row["rows"])
    complete = all(int(row[name]) == rows for name in ("units", "times", "values"))
    if not complete or arms.rows != rows or not rows:
        return None
    if not (row["low"] >= -LARGEST and row["high"] <= LARGEST):
        return None
    return Survey(rows, {}, {}, 0, 0, row["first"], row["last"], rows)


def surveyed(rows: Any) -> Survey:
    """Count the rows that cannot be used, by reason with examples, and look at the others."""
    parts = {"rows": rows.count(), "first": rows.time.min(), "last": rows.time.max()}
    if "value" in rows.columns:
        parts |= {
            "blank": rows.count(where=rows.value.isnull()),
            "worded": rows.count(where=rows.worded),
        }
    if "unit" in rows.columns:
        parts["units"] = rows.unit.approx_nunique() if is_duckdb(rows) else rows.unit.nunique()
    by_reason = {row["bad"]: row for row in run(rows.group_by("bad").agg(**parts))}
    good_rows = by_reason.get(0, {})
    bad = [reason for reason in sorted(by_reason) if reason]
    examples = {REASONS[r - 1]: _examples(rows, r) for r in bad}
    return Survey(
        sum(int(row["rows"]) for row in by_reason.values()),
        {REASONS[reason - 1]: int(by_reason[reason]["rows"]) for reason in bad},
        {reason: entries for reason, entries in examples.items() if entries},
        int(good_rows.get("blank") or 0),
        int(good_rows.get("worded") or 0),
        min((r["first"] for r in by_reason.values() if r["first"] is not None), default=None),
        max((r["last"] for r in by_reason.values() if r["last"] is not None), default=None),
        int(good_rows.get("units") or 0),
    )


MOST_EXAMPLES = 3


def _examples(rows: Any, reason: int) -> tuple[str, ...]:
    """Some of the entries that made rows unusable for a reason."""
    unusable = rows.filter(rows.bad == reason)
    raw = unusable.select(entry=unusable.raw).distinct().order_by("entry")
    entries = run(raw.filter(raw.entry.notnull()).limit(MOST_EXAMPLES))
    return tuple(str(row["entry"]) for row in entries)


def in_two_arms(rows: Any) -> tuple[str, ...]:
    """Some of the units that have rows in two arms."""
    usable = good(rows)
    each = usable.group_by("unit").agg(lowest=usable.code.min(), highest=usable.code.max())
    each = each.filter(each.lowest != each.highest).select("unit").order_by("unit")
    return tuple(str(row["unit"]) for row in run(each.limit(MOST_EXAMPLES)))


MOST_ROWS_COMPARED = 2_000_000
"""In longer tables exact copies of rows are not looked for: it takes longer than all the rest."""


def copies(table: Any, rows: int) -> int | None:
    """How many rows are exact copies of others; None if the table is too long to look."""
    if rows > MOST_ROWS_COMPARED:
        return None
    different = table.distinct()
    return rows - int(run(different.agg(rows=different.count()))[0]["rows"])


def only_copies(table: Any, unit: str, rows: int, duplicates: int) -> bool:
    """Whether units have a row each but for the copies of rows."""
    each = table.select(unit=table[unit])
    return int(run(each.agg(units=each.unit.nunique()))[0]["units"]) == rows - duplicates


def one_row_each(rows: Any, about: Survey) -> bool:
    """Whether no unit has more than one row that can be used."""
    usable = about.rows - sum(about.excluded.values())
    if about.units < 0.85 * usable:
        return False
    good_rows = good(rows)
    if good_rows.unit.type().is_integer() and is_duckdb(rows):
        unit = good_rows.unit
        (ends,) = run(good_rows.agg(low=unit.min(), high=unit.max()))
        if ends["low"] is None:
            return True
        span = int(ends["high"]) - int(ends["low"]) + 1
        if span < usable:
            return False
        fits = int(ends["low"]) >= -LARGEST_WHOLE and int(ends["high"]) <= LARGEST_WHOLE
        if fits and is_opened_here(rows.get_backend()) and _ascending(good_rows):
            return True
        if span <= MOST_BITS:
            return _different(good_rows, ends["low"], ends["high"]) == usable
    if is_duckdb(rows) and about.units == usable:
        about_units = int(run(good_rows.agg(units=good_rows.unit.approx_nunique()))[0]["units"])
        if about_units < 0.85 * usable:
            return False
    return int(run(good_rows.agg(units=good_rows.unit.nunique()))[0]["units"]) == usable


LARGEST_WHOLE = 2**63 - 1


def _ascending(rows: Any) -> bool:
    """Whether every unit is above the one before it, as in tables that are ordered by it.

    It stops at the first rows that are not.
    """
    last = None
    for batch in batches(rows.select(unit=rows.unit.cast("int64"))):
        # Not Arrow's own conversion, which imports pandas.
        unit = np.from_dlpack(batch.column(0))
        if (last is not None and unit[0] <= last) or not (unit[1:] > unit[:-1]).all():
            return False
        last = unit[-1]
    return True


MOST_BITS = 1_000_000_000
"""The most different whole numbers that are counted as a row of bits: it takes 125 MB."""


def _different(rows: Any, low: int, high: int) -> int:
    """How many different units there are, each a bit in a row: a fraction of a list's time."""
    import ibis
    import ibis.expr.datatypes as dt

    @ibis.udf.agg.builtin(signature=((dt.int64, dt.int64, dt.int64), dt.string))
    def bitstring_agg(unit, low, high):  # type: ignore[no-untyped-def]
        """Return a row of bits, one for each number between two."""

    @ibis.udf.scalar.builtin(signature=((dt.string,), dt.int64))
    def bit_count(bits):  # type: ignore[no-untyped-def]
        """Return how many bits are set."""

    bits = bitstring_agg(rows.unit.cast("int64"), low, high)
    return int(run(rows.agg(units=bit_count(bits)))[0]["units"])
