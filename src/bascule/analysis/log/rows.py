"""Clean the rows of a log: its columns, its arms, and reasons to exclude rows."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bascule.analysis.call import PER_ROW
from bascule.analysis.log.numbers import PLAIN, Written, number, worded
from bascule.analysis.log.times import Times, moment
from bascule.analysis.source.places import run
from bascule.core.design_parts import MOST_ARMS
from bascule.core.errors import invalid

TOTALS = (
    *("total", "totals", "grand total", "sum", "all", "overall", "gesamt", "summe", "gesamtsumme"),
    *("somme", "totale", "totaal", "suma"),
)
"""Text in place of a unit or an arm that marks a row of totals below a table."""

NO_ARM = ("", "nan", "null", "undefined", "<na>", "na", "n/a", "#n/a", *TOTALS)
"""Text in an arm column that stands for no arm."""

CONTROLS = (
    *("control", "placebo", "baseline", "default", "original", "old", "holdout", "standard"),
    *("ctrl", "cont", "kontrolle", "psa"),
    *("témoin", "temoin", "contrôle", "controle", "controllo", "contrôlé", "testigo"),
)
"""Names, or words in names, of arms that are taken for the control if none is stated."""

NOTHING = ("no", "none", "without", "kein", "keine", "ohne")
"""First words of the names of arms without a treatment."""

INVISIBLE = dict.fromkeys(map(ord, "\0\u200b\u200c\u200d\u2060\ufeff"))

MOST_SPELLINGS = 4 * MOST_ARMS


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns that are read; None for columns that do not exist.

    Without `unit` every row is a unit, or has sums of `count` units. `probabilities` has a column
    for each arm or, with two arms, the column of the probability of the unit's own arm. `written`
    has the number formats of text columns. `totals` and `no_unit` are the entries of the unit
    column that stand for a row of totals, and for no unit. `units` is the number of different
    entries: exact if every row may have its own unit, else approximate; None if it is unknown.
    """

    unit: str | None
    arm: str | None
    value: str | None
    times: Times
    segment: str | None = None
    probabilities: tuple[str, ...] = ()
    count: str | None = None
    squares: str | None = None
    per: str | None = None
    covariate: str | None = None
    cluster: str | None = None
    written: Mapping[str, Written] = field(default_factory=dict)
    totals: tuple[str, ...] = ()
    no_unit: tuple[str, ...] = ()
    units: int | None = None

    @property
    def adjusted(self) -> bool:
        """Whether the metric is a ratio, adjusted by a covariate, or measured in clusters."""
        return self.per is not None or self.covariate is not None or self.cluster is not None


RARE_ROWS, RARE_SHARE = 10, 0.02
"""A rare arm has fewer than `RARE_ROWS` rows, and less than `RARE_SHARE` of the largest arm's."""


@dataclass(frozen=True, slots=True)
class Arms:
    """The arms of a log in order, and the entries of the arm column that belong to each.

    `respelled` has the entries that differ from their arm's name by case or spaces, with their
    numbers of rows. `rows` is the number of rows that have an arm; `none` has the entries that
    stand for no arm.
    """

    names: tuple[str, ...]
    entries: tuple[tuple[Any, int], ...]
    respelled: Mapping[str, int]
    rows: int = 0
    none: tuple[str, ...] = ()


def arms_of(
    table: Any, column: str, design_arms: Sequence[str] | None, control: str | None = None
) -> Arms:
    """Return the arms of the design or, ordered by name with the control first, those of the log.

    Entries that differ by case or by spaces around them mean the same arm; its name is that of the
    design, or the most frequent entry. A rare entry may be a mistake, and is not taken for the
    control unless it is stated.
    """
    rows = table.group_by(entry=table[column]).agg(rows=table.count()).limit(MOST_SPELLINGS + 1)
    rows = rows.select("rows", "entry", text=rows.entry.cast("string"))
    counts = [row for row in run(rows) if row["text"] is not None]
    words = _no_arm(design_arms)
    blank = tuple(row["text"] for row in counts if _plain(row["text"]) in words)
    counts = [row for row in counts if row["text"] not in blank]
    counts.sort(key=lambda row: (-row["rows"], row["text"]))
    by_plain: dict[str, str] = {}
    if design_arms is not None:
        by_plain = {_plain(name): name for name in design_arms}
        exact = set(design_arms)
    else:
        for row in counts:
            by_plain.setdefault(_plain(row["text"]), row["text"].strip())
        exact = set(by_plain.values())
    largest = counts[0]["rows"] if counts else 0
    rare = {row["text"].strip() for row in counts if is_rare(row["rows"], largest)}
    in_order = sorted(exact, key=lambda name: (name in rare, *_order(name)))
    names = tuple(in_order) if design_arms is None else tuple(design_arms)
    if len(names) > MOST_ARMS or len(counts) > MOST_SPELLINGS:
        raise invalid(
            f"arm: column {column!r} has more than {MOST_ARMS} values: is it the right one?"
        )
    names = compared(names, control if design_arms is None else None)
    place = {name: at for at, name in enumerate(names)}
    entries, respelled, total = [], {}, 0
    for row in counts:
        text = row["text"]
        name = text if text in place else by_plain.get(_plain(text))
        if name is None:
            continue
        entries.append((row["entry"], place[name]))
        total += int(row["rows"])
        if text != name:
            respelled[text] = int(row["rows"])
    return Arms(names, tuple(entries), respelled, total, blank)


def compared(names: Sequence[str], control: str | None) -> tuple[str, ...]:
    """Return the arms, the control first; raise an error for an unknown control or a single arm."""
    if len(names) < 2:
        found = f"only {names[0]!r}" if names else "no arm at all"
        raise invalid(f"arm: the log has {found}: a test compares at least two")
    if control is not None and control not in names:
        known = ", ".join(names)
        raise invalid(f"control must be one of {known} (got {control!r})")
    return tuple(sorted(names, key=lambda name: name != control))


def is_rare(rows: float, largest: float) -> bool:
    """Whether an arm has so few rows, or units, that its name may be a mistake.

    >>> is_rare(1, 300), is_rare(5, 40), is_rare(30, 100_000)
    (True, False, False)
    """
    return rows < RARE_ROWS and rows < RARE_SHARE * largest


def natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """Return a sort key by which numbers in names are ordered by their size.

    >>> sorted(["v10", "v2", "v1"], key=natural)
    ['v1', 'v2', 'v10']
    """
    parts = re.split(r"([0-9]+)", name)
    return tuple(
        (not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts
    )


def _order(name: str) -> tuple[bool, bool, tuple[tuple[bool, int, str], ...]]:
    """Return a sort key of arms: names of a control first, then names that contain such a word."""
    words = re.split(r"[\W_]+", _plain(name))
    is_control = words[0] in NOTHING or any(word in CONTROLS for word in words)
    return _plain(name) not in CONTROLS, not is_control, natural(name)


def coded(table: Any, column: str, arms: Arms, *, known: bool = False) -> Any:
    """Return the arm of each row as a small whole number; null if it is unknown.

    With `known`, all rows have known arms: without nulls DuckDB groups by arms much faster.
    """
    import ibis

    kind = "int8" if len(arms.names) < 128 else "int16"
    if not arms.entries:
        return ibis.null(kind)
    raw = table[column]
    cases = [(raw == entry, ibis.literal(i, kind)) for entry, i in arms.entries]
    return ibis.cases(*cases, else_=cases[-1][1] if known else ibis.null(kind))


def no_arm(table: Any, column: str, arms: Arms) -> Any:
    """Return whether a row has no arm: null, or an entry that stands for none."""
    raw = table[column]
    return raw.isnull() | raw.cast("string").isin(arms.none) if arms.none else raw.isnull()


def _no_arm(arms: Sequence[str] | None) -> tuple[str, ...]:
    """Return the words for no arm, except those that are names of arms."""
    named = {_plain(arm) for arm in arms or ()}
    return tuple(word for word in NO_ARM if word not in named)


def _plain(text: str) -> str:
    """Return a name for comparison: casefolded, without invisible characters or outer spaces."""
    return unicodedata.normalize("NFC", text.translate(INVISIBLE)).strip().casefold()


TIME_UNREADABLE = "time not readable"

NUMBERS = {
    "value": "value not a number",
    "covariate": "covariate not a number",
    "count": "count not a number",
    "squares": "squares not a number",
    "per": "denominator not a number",
}
"""Roles of numeric columns, and the reason to exclude a row without a number there."""

BLANK_SUM = "no value in a row of sums"

REASONS = (
    *("no unit", "no arm", "arm unknown to the design", "no time", TIME_UNREADABLE),
    *NUMBERS.values(),
    *(BLANK_SUM, "row of totals"),
)
"""Reasons to exclude a row."""

OF_ASSIGNMENTS = " (assignment)"

NO_UNIT = ("", "null", "NULL", "nan", "NaN", "None", "<NA>", "\\N")
"""Text in a unit column that stands for no unit."""

BLANK = "no value: the unit counts, the event does not"


def clean(table: Any, columns: Columns, arms: Arms, until: datetime | None, *, text: bool) -> Any:
    """Return the rows with the columns unit, code, value, time, and the others named in `columns`.

    `bad` is 0, or the position in `REASONS`, counted from 1, of the first reason that applies;
    `raw` is then the entry that was not readable. Rows from `until` on are left out. `text` casts
    units to text, for two tables with different types. The function `good` selects the usable rows
    faster than a test of `bad`.
    """
    import ibis

    time, written = moment(table, columns.times), columns.written
    parts: dict[str, Any] = {"time": time}
    wrong: list[tuple[Any, str, str | None]] = []
    if columns.unit is not None:
        unit = table[columns.unit]
        if columns.totals:
            wrong = [(unit.isin(columns.totals).fill_null(False), "row of totals", None)]
        if nobody := (*columns.totals, *columns.no_unit):
            unit = ibis.ifelse(unit.isin(nobody), ibis.null("string"), unit)
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
            parts[role], unreadable = number(table, name, role, written.get(name, PLAIN))
            blank = parts[role].isnull()
            if role == "value" and columns.count is not None:
                # Without the sum of a row, its units have no known outcomes and cannot count.
                wrong += [(unreadable, reason, name), (blank, BLANK_SUM, None)]
                unreadable = unreadable | blank
            else:
                unreadable = unreadable if role in ("value", "covariate") else unreadable | blank
                wrong.append((unreadable, reason, name))
            odd = odd | unreadable
    if columns.value is not None:
        parts["worded"] = worded(table, columns.value)
    parts |= _of_units(table, columns, arms)
    parts["odd"] = odd
    parts["bad"], parts["raw"] = ibis.literal(0, "int8"), ibis.null("string")
    if wrong:
        places = [
            (test, ibis.literal(REASONS.index(reason) + 1, "int8")) for test, reason, _ in wrong
        ]
        parts["bad"] = ibis.cases(*places, else_=parts["bad"])
        raw = parts["raw"]
        entries = [(t, table[name].cast("string") if name else raw) for t, _, name in wrong]
        parts["raw"] = ibis.cases(*entries, else_=raw)
    rows = table.select(**parts)
    if until is not None:
        rows = rows.filter(rows.time.isnull() | (rows.time < ibis.literal(until)))
    return rows


def _of_units(table: Any, columns: Columns, arms: Arms) -> dict[str, Any]:
    """Return the segment of a unit, and its probability of each arm."""
    import ibis

    parts = {}
    if columns.segment is not None:
        parts["segment"] = table[columns.segment].cast("string").fill_null("")
    probabilities = [number(table, name, "probability")[0] for name in columns.probabilities]
    if len(probabilities) == 1:
        assert columns.arm is not None
        (chosen,), code = probabilities, coded(table, columns.arm, arms)
        probabilities = [
            ibis.ifelse(code == i, chosen, 1.0 - chosen) for i in range(len(arms.names))
        ]
    return parts | {f"probability_{i}": probability for i, probability in enumerate(probabilities)}


def complete(table: Any, columns: Columns, arms: Arms) -> Any:
    """Return the rows as `clean` does, without its tests, for a table that needs no cleaning."""
    assert columns.arm is not None
    value = table[columns.value]
    return table.select(
        time=moment(table, columns.times),
        **({} if columns.unit is None else {"unit": table[columns.unit]}),
        code=coded(table, columns.arm, arms, known=True),
        value=value.ifelse(1.0, 0.0) if value.type().is_boolean() else value.cast("float64"),
        **_of_units(table, columns, arms),
    )


def good(rows: Any) -> Any:
    """Return the usable rows, by several simple conditions that a database can push down.

    Rows without the column `bad` are all good.
    """
    if "bad" not in rows.columns:
        return rows
    needed = ("unit", "code", "time", "cluster")
    tests = [rows[name].notnull() for name in needed if name in rows.columns]
    if "odd" in rows.columns:
        tests.append(~rows.odd)
    return rows.filter(*tests)
