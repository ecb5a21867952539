"""The arms of units that a transaction brings: those that they have, or new ones for ever."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, repeat
from typing import TYPE_CHECKING, Any

from bascule.core.errors import InputError
from bascule.live.steps.assignment import place, shipped
from bascule.live.transactions.settle import settle

if TYPE_CHECKING:
    from bascule.live.transactions.unit_of_work import Work

ENROLLING = ("running", "decided")


def assign(work: Work, units: Sequence[str]) -> list[Any]:
    """An arm for each unit, or why it gets none; equal units get the same."""
    work.find_arms(units)
    settle(work)
    arms = work.arms
    new = [unit for unit, arm in arms.items() if arm is None]
    problem = _enrol(work, new) if new else None
    if problem is None and not work.standing.released:
        return [*map(arms.__getitem__, units)]
    released = shipped(work.standing) if work.standing.released else None
    return [_answer(arms[unit], problem, released) for unit in units]


def _answer(arm: int | None, problem: InputError | None, released: int | None) -> Any:
    if arm is None:
        return problem
    return arm if released is None else released


def _enrol(work: Work, units: Sequence[str]) -> InputError | None:
    """Places for new units, as far as there are any; and why there were no more."""
    standing, design = work.standing, work.design
    if work.state not in ENROLLING and standing.verdict is None:
        return not_enrolling(work.before.name, work.state)
    # Never backwards, so that units mature in the order in which they came.
    time = max(work.now, standing.latest)
    deal = work.deal(standing.deal) if standing.deal and standing.verdict is None else None
    placed = place(design, standing, deal, work.shuffle, len(units), time)
    work.add_blocks(standing.deal + 1, placed.dealt)
    numbers = count(standing.units)
    columns = (units, placed.arms, numbers, placed.chances, repeat(time), placed.deals)
    work.add_all("assignments", zip(*columns, strict=False))
    work.arms.update(zip(units, placed.arms, strict=False))
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
    message = f"{name} takes no new units, it is {state}: {remedy}"
    return InputError("state", message, kind="conflict")
