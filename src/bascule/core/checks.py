"""Checks shared by every value that a user builds; each returns the number it accepted."""

from __future__ import annotations

import math
from numbers import Integral, Real

from bascule.core.errors import InputError


def number(field: str, value: object, remedy: str) -> float:
    """Accept any real number but NaN.

    >>> number("sigma", 2, "give a number")
    2.0
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(field, f"{field} must be a number (got {value!r}): {remedy}")
    accepted = float(value)
    if math.isnan(accepted):
        raise InputError(field, f"{field} must be a number (got nan): {remedy}")
    return accepted


def finite(field: str, value: object, remedy: str) -> float:
    """Accept a number that is neither NaN nor infinite.

    >>> finite("value", -1, "an outcome is a number")
    -1.0
    """
    accepted = number(field, value, remedy)
    if math.isinf(accepted):
        raise InputError(field, f"{field} must be finite (got {accepted:g}): {remedy}")
    return accepted


def positive(field: str, value: object, remedy: str) -> float:
    """Accept a finite number above 0.

    >>> positive("sigma", 0.5, "give a number above 0")
    0.5
    """
    accepted = number(field, value, remedy)
    if not 0 < accepted < math.inf:
        raise InputError(field, f"{field} must be above 0 and finite (got {accepted:g}): {remedy}")
    return accepted


def probability(field: str, value: object, remedy: str) -> float:
    """Accept a number strictly between 0 and 1.

    >>> probability("error", 0.05, "0.05 is usual")
    0.05
    """
    accepted = number(field, value, remedy)
    if not 0 < accepted < 1:
        raise InputError(
            field, f"{field} must lie strictly between 0 and 1 (got {accepted:g}): {remedy}"
        )
    return accepted


def whole(field: str, value: object, minimum: int, remedy: str) -> int:
    """Accept a whole number that is at least `minimum`.

    >>> whole("runs", 10, 1, "1000 is a good start")
    10
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(field, f"{field} must be a whole number (got {value!r}): {remedy}")
    accepted = int(value)
    if accepted < minimum:
        raise InputError(field, f"{field} must be at least {minimum} (got {accepted}): {remedy}")
    return accepted
