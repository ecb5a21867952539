"""Tables of units, made of the rows of a log: expressions for Ibis, nothing is run here."""

from __future__ import annotations

from typing import Any

from bascule.analysis.log.rows import good
from bascule.analysis.reduce.moments import check_covered
from bascule.analysis.source.backend import run
from bascule.core.metrics.measure import Measure

TWO_ARMS, TWO_SEGMENTS = -1, -2
"""What stands in place of an arm for units that are excluded."""

CONSTANT = ("covariate", "cluster")
"""What is known of a unit besides its arm, its segment and its probabilities."""


def units_of(rows: Any) -> Any:
    """Assignments: a row per unit with its arms, its first moment and the number of its rows.

    A unit of two arms or segments has the lowest and the highest of them.
    """
    rows = good(rows)
    return rows.group_by("unit").agg(**_about_unit(rows))


def _about_unit(rows: Any) -> dict[str, Any]:
    parts = {"lowest": rows.code.min(), "highest": rows.code.max()}
    if "segment" in rows.columns:
        parts |= {"segment": rows.segment.min(), "other": rows.segment.max()}
    parts |= {"first": rows.time.min(), "rows": rows.count()}
    return parts | {name: rows[name].min() for name in _constant(rows)}


def _constant(rows: Any) -> list[str]:
    probabilities = [name for name in rows.columns if name.startswith("probability")]
    return probabilities + [name for name in CONSTANT if name in rows.columns]


def counting(condition: Any) -> Any:
    """1 where it holds and 0 where not; null stays null. Not every database casts to that."""
    import ibis

    return ibis.ifelse(condition.isnull(), ibis.null("int64"), ibis.ifelse(condition, 1, 0))


def aggregated(value: Any, time: Any, aggregate: str, where: Any = None) -> Any:
    """What the values of a unit add up to; null where it has none."""
    if aggregate == "any":
        return counting(value != 0.0).max(where=where).cast("float64")
    if aggregate == "mean":
        return value.mean(where=where)
    if aggregate == "last":
        there = value.notnull() if where is None else where & value.notnull()
        return value.argmax(time, where=there)
    return value.sum(where=where)


def units_of_rows(rows: Any, aggregate: str) -> Any:
    """A table of units whose rows are units already."""
    rows = good(rows)
    value = counting(rows.value != 0.0).cast("float64") if aggregate == "any" else rows.value
    others = [name for name in ("segment", "per", "entry") if name in rows.columns]
    others += _constant(rows)
    parts = {name: rows[name] for name in others}
    return rows.select(arm=rows.code, first=rows.time, outcome=value, **parts)


def units_to_date(rows: Any, aggregate: str) -> Any:
    """A table of units that arrive with their first row: all their values in the log together."""
    rows = good(rows)
    # A day is smaller than a moment, and enough here.
    about = _about_unit(rows) | {"first": rows.time.date().min()}
    about |= {"per": rows.per.sum()} if "per" in rows.columns else {}
    return rows.group_by("unit").agg(**about, outcome=aggregated(rows.value, rows.time, aggregate))


def units_with_events(events: Any, units: Any, measure: Measure | None, aggregate: str) -> Any:
    """A table of units from assignments and events: the outcome, and what did not count and why.

    The outcome is null where a unit has no event. Without a measure all events from the unit's
    arrival on count.
    """
    import ibis

    both = joined(events, units, ["first"])
    at, value = both["at"], both["value"]
    inside = at >= both["first"]
    parts = {"early": counting(at < both["first"]).sum()}
    if measure is not None:
        closes = both["first"] + ibis.interval(microseconds=round(1e6 * measure.closes(0.0)))
        inside = inside & (at < closes)
        parts["late"] = counting(at >= closes).sum()
    outcomes = both.group_by("unit").agg(
        **parts,
        events=both.count(),
        values=value.count(),
        latest=at.max(),
        outcome=aggregated(value, at, aggregate, inside),
        **({"per": both["per"].sum(where=inside)} if "per" in both.columns else {}),
    )
    return units.left_join(outcomes, "unit").drop("unit_right")


def joined(events: Any, units: Any, names: list[str]) -> Any:
    """Every good event of a known unit with some facts about the unit."""
    rows = good(events)
    denominator = [name for name in ("per",) if name in rows.columns]
    rows = rows.select("unit", "value", *denominator, at=rows.time)
    return rows.inner_join(units.select("unit", *names), "unit")


def clustered(units: Any, *, by_arm: bool) -> Any:
    """A table of clusters: the sum over their units, and their number or that of denominators.

    Units without an outcome do not count. With `by_arm` a cluster has a row for each of its arms.
    The covariate of a cluster is the sum over its units of their distance from the mean of all, so
    that a large cluster is not expected to differ.
    """
    import ibis

    units = placed(units)
    units = units.filter(units.arm >= 0, units.outcome.notnull())
    per = units.per.sum() if "per" in units.columns else units.count()
    parts = {}
    if "covariate" in units.columns:
        parts["covariate"] = (units.covariate - mean_covariate(units)).sum()
    key = units.cluster
    if by_arm:
        key = ibis.struct({"cluster": key, "arm": units.arm})
    return units.group_by(cluster=key).agg(
        lowest=units.arm.min(),
        highest=units.arm.max(),
        first=units["first"].min(),
        outcome=units.outcome.sum(),
        per=per.cast("float64"),
        **parts,
    )


def mean_covariate(units: Any) -> float:
    """The mean covariate of all units; refuse units that have none."""
    missing = counting(units.covariate.isnull()).sum()
    (row,) = run(units.agg(mean=units.covariate.mean(), missing=missing))
    check_covered(row["missing"])
    return float(row["mean"] or 0.0)


def placed(units: Any) -> Any:
    """Units with `arm`: its number, or why they are excluded."""
    import ibis

    if "arm" in units.columns:
        return units
    cases = [(units.lowest != units.highest, ibis.literal(TWO_ARMS, "int16"))]
    if "segment" in units.columns:
        cases.append((units.segment != units.other, ibis.literal(TWO_SEGMENTS, "int16")))
    return units.mutate(arm=ibis.cases(*cases, else_=units.lowest.cast("int16")))
