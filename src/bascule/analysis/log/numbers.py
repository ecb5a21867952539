"""Numbers as logs write them, text included: with words for yes and no, commas, and blanks."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from bascule.analysis.source import places
from bascule.core.errors import InputError
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
"""Text that stands for 1 and for 0, in any case and with spaces around it: in English, German,
French, Spanish, Italian, Portuguese and Dutch."""

NUMBER = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"

SPACES = " '\u00a0\u202f\u2019"
SPACED = rf"^\s*[-+]?[0-9]{{1,3}}([{SPACES}][0-9]{{3}})+(\.[0-9]*)?\s*$"
"""Numbers whose thousands are separated by spaces or apostrophes."""

OTHER = {".": ",", ",": "."}
"""The decimal separators, each with what separates thousands then, besides spaces."""

GROUPED = {
    sign: f"[0-9]{{1,3}}([{separator}{SPACES}][0-9]{{3}})+" for sign, separator in OTHER.items()
}
SEPARATED = {
    sign: rf"^\s*[-+]?([0-9]+|{grouped})([{sign}][0-9]*)?\s*$" for sign, grouped in GROUPED.items()
}
"""Numbers with separators, by what the decimal separator is: 1,234.5 and 1.234,5."""

SURELY = {
    sign: rf"^\s*[-+]?([0-9]*[{sign}]([0-9]{{1,2}}|[0-9]{{4,}})|{grouped}[{sign}][0-9]*"
    rf"|[0-9]{{1,3}}([{OTHER[sign]}][0-9]{{3}}){{2,}})\s*$"
    for sign, grouped in GROUPED.items()
}
"""Numbers that can be meant in one way only."""

SIGNS = "$€£¥%"
"""Signs of currencies, and of per cent: numbers are read as they stand before or behind one."""

BEFORE, BEHIND = rf"^\s*([-+]?)\s*[{SIGNS}]\s*([-+]?)", rf"\s*[{SIGNS}]\s*$"

MOSTLY = 10
"""A decimal sign is assumed if it occurs at least this many times as often as the other."""


class Written(NamedTuple):
    """How the numbers of a column of text are written: decimal separator, and sign."""

    decimal: str | None = None
    sign: str | None = None

    def __str__(self) -> str:
        parts = [f"in {self.sign}"] if self.sign else []
        if self.decimal is not None:
            parts.append(f"read with a decimal {'comma' if self.decimal == ',' else 'point'}")
        return ", ".join(parts)


PLAIN = Written()


def written_of(table: Any, column: str, stated: str | None, *, whole: bool = False) -> Written:
    """How the numbers of a column are written, if it is text with separators or signs.

    Whether 1,234 is a thousand or a little more than one follows from the other numbers of the
    column, or from the fact that all of them are `whole`; otherwise it has to be stated.
    """
    if stated is not None:
        checks.choice("decimal", stated, (".", ","))
    raw = table[column]
    if not raw.type().is_string():
        return PLAIN
    # A test for each sign is far quicker than one by a pattern.
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
        raise InputError(
            "metric", f"metric: {column!r} has amounts in {' and '.join(used)}: convert them first"
        )
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
    raise InputError(
        "decimal",
        f"decimal is missing: every number of {column!r} with a point has three digits behind "
        f"it, such as {example!r}: state whether the point is the decimal separator "
        'with decimal="." or separates thousands with decimal="," (--decimal)',
    )


def _decimal_of_commas(table: Any, column: str, *, whole: bool) -> str | None:
    """The decimal separator of numbers with commas; None where commas are no part of numbers."""
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
    # A few that are written otherwise are excluded and counted.
    if (point and point >= MOSTLY * comma) or (whole and not comma):
        return "."
    if comma and comma >= MOSTLY * point:
        return ","
    problem = (
        "commas both as thousands separators and as decimal separators"
        if point
        else f"ambiguous commas, such as {row['unclear']!r}"
    )
    raise InputError(
        "decimal",
        f"decimal is missing: the numbers of {column!r} have {problem}: state the decimal "
        'separator with decimal="." or decimal="," (--decimal)',
    )


def unsigned(raw: Any) -> Any:
    """A text without the sign before or behind its number."""
    return raw.re_replace(BEFORE, r"\1\2").re_replace(BEHIND, "")


def number(table: Any, column: str, field: str, written: Written = PLAIN) -> tuple[Any, Any]:
    """A column as a number (null where there is none), and whether a row has something else.

    Null, NaN and blank text are all the same: no value. Words for yes and no are 1 and 0.
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
            # Most entries are plain numbers, and take no other test.
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
    """Whether a text is a number, and the text with a point as its only separator."""
    import ibis

    text = raw if written.sign is None else unsigned(raw)
    plain, decimal = text.re_search(NUMBER), written.decimal
    if decimal is None:
        return plain, text
    separated = text.re_search(SEPARATED[decimal])
    digits = text.re_replace(f"[{OTHER[decimal]}{SPACES}]", "").replace(",", ".")
    # Where the comma is the decimal separator, a point is none.
    right = plain | separated if decimal == "." else separated
    return right, ibis.ifelse(separated, digits, text)


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
    (row,) = places.run(table.agg(largest=value.max()))
    if row["largest"] is not None and row["largest"] >= LARGEST_EXACT:
        raise InputError(
            "unit",
            f"unit: numbers such as {row['largest']:.0f} in {column!r} are stored with a fraction, "
            "and so large that several units look alike: store them as text or as whole numbers",
        )
