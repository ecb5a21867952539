"""Read times from logs: dates, text in any format, numbers.

All times are in UTC, without a time zone.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from bascule.analysis.source.places import is_duckdb, run
from bascule.core.errors import InputError, invalid

LATEST_DAY = 100_000
"""Largest number that is read as a day, counted from any origin; larger numbers are times since
1970, or dates such as 20260131."""

EARLIEST_SECOND, LATEST_SECOND = 3.0e8, 1e11
"""Range of numbers that are read as seconds since 1970; 3e8 is in July 1979."""

PER_SECOND = {"milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
"""Finer units of times since 1970, with their number in a second."""

EARLIEST_MILLI = EARLIEST_SECOND * 1000.0

TimeKind = Literal["dates", "numbers", "none"]
"""Whether times are dates, numbers of days, or missing."""

SEPARATORS = "/.-"
CLOCKS = ("", " %H:%M", " %H:%M:%S")
SLASHED = r"^([0-9]{1,2})[/.\-]([0-9]{1,2})[/.\-]([0-9]{4}|[0-9]{2})([^0-9].*)?$"
"""Pattern of dates that begin with a day or a month, or with a two-digit year."""

DATE = r"^([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}[/.][0-9]{1,2}[/.][0-9]{2,4})([^0-9.]|$)"
"""Pattern of the beginning of a date."""

DAY_FIRST, MONTH_FIRST, YEAR_FIRST = "%d{s}%m{s}{y}", "%m{s}%d{s}{y}", "{y}{s}%m{s}%d"

DOTTED = "%Y.%m.%d"
FORMS = {
    "%Y%m%d": r"^[0-9]{8}$",
    "%G-W%V": r"^[0-9]{4}-W[0-9]{2}$",
    DOTTED: r"^[0-9]{4}\.[0-9]{1,2}\.[0-9]{1,2}",
}
"""Unambiguous formats of dates in text, and their patterns."""

FORMAT_HINT = "give time_format (--time-format), for example %d/%m/%Y %H:%M"


class Times(NamedTuple):
    """How the times of a column are read: as they are, with a format, or as numbers.

    `form` is "as is", "days", "seconds" or a unit in `PER_SECOND`, "yyyymmdd", "isoweek", "times
    with zones", or a format with percent signs.
    """

    column: str | None
    kind: TimeKind = "none"
    form: str = "as is"

    @property
    def weekly(self) -> bool:
        """Whether times are only known to the week."""
        return self.form == "isoweek" or ("%V" in self.form and "%u" not in self.form)


def times_of(table: Any, column: str | None, stated: str | None, field: str = "time") -> Times:
    """Return the format of a time column; raise an error if it is ambiguous."""
    if column is None:
        if stated is not None:
            raise invalid("time_format goes with a time column: name it")
        return Times(None)
    kind = table[column].type()
    if stated is not None:
        if not (kind.is_string() or kind.is_integer()):
            raise invalid(
                f"time_format goes with text or whole numbers, and {column!r} has {kind}",
            )
        if "%" not in stated:
            raise invalid(f"time_format must be a form such as %d/%m/%Y (got {stated!r})")
        return Times(column, "dates", stated)
    if kind.is_timestamp() or kind.is_date():
        return Times(column, "dates")
    if kind.is_numeric():
        return _of_numbers(table[column].cast("float64"), table, column, field)
    if kind.is_string():
        return _of_text(table, column, field)
    raise InputError(field, f"{field}: column {column!r} must have times (it has {kind})")


def _of_numbers(raw: Any, table: Any, column: str, field: str) -> Times:
    value = raw.nullif(float("nan"))
    parts = {"low": value.min(), "high": value.max(), "last": (value % 100.0).max()}
    (row,) = run(table.agg(**parts))
    low, high = row["low"], row["high"]
    if low is None:
        return Times(column, "numbers", "days")
    if abs(low) <= LATEST_DAY and abs(high) <= LATEST_DAY:
        return Times(column, "numbers", "days")
    if low >= EARLIEST_SECOND and high < LATEST_SECOND:
        return Times(column, "dates", "seconds")
    for unit, factor in PER_SECOND.items():
        if low >= EARLIEST_SECOND * factor and high < LATEST_SECOND * factor:
            return Times(column, "dates", unit)
    if low >= 19000101 and high <= 21001231:
        return Times(column, "dates", "yyyymmdd")
    if low >= 190001 and high <= 210053:
        if row["last"] <= 12:
            raise InputError(
                field,
                f"{field}: numbers such as {low:.0f} in {column!r} are months or weeks: give "
                "time_format %Y%m, or %G%V for ISO weeks",
            )
        return Times(column, "dates", "isoweek")
    if low >= EARLIEST_SECOND and high >= EARLIEST_MILLI:
        raise InputError(
            field,
            f"{field}: numbers from {low:.12g} to {high:.12g} in {column!r} are times since "
            "1970 in seconds in some rows and in smaller units in others: write them in one unit",
        )
    raise InputError(
        field,
        f"{field}: numbers from {low:.12g} to {high:.12g} in {column!r} are neither days (up to "
        f"{LATEST_DAY:,}) nor seconds since 1970, nor dates such as 20260131: {FORMAT_HINT}",
    )


def _of_text(table: Any, column: str, field: str, *, zoned: bool = False) -> Times:
    if not is_duckdb(table):
        raise InputError(
            field, f"{field}: column {column!r} is text: cast it to timestamp in the query"
        )
    raw = _zoned(table[column]) if zoned else table[column]
    text = raw.strip()
    # 03/02/2026 may begin with a day or a month: only other rows of the log can tell.
    slashed = text.re_search(SLASHED)
    # DuckDB would read 1/5/24 as a day of the year 1.
    iso = raw.try_cast("timestamp('UTC')").notnull() & ~slashed
    day, month, year = (text.re_extract(SLASHED, at).try_cast("int64") for at in (1, 2, 3))
    (row,) = run(
        table.agg(
            iso=iso.sum(),
            odd_zones=text.re_search(ODD_ZONE).sum(),
            zoned=(iso & text.re_search(HAS_ZONE) & text.contains(":")).sum(),
            timed=(iso & text.contains(":")).sum(),
            slashed=slashed.sum(),
            first=text.max(where=slashed),
            widest=day.max(where=slashed),
            least=day.min(where=slashed),
            second=month.max(where=slashed),
            years=year.nunique(where=slashed),
            latest=year.max(where=slashed),
            numbers=text.re_search(r"^[0-9]+(\.[0-9]+)?$").sum(),
            colons=text.max(where=text.re_search(FORMS[DOTTED])),
            **{form: text.re_search(pattern).sum() for form, pattern in FORMS.items()},
        )
    )
    if row["odd_zones"] and not zoned:
        return _of_text(table, column, field, zoned=True)
    iso_rows = row["iso"] or 0
    with_zone, timed = row["zoned"] or 0, row["timed"] or 0
    if 0 < with_zone < timed and timed > iso_rows / 2:
        raise InputError(
            field,
            f"{field}: {with_zone:,} times in {column!r} have a zone, {timed - with_zone:,} none: "
            "write all of them with a zone, or all in UTC without one",
        )
    for form in FORMS:
        if (row[form] or 0) > iso_rows:
            clock = CLOCKS[min(row["colons"].count(":"), 2)] if form == DOTTED else ""
            return Times(column, "dates", form + clock)
    if (row["numbers"] or 0) > iso_rows:
        # Entries that are numbers outnumber the dates.
        return _of_numbers(raw.try_cast("float64"), table, column, field)
    if (row["slashed"] or 0) <= iso_rows:
        return Times(column, "dates", ZONED if zoned else "as is")
    first: str = row["first"]
    sign = next(mark for mark in first if mark in SEPARATORS)
    clock = CLOCKS[min(first.count(":"), 2)]
    if first.upper().endswith(("AM", "PM")):
        clock = clock.replace("%H", "%I") + (" %p" if first[-3] == " " else "%p")
    day_first, month_first = row["widest"] > 12, row["second"] > 12
    short = row["latest"] < 100
    year_first = short and (row["years"] > 1 or row["least"] == row["widest"])
    if day_first == month_first or (day_first and year_first):
        reason, known = "a day or a month first", [DAY_FIRST, MONTH_FIRST]
        if day_first:
            reason = "now a day, now a month first" if month_first else "a day or a year first"
            known = known if month_first else [DAY_FIRST]
        if short:
            known.append(YEAR_FIRST)
        dates = (form.format(s=sign, y="%y" if short else "%Y") for form in known)
        forms = " or ".join(f"{date}{clock}" for date in dates)
        raise InputError(
            field,
            f"{field}: {first!r} in {column!r} has {reason}: give time_format (--time-format) "
            f"{forms}",
        )
    date = (DAY_FIRST if day_first else MONTH_FIRST).format(s=sign, y="%y" if short else "%Y")
    return Times(column, "dates", date + clock)


def moment(table: Any, times: Times) -> Any:
    """Return a column as times in UTC; null if an entry is not a time."""
    import ibis

    if times.column is None:
        return ibis.timestamp("1970-01-01 00:00:00")
    raw, form = table[times.column], times.form
    kind = raw.type()
    if form == "as is":
        if kind.is_timestamp() and kind.timezone is not None:
            return raw.cast("timestamp('UTC', 6)").cast("timestamp")
        if kind.is_string():
            # A time zone in the text is applied; text without one is UTC.
            return raw.try_cast("timestamp('UTC')").cast("timestamp")
        return raw.cast("timestamp")
    if form == ZONED:
        return _zoned(raw).try_cast("timestamp('UTC')").cast("timestamp")
    if form in ("days", "seconds", *PER_SECOND):
        number = raw.try_cast("float64") if kind.is_string() else raw.cast("float64")
        scaled = number * 86400.0 if form == "days" else number / PER_SECOND.get(form, 1.0)
        seconds = scaled.floor().cast("int64")
        # The database's own conversion may return a time with a time zone.
        return ibis.timestamp("1970-01-01 00:00:00") + seconds.as_interval("s")
    if form == "isoweek":
        return _parsed(table, _digits(raw) + "1", "%G%V%u")
    if form == "yyyymmdd":
        return _parsed(table, _digits(raw), "%Y%m%d")
    text = raw.strip() if kind.is_string() else raw.cast("string")
    if "%V" in form and "%u" not in form:
        # A week is represented by its Monday.
        text, form = text + "1", form + "%u"
    elif "%d" not in form and "%j" not in form and "%u" not in form:
        text, form = text + "1", form + "%d"
    return _parsed(table, text, form)


def _digits(raw: Any) -> Any:
    """Return whole numbers as text."""
    return raw.strip() if raw.type().is_string() else raw.cast("int64").cast("string")


def _parsed(table: Any, text: Any, form: str) -> Any:
    """Return text parsed with a format; null if it has another format."""
    import ibis
    import ibis.expr.datatypes as dt

    if not is_duckdb(table):
        return text.as_timestamp(form)

    # With a time zone in the text, the result has one and is converted to UTC in the database.
    zone = "UTC" if "%z" in form or "%Z" in form else None

    @ibis.udf.scalar.builtin(
        name="try_strptime",
        signature=((dt.string, dt.string), dt.Timestamp(timezone=zone, scale=6)),
    )
    def try_strptime(text, form):  # type: ignore[no-untyped-def]
        """Parse a text with a format; null if it has another format."""

    return try_strptime(text, form).cast("timestamp")


ZONES = {
    **{"PST": "-08:00", "PDT": "-07:00", "MST": "-07:00", "MDT": "-06:00", "CST": "-06:00"},
    **{"CDT": "-05:00", "EST": "-05:00", "EDT": "-04:00", "GMT": "+00:00", "UTC": "+00:00"},
    **{"BST": "+01:00", "CET": "+01:00", "CEST": "+02:00"},
}
"""Offsets of the abbreviations of time zones."""

HAS_ZONE = r"[0-9] ?(Z|[+\-][0-9]{2}:?([0-9]{2})?|[A-Z]{3,4})$"
"""Pattern of the end of a time with a time zone."""


ODD_ZONE = r":[0-9.]+ ?([+\-][0-9]{4}|[A-Z]{3,4})$"
"""Pattern of time zones that are abbreviated, or offsets without a colon."""

ZONED = "times with zones"
"""Value of `Times.form` for times with such time zones."""


def _zoned(raw: Any) -> Any:
    """Return times as text, with time zones as offsets that databases can read."""
    text = raw.strip()
    # Not every database reads an offset without a colon or with a space before it.
    text = text.re_replace(r" ?([+\-][0-9]{2})([0-9]{2})$", r"\1:\2")
    for name, offset in ZONES.items():
        text = text.re_replace(f"([0-9]) ?{name}$", f"\\1{offset}")
    return text
