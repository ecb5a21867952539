"""Clocks that give a live test its time, and checks that detect a wrong clock.

A store has one clock, given when it is opened; by default it is the machine's. A wrong clock ruins
a test for good: if it is two days ahead, units are counted two days before their outcomes are
complete. So the time is checked before it is used, and a call at a wrong time is refused and
changes nothing.

- The machine's clock must not jump: it is compared with how long the machine has been running.
- On PostgreSQL it must agree with the database's clock, within a minute. Changes then have the
  database's time, so that programs whose clocks differ agree on their order.
- An experiment that was created on the machine's clock runs on it for ever: a clock that you give
  to `open` may be used with it only while it agrees with the machine's.
- An experiment that was created on a clock of your own (a replay, a test, a demonstration) takes
  any clock that does not run backwards; you are responsible for its times.
- No unit is enrolled while the clock is more than a minute behind the arrival of the last unit.

One case is not noticed: the clock of a single machine was wrong before it opened a SQLite file, and
is later than all times in the file.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol

from bascule.core.approximate import about
from bascule.core.calendar import DAY
from bascule.core.errors import ClockError, invalid
from bascule.core.inputs.checks import number_in, seconds

_BOOT_TIME = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
# Seconds since the machine was started, including sleep if the system can tell.
_running: Callable[[], float] = (
    time.monotonic if _BOOT_TIME is None else partial(time.clock_gettime, _BOOT_TIME)
)

TOLERANCE = 60.0
"""Maximum difference, in seconds, between two clocks that are considered to agree."""


class Clock(Protocol):
    """Protocol of a clock: an object that tells the time."""

    def now(self) -> float:
        """Return the time in seconds since 1970-01-01 in UTC."""


class SystemClock:
    """The clock of the machine."""

    def now(self) -> float:
        """Return the time in seconds since 1970-01-01 in UTC."""
        return time.time()


class ManualClock:
    """A clock that moves only by `advance`, for tests and examples.

    It starts at `start`, a `datetime` with a time zone, or at 2026-01-01 in UTC.

    >>> from datetime import UTC, datetime
    >>> clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    >>> clock.advance("7d")
    >>> datetime.fromtimestamp(clock.now(), UTC).isoformat()
    '2026-01-08T00:00:00+00:00'
    """

    def __init__(self, start: datetime | None = None) -> None:
        if start is None:
            start = datetime(2026, 1, 1, tzinfo=UTC)
        if not isinstance(start, datetime) or start.tzinfo is None:
            raise invalid(
                f"start must be a datetime with a time zone (got {start!r:.60}), as "
                "datetime(2026, 1, 1, tzinfo=UTC)"
            )
        self._now = start.timestamp()

    def now(self) -> float:
        """Return the time in seconds since 1970-01-01 in UTC."""
        return self._now

    def advance(self, by: float | str) -> None:
        """Move the clock forward by a number of seconds, or by text such as "12h" or "7d"."""
        self._now += seconds("by", by)


class ClockGuard:
    """Reads a clock, and raises `ClockError` if its time cannot be right.

    >>> ClockGuard(SystemClock()).now("machine") > 0
    True
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.kind = "machine" if isinstance(clock, SystemClock) else "given"
        # The last reading: the time of the machine's clock, and the seconds since the machine was
        # started.
        self._last = time.time(), _running()

    def now(self, kind: str, database_time: float | None = None) -> float:
        """Return the time for an experiment, in seconds; raise `ClockError` if it cannot be right.

        `kind` is the kind of clock on which the experiment was created: "machine" or "given".
        `database_time` is the present time of the database's own clock, None if it has none.
        """
        now = self._clock.now()
        # This runs for every transaction: a float, the most common case, needs no conversion.
        if not math.isfinite(now if type(now) is float else number_in(now)):
            raise ClockError(
                f"the clock gives {now}, which is not a time in seconds; nothing of this call was "
                "kept"
            )
        if self.kind != "machine" and kind != "machine":
            return now
        machine = now if self.kind == "machine" else time.time()
        self._check_jump(machine)
        if database_time is not None and abs(machine - database_time) > TOLERANCE:
            raise ClockError(
                f"this machine's clock is {_apart(machine, database_time)} the database's: set it "
                "right; nothing of this call was kept"
            )
        if self.kind != "machine" and abs(now - machine) > TOLERANCE:
            raise ClockError(
                f"the clock given to open() is {_apart(now, machine)} the machine's, with "
                "which this experiment was created: open the store without a clock; nothing of "
                "this call was kept"
            )
        return now if database_time is None or self.kind != "machine" else database_time

    def _check_jump(self, machine: float) -> None:
        last, running_then = self._last
        running = _running()
        expected = last + running - running_then
        if abs(machine - expected) > TOLERANCE:
            raise ClockError(
                f"this machine's clock has jumped and is {_apart(machine, expected)} where it "
                "should be: set it right, or open the store again if it is right now; nothing of "
                "this call was kept"
            )
        self._last = machine, running


def moment(now: float) -> datetime:
    """Return seconds since 1970 as a `datetime` in UTC, limited to the years 1 to 9999.

    >>> moment(0.0).isoformat(), moment(-1e12).isoformat()
    ('1970-01-01T00:00:00+00:00', '0001-01-01T00:00:00+00:00')
    """
    try:
        return datetime.fromtimestamp(0, UTC) + timedelta(seconds=now)
    except (OverflowError, ValueError):
        late = isinstance(now, float) and now > 0
        return (datetime.max.replace(microsecond=0) if late else datetime.min).replace(tzinfo=UTC)


def _apart(now: float, other_time: float) -> str:
    direction = "ahead of" if now > other_time else "behind"
    return f"{about(abs(now - other_time) / DAY)} {direction}"
