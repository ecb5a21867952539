"""The table of sums per arm and day, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time
from typing import Any, NamedTuple

import numpy as np

from bascule.analysis.reduce.blocks import DAYS, HOURS, WEEK, Block, Blocks, days_between
from bascule.analysis.reduce.moments import PARTS, PLACE, POWERS, Scores, check_rows, moments_of
from bascule.analysis.reduce.moments import laid_out as scores_of
from bascule.analysis.reduce.tables import TWO_ARMS, TWO_SEGMENTS
from bascule.analysis.source.places import Record
from bascule.core.errors import invalid
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.core.types import FloatArray

MOST_GROWING = 1000
"""Maximum number of days for outcomes that grow; sums for each pair of days then take 64 MB."""

IN_TWO_ARMS = "unit in two arms"


class Axes(NamedTuple):
    """The axes of an array that stand for days, and those that stand for arms."""

    days: tuple[int, ...]
    arms: tuple[int, ...]


BY_ARM, BY_DAY, BY_PAIR = Axes((0,), (1,)), Axes((0, 1), (2,)), Axes((0,), (1, 2))

PUT_TOGETHER = {
    **dict.fromkeys(("units", "totals", "squares", "cubes", "moments"), np.add),
    "lows": np.minimum,
    "highs": np.maximum,
}
"""Functions that merge the arrays of days into arrays of weeks."""

SCORES_TOGETHER = dict.fromkeys((*PARTS, "clock"), np.add) | {"heaviest": np.maximum}


class Growth(NamedTuple):
    """Growth of outcomes, by day of arrival, day and arm.

    `totals` has the sums, over units, of the changes of their outcomes on a day. `squares` and
    `cubes` have those of the changes of the squares and cubes of the outcomes.
    """

    totals: FloatArray
    squares: FloatArray
    cubes: FloatArray


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over the units of each arm (columns) that arrived on each day (rows).

    `totals`, `squares` and `cubes` are sums of the outcomes at the end of the log, of their squares
    and of their third powers; without cubes the skewness is unknown. `growth` is present if
    outcomes keep growing. `moments` are sums of products with denominators and covariates.
    """

    days: tuple[date, ...]
    units: FloatArray
    totals: FloatArray
    squares: FloatArray
    lows: FloatArray
    highs: FloatArray
    growth: Growth | None = None
    scores: Scores | None = None
    cubes: FloatArray | None = None
    moments: FloatArray | None = None

    @classmethod
    def blank(cls, days: tuple[date, ...], arms: int) -> Sums:
        """Return sums of zero units, to be filled."""
        shape = (len(days), arms)
        units, totals, squares = (np.zeros(shape) for _ in range(3))
        return cls(days, units, totals, squares, np.full(shape, np.inf), np.full(shape, -np.inf))

    @property
    def zero_or_one(self) -> bool:
        """Whether every outcome is 0 or 1."""
        present = self.units > 0
        return bool(
            np.all(self.lows[present] >= 0.0)
            and np.all(self.highs[present] <= 1.0)
            and np.allclose(self.totals, self.squares, rtol=1e-12)
        )

    @property
    def two_values(self) -> tuple[float, float] | None:
        """The two values of the outcomes, if there are only two, the lower one not 0; else None."""
        low, high = float(self.lows.min()), float(self.highs.max())
        if self.growth is not None or low == 0.0 or not low < high < np.inf:
            return None
        units, totals, squares = (
            float(part.sum()) for part in (self.units, self.totals, self.squares)
        )
        # The sum of (x - low) (x - high), which is 0 only if every outcome x is one of the two.
        inside = squares - (low + high) * totals + low * high * units
        return (low, high) if abs(inside) <= 1e-9 * units * (high - low) ** 2 else None

    def statistics(self, last: int | None = None) -> Statistics:
        """Return the statistics of units of the first `last` days of arrival, or of all days."""
        parts = (self.units, self.totals, self.squares)
        return _statistics(*(part[:last].sum(axis=0) for part in parts))

    def periods(self) -> list[Statistics]:
        """Return the statistics of the units of each day of arrival, for the diagnostics.

        Outcomes that still grow are taken at the end of the day of arrival.
        """
        totals, squares = self.totals, self.squares
        if self.growth is not None:
            arrival = np.arange(len(self.days))
            totals = self.growth.totals[arrival, arrival]
            squares = self.growth.squares[arrival, arrival]
        # The squares of adjusted outcomes may be slightly too small by rounding.
        squares = np.maximum(squares, totals**2 / np.maximum(self.units, 1.0))
        return [_statistics(*parts) for parts in zip(self.units, totals, squares, strict=True)]

    def counts(self) -> list[int]:
        """Return the number of units of each arm."""
        return [int(n) for n in self.units.sum(axis=0)]

    def at_end_of(self, day: int) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
        """Return the units of each arm at the end of a day, and the means of their outcomes.

        The mean of a ratio is the ratio of the sums, without adjustment.
        """
        units, totals = self.units[: day + 1].sum(axis=0), self.totals[: day + 1].sum(axis=0)
        counts = units
        if self.growth is not None:
            totals = self.growth.totals[: day + 1, : day + 1].sum(axis=(0, 1))
        if self.moments is not None:
            so_far = self.moments[: day + 1].sum(axis=0)
            totals, counts = so_far[:, PLACE[1, 0, 0]], so_far[:, PLACE[0, 1, 0]]
        means = (float(total / n) if n else None for total, n in zip(totals, counts, strict=True))
        return tuple(int(n) for n in units), tuple(means)

    def of_arms(self, places: Sequence[int]) -> Sums:
        """Return the sums of the arms at these positions, in this order."""

        def taken(part: FloatArray, axes: Axes, _: np.ufunc) -> FloatArray:
            for axis in axes.arms:
                part = part.take(places, axis)
            return part

        sums = self._changed(taken)
        return sums if sums.units.any() else sums.first(0)

    def first(self, days: int) -> Sums:
        """Return the sums of the first `days` days of arrival."""
        if days == len(self.days):
            return self
        return self._changed(lambda part, *_: part[:days], days=self.days[:days])

    def merged(self, block: Block) -> Sums:
        """Return the sums with days merged into weeks if `block` is "week".

        A week is dated by its last day. Weeks are counted from the first day, and the last one may
        be shorter.
        """
        starts = list(range(0, len(self.days), WEEK if block == "week" else 1))
        if len(starts) == len(self.days):
            return self

        def together(part: FloatArray, axes: Axes, combine: np.ufunc) -> FloatArray:
            for axis in axes.days:
                part = combine.reduceat(part, starts, axis=axis)
            return part

        lasts = [*(start - 1 for start in starts[1:]), len(self.days) - 1]
        return self._changed(together, days=tuple(self.days[at] for at in lasts))

    def _changed(
        self, change: Callable[[FloatArray, Axes, np.ufunc], FloatArray], **changes: Any
    ) -> Sums:
        """Return the sums with a function applied to all arrays, and with other `changes`.

        The function gets an array, its axes, and the ufunc that merges its parts.
        """
        parts: dict[str, Any] = {
            name: None if (part := getattr(self, name)) is None else change(part, BY_ARM, combine)
            for name, combine in PUT_TOGETHER.items()
        }
        if self.growth is not None:
            parts["growth"] = Growth(*(change(part, BY_DAY, np.add) for part in self.growth))
        if self.scores is not None:
            parts["scores"] = replace(
                self.scores,
                **{
                    name: change(getattr(self.scores, name), BY_PAIR, combine)
                    for name, combine in SCORES_TOGETHER.items()
                },
            )
        return replace(self, **parts, **changes)


def _statistics(units: FloatArray, totals: FloatArray, squares: FloatArray) -> Statistics:
    return Statistics(
        tuple(
            ArmStatistics(int(n), float(total), float(square))
            for n, total, square in zip(units, totals, squares, strict=True)
        )
    )


def added(parts: Iterable[Sums]) -> Sums:
    """Return the sums over all segments, without growth, scores, cubes and moments."""
    segments = list(parts)
    first, last = min(s.days[0] for s in segments), max(s.days[-1] for s in segments)
    total = Sums.blank(days_between(first, last), segments[0].units.shape[1])
    for sums in segments:
        start = (sums.days[0] - first).days
        rows = slice(start, start + len(sums.days))
        total.units[rows] += sums.units
        total.totals[rows] += sums.totals
        total.squares[rows] += sums.squares
        total.lows[rows] = np.minimum(total.lows[rows], sums.lows)
        total.highs[rows] = np.maximum(total.highs[rows], sums.highs)
    return total


@dataclass(frozen=True, slots=True)
class ReducedTable:
    """The sums of each segment, and the number of excluded rows or units by reason.

    Of the `events` of known units, `late` came after the windows of their units. `clipped` has for
    each arm the number of outcomes beyond the limits, which count as the nearest limit. `moved` is
    the number of units with rows in another arm than that of their first row. `arrivals` has the
    units of each segment by block, hour and arm, and `periods` has them by period and arm: the
    weights are constant within a period. If blocks are shorter than a day, `parts` has the sums of
    each block.
    """

    segments: dict[str, Sums]
    excluded: dict[str, int]
    events: int = 0
    late: int = 0
    clipped: tuple[int, ...] = ()
    moved: int = 0
    arrivals: dict[str, FloatArray] = field(default_factory=dict)
    periods: dict[str, FloatArray] = field(default_factory=dict)
    parts: dict[str, Sums] = field(default_factory=dict)

    @property
    def at_once(self) -> bool:
        """Whether outcomes are taken at the end of the log, not followed day by day."""
        return all(sums.growth is None for sums in self.segments.values())


WITHOUT_VALUE = "unit without any value"

CAPPED = "outcome beyond the limits, counted as the nearest"
"""Name of the count of capped outcomes: they are listed beside excluded ones, but not excluded."""

EXCLUDED = {
    "early": "event before its unit came",
    "without_value": WITHOUT_VALUE,
    "clipped": CAPPED,
}
"""Reasons to exclude units or events, by the column of the reduced rows that counts them."""


def table_of(rows: Sequence[Record], arms: int, blocks: Blocks = DAYS) -> ReducedTable:
    """Return the table of reduced rows: per segment, by day, and by block if blocks are shorter.

    Rows of outcomes that grow have an arrival and a day, others only a day.
    """
    excluded = {IN_TWO_ARMS: 0, "unit in two segments": 0}
    for row in rows:
        for code, reason in zip((TWO_ARMS, TWO_SEGMENTS), excluded, strict=True):
            excluded[reason] += int(row["units"] or 0) if row["arm"] == code else 0
    kept = by_segment(rows)
    usable = [row for segment in kept.values() for row in segment]
    check_rows(usable)
    _check_changes(usable, blocks)

    def total(name: str, arm: int | None = None) -> int:
        return int(sum(row.get(name) or 0 for row in usable if arm in (None, row["arm"])))

    excluded |= {reason: total(name) for name, reason in EXCLUDED.items()}
    return ReducedTable(
        {name: _laid_out(kept[name], arms) for name in sorted(kept)},
        {reason: n for reason, n in excluded.items() if n},
        total("events") if any("events" in row for row in usable) else total("rows"),
        total("late"),
        tuple(total("clipped", arm) for arm in range(arms)),
        total("moved"),
        *_arrivals(kept, arms, blocks),
        {name: _laid_out(kept[name], arms, blocks) for name in kept if not blocks.whole_days},
    )


def _check_changes(rows: Sequence[Record], blocks: Blocks) -> None:
    """Raise an error if weights changed within a day but the log has no times of day."""
    inner = [change for change in blocks.changes if change.time() != time.min]
    if inner and not any(row.get("hour") for row in rows):
        raise invalid(
            f"weights change at {inner[0]}, within a day, and the log has no times of the day: "
            "state weights from the beginning of days on, or leave that day out",
        )


def _arrivals(
    segments: Mapping[str, list[Record]], arms: int, blocks: Blocks
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """Return the units of each segment by block, hour and arm, and by period and arm.

    All units are at hour 0 if hours are unknown.
    """
    by_hour, by_period = {}, {}
    for name, rows in segments.items():
        when = "arrival" if "arrival" in rows[0] else "day"
        places = blocks.places(days_between(*_ends(row[when] for row in rows)))
        counts = np.zeros((len(places), HOURS, arms))
        periods = np.zeros((len(blocks.changes) + 1, arms))
        for row in rows:
            block = blocks.place(row, when)
            counts[places[block], row.get("hour") or 0, row["arm"]] += row["units"]
            periods[block[-1], row["arm"]] += row["units"]
        by_hour[name], by_period[name] = counts, periods
    return by_hour, by_period


def _ends(days: Iterable[date]) -> tuple[date, date]:
    """Return the first and the last of some days."""
    known = list(days)
    return min(known), max(known)


def by_segment(rows: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the reduced rows by segment, without units that have two arms or two segments."""
    segments: dict[str, list[Record]] = {}
    for row in rows:
        if row["arm"] is not None and row["arm"] >= 0:
            segments.setdefault(row.get("segment", ""), []).append(row)
    return segments


def _laid_out(rows: list[Record], arms: int, blocks: Blocks = DAYS) -> Sums:
    grows = "arrival" in rows[0]
    first: date = min(row["arrival" if grows else "day"] for row in rows)
    places = blocks.places(days_between(first, max(row["day"] for row in rows)))
    days = tuple(day for day, _, _ in places)

    def place(row: Record, name: str = "day") -> int:
        return places[blocks.place(row, name)]

    if grows and len(days) > MOST_GROWING:
        raise invalid(
            f"time: outcomes that grow over {len(days):,} days are too many to follow day by day: "
            'give window, or looks="now" (--today) for today\'s answer; if the column '
            "has the time since a unit arrived, give the time of its arrival instead",
        )
    shape = (len(days), arms)
    units, lows, highs = np.zeros(shape), np.full(shape, np.inf), np.full(shape, -np.inf)
    totals, squares, cubes = (np.zeros((len(days), *shape)) for _ in range(3))
    for row in rows:
        units[place(row, "arrival" if grows else "day"), row["arm"]] += row["units"]
    # If all units of a row were excluded for lack of a value, nothing else is known.
    known = [row for row in rows if row["low"] is not None]
    for row in known:
        day, arm = place(row), row["arm"]
        arrived = place(row, "arrival") if grows else day
        lows[arrived, arm] = np.minimum(lows[arrived, arm], row["low"])
        highs[arrived, arm] = np.maximum(highs[arrived, arm], row["high"])
        totals[arrived, day, arm] += float(row["total"])
        squares[arrived, day, arm] += float(row["squares"])
        cubes[arrived, day, arm] += float(row["cubes"] or 0.0)
    return Sums(
        days,
        units,
        totals.sum(axis=1),
        squares.sum(axis=1),
        lows,
        highs,
        Growth(totals, squares, cubes) if grows else None,
        scores_of(rows, first, len(days), arms),
        cubes=None if any(row["cubes"] is None for row in known) else cubes.sum(axis=1),
        moments=_moments(rows, place, shape),
    )


def _moments(
    rows: list[Record], place: Callable[[Record], int], shape: tuple[int, int]
) -> FloatArray | None:
    """Return the sums of products by day and arm; None without denominator and covariate."""
    if not rows or not any(name.startswith("moment_") for name in rows[0]):
        return None
    products = np.zeros((*shape, len(POWERS)))
    for row in rows:
        products[place(row), row["arm"]] += moments_of(row)
    return products
