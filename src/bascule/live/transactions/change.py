"""Changes of an experiment by hand: each is checked, done, and put into the audit log."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.rules import UCB, Static, Tilt
from bascule.core.serialization import plain
from bascule.live.steps.folding import take_out
from bascule.live.steps.stages import begun
from bascule.live.storage.state import OPEN, State
from bascule.live.transactions.settle import decide, settle

if TYPE_CHECKING:
    from bascule.live.transactions.unit_of_work import Work


def move(work: Work, action: str, since: tuple[State, ...], to: State) -> None:
    """Start, pause or stop."""
    if work.state not in since:
        message = f"{work.before.name} is {work.state}: it cannot {action} now"
        raise InputError("state", message, kind="conflict")
    settle(work)
    if work.state in since:
        work.state = to
        if to == "running":
            work.standing = begun(work.design, work.standing, work.now)
        work.log(action)


def turn_knob(work: Work, knob: str, value: float) -> None:
    """Turn alpha or tilt."""
    rule = work.design.rule
    if not isinstance(rule, UCB if knob == "alpha" else Tilt):
        raise InputError(knob, f"{knob} is no knob of {rule.label}")
    _refuse_ended(work)
    work.design = with_knob(work.design, knob, value)
    told = {"before": getattr(rule, knob), "now": getattr(work.design.rule, knob)}
    # Where it happened, so that it can be replayed.
    work.log("knob", knob=knob, **plain(told), after=work.standing.progress)


def with_knob(design: Design, knob: str, value: float) -> Design:
    """The design with its knob turned; at an infinite alpha UCB is ETC'.

    >>> import bascule as bs
    >>> with_knob(bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3)), "tilt", 5).rule.tilt
    5.0
    """
    rule: Any = design.rule
    return replace(design, rule=replace(rule, **{knob: value}))


def drop_arm(work: Work, name: str) -> None:
    """Take an arm out of the test for good, from the next unit on."""
    _refuse_ended(work)
    _refuse_static(work)
    standing = work.standing
    if name in (work.design.arms[i] for i in standing.statistics.removed):
        raise InputError("arm", f"arm {name!r} was taken out before")
    deal = work.deal(standing.deal) if standing.deal else None
    work.standing, kept = take_out(work.design, standing, name, deal, work.now)
    # Where it happened, so that it can be replayed.
    place = {"after": standing.progress, "deal": standing.deal, "handed": standing.handed}
    work.log("drop arm", arm=name, **place)
    if kept is not None and kept is not deal:
        work.deal_again(kept)
    if work.standing.verdict is not None:
        decide(work)
    settle(work)


def pause_arm(work: Work, arm: str, paused: bool) -> None:
    """Give an arm no new units for a while, or units again."""
    _refuse_ended(work)
    _refuse_static(work)
    arms = work.design.arms
    if arm not in arms:
        raise InputError("arm", f"arm must be one of {', '.join(arms)} (got {arm!r})")
    if arms.index(arm) in work.standing.statistics.out:
        raise InputError("arm", f"arm {arm!r} is out of the test for good")
    before, this = set(work.standing.paused), {arms.index(arm)}
    now = before | this if paused else before - this
    if len(arms) - len(work.standing.statistics.out | now) < 2:
        raise InputError(
            "arm", f"arm {arm!r} cannot be paused: fewer than two would get units; pause the test"
        )
    if now != before:
        work.standing = work.standing._replace(paused=tuple(sorted(now)))
        work.log("pause arm" if paused else "resume arm", arm=arm)


def release(work: Work) -> None:
    """Give everyone the winner."""
    verdict = work.standing.verdict
    if verdict is None:
        yet = " yet" if work.state in OPEN else ""
        message = f"{work.before.name} has no decision{yet}: nothing to release"
        raise InputError("state", message, kind="conflict")
    if not work.standing.released:
        work.log("release", arm=verdict.name)
        work.standing = work.standing._replace(released=True)


def _refuse_static(work: Work) -> None:
    if isinstance(work.design.rule, Static):
        raise InputError(
            "arm", "everyone has an arm for good in a static population: stop the test instead"
        )


def _refuse_ended(work: Work) -> None:
    if work.state not in OPEN:
        message = f"{work.before.name} is {work.state}: it cannot be changed any more"
        raise InputError("state", message, kind="conflict")
