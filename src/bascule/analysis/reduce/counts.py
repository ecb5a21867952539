"""Rows that are sums already: the same as the sums of a table of their units."""

from __future__ import annotations

from typing import Any

import numpy as np

from bascule.analysis.log.question import OTHER_SUMS
from bascule.analysis.log.rows import good
from bascule.analysis.source.backend import Row, run
from bascule.core.errors import InputError

MOST_BY_CHANCE = 4
"""Counts of this many days that never fall in any arm are no chance, unless they are totals."""


def counted(rows: Any, arms: tuple[str, ...]) -> list[Row]:
    """The units, totals and squares that arrived on each day; without squares they are 0 or 1."""
    rows = good(rows)
    names = {"count": "units", "value": "total", "squares": "squares"}
    keys = {"arm": rows.code, "day": rows.time.date()}
    if "segment" in rows.columns:
        keys["segment"] = rows.segment
    parts = {part: rows[name].sum() for name, part in names.items() if name in rows.columns}
    if "squares" not in parts:
        parts["fraction"] = rows.value.max(where=rows.value != rows.value.floor())
    sums = run(rows.group_by(**keys).agg(**parts).order_by("day", "arm"))
    return [_checked(row, arms) for row in sums]


def latest(rows: Any) -> Any:
    """The last row of each arm, where rows have what was counted up to their time.

    All of them get the same time, that of the last one.
    """
    rows = good(rows)
    groups = [name for name in ("code", "segment") if name in rows.columns]
    last = rows.time.max().over(group_by=groups)
    rows = rows.mutate(last=last, most=rows["count"].max().over(group_by=groups))
    rows = rows.filter(rows.time == rows["last"])
    (row,) = run(rows.agg(fallen=rows.count(where=rows["count"] < rows.most)))
    if row["fallen"]:
        raise InputError(
            "count",
            "count falls, though with cumulative rows have what was counted up to their time: "
            "is it the right column?",
        )
    return rows.mutate(time=rows.time.max().over())


def ask_about_growth(sums: list[Row]) -> None:
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


def _checked(row: Row, arms: tuple[str, ...]) -> Row:
    """The sums of a day as `by_arrival` has them; refuse counts that are none."""
    arm, day = arms[row["arm"]], row["day"]
    row = row | {p: float(row[p] or 0.0) for p in ("units", "total", "squares") if p in row}
    units, total = row["units"], row["total"]
    if units < 0.0:
        raise InputError("count", f"count is below 0 on {day} for {arm!r}: is it the right column?")
    if units != int(units):
        raise InputError("count", "count must have whole numbers: it is the number of units")
    if "squares" in row:
        return row | {"cubes": None, "low": float("nan"), "high": float("nan")}
    fraction = row.pop("fraction")
    if fraction is not None or not 0.0 <= total <= units:
        shown = f"{total:g} for {units:g} units" if fraction is None else f"{fraction:.12g}"
        raise InputError(
            "squares",
            f"squares is missing: {arm!r} has {shown} on {day}, and a sum "
            f"of 0/1 outcomes is a whole number from 0 to the number of units: {OTHER_SUMS}",
        )
    ends = {"low": 0.0 if total < units else 1.0, "high": 1.0 if total > 0.0 else 0.0}
    return row | {"squares": total, "cubes": total} | ends
