"""What the outcomes of units grow by from day to day, summed in the database."""

from __future__ import annotations

from typing import Any

from bascule.analysis.log.rows import (
    DAILY,
    Calendar,
    aggregated,
    counting,
    good,
    joined,
    membership,
    placed,
)
from bascule.analysis.reduce.query import arrivals_by_day
from bascule.analysis.source.backend import Row, run, stored
from bascule.core.outcomes import Outcome


def growth(
    rows: Any,
    aggregate: str,
    missing: float,
    calendar: Calendar = DAILY,
    limits: Outcome | None = None,
) -> list[Row]:
    """What the outcomes of units grow by, per arm, day of arrival and day, with their powers.

    A unit's outcome at the end of a day is what it has given by then, capped at the limits. `rows`
    are those of an event table alone: a unit arrives with its first row.
    """
    rows = good(rows)
    day = calendar.of(rows.time)
    parts = membership(rows) | _of_day(rows, rows.time, aggregate, missing)
    days = rows.group_by(unit=rows.unit, day=day).agg(**parts)
    windows = _over_unit(days)
    windows["arrival"] = days.day.min().over(group_by="unit")
    return run(_grown(days, windows, aggregate, missing, limits))


def sparse_growth(
    rows: Any, aggregate: str, calendar: Calendar = DAILY, limits: Outcome | None = None
) -> tuple[list[Row], list[Row]]:
    """What outcomes grow by that begin at 0, and the units per arm and day of arrival.

    Rows with a value of 0 change no outcome, and most rows of most logs have one: only the others
    are put in order.
    """
    good_rows = good(rows)
    units = good_rows.group_by("unit").agg(
        **membership(good_rows), first=good_rows.time.min(), rows=good_rows.count()
    )
    units = stored(units, "bascule_units")
    events = rows.filter(rows.value != 0.0)
    grown = growth_of_units(events, units, aggregate, 0.0, calendar, limits)
    return grown, arrivals_by_day(units, calendar)


def growth_of_units(
    events: Any,
    units: Any,
    aggregate: str,
    missing: float,
    calendar: Calendar = DAILY,
    limits: Outcome | None = None,
) -> list[Row]:
    """What the outcomes grow by of units that arrive with their assignment; units not counted."""
    names = [name for name in units.columns if name not in ("unit", "rows")]
    both = joined(events, units, names)
    both = both.filter(both["at"] >= both["first"])
    parts = {
        "lowest": both["lowest"].min(),
        "highest": both["highest"].max(),
        "arrival": calendar.of(both["first"].min()),
        **_of_day(both, both["at"], aggregate, missing),
    }
    if "segment" in both.columns:
        parts |= {"segment": both["segment"].min(), "other": both["other"].max()}
    days = both.group_by(unit=both["unit"], day=calendar.of(both["at"])).agg(**parts)
    return run(_grown(days, {}, aggregate, missing, limits))


MEMBERSHIP = {"lowest": "min", "highest": "max", "segment": "min", "other": "max"}
"""How the arms and the segments of a unit are taken together over its days."""


def _over_unit(days: Any) -> dict[str, Any]:
    """The lowest and the highest arm and segment of a unit, beside each of its days."""
    return {
        name: getattr(days[name], extreme)().over(group_by="unit")
        for name, extreme in MEMBERSHIP.items()
        if name in days.columns
    }


def _of_day(rows: Any, time: Any, aggregate: str, missing: float) -> dict[str, Any]:
    """The parts of a day that an aggregate needs."""
    value, parts = rows["value"], {"rows": rows.count()}
    if aggregate in ("any", "last"):
        return parts | {aggregate: aggregated(value, time, aggregate)}
    if aggregate == "mean" or missing != 0.0:
        parts["values"] = value.count()
    return parts | {"sum": value.sum()}


def _grown(
    days: Any, windows: dict[str, Any], aggregate: str, missing: float, limits: Outcome | None
) -> Any:
    """Steps of the outcome, of its square and of its cube, from one row a unit and day."""
    order = _up_to_day()
    steps = dict(windows)
    if aggregate == "sum" and missing == 0.0:
        # The usual case needs one window less, which halves the time.
        steps |= {
            "sum": days["sum"].fill_null(0.0),
            "now": days["sum"].fill_null(0.0).sum().over(order),
        }
        days = days.mutate(**steps)
        days = placed(days.mutate(before=days["now"] - days["sum"]))
    else:
        days = placed(_with_before(days, steps, order, aggregate, missing))
    keys = ["arm", "arrival", "day"] + (["segment"] if "segment" in days.columns else [])
    now, before = days["now"], days["before"]
    extra = {}
    if limits is not None:
        beyond, was = ((v < limits.low) | (v > limits.high) for v in (now, before))
        # A unit is counted on the day on which it passes a limit.
        extra["clipped"] = counting(beyond & ((days["day"] == days["arrival"]) | ~was)).sum()
        now, before = (v.clip(limits.low, limits.high) for v in (now, before))
    step = now - before
    return days.group_by(keys).agg(
        units=counting(days["day"] == days["arrival"]).sum(),
        rows=days["rows"].sum(),
        total=step.sum(),
        squares=(step * (now + before)).sum(),
        cubes=(step * (now * now + now * before + before * before)).sum(),
        step_squares=(step * step).sum(),
        low=now.min(),
        high=now.max(),
        **extra,
    )


def _up_to_day() -> Any:
    """All days of a unit up to the one at hand."""
    import ibis

    return ibis.cumulative_window(group_by="unit", order_by="day")


def _with_before(
    days: Any, steps: dict[str, Any], order: Any, aggregate: str, missing: float
) -> Any:
    """The outcome at the end of each day, and at the end of the last day before it with rows."""
    import ibis

    if aggregate in ("sum", "mean"):
        steps["now"] = days["sum"].fill_null(0.0).sum().over(order)
        steps["count"] = days["values"].sum().over(order)
    elif aggregate == "any":
        steps["now"] = days["any"].max().over(order)
    else:
        steps["now"] = days["last"]
    days = days.mutate(**steps)
    now = days["now"]
    if aggregate == "mean":
        now = now / days["count"].cast("float64").nullif(0.0)
    elif aggregate == "sum":
        now = ibis.ifelse(days["count"] == 0, ibis.null("float64"), now)
    days = days.mutate(now=now.fill_null(missing))
    return days.mutate(
        before=days["now"].lag().over(group_by="unit", order_by="day").fill_null(missing)
    )


def cohorts_by_count(rows: Any) -> list[Row]:
    """Units by how many outcomes they have given at the end of a day, where every row is one.

    A row tells how many units went from `before` outcomes to `outcomes` on a day, and with them the
    sums of their outcomes; `step_squares` is the sum of the squares of the day's outcomes.
    """
    rows = good(rows)
    parts = membership(rows) | {
        "rows": rows.count(),
        "values": rows["value"].count(),
        "sum": rows["value"].sum().fill_null(0.0),
        "step_squares": (rows["value"] * rows["value"]).sum().fill_null(0.0),
    }
    days = rows.group_by(unit=rows.unit, day=rows.time.date()).agg(**parts)
    order = _up_to_day()
    days = placed(
        days.mutate(
            **_over_unit(days),
            outcomes=days["values"].sum().over(order),
            now=days["sum"].sum().over(order),
        )
    )
    days = days.mutate(before=days["outcomes"] - days["values"], earlier=days["now"] - days["sum"])
    keys = ["arm", "day", "outcomes", "before"]
    keys += ["segment"] if "segment" in days.columns else []
    return run(
        days.group_by(keys).agg(
            units=days.count(),
            rows=days["rows"].sum(),
            total=days["now"].sum(),
            squares=(days["now"] * days["now"]).sum(),
            earlier=days["earlier"].sum(),
            earlier_squares=(days["earlier"] * days["earlier"]).sum(),
            step_squares=days["step_squares"].sum(),
        )
    )
