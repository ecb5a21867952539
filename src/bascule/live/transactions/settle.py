"""Mature units taken into the statistics, a few in each transaction, and what follows from them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from bascule.core.design import Design
from bascule.core.ends import cap_met
from bascule.core.measure import Measure
from bascule.core.outcomes import Recurrent
from bascule.core.rules import Static
from bascule.live.steps import stages
from bascule.live.steps.folding import fold_unit
from bascule.live.steps.maturity import Event, Receipt, unit_outcome
from bascule.live.storage import queries as ledger
from bascule.live.storage.state import OPEN, Standing, State, statistics_to_json

if TYPE_CHECKING:
    from bascule.live.transactions.unit_of_work import Work

FOLDED_AT_ONCE = 2000
"""Units that one transaction takes into the statistics, so that none of them takes long."""

FOLDED_AT_FIRST = 32
"""Units that are read at first: where outcomes come one by one, few are ready."""

STAGES_AT_ONCE = 20
"""Stages that one transaction closes."""

SHOWN_EVERY = 1.02
"""By how much the number of units grows between two points of the history."""


def settle(work: Work, most: int = FOLDED_AT_ONCE) -> bool:
    """Take mature units into the statistics; whether there may be more."""
    if work.state not in OPEN:
        return False
    work.write("outcomes")
    deadline = work.design.deadline
    end = work.now if deadline is None else min(work.now, deadline.timestamp())
    recurrent = isinstance(work.design.outcome, Recurrent)
    more = _close_stages(work, end) if recurrent else _fold(work, end, most)
    if work.standing.verdict is not None:
        decide(work)
    elif not more and _has_ended(work):
        work.state = "over"
        work.log("end", after=work.standing.progress)
    _show(work)
    return more and work.standing.verdict is None


def is_settled(design: Design, state: State, standing: Standing, now: float) -> bool:
    """Whether there is nothing to settle now, so that one need not wait for those who write.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2))
    >>> is_settled(design, "running", Standing.empty(design), 0.0)
    True
    """
    if state not in OPEN:
        return True
    measure, deadline = design.measure, design.deadline
    if deadline is not None and now >= deadline.timestamp():
        return False
    if isinstance(design.outcome, Recurrent):
        assert measure is not None
        origin = standing.origin
        return origin is None or stages.due(measure, origin, standing.progress + 1) > now
    if measure is None or standing.folded >= standing.units:
        return not standing.backlog
    return standing.due is not None and standing.due > now


def decide(work: Work) -> None:
    """Announce the decision that the statistics have come to."""
    assert work.standing.verdict is not None
    work.state = "decided"
    work.log("decide", **asdict(work.standing.verdict))


def _fold(work: Work, end: float, most: int) -> bool:
    """Fold what is ready, first a few units and then more at a time, but never too many."""
    left, size = most, FOLDED_AT_FIRST
    while left > 0 and _may_fold(work, end):
        size = min(size, left)
        if not _fold_some(work, end, size):
            return False
        left -= size
        size *= 4
    return left <= 0


def _may_fold(work: Work, end: float) -> bool:
    standing, measure = work.standing, work.design.measure
    if standing.folded >= standing.units:
        return False
    if measure is None:
        # Nobody folds before the first unit that waits, and that one may have no outcome yet.
        return standing.backlog or standing.folded in work.news
    return standing.due is None or standing.due <= end


def _fold_some(work: Work, end: float, size: int) -> bool:
    """Fold so many units; whether all of them were ready."""
    measure = work.design.measure
    work.write("assignments")
    first = work.standing.folded
    rows = ledger.assigned_from(work.connection, work.before.id, first, size)
    ready = rows
    if measure is not None:
        ready = [row for row in rows if measure.matures(row.time) <= end]
    last = first + len(ready) - 1
    events = dict(ledger.events_of(work.connection, work.before.id, first, last))
    work.read_deals([row.deal for row in ready if row.deal is not None])
    for row in ready:
        if measure is None and row.number not in events:
            work.standing = work.standing._replace(backlog=False)
            return False
        value, clipped = unit_outcome(work.design, events.get(row.number, ()))
        if clipped:
            told = Event(row.unit, value)
            work.put_aside(told, Receipt(True, "clipped", clipped))
        deal = work.deal(row.deal) if row.deal is not None else None
        work.standing = fold_unit(work.design, work.standing, deal, row.arm, value, work.now)
        if work.standing.verdict is not None:
            return False
    due = work.standing.due
    if measure is not None and len(ready) < len(rows):
        due = measure.matures(rows[len(ready)].time)
    more = len(ready) == size
    work.standing = work.standing._replace(due=due, backlog=more)
    return more


def _close_stages(work: Work, end: float) -> bool:
    """Close the stages whose outcomes are all there, a few at a time; whether there may be more."""
    measure = work.design.measure
    assert measure is not None
    for _ in range(STAGES_AT_ONCE):
        origin, stage = work.standing.origin, work.standing.progress + 1
        if origin is None or work.standing.verdict is not None or _horizon_met(work):
            return False
        if stages.due(measure, origin, stage) > end:
            return False
        work.write("assignments")
        work.standing = stages.closed(
            work.design,
            work.standing,
            read_stage(work.connection, work.before.id, measure, origin, stage),
            work.now,
        )
    return True


def read_stage(
    connection: Connection, experiment: int, measure: Measure, origin: float, stage: int
) -> stages.Sums:
    """What the log says about a stage."""
    period = stages.period_of(measure)
    # The period of a unit that came in the middle of a stage began in the one before.
    first, last = origin + (stage - 2) * period, origin + stage * period
    rows = ledger.events_between(connection, experiment, first, last)
    return stages.sums_of(measure, origin, stage, rows)


def _horizon_met(work: Work) -> bool:
    rule = work.design.rule
    last = rule.horizon if isinstance(rule, Static) else None
    return last is not None and work.standing.progress >= last


def _has_ended(work: Work) -> bool:
    deadline = work.design.deadline
    if deadline is not None and work.now >= deadline.timestamp():
        return True
    if _horizon_met(work):
        return True
    waiting = work.standing.folded < work.standing.units
    if waiting or work.design.max_units is None:
        return False
    counted = work.standing.statistics.units == work.standing.units
    return counted and cap_met(work.design, work.standing.statistics)


def _show(work: Work) -> None:
    progress = work.standing.progress
    enough = SHOWN_EVERY * work.standing.shown if work.state in OPEN else 0
    if progress > work.standing.shown and progress >= enough:
        kept = statistics_to_json(work.standing.statistics)
        work.add("history", progress, work.now, kept)
        work.standing = work.standing._replace(shown=progress)
