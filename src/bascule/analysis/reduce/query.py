"""Compute sums per arm and day from rows, in the database.

Each shape of a log has a query here: a table of units, assignments with events that still grow,
and rows that are sums already, which give the same result as the table of their units.
"""

from __future__ import annotations

from typing import Any

from bascule.analysis.log.reading import COUNTS_RISE, OTHER_SUMS
from bascule.analysis.log.rows import good
from bascule.analysis.log.sample import rise
from bascule.analysis.reduce.moments import PROBABILITY, moment_sums, score_sums
from bascule.analysis.reduce.tables import aggregated, counting, joined, placed
from bascule.analysis.request import Request, Unfit, Valueless
from bascule.analysis.source.places import Record, run
from bascule.core.errors import InputError, invalid
from bascule.core.outcomes import Outcome


def without_value(units: Any) -> dict[int, Valueless]:
    """Return for each arm the number of units with rows, and how many of them have no value."""
    units = placed(units)
    if "events" in units.columns:
        units = units.filter(units.events.notnull())
    known = units["values"] > 0 if "values" in units.columns else units.outcome.notnull()
    units = units.filter(units.arm >= 0)
    counts = units.group_by("arm").agg(units=units.count(), known=counting(known).sum())
    return {row["arm"]: Valueless(row["units"], row["units"] - row["known"]) for row in run(counts)}


def by_arrival(
    request: Request, units: Any, arms: int, *, zero_or_one: bool = False
) -> list[Record]:
    """Return units and the sums of outcomes, squares and cubes, per arm and day of arrival.

    `units` has a row per unit. A unit without any value has the outcome `missing`, or is left out
    if such units are excluded. Outcomes beyond the limits count as the nearest limit. With
    `zero_or_one` squares, cubes and extremes follow from the sums.
    """
    import ibis

    units = placed(units)
    value, limits = _outcome(request, units), request.limits
    clipped = None
    if limits is not None:
        clipped = (value < limits.low) | (value > limits.high)
        value = value.clip(limits.low, limits.high)
    first = units["first"]
    day = first if first.type().is_date() else first.date()
    keys = {"arm": units.arm, "day": day}
    scored = any(name.startswith(PROBABILITY) for name in units.columns)
    if first.type().is_timestamp() and not scored:
        keys["hour"] = first.hour().cast("int8")
        changes = [(first >= ibis.literal(change)).cast("int8") for change in request.changes]
        if changes:
            keys["period"] = sum(changes[1:], changes[0])
    if "segment" in units.columns:
        keys["segment"] = units.segment
    sums = {
        "units": value.count(),
        "rows": units.rows.sum() if "rows" in units.columns else units.count(),
        "total": value.sum(),
    }
    if not zero_or_one:
        sums |= {
            "squares": (value * value).sum(),
            "cubes": (value * value * value).sum(),
            "low": value.min(),
            "high": value.max(),
        }
    if clipped is not None:
        sums["clipped"] = counting(clipped).sum()
    if request.exclude:
        sums["without_value"] = counting(value.isnull()).sum()
    for name in ("early", "late", "events", "moved"):
        if name in units.columns:
            sums[name] = units[name].sum()
    # An excluded unit has no denominator and no covariate either.
    present = {
        name: value.isnull().ifelse(ibis.null("float64"), units[name])
        for name in ("per", "covariate")
        if name in units.columns
    }
    per, covariate = present.get("per"), present.get("covariate")
    if per is not None or covariate is not None:
        sums |= moment_sums(value, per, covariate)
    if scored:
        sums |= score_sums(units, value, arms)
    rows = run(units.group_by(**keys).agg(**sums))
    return [row | _of_ones(row) for row in rows] if zero_or_one else rows


def _of_ones(row: Record) -> Record:
    """Return the squares, cubes, minimum and maximum that follow from a sum of 0/1 outcomes."""
    units, total = row["units"], row["total"]
    extremes = {"low": 0.0 if total < units else 1.0, "high": 1.0 if total > 0.0 else 0.0}
    return {"squares": total, "cubes": total, **extremes}


def _outcome(request: Request, units: Any) -> Any:
    """Return the outcome of a unit; if it has no value, `missing`, or null to exclude the unit."""
    return units.outcome if request.exclude else units.outcome.fill_null(request.missing)


def unfit_outcomes(request: Request, units: Any) -> Unfit | None:
    """Count the outcomes that the model's `check_value` rejects; None if there are none.

    Each distinct outcome is checked once. Outcomes beyond the limits are capped elsewhere, and
    nothing is checked if the model requires no more than its limits.
    """
    model = request.strict_outcome
    if model is None:
        return None
    units = placed(units)
    value = _outcome(request, units)
    if model.limited:
        value = value.clip(model.low, model.high)
    units = units.mutate(value=value).filter(units.arm >= 0)
    counts = units.group_by("value").agg(units=units.count()).order_by("value")
    count, reason = 0, ""
    for batch in counts.to_pyarrow().to_batches():
        for row in batch.to_pylist():
            if row["value"] is None:
                continue
            try:
                model.check_value(row["value"])
            except InputError as problem:
                count, reason = count + int(row["units"]), reason or str(problem)
    return Unfit(count, reason) if count else None


def growth(events: Any, units: Any, aggregate: str, limits: Outcome | None) -> list[Record]:
    """Return the growth of the outcomes of assigned units, per arm, day of arrival and day.

    A unit's outcome at the end of a day is the sum of its values by then, or whether any is not 0,
    within the limits. It is 0 before its first value, so outcomes start at 0 on arrival.
    """
    names = [name for name in units.columns if name not in ("unit", "rows")]
    both = joined(events, units, names)
    both = both.filter(both["at"] >= both["first"])
    about = ("lowest", "highest", "segment", "other")
    parts = {name: both[name].min() for name in about if name in both.columns}
    days = both.group_by(unit=both["unit"], day=both["at"].date()).agg(
        **parts,
        arrival=both["first"].min().date(),
        rows=both.count(),
        given=aggregated(both["value"], both["at"], aggregate).fill_null(0.0),
    )
    steps = run(_grown(placed(_with_before(days, aggregate)), limits))
    units = placed(units)
    first = units["first"]
    keys = {"arm": units.arm, "arrival": first.date(), "hour": first.hour().cast("int8")}
    if "segment" in units.columns:
        keys["segment"] = units.segment
    start = dict.fromkeys(("total", "squares", "cubes", "low", "high"), 0.0)
    moved = {"moved": units.moved.sum()} if "moved" in units.columns else {}
    arrivals = run(units.group_by(**keys).agg(units=units.count(), **moved))
    return [
        *(row | {"units": 0} for row in steps),
        *(row | start | {"day": row["arrival"]} for row in arrivals),
    ]


def _with_before(days: Any, aggregate: str) -> Any:
    """Add the columns `now` and `before`: a unit's outcome at the end of a day, and before it."""
    import ibis

    order = ibis.cumulative_window(group_by="unit", order_by="day")
    if aggregate == "sum":
        # A sum needs one window function fewer than other aggregates, and half the time.
        days = days.mutate(now=days["given"].sum().over(order))
        return days.mutate(before=days["now"] - days["given"])
    days = days.mutate(now=days["given"].max().over(order))
    before = days["now"].lag().over(group_by="unit", order_by="day")
    return days.mutate(before=before.fill_null(0.0))


def _grown(days: Any, limits: Outcome | None) -> Any:
    """Sum the daily changes of outcomes, squares and cubes, from one row per unit and day."""
    keys = ["arm", "arrival", "day"] + (["segment"] if "segment" in days.columns else [])
    now, before = days["now"], days["before"]
    extra = {}
    if limits is not None:
        low, high = limits.low, limits.high
        beyond, was_beyond = ((v < low) | (v > high) for v in (now, before))
        # A unit is counted on the day on which it crosses a limit.
        extra["clipped"] = counting(beyond & ((days["day"] == days["arrival"]) | ~was_beyond)).sum()
        now, before = (v.clip(low, high) for v in (now, before))
    step = now - before
    return days.group_by(keys).agg(
        rows=days["rows"].sum(),
        total=step.sum(),
        squares=(step * (now + before)).sum(),
        cubes=(step * (now * now + now * before + before * before)).sum(),
        low=now.min(),
        high=now.max(),
        **extra,
    )


def counted(rows: Any, arms: tuple[str, ...]) -> list[Record]:
    """Return units and sums per arm and day from rows of sums, in the form of `by_arrival`.

    Without a column of squares, outcomes must be 0 or 1.
    """
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
    """Return the last row of each arm, and of each segment, from rows that have running totals.

    All rows get the time of the latest one.
    """
    rows = good(rows)
    groups = [name for name in ("code", "segment") if name in rows.columns]
    last = rows.time.max().over(group_by=groups)
    rows = rows.mutate(last=last, most=rows["count"].max().over(group_by=groups))
    rows = rows.filter(rows.time == rows["last"])
    (row,) = run(rows.agg(fallen=rows.count(where=rows["count"] < rows.most)))
    if row["fallen"]:
        raise invalid(
            "count falls over time, but with cumulative every row has the total up to its "
            "time: is it the right column?",
        )
    return rows.mutate(time=rows.time.max().over())


def ask_about_growth(sums: list[Record]) -> None:
    """Raise `InputError` if the counts of all arms grow from day to day, as running totals do."""
    by_segment: dict[str, dict[int, list[float]]] = {}
    for row in sums:
        by_arm = by_segment.setdefault(row.get("segment", ""), {})
        by_arm.setdefault(row["arm"], []).append(row["units"] or 0.0)
    if any(rise(arms.values()) for arms in by_segment.values()):
        raise invalid(f"cumulative is missing: {COUNTS_RISE}")


def _checked(row: Record, arms: tuple[str, ...]) -> Record:
    """Return the sums of a day in the form of `by_arrival`; raise an error for invalid counts."""
    arm, day = arms[row["arm"]], row["day"]
    row = row | {p: float(row[p] or 0.0) for p in ("units", "total", "squares") if p in row}
    units, total = row["units"], row["total"]
    if units < 0.0:
        raise invalid(f"count is below 0 on {day} for {arm!r}: is it the right column?")
    if units != int(units):
        raise invalid("count must have whole numbers: it is the number of units")
    if "squares" in row:
        return row | {"cubes": None, "low": float("nan"), "high": float("nan")}
    fraction = row.pop("fraction")
    if fraction is not None or not 0.0 <= total <= units:
        shown = f"{total:g} for {units:g} units" if fraction is None else f"{fraction:.12g}"
        raise invalid(
            f"squares is missing: {arm!r} has {shown} on {day}, and a sum "
            f"of 0/1 outcomes is a whole number from 0 to the number of units: {OTHER_SUMS}",
        )
    return row | _of_ones(row)
