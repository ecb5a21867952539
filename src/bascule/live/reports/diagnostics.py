"""Diagnostics of a live test: drift, sample ratio, missing values and overdue units.

They are computed from the history and the log, and take longer the longer the log is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice, pairwise

from sqlalchemy import Connection

from bascule.core.approximate import percent
from bascule.core.calendar import DAY
from bascule.core.cohorts import CohortStatistics
from bascule.core.diagnostics import AllocationStatistics, Diagnostic, diagnose
from bascule.core.diagnostics.allocation import block_probabilities
from bascule.core.diagnostics.drift import Joiners, joiner_trend, trend
from bascule.core.metrics import coverage
from bascule.core.metrics.guardrails import empty_metrics
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.live.clock import moment
from bascule.live.reports.waiting import waiting_of
from bascule.live.storage.deals import Deal, is_struck
from bascule.live.storage.queries import BLOCKS, Loaded, Rows, oldest_waiting
from bascule.live.storage.records import alarms_by_test, history_of
from bascule.live.storage.state_json import run_from_json
from bascule.live.storage.statements import fetch
from bascule.live.transactions.unit_of_work import UnitOfWork

READ_AT_ONCE = 10_000

DRIFT_LEVEL = 0.01
"""Level of the checks of drift: the share of tests without drift that give a false alarm."""

TELLING = 30
"""Minimum number of counted units in each arm for an alarm about too many missing values."""

MUCH_LATER = 10.0
"""A unit is assumed never to report after this multiple of the median delay."""

PATIENCE = DAY
"""Seconds after which a unit is assumed never to report, while the test has no outcome at all."""

# CROSS JOIN fixes the order of the tables, and `+` keeps the planner from using the range, so that
# the outcomes of each unit are looked up by its number.
_DELAYS = (
    "SELECT o.received - a.time AS delay FROM assignments a CROSS JOIN outcomes o "
    "WHERE a.experiment = ? AND +a.number < ? AND o.experiment = a.experiment "
    "AND o.number = a.number ORDER BY delay LIMIT 1 OFFSET ?"
)
_COUNT = "SELECT count(DISTINCT number) FROM outcomes WHERE experiment = ? AND number < ?"


def diagnostics_of(
    connection: Connection, stored: Loaded, level: float, now: float
) -> tuple[Diagnostic, ...]:
    """Return every diagnostic that the data of an experiment allow."""
    if not stored.design.procedure.supports("unit diagnostics"):
        return drift_of(connection, stored, level)
    periods = linearised_periods(list(_periods(connection, stored)))
    allocation = _allocation(connection, stored)
    waiting = (*_lacking(stored, level), *_waiting(connection, stored, now, level))
    if not periods and allocation is None:
        return waiting
    # Drift changes only with a new point of the history, so each point is one look.
    look = max(1, len(periods))
    diagnostics = diagnose(periods or None, allocation=allocation, level=level, look=look)
    return (*(diagnostic.named(stored.design.arms) for diagnostic in diagnostics), *waiting)


def drift_of(
    connection: Connection, stored: Loaded, level: float = DRIFT_LEVEL
) -> tuple[Diagnostic, ...]:
    """Return the checks of drift, if the guarantee of the test assumes that means do not change.

    They use the stored history and state, not the log.
    """
    design, statistics = stored.design, stored.state.statistics
    if not design.procedure.assumes:
        return ()
    if not design.procedure.supports("unit diagnostics"):
        assert isinstance(statistics, CohortStatistics)
        joiners = [
            Joiners(joiners.arm, joiners.stage, joiners.units, outcomes, joiners.total)
            for joiners in stored.state.enrolment.crowd
            if (outcomes := statistics.stage - joiners.stage + 1 - joiners.late) > 0
        ]
        checks = (joiner_trend(joiners, design.outcome.unit_spreads, level),)
        looks = statistics.stage
    else:
        periods = linearised_periods(list(_periods(connection, stored)))
        if not periods:
            return ()
        checks, looks = (trend(periods, level),), len(periods)
    return tuple(check.at_look(max(1, looks)).named(design.arms) for check in checks)


def _waiting(
    connection: Connection, stored: Loaded, now: float, level: float
) -> tuple[Diagnostic, ...]:
    """Return a diagnostic of units that have not counted, flagged if the oldest is overdue."""
    oldest = oldest_waiting(connection, stored)
    waiting = waiting_of(stored, now, oldest)
    if waiting is None or waiting.until is not None or oldest is None:
        return ()
    units, folded = stored.state.units, stored.state.folding.folded
    last = stored.state.units
    reported = int(fetch(connection, _COUNT, stored.id, last)[0][0])
    silent = units - reported
    patience = PATIENCE
    if reported:
        middle = fetch(connection, _DELAYS, stored.id, last, (reported - 1) // 2)[0][0]
        patience = MUCH_LATER * middle
    is_late = waiting.is_held and now - oldest >= patience
    message = (
        f"{waiting.units:,} units have not counted: {silent:,} without an outcome, and "
        f"{reported - folded:,} that wait for the oldest of these; it came on "
        f"{moment(oldest):%Y-%m-%d %H:%M} UTC"
    )
    if is_late:
        message += ": record an outcome for every unit, 0 if nothing happened"
    return (
        Diagnostic("waiting", float(waiting.units), float(not is_late), level, "any time", message),
    )


def _lacking(stored: Loaded, level: float) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each metric: are values missing equally often in all arms?

    If the arm of a unit does not affect whether its value is missing, all orders of the arms in a
    block are equally likely, given the places without a value. So the comparison is valid at any
    time. A share of values below the required one is flagged too, without a statistical test.
    """
    design, statistics = stored.design, stored.state.once
    if not statistics.units:
        return
    units = [arm.units for arm in statistics.arms]
    known = (statistics, *(statistics.metrics or empty_metrics(design)))
    names = ("", *(metric.name for metric in design.metrics))
    for name, metric_design, metric_statistics in zip(
        names, (design, *design.metric_designs), known, strict=True
    ):
        if not coverage.is_counted(metric_design):
            continue
        p_value = min(map(coverage.p_value, metric_statistics.lacking or (coverage.NOTHING,)))
        p_value = min(1.0, (len(design.arms) - 1) * p_value)
        shares = coverage.coverages(metric_design, metric_statistics, units)
        pairs = zip(design.arms, shares, strict=True)
        of = f" of {name}" if name else ""
        shown = ", ".join(f"{percent(share)} in {arm}" for arm, share in pairs if share is not None)
        message = f"units with a value{of}: {shown}"
        if p_value <= level:
            message += (
                "; values are missing more often in some arms than in others, so that different "
                "kinds of units are compared: find out why before you trust a comparison"
            )
        required = (
            metric_design.measure.least_coverage if metric_design.measure is not None else 0.0
        )
        if min(units) >= TELLING and any((share or 0.0) < required for share in shares):
            message += f"; {percent(required)} are needed, and no arm is shipped with fewer"
            p_value = 0.0
        lacking = float(sum(row[0] for row in metric_statistics.lacking))
        yield Diagnostic(f"missing values{of}", lacking, p_value, level, "any time", message)


def raised(diagnostics: Iterable[Diagnostic], is_open: bool) -> list[Diagnostic]:
    """Return the diagnostics that raise an alarm.

    While a test runs, diagnostics are looked at again and again, so only those that are valid at
    any time raise an alarm.
    """
    return [
        diagnostic
        for diagnostic in diagnostics
        if diagnostic.flagged and (not is_open or diagnostic.validity == "any time")
    ]


def put_into_log(work: UnitOfWork, diagnostic: Diagnostic) -> bool:
    """Add an alarm to the audit log, unless it is already there; return whether it is new."""
    if diagnostic.name in alarms_by_test(work.connection).get(work.before.id, ()):
        return False
    work.log("alarm", name=diagnostic.name, message=diagnostic.message, p_value=diagnostic.p_value)
    return True


def between(before: Statistics, after: Statistics) -> Statistics:
    """Return the sums of the units that counted between two points of the history.

    >>> data = Statistics.empty(2).record(0, 1.0)
    >>> between(data, data.record(0, 0.5)).arms[0]
    ArmStatistics(units=1, total=0.5, squares=0.25, cubes=0.0, per=())
    """
    return Statistics(
        tuple(
            _possible(replace(now + earlier.times(-1.0), cubes=0.0))
            for earlier, now in zip(before.arms, after.arms, strict=True)
        )
    )


def _possible(arm: ArmStatistics) -> ArmStatistics:
    """Return sums whose sum of squares is at least the minimum that their total allows.

    The difference of two long sums has the rounding errors of both, which can be larger than the
    squares of a few small outcomes.

    >>> _possible(ArmStatistics(1, 0.5, 0.2499999)).squares
    0.25
    """
    if not arm.units:
        return arm
    return replace(arm, squares=max(arm.squares, arm.total * arm.total / arm.units))


def linearised_periods(periods: list[Statistics]) -> list[Statistics]:
    """Return the sums of each period, with ratios linearised around the ratio of their arm."""
    if not any(arm.per for period in periods for arm in period.arms):
        return periods
    pooled = [
        sum(arms, ArmStatistics())
        for arms in zip(*(period.arms for period in periods), strict=True)
    ]
    if any(arm.units and not (arm.per and arm.per[0] > 0.0) for arm in pooled):
        # An arm without a denominator above 0 has no ratio.
        return [Statistics.empty(len(pooled)) for _ in periods]
    return [
        Statistics(
            tuple(
                _possible(replace(arm.around(all_of.mean, all_of.per[0] / all_of.units), cubes=0.0))
                if arm.units
                else ArmStatistics()
                for arm, all_of in zip(period.arms, pooled, strict=True)
            )
        )
        for period in periods
    ]


def _periods(connection: Connection, stored: Loaded) -> Iterator[Statistics]:
    points = (statistics for _, _, statistics in history_of(connection, stored.id))
    start = Statistics.empty(len(stored.design.arms))
    for before, after in pairwise([start, *points]):
        assert isinstance(before, Statistics)
        assert isinstance(after, Statistics)
        if after.units > before.units:
            yield between(before, after)


def _allocation(connection: Connection, stored: Loaded) -> AllocationStatistics | None:
    """Return statistics that compare the arms of all units with their probabilities in blocks."""
    if stored.design.procedure.assigns != "blocks" or not stored.state.enrolment.deal:
        return None
    arms = len(stored.design.arms)
    wanted = (
        chances for deal in _dealt(connection, stored) for chances in slot_probabilities(deal, arms)
    )
    allocation, log, first = AllocationStatistics.empty(arms), Rows(connection, stored.id), 0
    while rows := log.assigned_from(first, READ_AT_ONCE):
        first = rows[-1].number + 1
        assigned = [row.arm for row in rows if row.deal is not None]
        if assigned:
            allocation += AllocationStatistics.of(assigned, list(islice(wanted, len(assigned))))
    return allocation


def _dealt(connection: Connection, stored: Loaded) -> Iterator[Deal]:
    """Yield all blocks of a test in order."""
    for row in fetch(connection, BLOCKS, stored.id):
        yield from run_from_json(*row)


def slot_probabilities(deal: Deal, arms: int) -> Iterator[tuple[float, ...]]:
    """Yield the probability of each arm in each slot of a block, given the slots before it.

    >>> list(slot_probabilities(Deal(1, ((0, 1),)), 2))
    [(0.5, 0.5), (0.0, 1.0)]
    """
    slot = 0
    for part in deal.parts:
        left = [part.count(arm) for arm in range(arms)]
        for arm in part:
            if not is_struck(deal.struck, arm, slot):
                # An arm has no places left after the slot at which it was dropped.
                gone = {out for out, since in deal.struck if slot >= since}
                yield block_probabilities([0 if i in gone else n for i, n in enumerate(left)])
            left[arm] -= 1
            slot += 1
