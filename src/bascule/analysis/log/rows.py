"""Rows of a log made clean: expressions for Ibis, nothing is run here."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from bascule.analysis.call import PER_ROW
from bascule.analysis.log.columns import TOTALS, Arms, Columns, coded, no_arm
from bascule.analysis.log.numbers import PLAIN, number, worded
from bascule.analysis.log.times import moment

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

BLANK = "no value: the unit counts, the event does not"


def clean(table: Any, columns: Columns, arms: Arms, until: datetime | None, *, text: bool) -> Any:
    """The rows with the columns unit, code, value, time, and the others that `columns` names.

    `bad` is 0, or the place in `REASONS`, counted from 1; `good` finds the others sooner. Rows
    from `until` on are left out. `text` makes the units text, for two tables that differ in that.
    The columns `raw_` have what stood there, for examples of what was not readable.
    """
    import ibis

    time, written = moment(table, columns.times), columns.written
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
            parts[role], other = number(table, name, role, written.get(name, PLAIN))
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
