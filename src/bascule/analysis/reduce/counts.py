"""Logs that are sums already: units, sum and sum of squares per arm and day, or up to that day."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np

from bascule.analysis.log.rows import good
from bascule.analysis.reduce.sums import Sums, by_segment, days_between
from bascule.analysis.source.backend import Row, run
from bascule.core.errors import InputError
from bascule.core.types import FloatArray


def counted_sums(rows: Any, arms: tuple[str, ...], *, cumulative: bool | None) -> dict[str, Sums]:
    """The sums of each segment of a log whose rows count units; without squares they are 0 or 1.

    With `cumulative` a row has what was counted up to its time, and the last one of a day counts.
    Where nothing is said of it, counts that never fall are asked about.
    """
    rows = good(rows)
    names = [name for name in ("count", "value", "squares") if name in rows.columns]
    if cumulative:
        parts = {name: rows[name].argmax(rows.time) for name in names}
    else:
        parts = {name: rows[name].sum() for name in names}
    keys = {"arm": rows.code, "day": rows.time.date()}
    if "segment" in rows.columns:
        keys["segment"] = rows.segment
    segments = by_segment(run(rows.group_by(**keys).agg(**parts)))
    if not segments:
        raise InputError("events", "events: no row of the log can be used")
    if cumulative is None:
        for cells in segments.values():
            _ask_about_growth(cells)
    return {
        name: _laid_out(cells, arms, names, cumulative=bool(cumulative))
        for name, cells in sorted(segments.items())
    }


MOST_BY_CHANCE = 4
"""Counts of this many days that never fall in any arm are no chance, unless they are totals."""


def _ask_about_growth(cells: list[Row]) -> None:
    """Raise `InputError` where the counts of all arms grow from day to day, as totals do."""
    by_arm: dict[int, list[float]] = {}
    for row in sorted(cells, key=lambda row: row["day"]):
        by_arm.setdefault(row["arm"], []).append(row["count"] or 0.0)
    series = [np.array(counts) for _, counts in sorted(by_arm.items())]
    if len(series) > 1 and all(
        len(one) >= MOST_BY_CHANCE and (np.diff(one) > 0).all() for one in series
    ):
        raise InputError(
            "cumulative",
            "cumulative is missing: the counts of all arms rise from day to day: say whether rows "
            "have what was counted up to their time (cumulative=True, --cumulative) or on their "
            "day alone (cumulative=False, --no-cumulative)",
        )


def _laid_out(
    cells: list[Row], arms: tuple[str, ...], names: list[str], *, cumulative: bool
) -> Sums:
    days = days_between(min(row["day"] for row in cells), max(row["day"] for row in cells))
    shape = (len(days), len(arms))
    parts = {name: np.full(shape, np.nan) for name in names}
    for row in cells:
        for name in names:
            at = (row["day"] - days[0]).days, row["arm"]
            parts[name][at] = 0.0 if row[name] is None else row[name]
    for name, part in parts.items():
        parts[name] = _steps(part) if cumulative else np.nan_to_num(part)
    units, totals = parts["count"], parts["value"]
    _check_counts(units, days, arms, cumulative=cumulative)
    if "squares" in parts:
        unknown = np.full(shape, np.nan)
        return Sums(days, units, totals, parts["squares"], unknown, unknown, pooled=cumulative)
    so_far = [np.cumsum(part, axis=0) if cumulative else part for part in (units, totals)]
    if np.any(so_far[1] > so_far[0]) or np.any(so_far[1] < 0.0):
        day, arm = np.argwhere((so_far[1] > so_far[0]) | (so_far[1] < 0.0))[0]
        raise InputError(
            "squares",
            f"squares: {arms[arm]!r} has {so_far[1][day, arm]:g} for {so_far[0][day, arm]:g} units "
            f"on {days[day]}, which is no share: name the column with the sums of squares",
        )
    lows, highs = np.where(totals < units, 0.0, 1.0), np.where(totals > 0.0, 1.0, 0.0)
    return Sums(
        days, units, totals, totals.copy(), lows, highs, cubes=totals.copy(), pooled=cumulative
    )


def _steps(part: FloatArray) -> FloatArray:
    """What was added on each day; days without a row have what the day before had."""
    filled = np.vstack([np.zeros(part.shape[1]), part])
    for day in range(1, len(filled)):
        filled[day] = np.where(np.isnan(filled[day]), filled[day - 1], filled[day])
    steps: FloatArray = np.diff(filled, axis=0)
    return steps


def _check_counts(
    units: FloatArray, days: tuple[date, ...], arms: tuple[str, ...], *, cumulative: bool
) -> None:
    if np.any(units < 0.0):
        day, arm = np.argwhere(units < 0.0)[0]
        reason = "falls" if cumulative else "is below 0"
        raise InputError(
            "count", f"count {reason} on {days[day]} for {arms[arm]!r}: is it the right column?"
        )
    if np.any(units != np.floor(units)):
        raise InputError("count", "count must have whole numbers of units")
