"""Rows that are sums already, of units on a day or up to it: as sums of a table of units."""

from __future__ import annotations

from typing import Any

import numpy as np

from bascule.analysis.log.rows import good
from bascule.analysis.source.backend import Row, run
from bascule.core.errors import InputError

MOST_BY_CHANCE = 4
"""Counts of this many days that never fall in any arm are no chance, unless they are totals."""


def counted(rows: Any, arms: tuple[str, ...], *, cumulative: bool | None) -> list[Row]:
    """The units, totals and squares that arrived on each day; without squares they are 0 or 1.

    With `cumulative` a row has what was counted up to its time: the last one of a day counts, less
    that of the day before. Where nothing is said of it, counts that never fall are asked about.
    """
    rows = good(rows)
    names = {"count": "units", "value": "total", "squares": "squares"}
    names = {name: part for name, part in names.items() if name in rows.columns}
    keys = {"arm": rows.code, "day": rows.time.date()}
    if "segment" in rows.columns:
        keys["segment"] = rows.segment
    if cumulative:
        parts = {part: rows[name].argmax(rows.time) for name, part in names.items()}
    else:
        parts = {part: rows[name].sum() for name, part in names.items()}
    days = rows.group_by(**keys).agg(**parts)
    if cumulative:
        groups = [name for name in keys if name != "day"]
        steps = {f"{part}_before": _before(days[part], groups) for part in parts}
        days = days.mutate(**steps)
    sums = run(days.order_by("day", "arm"))
    if cumulative is None:
        _ask_about_growth(sums)
    return [_checked(row, arms, cumulative=bool(cumulative)) for row in sums]


def _before(part: Any, groups: list[str]) -> Any:
    """What was counted by the last day before that has a row."""
    return part.lag().over(group_by=groups, order_by="day").fill_null(0)


def _ask_about_growth(sums: list[Row]) -> None:
    """Raise `InputError` where the counts of all arms grow from day to day, as totals do."""
    by_segment: dict[str, dict[int, list[float]]] = {}
    for row in sums:
        by_arm = by_segment.setdefault(row.get("segment", ""), {})
        by_arm.setdefault(row["arm"], []).append(row["units"] or 0.0)
    for arms in by_segment.values():
        if len(arms) > 1 and all(
            len(one) >= MOST_BY_CHANCE and (np.diff(one) > 0).all() for one in arms.values()
        ):
            raise InputError(
                "cumulative",
                "cumulative is missing: the counts of all arms rise from day to day: say whether "
                "rows have what was counted up to their time (cumulative=True, --cumulative) or on "
                "their day alone (cumulative=False, --no-cumulative)",
            )


def _checked(row: Row, arms: tuple[str, ...], *, cumulative: bool) -> Row:
    """The sums of a day as `by_arrival` has them; refuse counts that are none."""
    arm, day = arms[row["arm"]], row["day"]
    so_far = [float(row[part] or 0.0) for part in ("units", "total")]
    row = row | {
        part: float(row[part] or 0.0) - float(row.get(f"{part}_before") or 0.0)
        for part in ("units", "total", "squares")
        if part in row
    }
    units, total = row["units"], row["total"]
    if units < 0.0:
        reason = "falls" if cumulative else "is below 0"
        raise InputError("count", f"count {reason} on {day} for {arm!r}: is it the right column?")
    if units != int(units):
        raise InputError("count", "count must have whole numbers of units")
    if "squares" in row:
        return row | {"cubes": None, "low": float("nan"), "high": float("nan")}
    if not 0.0 <= so_far[1] <= so_far[0]:
        raise InputError(
            "squares",
            f"squares: {arm!r} has {so_far[1]:g} for {so_far[0]:g} units on {day}, which is no "
            "share: name the column with the sums of squares",
        )
    ends = {"low": 0.0 if total < units else 1.0, "high": 1.0 if total > 0.0 else 0.0}
    return row | {"squares": total, "cubes": total} | ends
