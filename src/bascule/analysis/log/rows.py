"""Rows of a log made clean, and units made of them: expressions for Ibis, nothing is run here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from bascule.analysis.call import PER_ROW
from bascule.analysis.log.columns import Arms, Columns, coded, no_arm
from bascule.analysis.log.numbers import number, worded
from bascule.analysis.log.times import moment
from bascule.core.metrics.measure import Measure

TWO_ARMS, TWO_SEGMENTS = -1, -2
"""What stands in place of an arm for units that are excluded."""

DAY = 86400.0

TIME_UNREADABLE = "time not readable"

_REASONS = {
    "no unit": "",
    "no arm": "raw_arm",
    "arm unknown to the design": "raw_arm",
    "no time": "",
    TIME_UNREADABLE: "raw_time",
    "value not a number": "raw_value",
    "covariate not a number": "raw_covariate",
    "count not a number": "raw_count",
    "squares not a number": "raw_squares",
    "denominator not a number": "raw_per",
    "row of totals": "",
}
REASONS, RAW = tuple(_REASONS), tuple(_REASONS.values())
"""Reasons to exclude a row, of which the first that applies counts, and the raw column of each."""

OF_ASSIGNMENTS = " (assignment)"

NO_UNIT = ("", "null", "NULL", "nan", "NaN", "None", "<NA>", "\\N")
"""Text in place of a unit that stands for none."""

TOTALS = ("total", "totals", "grand total", "sum", "all")
"""Text in place of a unit that stands for a row of totals below a table."""

BLANK = "no value: the unit counts, the event does not"


def clean(table: Any, columns: Columns, arms: Arms, until: datetime | None, *, text: bool) -> Any:
    """The rows with the columns unit, code, value, time, and the others that `columns` names.

    `bad` is 0, or the place in `REASONS`, counted from 1; `good` finds the others sooner. Rows
    from `until` on are left out. `text` makes the units text, for two tables that differ in that.
    The columns `raw_` have what stood there, for examples of what was not readable.
    """
    import ibis

    time, decimals = moment(table, columns.times), columns.decimals
    parts: dict[str, Any] = {"time": time}
    wrong: list[tuple[Any, int]] = []
    if columns.unit is not None:
        unit = table[columns.unit]
        if unit.type().is_string():
            totals = unit.strip().lower().isin(TOTALS).fill_null(False)
            wrong = [(totals, len(REASONS))]
            unit = ibis.ifelse(unit.isin(NO_UNIT) | totals, ibis.null("string"), unit)
        elif unit.type().is_floating():
            unit = unit.nullif(float("nan"))
        if text or not (unit.type().is_string() or unit.type().is_integer()):
            unit = unit.cast("string")
        parts["unit"] = unit
        wrong.append((unit.isnull(), 1))
    if columns.arm is not None:
        parts["code"] = coded(table, columns.arm, arms)
        parts["raw_arm"] = table[columns.arm].cast("string")
        wrong += [(no_arm(table, columns.arm, arms), 2), (parts["code"].isnull(), 3)]
    if columns.times.column is not None:
        parts["raw_time"] = table[columns.times.column].cast("string")
        wrong += [(table[columns.times.column].isnull(), 4), (time.isnull(), 5)]
    if columns.cluster is not None:
        parts["cluster"] = table[columns.cluster].cast("string")
        wrong.append((parts["cluster"].isnull(), 1))
    parts["value"], parts["worded"] = ibis.literal(1.0), ibis.literal(False)
    odd = ibis.literal(False)
    for reason, role in enumerate(("value", "covariate", "count", "squares", "per"), start=6):
        name = getattr(columns, role)
        if role == "per" and name == PER_ROW and PER_ROW not in table.columns:
            parts["per"] = ibis.ifelse(parts["value"].isnull(), 0.0, 1.0)
        elif name is not None:
            parts[role], other = number(table, name, role, decimals.get(name))
            parts[f"raw_{role}"] = table[name].cast("string")
            if role not in ("value", "covariate"):
                other = other | parts[role].isnull()
            wrong.append((other, reason))
            odd = odd | other
    if columns.value is not None:
        parts["worded"] = worded(table, columns.value)
    parts |= _of_units(table, columns)
    parts["odd"] = odd
    literal = [(test, ibis.literal(reason, "int8")) for test, reason in wrong]
    none = ibis.literal(0, "int8")
    parts["bad"] = ibis.cases(*literal, else_=none) if literal else none
    rows = table.select(**parts)
    if until is not None:
        rows = rows.filter(rows.time.isnull() | (rows.time < ibis.literal(until)))
    return rows


def _of_units(table: Any, columns: Columns) -> dict[str, Any]:
    """The segment and the probabilities of a unit."""
    parts = {}
    if columns.segment is not None:
        parts["segment"] = table[columns.segment].cast("string").fill_null("")
    if columns.probability is not None:
        parts["probability"], _ = number(table, columns.probability, "probability")
    for i, name in enumerate(columns.probabilities):
        parts[f"probability_{i}"], _ = number(table, name, "probability")
    return parts


def complete(table: Any, columns: Columns, arms: Arms) -> Any:
    """The rows of a table in which every entry is there and of the right type, with little work.

    `entry` is the arm as it stands there, which is quicker to group by than its number.
    """
    assert columns.arm is not None
    value = table[columns.value]
    return table.select(
        time=moment(table, columns.times),
        unit=table[columns.unit],
        code=coded(table, columns.arm, arms),
        entry=table[columns.arm],
        value=value.ifelse(1.0, 0.0) if value.type().is_boolean() else value.cast("float64"),
        **_of_units(table, columns),
    )


def good(rows: Any) -> Any:
    """The rows that can be used: as many simple questions, which a database answers early.

    Rows without the column `bad` are all good.
    """
    if "bad" not in rows.columns:
        return rows
    needed = ("unit", "code", "time", "cluster")
    tests = [rows[name].notnull() for name in needed if name in rows.columns]
    if "odd" in rows.columns:
        tests.append(~rows.odd)
    return rows.filter(*tests)


@dataclass(frozen=True, slots=True)
class Calendar:
    """Periods of whole days, counted from a first day."""

    first: date | None = None
    days: int = 1

    def of(self, time: Any) -> Any:
        """The day of a time, or the first day of its period as a number of days since 1970."""
        import ibis

        if self.first is None or self.days == 1:
            return time.date()
        start = (self.first - date(1970, 1, 1)).days
        # At midnight, where no database rounds.
        passed = (time.truncate("D").epoch_seconds() / 86400).round().cast("int64") - start
        return ibis.literal(start) + (passed / self.days).floor().cast("int64") * self.days


DAILY = Calendar()


def membership(rows: Any) -> dict[str, Any]:
    """The lowest and the highest arm of a unit, and segment: they differ where it is in two."""
    parts = {"lowest": rows.code.min(), "highest": rows.code.max()}
    if "segment" in rows.columns:
        parts |= {"segment": rows.segment.min(), "other": rows.segment.max()}
    return parts


def about_unit(rows: Any) -> dict[str, Any]:
    """Facts about a unit whatever its outcome: arms, first moment, number of rows."""
    parts = membership(rows) | {"first": rows.time.min(), "rows": rows.count()}
    constant = [name for name in rows.columns if name.startswith("probability")]
    constant += [name for name in ("covariate", "cluster") if name in rows.columns]
    return parts | {name: rows[name].min() for name in constant}


def counting(condition: Any) -> Any:
    """1 where it holds and 0 where not; null stays null. Not every database casts to that."""
    import ibis

    return ibis.ifelse(condition.isnull(), ibis.null("int64"), ibis.ifelse(condition, 1, 0))


def aggregated(value: Any, time: Any, aggregate: str, where: Any = None) -> Any:
    """What the values of a unit add up to; null where it has none."""
    if aggregate == "any":
        return counting(value != 0.0).max(where=where).cast("float64")
    if aggregate == "mean":
        return value.mean(where=where)
    if aggregate == "last":
        there = value.notnull() if where is None else where & value.notnull()
        return value.argmax(time, where=there)
    return value.sum(where=where)


def units_to_date(rows: Any, aggregate: str) -> Any:
    """One row a unit: all its values in the log together."""
    rows = good(rows)
    outcome = aggregated(rows.value, rows.time, aggregate)
    # A day is smaller than a moment, and enough here.
    about = about_unit(rows) | {"first": rows.time.date().min()}
    about |= {"per": rows.per.sum()} if "per" in rows.columns else {}
    return rows.group_by("unit").agg(**about, outcome=outcome)


def units_of_rows(rows: Any, aggregate: str) -> Any:
    """One row a unit, where every row is a unit: nothing has to be put together."""
    rows = good(rows)
    value = counting(rows.value != 0.0).cast("float64") if aggregate == "any" else rows.value
    parts = {"arm": rows.code, "first": rows.time, "outcome": value}
    if "segment" in rows.columns:
        parts["segment"] = rows.segment
    others = [name for name in rows.columns if name.startswith("probability")]
    others += [name for name in ("per", "covariate", "cluster", "entry") if name in rows.columns]
    return rows.select(**parts, **{name: rows[name] for name in others})


def clustered(units: Any, *, by_arm: bool) -> Any:
    """One row a cluster: the sum over its units, and their number or the sum of denominators.

    Units without an outcome do not count. With `by_arm` a cluster has a row for each of its arms.
    """
    import ibis

    units = units if "arm" in units.columns else placed(units)
    units = units.filter(units.arm >= 0)
    per = units.outcome.count()
    if "per" in units.columns:
        per = units.per.sum(where=units.outcome.notnull())
    key = units.cluster
    if by_arm:
        key = ibis.struct({"cluster": key, "arm": units.arm})
    return units.group_by(cluster=key).agg(
        lowest=units.arm.min(),
        highest=units.arm.max(),
        first=units["first"].min(),
        outcome=units.outcome.sum(),
        per=per.cast("float64"),
    )


def units_of(rows: Any) -> Any:
    """One row a unit, without outcome; bad rows left out."""
    rows = good(rows)
    return rows.group_by("unit").agg(**about_unit(rows))


def joined(events: Any, units: Any, names: Sequence[str]) -> Any:
    """Every good event of a known unit with some facts about the unit."""
    rows = good(events)
    rows = rows.select("unit", "value", at=rows.time)
    return rows.inner_join(units.select("unit", *names), "unit")


def units_of_events(events: Any, measure: Measure, aggregate: str) -> Any:
    """One row a unit with its outcome, where a unit arrives with its first event."""
    units = units_of(events)
    names = [name for name in units.columns if name not in ("unit", "rows")]
    both = joined(events, units, names)
    at, value = both["at"], both["value"]
    inside = at < both["first"] + _length(measure)
    return both.group_by("unit").agg(
        **{name: both[name].min() for name in names},
        rows=both.count(),
        kept=both.count(where=inside),
        outcome=aggregated(value, at, aggregate, inside),
    )


def _length(measure: Measure) -> Any:
    import ibis

    return ibis.interval(microseconds=round(1e6 * measure.closes(0.0)))


def units_in_window(events: Any, units: Any, measure: Measure | None, aggregate: str) -> Any:
    """One row a unit: its outcome, null if it has none, and how many events did not count and why.

    Without a measure all events from the unit's arrival on count.
    """
    both = joined(events, units, ["first"])
    at, value = both["at"], both["value"]
    inside = at >= both["first"]
    parts = {"early": counting(at < both["first"]).sum()}
    if measure is not None:
        closes = both["first"] + _length(measure)
        inside = inside & (at < closes)
        parts["late"] = counting(at >= closes).sum()
    outcomes = both.group_by("unit").agg(
        **parts,
        events=both.count(),
        latest=at.max(),
        outcome=aggregated(value, at, aggregate, inside),
    )
    return units.left_join(outcomes, "unit").drop("unit_right")


def placed(units: Any) -> Any:
    """Units with `arm`: its number, or why they are excluded."""
    import ibis

    cases = [
        (units.lowest != units.highest, ibis.literal(TWO_ARMS, "int16")),
    ]
    if "segment" in units.columns:
        cases.append((units.segment != units.other, ibis.literal(TWO_SEGMENTS, "int16")))
    return units.mutate(arm=ibis.cases(*cases, else_=units.lowest.cast("int16")))
