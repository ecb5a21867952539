"""Which columns of a log are meant, and what a row of it is worth: expressions for Ibis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from bascule.core.checks import LARGEST
from bascule.core.design import MOST_ARMS
from bascule.core.errors import InputError

USUAL: dict[str, tuple[str, ...]] = {
    "unit": ("unit", "user_id", "user", "unit_id", "userid", "id"),
    "arm": ("arm", "variant", "group", "treatment", "trt"),
    "value": ("value", "revenue", "outcome", "y"),
    "time": ("time", "ts", "timestamp", "at", "date", "day"),
}
"""Names that are tried, in this order, for a column that was not named."""

LATEST_DAY = 100_000
"""Numbers up to this are days; larger ones are seconds, or thousandths of one, since 1970."""

LATEST_SECOND = 1e11

BLANK_TEXTS = ("", "nan")
"""Text that stands for no value, in any case and with spaces around it."""

NUMBER = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns that are read; None for those that are not there.

    `probability` is that of the unit's own arm; `probabilities` has a column for each arm.
    """

    unit: str
    arm: str | None
    value: str | None
    time: str | None
    segment: str | None = None
    probability: str | None = None
    probabilities: tuple[str, ...] = ()


def chosen(table: Any, field: str, name: str | None, *, needed: bool = True) -> str | None:
    """The column that was named, or the first usual name that is there.

    >>> import types
    >>> chosen(types.SimpleNamespace(columns=("user_id", "ts")), "unit", None)
    'user_id'
    """
    there = list(table.columns)
    if name is not None:
        if name in there:
            return name
        near = nearest(name, there)
        hint = f": did you mean {near!r}?" if near else f": there are {_listed(there)}"
        raise InputError(field, f"{field}: there is no column {name!r}{hint}")
    for usual in USUAL.get(field, ()):
        if usual in there:
            return usual
    if needed:
        raise InputError(
            field, f"{field} is missing: name the column that has it, of {_listed(there)}"
        )
    return None


def nearest(name: str, there: Sequence[str]) -> str | None:
    """The column whose name is most like one that is not there.

    >>> nearest("reveneu", ["user", "Revenue"])
    'Revenue'
    """
    lower = {column.lower(): column for column in there}
    close = get_close_matches(name.lower(), list(lower), n=1, cutoff=0.6)
    return lower[close[0]] if close else None


def arm_names(table: Any, column: str, design_arms: Sequence[str] | None) -> tuple[str, ...]:
    """The arms of the design, or those that the log has, in the order of their names."""
    if design_arms is not None:
        return tuple(design_arms)
    values = table.select(arm=_text(table[column])).distinct().limit(MOST_ARMS + 2)
    names = sorted(name for name in values.to_pyarrow()["arm"].to_pylist() if name is not None)
    if len(names) > MOST_ARMS:
        raise InputError(
            "arm", f"arm: column {column!r} has more than {MOST_ARMS} values: is it the right one?"
        )
    return tuple(names)


def coded(table: Any, column: str, names: Sequence[str]) -> Any:
    """The arm of a row as a small whole number; null for one that the design does not know."""
    import ibis

    kind = "int8" if len(names) < 128 else "int16"
    text = _text(table[column])
    cases = [(text == name, ibis.literal(i, kind)) for i, name in enumerate(names)]
    return ibis.cases(*cases, else_=ibis.null(kind))


def number(table: Any, column: str, field: str) -> tuple[Any, Any]:
    """A column as a number (null where there is none), and whether a row has something else.

    Null, NaN and blank text are all the same: no value.
    """
    import ibis

    raw = table[column]
    kind = raw.type()
    if kind.is_string():
        right = raw.re_search(NUMBER)
        value = ibis.ifelse(right, raw, ibis.null("string"))
        value = value.try_cast("float64") if _is_duckdb(table) else value.cast("float64")
        blank = raw.strip().lower().isin(BLANK_TEXTS)
        return value, raw.notnull() & ~right & ~blank
    if kind.is_boolean():
        return raw.ifelse(1.0, 0.0), ibis.literal(False)
    if kind.is_integer():
        return raw.cast("float64"), ibis.literal(False)
    if kind.is_numeric():
        value = raw.cast("float64")
        if kind.is_floating():
            value = ibis.ifelse(value.isnan(), ibis.null("float64"), value)
        return value, value.notnull() & (value.abs() > LARGEST)
    raise InputError(field, f"{field}: column {column!r} must have numbers (it has {kind})")


def moment(table: Any, column: str | None) -> Any:
    """A column as a time in UTC; null where it is not one."""
    import ibis

    if column is None:
        return ibis.timestamp("1970-01-01 00:00:00")
    raw = table[column]
    kind = raw.type()
    if kind.is_timestamp() and kind.timezone is not None:
        return raw.cast("timestamp('UTC', 6)").cast("timestamp")
    if kind.is_timestamp() or kind.is_date():
        return raw.cast("timestamp")
    if kind.is_string():
        if not _is_duckdb(table):
            raise InputError(
                "time", f"time: column {column!r} is text: cast it to timestamp in the query"
            )
        # A zone in the text counts, and text without one is UTC.
        return raw.try_cast("timestamp('UTC')").cast("timestamp")
    if kind.is_numeric():
        seconds = raw.cast("float64")
        seconds = ibis.cases(
            (seconds.abs() < LATEST_DAY, seconds * 86400.0),
            (seconds.abs() < LATEST_SECOND, seconds),
            else_=seconds / 1000.0,
        )
        return seconds.floor().cast("int64").as_timestamp("s")
    raise InputError("time", f"time: column {column!r} must have times (it has {kind})")


def _text(column: Any) -> Any:
    return column if column.type().is_string() else column.cast("string")


def _is_duckdb(table: Any) -> bool:
    import ibis

    return bool(ibis.get_backend(table).name == "duckdb")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return shown + (", ..." if len(names) > 8 else "")
