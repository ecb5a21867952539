"""Survey the rows of a log, and make tables of units from them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from bascule.analysis.log.rows import REASONS, Arms, Columns, good
from bascule.analysis.log.units import NEARLY, different, in_first_rows
from bascule.analysis.reduce.moments import check_covered
from bascule.analysis.source.places import is_duckdb, is_opened_here, run
from bascule.core.inputs.checks import LARGEST
from bascule.core.metrics.measure import Measure

TWO_ARMS, TWO_SEGMENTS = -1, -2
"""Values of `arm` for excluded units: in two arms, in two segments."""

CONSTANT = ("covariate", "cluster")
"""Columns that are constant for a unit, besides its arm, segment and probabilities."""


MOST_CODES = 1024
"""Maximum number of arms: a time multiplied by this, plus the number of an arm, orders rows by time
and arm in 64 bits."""


def units_of(
    rows: Any, events: Any, aggregate: str | None = None, *, exclude_moved: bool = False
) -> Any:
    """Return a row per unit: its arm, its first time, the number of its rows, and its outcome.

    A unit belongs to the arm of its first row. `lowest` and `highest` are its arms at the time of
    that row; they differ if it has two at once. `moved` says that a later row has another arm. With
    `exclude_moved`, `lowest` and `highest` are taken over all rows. Without `aggregate` there is no
    outcome, because `events` has the values. If one of the two tables is in memory, it is sent to
    the database of the other.
    """
    rows = good(rows)
    clock = _clock(rows, is_duckdb(rows) and is_duckdb(events)) * MOST_CODES
    code = rows.code.cast("int64")
    first = [(clock + code).min(), (clock + (MOST_CODES - 1 - code)).min()]
    # The remainder of a time before 1970 is negative.
    low, high = ((key % MOST_CODES + MOST_CODES) % MOST_CODES for key in first)
    parts = {
        "lowest": low.cast("int16"),
        "highest": (MOST_CODES - 1 - high).cast("int16"),
        "moved": counting(rows.code.min() != rows.code.max()),
    }
    if exclude_moved:
        parts = {"lowest": rows.code.min(), "highest": rows.code.max()}
    if "segment" in rows.columns:
        parts |= {"segment": rows.segment.min(), "other": rows.segment.max()}
    parts |= {"first": rows.time.min(), "rows": rows.count()}
    parts |= {name: rows[name].min() for name in _constant(rows)}
    if aggregate is not None:
        parts |= {"per": rows.per.sum()} if "per" in rows.columns else {}
        parts["outcome"] = aggregated(rows.value, rows.time, aggregate)
    return rows.group_by("unit").agg(**parts)


def _clock(rows: Any, in_duckdb: bool) -> Any:
    """Return the time of a row as an integer: in microseconds in DuckDB, else in seconds."""
    import ibis
    import ibis.expr.datatypes as dt

    if not in_duckdb:
        return rows.time.epoch_seconds().cast("int64")

    @ibis.udf.scalar.builtin(signature=((dt.Timestamp(scale=6),), dt.int64))
    def epoch_us(time):  # type: ignore[no-untyped-def]
        """Return the microseconds since 1970."""

    return epoch_us(rows.time.cast("timestamp(6)"))


def _constant(rows: Any) -> list[str]:
    probabilities = [name for name in rows.columns if name.startswith("probability")]
    return probabilities + [name for name in CONSTANT if name in rows.columns]


def counting(condition: Any) -> Any:
    """Return a condition as 1 or 0, null if null; not every database has such a cast."""
    import ibis

    return ibis.ifelse(condition.isnull(), ibis.null("int64"), ibis.ifelse(condition, 1, 0))


def aggregated(value: Any, time: Any, aggregate: str, condition: Any = None) -> Any:
    """Return the aggregate of a unit's values; null if it has none."""
    if aggregate == "any":
        return counting(value != 0.0).max(where=condition).cast("float64")
    if aggregate == "mean":
        return value.mean(where=condition)
    if aggregate == "last":
        there = value.notnull() if condition is None else condition & value.notnull()
        return value.argmax(time, where=there)
    return value.sum(where=condition)


def units_of_rows(rows: Any, aggregate: str) -> Any:
    """Return a table of units from rows that are one unit each."""
    rows = good(rows)
    value = counting(rows.value != 0.0).cast("float64") if aggregate == "any" else rows.value
    columns = [name for name in ("segment", "per") if name in rows.columns]
    columns += _constant(rows)
    parts = {name: rows[name] for name in columns}
    return rows.select(arm=rows.code, first=rows.time, outcome=value, **parts)


def units_with_events(events: Any, units: Any, measure: Measure | None, aggregate: str) -> Any:
    """Return a table of units from assignments and events, with counts of excluded events.

    The outcome is null if a unit has no value that counts. Without a measure, all events from the
    unit's arrival on count.
    """
    import ibis

    both = joined(events, units, ["first"])
    at, value = both["at"], both["value"]
    inside = at >= both["first"]
    parts = {"early": counting(at < both["first"]).sum()}
    if measure is not None:
        closes = both["first"] + ibis.interval(microseconds=round(1e6 * measure.closes(0.0)))
        inside = inside & (at < closes)
        parts["late"] = counting(at >= closes).sum()
    outcomes = both.group_by("unit").agg(
        **parts,
        events=both.count(),
        values=value.count(),
        latest=at.max(),
        outcome=aggregated(value, at, aggregate, inside),
        **({"per": both["per"].sum(where=inside)} if "per" in both.columns else {}),
    )
    return units.left_join(outcomes, "unit").drop("unit_right")


def joined(events: Any, units: Any, names: list[str]) -> Any:
    """Return the usable events of known units, joined with columns of the units."""
    rows = good(events)
    denominator = [name for name in ("per",) if name in rows.columns]
    rows = rows.select("unit", "value", *denominator, at=rows.time)
    return rows.inner_join(units.select("unit", *names), "unit")


def clustered(units: Any, *, by_arm: bool) -> Any:
    """Return a table of clusters: the sums of outcomes, and of denominators or units.

    Units without an outcome do not count. With `by_arm` a cluster has a row for each of its arms.
    The covariate of a cluster is the sum of its units' deviations from the mean of all units, so
    that its expectation does not depend on the size of the cluster.
    """
    import ibis

    units = placed(units)
    units = units.filter(units.arm >= 0, units.outcome.notnull())
    per = units.per.sum() if "per" in units.columns else units.count()
    parts = {}
    if "covariate" in units.columns:
        parts["covariate"] = (units.covariate - mean_covariate(units)).sum()
    key = units.cluster
    if by_arm:
        key = ibis.struct({"cluster": key, "arm": units.arm})
    return units.group_by(cluster=key).agg(
        lowest=units.arm.min(),
        highest=units.arm.max(),
        first=units["first"].min(),
        outcome=units.outcome.sum(),
        per=per.cast("float64"),
        **parts,
    )


def mean_covariate(units: Any) -> float:
    """Return the mean covariate of all units; raise an error if any unit has none."""
    missing = counting(units.covariate.isnull()).sum()
    (row,) = run(units.agg(mean=units.covariate.mean(), missing=missing))
    check_covered(row["missing"])
    return float(row["mean"] or 0.0)


def placed(units: Any) -> Any:
    """Return the units with a column `arm`: its number, or a negative code if excluded."""
    import ibis

    if "arm" in units.columns:
        return units
    cases = [(units.lowest != units.highest, ibis.literal(TWO_ARMS, "int16"))]
    if "segment" in units.columns:
        cases.append((units.segment != units.other, ibis.literal(TWO_SEGMENTS, "int16")))
    return units.mutate(arm=ibis.cases(*cases, else_=units.lowest.cast("int16")))


class Survey(NamedTuple):
    """Summary of the rows of a table, made in one pass.

    `excluded` and `examples` are by reason. `blank` counts the usable rows without a value, and
    `worded` those with a word in place of a number, such as "yes". `units` is the number of units
    (in DuckDB within about 10 %); in a quick survey it is the number of rows. With `zero_or_one`
    every value is known to be 0 or 1.
    """

    rows: int
    excluded: dict[str, int]
    examples: dict[str, tuple[str, ...]]
    blank: int
    worded: int
    first: datetime | None
    last: datetime | None
    units: int
    zero_or_one: bool = False


def quick_survey(table: Any, columns: Columns, arms: Arms) -> Survey | None:
    """Return a survey of a table whose entries are all present and well typed; None for others.

    Of a Parquet file it reads little more than the statistics of its columns; `surveyed` reads all
    of it.
    """
    value, time = columns.value, columns.times
    if columns.arm is None or value is None or columns.totals or columns.no_unit:
        return None
    kind = table[value].type()
    is_whole = kind.is_integer() or kind.is_boolean()
    if not (is_whole or kind.is_floating()):
        return None
    number = table[value].cast("int8") if kind.is_boolean() else table[value]
    # The maximum is NaN if any value is NaN.
    parts = {"rows": table.count(), "low": number.min(), "high": number.max()}
    needed = [value]
    if columns.unit is not None:
        needed.append(columns.unit)
        if not (table[columns.unit].type().is_integer() or table[columns.unit].type().is_string()):
            return None
    if time.column is not None:
        needed.append(time.column)
        at = table[time.column]
        if time.form != "as is" or not at.type().is_timestamp() or at.type().timezone is not None:
            return None
        parts |= {"first": at.min(), "last": at.max()}
    parts |= {f"entries{place}": table[name].count() for place, name in enumerate(needed)}
    (row,) = run(table.agg(**parts))
    rows = int(row["rows"])
    complete = all(int(row[f"entries{place}"]) == rows for place in range(len(needed)))
    if not complete or arms.rows != rows or not rows:
        return None
    if not (row["low"] >= -LARGEST and row["high"] <= LARGEST):
        return None
    zero_or_one = is_whole and row["low"] >= 0 and row["high"] <= 1
    return Survey(rows, {}, {}, 0, 0, row.get("first"), row.get("last"), rows, zero_or_one)


def surveyed(rows: Any) -> Survey:
    """Return a survey: the number of unusable rows, by reason with examples, and a summary."""
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
    """Return examples of the entries that made rows unusable for a reason."""
    unusable = rows.filter(rows.bad == reason)
    raw = unusable.select(entry=unusable.raw).distinct().order_by("entry")
    entries = run(raw.filter(raw.entry.notnull()).limit(MOST_EXAMPLES))
    return tuple(str(row["entry"]) for row in entries)


def in_two_arms(rows: Any) -> tuple[str, ...]:
    """Return examples of the units that have rows in two arms."""
    usable = good(rows)
    codes = usable.group_by("unit").agg(lowest=usable.code.min(), highest=usable.code.max())
    codes = codes.filter(codes.lowest != codes.highest).select("unit").order_by("unit")
    return tuple(str(row["unit"]) for row in run(codes.limit(MOST_EXAMPLES)))


MOST_ROWS_COMPARED = 2_000_000
"""Maximum number of rows that are searched for exact copies; this is the slowest step."""


def copies(table: Any, rows: int) -> int | None:
    """Return the number of rows that are exact copies of others; None if the table is too long."""
    import ibis

    if rows > MOST_ROWS_COMPARED:
        return None
    row = ibis.struct({name: table[name] for name in table.columns})
    if is_opened_here(table.get_backend()):
        return rows - different(table, row, rows)
    distinct = table.distinct()
    return rows - int(run(distinct.agg(rows=distinct.count()))[0]["rows"])


def only_copies(table: Any, unit: str, units: int, rows: int) -> bool:
    """Whether each unit has one row, exact copies aside; there are `rows` rows without the copies.

    `units` is an approximate number of units.
    """
    return units >= NEARLY * rows and different(table, table[unit], rows) == rows


def number_of_units(rows: Any, about: Survey, counted: int | None) -> int:
    """Return the number of units: exact if every usable row has its own unit, else approximate.

    `counted` is the number of different entries of the column, among all rows.
    """
    usable = about.rows - sum(about.excluded.values())
    if counted is not None and "bad" not in rows.columns:
        return counted
    if about.units < NEARLY * usable:
        return about.units
    good_rows = good(rows)
    unit = good_rows.unit
    in_first = (
        in_first_rows(good_rows, unit, usable) if is_opened_here(rows.get_backend()) else None
    )
    return different(good_rows, unit, usable) if in_first is None else in_first
