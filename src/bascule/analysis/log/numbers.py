"""Read numbers from the text of logs: separators, currency signs, and words for yes and no."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from bascule.analysis.source import places
from bascule.core.errors import InputError, invalid
from bascule.core.inputs import checks
from bascule.core.inputs.checks import LARGEST

TRUE_WORDS = (
    *("true", "yes", "t", "y", "ja", "oui", "sí", "si", "sì", "sim", "wahr", "vrai", "verdadero"),
    *("vero", "verdadeiro", "waar"),
)
FALSE_WORDS = (
    *("false", "no", "f", "n", "nein", "non", "nee", "não", "nao", "falsch", "faux", "falso"),
    *("onwaar",),
)
"""Text for 1 and for 0, in any case and with spaces around it: in English, German,
French, Spanish, Italian, Portuguese and Dutch."""

NUMBER = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"

SPACES = " '\u00a0\u202f\u2019"
SPACED = rf"^\s*[-+]?[0-9]{{1,3}}([{SPACES}][0-9]{{3}})+(\.[0-9]*)?\s*$"
"""Numbers whose thousands are separated by spaces or apostrophes."""

OTHER = {".": ",", ",": "."}
"""Decimal separators, each with the thousands separator that goes with it, besides spaces."""

GROUPED = {
    sign: f"[0-9]{{1,3}}([{separator}{SPACES}][0-9]{{3}})+" for sign, separator in OTHER.items()
}
SEPARATED = {
    sign: rf"^\s*[-+]?([0-9]+|{grouped})([{sign}][0-9]*)?\s*$" for sign, grouped in GROUPED.items()
}
"""Patterns of numbers with separators, by decimal separator: 1,234.5 and 1.234,5."""

SURELY = {
    sign: rf"^\s*[-+]?([0-9]*[{sign}]([0-9]{{1,2}}|[0-9]{{4,}})|{grouped}[{sign}][0-9]*"
    rf"|[0-9]{{1,3}}([{OTHER[sign]}][0-9]{{3}}){{2,}})\s*$"
    for sign, grouped in GROUPED.items()
}
"""Patterns of numbers that are unambiguous, by decimal separator."""

SIGNS = "$€£¥%"
"""Currency and per cent signs, which are ignored before or after a number."""

BEFORE, BEHIND = rf"^\s*([-+]?)\s*[{SIGNS}]\s*([-+]?)", rf"\s*[{SIGNS}]\s*$"

MOSTLY = 10
"""Minimum ratio of the counts of the two decimal separators to assume the more frequent one."""


class Written(NamedTuple):
    """Number format of a text column: decimal separator, and currency or per cent sign."""

    decimal: str | None = None
    sign: str | None = None

    def __str__(self) -> str:
        parts = [f"in {self.sign}"] if self.sign else []
        if self.decimal is not None:
            parts.append(f"read with a decimal {'comma' if self.decimal == ',' else 'point'}")
        return ", ".join(parts)


PLAIN = Written()


def written_of(table: Any, column: str, stated: str | None, *, whole: bool = False) -> Written:
    """Return the number format of a column; `PLAIN` unless it is text with separators or signs.

    Whether 1,234 is above a thousand or a little more than one follows from the other numbers of
    the column, or from `whole`, which says that all numbers are whole. Otherwise it must be stated.
    """
    if stated is not None:
        checks.choice("decimal", stated, (".", ","))
    raw = table[column]
    if not raw.type().is_string():
        return PLAIN
    # Searching for single characters is far quicker than matching a pattern.
    has_sign = reduce(or_, (raw.contains(sign) for sign in SIGNS + SPACES))
    (row,) = places.run(
        table.agg(**places.points(raw), commas=raw.contains(",").sum(), others=has_sign.sum())
    )
    spaced, used = False, []
    if row["others"]:
        signs = {f"c{at}": raw.contains(sign).sum() for at, sign in enumerate(SIGNS)}
        (counts,) = places.run(table.agg(**signs, spaced=raw.re_search(SPACED).sum()))
        spaced = bool(counts["spaced"])
        used = [sign for at, sign in enumerate(SIGNS) if counts[f"c{at}"]]
    if len(used) > 1:
        raise invalid(f"metric: {column!r} has amounts in {' and '.join(used)}: convert them first")
    if used:
        bare = table.select(**{column: unsigned(raw)})
        return written_of(bare, column, stated, whole=whole)._replace(sign=used[0])
    if stated is not None:
        return Written(stated)
    if row["commas"]:
        return Written(_decimal_of_commas(table, column, whole=whole))
    if not places.unclear_points(row):
        return Written(".") if spaced else PLAIN
    if whole:
        return Written(",")
    thousands = raw.re_search(r"^[^.]*\.[0-9]{3}")
    example = places.run(table.agg(text=raw.max(where=thousands)))[0]["text"]
    raise invalid(
        f"decimal is missing: every number of {column!r} with a point has three digits behind "
        f"it, such as {example!r}: state whether the point is the decimal separator "
        'with decimal="." or separates thousands with decimal="," (--decimal)',
    )


def _decimal_of_commas(table: Any, column: str, *, whole: bool) -> str | None:
    """Return the decimal separator of numbers with commas; None if numbers have no commas."""
    raw = table[column]
    (row,) = places.run(
        table.agg(
            point=raw.re_search(SURELY["."]).sum(),
            comma=raw.re_search(SURELY[","]).sum(),
            unclear=raw.max(where=raw.re_search(r"^\s*[-+]?[0-9]{1,3},[0-9]{3}\s*$")),
            with_commas=(raw.contains(",") & raw.re_search(SEPARATED["."])).sum(),
        )
    )
    point, comma = row["point"] or 0, row["comma"] or 0
    if not (row["with_commas"] or comma):
        return None
    # A few numbers in the other format are excluded and counted.
    if (point and point >= MOSTLY * comma) or (whole and not comma):
        return "."
    if comma and comma >= MOSTLY * point:
        return ","
    problem = (
        "commas both as thousands separators and as decimal separators"
        if point
        else f"ambiguous commas, such as {row['unclear']!r}"
    )
    raise invalid(
        f"decimal is missing: the numbers of {column!r} have {problem}: state the decimal "
        'separator with decimal="." or decimal="," (--decimal)',
    )


def unsigned(raw: Any) -> Any:
    """Return a text without the sign before or after its number."""
    return raw.re_replace(BEFORE, r"\1\2").re_replace(BEHIND, "")


def number(table: Any, column: str, field: str, written: Written = PLAIN) -> tuple[Any, Any]:
    """Return a column as numbers (null if missing), and whether each entry is unusable.

    Null, NaN and blank text mean no value. Words for yes and no are 1 and 0. Other text and numbers
    beyond `LARGEST` are unusable.
    """
    import ibis

    raw = table[column]
    kind = raw.type()
    if kind.is_string():
        right, text = _bare(raw, written)
        value = ibis.ifelse(right, text, ibis.null("string"))
        value = value.try_cast("float64") if places.is_duckdb(table) else value.cast("float64")
        word = raw.strip().lower()
        value = ibis.cases((word.isin(TRUE_WORDS), 1.0), (word.isin(FALSE_WORDS), 0.0), else_=value)
        known = word.isin((*places.BLANK_TEXTS, *TRUE_WORDS, *FALSE_WORDS))
        odd = ~right & ~known
        if places.is_duckdb(table) and written == PLAIN:
            # Most entries are plain numbers, and need no other test.
            plain = places.surely(raw, "float64")
            value = ibis.ifelse(plain, raw.try_cast("float64"), value)
            odd = ibis.ifelse(plain, False, odd)
        return value, raw.notnull() & (odd | (value.abs() > LARGEST).fill_null(False))
    if kind.is_boolean():
        return raw.cast("int8").cast("float64"), ibis.literal(False)
    if kind.is_integer():
        return raw.cast("float64"), ibis.literal(False)
    if kind.is_numeric():
        value = raw.cast("float64")
        if kind.is_floating():
            value = ibis.ifelse(value.isnan(), ibis.null("float64"), value)
        return value, value.notnull() & (value.abs() > LARGEST)
    raise InputError(field, f"{field}: column {column!r} must have numbers (it has {kind})")


def _bare(raw: Any, written: Written) -> tuple[Any, Any]:
    """Return whether a text is a number, and the text with a point as its only separator."""
    import ibis

    text = raw if written.sign is None else unsigned(raw)
    plain, decimal = text.re_search(NUMBER), written.decimal
    if decimal is None:
        return plain, text
    separated = text.re_search(SEPARATED[decimal])
    digits = text.re_replace(f"[{OTHER[decimal]}{SPACES}]", "").replace(",", ".")
    # With a decimal comma, a point can only separate thousands.
    right = plain | separated if decimal == "." else separated
    return right, ibis.ifelse(separated, digits, text)


def worded(table: Any, column: str) -> Any:
    """Return whether a row has a word for yes or no in place of a number."""
    import ibis

    raw = table[column]
    if not raw.type().is_string():
        return ibis.literal(False)
    # Words begin with a letter, and letters sort after digits.
    words = raw.strip().lower().isin((*TRUE_WORDS, *FALSE_WORDS))
    return ibis.ifelse(raw < ":", raw.startswith(" ") & words, words).fill_null(False)


LARGEST_EXACT = 2.0**53
"""Smallest number from which on a 64-bit float cannot represent every whole number."""


def check_unit(table: Any, column: str) -> None:
    """Raise an error if units are floating-point numbers too large to be exact."""
    raw = table[column]
    if not raw.type().is_floating():
        return
    value = raw.nullif(float("nan")).abs()
    (row,) = places.run(table.agg(largest=value.max()))
    if row["largest"] is not None and row["largest"] >= LARGEST_EXACT:
        raise invalid(
            f"unit: numbers such as {row['largest']:.0f} in {column!r} are floating-point numbers "
            "so large that several units look alike: store them as text or as whole numbers",
        )
