"""The blocks of a log: days, parts of days, or periods of constant weights."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from bascule.analysis.source.places import Record
from bascule.core.errors import invalid

MOST_DAYS = 4000
"""Maximum number of days of a log; a longer range means that times were misread."""

Block = str
"""Period within which units are compared: "day", "week", "hour", or some hours, as "6h"; "period"
for days that are divided at the times at which the stated weights changed."""

WEEK, HOURS = 7, 24

PERIOD = "period"


def block_hours(block: Block) -> int:
    """Return the hours of a block of at most a day; 24 for a week, which is merged from days.

    >>> block_hours("hour"), block_hours("6h"), block_hours("day")
    (1, 6, 24)
    """
    if block in ("day", "week", PERIOD):
        return HOURS
    hours = "1" if block == "hour" else block.removesuffix("h")
    if not hours.isdecimal() or not int(hours) or HOURS % int(hours):
        raise invalid(
            f'block must be "day", "week", "hour", or hours that make up a day, such as "6h" (got '
            f"{block!r})",
        )
    return int(hours)


class Blocks(NamedTuple):
    """Division of a log into blocks: every `hours` hours of a day, and at `changes` of the weights.

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
        """Return the number of the period of constant weights of a reduced row.

        If the row has no period, it is the one at the beginning of the row's day, in column `name`.
        """
        if "period" in row and self.changes:
            return int(row["period"])
        midnight = datetime.combine(row[name], time.min)
        return sum(midnight >= change for change in self.changes)

    def places(self, days: Iterable[date]) -> dict[tuple[date, int, int], int]:
        """Return the number of each block, by its day, its part of the day, and its period."""
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
        """Return the day, the part of the day and the period of a reduced row."""
        return row[name], (row.get("hour") or 0) // self.hours, self.period(row, name)


DAYS = Blocks()
"""Blocks that are days."""


def days_between(first: date, last: date) -> tuple[date, ...]:
    """Return all days from the first to the last, inclusive.

    >>> len(days_between(date(2026, 2, 27), date(2026, 3, 2)))
    4
    """
    count = (last - first).days + 1
    if count > MOST_DAYS:
        raise invalid(
            f"time: the log goes from {first} to {last}, which is more than {MOST_DAYS:,} days: if "
            "times are read wrongly, give time_format (--time-format), for example %d/%m/%y",
        )
    return tuple(first + timedelta(days=i) for i in range(count))
