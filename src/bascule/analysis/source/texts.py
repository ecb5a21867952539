"""Numbers and times that are text: quick tests that most entries pass, so few need slow ones."""

from __future__ import annotations

from typing import Any

from bascule.analysis.source.backend import Record

BLANK_TEXTS = ("", "nan", "null", "na", "n/a", "n.a.", "#n/a", "<na>", "none", "-", "\\n")
"""Text that stands for no value, in any case and with spaces around it."""

LONGEST = 17
"""Digits and signs of a number that is surely read as it is written."""

FEWEST_GROUPED = 3
"""Points that may separate thousands make a column unclear from this many on."""

KINDS = ("int64", "float64", "timestamp")
"""Types that a column of text may surely have, the narrowest first."""


def surely(text: Any, kind: str) -> Any:
    """Whether a text is surely of one of the `KINDS`, and read as it is written.

    It is false for some, such as numbers with spaces and times without seconds.
    """
    import ibis

    if kind == "timestamp":
        same = text.try_cast("timestamp").cast("string") == text
        return (same | (text.try_cast("date").cast("string") == text)).fill_null(False)
    if kind == "int64":
        return (text.try_cast("int64").cast("string") == text).fill_null(False)
    # No leading zero, no word such as inf; DuckDB also reads 1_000 as a number.
    digits = ibis.ifelse(text.startswith("-"), text.substr(1), text)
    begins = ((digits >= "1") & (digits < ":")) | (digits == "0") | digits.startswith("0.")
    plain = begins & ~text.contains("_") & (text.length() <= LONGEST)
    return (plain & text.try_cast("float64").notnull()).fill_null(False)


def points(text: Any, name: str = "") -> dict[str, Any]:
    """Count numbers such as 1.234, numbers with a point, and whole numbers below a thousand."""
    at, length = text.find("."), text.length()
    begins, negative = (text >= "1") & (text < ":"), text.startswith("-")
    grouped = (begins & (at <= 3)) | (negative & (at > 1) & (at <= 4))
    return {
        f"grouped{name}": (grouped & (at > 0) & ((length - at) % 4 == 0)).sum(),
        f"pointed{name}": (at >= 0).sum(),
        f"whole{name}": (begins & (at < 0) & (length <= 3)).sum(),
    }


def unclear_points(row: Record, name: str = "") -> int:
    """How many numbers of a column may have points that separate thousands; 0 if none may.

    >>> unclear_points({"grouped0": 9, "pointed0": 9, "whole0": 4}, "0")
    9
    """
    grouped, pointed, whole = (
        int(row.get(f"{form}{name}") or 0) for form in ("grouped", "pointed", "whole")
    )
    return grouped if grouped == pointed and grouped >= FEWEST_GROUPED and whole else 0
