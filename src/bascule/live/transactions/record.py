"""Record events: store those that count, and exclude the others with a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import cast

from bascule.core.design import Design
from bascule.core.metrics.measure import Measure
from bascule.core.metrics.metric import PRIMARY
from bascule.live.clock import TOLERANCE
from bascule.live.steps.maturity import (
    ACCEPTED,
    Event,
    Reason,
    Receipt,
    judge_time,
    judge_value,
    with_event,
)
from bascule.live.steps.stages import counting_stage, due, period_of
from bascule.live.storage import queries
from bascule.live.storage.names import is_erased, pseudonym
from bascule.live.storage.state import Assignment, ExperimentState
from bascule.live.transactions.settle import settle
from bascule.live.transactions.unit_of_work import UnitOfWork

NOBODY = ""
"""Unit of an event that names no unit, unless another event with the same id names it."""

UNTIMELY: dict[Reason | None, str] = {
    "late": "late",
    "early": "unassigned",
    "unknown unit": "unassigned",
}
"""For each reason, the field of the state's `counts` that it increases."""

NOT_EXPOSED = Receipt(True, "not exposed", "it counts for the arm that its unit was given")


Used = tuple[tuple[int, object] | None, int | None]
"""Earlier use of an event id: the unit's number and the value for the same metric, and the unit's
number for any metric; None if there is none."""

NOT_USED: Used = (None, None)


def record(work: UnitOfWork, events: Sequence[Event]) -> list[Receipt]:
    """Store the events that count, exclude the others, and return a receipt for each."""
    names = (None, *(metric.name for metric in work.design.metrics))
    once = work.design.measure is None
    designs = dict(zip(names, (work.design, *work.design.metric_designs), strict=True))
    work.write("outcomes")
    work.write("set_aside")
    if NOBODY in map(itemgetter(0), events):
        events = _with_units(work, events)
    work.look_up(map(itemgetter(0), events))
    if work.state.names.key:
        events = [_with_hidden_id(work, event) for event in events]
    ids = [event[3] for event in events if event[3] is not None]
    taken = {**work.rows.taken_ids(ids)}
    owners = {name: number for (name, _), (number, _) in taken.items()}
    answered: set[tuple[int, str | None]] = set()
    if once:
        units = (work.known[event.unit] for event in events)
        numbers = [assigned.number for assigned in units if assigned is not None]
        answered = work.rows.answered(numbers)
    receipts = []
    refused: list[tuple[Event, Receipt]] = []
    known, news, now = work.known, work.news, work.now
    staged = work.design.procedure.counts == "stages"
    experiment = work.before.id
    rows: list[tuple[object, ...]] = []
    for event in events:
        unit, value, _, name, exposed, metric = event
        assigned = known[unit]
        users = (taken.get((name, metric)), owners.get(name)) if name is not None else NOT_USED
        receipt, number, at = _judged(work, event, designs.get(metric), assigned, users, answered)
        receipts.append(receipt)
        if receipt.accepted:
            if name is not None:
                taken[name, metric], owners[name] = (number, value), number
            if once:
                answered.add((number, metric))
            news.add(number)
            stage = _stage(work, assigned, at) if staged else None
            rows.append((experiment, number, value, at, now, name, metric, stage))
            if not exposed:
                receipts[-1] = NOT_EXPOSED
                work.exclude(event, NOT_EXPOSED)
        elif receipt.reason == "not enrolled":
            # Most units may be outside of the test: only the number of their outcomes is kept.
            counts = work.state.counts
            counts = counts._replace(unenrolled=counts.unenrolled + 1)
            work.state = work.state._replace(counts=counts)
        elif receipt.reason != "duplicate":
            refused.append((event, receipt))
    if work.design.procedure.uses_signals:
        _show_events(work, rows)
    if any(design.outcome.pairs for design in designs.values()):
        work.add_all("outcomes", map(queries.with_parts, rows))
    else:
        used = 8 if staged else 7 if work.design.metrics else 6 if ids else 5
        work.add_all("outcomes", [row[:used] for row in rows])
    # A retry of an excluded event is not listed again.
    ids = [event.id for event, _ in refused if event.id is not None]
    listed = work.rows.listed(ids)
    for event, receipt in refused:
        if (event.id, receipt.reason, event.metric) not in listed:
            work.exclude(event, receipt)
            if receipt.reason in UNTIMELY:
                count, counts = UNTIMELY[receipt.reason], work.state.counts
                counts = counts._replace(**{count: getattr(counts, count) + 1})
                work.state = work.state._replace(counts=counts)
    settle(work)
    return receipts


def _show_events(work: UnitOfWork, rows: Sequence[tuple[object, ...]]) -> None:
    """Add the units whose first event is among the new rows to the early signals."""
    of_primary = [row for row in rows if row[6] is None and row[2]]
    numbers = [*dict.fromkeys(cast("int", row[1]) for row in of_primary)]
    before = work.rows.first_events(numbers)
    units = {row.number: row for row in work.known.values() if row is not None}
    for number in numbers:
        unit = units[number]
        if number not in before and unit.deal is not None:
            work.state = with_event(work.state, work.deal(unit.deal), unit.arm)


def _with_units(work: UnitOfWork, events: Sequence[Event]) -> list[Event]:
    """Return the events, with missing units and times taken from the requests with the same ids.

    For example, a rating may give only the id of a request, if an earlier outcome with that id,
    such as its cost, has named the user. Unless it has a time of its own, it gets the time of the
    request.
    """
    asked = [event.id for event in events if not event.unit and event.id is not None]
    stored, excluded = work.rows.requests(asked, work.state.names.key)
    together = {
        event.id: (event.unit, event.at) for event in reversed(events) if event.unit and event.id
    }
    # Stored outcomes take precedence over those of this batch, and these over excluded ones.
    known = {**excluded, **together, **stored}
    return [event if event.unit else _of_request(event, known) for event in events]


def _of_request(event: Event, known: Mapping[str, tuple[str, float | None]]) -> Event:
    """Return an event with the unit of its request, and if it has no time, with the request's."""
    unit, at = known.get(event.id or "", (NOBODY, None))
    return event._replace(unit=unit, at=at if event.at is None else event.at)


def _with_hidden_id(work: UnitOfWork, event: Event) -> Event:
    """Return an event, with its id hashed if its unit was erased, so that a retry is recognised."""
    known = work.known[event.unit]
    if event.id is None or known is None or not is_erased(known.unit):
        return event
    return event._replace(id=pseudonym(work.state.names.key, event.id))


def _stage(work: UnitOfWork, assigned: Assignment | None, at: float) -> int:
    """Return the stage at whose end an event of a unit counts."""
    origin, measure = work.state.enrolment.origin, work.design.measure
    assert origin is not None
    assert measure is not None
    assert assigned is not None
    return counting_stage(origin, period_of(measure), assigned.time, at)


def _judged(
    work: UnitOfWork,
    event: Event,
    design: Design | None,
    assigned: Assignment | None,
    used: Used,
    answered: set[tuple[int, str | None]],
) -> tuple[Receipt, int, float]:
    unit, value, time, name, _, metric = event
    now = work.now
    at = now if time is None else time
    if assigned is None and work.delivery.audience is not None:
        return Receipt(False, "not enrolled", "the unit is not in the test"), -1, at
    if assigned is None:
        detail = f"unit {unit!r:.60} was never assigned"
        if unit == NOBODY:
            detail = f"no outcome with id {name!r:.60} came before: name the unit"
        return Receipt(False, "unknown unit", detail), -1, at
    number, arrived = assigned.number, assigned.time
    is_same, owner = used
    if is_same == (number, value):
        return Receipt(False, "duplicate", "it was counted before"), number, at
    if is_same is not None or owner not in (None, number):
        is_foreign = owner not in (None, number)
        detail = (
            "belongs to another unit" if is_foreign else "was recorded before with another value"
        )
        return Receipt(False, "id used before", f"id {name!r:.60} {detail}"), number, at
    if design is None:
        assert metric is not None
        return Receipt(False, "unknown metric", _no_metric(work.design, metric)), number, at
    fit = judge_value(design, value)
    if not fit.accepted:
        return fit, number, at
    if work.phase in ("over", "stopped"):
        detail = f"the experiment is {work.phase}: outcomes count no more"
        return Receipt(False, "over", detail), number, at
    if arrived - TOLERANCE < now < arrived:
        # The clocks of two machines may differ slightly.
        now = arrived
        at = now if time is None else time
    timely = _timely(work, design.measure, assigned, at, now)
    if not timely.accepted:
        return timely, number, at
    if design.measure is None and (number, metric) in answered:
        of = "" if metric is None else f" of {metric}"
        return Receipt(False, "second outcome", f"its unit already has an outcome{of}"), number, at
    return ACCEPTED, number, at


def _no_metric(design: Design, metric: str) -> str:
    names = ", ".join(metric.name for metric in design.metrics)
    known = f"it has {PRIMARY}, {names}" if names else "it has only the primary metric"
    return f"metric {metric!r:.60} is not in the design: {known}"


def _counted(state: ExperimentState, measure: Measure) -> int:
    """Return how many units have counted in a metric with this window."""
    wait = measure.matures(0.0)
    return max(
        (
            state.folding.folded,
            *(front.folded for front in state.folding.fronts if front.wait == wait),
        )
    )


def _timely(
    work: UnitOfWork, measure: Measure | None, assigned: Assignment, at: float, now: float
) -> Receipt:
    state = work.state
    if measure is None or measure.period is None:
        if measure is not None and assigned.number < _counted(state, measure):
            # A program whose clock is ahead may have counted the unit already.
            return Receipt(False, "late", "it came after its unit had counted")
        return judge_time(measure, at, assigned.time, now)
    timely = judge_time(None, at, assigned.time, now)
    assert state.enrolment.origin is not None
    stage = _stage(work, assigned, at)
    if timely.accepted and (
        stage <= state.progress or now >= due(measure, state.enrolment.origin, stage)
    ):
        return Receipt(False, "late", f"it came after its stage, {stage}, had counted")
    return timely
