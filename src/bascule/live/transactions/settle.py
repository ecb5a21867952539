"""Add units with complete outcomes to the statistics, in limited batches; decide or end a test."""

from __future__ import annotations

from dataclasses import asdict
from itertools import takewhile
from typing import Any

from bascule.core.course import is_past
from bascule.core.design import Design
from bascule.core.ending import cap_met
from bascule.core.metrics.measure import Measure
from bascule.core.outcomes import Value
from bascule.live.steps import stages
from bascule.live.steps.folding import (
    announce,
    due_announcement,
    due_removals,
    fold_ahead_unit,
    fold_unit,
    plan_ends,
    take_out,
    with_front,
    withheld_until,
)
from bascule.live.steps.maturity import Event, Receipt, matured, outcomes_of, with_delay
from bascule.live.steps.serving import moved_to
from bascule.live.storage.queries import Loaded, Rows
from bascule.live.storage.state import OPEN, Assignment, ExperimentState
from bascule.live.storage.state_json import statistics_to_json
from bascule.live.transactions.erase import finish
from bascule.live.transactions.unit_of_work import UnitOfWork

FOLDED_AT_ONCE = 2000
"""Maximum number of units that one transaction adds to the statistics, so that it ends soon."""

FOLDED_AT_FIRST = 32
"""Number of units in the first batch to read: if outcomes come one by one, few are ready."""

STAGES_AT_ONCE = 20
"""Maximum number of stages that one transaction closes."""

POINT_EVERY = 1.02
"""Minimum factor by which the progress of an open test grows between points of its history."""


def settle(work: UnitOfWork, limit: int = FOLDED_AT_ONCE) -> bool:
    """Count units with complete outcomes, then decide or end the test if that is due.

    Return whether more units may be ready. At most `limit` units count in the primary metric, and
    as many in each group of metrics with a shorter window.
    """
    if work.phase not in OPEN and not is_measured_on(work):
        return False
    work.write("outcomes")
    staged = work.design.procedure.counts == "stages"
    is_more = _close_stages(work, _matured_by(work)) if staged else _fold(work, limit)
    for place in range(len(work.state.folding.fronts)):
        is_more = _fold_front(work, place, _matured_by(work), limit) or is_more
    until = due_announcement(work.design, work.state)
    if not is_more and until <= work.now:
        work.state = announce(work.design, work.state, until)
    if work.phase == "decided":
        pass
    elif work.state.ending.verdict is not None:
        decide(work)
    elif work.state.ending.held is None and not is_more and _has_ended(work):
        work.phase = "over"
        work.log("end", after=work.state.progress)
    _add_to_history(work)
    if work.state.names.erasing:
        finish(work)
    return is_more and (work.state.ending.verdict is None or is_measured_on(work))


def is_measured_on(test: Loaded | UnitOfWork) -> bool:
    """Return whether a test has decided and still measures the units that were enrolled."""
    if test.phase != "decided" or not test.design.measure_on:
        return False
    return test.state.folding.folded < sum(test.state.ending.enrolled)


def _matured_by(work: UnitOfWork) -> float:
    """Return the time up to which units must have matured to be counted now."""
    if work.phase not in OPEN:
        return work.now
    deadline = work.design.deadline
    end = work.now if deadline is None else min(work.now, deadline.timestamp())
    # Units that mature after the announcement must not be in the announced statistics.
    return min(end, due_announcement(work.design, work.state))


def is_settled(test: Loaded | UnitOfWork, now: float) -> bool:
    """Return whether no unit can be counted and no step is due, so that no transaction is needed.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2))
    >>> start = ExperimentState.empty(design)
    >>> is_settled(Loaded(1, "button", 0.0, design, "running", start, 0), 0.0)
    True
    """
    design, state = test.design, test.state
    measure, due = design.measure, state.folding.due
    if test.phase not in OPEN:
        return not is_measured_on(test) or (due is not None and due > now)
    held = state.ending.held
    if held is not None and withheld_until(design, state, held.time) <= now:
        return False
    if design.deadline is not None and is_past(design.deadline, now):
        return False
    if design.procedure.counts == "stages":
        assert measure is not None
        origin = state.enrolment.origin
        return origin is None or stages.due(measure, origin, state.progress + 1) > now
    pending = (front for front in state.folding.fronts if front.folded < state.units)
    if any(front.due is None or front.due <= now for front in pending):
        return False
    if measure is None or state.pending <= 0:
        return not state.folding.backlog
    return due is not None and due > now


def decide(work: UnitOfWork) -> None:
    """End the test with the decision that the statistics have reached."""
    verdict = work.state.ending.verdict
    assert verdict is not None
    work.phase = "decided"
    work.log("decide", **asdict(verdict))
    ending = work.state.ending._replace(enrolled=work.state.enrolment.assigned)
    work.state = work.state._replace(ending=ending)
    if verdict.by == "guardrails" and not work.state.control.released:
        # No unit stays in a harmful arm, and a rollout ends with the new version for everyone.
        work.state = work.state._replace(control=work.state.control._replace(released=True))
        work.log("release", arm=verdict.name, automatic=True)


def _fold(work: UnitOfWork, limit: int) -> bool:
    """Count at most `limit` units, in growing batches; return whether more may be ready."""
    left, size = limit, FOLDED_AT_FIRST
    while left > 0 and _may_fold(work, _matured_by(work)):
        held = work.state.ending.held
        size = min(size, left, _countable(work) - work.state.folding.folded)
        is_done = not _fold_some(work, _matured_by(work), size)
        if is_done and (work.state.ending.held is held or work.state.ending.verdict is not None):
            return False
        left -= size
        size *= 4
    return left <= 0


def _countable(work: UnitOfWork) -> int:
    """Return how many units may count; after the decision, only those enrolled before it."""
    return sum(work.state.ending.enrolled) if work.phase == "decided" else work.state.units


def _may_fold(work: UnitOfWork, end: float) -> bool:
    state, measure = work.state, work.design.measure
    if state.folding.folded >= _countable(work):
        return False
    if measure is None:
        # Units are counted in order, so the first one that waits must have its outcome.
        return state.folding.backlog or state.folding.folded in work.news
    return state.folding.due is None or state.folding.due <= end


def _fold_some(work: UnitOfWork, end: float, size: int) -> bool:
    """Count at most `size` units; return whether to go on with the units after them.

    The next units wait if a unit is not ready, or if the test has reached a decision or an end.
    """
    design = work.design
    measure = design.measure
    work.write("assignments")
    first = work.state.folding.folded
    rows = work.rows.assigned_from(first, size)
    ready = rows
    if measure is not None:
        ready = [*takewhile(lambda row: (design.matures(row.time) or 0.0) <= end, rows)]
    last = first + len(ready) - 1
    events = work.rows.events_of(first, last)
    heard: dict[int, float] = {}
    if design.procedure.uses_signals:
        heard = work.rows.first_events([row.number for row in ready])
    work.read_deals([row.deal for row in ready if row.deal is not None])
    ahead = {number for front in work.state.folding.fronts for number in front.metrics}
    for row in ready:
        outcomes = events.get(row.number, {})
        if measure is None and len(outcomes) < 1 + len(design.metrics):
            work.state = _with_backlog(work.state, False)
            return False
        unit = matured(design, row.arm, outcomes, row.known, ahead)
        for which, value, reason in unit.clipped:
            _list_clipped(work, row, which, value, reason)
        deal = work.deal(row.deal) if row.deal is not None else None
        count = sum(map(len, outcomes.values()))
        counts = work.state.counts._replace(events=work.state.counts.events + count)
        work.state = work.state._replace(counts=counts)
        if row.number in heard:
            span = row.time, heard[row.number]
            work.state = with_delay(design, work.state, row.arm, *span)
        had_no_final, before = work.state.ending.final is None, work.state.statistics
        held = work.state.ending.held
        time = fold_time(design, row.time, work.now)
        work.state = fold_unit(design, work.state, deal, unit, time)
        _remove_harmful(work)
        ending = work.state.ending
        is_new = had_no_final or ending.held is not held
        if is_new and (ending.verdict is not None or ending.held is not None):
            work.state = _with_backlog(work.state, ending.held is not None)
            return False
        if work.state.statistics is not before:
            work.counted = time
            if plan_ends(design, work.state, time):
                return False
    folding, is_more = work.state.folding, len(ready) == size
    if measure is not None and len(ready) < len(rows):
        folding = folding._replace(due=design.matures(rows[len(ready)].time))
    work.state = work.state._replace(folding=folding)
    work.state = _with_backlog(work.state, is_more and work.state.pending > 0)
    return is_more


def _with_backlog(state: ExperimentState, backlog: bool) -> ExperimentState:
    return state._replace(folding=state.folding._replace(backlog=backlog))


def fold_time(design: Design, arrived: float, now: float) -> float:
    """Return when a unit counts: when it matures if the design has a calendar, otherwise now."""
    matures = design.matures(arrived) if design.withholds else None
    return now if matures is None else matures


def _fold_front(work: UnitOfWork, place: int, end: float, limit: int) -> bool:
    """Count at most `limit` units in metrics with a shorter window; return whether more are ready.

    `place` is the index of these metrics' entry in `fronts`.
    """
    design, state, front = work.design, work.state, work.state.folding.fronts[place]
    is_due = front.due is None or front.due <= end
    if state.ending.verdict is not None or front.folded >= state.units or not is_due:
        return False
    work.write("assignments")
    rows = work.rows.assigned_from(front.folded, limit)
    ready = [*takewhile(lambda row: row.time + front.wait <= end, rows)]
    events = work.rows.events_of(front.folded, front.folded + len(ready) - 1)
    work.read_deals([row.deal for row in ready if row.deal is not None])
    for row in ready:
        assert row.deal is not None
        outcomes = outcomes_of(design, front.metrics, events.get(row.number, {}))
        for number, (value, reason) in zip(front.metrics, outcomes, strict=True):
            if value is not None and reason:
                _list_clipped(work, row, 1 + number, value, reason)
        values = [value for value, _ in outcomes]
        deal = work.deal(row.deal)
        work.state = fold_ahead_unit(design, work.state, place, deal, row.arm, values, work.now)
        _remove_harmful(work)
        if work.state.ending.verdict is not None:
            return False
    due = rows[len(ready)].time + front.wait if len(ready) < len(rows) else None
    work.state = with_front(work.state, place, work.state.folding.fronts[place]._replace(due=due))
    return len(ready) == limit


def _list_clipped(
    work: UnitOfWork, row: Assignment, number: int, value: Value, reason: str
) -> None:
    """Count and list a capped outcome.

    `number` is 0 for the primary metric, and 1 more than the index in the design for the others.
    """
    metric = work.design.metrics[number - 1].name if number else None
    work.exclude(Event(row.unit, value, metric=metric), Receipt(True, "clipped", reason))
    counts = work.state.counts
    arms = (0,) * len(work.design.arms)
    before = counts.clipped or (arms,) * (1 + len(work.design.metrics))
    listed = [[*entry] for entry in before]
    listed[number][row.arm] += 1
    work.state = work.state._replace(counts=counts._replace(clipped=tuple(map(tuple, listed))))


def _remove_harmful(work: UnitOfWork) -> None:
    """Remove the arms that guardrails find harmful, as long as at least three arms are left.

    If every treatment is harmful, the test is decided for the control.
    """
    design = work.design
    while harmful := due_removals(design, work.state):
        for arm, which in harmful.items():
            metrics = [design.metrics[k].name for k in which]
            remove_arm(work, design.arms[arm], "harm", None, metrics=metrics)


def remove_arm(work: UnitOfWork, name: str, action: str, to: str | None, **detail: Any) -> None:
    """Remove an arm from the test, serve its users another arm, and add this to the audit log.

    Its users are served the arm `to`, or the control if `to` is None. The audit log has `action`
    and `detail`.
    """
    state = work.state
    deal = work.deal(state.enrolment.deal) if state.enrolment.deal else None
    after, kept = take_out(work.design, state, name, deal, work.now)
    served = moved_to(work.design, state, name, to)
    dropped = work.design.arms.index(name)
    moved = [
        (arm, served if arm_served == dropped else arm_served)
        for arm, arm_served in state.control.moved
    ]
    control = after.control._replace(moved=(*moved, (dropped, served)))
    work.state = after._replace(control=control)
    # The progress is logged so that a replay removes the arm at the same point.
    place = {
        "after": state.progress,
        "deal": state.enrolment.deal,
        "handed": state.enrolment.handed,
    }
    work.log(action, arm=name, to=work.design.arms[served], **detail, **place)
    if kept is not None and kept is not deal:
        work.deal_again(kept)


def _close_stages(work: UnitOfWork, end: float) -> bool:
    """Close a few stages whose outcomes are complete; return whether there may be more."""
    measure = work.design.measure
    assert measure is not None
    for _ in range(STAGES_AT_ONCE):
        origin, stage = work.state.enrolment.origin, work.state.progress + 1
        if origin is None or work.state.ending.verdict is not None:
            return False
        if stages.due(measure, origin, stage) > end:
            return False
        work.write("assignments")
        work.state = stages.closed(
            work.design,
            work.state,
            read_stage(work.rows, measure, work.state, stage),
            work.now,
        )
    return True


def read_stage(rows: Rows, measure: Measure, state: ExperimentState, stage: int) -> stages.Sums:
    """Return the sums of the events that count at the end of a stage."""
    assert state.enrolment.origin is not None
    events = rows.events_of_stage(stage)
    return stages.sums_of(measure, state.enrolment.origin, stage, events)


def _has_ended(work: UnitOfWork) -> bool:
    deadline = work.design.deadline
    if deadline is not None and is_past(deadline, work.now):
        return True
    # Futility is judged when a batch has counted, as in a simulation, and not as time passes.
    if plan_ends(work.design, work.state, work.counted):
        return True
    # A batch that has begun is filled before the cap on units ends a test.
    waits = work.state.pending > 0 or work.state.enrolment.left > 0
    if waits or work.design.max_units is None:
        return False
    counted = work.state.statistics.units == work.state.units
    return counted and cap_met(work.design, work.state.statistics)


def _add_to_history(work: UnitOfWork) -> None:
    progress = work.state.progress
    due = POINT_EVERY * work.state.folding.shown if work.phase in OPEN else 0
    if progress > work.state.folding.shown and progress >= due:
        kept = statistics_to_json(work.state.latest_statistics)
        work.add("history", progress, work.now, kept)
        work.state = work.state._replace(folding=work.state.folding._replace(shown=progress))
