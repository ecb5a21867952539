"""Manual changes of an experiment: check the change, make it, and add it to the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from bascule.core.enrolment.audience import Audience
from bascule.core.errors import InputError, invalid
from bascule.core.inputs.serialization import plain
from bascule.live.control import for_next_block, places_left, running_time
from bascule.live.steps.folding import announce, with_knob
from bascule.live.storage import records
from bascule.live.storage.state import OPEN, Phase
from bascule.live.transactions.erase import finish
from bascule.live.transactions.settle import decide, remove_arm, settle
from bascule.live.transactions.unit_of_work import UnitOfWork


def move(
    work: UnitOfWork,
    action: str,
    since: tuple[Phase, ...],
    to: Phase,
    detail: Mapping[str, str] = MappingProxyType({}),
) -> int:
    """Start, pause or stop an experiment; return how many more units the open block admits.

    `since` are the phases in which the action is allowed, and `to` is the phase after it.
    """
    if work.phase not in since:
        message = f"{work.before.name} is {work.phase}: it cannot {action} now"
        raise InputError("state", message, kind="conflict")
    settle(work)
    if work.phase in since:
        if to == "stopped" and work.state.ending.held is not None:
            # Stopping a test announces a decision that was reached but is still withheld.
            work.state = announce(work.design, work.state, work.now)
            decide(work)
        work.phase, state = to, work.state
        control = state.control._replace(since=None, ran=running_time(state.control, work.now))
        if to == "running":
            control = state.control._replace(since=work.now)
        work.state = state._replace(control=control)
        work.log(action, **detail)
        finish(work)
    return places_left(work.phase, work.state)


def stop(work: UnitOfWork, since: tuple[Phase, ...], to: str | None) -> None:
    """End an experiment by hand, and serve everyone the arm `to`, if it is given."""
    arms = work.design.arms
    if to is None:
        move(work, "stop", since, "stopped")
        return
    if to not in arms:
        raise invalid(f"to must be one of {', '.join(arms)} (got {to!r})")
    if work.phase == "stopped":
        # The test may already be stopped, for example by a first call without an arm.
        work.log("stop", to=to)
    else:
        move(work, "stop", since, "stopped", {"to": to})
    control = work.state.control._replace(everyone=arms.index(to), released=False)
    work.state = work.state._replace(control=control)


def turn_knob(work: UnitOfWork, knob: str, value: float) -> None:
    """Set the knob of the design's rule, given by its name, to a value from now on."""
    before = work.design.rule.knob
    after = with_knob(work.design, knob, value)
    _refuse_ended(work)
    work.design = after
    now = after.rule.knob
    assert before is not None
    assert now is not None
    values = {"before": before.value, "now": now.value}
    # The progress is logged so that a replay makes the change at the same point.
    work.log("knob", knob=knob, **plain(values), after=work.state.progress)


def set_share(work: UnitOfWork, share: float) -> int:
    """Set the share of the traffic to admit, from the next block on; this ends a ramp.

    Return how many places of the open block are left: the next units fill these at the previous
    share.
    """
    _refuse_ended(work)
    before = work.delivery.audience or Audience()
    after = before.with_share(share)
    now = for_next_block(before, bool(work.design.guardrails), work.state, work.now).share
    work.delivery = work.delivery._replace(audience=after)
    work.log("share", before=now, now=after.share)
    return places_left(work.phase, work.state)


def drop_arm(work: UnitOfWork, name: str, to: str | None = None) -> None:
    """Drop an arm from the test for good; its users are served the arm `to`, or the control."""
    _refuse_ended(work)
    state = work.state
    if name in (work.design.arms[i] for i in state.statistics.removed):
        raise invalid(f"arm {name!r} was dropped before: name an active arm")
    if work.design.guardrails and name == work.design.control_arm:
        raise invalid(
            f"arm {name!r} is the control, with which guardrails compare every other arm: stop the "
            "test instead",
        )
    remove_arm(work, name, "drop arm", to)
    if work.state.ending.verdict is not None:
        decide(work)
    settle(work)


def describe(work: UnitOfWork, description: str) -> None:
    """Replace the description of an experiment."""
    if description != records.description_of(work.connection, work.before.id):
        records.describe(work.connection, work.before.id, description)
        work.log("describe", description=description)


def release(work: UnitOfWork) -> None:
    """Serve the winner, or the control if no arm has won, to everyone from now on."""
    verdict = work.state.ending.verdict
    if verdict is None:
        yet = " yet" if work.phase in OPEN else ""
        message = f"{work.before.name} has no decision{yet}: nothing to release"
        if work.state.ending.held is not None:
            message = f"the decision of {work.before.name} is withheld: wait, or stop the test"
        raise InputError("state", message, kind="conflict")
    if not work.state.control.released:
        work.log("release", arm=verdict.name)
        control = work.state.control._replace(released=True)
        work.state = work.state._replace(control=control)


def _refuse_ended(work: UnitOfWork) -> None:
    if work.phase not in OPEN:
        message = f"{work.before.name} is {work.phase}: it cannot be changed any more"
        raise InputError("state", message, kind="conflict")
