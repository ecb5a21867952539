"""Mature units taken into the statistics, a few in each transaction, and what follows from them."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from bascule.core.ends import cap_met
from bascule.live import ledger
from bascule.live.folding import fold_unit
from bascule.live.maturity import Event, Receipt, unit_outcome
from bascule.live.standing import OPEN, statistics_to_json

if TYPE_CHECKING:
    from bascule.live.work import Work

FOLDED_AT_ONCE = 2000
"""Units that one transaction takes into the statistics, so that none of them takes long."""

FOLDED_AT_FIRST = 32
"""Units that are read at first: where outcomes come one by one, few are ready."""

SHOWN_EVERY = 1.02
"""By how much the number of units grows between two points of the history."""


def settle(work: Work, most: int = FOLDED_AT_ONCE) -> bool:
    """Take mature units into the statistics; whether there may be more."""
    if work.state not in OPEN:
        return False
    work.write("outcomes")
    deadline = work.design.deadline
    end = work.now if deadline is None else min(work.now, deadline.timestamp())
    more = _fold(work, end, most)
    if work.standing.verdict is not None:
        decide(work)
    elif not more and _has_ended(work):
        work.state = "over"
        work.log("end", after=work.standing.folded)
    _show(work)
    return more and work.standing.verdict is None


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
            work.standing = replace(work.standing, backlog=False)
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
    work.standing = replace(work.standing, due=due, backlog=more)
    return more


def _has_ended(work: Work) -> bool:
    deadline = work.design.deadline
    if deadline is not None and work.now >= deadline.timestamp():
        return True
    waiting = work.standing.folded < work.standing.units
    if waiting or work.design.max_units is None:
        return False
    counted = work.standing.statistics.units == work.standing.units
    return counted and cap_met(work.design, work.standing.statistics)


def _show(work: Work) -> None:
    folded = work.standing.folded
    enough = SHOWN_EVERY * work.standing.shown if work.state in OPEN else 0
    if folded > work.standing.shown and folded >= enough:
        kept = statistics_to_json(work.standing.statistics)
        work.add("history", folded, work.now, kept)
        work.standing = replace(work.standing, shown=folded)
