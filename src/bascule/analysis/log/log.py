"""A log as it is read: which columns of its tables are used, and its rows made clean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bascule.analysis import call
from bascule.analysis.call import PER_ROW, LogMetric
from bascule.analysis.log.columns import Arms, Columns, arms_of
from bascule.analysis.log.naming import column, named, usual
from bascule.analysis.log.numbers import check_unit, decimal_of
from bascule.analysis.log.reading import Reading, Roles
from bascule.analysis.log.recognise import Given, recognised, start_of
from bascule.analysis.log.rows import clean
from bascule.analysis.log.times import Times, times_of
from bascule.analysis.reduce.scores import MOST_PAIRED_ARMS
from bascule.analysis.request import Request
from bascule.analysis.source.places import Unreadable
from bascule.core.approximate import exactly
from bascule.core.errors import InputError

Probability = str | Mapping[str, str] | None

ROLES = ("count", "squares", "covariate", "cluster", "segment")
"""Columns that say something of a unit, or of several, besides its arm and its probabilities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names(Roles):
    """The columns that were named, None for those that are to be found, and how they are read."""

    arm: str | None = None
    probability: Probability = None
    time_format: str | None = None
    row_is_unit: bool = False
    follow_up: str | tuple[str, str] | None = None
    drop_duplicates: bool = False
    decimal: str | None = None
    plain_value: bool = True

    @classmethod
    def of(cls, log: call.Log, assigned: call.Assigned, **columns: Any) -> Names:
        """Return the columns that were named, with what is said of the log and of the arms."""
        return cls(
            **columns,
            cluster=assigned.cluster,
            probability=assigned.probability,
            row_is_unit=log.row_is_unit,
            count=log.count,
            squares=log.squares,
            cumulative=log.cumulative,
            time_format=log.time_format,
            drop_duplicates=log.drop_duplicates,
            decimal=log.decimal,
        )

    def of_metric(self, metric: LogMetric) -> Names:
        """Return the names with the columns of a metric."""
        declared = (metric.per, metric.follow_up, metric.aggregate, metric.window, metric.period)
        return replace(
            self,
            value=metric.value,
            per=metric.per,
            follow_up=metric.follow_up,
            plain_value=all(one is None for one in declared),
        )


@dataclass(frozen=True, slots=True)
class Log:
    """The tables of a log with their arms and columns, and what of them is used.

    `dropped` copies of rows were left out, and so were `unreadable` lines. `table` has the other
    events as they are, `rows` and `assigned` are clean rows; without an assignment table
    `assigned` is None.
    """

    arms: Arms
    columns: Columns
    table: Any
    rows: Any
    reading: Reading
    assigned: Any = None
    assignment_columns: Columns | None = None
    dropped: int = 0
    cumulative: bool | None = None
    unreadable: Mapping[str, Unreadable] = field(default_factory=dict)


def read_log(
    request: Request, names: Names, events: Any, assignments: Any, places: tuple[str, str]
) -> Log:
    """Choose the columns of the tables and clean their rows; `places` says where the tables are."""
    if names.drop_duplicates:
        different = events.distinct()
        dropped = int(events.count().to_pyarrow().as_py() - different.count().to_pyarrow().as_py())
        log = read_log(
            request, replace(names, drop_duplicates=False), different, assignments, places
        )
        return replace(log, dropped=dropped)
    alone = assignments is None
    arm_table = events if alone else assignments
    events, per = _with_denominator(events, names)
    _check_unit_options(names, alone)
    given = given_names(arm_table, names, per)
    found = recognised(events, assignments, given, places[0])
    unit, arm, time = found.unit, found.arm, found.time
    designed = None if request.design is None else request.design.arms
    arms = arms_of(arm_table, arm, designed, request.control)
    if len(arms.names) < 2:
        there = f"only {arms.names[0]!r}" if arms.names else "no arm at all"
        raise InputError("arm", f"arm: the log has {there}: a test compares at least two")
    about = _about_units(arm_table, arms.names, names) | _sums_of_rows(arm_table, names)
    of_events = {"unit": unit, "time": time, "metric": found.value} if alone else {}
    _check_covariate(about["covariate"], {"arm": arm, **of_events})
    times, assigned_times = times_of(events, time, names.time_format), None
    if not alone:
        times, assigned_times = _both_times(request, names, times, assignments, arm)
    if request.measure is not None and times.column is None:
        raise InputError(
            "window", "window needs to know when events came: name the column with their time"
        )
    if unit is not None:
        check_unit(events, unit)
    roles = [found.value, per, *(about.get(role) for role in ("count", "squares", "covariate"))]
    decimals = _decimals(events, roles, names.decimal)
    columns = Columns(
        unit,
        arm if alone else None,
        found.value,
        times,
        **(about if alone else {}),
        per=per,
        decimals=decimals,
    )
    arrivals, measure = assigned_times or times, request.measure
    reading = Reading(
        log=places[0],
        unit=unit,
        arm=arm,
        time=times.column,
        value=found.value,
        other_values=found.others,
        probability=_probabilities(about),
        window=None if measure is None or measure.window is None else exactly(measure.closes(0.0)),
        per=per,
        follow_up=names.follow_up is not None,
        at_risk=per is not None and per not in (names.per, names.follow_up),
        **{role: about.get(role) for role in ROLES},
        cumulative=bool(names.cumulative),
        times=arrivals.kind,
        block=_block(request, times),
        decimal=decimals.get(found.value or ""),
        time_form=None if times.form in ("as is", "days", "seconds") else times.form,
        notes=found.notes,
    )
    if alone:
        rows = clean(events, columns, arms, request.until, text=False)
        return Log(arms, columns, events, rows, reading, cumulative=names.cumulative)
    assert assigned_times is not None
    assigned_unit = _assigned_unit(assignments, names.assignments_unit, unit, arm)
    signs = _decimals(assignments, [about["covariate"]], names.decimal)
    assignment_columns = Columns(assigned_unit, arm, None, assigned_times, **about, decimals=signs)
    text = events[unit].type() != assignments[assigned_unit].type()
    rows = clean(events, columns, arms, request.until, text=text)
    assigned = clean(assignments, assignment_columns, arms, request.until, text=text)
    reading = replace(
        reading,
        assignments=places[1],
        assignments_unit=assigned_unit,
        assignments_time=assigned_times.column,
    )
    return Log(arms, columns, events, rows, reading, assigned, assignment_columns)


def _decimals(table: Any, names: Sequence[str | None], given: str | None) -> dict[str, str]:
    """The decimal signs of those columns that are text with commas."""
    there = [name for name in names if name is not None and name in table.columns]
    signs = {name: decimal_of(table, name, given) for name in there}
    return {name: sign for name, sign in signs.items() if sign is not None}


def _block(request: Request, times: Times) -> str:
    """What units are compared within, in words."""
    block = request.block or ("week" if times.weekly else "day")
    return block if isinstance(block, str) else f"{block:,} units"


def given_names(table: Any, names: Names, per: str | None = None) -> Given:
    """The columns that the user named, of the table that has the arms."""
    others = [role for role in ROLES if role != "covariate"]
    taken = [column(table, role, getattr(names, role)) for role in others]
    stated = names.probability
    probabilities = stated.values() if isinstance(stated, Mapping) else _given(stated)
    taken += [column(table, "probability", one) for one in probabilities]
    denominators = [per or column(table, "per", None if names.per == PER_ROW else names.per)]
    interval = names.follow_up if isinstance(names.follow_up, tuple) else _given(names.follow_up)
    return Given(
        names.unit,
        names.arm,
        names.time,
        names.value,
        no_unit=names.row_is_unit or names.count is not None,
        plain_value=names.plain_value,
        taken=tuple(name for name in (*taken, *denominators, *interval) if name),
        covariate=column(table, "covariate", names.covariate),
    )


def _check_unit_options(names: Names, alone: bool) -> None:
    """Refuse to name a unit where rows are units, or count them."""
    if names.count is not None and (names.unit is not None or names.row_is_unit or not alone):
        raise InputError("count", "count: rows that count units have no unit: leave it out")
    if names.row_is_unit and names.unit is not None:
        raise InputError(
            "row_is_unit", "row_is_unit says that no column has the unit: leave unit out"
        )
    if names.row_is_unit and not alone:
        raise InputError(
            "row_is_unit", "row_is_unit: with assignments, a column must name the unit"
        )


def _assigned_unit(assignments: Any, given: str | None, unit: str | None, arm: str) -> str:
    """The column of the unit in the assignments: as named, as in the events, or a usual name."""
    if given is not None:
        return named("unit", given, list(assignments.columns))
    if unit in assignments.columns:
        return str(unit)
    likely = usual("unit", [name for name in assignments.columns if name != arm])
    if len(likely) != 1:
        columns = ", ".join(likely or assignments.columns)
        raise InputError(
            "unit",
            f"unit: which column of the assignments is it, of {columns}? Name it: "
            f'assignments=Log(..., unit="COLUMN"), or --assignments-unit',
        )
    return likely[0]


def _with_denominator(events: Any, names: Names) -> tuple[Any, str | None]:
    """The events with the column of the denominator, or of the time at risk, and its name.

    The time at risk of a row that has a start and a stop is the time between them.
    """
    columns, stop = list(events.columns), names.follow_up
    if names.per == PER_ROW and PER_ROW not in columns:
        return events, PER_ROW
    if stop is None:
        return events, column(events, "per", names.per)
    if isinstance(stop, str):
        stop = named("follow_up", stop, columns)
        start = start_of(stop, columns)
    else:
        start, stop = (named("follow_up", name, columns) for name in stop)
    if start is None:
        return events, stop
    length = f"{stop} - {start}"
    return events.mutate(**{length: events[stop] - events[start]}), length


def _both_times(
    request: Request, names: Names, times: Times, assignments: Any, arm: str
) -> tuple[Times, Times]:
    """The times of events and of assignments; without one of them the other is of no use."""
    fallback = names.time if names.time in assignments.columns else None
    name = column(assignments, "time", names.assignments_time or fallback)
    if name is None:
        name = next(iter(usual("time", [one for one in assignments.columns if one != arm])), None)
    kind = None if name is None else assignments[name].type()
    takes_format = kind is not None and (kind.is_string() or kind.is_integer())
    time_format = names.time_format if takes_format else None
    assigned = times_of(assignments, name, time_format, "assignments_time")
    if times.column is None or assigned.column is None:
        if request.measure is not None:
            raise InputError(
                "window", "window needs to know when: name the time of events and of assignments"
            )
        return Times(None), Times(None)
    return times, assigned


def _about_units(arm_table: Any, arms: tuple[str, ...], names: Names) -> dict[str, Any]:
    """The columns with the segment and the probabilities of a unit."""
    about: dict[str, Any] = {
        role: column(arm_table, role, getattr(names, role))
        for role in ("segment", "covariate", "cluster")
    }
    probability = names.probability
    if not isinstance(probability, Mapping):
        about["probability"] = column(arm_table, "probability", probability)
        return about
    if set(probability) != set(arms):
        raise InputError("probability", f"probability must name every arm: {', '.join(arms)}")
    if len(arms) > MOST_PAIRED_ARMS:
        raise InputError(
            "probability",
            f"probability: a column for each arm is possible for up to {MOST_PAIRED_ARMS} arms: "
            "give the column of the unit's own arm, and least_probability",
        )
    about["probabilities"] = tuple(
        named("probability", probability[arm], list(arm_table.columns)) for arm in arms
    )
    return about


def _check_covariate(covariate: str | None, others: Mapping[str, str | None]) -> None:
    """Raise `InputError` if the covariate is a column that already has another role."""
    for role, name in others.items():
        if covariate is not None and covariate == name:
            raise InputError(
                "covariate",
                f"covariate: {covariate!r} is the column of the {role}: name a number that was "
                "known before the test",
            )


def _sums_of_rows(table: Any, names: Names) -> dict[str, Any]:
    """The columns of a log that is sums already."""
    if names.count is None:
        if names.squares is not None or names.cumulative:
            name = "squares" if names.squares is not None else "cumulative"
            raise InputError(name, f"{name} goes with count, the column with the number of units")
        return {}
    squares = column(table, "squares", names.squares)
    return {"count": column(table, "count", names.count), "squares": squares}


def _probabilities(about: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(about.get("probabilities") or _given(about.get("probability")))


def _given(name: str | None) -> list[str]:
    return [] if name is None else [name]
