"""Checks of values from users, and parsing of numbers and durations as people write them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from bascule.core.errors import InputError, meant

LARGEST = 1e100
"""Largest absolute value of a number; squares and sums of larger ones would overflow."""

SMALLEST_PROBABILITY = 1e-200
"""Smallest probability that is accepted; with smaller ones guarantees cannot be computed."""


def accept(owner: object, field: str, check: Callable[..., Any], *arguments: Any) -> None:
    """Replace the value of a field of a frozen dataclass by what `check` returns for it.

    `arguments` are the arguments of the check after the name of the field and its value.
    """
    object.__setattr__(owner, field, check(field, getattr(owner, field), *arguments))


def accept_given(owner: object, field: str, check: Callable[..., Any], *arguments: Any) -> None:
    """Check a field of a frozen dataclass as `accept` does, unless its value is None."""
    if getattr(owner, field) is not None:
        accept(owner, field, check, *arguments)


def number(field: str, value: object, remedy: str) -> float:
    """Return a value as a float; raise `InputError` unless it is a real number and not NaN.

    >>> number("sigma", 2, "give a number")
    2.0
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        written = _without_text(value)
        raise InputError(field, f"{field} must be a number{written} (got {value!r}): {remedy}")
    try:
        accepted = float(value)
    except OverflowError:
        raise InputError(field, f"{field} is too large to compute with: {remedy}") from None
    if math.isnan(accepted):
        raise InputError(field, f"{field} must be a number (got nan): {remedy}")
    return accepted


def _without_text(value: object) -> str:
    """Return a hint how to write a number that was given as text; empty for other values."""
    try:
        return f", as {read_number(value)[0]:g}" if isinstance(value, str) else ""
    except ValueError:
        return ""


def number_in(value: object) -> float:
    """Return a value as a float; nan if it is no real number. True and False are 1 and 0.

    >>> number_in(True), number_in("ten")
    (1.0, nan)
    """
    if not isinstance(value, (Real, np.bool_)):
        return math.nan
    try:
        return float(value)
    except (ArithmeticError, ValueError, TypeError):
        return math.nan


def finite(field: str, value: object, remedy: str) -> float:
    """Return a value as a float; raise `InputError` unless it is finite and at most `LARGEST`.

    >>> finite("value", -1, "an outcome is a number")
    -1.0
    """
    accepted = number(field, value, remedy)
    if abs(accepted) > LARGEST:
        raise InputError(
            field,
            f"{field} must be finite and at most {LARGEST:g} in absolute value (got {accepted:g}): "
            f"{remedy}",
        )
    return accepted


def positive(field: str, value: object, remedy: str) -> float:
    """Return a value as a float; raise `InputError` unless it is above 0 and not too extreme.

    >>> positive("sigma", 0.5, "give a number above 0")
    0.5
    """
    accepted = number(field, value, remedy)
    if not 0 < accepted < math.inf:
        raise InputError(field, f"{field} must be above 0 and finite (got {accepted:g}): {remedy}")
    if not 1 / LARGEST <= accepted <= LARGEST:
        raise InputError(
            field,
            f"{field} must lie between {1 / LARGEST:g} and {LARGEST:g} (got {accepted:g}): "
            f"{remedy}",
        )
    return accepted


def probability(field: str, value: object, remedy: str) -> float:
    """Return a value as a float; raise `InputError` unless it is strictly between 0 and 1.

    >>> probability("error", 0.05, "0.05 is usual")
    0.05
    """
    accepted = number(field, value, remedy)
    if not 0 < accepted < 1:
        raise InputError(
            field, f"{field} must lie strictly between 0 and 1 (got {accepted:g}): {remedy}"
        )
    if accepted < SMALLEST_PROBABILITY:
        raise InputError(
            field, f"{field} must be at least {SMALLEST_PROBABILITY:g} (got {accepted:g}): {remedy}"
        )
    return accepted


def choice(field: str, value: object, accepted: tuple[str, ...]) -> None:
    """Raise `InputError` unless a value is one of the `accepted` words.

    >>> choice("stop", "mixture", ("intervals", "mixture"))
    """
    if value not in accepted:
        words = " or ".join(f'"{word}"' for word in accepted)
        raise InputError(field, f"{field} must be {words} (got {value!r}){meant(value, accepted)}")


def whole(field: str, value: object, minimum: int, remedy: str, maximum: int | None = None) -> int:
    """Return a value as an int; raise `InputError` unless it is a whole number in a range.

    >>> whole("runs", 10, 1, "1000 is a good start")
    10
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(field, f"{field} must be a whole number (got {value!r}): {remedy}")
    accepted = int(value)
    if accepted < minimum:
        raise InputError(field, f"{field} must be at least {minimum} (got {accepted}): {remedy}")
    if maximum is not None and accepted > maximum:
        raise InputError(field, f"{field} must be at most {maximum} (got {accepted}): {remedy}")
    return accepted


FACTORS = {"k": 1e3, "K": 1e3, "M": 1e6}

# A comma is accepted only before groups of three digits: in 0,05 it is probably a decimal sign.
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?")


def read_number(text: str) -> tuple[float, bool]:
    """Return the number in a text, and whether it is a percentage; ValueError if there is none.

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
    """Return a number that is given as a number or as text; 5% is 0.05, and 5k is 5,000.

    >>> amount("baseline", "5%", "give a number"), amount("baseline", 20, "give a number")
    (0.05, 20.0)
    """
    if not isinstance(value, str):
        return finite(field, value, remedy)
    return finite(field, read_amount(field, value, remedy)[0], remedy)


AMOUNTS, WHOLE_NUMBERS = "0.05, 5%, 5000 or 5k", "3, 5000 or 5k"
"""Examples of numbers as people write them, and of whole numbers."""


def read_amount(field: str, text: str, remedy: str, examples: str = AMOUNTS) -> tuple[float, bool]:
    """Return the number in a text, and whether it is a percentage; InputError if there is none."""
    try:
        return read_number(text)
    except ValueError:
        raise InputError(
            field,
            f"{field} must be a number (got {text!r:.60}), as {examples}: {remedy}",
        ) from None


def tidy(value: float) -> float:
    """Return a number without rounding errors in its last digits, such as 0.3 for 0.1 + 0.2.

    >>> tidy(0.05 + 0.01)
    0.06
    """
    return float(f"{value:.12g}")


SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
LONGEST = 100 * 366 * SECONDS["d"]

WORDS = {"sec": "s", "second": "s", "min": "m", "minute": "m", "hour": "h", "day": "d", "week": "w"}
"""Abbreviations of units of time, by their names in the singular."""

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]+)")


def seconds(name: str, duration: object) -> float:
    """Return a duration in seconds, given as a number of seconds or text such as "12h" or "7d".

    >>> seconds("window", "7d"), seconds("window", "7 days"), seconds("window", 90)
    (604800.0, 604800.0, 90.0)
    """
    remedy = 'give seconds, or text such as "12h" or "7d"'
    if isinstance(duration, str):
        remedy = "write it with its unit, as 12h or 7d"
        read = _DURATION.fullmatch(duration.strip())
        word = "" if read is None else read[2].lower()
        unit = word if word in SECONDS else WORDS.get(word.removesuffix("s"))
        if read is None or unit is None:
            raise InputError(name, f"{name} must be a duration (got {duration!r}): {remedy}")
        length = float(read[1]) * SECONDS[unit]
    else:
        length = finite(name, duration, remedy)
    if not 0.0 <= length <= LONGEST:
        raise InputError(
            name, f"{name} must lie between 0 and 100 years (got {duration}): {remedy}"
        )
    return length


def days(name: str, duration: str, remedy: str) -> float:
    """Return a number of days from text: a number, or a duration with its unit.

    >>> days("min_days", "7", "give days"), days("min_days", "2 weeks", "give days")
    (7.0, 14.0)
    """
    if _DURATION.fullmatch(duration.strip()):
        return seconds(name, duration) / SECONDS["d"]
    return read_amount(name, duration, remedy, "7, 7d or 2 weeks")[0]
