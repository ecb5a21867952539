"""Rows of a log made clean: expressions for Ibis, nothing is run here."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from bascule.analysis.call import PER_ROW
from bascule.analysis.log.columns import TOTALS, Arms, Columns, coded, no_arm
from bascule.analysis.log.numbers import PLAIN, number, worded
from bascule.analysis.log.times import moment

TIME_UNREADABLE = "time not readable"

NUMBERS = {
    "value": "value not a number",
    "covariate": "covariate not a number",
    "count": "count not a number",
    "squares": "squares not a number",
    "per": "denominator not a number",
}
"""Columns of numbers, and what is said of rows that have something else there."""

REASONS = (
    *("no unit", "no arm", "arm unknown to the design", "no time", TIME_UNREADABLE),
    *NUMBERS.values(),
    "row of totals",
)
"""Reasons to exclude a row."""

OF_ASSIGNMENTS = " (assignment)"

NO_UNIT = ("", "null", "NULL", "nan", "NaN", "None", "<NA>", "\\N")
"""Text in place of a unit that stands for none."""

BLANK = "no value: the unit counts, the event does not"


def clean(table: Any, columns: Columns, arms: Arms, until: datetime | None, *, text: bool) -> Any:
    """The rows with the columns unit, code, value, time, and the others that `columns` names.

    `bad` is 0, or the place in `REASONS`, counted from 1, of the first reason that applies, and
    `raw` is then the entry that was not readable; `good` finds the other rows sooner. Rows from
    `until` on are left out. `text` makes the units text, for two tables that differ in that.
    """
    import ibis

    time, written = moment(table, columns.times), columns.written
    parts: dict[str, Any] = {"time": time}
    wrong: list[tuple[Any, str, str | None]] = []
    if columns.unit is not None:
        unit = table[columns.unit]
        if unit.type().is_string():
            totals = unit.strip().lower().isin(TOTALS).fill_null(False)
            wrong = [(totals, "row of totals", None)]
            unit = ibis.ifelse(unit.isin(NO_UNIT) | totals, ibis.null("string"), unit)
        elif unit.type().is_floating():
            unit = unit.nullif(float("nan"))
        if text or not (unit.type().is_string() or unit.type().is_integer()):
            unit = unit.cast("string")
        parts["unit"] = unit
        wrong.append((unit.isnull(), "no unit", None))
    if columns.arm is not None:
        parts["code"] = coded(table, columns.arm, arms)
        wrong.append((no_arm(table, columns.arm, arms), "no arm", columns.arm))
        wrong.append((parts["code"].isnull(), "arm unknown to the design", columns.arm))
    if columns.times.column is not None:
        wrong.append((table[columns.times.column].isnull(), "no time", None))
        wrong.append((time.isnull(), TIME_UNREADABLE, columns.times.column))
    if columns.cluster is not None:
        parts["cluster"] = table[columns.cluster].cast("string")
        wrong.append((parts["cluster"].isnull(), "no unit", None))
    parts["value"], parts["worded"] = ibis.literal(1.0), ibis.literal(False)
    odd = ibis.literal(False)
    for role, reason in NUMBERS.items():
        name = getattr(columns, role)
        if role == "per" and name == PER_ROW and PER_ROW not in table.columns:
            parts["per"] = ibis.ifelse(parts["value"].isnull(), 0.0, 1.0)
        elif name is not None:
            parts[role], other = number(table, name, role, written.get(name, PLAIN))
            if role not in ("value", "covariate"):
                other = other | parts[role].isnull()
            wrong.append((other, reason, name))
            odd = odd | other
    if columns.value is not None:
        parts["worded"] = worded(table, columns.value)
    parts |= _of_units(table, columns)
    parts["odd"] = odd
    parts["bad"], parts["raw"] = ibis.literal(0, "int8"), ibis.null("string")
    if wrong:
        places = [(test, ibis.literal(REASONS.index(why) + 1, "int8")) for test, why, _ in wrong]
        parts["bad"] = ibis.cases(*places, else_=parts["bad"])
        none = parts["raw"]
        entries = [(t, table[name].cast("string") if name else none) for t, _, name in wrong]
        parts["raw"] = ibis.cases(*entries, else_=none)
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
