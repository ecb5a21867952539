"""From rows to sums per arm and day, in the database: only the small table of sums travels."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from bascule.analysis.reduce.moments import moment_sums
from bascule.analysis.reduce.scores import OWN, score_sums
from bascule.analysis.source.backend import Row, batches, is_duckdb, is_own, run, stored
from bascule.analysis.source.columns import Arms, Columns, coded
from bascule.analysis.source.rows import (
    DAILY,
    REASONS,
    Calendar,
    aggregated,
    counting,
    good,
    joined,
    membership,
    placed,
)
from bascule.core.errors import InputError
from bascule.core.inputs.checks import LARGEST
from bascule.core.outcomes import Outcome


class Unfit(NamedTuple):
    """How many outcomes a model does not allow, and what it says of the first of them."""

    units: int
    reason: str


class Survey(NamedTuple):
    """What one pass over the rows of a table shows of them.

    `excluded` and `examples` are by reason, `blank` and `worded` the usable rows without a value
    and with a word for it. `units` is about how many units there are, to 10 % or so.
    """

    rows: int
    excluded: dict[str, int]
    examples: dict[str, tuple[str, ...]]
    blank: int
    worded: int
    first: datetime | None
    last: datetime | None
    units: int


def quick_survey(table: Any, columns: Columns, arms: Arms) -> Survey | None:
    """A survey of a table in which every entry is there and of the right type; None for others.

    It reads little of a file that has statistics, where `survey` reads all of it.
    """
    value, time = columns.value, columns.times
    plain = columns.arm is not None and value is not None and columns.unit is not None
    if not plain or time.form != "as is" or time.column is None:
        return None
    kinds = [table[name].type() for name in (value, time.column, columns.unit)]
    whole = kinds[0].is_integer() or kinds[0].is_boolean()
    right = kinds[1].is_timestamp() and kinds[1].timezone is None
    if not (whole or kinds[0].is_floating()) or not right or not kinds[2].is_integer():
        return None
    parts = {"rows": table.count(), "units": table[columns.unit].count()}
    at = table[time.column]
    parts |= {"times": at.count(), "values": table[value].count()}
    parts |= {"first": at.min(), "last": at.max()}
    # The largest number is not a number if any is none.
    parts |= {"low": table[value].cast("float64").min(), "high": table[value].cast("float64").max()}
    (row,) = run(table.agg(**parts))
    rows = int(row["rows"])
    complete = all(int(row[name]) == rows for name in ("units", "times", "values"))
    if not complete or arms.rows != rows or not rows:
        return None
    if not (row["low"] >= -LARGEST and row["high"] <= LARGEST):
        return None
    return Survey(rows, {}, {}, 0, 0, row["first"], row["last"], rows)


def survey(rows: Any) -> Survey:
    """Count the rows that cannot be used, by reason with examples, and look at the others."""
    parts = {"rows": rows.count(), "first": rows.time.min(), "last": rows.time.max()}
    if "value" in rows.columns:
        parts |= {
            "blank": rows.count(where=rows.value.isnull()),
            "worded": rows.count(where=rows.worded),
        }
    if "unit" in rows.columns:
        parts["units"] = rows.unit.approx_nunique() if is_duckdb(rows) else rows.unit.nunique()
    by_reason = {row["bad"]: row for row in run(rows.group_by("bad").agg(**parts))}
    good_rows = by_reason.get(0, {})
    bad = [reason for reason in sorted(by_reason) if reason]
    examples = {REASONS[r - 1]: _examples(rows, r) for r in bad if r in RAW}
    return Survey(
        sum(int(row["rows"]) for row in by_reason.values()),
        {REASONS[reason - 1]: int(by_reason[reason]["rows"]) for reason in bad},
        {reason: entries for reason, entries in examples.items() if entries},
        int(good_rows.get("blank") or 0),
        int(good_rows.get("worded") or 0),
        min((r["first"] for r in by_reason.values() if r["first"] is not None), default=None),
        max((r["last"] for r in by_reason.values() if r["last"] is not None), default=None),
        int(good_rows.get("units") or 0),
    )


RAW = {2: "raw_arm", 3: "raw_arm", 5: "raw_time", 6: "raw_value"}
"""Where that stands which made a row unusable, by reason."""

MOST_EXAMPLES = 3


def _examples(rows: Any, reason: int) -> tuple[str, ...]:
    """Some of the entries that made rows unusable for a reason."""
    unusable = rows.filter(rows.bad == reason)
    raw = unusable.select(entry=unusable[RAW[reason]]).distinct().order_by("entry")
    entries = run(raw.filter(raw.entry.notnull()).limit(MOST_EXAMPLES))
    return tuple(str(row["entry"]) for row in entries)


def in_two_arms(rows: Any) -> tuple[str, ...]:
    """Some of the units that have rows in two arms."""
    usable = good(rows)
    each = usable.group_by("unit").agg(lowest=usable.code.min(), highest=usable.code.max())
    each = each.filter(each.lowest != each.highest).select("unit").order_by("unit")
    return tuple(str(row["unit"]) for row in run(each.limit(MOST_EXAMPLES)))


MOST_ROWS_COMPARED = 2_000_000
"""In longer tables exact copies of rows are not looked for: it takes longer than all the rest."""


def copies(table: Any, rows: int) -> int | None:
    """How many rows are exact copies of others; None if the table is too long to look."""
    if rows > MOST_ROWS_COMPARED:
        return None
    different = table.distinct()
    return rows - int(run(different.agg(rows=different.count()))[0]["rows"])


def one_row_each(rows: Any, about: Survey) -> bool:
    """Whether no unit has more than one row that can be used."""
    usable = about.rows - sum(about.excluded.values())
    if about.units < 0.85 * usable:
        return False
    good_rows = good(rows)
    if good_rows.unit.type().is_integer() and is_duckdb(rows):
        unit = good_rows.unit
        (ends,) = run(good_rows.agg(low=unit.min(), high=unit.max()))
        if ends["low"] is None:
            return True
        span = int(ends["high"]) - int(ends["low"]) + 1
        if span < usable:
            return False
        fits = int(ends["low"]) >= -LARGEST_WHOLE and int(ends["high"]) <= LARGEST_WHOLE
        if fits and is_own(rows.get_backend()) and _ascending(good_rows):
            return True
        if span <= MOST_BITS:
            return _different(good_rows, ends["low"], ends["high"]) == usable
    if is_duckdb(rows) and about.units == usable:
        about_units = int(run(good_rows.agg(units=good_rows.unit.approx_nunique()))[0]["units"])
        if about_units < 0.85 * usable:
            return False
    return int(run(good_rows.agg(units=good_rows.unit.nunique()))[0]["units"]) == usable


LARGEST_WHOLE = 2**63 - 1


def _ascending(rows: Any) -> bool:
    """Whether every unit is above the one before it, as in tables that are ordered by it.

    It stops at the first rows that are not.
    """
    last = None
    for batch in batches(rows.select(unit=rows.unit.cast("int64"))):
        # Not Arrow's own conversion, which imports pandas.
        unit = np.from_dlpack(batch.column(0))
        if (last is not None and unit[0] <= last) or not (unit[1:] > unit[:-1]).all():
            return False
        last = unit[-1]
    return True


MOST_BITS = 1_000_000_000
"""So many different whole numbers fit into a row of bits of 125 MB."""


def _different(rows: Any, low: int, high: int) -> int:
    """How many different units there are, each a bit in a row: a fraction of a list's time."""
    import ibis
    import ibis.expr.datatypes as dt

    @ibis.udf.agg.builtin(signature=((dt.int64, dt.int64, dt.int64), dt.string))
    def bitstring_agg(unit, low, high):  # type: ignore[no-untyped-def]
        """Return a row of bits, one for each number between two."""

    @ibis.udf.scalar.builtin(signature=((dt.string,), dt.int64))
    def bit_count(bits):  # type: ignore[no-untyped-def]
        """Return how many bits are set."""

    bits = bitstring_agg(rows.unit.cast("int64"), low, high)
    return int(run(rows.agg(units=bit_count(bits)))[0]["units"])


def without_value(events: Any, units: Any) -> list[Row]:
    """Units per arm that have rows, and how many of them have no value in any of these.

    `units` are those of an assignment table, or None where the events name the arms.
    """
    rows = good(events)
    if "unit" not in rows.columns:
        return run(
            rows.group_by(arm=rows.code).agg(
                units=rows.count(), without=rows.count(where=rows.value.isnull())
            )
        )
    if units is not None:
        rows = joined(events, units, ["lowest", "highest"])
        parts = {"lowest": rows["lowest"].min(), "highest": rows["highest"].max()}
    else:
        parts = {"lowest": rows.code.min(), "highest": rows.code.max()}
    each = rows.group_by("unit").agg(**parts, values=rows["value"].count())
    each = each.filter(each.lowest == each.highest)
    return run(
        each.group_by(arm=each.lowest).agg(
            units=each.count(), without=counting(each["values"] == 0).sum()
        )
    )


def by_arrival(
    units: Any,
    arms: int,
    limits: Outcome | None,
    missing: float,
    *,
    exclude: bool = False,
    own_only: bool = False,
    entries: Arms | None = None,
) -> list[Row]:
    """Units, outcomes, their squares and their cubes per arm and day of arrival.

    `units` has a row a unit. A unit without any value has the outcome `missing`, or is not counted
    with `exclude`. Outcomes beyond the limits count as the nearest limit. Units that have the entry
    of their arm are grouped by it first, and `entries` says which arm it means.
    """
    if "arm" not in units.columns:
        units = placed(units)
    value = units.outcome if exclude else units.outcome.fill_null(missing)
    clipped = None
    if limits is not None:
        clipped = (value < limits.low) | (value > limits.high)
        value = value.clip(limits.low, limits.high)
    first = units["first"]
    day = first if first.type().is_date() else first.date()
    keys = {"arm": units.arm, "day": day}
    if "segment" in units.columns:
        keys["segment"] = units.segment
    sums = {
        "units": value.count(),
        "rows": units.rows.sum() if "rows" in units.columns else units.count(),
        "total": value.sum(),
        "squares": (value * value).sum(),
        "cubes": (value * value * value).sum(),
        "low": value.min(),
        "high": value.max(),
    }
    if clipped is not None:
        sums["clipped"] = counting(clipped).sum()
    if exclude:
        sums["without_value"] = counting(value.isnull()).sum()
    for name in ("early", "late", "outside", "events", "kept"):
        if name in units.columns:
            sums[name] = units[name].sum()
    per, covariate = (units[n] if n in units.columns else None for n in ("per", "covariate"))
    if per is not None or covariate is not None:
        sums |= moment_sums(value, per, covariate)
    if any(name.startswith(OWN) for name in units.columns):
        sums |= score_sums(units, value, arms, own_only=own_only)
    elif "entry" in units.columns and entries is not None:
        keys["entry"] = units.entry
        del keys["arm"]
        each = units.group_by(**keys).agg(**sums)
        each = each.mutate(arm=coded(each, "entry", entries).cast("int16"))
        keys = {name: each[name] for name in ("arm", "day", "segment") if name in each.columns}
        how = {"low": "min", "high": "max"}
        sums = {name: getattr(each[name], how.get(name, "sum"))() for name in sums}
        units = each
    return run(units.group_by(**keys).agg(**sums))


def unfit_outcomes(
    units: Any, model: Outcome, missing: float, *, exclude: bool = False
) -> Unfit | None:
    """The outcomes that a model does not allow, by its own `check_value`; None if there are none.

    Every different outcome is checked once. Those beyond both limits are capped elsewhere.
    """
    if "arm" not in units.columns:
        units = placed(units)
    value = units.outcome if exclude else units.outcome.fill_null(missing)
    if model.limited:
        value = value.clip(model.low, model.high)
    units = units.mutate(value=value).filter(units.arm >= 0)
    each = units.group_by("value").agg(units=units.count()).order_by("value")
    count, reason = 0, ""
    for batch in each.to_pyarrow().to_batches():
        for row in batch.to_pylist():
            if row["value"] is None:
                continue
            try:
                model.check_value(row["value"])
            except InputError as problem:
                count, reason = count + int(row["units"]), reason or str(problem)
    return Unfit(count, reason) if count else None


def arrivals(units: Any, calendar: Calendar = DAILY) -> list[Row]:
    """Units per arm and day of arrival."""
    units = placed(units)
    keys = {"arm": units.arm, "day": calendar.of(units["first"])}
    if "segment" in units.columns:
        keys["segment"] = units.segment
    return run(units.group_by(**keys).agg(units=units.count()))


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
    return grown, arrivals(units, calendar)


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
