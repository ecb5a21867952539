"""Numbers as logs write them, text included: with words for yes and no, commas, and blanks."""

from __future__ import annotations

from typing import Any

from bascule.analysis.source.backend import is_duckdb, run
from bascule.analysis.source.texts import BLANK_TEXTS, points, surely, unclear_points
from bascule.core.errors import InputError
from bascule.core.inputs import checks
from bascule.core.inputs.checks import LARGEST

TRUE_WORDS, FALSE_WORDS = ("true", "yes", "t", "y"), ("false", "no", "f", "n")
"""Text that stands for 1 and for 0, in any case and with spaces around it."""

NUMBER = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"

THOUSANDS = "[. '\u00a0\u202f\u2019]"
WITH_COMMAS = {
    ".": r"^\s*[-+]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?\s*$",
    ",": rf"^\s*[-+]?([0-9]+|[0-9]{{1,3}}({THOUSANDS}[0-9]{{3}})+)(,[0-9]*)?\s*$",
}
"""Numbers with commas, by what the decimal sign is: 1,234.5 and 1.234,5."""

GROUPS = "[0-9]{1,3}(" + THOUSANDS + "[0-9]{3})+"
SURELY = {
    ".": r"^\s*[-+]?([0-9]{1,3}(,[0-9]{3})+\.[0-9]*|[0-9]{1,3}(,[0-9]{3}){2,}"
    r"|[0-9]*\.([0-9]{1,2}|[0-9]{4,}))\s*$",
    ",": rf"^\s*[-+]?([0-9]+,([0-9]{{1,2}}|[0-9]{{4,}})|{GROUPS},[0-9]*)\s*$",
}
"""Numbers that can be meant in one way only."""

MOSTLY = 10
"""A decimal sign is assumed if it occurs at least this many times as often as the other."""


def decimal_of(table: Any, column: str, given: str | None) -> str | None:
    """The decimal sign of a column of text whose numbers have commas; None for any other column.

    Whether 1,234 is a thousand or a little more than one is found out from the other numbers of
    the column; where these do not tell, it has to be stated.
    """
    if given is not None:
        checks.choice("decimal", given, (".", ","))
    raw = table[column]
    if not raw.type().is_string():
        return None
    if given is not None:
        return given
    (row,) = run(table.agg(**points(raw), commas=raw.contains(",").sum()))
    if not row["commas"]:
        if not unclear_points(row):
            return None
        thousands = raw.re_search(r"^[^.]*\.[0-9]{3}")
        example = run(table.agg(text=raw.max(where=thousands)))[0]["text"]
        raise InputError(
            "decimal",
            f"decimal is missing: every number of {column!r} with a point has three digits behind "
            f"it, such as {example!r}: state whether the point is the decimal separator "
            'with decimal="." or separates thousands with decimal="," (--decimal)',
        )
    (row,) = run(
        table.agg(
            point=raw.re_search(SURELY["."]).sum(),
            comma=raw.re_search(SURELY[","]).sum(),
            unclear=raw.max(where=raw.re_search(r"^\s*[-+]?[0-9]{1,3},[0-9]{3}\s*$")),
            with_commas=raw.re_search(WITH_COMMAS["."]).sum(),
        )
    )
    point, comma = row["point"] or 0, row["comma"] or 0
    if not (row["with_commas"] or comma):
        return None
    # A few that are written otherwise are excluded and counted.
    if point >= MOSTLY * comma and point:
        return "."
    if comma >= MOSTLY * point and comma:
        return ","
    how = (
        "commas both as thousands separators and as decimal separators"
        if point
        else f"ambiguous commas, such as {row['unclear']!r}"
    )
    raise InputError(
        "decimal",
        f"decimal is missing: the numbers of {column!r} have {how}: state the decimal "
        'separator with decimal="." or decimal="," (--decimal)',
    )


def number(table: Any, column: str, field: str, decimal: str | None = None) -> tuple[Any, Any]:
    """A column as a number (null where there is none), and whether a row has something else.

    Null, NaN and blank text are all the same: no value. Words for yes and no are 1 and 0.
    """
    import ibis

    raw = table[column]
    kind = raw.type()
    if kind.is_string():
        right, text = raw.re_search(NUMBER), raw
        if decimal is not None:
            right, text = _without_commas(raw, right, decimal)
        value = ibis.ifelse(right, text, ibis.null("string"))
        value = value.try_cast("float64") if is_duckdb(table) else value.cast("float64")
        word = raw.strip().lower()
        value = ibis.cases((word.isin(TRUE_WORDS), 1.0), (word.isin(FALSE_WORDS), 0.0), else_=value)
        known = word.isin((*BLANK_TEXTS, *TRUE_WORDS, *FALSE_WORDS))
        odd = (~right & ~known) | (value.abs() > LARGEST).fill_null(False)
        if is_duckdb(table) and decimal is None:
            # Most entries are plain numbers, and take no other test.
            plain = surely(raw, "float64")
            value = ibis.ifelse(plain, raw.try_cast("float64"), value)
            odd = ibis.ifelse(plain, False, odd)
        return value, raw.notnull() & odd
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


def _without_commas(raw: Any, plain: Any, decimal: str) -> tuple[Any, Any]:
    """Whether a text is a number that may have commas, and the text with a point in their place."""
    import ibis

    commas = raw.re_search(WITH_COMMAS[decimal])
    if decimal == ".":
        return plain | commas, ibis.ifelse(commas, raw.replace(",", ""), raw)
    digits = raw.re_replace(THOUSANDS, "").replace(",", ".")
    # Where the comma is the decimal sign, a point is none.
    return commas, ibis.ifelse(commas, digits, raw)


def worded(table: Any, column: str) -> Any:
    """Whether a row has a word for yes or no in place of a number."""
    import ibis

    raw = table[column]
    if not raw.type().is_string():
        return ibis.literal(False)
    # Words begin with a letter, and are the longer in order.
    words = raw.strip().lower().isin((*TRUE_WORDS, *FALSE_WORDS))
    return ibis.ifelse(raw < ":", raw.startswith(" ") & words, words).fill_null(False)


LARGEST_EXACT = 2.0**53
"""Above this, a number with a fraction stands for several whole numbers."""


def check_unit(table: Any, column: str) -> None:
    """Refuse units that are numbers with fractions too large to tell one from the next."""
    raw = table[column]
    if not raw.type().is_floating():
        return
    value = raw.nullif(float("nan")).abs()
    (row,) = run(table.agg(largest=value.max()))
    if row["largest"] is not None and row["largest"] >= LARGEST_EXACT:
        raise InputError(
            "unit",
            f"unit: numbers such as {row['largest']:.0f} in {column!r} are stored with a fraction, "
            "and so large that several units look alike: store them as text or as whole numbers",
        )
