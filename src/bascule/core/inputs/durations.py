"""Durations as people write them: numbers of seconds, or text such as "12h" or "7 days"."""

from __future__ import annotations

import re

from bascule.core.errors import InputError
from bascule.core.inputs import checks

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
        length = checks.finite(name, duration, remedy)
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
    return checks.read_amount(name, duration, remedy, "7, 7d or 2 weeks")[0]
