"""Check units, values and times from callers before anything else uses them.

Checked input cannot make a transaction or a listing fail, so a bad value fails its own caller and
nobody else's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from numbers import Integral
from typing import Any

from bascule.core.errors import InputError, invalid
from bascule.core.inputs.checks import number_in
from bascule.core.metrics.metric import PRIMARY
from bascule.core.outcomes import Pair
from bascule.live.steps.maturity import Event, NotANumber
from bascule.live.storage.names import PREFIX, is_storable

NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
"""Valid names of experiments."""

LONGEST_UNIT = 500


LONGEST_DESCRIPTION = 10_000

LONGEST_VALUE = 200
"""Maximum number of characters of an excluded value in a listing."""

EARLIEST = datetime(1900, 1, 1, tzinfo=UTC).timestamp()
LATEST = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
"""Latest time of an outcome; like `EARLIEST`, it is a valid date in every time zone."""


def check_name(name: object) -> None:
    """Raise `InputError` unless an experiment may have this name.

    >>> check_name("checkout-button")
    """
    if not isinstance(name, str) or not NAME.fullmatch(name) or name in (".", ".."):
        raise invalid(
            "name must be 1 to 100 letters, digits, dots, dashes or underscores "
            f"(got {name!r:.60})",
        )


def check_actor(actor: object) -> None:
    """Raise `InputError` unless the audit log can name this actor.

    >>> check_actor("ann@shop.example")
    """
    if not isinstance(actor, str) or not actor.isprintable() or not 0 < len(actor) <= LONGEST_UNIT:
        raise invalid(
            f"actor must be one line of 1 to {LONGEST_UNIT} printable characters "
            f"(got {shown_value(actor):.60})",
        )


def checked_description(text: object) -> str:
    """Return a description without white space at its ends; raise `InputError` if it is invalid.

    >>> checked_description("Green sells more")
    'Green sells more'
    """
    if not isinstance(text, str) or not re.sub(r"[\n\r\t]", "", text).isprintable():
        raise invalid(f"description must be printable text (got {shown_value(text):.60})")
    if len(text) > LONGEST_DESCRIPTION:
        raise invalid(
            f"description must have at most {LONGEST_DESCRIPTION:,} characters (got {len(text):,})",
        )
    return text.strip()


def check_listed(field: str, values: object) -> None:
    """Raise `InputError` unless `values` is an iterable other than text, bytes or a mapping.

    >>> check_listed("units", ["user-42"])
    """
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InputError(field, f"{field} must be a list (got {shown_value(values):.60})")


def checked_unit(unit: object, field: str = "unit") -> str:
    """Return a unit's name as it is stored; an integer becomes its digits.

    >>> checked_unit(42)
    '42'
    """
    name = checked_text(unit, field)
    if name.startswith(PREFIX):
        raise invalid(
            f"{field} must not begin with {PREFIX!r}, which stands for erased units "
            f"(got {name!r:.60}): name the unit otherwise, such as {'user-' + name!r:.60}",
        )
    return name


def checked_text(text: object, field: str) -> str:
    """Return a text from a caller, such as an event id, as it is stored.

    >>> checked_text(1001, "id")
    '1001'
    """
    if type(text) is str and 0 < len(text) <= LONGEST_UNIT and text.isascii() and "\0" not in text:
        # The most common case.
        return text
    if not isinstance(text, (str, bool)) and isinstance(text, Integral):
        text = _digits(text)
    if not isinstance(text, str) or not text or len(text) > LONGEST_UNIT:
        raise invalid(
            f"{field} must be text of 1 to {LONGEST_UNIT} characters, or a whole number "
            f"(got {shown_value(text):.60})",
        )
    if not is_storable(text):
        raise invalid(
            f"{field} must be valid text without zero characters (got {shown_value(text):.60})",
        )
    return text


def _digits(number: Integral) -> object:
    try:
        return str(int(number))
    except ValueError:
        # Python refuses to write out integers of thousands of digits.
        return number


def checked_value(value: object) -> float | NotANumber | Pair:
    """Return the value of an outcome as a float, or as `NotANumber` if it is not a finite number.

    The numerator and denominator of a ratio become a `Pair`.

    >>> checked_value(True), checked_value("ten"), checked_value(10**5000)
    (1.0, 'ten', a whole number of about 5,000 digits)
    """
    if type(value) is float:
        return value if math.isfinite(value) else NotANumber(repr(value))
    number = number_in(value)
    if math.isfinite(number):
        return number
    if isinstance(value, (tuple, list)) and len(value) == 2:
        parts = [checked_value(part) for part in value]
        if all(type(part) is float for part in parts):
            return Pair(*parts)  # type: ignore[arg-type]
    return NotANumber(shown_value(value))


def shown_value(value: object) -> str:
    """Return any value as short text, even if its own `repr` fails.

    >>> shown_value("abc"), shown_value(10**5000)
    ("'abc'", 'a whole number of about 5,000 digits')
    """
    if isinstance(value, (str, bytes)):
        value = value[:LONGEST_VALUE]
    elif isinstance(value, int) and value.bit_length() > 1000:
        return f"a whole number of about {int(value.bit_length() * math.log10(2)):,} digits"
    try:
        text = repr(value)
    except Exception:
        text = f"a value of type {type(value).__name__}"
    # Databases reject lone surrogates and zero characters.
    return text[:LONGEST_VALUE].encode(errors="backslashreplace").decode().replace("\0", "\\x00")


def checked_time(at: object) -> float | None:
    """Return a time in seconds since 1970-01-01 in UTC, or None if `at` is None.

    Raise `InputError` if it has no time zone, or lies outside the years 1900 to 9998.

    >>> checked_time(datetime(2026, 1, 1, tzinfo=UTC))
    1767225600.0
    """
    if at is None:
        return None
    if not isinstance(at, datetime) or at.tzinfo is None:
        raise invalid(f"at must be a datetime with a time zone (got {shown_value(at):.60})")
    moment = (at - datetime.fromtimestamp(0, UTC)).total_seconds()
    if not EARLIEST <= moment <= LATEST:
        raise invalid(f"at must lie between the years 1900 and 9998 (got {at.isoformat()})")
    return moment


def checked_metric(metric: object) -> str | None:
    """Return the name of a metric as it is stored; None stands for the primary metric.

    >>> checked_metric("spend"), checked_metric(PRIMARY)
    ('spend', None)
    """
    return None if metric is None or metric == PRIMARY else checked_text(metric, "metric")


def event_of(event: tuple[Any, ...] | Event) -> Event:
    """Return an event from a tuple: unit, value, and optionally time, id and metric, in this order.

    An outcome without a unit needs the id of another outcome that names the unit.

    >>> event_of(("user-42", 1))
    Event(unit='user-42', value=1.0, at=None, id=None, exposed=True, metric=None)
    """
    if isinstance(event, Event):
        # An `Event` was created by this function, or by the service from a checked request.
        return event
    if not isinstance(event, (tuple, list)) or not 2 <= len(event) <= 5:
        raise InputError(
            "outcome",
            f"an outcome is (unit, value), (unit, value, at), (unit, value, at, id) or (unit, "
            f"value, at, id, metric) (got {shown_value(event):.60})",
        )
    unit, value, at, name, metric = (*event, None, None, None)[:5]
    if name is not None:
        name = checked_text(name, "id")
    by_id = unit in (None, "") and name is not None
    return Event(
        "" if by_id else checked_unit(unit),
        checked_value(value),
        checked_time(at),
        name,
        metric=checked_metric(metric),
    )
