"""Reduce the rows of a log to the small table of sums.

A log has one of three shapes: a table of units, assignments with events, or rows that are sums
already. Without assignments, a unit is assigned with its first event.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from datetime import time as time_of_day
from typing import Any, TypeVar

from bascule.analysis.log.log import ResolvedLog
from bascule.analysis.log.reading import OTHER_SUMS
from bascule.analysis.log.rows import BLANK, OF_ASSIGNMENTS, complete
from bascule.analysis.reduce import query, tables
from bascule.analysis.reduce.moments import PROBABILITY
from bascule.analysis.reduce.sums import IN_TWO_ARMS, WITHOUT_VALUE, ReducedTable, table_of
from bascule.analysis.request import Reduced, Request
from bascule.analysis.source.places import RAGGED_LINE, is_opened_here, run, stored
from bascule.core.errors import InputError, invalid

Count = TypeVar("Count")

STRANGER = "event of an unknown unit"
EARLY_STRANGER = f"{STRANGER}, or before it came"

MADE_ONE = {
    "sum": "the values of a unit's rows are added up; if they are a yes or no of the unit, give "
    "`outcome=Bernoulli()`; for measurements, such as scores, compare the mean of the rows, with "
    "the metric '{name} per row'",
    "any": "a unit counts as 1 if one of its rows does; for the share of rows, such as judgements, "
    "take the metric '{name} per row'",
}
"""Note on how several rows of a unit were combined, by aggregate, and what to do otherwise."""

BY_ONE = (
    "most clusters have units of several arms, so units were assigned one by one: the units of a "
    "cluster that have the same arm count together, and those of different arms as independent, "
    "which makes intervals wider where units of a cluster are alike"
)


def reduced(request: Request, log: ResolvedLog) -> Reduced:
    """Reduce a log to sums per arm and day, with counts of excluded rows and other findings."""
    if request.outcome is not None and request.outcome.pairs:
        raise invalid(
            "a ratio of a design needs the assignments of the test: give the exported "
            "NAME-assignments file, or leave the design out",
        )
    log, survey = _surveyed(request, log)
    assigned = None if log.assigned is None else tables.surveyed(log.assigned)
    if log.columns.count is not None:
        made = _counted(request, log)
    else:
        made = _of_units(request, log, survey, assigned)
    rows, excluded, examples = survey.rows, dict(survey.excluded), dict(survey.examples)
    usable = survey.rows - sum(survey.excluded.values())
    if assigned is not None:
        rows += assigned.rows
        excluded |= _of_assignments(assigned.excluded)
        examples |= _of_assignments(assigned.examples)
        if usable and not made.table.events:
            raise invalid(
                f"unit: none of the {usable:,} events belongs to a unit of the assignments"
                f"{'' if made.table.at_once else ', or all came before their units'}: name the "
                "column that both tables have (unit=COLUMN, --unit), and that of the assignments "
                "if it is called otherwise (--assignments-unit)",
            )
        if usable > made.table.events:
            excluded[STRANGER if made.table.at_once else EARLY_STRANGER] = (
                usable - made.table.events
            )
    left_out: dict[str, int] = {}
    for table, unreadable in log.unreadable.items():
        lines, broken = unreadable.excluded, {RAGGED_LINE: unreadable.examples}
        is_assignments = table == "assignments"
        left_out |= _of_assignments(lines) if is_assignments else lines
        examples |= _of_assignments(broken) if is_assignments else broken
    excluded |= left_out
    without = made.table.excluded.get(WITHOUT_VALUE, 0)
    if survey.blank not in (0, without) and log.columns.count is None:
        excluded[BLANK] = survey.blank
    if made.table.excluded.get(IN_TWO_ARMS):
        examples[IN_TWO_ARMS] = tables.in_two_arms(log.arrivals)
    return replace(
        made,
        rows=rows + sum(left_out.values()),
        excluded=excluded,
        examples={reason: entries for reason, entries in examples.items() if entries},
        # If every entry of the column is a word, these are no exceptions to report.
        worded=survey.worded if survey.worded + survey.blank < usable else 0,
    )


def _surveyed(request: Request, log: ResolvedLog) -> tuple[ResolvedLog, tables.Survey]:
    """Survey the rows of a log, and choose the quickest way to read them that the rows allow."""
    if (
        request.until is None
        and not log.columns.adjusted
        and log.columns.count is None
        and is_opened_here(log.table.get_backend())
    ):
        survey = tables.quick_survey(log.table, log.columns, log.arms)
        if survey is not None:
            return replace(log, rows=complete(log.table, log.columns, log.arms)), survey
    value = log.columns.value
    if value is not None and log.table[value].type().is_string():
        # Convert text to numbers once, not in every pass.
        log = replace(log, rows=stored(log.rows, "bascule_rows"))
    return log, tables.surveyed(log.rows)


def _counted(request: Request, log: ResolvedLog) -> Reduced:
    """Reduce rows that are sums, with the same result as for a table of their units."""
    if request.measure is not None:
        has_window = request.design is not None and request.design.measure is not None
        field = "design" if has_window else "window"
        raise InputError(
            field,
            f"{field}: a window needs one row per unit or event, and rows are sums: leave {field} "
            "out, or give such rows",
        )
    model, names = request.outcome, log.arms.names
    sums = query.counted(query.latest(log.rows) if log.cumulative else log.rows, names)
    if log.columns.squares is None and (model is None or not model.binary):
        raise invalid(
            "squares is missing: if every unit counts 0 or 1, give outcome=Bernoulli() (--outcome "
            f"bernoulli); {OTHER_SUMS}",
        )
    if log.cumulative is None:
        query.ask_about_growth(sums)
    table = table_of(sums, len(names), request.blocks)
    for part in table.segments.values():
        mean = float(part.totals.sum() / max(part.units.sum(), 1.0))
        if model is not None and not model.low <= mean <= model.high:
            raise invalid(f"outcome: the mean is {mean:.4g}, outside {model!r}")
    return Reduced(log.arms, table, log.reading, final=not log.cumulative)


def _of_units(
    request: Request, log: ResolvedLog, survey: tables.Survey, assigned: tables.Survey | None
) -> Reduced:
    """Reduce a table of units, or assignments with events; outcomes are final or still grow."""
    rows, columns, arms = log.rows, log.columns, len(log.arms.names)
    # The outcome of a unit with a single row is final.
    usable = survey.rows - sum(survey.excluded.values())
    alone = columns.unit is not None and assigned is None
    number = tables.number_of_units(rows, survey, columns.units) if alone else usable
    single = assigned is None and number == usable
    duplicates, repeated = None, False
    if columns.unit is not None:
        duplicates = 0 if single else tables.copies(log.table, survey.rows)
        if duplicates and alone:
            left = survey.rows - duplicates
            repeated = tables.only_copies(log.table, columns.unit, number, left)
    about = log.about_units
    final = single or request.measure is not None
    at_once = final or about.adjusted or not request.by_day
    _check_final(request, log, final=final, at_once=at_once)
    if single:
        units = tables.units_of_rows(rows, request.aggregate)
    elif assigned is None and request.measure is None:
        units = tables.units_of(rows, rows, request.aggregate, exclude_moved=request.exclude_moved)
    else:
        arrived = tables.units_of(log.arrivals, rows, exclude_moved=request.exclude_moved)
        units = tables.units_with_events(rows, arrived, request.measure, request.aggregate)
    # In a stream, events without a value are exposures, or events of other kinds.
    counts_blanks = survey.blank and (request.exclude or not log.is_stream)
    valueless = query.without_value(units) if counts_blanks else {}
    notes: tuple[str, ...] = ()
    if about.cluster is not None:
        units, notes = _in_clusters(request, units)
    if columns.per is None and not single and columns.value is not None:
        made = MADE_ONE.get(request.aggregate, "")
        notes += (made.format(name=columns.value),) if made else ()
    if at_once:
        zero_or_one = single and survey.zero_or_one and request.limits is None
        rows_by_day = query.by_arrival(request, units, arms, zero_or_one=zero_or_one)
        table = table_of(rows_by_day, arms, request.blocks)
    else:
        table = _grown(request, log)
    surveys = [survey] if assigned is None else [survey, assigned]
    return Reduced(
        log.arms,
        table,
        replace(log.reading, notes=(*log.reading.notes, *notes)),
        final=final,
        log_end=None if request.measure is None else _end_of_log(request, surveys),
        valueless=valueless,
        unfit=query.unfit_outcomes(request, units),
        duplicates=duplicates,
        only_copies=repeated,
    )


def _check_final(request: Request, log: ResolvedLog, *, final: bool, at_once: bool) -> None:
    """Raise an error for options that need final outcomes."""
    if not final and any(name.startswith(PROBABILITY) for name in log.arrivals.columns):
        raise invalid(
            "probability needs outcomes that are final: give window, or one row per unit",
        )
    if request.exclude and not at_once:
        raise invalid(
            'missing="exclude" needs outcomes that are final: give window, or one row per unit, or '
            'ask for today\'s answer alone, looks="now" (--today)',
        )


def _grown(request: Request, log: ResolvedLog) -> ReducedTable:
    """Return the table of sums for outcomes that grow from the assignment of units on."""
    units = tables.units_of(log.arrivals, log.rows, exclude_moved=request.exclude_moved)
    units = stored(units, "bascule_units")
    events = log.rows
    if log.assigned is None:
        # Rows with a value of 0 do not change an outcome, and are the majority in most logs.
        events = events.filter(events.value != 0.0)
    grown = query.growth(events, units, request.aggregate, request.limits)
    return table_of(grown, len(log.arms.names), request.blocks)


def _in_clusters(request: Request, units: Any) -> tuple[Any, tuple[str, ...]]:
    """Return a table of clusters, and a note if units were assigned individually."""
    if not request.exclude:
        units = units.mutate(outcome=units.outcome.fill_null(request.missing))
    clusters = tables.clustered(units, by_arm=False)
    (row,) = run(
        clusters.agg(
            all=clusters.count(), mixed=tables.counting(clusters.lowest != clusters.highest).sum()
        )
    )
    if (row["mixed"] or 0) <= row["all"] / 2:
        return clusters, ()
    return tables.clustered(units, by_arm=True), (BY_ONE,)


def _of_assignments(reasons: dict[str, Count]) -> dict[str, Count]:
    return {f"{reason}{OF_ASSIGNMENTS}": rows for reason, rows in reasons.items()}


def _end_of_log(request: Request, surveys: list[tables.Survey]) -> datetime:
    """Return the end of the log: `until` if stated, else the end of the day of its last row."""
    if request.until is not None:
        return request.until
    last = [survey.last for survey in surveys if survey.last is not None]
    if not last:
        raise invalid("events: the log is empty, or has no times")
    return datetime.combine(max(last).date() + timedelta(days=1), time_of_day.min)
