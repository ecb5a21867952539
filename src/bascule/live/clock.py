"""Where a live test gets its time from: one clock, given when the store is opened."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

from bascule.core.measure import seconds


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> float:
        """Seconds since 1970-01-01 in UTC."""


class SystemClock:
    """The clock of the machine."""

    def now(self) -> float:
        """Seconds since 1970-01-01 in UTC."""
        return time.time()


class FastClock:
    """The clock of the machine, so many times as fast from now on: a day in a few seconds.

    >>> FastClock(3600).now() > 0
    True
    """

    def __init__(self, factor: float) -> None:
        self._factor = factor
        self._start = time.time()

    def now(self) -> float:
        """Seconds since 1970-01-01 in UTC."""
        return self._start + self._factor * (time.time() - self._start)


class ManualClock:
    """A clock that moves only when told to, so that a month passes in a second.

    >>> clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    >>> clock.advance("7d")
    >>> moment(clock.now()).isoformat()
    '2026-01-08T00:00:00+00:00'
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._now = (start or datetime(2026, 1, 1, tzinfo=UTC)).timestamp()

    def now(self) -> float:
        """Seconds since 1970-01-01 in UTC."""
        return self._now

    def advance(self, by: float | str) -> None:
        """Let time pass: seconds, or text such as "12h" or "7d"."""
        self._now += seconds("by", by)


def moment(now: float) -> datetime:
    """A time of the clock as a date.

    >>> moment(0.0).isoformat()
    '1970-01-01T00:00:00+00:00'
    """
    return datetime.fromtimestamp(now, UTC)
