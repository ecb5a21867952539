"""Units and events as callers give them, and as they are stored."""

from __future__ import annotations

from datetime import datetime
from numbers import Integral
from typing import Any

from bascule.core.errors import InputError
from bascule.live.steps.maturity import Event

LONGEST_UNIT = 500


def checked_unit(unit: object, field: str = "unit") -> str:
    """A unit's name as it is stored; a whole number is the same as its digits.

    >>> checked_unit(42)
    '42'
    """
    if type(unit) is str and 0 < len(unit) <= LONGEST_UNIT and unit.isascii() and "\0" not in unit:
        # What nearly everyone gives.
        return unit
    if not isinstance(unit, (str, bool)) and isinstance(unit, Integral):
        unit = str(int(unit))
    if not isinstance(unit, str) or not unit or len(unit) > LONGEST_UNIT:
        raise InputError(
            field,
            f"{field} must be text of 1 to {LONGEST_UNIT} characters, or a whole number "
            f"(got {unit!r:.60})",
        )
    if "\0" in unit or not unit.isascii():
        try:
            unit.encode()
        except UnicodeEncodeError:
            raise InputError(field, f"{field} must be valid text (got {unit!r:.60})") from None
        if "\0" in unit:
            raise InputError(field, f"{field} must not have a zero character (got {unit!r:.60})")
    return unit


def event_of(given: tuple[Any, ...] | Event) -> Event:
    """An event from (unit, value), (unit, value, at) or (unit, value, at, id)."""
    if isinstance(given, Event):
        return given
    if not isinstance(given, (tuple, list)) or not 2 <= len(given) <= 4:
        raise InputError(
            "outcome",
            f"an outcome is (unit, value), (unit, value, at) or (unit, value, at, id) "
            f"(got {given!r:.60})",
        )
    unit, value, at, name = (*given, None, None)[:4]
    if at is not None and isinstance(at, datetime):
        if at.tzinfo is None:
            raise InputError("at", f"at needs a time zone (got {at.isoformat()})")
        at = at.timestamp()
    elif at is not None:
        raise InputError("at", f"at must be a datetime with a time zone (got {at!r:.60})")
    if name is not None:
        name = checked_unit(name, "id")
    return Event(checked_unit(unit), value, at, name)
