"""Read a log: find the columns of its tables and clean its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from bascule.analysis.assigned import Assigned
from bascule.analysis.call import PER_ROW, Asked, LogMetric
from bascule.analysis.log.naming import column, named, usual, with_kind
from bascule.analysis.log.numbers import PLAIN, Written, check_unit, written_of
from bascule.analysis.log.reading import Reading
from bascule.analysis.log.recognise import recognised
from bascule.analysis.log.rows import Arms, Columns, arms_of, clean
from bascule.analysis.log.times import Times, times_of
from bascule.analysis.log.units import entries_of
from bascule.analysis.request import Request
from bascule.analysis.source.places import Unreadable, run
from bascule.core.approximate import exactly
from bascule.core.errors import InputError, invalid

EXPORTED = {"unit", "arm", "value", "at", "received", "id"}
"""Columns of the outcomes that `bascule experiment export` writes, besides `per` for ratios."""

OF_BASCULE = (
    "the log seems to be that of a test that bascule ran: its own report has the decision "
    "(bascule experiment report NAME --html FILE), and here it is analysed as any log is"
)

LAST_MOMENT = timedelta(days=1) - timedelta(microseconds=1)
"""Time from the beginning of a day to its last microsecond."""

ONLY_DAYS = (
    "only the day is known of events, so events on the day on which their unit was assigned count "
    "as later than its assignment"
)

MOST_PAIRED_ARMS = 40
"""Maximum number of arms for which sums of all pairs are made; more would be too wide a table."""


@dataclass(frozen=True, slots=True)
class ResolvedLog:
    """The tables of a log with their columns and arms, and their cleaned rows.

    `table` has the events as they are, and `rows` the same events cleaned. `assigned` has the
    cleaned rows of the assignment table; None if there is none. `unreadable` has the lines of files
    that were left out, by table. With `is_stream`, assignments and events are in one table.
    """

    arms: Arms
    columns: Columns
    table: Any
    rows: Any
    reading: Reading
    assigned: Any = None
    assignment_columns: Columns | None = None
    cumulative: bool | None = None
    is_stream: bool = False
    unreadable: Mapping[str, Unreadable] = field(default_factory=dict)

    @property
    def arrivals(self) -> Any:
        """The rows that have the arms of units, and when they arrived."""
        return self.rows if self.assigned is None else self.assigned

    @property
    def about_units(self) -> Columns:
        """The columns of the table that has the arms."""
        return self.assignment_columns or self.columns


def read_log(
    asked: Asked,
    metric: LogMetric,
    request: Request,
    events: Any,
    assignments: Any = None,
    used: Reading | None = None,
) -> ResolvedLog:
    """Find the columns of the tables unless `used` has them, and clean the rows."""
    events = with_kind(events, metric.value)
    alone = assignments is None
    arm_table = events if alone else assignments
    if asked.design is None and asked.assigned == Assigned():
        metric = _of_export(metric, events, alone=alone)
    counts_rows = metric.per == PER_ROW and PER_ROW not in events.columns
    per = PER_ROW if counts_rows else column(events, "per", metric.per)
    used = used or recognised(events, assignments, asked, metric, per=per)
    unit, arm, value = used.unit, used.arm, used.value
    _check_roles(used, column(arm_table, "covariate", asked.covariate), alone=alone)
    designed = None if request.design is None else request.design.arms
    arms = arms_of(arm_table, arm, designed, request.control)
    about = _about_units(arm_table, arms.names, asked)
    times, arrivals = times_of(events, used.time, asked.log.time_format), None
    if not alone:
        times, arrivals = _both_times(asked, times, assignments, arm)
    if times.column is None and request.measure is not None:
        raise invalid(
            "window needs to know when events came: name the column with their time, and that of "
            "assignments if these are in another table",
        )
    if times.column is None and asked.log.cumulative:
        raise invalid("cumulative needs the time of rows: name its column")
    if unit is not None:
        check_unit(events, unit)
    roles = [value, per, *(about[role] for role in ("count", "squares", "covariate"))]
    # Sums of 0 and 1 are whole numbers.
    is_count = about["count"] is not None and about["squares"] is None
    written = _written(events, roles, asked.log.decimal, whole=is_count)
    words = entries_of(events, unit, arms.rows)
    columns = Columns(unit, None, value, times, per=per, written=written, **words)
    assigned, assignment_columns, text = None, None, False
    if arrivals is None:
        columns = replace(columns, arm=arm, **about)
    else:
        assert asked.assignments is not None
        assigned_unit = _assigned_unit(
            assignments, asked.assignments.unit or used.assignments_unit, unit, arm
        )
        forms = _written(assignments, [about["covariate"]], asked.log.decimal)
        words = entries_of(assignments, assigned_unit, arms.rows)
        assignment_columns = Columns(
            assigned_unit, arm, None, arrivals, **about, written=forms, **words
        )
        text = events[unit].type() != assignments[assigned_unit].type()
        assigned = clean(assignments, assignment_columns, arms, request.until, text=text)
        used = replace(used, assignments_unit=assigned_unit, assignments_time=arrivals.column)
    measure = request.measure
    reading = replace(
        used,
        time=times.column,
        probability=about["probabilities"],
        window=None if measure is None or measure.window is None else exactly(measure.closes(0.0)),
        per=per,
        **{role: about[role] for role in asked.about_units},
        cumulative=bool(asked.log.cumulative),
        times="none" if asked.log.cumulative else (arrivals or times).kind,
        notes=(*used.notes, *([OF_BASCULE] if set(events.columns) >= EXPORTED else ())),
        block=request.block or ("week" if times.weekly else "day"),
        written=str(written.get(value or "", "")),
        time_form=None if times.form in ("as is", "days", "seconds") else times.form,
    )
    rows = clean(events, columns, arms, request.until, text=text)
    if (
        arrivals is not None
        and _are_days(events, rows, times.column)
        and not _are_days(assignments, assigned, arrivals.column)
    ):
        # An event of the day of an assignment must not count as one before it.
        rows = rows.mutate(time=rows.time + LAST_MOMENT)
        reading = replace(reading, notes=(*reading.notes, ONLY_DAYS))
    cumulative = asked.log.cumulative
    is_stream = asked.assignments is not None and asked.assignments.is_of(asked.log)
    parts = (assigned, assignment_columns, cumulative, is_stream)
    return ResolvedLog(arms, columns, events, rows, reading, *parts)


def _are_days(table: Any, rows: Any, time: str | None) -> bool:
    """Whether the times of rows are days, without a time of the day."""
    if time is None:
        return False
    if table[time].type().is_date():
        return True
    parts = rows.agg(rows=rows.count(), timed=(rows.time != rows.time.truncate("D")).sum())
    (found,) = run(parts)
    return bool(found["rows"]) and not found["timed"]


def _check_roles(used: Reading, covariate: str | None, *, alone: bool) -> None:
    """Raise an error if a column has two roles."""
    if alone and used.arm == used.value:
        raise invalid(
            f"arm: {used.arm!r} is also the column of the metric: name the column with the arms",
        )
    of_events = {used.unit: "unit", used.time: "time", used.value: "metric"} if alone else {}
    if (role := {used.arm: "arm", **of_events}.get(covariate)) and covariate:
        raise invalid(
            f"covariate: {covariate!r} is the column of the {role}: name a number that "
            "was known before the test",
        )


def _written(
    table: Any, names: Sequence[str | None], decimal: str | None, *, whole: bool = False
) -> dict[str, Written]:
    """Return the number formats of the text columns that have separators or currency signs."""
    present = [name for name in names if name is not None and name in table.columns]
    forms = {name: written_of(table, name, decimal, whole=whole) for name in present}
    return {name: form for name, form in forms.items() if form != PLAIN}


def _assigned_unit(assignments: Any, stated: str | None, unit: str | None, arm: str) -> str:
    """Return the unit column of the assignments: as named, as in the events, or as usual."""
    if stated is not None:
        return named("unit", stated, list(assignments.columns))
    if unit in assignments.columns:
        return str(unit)
    likely = usual("unit", [name for name in assignments.columns if name != arm])
    if len(likely) != 1:
        columns = ", ".join(likely or assignments.columns)
        raise invalid(
            f"unit: which column of the assignments is it, of {columns}? Name it: "
            f'assignments=Log(..., unit="COLUMN"), or --assignments-unit',
        )
    return likely[0]


def _of_export(metric: LogMetric, events: Any, *, alone: bool) -> LogMetric:
    """Return the metric with its denominator if the log is the export of a ratio.

    Raise an error unless the log is `alone`, without assignments: ratios need a single table.
    """
    is_ratio = set(events.columns) >= EXPORTED | {"per"}
    is_plain = metric in (LogMetric(goal=metric.goal), LogMetric("value", goal=metric.goal))
    if not (is_ratio and is_plain):
        return metric
    if not alone:
        raise InputError(
            "assignments",
            "assignments do not go with the export of a ratio, in which every row has its arm and "
            "a unit without rows changes no ratio: leave them out",
        )
    return replace(metric, per="per")


def _both_times(asked: Asked, times: Times, assignments: Any, arm: str) -> tuple[Times, Times]:
    """Return the times of events and of assignments; both are dropped if one is missing."""
    assert asked.assignments is not None
    fallback = asked.time if asked.time in assignments.columns else None
    name = column(assignments, "time", asked.assignments.time or fallback)
    if name is None:
        free = [column for column in assignments.columns if column != arm]
        name = next(iter(usual("time", free) + usual("perhaps a time", free)), None)
    kind = None if name is None else assignments[name].type()
    takes_format = kind is not None and (kind.is_string() or kind.is_integer())
    time_format = asked.log.time_format if takes_format else None
    assigned = times_of(assignments, name, time_format, "assignments_time")
    if times.column is None or assigned.column is None:
        return Times(None), Times(None)
    return times, assigned


def _about_units(arm_table: Any, arms: tuple[str, ...], asked: Asked) -> dict[str, Any]:
    """Return the columns that describe a unit or a row of several units."""
    about: dict[str, Any] = {
        role: column(arm_table, role, name) for role, name in asked.about_units.items()
    }
    probability = asked.assigned.probability
    if probability is None:
        return about | {"probabilities": ()}
    if not isinstance(probability, Mapping):
        if len(arms) > 2:
            raise invalid(
                f"probability: the log has {len(arms)} arms, so a column for each of them is "
                'needed, probability={"ARM": "COLUMN", ...} (--probability ARM=COLUMN,...)',
            )
        return about | {"probabilities": (column(arm_table, "probability", probability),)}
    if set(probability) != set(arms):
        raise invalid(
            f"probability must name every arm, {', '.join(arms)}, and no other "
            f"(got {', '.join(probability)})"
        )
    if len(arms) > MOST_PAIRED_ARMS:
        raise invalid(
            f"probability: a column for each arm is possible for up to {MOST_PAIRED_ARMS} arms: "
            "analyse fewer arms",
        )
    about["probabilities"] = tuple(
        named("probability", probability[arm], list(arm_table.columns)) for arm in arms
    )
    return about
