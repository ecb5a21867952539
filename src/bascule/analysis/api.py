"""`analyze`: from a log to an answer, by way of one small table of sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from typing import Any

from bascule.analysis.assemble import assembled
from bascule.analysis.evidence.recurring import by_count, by_period
from bascule.analysis.evidence.replay import is_exported, replay
from bascule.analysis.reduce import query as reduce
from bascule.analysis.reduce.scores import MOST_PAIRED_ARMS, OWN
from bascule.analysis.reduce.sums import Sums, Table, table_of
from bascule.analysis.request import Reduced, Request
from bascule.analysis.result import Analysis
from bascule.analysis.source.columns import Columns, arm_names, chosen
from bascule.analysis.source.open import (
    MEMORY,
    MEMORY_BY_DAY,
    Source,
    connections,
    first_line,
    open_tables,
)
from bascule.analysis.source.rows import (
    BLANK,
    TWO_ARMS,
    Calendar,
    clean,
    units_in_window,
    units_of,
    units_of_events,
    units_to_date,
)
from bascule.core.design import Design, Goal
from bascule.core.errors import InputError
from bascule.core.measure import Aggregate
from bascule.core.outcomes import Outcome

NOT_FINAL = "probability needs outcomes that are final: give window, or one row a unit"
EXCLUDE_NOT_FINAL = (
    'missing="exclude" needs outcomes that are final: give window, or one row a unit, or ask for '
    "today's answer alone"
)


def analyze(
    events: object,
    *,
    unit: str | None = None,
    arm: str | None = None,
    value: str | None = None,
    time: str | None = None,
    design: Design | None = None,
    assignments: object | None = None,
    outcome: Outcome | str | None = None,
    error: float | None = None,
    sides: int | None = None,
    min_effect: float | None = None,
    goal: Goal | None = None,
    control: str | None = None,
    window: float | str | None = None,
    aggregate: Aggregate | None = None,
    missing: float | str | None = None,
    grace: float | str = 0.0,
    period: float | str | None = None,
    segment: str | None = None,
    probability: str | Mapping[str, str] | None = None,
    least_probability: float | Mapping[str, float] | None = None,
    weights: Sequence[float] | Mapping[str, float] | None = None,
    until: date | datetime | str | None = None,
    by_day: bool = True,
    query: str | None = None,
    assignments_query: str | None = None,
    memory: str | None = None,
) -> Analysis:
    """Analyse the log of a test: is there a winner, how large is the effect, since when?

    `events` is a file (Parquet, CSV, JSON lines), a data frame, an Ibis table, or the URL of a
    database with a `query`; so is `assignments`, if units were assigned elsewhere. `unit`, `arm`,
    `value` and `time` name columns; usual names are found without. A unit's outcome is what its
    values add up to (`aggregate`) within a `window` from its arrival; without a window it grows,
    and what is said of it is asymptotic. Null, NaN and blank text are no value. A unit without any
    value has the outcome `missing`, 0 if not given; `missing="exclude"` leaves such units out.

    With the goal "decrease" the arm with the lowest mean is the best; `control` names the arm that
    others are compared with, the first one unless said.

    `probability` names the column with the probability of each unit's own arm, if it changed during
    the test, or maps every arm to the column with its probability. With more than two arms and one
    column, `least_probability` says below which probability no arm was ever assigned.
    `error` bounds that a worse arm wins; with `sides=2` that either of two equal arms does, and
    0.05 gives 95 % intervals instead of 90 % ones.
    docs/how-to/analyse-logs.md goes through all of it.

    >>> import bascule as bs
    >>> log = {"unit": list(range(4000)), "arm": ["a", "b"] * 2000,
    ...        "value": [0, 0, 0, 1] * 1000, "time": [i // 400 for i in range(4000)]}
    >>> answer = bs.analyze(log)
    >>> answer.decision.name, answer.decided, answer.guarantee
    ('b', '1970-01-01', 'proven')
    """
    request = Request.of(
        design=design,
        outcome=outcome,
        error=error,
        sides=sides,
        min_effect=min_effect,
        goal=goal,
        control=control,
        window=window,
        grace=grace,
        aggregate=aggregate,
        missing=missing,
        period=period,
        until=until,
        by_day=by_day,
        least_probability=least_probability,
    )
    if least_probability is not None and not isinstance(probability, str):
        raise InputError(
            "least_probability",
            "least_probability goes with the column of the unit's own probability: name that one",
        )
    limit = memory or (MEMORY_BY_DAY if by_day or request.measure is not None else MEMORY)
    sources = [Source(events, query, "events")]
    if assignments is not None:
        sources.append(Source(assignments, assignments_query, "assignments"))
    with connections(limit) as opened, one_line():
        event_table, assignment_table = [*open_tables(opened, sources), None][:2]
        names = {"unit": unit, "arm": arm, "value": value, "time": time}
        reduced = _reduced(request, event_table, assignment_table, names, segment, probability)
    return assembled(request, reduced, weights)


def _reduced(
    request: Request,
    event_table: Any,
    assignment_table: Any,
    names: dict[str, str | None],
    segment: str | None,
    probability: str | Mapping[str, str] | None,
) -> Reduced:
    alone = assignment_table is None
    arm_table = event_table if alone else assignment_table
    unit = str(chosen(event_table, "unit", names["unit"]))
    arm = chosen(arm_table, "arm", names["arm"])
    assert arm is not None
    arms = arm_names(arm_table, arm, None if request.design is None else request.design.arms)
    if len(arms) < 2:
        there = f"only {arms[0]!r}" if arms else "no arm at all"
        raise InputError("arm", f"arm: the log has {there}: a test compares at least two")
    about = _about_units(arm_table, arms, segment, probability)
    columns = Columns(
        unit=unit,
        arm=arm if alone else None,
        value=chosen(event_table, "value", names["value"]),
        time=chosen(event_table, "time", names["time"], needed=False),
        **(about if alone else {}),
    )
    if alone:
        rows = clean(event_table, columns, arms, request.until, text=False)
        return _limited(request, _with_blanks(request, _of_events(request, rows, arms), rows, None))
    time = names["time"] if names["time"] in assignment_table.columns else None
    assignment_columns = Columns(
        unit=str(chosen(assignment_table, "unit", names["unit"])),
        arm=arm,
        value=None,
        time=chosen(assignment_table, "time", time),
        **about,
    )
    if is_exported(request.design, assignment_table):
        return _exported(request, event_table, assignment_table, columns, assignment_columns)
    unit_types = event_table[columns.unit].type(), assignment_table[assignment_columns.unit].type()
    text = unit_types[0] != unit_types[1]
    rows = clean(event_table, columns, arms, request.until, text=text)
    assigned = clean(assignment_table, assignment_columns, arms, request.until, text=text)
    reduced = _of_both(request, rows, assigned, arms)
    return _limited(request, _with_blanks(request, reduced, rows, assigned))


def _about_units(
    arm_table: Any,
    arms: tuple[str, ...],
    segment: str | None,
    probability: str | Mapping[str, str] | None,
) -> dict[str, Any]:
    """The columns with the segment and the probabilities of a unit."""
    about: dict[str, Any] = {"segment": chosen(arm_table, "segment", segment, needed=False)}
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


def _with_blanks(request: Request, reduced: Reduced, rows: Any, assigned: Any) -> Reduced:
    """Say how many rows have no value, and how many units of each arm have none at all."""
    blank = reduce.blanks(rows)
    if not blank:
        return reduced
    reduced = replace(reduced, excluded=reduced.excluded | {BLANK: blank})
    if request.recurring:
        return reduced
    each = reduce.without_value(rows, None if assigned is None else units_of(assigned))
    valueless = {row["arm"]: (int(row["units"]), int(row["without"])) for row in each}
    return replace(reduced, valueless=valueless)


def _limited(request: Request, reduced: Reduced) -> Reduced:
    """Scale the scores by the smallest probabilities that were stated, where these are needed."""
    least = request.least(reduced.arms)
    if least is None:
        return reduced
    segments = {
        name: replace(sums, scores=sums.scores.limited(reduced.arms, least))
        if sums.scores is not None and not sums.scores.bounded
        else sums
        for name, sums in reduced.table.segments.items()
    }
    return replace(reduced, table=replace(reduced.table, segments=segments))


def _of_events(request: Request, rows: Any, arms: tuple[str, ...]) -> Reduced:
    """The event table alone: a unit arrives with its first row."""
    if request.recurring:
        return _of_recurring(request, rows, None, arms)
    if request.measure is not None:
        ends = _end_of_log(request, rows)
        units = units_of_events(rows, request.measure, request.aggregate)
        table = table_of(_sums_by_arrival(request, units, arms), len(arms))
        total, excluded = reduce.counted(rows)
        return Reduced(arms, table, True, ends, total, excluded, unfit=_unfit(request, units))
    units = units_to_date(rows, request.aggregate)
    scored = _has_probabilities(rows)
    if request.by_day and not scored and not request.exclude:
        sums = reduce.growth(rows, request.aggregate, request.missing, limits=request.limits)
    else:
        sums = _sums_by_arrival(request, units, arms)
    table = table_of(sums, len(arms), missing=request.missing)
    count = sum(int(part.units.sum()) for part in table.segments.values()) + table.without_value
    excluded = {}
    total = reduce.total_of(rows)
    if total > sum(int(row["rows"] or 0) for row in sums):
        total, excluded = reduce.counted(rows)
    # A unit with a single row has given all that it will.
    final = table.rows == count
    if scored and not final:
        raise InputError("probability", NOT_FINAL)
    if request.exclude and request.by_day and not final:
        raise InputError("missing", EXCLUDE_NOT_FINAL)
    if final and request.by_day:
        table = replace(
            table, segments={k: replace(v, growth=None) for k, v in table.segments.items()}
        )
    return Reduced(arms, table, final, None, total, excluded, unfit=_unfit(request, units))


def _of_both(request: Request, rows: Any, assigned: Any, arms: tuple[str, ...]) -> Reduced:
    """Assignments and events: units without events count, and events of strangers do not."""
    if request.recurring:
        return _of_recurring(request, rows, assigned, arms)
    units = units_of(assigned)
    total, excluded = reduce.counted(rows)
    assignments, bad_assignments = reduce.counted(assigned)
    stranger = "event of an unknown unit"
    ends = None
    if request.measure is None and _has_probabilities(assigned):
        raise InputError("probability", NOT_FINAL)
    if request.measure is None and request.by_day and request.exclude:
        raise InputError("missing", EXCLUDE_NOT_FINAL)
    with_outcomes = units_in_window(rows, units, request.measure, request.aggregate)
    if request.measure is not None or not request.by_day:
        if request.measure is not None:
            ends = _end_of_log(request, rows, assigned)
        table = table_of(_sums_by_arrival(request, with_outcomes, arms), len(arms))
        strangers = total - sum(excluded.values()) - table.events
    else:
        grown = reduce.growth_of_units(
            rows, units, request.aggregate, request.missing, limits=request.limits
        )
        arrivals = reduce.arrivals(units)
        table = table_of(grown, len(arms), missing=request.missing, arrivals=arrivals)
        strangers = total - sum(excluded.values()) - table.rows
        stranger += ", or before it came"
    excluded |= {f"{reason} (assignment)": n for reason, n in bad_assignments.items()}
    if strangers > 0:
        excluded[stranger] = strangers
    return Reduced(
        arms,
        table,
        request.measure is not None,
        ends,
        total + assignments,
        excluded,
        unfit=_unfit(request, with_outcomes),
    )


def _unfit(request: Request, units: Any) -> reduce.Unfit | None:
    """The outcomes that the model does not allow, where it says more than its limits."""
    model = request.strict_outcome
    if model is None:
        return None
    return reduce.unfit_outcomes(units, model, request.missing, exclude=request.exclude)


def _sums_by_arrival(request: Request, units: Any, arms: tuple[str, ...]) -> list[reduce.Row]:
    return reduce.by_arrival(
        units,
        len(arms),
        request.limits,
        request.missing,
        exclude=request.exclude,
        own_only=request.least_probability is not None,
    )


def _has_probabilities(rows: Any) -> bool:
    return any(name.startswith(OWN) for name in rows.columns)


def _exported(
    request: Request,
    event_table: Any,
    assignment_table: Any,
    columns: Columns,
    assignment_columns: Columns,
) -> Reduced:
    """A test that bascule ran, folded again."""
    design = request.design
    assert design is not None
    arms = tuple(design.arms)
    rows = clean(event_table, columns, arms, request.until, text=True)
    # Nothing but the numbers of what was logged is added, and it is one row a unit already.
    assigned = clean(assignment_table, assignment_columns, arms, None, text=True)
    numbers = assignment_table.select(
        unit=assignment_table[assignment_columns.unit].cast("string"),
        number=assignment_table["number"].cast("int64"),
        block=assignment_table["block"].cast("int64"),
        probability=assignment_table["probability"].cast("float64"),
    )
    units = assigned.filter(assigned.bad == 0)
    units = units.select("unit", arm=units.code, first=units.time).inner_join(numbers, "unit")
    replayed = replay(design, rows, units, request.until)
    total, excluded = reduce.counted(rows)
    table = Table({"": replayed.sums}, {}, total)
    return Reduced(arms, table, True, request.until, total, excluded, replayed=replayed)


def _of_recurring(request: Request, rows: Any, assigned: Any, arms: tuple[str, ...]) -> Reduced:
    """Outcomes that keep coming: one a period, or every row one."""
    total, excluded = reduce.counted(rows)
    period = request.period or (1 if request.static or assigned is not None else None)
    if period is None:
        cohorts = reduce.cohorts_by_count(rows)
        parts: dict[str, list[Any]] = {}
        for row in cohorts:
            if row["arm"] is not None and row["arm"] >= 0:
                parts.setdefault(row.get("segment", ""), []).append(row)
        recurring = {name: by_count(part, len(arms)) for name, part in parts.items()}
        sums = {name: Sums.of_units(part.days, part.units) for name, part in recurring.items()}
        twice = sum(row["units"] for row in cohorts if row["arm"] == TWO_ARMS and not row["before"])
        table = Table(sums, {"unit in two arms": twice} if twice else {}, total)
        return Reduced(arms, table, True, None, total, excluded, recurring=recurring)
    first, _ = reduce.ends_of(rows if assigned is None else assigned)
    calendar = Calendar(None if first is None else first.date(), period)
    arrivals = None
    if assigned is None:
        grown = reduce.growth(rows, request.aggregate, 0.0, calendar)
    else:
        units = units_of(assigned)
        grown = reduce.growth_of_units(rows, units, request.aggregate, 0.0, calendar)
        arrivals = reduce.arrivals(units, calendar)
        assignments, bad_assignments = reduce.counted(assigned)
        total += assignments
        excluded |= {f"{reason} (assignment)": n for reason, n in bad_assignments.items()}
    table = table_of(grown, len(arms), arrivals=arrivals, step=period)
    recurring = {name: by_period(sums) for name, sums in table.segments.items()}
    return Reduced(arms, table, True, None, total, excluded, recurring=recurring)


def _end_of_log(request: Request, *tables: Any) -> datetime:
    """When the log ends: as stated with `until`, or with the day of its last row."""
    if request.until is not None:
        return request.until
    last = [end for table in tables if (end := reduce.ends_of(table)[1]) is not None]
    if not last:
        raise InputError("events", "events: the log is empty, or has no times")
    return datetime.combine(max(last).date() + timedelta(days=1), time_of_day.min)


@contextmanager
def one_line() -> Iterator[None]:
    """Turn what a database complains about into a line for the user."""
    try:
        yield
    except (InputError, MemoryError, KeyboardInterrupt):
        raise
    except Exception as problem:
        module = type(problem).__module__.split(".")[0]
        if module not in ("ibis", "duckdb", "_duckdb", "psycopg", "pyarrow", "sqlglot"):
            raise
        raise InputError("events", f"the log cannot be read: {first_line(problem)}") from None
