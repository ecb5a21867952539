"""The small table that travels: sums per arm and day, laid out as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple

import numpy as np

from bascule.analysis.reduce.query import Row
from bascule.analysis.reduce.scores import Scores
from bascule.analysis.reduce.scores import laid_out as scores_of
from bascule.analysis.source.rows import TWO_ARMS, TWO_SEGMENTS
from bascule.core.errors import InputError
from bascule.core.procedures.interval_state import FloatArray
from bascule.core.statistics import ArmStatistics, Statistics

MOST_DAYS = 4000
"""More days than this are no test, but times that were misread."""


class Growth(NamedTuple):
    """What outcomes grew by, per day of arrival, day and arm.

    Sums over units of the steps of their outcomes, of the steps of the squares and of the cubes of
    their outcomes, and of the squares of the steps.
    """

    totals: FloatArray
    squares: FloatArray
    own: FloatArray
    cubes: FloatArray


@dataclass(frozen=True, slots=True)
class Sums:
    """What the units of each arm (columns) that arrived on each day (rows) have shown.

    `totals`, `squares` and `cubes` are sums of the outcomes as they stand at the end of the log,
    of their squares and of their third powers; without cubes an estimated spread decides nothing.
    `growth` is there where outcomes keep growing. With `bare` nothing but units was counted.
    """

    days: tuple[date, ...]
    units: FloatArray
    totals: FloatArray
    squares: FloatArray
    lows: FloatArray
    highs: FloatArray
    growth: Growth | None = None
    scores: Scores | None = None
    bare: bool = False
    cubes: FloatArray | None = None

    @classmethod
    def of_units(cls, days: tuple[date, ...], units: FloatArray) -> Sums:
        """Nothing but the units that came on each day."""
        nothing = np.zeros(units.shape)
        return cls(days, units, nothing, nothing, nothing, nothing, bare=True)

    @property
    def zero_or_one(self) -> bool:
        """Whether every outcome is 0 or 1."""
        some = self.units > 0
        return bool(
            np.all(self.lows[some] >= 0.0)
            and np.all(self.highs[some] <= 1.0)
            and np.allclose(self.totals, self.squares, rtol=1e-12)
        )

    def arm(self, i: int) -> ArmStatistics:
        """All that one arm has shown."""
        return ArmStatistics(
            int(self.units[:, i].sum()),
            float(self.totals[:, i].sum()),
            float(self.squares[:, i].sum()),
        )

    def statistics(self, last: int | None = None) -> Statistics:
        """What units that arrived before day `last` have shown."""
        cut = [part[:last].sum(axis=0) for part in (self.units, self.totals, self.squares)]
        return Statistics(
            tuple(
                ArmStatistics(int(n), float(total), float(squares))
                for n, total, squares in zip(*cut, strict=True)
            )
        )

    def periods(self) -> list[Statistics]:
        """What the units that arrived on each day have shown, for the diagnostics."""
        return [
            Statistics(
                tuple(
                    ArmStatistics(int(n), float(total), float(squares))
                    for n, total, squares in zip(*parts, strict=True)
                )
            )
            for parts in zip(self.units, self.totals, self.squares, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Table:
    """The reduced table: the sums of each segment, and what was excluded on the way.

    `excluded` counts the units without any value, where these were not to count.
    """

    segments: dict[str, Sums]
    aside: dict[str, int]
    rows: int
    clipped: int = 0
    early: int = 0
    late: int = 0
    outside: float = 0.0
    events: int = 0
    excluded: int = 0


def table_of(
    rows: Sequence[Row],
    arms: int,
    *,
    missing: float = 0.0,
    arrivals: Sequence[Row] | None = None,
    step: int = 1,
) -> Table:
    """Lay reduced rows out, a segment at a time.

    Rows of `growth` have an arrival and a day, others a day only. `arrivals` count the units where
    the rows of growth do not; `step` is how many days a period has.
    """
    kept: dict[str, list[Row]] = {}
    counted: dict[str, list[Row]] = {}
    aside = {"unit in two arms": 0, "unit in two segments": 0}
    for row in rows if arrivals is None else [*arrivals]:
        units = int(row["units"] or 0)
        if row["arm"] == TWO_ARMS:
            aside["unit in two arms"] += units
        elif row["arm"] == TWO_SEGMENTS:
            aside["unit in two segments"] += units
    for row in rows:
        if row["arm"] is not None and row["arm"] >= 0:
            kept.setdefault(row.get("segment", ""), []).append(row)
    for row in arrivals or ():
        if row["arm"] is not None and row["arm"] >= 0:
            counted.setdefault(row.get("segment", ""), []).append(row)
            kept.setdefault(row.get("segment", ""), [])

    def added(name: str) -> float:
        return sum(row.get(name) or 0 for some in kept.values() for row in some)

    return Table(
        {
            name: _laid_out(kept[name], arms, missing, counted.get(name), step)
            for name in sorted(kept)
        },
        {reason: n for reason, n in aside.items() if n},
        int(added("rows")),
        int(added("clipped")),
        int(added("early")),
        int(added("late") or (added("rows") - added("kept") if added("kept") else 0)),
        float(added("outside")),
        int(added("events")),
        int(added("excluded")),
    )


def _laid_out(
    rows: list[Row], arms: int, missing: float, arrivals: list[Row] | None, step: int
) -> Sums:
    all_rows = [*rows, *(arrivals or ())]
    first = min(as_date(row.get("arrival", row["day"])) for row in all_rows)
    last = max(as_date(row["day"]) for row in all_rows)
    days = days_between(first, last)[::step]

    def place(day: date | int) -> int:
        return (as_date(day) - first).days // step

    grows = any("arrival" in row for row in rows)
    shape = (len(days), arms)
    units, lows, highs = np.zeros(shape), np.full(shape, np.inf), np.full(shape, -np.inf)
    totals, squares, own, cubes = (np.zeros((len(days), *shape)) for _ in range(4))
    for row in rows:
        day, arm = place(row["day"]), row["arm"]
        came = place(row["arrival"]) if grows else day
        if arrivals is None:
            units[came, arm] += row["units"]
        if row["low"] is None:
            # Every unit was excluded because it has no value.
            continue
        lows[came, arm] = min(lows[came, arm], row["low"])
        highs[came, arm] = max(highs[came, arm], row["high"])
        totals[came, day, arm] = row["total"]
        squares[came, day, arm] = row["squares"]
        cubes[came, day, arm] = row["cubes"]
        own[came, day, arm] = row.get("own") or 0.0
    for row in arrivals or ():
        came, arm = place(row["day"]), row["arm"]
        units[came, arm] += row["units"]
        lows[came, arm] = min(lows[came, arm], missing)
        highs[came, arm] = max(highs[came, arm], missing)
    if missing and grows:
        # Steps are counted from what a unit has before its first event.
        at = np.arange(len(days))
        totals[at, at] += missing * units
        squares[at, at] += missing**2 * units
        cubes[at, at] += missing**3 * units
    return Sums(
        days,
        units,
        totals.sum(axis=1),
        squares.sum(axis=1),
        lows,
        highs,
        Growth(totals, squares, own, cubes) if grows else None,
        scores_of(rows, first, len(days), arms),
        cubes=cubes.sum(axis=1),
    )


def as_date(day: date | int) -> date:
    """A day as the database gave it: a date, or a number of days since 1970.

    >>> as_date(1)
    datetime.date(1970, 1, 2)
    """
    return date(1970, 1, 1) + timedelta(days=day) if isinstance(day, int) else day


def days_between(first: date, last: date) -> tuple[date, ...]:
    """All days from the first to the last.

    >>> len(days_between(date(2026, 2, 27), date(2026, 3, 2)))
    4
    """
    count = (last - first).days + 1
    if count > MOST_DAYS:
        raise InputError(
            "time", f"time: the log goes from {first} to {last}: is the column read rightly?"
        )
    return tuple(first + timedelta(days=i) for i in range(count))
