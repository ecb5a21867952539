"""A log as it is read: which columns of its tables are used, and its rows made clean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bascule.analysis.log.columns import Arms, Columns, arms_of
from bascule.analysis.log.naming import chosen, chosen_value
from bascule.analysis.log.numbers import check_unit, decimal_of
from bascule.analysis.log.reading import Reading, Roles
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
    follow_up: str | None = None
    drop_duplicates: bool = False
    decimal: str | None = None


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
    unit = _unit(names, events, alone)
    arm = str(chosen(arm_table, "arm", names.arm, taken=_given(unit)))
    designed = None if request.design is None else request.design.arms
    arms = arms_of(arm_table, arm, designed, request.control)
    if len(arms.names) < 2:
        there = f"only {arms.names[0]!r}" if arms.names else "no arm at all"
        raise InputError("arm", f"arm: the log has {there}: a test compares at least two")
    about = _about_units(arm_table, arms.names, names) | _sums_of_rows(arm_table, names)
    taken = [*_given(unit), *([arm] if alone else [])]
    time = chosen(events, "time", names.time, needed=False, taken=taken)
    others = [*(about[role] for role in ROLES if about.get(role)), *_probabilities(about)]
    used = [*taken, *_given(time), *(others if alone else ())]
    per = _per(events, names)
    value = chosen_value(events, names.value, [*used, *_given(per)], events=not alone)
    of_events = {"unit": unit, "time": time, "value": value.name} if alone else {}
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
    roles = [value.name, per, *(about.get(role) for role in ("count", "squares", "covariate"))]
    decimals = _decimals(events, roles, names.decimal)
    columns = Columns(
        unit,
        arm if alone else None,
        value.name,
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
        value=value.name,
        other_values=value.others,
        probability=_probabilities(about),
        window=None if measure is None or measure.window is None else exactly(measure.closes(0.0)),
        per=per,
        follow_up=names.follow_up is not None,
        **{role: about.get(role) for role in ROLES},
        cumulative=names.cumulative,
        times=arrivals.kind,
        block=_block(request, times),
        decimal=decimals.get(value.name or ""),
        time_form=None if times.form in ("as is", "days", "seconds") else times.form,
    )
    if alone:
        rows = clean(events, columns, arms, request.until, text=False)
        return Log(arms, columns, events, rows, reading)
    assert assigned_times is not None
    fallback = unit if unit in assignments.columns else None
    assigned_unit = chosen(assignments, "unit", names.assignments_unit or fallback, taken=[arm])
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


def _unit(names: Names, events: Any, alone: bool) -> str | None:
    """The column of the unit; None where every row is one."""
    if names.count is not None:
        if names.unit is not None or names.row_is_unit or not alone:
            raise InputError("count", "count: rows that count units have no unit: leave it out")
        return None
    if not names.row_is_unit:
        return chosen(events, "unit", names.unit)
    if names.unit is not None:
        raise InputError(
            "row_is_unit", "row_is_unit says that no column has the unit: leave unit out"
        )
    if not alone:
        raise InputError(
            "row_is_unit", "row_is_unit: with assignments, a column must name the unit"
        )
    return None


def _both_times(
    request: Request, names: Names, times: Times, assignments: Any, arm: str
) -> tuple[Times, Times]:
    """The times of events and of assignments; without one of them the other is of no use."""
    fallback = names.time if names.time in assignments.columns else None
    name = names.assignments_time or fallback
    column = chosen(assignments, "time", name, needed=False, taken=[arm])
    kind = None if column is None else assignments[column].type()
    takes_format = kind is not None and (kind.is_string() or kind.is_integer())
    time_format = names.time_format if takes_format else None
    assigned = times_of(assignments, column, time_format, "assignments_time")
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
        role: chosen(arm_table, role, getattr(names, role), needed=False)
        for role in ("segment", "covariate", "cluster")
    }
    probability = names.probability
    if not isinstance(probability, Mapping):
        about["probability"] = chosen(arm_table, "probability", probability, needed=False)
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
        str(chosen(arm_table, "probability", probability[arm])) for arm in arms
    )
    return about


def _per(events: Any, names: Names) -> str | None:
    """The column with the denominator of a ratio, or with the time at risk."""
    if names.per is not None and names.follow_up is not None:
        raise InputError("follow_up", "follow_up and per are both denominators: leave one out")
    field = "per" if names.per is not None else "follow_up"
    return chosen(events, field, names.per or names.follow_up, needed=False)


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
    squares = None if names.squares is None else chosen(table, "squares", names.squares)
    return {"count": chosen(table, "count", names.count), "squares": squares}


def _probabilities(about: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(about.get("probabilities") or _given(about.get("probability")))


def _given(name: str | None) -> list[str]:
    return [] if name is None else [name]
