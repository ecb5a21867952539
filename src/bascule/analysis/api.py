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
from bascule.analysis.request import Reduced, Request, measure_of
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
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.measure import Aggregate
from bascule.core.outcomes import Outcome
from bascule.core.rules import Static

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
    min_effect: float | None = None,
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

    `probability` names the column with the probability of each unit's own arm, if it changed during
    the test, or maps every arm to the column with its probability. With more than two arms and one
    column, `least_probability` says below which probability no arm was ever assigned.
    docs/how-to/analyse-logs.md goes through all of it.

    >>> import bascule as bs
    >>> log = {"unit": list(range(4000)), "arm": ["a", "b"] * 2000,
    ...        "value": [0, 0, 0, 1] * 1000, "time": [i // 400 for i in range(4000)]}
    >>> found = bs.analyze(log)
    >>> found.decision.name, found.decided, found.guarantee
    ('b', '1970-01-01', 'proven')
    """
    asked = Request.of(
        design=design,
        outcome=outcome,
        error=error,
        min_effect=min_effect,
        measure=measure_of(design, outcome, window, aggregate, missing, grace),
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
    room = memory or (MEMORY_BY_DAY if by_day or asked.measure is not None else MEMORY)
    sources = [Source(events, query, "events")]
    if assignments is not None:
        sources.append(Source(assignments, assignments_query, "assignments"))
    with connections(room) as opened, one_line():
        log, given = [*open_tables(opened, sources), None][:2]
        names = {"unit": unit, "arm": arm, "value": value, "time": time}
        reduced = _reduced(asked, log, given, names, segment, probability)
    return assembled(asked, reduced, weights)


def _reduced(
    asked: Request,
    log: Any,
    given: Any,
    names: dict[str, str | None],
    segment: str | None,
    probability: str | Mapping[str, str] | None,
) -> Reduced:
    who = log if given is None else given
    unit = str(chosen(log, "unit", names["unit"]))
    arm = chosen(who, "arm", names["arm"])
    assert arm is not None
    arms = arm_names(who, arm, None if asked.design is None else asked.design.arms)
    if len(arms) < 2:
        found = f"only {arms[0]!r}" if arms else "no arm at all"
        raise InputError("arm", f"arm: the log has {found}: a test compares at least two")
    about = _about_units(who, arms, segment, probability)
    columns = Columns(
        unit=unit,
        arm=arm if given is None else None,
        value=chosen(log, "value", names["value"]),
        time=chosen(log, "time", names["time"], needed=False),
        **(about if given is None else {}),
    )
    if given is None:
        rows = clean(log, columns, arms, asked.until, text=False)
        return _limited(asked, _with_blanks(asked, _of_events(asked, rows, arms), rows, None))
    placing = Columns(
        unit=str(chosen(given, "unit", names["unit"])),
        arm=arm,
        value=None,
        time=chosen(given, "time", None if names["time"] not in given.columns else names["time"]),
        **about,
    )
    if is_exported(asked.design, given):
        assert asked.design is not None
        return _exported(asked, asked.design, log, given, columns, placing)
    differ = log[columns.unit].type() != given[placing.unit].type()
    rows = clean(log, columns, arms, asked.until, text=differ)
    placed = clean(given, placing, arms, asked.until, text=differ)
    reduced = _of_both(asked, rows, placed, arms)
    return _limited(asked, _with_blanks(asked, reduced, rows, placed))


def _about_units(
    who: Any,
    arms: tuple[str, ...],
    segment: str | None,
    probability: str | Mapping[str, str] | None,
) -> dict[str, Any]:
    """The columns with the segment and the probabilities of a unit."""
    about: dict[str, Any] = {"segment": chosen(who, "segment", segment, needed=False)}
    if not isinstance(probability, Mapping):
        about["probability"] = chosen(who, "probability", probability, needed=False)
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
        str(chosen(who, "probability", probability[arm])) for arm in arms
    )
    return about


def _with_blanks(asked: Request, found: Reduced, rows: Any, placed: Any) -> Reduced:
    """Say how many rows have no value, and how many units of each arm have none at all."""
    blank = reduce.blanks(rows)
    if not blank:
        return found
    found = replace(found, aside=found.aside | {BLANK: blank})
    if asked.recurring:
        return found
    each = reduce.without_value(rows, None if placed is None else units_of(placed))
    return replace(
        found,
        valueless={row["arm"]: (int(row["units"]), int(row["without"])) for row in each},
    )


def _limited(asked: Request, found: Reduced) -> Reduced:
    """Scale the scores by the smallest probabilities that were stated, where these are needed."""
    least = asked.least(found.arms)
    if least is None:
        return found
    segments = {
        name: replace(sums, scores=sums.scores.limited(found.arms, least))
        if sums.scores is not None and not sums.scores.bounded
        else sums
        for name, sums in found.table.segments.items()
    }
    return replace(found, table=replace(found.table, segments=segments))


def _of_events(asked: Request, rows: Any, arms: tuple[str, ...]) -> Reduced:
    """The event table alone: a unit arrives with its first row."""
    ends = None
    if asked.recurring:
        return _of_recurring(asked, rows, None, arms)
    if asked.measure is not None:
        ends = _end_of_log(asked, rows)
        units = units_of_events(rows, asked.measure, asked.aggregate)
        found = _sums_by_arrival(asked, units, arms)
        table = table_of(found, len(arms))
        total, aside = reduce.counted(rows)
        return Reduced(arms, table, True, ends, total, aside)
    scored = _has_probabilities(rows)
    if asked.by_day and not scored and not asked.exclude:
        found = reduce.growth(rows, asked.aggregate, asked.missing, limits=asked.limits)
    else:
        found = _sums_by_arrival(asked, units_to_date(rows, asked.aggregate), arms)
    table = table_of(found, len(arms), missing=asked.missing)
    units_seen = sum(int(sums.units.sum()) for sums in table.segments.values()) + table.excluded
    aside = {}
    total = reduce.total_of(rows)
    if total > sum(int(row["rows"] or 0) for row in found):
        total, aside = reduce.counted(rows)
    # A unit with a single row has given all that it will.
    final = table.rows == units_seen
    if scored and not final:
        raise InputError("probability", NOT_FINAL)
    if asked.exclude and asked.by_day and not final:
        raise InputError("missing", EXCLUDE_NOT_FINAL)
    if final and asked.by_day:
        table = replace(
            table, segments={k: replace(v, growth=None) for k, v in table.segments.items()}
        )
    return Reduced(arms, table, final, ends, total, aside)


def _of_both(asked: Request, rows: Any, placing: Any, arms: tuple[str, ...]) -> Reduced:
    """Assignments and events: units without events count, and events of strangers do not."""
    if asked.recurring:
        return _of_recurring(asked, rows, placing, arms)
    units = units_of(placing)
    total, aside = reduce.counted(rows)
    others, bad = reduce.counted(placing)
    stranger = "event of an unknown unit"
    ends = None
    if asked.measure is None and _has_probabilities(placing):
        raise InputError("probability", NOT_FINAL)
    if asked.measure is None and asked.by_day and asked.exclude:
        raise InputError("missing", EXCLUDE_NOT_FINAL)
    if asked.measure is not None or not asked.by_day:
        if asked.measure is not None:
            ends = _end_of_log(asked, rows, placing)
        inside = units_in_window(rows, units, asked.measure, asked.aggregate)
        table = table_of(_sums_by_arrival(asked, inside, arms), len(arms))
        strangers = total - sum(aside.values()) - table.events
    else:
        grown = reduce.growth_of_units(
            rows, units, asked.aggregate, asked.missing, limits=asked.limits
        )
        come = reduce.arrivals(units)
        table = table_of(grown, len(arms), missing=asked.missing, arrivals=come)
        strangers = total - sum(aside.values()) - table.rows
        stranger += ", or before it came"
    aside |= {f"{reason} (assignment)": n for reason, n in bad.items()}
    if strangers > 0:
        aside[stranger] = strangers
    return Reduced(arms, table, asked.measure is not None, ends, total + others, aside)


def _sums_by_arrival(asked: Request, units: Any, arms: tuple[str, ...]) -> list[reduce.Row]:
    return reduce.by_arrival(
        units,
        len(arms),
        asked.limits,
        asked.missing,
        exclude=asked.exclude,
        own_only=asked.least_probability is not None,
    )


def _has_probabilities(rows: Any) -> bool:
    return any(name.startswith(OWN) for name in rows.columns)


def _exported(
    asked: Request, design: Design, log: Any, given: Any, columns: Columns, placing: Columns
) -> Reduced:
    """A test that bascule ran, folded again."""
    arms = tuple(design.arms)
    rows = clean(log, columns, arms, asked.until, text=True)
    # Nothing but the numbers of what was logged is added, and it is one row a unit already.
    placed = clean(given, placing, arms, None, text=True)
    known = given.select(
        unit=given[placing.unit].cast("string"),
        number=given["number"].cast("int64"),
        block=given["block"].cast("int64"),
        probability=given["probability"].cast("float64"),
    )
    units = placed.filter(placed.bad == 0).select("unit", arm=placed.code, first=placed.time)
    units = units.inner_join(known, "unit")
    again = replay(design, rows, units, asked.until)
    total, aside = reduce.counted(rows)
    table = Table({"": again.sums}, {}, total)
    return Reduced(arms, table, True, asked.until, total, aside, replayed=again)


def _of_recurring(asked: Request, rows: Any, placing: Any, arms: tuple[str, ...]) -> Reduced:
    """Outcomes that keep coming: one a period, or every row one."""
    total, aside = reduce.counted(rows)
    static = asked.design is not None and isinstance(asked.design.rule, Static)
    period = asked.period or (1 if static or placing is not None else None)
    if period is None:
        found = reduce.cohorts_by_count(rows)
        parts: dict[str, list[Any]] = {}
        for row in found:
            if row["arm"] is not None and row["arm"] >= 0:
                parts.setdefault(row.get("segment", ""), []).append(row)
        seen = {name: by_count(some, len(arms)) for name, some in parts.items()}
        sums = {name: Sums.of_units(some.days, some.units) for name, some in seen.items()}
        twice = sum(row["units"] for row in found if row["arm"] == TWO_ARMS and not row["before"])
        table = Table(sums, {"unit in two arms": twice} if twice else {}, total)
        return Reduced(arms, table, True, None, total, aside, recurring=seen)
    first, _ = reduce.ends_of(rows if placing is None else placing)
    calendar = Calendar(None if first is None else first.date(), period)
    come = None
    if placing is None:
        grown = reduce.growth(rows, asked.aggregate, 0.0, calendar)
    else:
        units = units_of(placing)
        grown = reduce.growth_of_units(rows, units, asked.aggregate, 0.0, calendar)
        come = reduce.arrivals(units, calendar)
        others, bad = reduce.counted(placing)
        total += others
        aside |= {f"{reason} (assignment)": n for reason, n in bad.items()}
    table = table_of(grown, len(arms), arrivals=come, step=period)
    seen = {name: by_period(sums) for name, sums in table.segments.items()}
    return Reduced(arms, table, True, None, total, aside, recurring=seen)


def _end_of_log(asked: Request, *tables: Any) -> datetime:
    """When the log ends: as told, or with the day of its last row."""
    if asked.until is not None:
        return asked.until
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
