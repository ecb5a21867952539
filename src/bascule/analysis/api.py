"""`analyze`: from a log to an answer, by way of one small table of sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from bascule.analysis.assemble import assembled, with_metrics
from bascule.analysis.log.log import Names, read_log
from bascule.analysis.log.naming import named_segments
from bascule.analysis.reduce.reduction import reduced
from bascule.analysis.request import Request, checked_metrics
from bascule.analysis.result import Analysis
from bascule.analysis.source.open import MEMORY, MEMORY_BY_DAY, connections, open_tables
from bascule.analysis.source.places import Source, first_line
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.metrics.measure import Aggregate
from bascule.core.metrics.metric import Goal, Metric
from bascule.core.outcomes import Outcome


def analyze(
    events: object,
    *,
    unit: str | None = None,
    arm: str | None = None,
    value: str | Sequence[str] | None = None,
    metrics: Sequence[Metric] = (),
    time: str | None = None,
    row_is_unit: bool = False,
    per: str | None = None,
    follow_up: str | None = None,
    covariate: str | None = None,
    cluster: str | None = None,
    count: str | None = None,
    squares: str | None = None,
    cumulative: bool = False,
    time_format: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    design: Design | None = None,
    assignments: object | None = None,
    assignments_unit: str | None = None,
    assignments_time: str | None = None,
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
    drop_duplicates: bool = False,
    period: float | str | None = None,
    block: str | int | None = None,
    looks: int | None = None,
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
    `value` and `time` name columns; usual names are found without. Of several values the first is
    the one that decides. A unit's outcome is what its
    values add up to (`aggregate`) within a `window` from its arrival; without a window it grows,
    and what is said of it is asymptotic. Null, NaN and blank text are no value. A unit without any
    value has the outcome `missing`, 0 if not given; `missing="exclude"` leaves such units out.

    `metrics` are guardrails and secondary metrics, each with the name of its column: what they say
    of each treatment is beside the answer, and keeps an arm from being called ready to ship.

    `per` names the denominator of a ratio (revenue per session), `follow_up` the time that a unit
    was at risk, `covariate` a number that was known before the test and is used to sharpen the
    comparison (CUPED), and `cluster` what was assigned as a whole (villages, shops).

    If the log is sums already, `count` names the column with the number of units of a row, `value`
    that with their sum, and `squares` that with the sum of squares, unless outcomes are 0 or 1;
    `cumulative` says that a row has what was counted up to its time.

    `decimal` is the decimal sign of numbers that are text, if the log leaves it open, and
    `encoding` that of CSV files that are not in UTF-8.

    With the goal "decrease" the arm with the lowest mean is the best; `control` names the arm that
    others are compared with, the first one unless said.

    `probability` names the column with the probability of each unit's own arm, if it changed during
    the test, or maps every arm to the column with its probability. With more than two arms and one
    column, `least_probability` says below which probability no arm was ever assigned.
    `segment` names a column; each of its values has an answer, with a part of the error. A design
    with segments names them beforehand, and the column unless it has the name of the attribute.
    `error` bounds that a worse arm wins; with `sides=2` that either of two equal arms does, and
    0.05 gives 95 % intervals instead of 90 % ones.
    `looks=1` is for a log that nobody looked into before its planned end: the answer of a test
    with a fixed sample, which is narrower.
    docs/how-to/analyse-logs.md goes through all of it.

    >>> import bascule as bs
    >>> log = {"unit": list(range(4000)), "arm": ["a", "b"] * 2000,
    ...        "value": [0, 0, 0, 1] * 1000, "time": [i // 400 for i in range(4000)]}
    >>> answer = bs.analyze(log)
    >>> answer.decision.name, answer.decided, answer.guarantee
    ('b', '1970-01-01', 'proven')
    """
    more = checked_metrics(metrics, design, segment)
    options: dict[str, Any] = {
        "design": design,
        "outcome": outcome,
        "error": error,
        "sides": sides,
        "min_effect": min_effect,
        "goal": goal,
        "control": control,
        "window": window,
        "aggregate": aggregate,
        "missing": missing,
        "grace": grace,
        "period": period,
        "block": block,
        "looks": looks,
        "until": until,
        "by_day": by_day,
        "least_probability": least_probability,
    }
    request = Request.of(**options)
    if least_probability is not None and not isinstance(probability, str):
        raise InputError(
            "least_probability",
            "least_probability goes with the column of the unit's own probability: name that one",
        )
    names = Names(
        unit=unit,
        arm=arm,
        time=time,
        segment=segment,
        probability=probability,
        time_format=time_format,
        assignments_unit=assignments_unit,
        assignments_time=assignments_time,
        row_is_unit=row_is_unit,
        per=per,
        follow_up=follow_up,
        covariate=covariate,
        cluster=cluster,
        count=count,
        squares=squares,
        cumulative=cumulative,
        drop_duplicates=drop_duplicates,
        decimal=decimal,
    )
    limit = memory or (MEMORY_BY_DAY if request.by_day or request.measure else MEMORY)
    sources = [Source(events, query, "events", encoding)]
    if assignments is not None:
        sources.append(Source(assignments, assignments_query, "assignments", encoding))
    with connections(limit) as opened, one_line():
        event_table, assignment_table = [*open_tables(opened, sources), None][:2]
        if request.whole is not None and request.whole.segments is not None:
            segments = request.whole.segments
            column = segment or segments.attribute
            names = replace(names, segment=column)
            event_table = named_segments(event_table, column, segments)
            assignment_table = named_segments(assignment_table, column, segments)
        places = (opened.place(sources[0]), opened.place(sources[-1]))

        def answered(asked: Request, named: Names) -> Analysis:
            log = read_log(asked, named, event_table, assignment_table, places)
            log = replace(log, unreadable=opened.unreadable)
            return assembled(asked, reduced(asked, log, assignment_table), weights)

        analyses = [answered(request, replace(names, value=name)) for name in _values(value)]
        for metric in more:
            its = {"outcome": metric.outcome, "error": metric.error, "goal": metric.goal}
            how = None if metric.outcome.binary else aggregate
            its |= {"sides": None, "min_effect": None, "aggregate": how, "period": None}
            asked = Request.of(**options | its)
            named = replace(names, value=metric.name, per=None, follow_up=None)
            analyses.append(answered(asked, named).judged(metric))
    return analyses[0] if len(analyses) == 1 else with_metrics(analyses)


def _values(value: str | Sequence[str] | None) -> list[str | None]:
    """The columns with values, each once."""
    if value is None or isinstance(value, str):
        return [value]
    names = list(dict.fromkeys(value))
    if not names:
        raise InputError("value", "value: the list of columns is empty")
    return [*names]


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
