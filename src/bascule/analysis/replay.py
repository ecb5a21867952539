"""Replay a test that bascule ran itself from its exported tables, unit by unit.

The exported assignments have the order of the units and their blocks, so that what was decided can
be computed again to the digit, by the functions that decided it (`live.steps.replay`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from bascule.analysis.evidence.course import Course, Day
from bascule.analysis.reduce.sums import Sums, days_between
from bascule.analysis.reduce.tables import units_with_events
from bascule.analysis.source.places import Record, run
from bascule.core.calendar import DAY
from bascule.core.design import Design
from bascule.core.ending import end_reason
from bascule.core.errors import InputError
from bascule.core.metrics.coverage import is_counted
from bascule.core.metrics.effects import effects
from bascule.core.outcomes import Pair, Value
from bascule.core.procedures.base import AnyStatistics, Decision
from bascule.core.statistics import Statistics

if TYPE_CHECKING:
    from bascule.live.reports.status import Status
    from bascule.live.storage.deals import Deal
    from bascule.live.storage.state import ExperimentState, Phase, Verdict


@dataclass(frozen=True, slots=True)
class Tested:
    """The design of a test, and the events of its other metrics, as they are and cleaned."""

    design: Design
    tables: tuple[Any, ...] = ()
    events: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Replayed:
    """The course of the test, where it stands in the end, and its units by day."""

    course: Course
    state: ExperimentState
    sums: Sums
    status: Status


def is_exported(design: Design | None, given: Any) -> bool:
    """Whether a table of assignments is one that `bascule experiment export` writes."""
    if design is None or given is None or design.procedure.counts == "stages":
        return False
    return {"number", "block", "size"} <= set(given.columns)


def covariate_columns(design: Design, assignments: Any) -> dict[str, Any]:
    """Return the columns of the design's covariates in a table of assignments, by their place."""
    columns = {}
    for k, one in enumerate(design.covariates or ()):
        if one.name not in assignments.columns:
            raise InputError(
                "assignments",
                f"assignments have no column for the covariate {one.name}: export them again",
            )
        # Those of erased units are gone.
        columns[f"covariate_{k}"] = assignments[one.name].cast("float64").fill_null(one.missing)
    return columns


def replay(
    tested: Tested,
    events: Any,
    units: Any,
    until: datetime | None,
    received: datetime | None = None,
) -> Replayed:
    """Fold the units in the order of their assignment, as long as outcomes are there.

    `units` has a row per unit with its number, its block and the slots of that besides. All metrics
    of a unit count when its longest window closes. The log ends at `until`, or else with the last
    of its rows, or when the last of them was received.
    """
    design = tested.design
    rows = _rows_of(design, events, units)
    if not rows:
        raise InputError("assignments", "assignments: there are no units")
    if not tested.events:
        design = replace(design, metrics=(), decides="primary")
    pairs = zip(design.metric_designs, tested.events, strict=True)
    others = [_rows_of(one, its, units) for one, its in pairs]
    each = list(zip(rows, *others, strict=True))
    last = [row["first"] for row in rows]
    last += [row["latest"] for unit in each for row in unit if row["latest"] is not None]
    end = until or max(last if received is None else [*last, received])
    return _replayed(design, each, _within(design, _seconds(end)))


def _rows_of(design: Design, events: Any, units: Any) -> list[Record]:
    """The units in the order of their assignment, each with its outcome of one metric."""
    aggregate = "sum" if design.measure is None else design.measure.aggregate
    outcomes = units_with_events(events, units, design.measure, aggregate)
    return run(outcomes.order_by("number"))


def _within(design: Design, end: float) -> float:
    """The moment of the last look: the end of the log, or the deadline before it."""
    return end if design.deadline is None else min(end, design.deadline.timestamp())


def _replayed(design: Design, units: Sequence[tuple[Record, ...]], end: float) -> Replayed:
    """Fold until an outcome is missing, the time is over, or there is a decision.

    `units` has the rows of each unit: that of the primary metric first, then of the others.
    """
    from bascule.live.reports.status import status_of
    from bascule.live.steps.maturity import Matured
    from bascule.live.steps.replay import Replay
    from bascule.live.storage.queries import Loaded

    rows = [unit[0] for unit in units]
    began = _seconds(rows[0]["first"])
    replayed = Replay.start(design, _deals(design, rows).__getitem__, origin=began)
    together = replayed.state._replace(folding=replayed.state.folding._replace(fronts=()))
    replayed = replace(replayed, state=together)
    days: list[Day] = []
    known: date | None = None
    over = False
    for unit in units:
        row, ready = unit[0], _ready(design, unit, end)
        if ready is None or over:
            break
        # What counts at the moment of an announcement counts before it.
        replayed = replayed.announced(math.nextafter(ready, 0.0))
        if replayed.state.ending.verdict is not None and not design.measure_on:
            break
        if design.procedure.counts == "blocks" and row["block"] is None:
            break  # The unit came after the test had ended.
        day = datetime.fromtimestamp(ready, UTC).date()
        if known is not None and day > known:
            days.append(_day(design, replayed.state, known))
        known = day if known is None else max(known, day)
        block = None if row["block"] is None else int(row["block"])
        before, value = replayed.state.statistics, _outcome(design, row)
        covariates = tuple(row[f"covariate_{k}"] for k in range(len(design.covariates or ())))
        each = list(zip((design, *design.metric_designs), unit, strict=True))
        counted = Matured(
            row["arm"],
            value,
            [None if _is_left_out(*one) else _outcome(*one) for one in each[1:]],
            covariates,
            [one["outcome"] is None and is_counted(its) for its, one in each],
        )
        replayed = replayed.fold(counted, block, ready)
        statistics = replayed.state.statistics
        over = statistics is not before and _is_over(design, statistics, ready - began)
    replayed = replayed.announced(end)
    if known is not None:
        days.append(_day(design, replayed.state, known))
    enrolment = replayed.state.enrolment._replace(assigned=_units(design, rows, math.inf))
    state = replayed.state._replace(enrolment=enrolment)
    verdict, reached, decided = state.ending.verdict, None, None
    if verdict is not None:
        ending = state.ending._replace(enrolled=_units(design, rows, verdict.time))
        state = state._replace(ending=ending)
        kind = design.calibration.guarantee
        reached = Decision(verdict.arm, verdict.name, verdict.error, kind)
        decided = _decided_on(design, verdict, days)
    phase: Phase = "over" if over else "running" if reached is None else "decided"
    status = status_of(Loaded(0, "log", began, design, phase, state, 0), end)
    course = Course(tuple(days), reached, decided, None)
    return Replayed(course, state, _sums(design, rows, state.folding.folded), status)


def _units(design: Design, rows: Sequence[Record], until: float) -> tuple[int, ...]:
    """Return the units of each arm that had come until a moment."""
    arms = [row["arm"] for row in rows if _seconds(row["first"]) <= until]
    return tuple(map(arms.count, range(len(design.arms))))


def _is_over(design: Design, statistics: AnyStatistics, passed: float) -> bool:
    """Return whether the plan ends the test here; futility has to wait for `min_days`."""
    reason = end_reason(design, statistics)
    return reason is not None and (reason != "futility" or passed >= DAY * (design.min_days or 0.0))


def _decided_on(design: Design, verdict: Verdict, days: Sequence[Day]) -> str:
    """Return the day of the decision: with a calendar, that on which it is announced."""
    if design.withholds or design.measure_on:
        return datetime.fromtimestamp(verdict.time, UTC).date().isoformat()
    return days[-1].date


def _ready(design: Design, rows: Sequence[Record], end: float) -> float | None:
    """Return when the unit had all its outcomes; None if it had not by the end."""
    matures = design.matures(_seconds(rows[0]["first"]))
    if matures is None:
        lacks = any(row["outcome"] is None for row in rows)
        return None if lacks else max(_seconds(row["latest"]) for row in rows)
    return matures if matures <= end else None


def _is_left_out(design: Design, row: Record) -> bool:
    """Return whether a unit without a value of a metric does not count on it."""
    measure = design.measure
    return row["outcome"] is None and measure is not None and measure.missing == "exclude"


def _outcome(design: Design, row: Record) -> Value:
    """Return the outcome of a unit, `missing` if it had no event, within the limits."""
    value = row["outcome"]
    if design.outcome.pairs:
        return Pair(float(value or 0.0), float(row["per"] or 0.0))
    if value is None:
        assert design.measure is not None
        value = design.measure.missing_value
    from bascule.live.steps.maturity import clipped

    return clipped(design, float(value))[0]


def _day(design: Design, state: ExperimentState, day: date) -> Day:
    """Return what was known at the end of a day."""
    statistics = state.latest_statistics
    assert isinstance(statistics, Statistics)
    parts = [now + rest for now, rest in zip(statistics.arms, state.block.sums, strict=True)]
    return Day(
        day.isoformat(),
        tuple(arm.units for arm in parts),
        tuple(arm.known_mean for arm in parts),
        effects(design, statistics),
        None if state.ending.verdict is None else state.ending.verdict.name,
    )


def _sums(design: Design, rows: Sequence[Record], folded: int) -> Sums:
    """Return the units by day of arrival, with the outcomes of those that were folded."""
    came = [row["first"].date() for row in rows]
    sums = Sums.blank(days_between(min(came), max(came)), len(design.arms))
    for place, (row, day) in enumerate(zip(rows, came, strict=True)):
        at = (day - sums.days[0]).days, row["arm"]
        sums.units[at] += 1
        if place < folded:
            value = _outcome(design, row)
            if isinstance(value, Pair):
                continue
            sums.totals[at] += value
            sums.squares[at] += value * value
            sums.lows[at], sums.highs[at] = min(sums.lows[at], value), max(sums.highs[at], value)
    return sums


def _deals(design: Design, rows: Sequence[Record]) -> dict[int, Deal]:
    """The blocks as they were dealt, by the number of their slots."""
    from bascule.live.storage.deals import Deal

    sizes = {int(row["block"]): int(row["size"]) for row in rows if row["block"] is not None}
    if not sizes:
        return {}
    repeat = design.procedure.next_block(Statistics.empty(len(design.arms))).repeat
    return {
        block: Deal(block, ((0,) * (size // repeat),) * repeat) for block, size in sizes.items()
    }


def _seconds(moment: datetime) -> float:
    """Seconds since 1970 of a time without a zone, which is in UTC."""
    return moment.replace(tzinfo=UTC).timestamp()
