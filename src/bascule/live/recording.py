"""What becomes of the events that a transaction brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bascule.live import ledger
from bascule.live.ledger import Assignment
from bascule.live.maturity import ACCEPTED, Event, Receipt, judge_time, judge_value
from bascule.live.settling import settle

if TYPE_CHECKING:
    from bascule.live.work import Work

NOT_EXPOSED = Receipt(True, "not exposed", "it counts for the arm that its unit was given")


def record(work: Work, events: Sequence[Event]) -> list[Receipt]:
    """What becomes of each event; those that count are stored, the others set aside."""
    work.write("outcomes")
    work.write("set_aside")
    work.look_up(event.unit for event in events)
    ids = [event.id for event in events if event.id is not None]
    taken = ledger.taken_ids(work.connection, work.before.id, ids)
    answered: set[int] = set()
    if work.design.measure is None:
        units = (work.known[event.unit] for event in events)
        numbers = [assigned.number for assigned in units if assigned is not None]
        answered = ledger.answered(work.connection, work.before.id, numbers)
    receipts = []
    refused = []
    known, news, now = work.known, work.news, work.now
    for event in events:
        unit, value, _, name, exposed = event
        receipt, number, at = _judged(work, event, known[unit], taken, answered)
        receipts.append(receipt)
        if receipt.accepted:
            if name is not None:
                taken[name] = (number, value)
            answered.add(number)
            news.add(number)
            work.add("outcomes", number, float(value), at, now, name)
            if not exposed:
                receipts[-1] = NOT_EXPOSED
                work.put_aside(event, NOT_EXPOSED)
        elif receipt.reason != "duplicate":
            refused.append((event, receipt))
    # A retry of what was set aside is not listed again.
    ids = [event.id for event, _ in refused if event.id is not None]
    listed = ledger.listed(work.connection, work.before.id, ids)
    for event, receipt in refused:
        if (event.id, receipt.reason) not in listed:
            work.put_aside(event, receipt)
    settle(work)
    return receipts


def _judged(
    work: Work,
    event: Event,
    assigned: Assignment | None,
    taken: dict[str, tuple[int, float]],
    answered: set[int],
) -> tuple[Receipt, int, float]:
    unit, value, given, name, _ = event
    now = work.now
    at = now if given is None else given
    if assigned is None:
        return Receipt(False, "unknown unit", f"unit {unit!r:.60} was never assigned"), -1, at
    number, arrived = assigned.number, assigned.time
    if name is not None and name in taken:
        if taken[name] == (number, value):
            return Receipt(False, "duplicate", "it was counted before"), number, at
        detail = f"id {name!r:.60} belongs to another outcome"
        return Receipt(False, "id used before", detail), number, at
    fit = judge_value(work.design, value)
    if not fit.accepted:
        return fit, number, at
    if work.state in ("over", "stopped"):
        detail = f"the experiment is {work.state}: outcomes count no more"
        return Receipt(False, "over", detail), number, at
    if now < arrived:
        # Clocks of two machines may differ by a little.
        now = arrived
        at = now if given is None else given
    timely = judge_time(work.design.measure, at, arrived, now)
    if not timely.accepted:
        return timely, number, at
    if work.design.measure is None and number in answered:
        return Receipt(False, "second outcome", "its unit has an outcome already"), number, at
    return ACCEPTED, number, at
