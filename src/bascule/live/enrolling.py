"""The arms of units that a transaction brings: those that they have, or new ones for ever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bascule.core.errors import InputError
from bascule.live.assignment import place, shipped
from bascule.live.ledger import Assignment
from bascule.live.settling import settle
from bascule.live.standing import deal_to_json

if TYPE_CHECKING:
    from bascule.live.work import Work

ENROLLING = ("running", "decided")


def assign(work: Work, units: Sequence[str]) -> list[Assignment | InputError]:
    """An arm for each unit, or why it gets none; equal units get the same."""
    work.look_up(units)
    settle(work)
    known = work.known
    new = [unit for unit in dict.fromkeys(units) if known[unit] is None]
    problem = _enrol(work, new) if new else None
    answers: list[Assignment | InputError] = []
    for unit in units:
        found = known[unit]
        if found is None:
            assert problem is not None
            answers.append(problem)
        else:
            answers.append(_released(work, found))
    return answers


def _released(work: Work, assigned: Assignment) -> Assignment:
    if not work.standing.released:
        return assigned
    return assigned._replace(arm=shipped(work.standing), probability=1.0)


def _enrol(work: Work, units: Sequence[str]) -> InputError | None:
    """Places for new units, as far as there are any; and why there were no more."""
    standing, design = work.standing, work.design
    if work.state not in ENROLLING and standing.verdict is None:
        return not_enrolling(work.before.name, work.state)
    # Never backwards, so that units mature in the order in which they came.
    time = max(work.now, standing.latest)
    deal = work.deal(standing.deal) if standing.deal and standing.verdict is None else None
    placed = place(design, standing, deal, work.shuffle, len(units), time)
    for dealt in placed.deals:
        work.deals[dealt.number] = dealt
        work.add("blocks", dealt.number, deal_to_json(dealt))
    made = [
        Assignment(unit, arm, number, probability, time, block)
        for number, (unit, (arm, probability, block)) in enumerate(
            zip(units, placed.places, strict=False), standing.units
        )
    ]
    work.known.update(zip(units, made, strict=False))
    work.add_all("assignments", made)
    work.standing = placed.standing
    return placed.full


def not_enrolling(name: str, state: str) -> InputError:
    """Why an experiment takes no new units, and what to do."""
    remedy = {
        "ready": "start it first",
        "paused": "start it again",
        "over": "it has ended undecided",
        "stopped": "it was ended by hand",
    }.get(state, "")
    return InputError("state", f"{name} takes no new units, it is {state}: {remedy}")
