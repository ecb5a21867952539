"""The blocks of a log: days, parts of days, or periods of constant weights."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from bascule.analysis.source.places import Record
from bascule.core.errors import InputError

MOST_DAYS = 4000
"""More days than this are no test, but times that were misread."""

Block = str
"""Period within which units are compared: "day", "week", "hour", or some hours, as "6h"; "period"
for days that end early where the stated weights changed."""

WEEK, HOURS = 7, 24

PERIOD = "period"


def block_hours(block: Block) -> int:
    """The hours of a block that is no longer than a day; 24 for a week, which is made of days.

    >>> block_hours("hour"), block_hours("6h"), block_hours("day")
    (1, 6, 24)
    """
    if block in ("day", "week", PERIOD):
        return HOURS
    hours = "1" if block == "hour" else block.removesuffix("h")
    if not hours.isdecimal() or not int(hours) or HOURS % int(hours):
        raise InputError(
            "block",
            f'block must be "day", "week", "hour", or hours that make up a day, such as "6h" (got '
            f"{block!r})",
        )
    return int(hours)


class Blocks(NamedTuple):
    """How the time of a log is divided into blocks: by `hours` of days, and at `changes` of shares.

    >>> noon = Blocks(changes=(datetime(2026, 3, 2, 12),))
    >>> list(noon.places([date(2026, 3, 1), date(2026, 3, 2)]))[1:]
    [(datetime.date(2026, 3, 2), 0, 0), (datetime.date(2026, 3, 2), 0, 1)]
    """

    hours: int = HOURS
    changes: tuple[datetime, ...] = ()

    @property
    def whole_days(self) -> bool:
        """Whether no block is shorter than a day."""
        return self.hours == HOURS and all(change.time() == time.min for change in self.changes)

    def period(self, row: Record, name: str = "day") -> int:
        """The period of constant shares that a reduced row belongs to, by its day if that tells."""
        if "period" in row and self.changes:
            return int(row["period"])
        midnight = datetime.combine(row[name], time.min)
        return sum(midnight >= change for change in self.changes)

    def places(self, days: Iterable[date]) -> dict[tuple[date, int, int], int]:
        """The number of each block, by its day, its part of the day, and its period."""
        keys = []
        for day in days:
            for part in range(HOURS // self.hours):
                start = datetime.combine(day, time(part * self.hours))
                end = start + timedelta(hours=self.hours)
                first = sum(change <= start for change in self.changes)
                last = sum(change < end for change in self.changes)
                keys += [(day, part, period) for period in range(first, last + 1)]
        return {key: number for number, key in enumerate(keys)}

    def place(self, row: Record, name: str = "day") -> tuple[date, int, int]:
        """The day, the part of it and the period of a reduced row."""
        return row[name], (row.get("hour") or 0) // self.hours, self.period(row, name)


DAYS = Blocks()
"""Blocks that are days."""


def days_between(first: date, last: date) -> tuple[date, ...]:
    """All days from the first to the last.

    >>> len(days_between(date(2026, 2, 27), date(2026, 3, 2)))
    4
    """
    count = (last - first).days + 1
    if count > MOST_DAYS:
        raise InputError(
            "time",
            f"time: the log goes from {first} to {last}: if times are read wrongly, give "
            "time_format (--time-format), for example %d/%m/%y",
        )
    return tuple(first + timedelta(days=i) for i in range(count))
