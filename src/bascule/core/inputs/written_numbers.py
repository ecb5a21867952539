"""Numbers as people write them: 5000, 5,000 and 5k are one number, and so are 0.05 and 5%."""

from __future__ import annotations

import re

from bascule.core.errors import InputError
from bascule.core.inputs import checks

FACTORS = {"k": 1e3, "K": 1e3, "M": 1e6}

# Groups of three digits: in 0,05 and 5,5 the comma must stand for something else.
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?")


def read_number(text: str) -> tuple[float, bool]:
    """Return the number that a text has, and whether it is a percentage; raise ValueError if none.

    >>> [read_number(text)[0] for text in ("5000", "5,000", "5k", "0.005M")]
    [5000.0, 5000.0, 5000.0, 5000.0]
    >>> read_number("5 %")
    (0.05, True)
    """
    body = text.strip()
    is_percent = body.endswith("%")
    factor = FACTORS.get(body[-1:], 1.0)
    if is_percent or factor != 1.0:
        body = body[:-1].rstrip()
    if is_grouped(body):
        body = body.replace(",", "")
    value = float(body) * factor
    return (value / 100 if is_percent else value), is_percent


def is_grouped(text: str) -> bool:
    """Return whether commas group the digits of a text in threes.

    >>> is_grouped("5,000"), is_grouped("0,05"), is_grouped("1,100,200.5")
    (True, False, True)
    """
    return _GROUPED.fullmatch(text) is not None


def amount(field: str, value: object, remedy: str) -> float:
    """Return a number, or the number that a text holds; 5% is 0.05, and 5k is 5,000.

    >>> amount("baseline", "5%", "give a number"), amount("baseline", 20, "give a number")
    (0.05, 20.0)
    """
    if not isinstance(value, str):
        return checks.finite(field, value, remedy)
    return checks.finite(field, read_amount(field, value, remedy)[0], remedy)


def read_amount(field: str, text: str, remedy: str) -> tuple[float, bool]:
    """Return the number in a text, and whether it is a percentage; InputError if there is none."""
    try:
        return read_number(text)
    except ValueError:
        raise InputError(
            field,
            f"{field} must be a number (got {text!r:.60}), as 0.05, 5%, 5000 or 5k: {remedy}",
        ) from None


def tidy(value: float) -> float:
    """Return a number without the rounding error of decimal fractions.

    >>> tidy(0.05 + 0.01)
    0.06
    """
    return float(f"{value:.12g}")
