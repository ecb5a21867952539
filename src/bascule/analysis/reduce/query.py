"""From rows to sums per arm and day, computed in the database."""

from __future__ import annotations

from typing import Any

from bascule.analysis.log.columns import Arms, coded
from bascule.analysis.log.rows import good
from bascule.analysis.reduce.moments import moment_sums
from bascule.analysis.reduce.scores import OWN, score_sums
from bascule.analysis.reduce.units import counting, joined, placed
from bascule.analysis.request import Request, Unfit
from bascule.analysis.source.backend import Row, run
from bascule.core.errors import InputError


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


def by_arrival(request: Request, units: Any, arms: int, entries: Arms | None = None) -> list[Row]:
    """Units, outcomes, their squares and their cubes per arm and day of arrival.

    `units` has a row per unit. A unit without any value has the outcome `missing`, or is left out
    if such units are excluded. Outcomes beyond the limits count as the nearest limit. Units that
    have the entry of their arm are grouped by it first, and `entries` says which arm it means.
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
    if request.exclude:
        sums["without_value"] = counting(value.isnull()).sum()
    for name in ("early", "late", "events"):
        if name in units.columns:
            sums[name] = units[name].sum()
    # A unit that is excluded has no denominator and no covariate either.
    there = {
        name: value.isnull().ifelse(ibis.null("float64"), units[name])
        for name in ("per", "covariate")
        if name in units.columns
    }
    per, covariate = there.get("per"), there.get("covariate")
    if per is not None or covariate is not None:
        sums |= moment_sums(value, per, covariate)
    if any(name.startswith(OWN) for name in units.columns):
        sums |= score_sums(units, value, arms)
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


def _outcome(request: Request, units: Any) -> Any:
    """The outcome of a unit; one without any value has `missing`, or none if it is excluded."""
    return units.outcome if request.exclude else units.outcome.fill_null(request.missing)


def unfit_outcomes(request: Request, units: Any) -> Unfit | None:
    """The outcomes that a model does not allow, by its own `check_value`; None if there are none.

    Every different outcome is checked once. Those beyond both limits are capped elsewhere, and
    nothing is checked where a model says no more than its limits.
    """
    model = request.strict_outcome
    if model is None:
        return None
    units = placed(units)
    value = _outcome(request, units)
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


def arrivals_by_day(units: Any) -> list[Row]:
    """Units per arm and day of arrival."""
    units = placed(units)
    keys = {"arm": units.arm, "day": units["first"].date()}
    if "segment" in units.columns:
        keys["segment"] = units.segment
    return run(units.group_by(**keys).agg(units=units.count()))
