"""Which column of a table is meant: the one that was named, or the one with a usual name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from bascule.analysis.source.backend import run
from bascule.core.enrolment.segments import Segments
from bascule.core.errors import InputError

USUAL: dict[str, tuple[str, ...]] = {
    "unit": (
        *("unit", "user_id", "user", "unit_id", "userid", "id", "customer_id", "visitor_id"),
        *("client_id", "device_id", "subject_id", "patient_id", "subject", "patient"),
    ),
    "arm": (
        *("arm", "variant", "group", "treatment", "trt", "variation", "variant_id"),
        *("variation_id", "test_group", "experiment_group", "bucket", "condition"),
    ),
    "value": (
        *("value", "revenue", "outcome", "y", "converted", "conversion", "conversions"),
        *("clicked", "purchased", "bought", "amount", "spend"),
    ),
    "time": (
        *("time", "ts", "timestamp", "at", "date", "day", "datetime", "event_time"),
        *("event_timestamp", "created_at", "assigned_at", "occurred_at", "week"),
    ),
}
"""Names that are tried, in this order and in any case, for a column that was not named."""

NO_UNIT = (
    "unit is missing: name the column that says whom a row is about, of {columns}; or give "
    "row_is_unit=True (--row-is-unit) if every row is a unit of its own, or count (--count) with "
    "the column that counts the units if rows are sums"
)


class Value(NamedTuple):
    """The column with the value, None where every event counts as 1, and others like it."""

    name: str | None
    others: tuple[str, ...] = ()


def chosen(
    table: Any, field: str, name: str | None, *, needed: bool = True, taken: Iterable[str] = ()
) -> str | None:
    """The column that was named, or the first usual name that is there and not taken.

    Case, and whether words are parted by spaces, hyphens or underscores, do not matter.

    >>> import types
    >>> chosen(types.SimpleNamespace(columns=("User ID", "ts")), "unit", None)
    'User ID'
    """
    there = list(table.columns)
    if name is not None:
        return _named(field, name, there)
    usual = _usual(field, there, taken)
    if usual:
        return usual[0]
    if needed:
        if field == "unit":
            raise InputError(field, NO_UNIT.format(columns=_listed(there)))
        raise InputError(
            field, f"{field} is missing: name the column that has it, of {_listed(there)}"
        )
    return None


def chosen_value(
    table: Any, name: str | None, taken: Sequence[str], *, events: bool = False
) -> Value:
    """The column that was named; or the only usual name; or the only column with numbers.

    Of two that are as likely none is picked. With `events`, a table without any numbers has rows
    that count as 1 each.
    """
    kinds = {name: table[name].type() for name in table.columns if name not in taken}
    numbers = [name for name, kind in kinds.items() if kind.is_numeric() or kind.is_boolean()]
    if name is not None:
        named = _named("value", name, list(table.columns))
        return Value(named, tuple(c for c in numbers if c != named))
    usual = _usual("value", table.columns, taken)
    likely = usual or numbers
    if len(likely) == 1:
        return Value(likely[0], tuple(c for c in numbers if c != likely[0]))
    if likely:
        raise InputError(
            "value",
            f"value: it could be {_listed(likely)}: name the one that counts",
        )
    if events:
        return Value(None)
    raise InputError(
        "value", f"value is missing: name the column that has it, of {_listed(table.columns)}"
    )


def _named(field: str, name: str, there: Sequence[str]) -> str:
    """The column of that name, in whatever case it is written."""
    if name in there:
        return name
    same = [column for column in there if plain(column) == plain(name)]
    if len(same) == 1:
        return same[0]
    if same:
        raise InputError(field, f"{field}: {name!r} could be {_listed(same)}: write it as it is")
    near = nearest(name, there)
    hint = f"did you mean {near!r}? There are" if near else "there are"
    raise InputError(field, f"{field}: there is no column {name!r}: {hint} {_listed(there)}")


def _usual(field: str, there: Iterable[str], taken: Iterable[str]) -> list[str]:
    """The columns with usual names, the most usual first."""
    names = USUAL.get(field, ())
    used = set(taken)
    columns = [c for c in there if c not in used and plain(c) in names]
    return sorted(columns, key=lambda column: names.index(plain(column)))


def plain(name: str) -> str:
    """A column's name in lower case, its words parted by underscores.

    >>> plain(" User ID")
    'user_id'
    """
    return re.sub(r"[\s\-_.]+", "_", name.strip()).lower()


def nearest(name: str, there: Sequence[str]) -> str | None:
    """The column whose name is most like one that is not there.

    >>> nearest("reveneu", ["user", "Revenue"])
    'Revenue'
    """
    lower = {column.lower(): column for column in there}
    close = get_close_matches(name.lower(), list(lower), n=1, cutoff=0.6)
    return lower[close[0]] if close else None


def _listed(names: Iterable[str]) -> str:
    """Names of columns; DuckDB makes them up where a file has no header."""
    names = list(names)
    made_up = bool(names) and all(re.fullmatch(r"column\d+", name) for name in names)
    return ", ".join(names) + (" (the file has no line with names)" if made_up else "")


def named_segments(table: Any, column: str, segments: Segments) -> Any:
    """Return a table whose column of segments has no others than those of a design.

    Other values become the segment `other`; where the design has none, they are an error.
    """
    if table is None or column not in table.columns:
        return table
    import ibis

    value = table[column].cast("string")
    is_named = value.isin(list(segments.names)).fill_null(False)
    if segments.other is not None:
        return table.mutate(**{column: ibis.cases((is_named, value), else_=segments.other)})
    unknown = run(table.filter(~is_named).select(name=value).distinct().order_by("name").limit(5))
    if unknown:
        examples = ", ".join(repr(row["name"])[:60] for row in unknown)
        raise InputError(
            "segment",
            f"{column} has values that the design does not name ({examples}): its segments are "
            f"{', '.join(segments.names)}; give it another design, or one with other=NAME",
        )
    return table.mutate(**{column: value})
