"""From the rows of a log to the small table of sums, by the way that suits the log."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from datetime import time as time_of_day
from typing import Any, TypeVar

from bascule.analysis.evidence.recurring import by_count, by_period
from bascule.analysis.evidence.replay import covariate_columns, is_exported, replay
from bascule.analysis.log.columns import Columns
from bascule.analysis.log.log import Log
from bascule.analysis.log.rows import (
    BLANK,
    OF_ASSIGNMENTS,
    TWO_ARMS,
    Calendar,
    clean,
    clustered,
    complete,
    counting,
    units_in_window,
    units_of,
    units_of_events,
    units_of_rows,
    units_to_date,
)
from bascule.analysis.reduce.counts import counted_sums
from bascule.analysis.reduce.growth import (
    Growing,
    cohorts_by_count,
    growth,
    growth_of_units,
    sparse_growth,
)
from bascule.analysis.reduce.query import (
    arrivals_by_day,
    by_arrival,
    unfit_outcomes,
    without_value,
)
from bascule.analysis.reduce.scores import OWN
from bascule.analysis.reduce.sums import IN_TWO_ARMS, Sums, Table, by_segment, table_of
from bascule.analysis.reduce.survey import (
    Survey,
    copies,
    in_two_arms,
    one_row_each,
    only_copies,
    quick_survey,
    surveyed,
)
from bascule.analysis.request import Reduced, Request
from bascule.analysis.source.backend import is_own, run, stored
from bascule.analysis.source.places import RAGGED_LINE
from bascule.core.errors import InputError

Found = TypeVar("Found")

RUNNING = (
    "follow_up: units have several rows, and {name} may be the time since the start or that of the "
    'row alone: name the start and the stop of a row, follow_up=("start", "stop") (--follow-up '
    'start,stop), or give per="{name}" (--per {name}) if every row has a time of its own, which is '
    "then added up"
)
NOT_FINAL = "probability needs outcomes that are final: give window, or one row a unit"
EXCLUDE_NOT_FINAL = (
    'missing="exclude" needs outcomes that are final: give window, or one row a unit, or ask for '
    "today's answer alone"
)


def reduced(request: Request, log: Log, assignment_table: Any) -> Reduced:
    """Reduce a log to sums per arm and day, and to what is to be said of how it was read."""
    if request.whole is None and is_exported(request.design, assignment_table):
        return _exported(request, log, assignment_table)
    survey = None
    quick = request.until is None and not log.columns.adjusted
    if quick and is_own(log.table.get_backend()):
        survey = quick_survey(log.table, log.columns, log.arms)
    if survey is not None:
        log = replace(log, rows=complete(log.table, log.columns, log.arms))
    else:
        value = log.columns.value
        if value is not None and log.table[value].type().is_string():
            # Text is turned into numbers once, not in every pass.
            log = replace(log, rows=stored(log.rows, "bascule_rows"))
        survey = surveyed(log.rows)
    extra = log.columns if log.assignment_columns is None else log.assignment_columns
    if extra.adjusted or log.columns.adjusted:
        _check_adjusted(request, log, extra)
    if log.columns.count is not None:
        table = _of_counts(request, log, survey)
    elif log.assigned is None:
        table = _of_events(request, log, survey)
    else:
        table = _of_both(request, log, survey)
    return _limited(request, _with_blanks(request, table, log, survey))


def _with_blanks(request: Request, reduced: Reduced, log: Log, survey: Survey) -> Reduced:
    """Say how many rows have no value, and how many units of each arm have none at all."""
    usable = survey.rows - sum(survey.excluded.values())
    reduced = replace(
        reduced,
        reading=reduced.reading or log.reading,
        examples=reduced.examples | survey.examples | _in_two_arms(log, reduced.table),
        respelled=log.arms.respelled,
        # A column of nothing but words has been read as it was meant.
        worded=survey.worded if survey.worded + survey.blank < usable else 0,
    )
    if log.dropped:
        excluded = reduced.excluded | {"copy of another row": log.dropped}
        reduced = replace(reduced, rows=reduced.rows + log.dropped, excluded=excluded)
    for table, unreadable in log.unreadable.items():
        excluded, examples = unreadable.excluded, {RAGGED_LINE: unreadable.examples}
        if table == "assignments":
            excluded, examples = _of_assignments(excluded), _of_assignments(examples)
        reduced = replace(
            reduced,
            rows=reduced.rows + sum(excluded.values()),
            excluded=reduced.excluded | excluded,
            examples=reduced.examples | {k: v for k, v in examples.items() if v},
        )
    if not survey.blank or log.columns.count is not None:
        return reduced
    reduced = replace(reduced, excluded=reduced.excluded | {BLANK: survey.blank})
    if request.recurring:
        return reduced
    each = without_value(log.rows, None if log.assigned is None else units_of(log.assigned))
    valueless = {row["arm"]: (int(row["units"]), int(row["without"])) for row in each}
    return replace(reduced, valueless=valueless)


def _in_two_arms(log: Log, table: Table) -> dict[str, tuple[str, ...]]:
    """Some of the units that were seen in two arms."""
    if not table.excluded.get(IN_TWO_ARMS):
        return {}
    return {IN_TWO_ARMS: in_two_arms(log.rows if log.assigned is None else log.assigned)}


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


def _check_adjusted(request: Request, log: Log, columns: Columns) -> None:
    """Refuse what does not go with ratios, covariates and clusters."""
    given = {
        "probability": columns.probability or columns.probabilities or None,
        "count": columns.count,
        "outcome": request.outcome,
    }
    for name, part in given.items():
        if part is not None:
            raise InputError(name, f"{name} does not go with per, follow_up, covariate or cluster")
    if log.columns.per is not None and (log.assigned is not None or request.measure is not None):
        raise InputError("per", "per needs one table in which units are, and no window")
    if columns.cluster is not None and (columns.segment is not None or columns.covariate):
        raise InputError("cluster", "cluster does not go with segment or covariate")


def _of_counts(request: Request, log: Log, survey: Survey) -> Reduced:
    """A log that is sums already."""
    stated: dict[str, object] = {"window": request.measure}
    stated |= {"probability": log.columns.probability or log.columns.probabilities or None}
    for name, part in stated.items():
        if part is not None:
            raise InputError(name, f"{name} needs the units themselves: it does not go with count")
    if request.recurring or request.exclude:
        name = "outcome" if request.recurring else "missing"
        raise InputError(name, f"{name} needs the units themselves: it does not go with count")
    model = request.outcome
    if log.columns.squares is None and (model is None or not model.binary):
        raise InputError(
            "squares",
            "squares is missing: name the column with the sums of squares; if every unit counts 0 "
            "or 1, give outcome=Bernoulli() (--outcome bernoulli) instead",
        )
    cumulative = bool(log.cumulative)
    segments = counted_sums(log.rows, log.arms.names, cumulative=log.cumulative)
    for mean in (_mean(sums) for sums in segments.values()):
        if model is not None and not model.low <= mean <= model.high:
            raise InputError("outcome", f"outcome: the mean is {mean:.4g}, outside {model!r}")
    table = Table(segments, {}, survey.rows)
    return Reduced(log.arms.names, table, not cumulative, None, survey.rows, survey.excluded)


def _mean(sums: Sums) -> float:
    return float(sums.totals.sum() / max(sums.units.sum(), 1.0))


def _of_events(request: Request, log: Log, survey: Survey) -> Reduced:
    """The event table alone: a unit arrives with its first row."""
    rows, arms, excluded = log.rows, log.arms.names, survey.excluded
    if request.recurring:
        return _of_recurring(request, log, survey)
    ends = None if request.measure is None else _end_of_log(request, survey)
    # A unit with a single row has given all that it will.
    single = log.columns.unit is None or one_row_each(rows, survey)
    duplicates, repeated = None, False
    if log.columns.unit is not None:
        duplicates = 0 if single else copies(log.table, survey.rows)
        if duplicates:
            repeated = only_copies(log.table, log.columns.unit, survey.rows, duplicates)
    if log.reading.follow_up and not (single or log.reading.at_risk):
        raise InputError("follow_up", RUNNING.format(name=log.columns.per))
    if single:
        units = units_of_rows(rows, request.aggregate)
    elif request.measure is not None:
        units = units_of_events(rows, request.measure, request.aggregate)
    else:
        units = units_to_date(rows, request.aggregate)
    final = single or request.measure is not None
    if _has_probabilities(rows) and not final:
        raise InputError("probability", NOT_FINAL)
    if request.exclude and request.by_day and not (final or log.columns.adjusted):
        raise InputError("missing", EXCLUDE_NOT_FINAL)
    arrivals, how = None, Growing(request.aggregate, request.missing, request.limits)
    if log.columns.cluster is not None:
        units, log = _in_clusters(request, log, units)
    if final or not request.by_day or log.columns.adjusted:
        sums = by_arrival(request, units, len(arms), log.arms)
    elif request.aggregate in ("sum", "any") and request.missing == 0.0:
        sums, arrivals = sparse_growth(rows, how)
    else:
        sums = growth(rows, how)
    table = table_of(sums, len(arms), missing=request.missing, arrivals=arrivals)
    unfit = unfit_outcomes(request, units)
    return Reduced(
        arms,
        table,
        final,
        ends,
        survey.rows,
        excluded,
        unfit=unfit,
        duplicates=duplicates,
        only_copies=repeated,
        reading=log.reading,
    )


BY_ONE = (
    "most clusters have units of several arms, so units were assigned one by one: the units of a "
    "cluster that have the same arm count together, and those of different arms as independent, "
    "which makes intervals wider where units of a cluster are alike"
)


def _in_clusters(request: Request, log: Log, units: Any) -> tuple[Any, Log]:
    """The clusters of units, and the log with a note if units were assigned one by one."""
    if not request.exclude:
        units = units.mutate(outcome=units.outcome.fill_null(request.missing))
    each = clustered(units, by_arm=False)
    (row,) = run(each.agg(all=each.count(), mixed=counting(each.lowest != each.highest).sum()))
    if (row["mixed"] or 0) <= row["all"] / 2:
        return each, log
    reading = replace(log.reading, notes=(*log.reading.notes, BY_ONE))
    return clustered(units, by_arm=True), replace(log, reading=reading)


def _of_both(request: Request, log: Log, survey: Survey) -> Reduced:
    """Assignments and events: units without events count, and events of strangers do not."""
    if request.recurring:
        return _of_recurring(request, log, survey)
    rows, arms = log.rows, log.arms.names
    units = units_of(log.assigned)
    assignments = surveyed(log.assigned)
    excluded = dict(survey.excluded)
    stranger = "event of an unknown unit"
    ends = None
    if request.measure is None and _has_probabilities(log.assigned):
        raise InputError("probability", NOT_FINAL)
    assert log.assignment_columns is not None
    looked_at_once = not request.by_day or log.assignment_columns.adjusted
    if request.measure is None and not looked_at_once and request.exclude:
        raise InputError("missing", EXCLUDE_NOT_FINAL)
    with_outcomes = units_in_window(rows, units, request.measure, request.aggregate)
    if log.assignment_columns.cluster is not None:
        with_outcomes, log = _in_clusters(request, log, with_outcomes)
    usable = survey.rows - sum(excluded.values())
    if request.measure is not None or looked_at_once:
        if request.measure is not None:
            ends = _end_of_log(request, survey, assignments)
        table = table_of(by_arrival(request, with_outcomes, len(arms)), len(arms))
        strangers = usable - table.events
    else:
        how = Growing(request.aggregate, request.missing, request.limits)
        grown, arrivals = growth_of_units(rows, units, how), arrivals_by_day(units)
        table = table_of(grown, len(arms), missing=request.missing, arrivals=arrivals)
        strangers = usable - table.rows
        stranger += ", or before it came"
    excluded |= _of_assignments(assignments.excluded)
    if strangers > 0:
        excluded[stranger] = strangers
    return Reduced(
        arms,
        table,
        request.measure is not None,
        ends,
        survey.rows + assignments.rows,
        excluded,
        examples=_of_assignments(assignments.examples),
        unfit=unfit_outcomes(request, with_outcomes),
        duplicates=copies(log.table, survey.rows),
        reading=log.reading,
    )


def _of_assignments(found: dict[str, Found]) -> dict[str, Found]:
    return {f"{reason}{OF_ASSIGNMENTS}": one for reason, one in found.items()}


def _has_probabilities(rows: Any) -> bool:
    return any(name.startswith(OWN) for name in rows.columns)


def _exported(request: Request, log: Log, assignment_table: Any) -> Reduced:
    """A test that bascule ran, folded again."""
    design, columns = request.design, log.assignment_columns
    assert design is not None
    assert columns is not None
    assert columns.unit is not None
    unit = assignment_table[columns.unit].cast("string")
    # Nothing but the numbers of what was logged is added, and it is one row a unit already.
    assigned = clean(assignment_table, columns, log.arms, None, text=True)
    numbers = assignment_table.select(
        unit=unit,
        number=assignment_table["number"].cast("int64"),
        block=assignment_table["block"].cast("int64"),
        probability=assignment_table["probability"].cast("float64"),
        **covariate_columns(design, assignment_table),
    )
    units = assigned.filter(assigned.bad == 0)
    units = units.select("unit", arm=units.code, first=units.time).inner_join(numbers, "unit")
    rows = log.rows.mutate(unit=log.rows.unit.cast("string"))
    replayed, survey = replay(design, rows, units, request.until), surveyed(rows)
    table = Table({"": replayed.sums}, {}, survey.rows)
    return Reduced(
        tuple(design.arms),
        table,
        True,
        request.until,
        survey.rows,
        survey.excluded,
        examples=survey.examples,
        reading=log.reading,
        replayed=replayed,
    )


def _of_recurring(request: Request, log: Log, survey: Survey) -> Reduced:
    """Outcomes that keep coming: one a period, or every row one."""
    rows, assigned, arms = log.rows, log.assigned, log.arms.names
    if log.columns.unit is None:
        raise InputError(
            "unit", "unit: outcomes that keep coming need a column that names the unit"
        )
    total, excluded = survey.rows, dict(survey.excluded)
    period = request.period or (1 if request.static or assigned is not None else None)
    if period is None:
        cohorts = cohorts_by_count(rows)
        parts = by_segment(cohorts).items()
        recurring = {name: by_count(part, len(arms)) for name, part in parts}
        sums = {name: Sums.of_units(part.days, part.units) for name, part in recurring.items()}
        twice = sum(row["units"] for row in cohorts if row["arm"] == TWO_ARMS and not row["before"])
        table = Table(sums, {IN_TWO_ARMS: twice} if twice else {}, total)
        return Reduced(arms, table, True, None, total, excluded, recurring=recurring)
    of_units = survey if assigned is None else surveyed(assigned)
    first = of_units.first
    calendar = Calendar(None if first is None else first.date(), period)
    arrivals, how = None, Growing(request.aggregate, calendar=calendar)
    if assigned is None:
        grown = growth(rows, how)
    else:
        units = units_of(assigned)
        grown = growth_of_units(rows, units, how)
        arrivals = arrivals_by_day(units, calendar)
        total += of_units.rows
        excluded |= _of_assignments(of_units.excluded)
    table = table_of(grown, len(arms), arrivals=arrivals, step=period)
    recurring = {name: by_period(sums) for name, sums in table.segments.items()}
    return Reduced(arms, table, True, None, total, excluded, recurring=recurring)


def _end_of_log(request: Request, *surveys: Survey) -> datetime:
    """When the log ends: as stated with `until`, or with the day of its last row."""
    if request.until is not None:
        return request.until
    last = [survey.last for survey in surveys if survey.last is not None]
    if not last:
        raise InputError("events", "events: the log is empty, or has no times")
    return datetime.combine(max(last).date() + timedelta(days=1), time_of_day.min)
