"""`analyze`: analyse a log of a test; the rows are reduced to a small table of sums first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from bascule.analysis.assemble import assembled, with_metrics
from bascule.analysis.assigned import Assigned
from bascule.analysis.call import PER_ROW, Asked, Log, LogMetric, Looks, metrics_of
from bascule.analysis.log.log import read_log
from bascule.analysis.log.naming import plain
from bascule.analysis.reduce.reduction import reduced
from bascule.analysis.request import Request
from bascule.analysis.result import Analysis
from bascule.analysis.source.open import MEMORY, MEMORY_BY_DAY, connections, open_tables
from bascule.analysis.source.places import first_line, uncollected
from bascule.core.design import Design
from bascule.core.design_parts import ONE_SIDED
from bascule.core.errors import InputError
from bascule.core.metrics.metric import Metric

FILE = "file"
"""Value of `arm` for logs with one file per arm: the file name of a row is its arm."""

AnyMetric = str | LogMetric | Metric


def analyze(
    log: object,
    metric: AnyMetric | Sequence[AnyMetric] | None = None,
    *,
    unit: str | None = None,
    arm: str | None = None,
    time: str | None = None,
    metrics: Sequence[AnyMetric] = (),
    design: Design | None = None,
    error: float | None = None,
    sides: int | None = None,
    control: str | None = None,
    covariate: str | None = None,
    segment: str | None = None,
    assignments: object | None = None,
    assigned: Assigned | None = None,
    until: date | datetime | str | None = None,
    looks: Looks = None,
) -> Analysis:
    """Analyse the log of a test: is there a winner, how large is the effect, since when?

    Columns that are not named are found by usual names. If several could be meant, nothing is
    guessed: one error lists all open questions, with a call to copy. docs/using/analyse-logs.md has
    examples.

    Parameters
    ----------
    log
        A file, a folder or a pattern (Parquet, CSV, JSON lines), a data frame, a mapping of
        columns, an Ibis table, or a `Log`, which also says how to read one of these, or names a
        database and a query.
    metric
        What is measured: a column, a ratio of columns as "clicks per views", or a `LogMetric`. If
        several are given, the first one decides.
    unit
        Column that identifies the unit, such as the user, that a row is about.
    arm
        Column with the arm that the unit got.
    time
        Column with the time of the row: dates or times, seconds since 1970-01-01 or parts of them,
        or numbers of days. Times without a zone are taken for UTC; a column must not mix times with
        and without one. Days are those of UTC.
    metrics
        Guardrails and secondary metrics, which are shown beside the first one. An arm is called
        ready to ship only if it is within the margin of every guardrail.
    design
        Arms, outcome, error, measure and guardrails; `error`, `sides`, `control` and `covariate`
        cannot be given with it.
    error
        Bound on the false positive rate, however often you look; 0.05 if not given.
    sides
        2 if not given. With 1, `error` bounds the probability that a worse arm wins, and 0.05 gives
        90 % intervals.
    control
        The arm that others are compared with, the first one if not given.
    covariate
        Column with a number that was known before the test, to sharpen the comparison (CUPED).
    segment
        Column whose values are analysed separately, each with an equal part of the error.
    assignments
        Table with the arms of units, if the log has only their events.
    assigned
        How units were assigned: probabilities, weights, clusters, blocks.
    until
        Last day of the log that is used, or the time up to which it is used. Where the log numbers
        the days, they count from 1970-01-01: day 3 is "1970-01-04".
    looks
        1 if nobody looked into the log before its planned end: intervals are then the narrower ones
        of a fixed sample. With "now", outcomes that still grow are compared once, on the last day,
        which is quicker. None allows any number of looks.

    Examples
    --------
    >>> import bascule as bs
    >>> log = {"unit": list(range(4000)), "arm": ["a", "b"] * 2000,
    ...        "value": [0, 0, 0, 1] * 1000, "day": [i // 400 for i in range(4000)]}
    >>> answer = bs.analyze(log)
    >>> answer.decision.name, answer.guarantee
    ('b', 'proven')

    """
    first, *further = metrics_of(metric, metrics)
    if first.margin is not None:
        raise InputError(
            "margin",
            f"the first metric cannot have a margin (got {first.margin:g}), because it decides the "
            'winner: put another metric first, or give a design with decides="guardrails" '
            "(--design)",
        )
    if further and segment is not None:
        raise InputError(
            "segment", "metrics and segments cannot be analysed at once: leave one of them out"
        )
    asked = Asked(
        log=Log.of(log),
        unit=unit,
        arm=arm,
        time=time,
        design=design,
        error=error,
        sides=sides,
        control=control,
        covariate=covariate,
        segment=segment,
        assignments=None if assignments is None else Log.of(assignments),
        assigned=assigned or Assigned(),
        until=until,
        looks=looks,
    )
    return _analysis(asked, first, further)


def _analysis(asked: Asked, first: LogMetric, further: list[LogMetric]) -> Analysis:
    """Return the analysis of all metrics of a log."""
    request, design = Request.of(first, asked), asked.design
    days = request.by_day or request.measure
    sources = [asked.log.where if asked.arm != FILE else replace(asked.log.where, file_column=FILE)]
    if asked.assignments is not None:
        sources.append(replace(asked.assignments.where, field="assignments"))
    limit = asked.log.memory or (MEMORY_BY_DAY if days else MEMORY)
    with uncollected(), connections(limit) as opened, one_line():
        fields = (source.field for source in sources)
        tables = dict(zip(fields, open_tables(opened, sources), strict=True))
        events, assignments = tables["events"], tables.get("assignments")
        if design is not None and design.outcome.pairs:
            first, asked = _of_ratio(first, asked, design, events)
            request = Request.of(first, asked) if asked.design is None else request
        places = {source.field: opened.place(source) for source in sources}

        def answered(request: Request, metric: LogMetric) -> Analysis:
            log = read_log(asked, metric, request, events, assignments)
            reading = replace(
                log.reading, log=places["events"], assignments=places.get("assignments")
            )
            log = replace(log, unreadable=opened.unreadable, reading=reading)
            if reading.times == "none":
                # Without times, outcomes cannot be followed from day to day.
                request = replace(request, by_day=False)
            return assembled(request, reduced(request, log), asked.assigned)

        analyses = [answered(request, first)]
        of_design, absent = _metrics_of(design, events)
        alone = replace(asked, design=None, segment=None)
        if design is not None:
            alone = replace(alone, control=design.control_arm)
        for one in (*further, *of_design):
            its = alone
            if one.metric_error is not None:
                its = replace(its, error=one.metric_error)
            if one.margin is not None:
                its = replace(its, sides=ONE_SIDED)
            analyses.append(answered(Request.of(one, its), one).judged(one))
    analysis = analyses[0] if len(analyses) == 1 else with_metrics(analyses)
    if design is not None and design.decides == "guardrails":
        analysis = analysis.by_guardrails(design)
    return replace(analysis, notes=(*analysis.notes, *absent))


def _of_ratio(
    metric: LogMetric, asked: Asked, design: Design, events: Any
) -> tuple[LogMetric, Asked]:
    """Return the metric, with its denominator, and the options to analyse a design with a ratio.

    A log that bascule exported has the denominator in a column `per`. Any other log has a row for
    each request, with or without a value. It is analysed without the design, whose error, sides,
    control and goal are used.
    """
    if "per" in map(plain, events.columns):
        return replace(metric, per=metric.per or "per"), asked
    metric = replace(metric, per=metric.per or PER_ROW, goal=metric.goal or design.goal)
    parts = {"error": design.error, "sides": design.sides, "control": design.control_arm}
    return metric, replace(asked, design=None, **parts)  # type: ignore[arg-type]


def _metrics_of(design: Design | None, table: Any) -> tuple[list[LogMetric], list[str]]:
    """Return the metrics of a design that have columns in the log, and notes on the others."""
    metrics = [] if design is None else list(design.metrics)
    columns = {plain(name) for name in table.columns}
    present = [metric for metric in metrics if plain(metric.name) in columns]
    absent = ", ".join(metric.name for metric in metrics if metric not in present)
    notes = []
    if absent:
        notes.append(
            f"this is about the primary metric alone; the design also has {absent}, and what may "
            "be shipped depends on its guardrails: give a log that has columns of these names"
        )
    ratios = ", ".join(metric.name for metric in present if metric.outcome.pairs)
    if ratios:
        notes.append(
            f"{ratios}: the mean of the rows that have a value, including those after its window"
        )
    return [LogMetric.of(metric) for metric in present], notes


@contextmanager
def one_line() -> Iterator[None]:
    """Turn an exception of a database into an error with a one-line message."""
    try:
        yield
    except (InputError, MemoryError, KeyboardInterrupt):
        raise
    except Exception as problem:
        module = type(problem).__module__.split(".")[0]
        if module in ("bascule", "builtins"):
            raise
        if type(problem).__name__ in ("OperationNotDefinedError", "UnsupportedOperationError"):
            raise InputError(
                "events",
                f"the database lacks a function that is needed ({first_line(problem)}): export the "
                "rows to Parquet or CSV, and analyse the file",
            ) from None
        raise InputError(
            "events",
            f"the log cannot be read: {first_line(problem)}: check that the database answers the "
            "query, or export the rows to a file",
        ) from None
