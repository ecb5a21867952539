"""The arms of units that a transaction brings: those that they have, or new ones for ever."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, repeat
from typing import TYPE_CHECKING, Any

from bascule.core.errors import InputError
from bascule.live.clock import TOLERANCE, moment
from bascule.live.steps.assignment import place
from bascule.live.steps.serving import Answer, Served, not_enrolled, served_arms
from bascule.live.transactions.settle import settle

if TYPE_CHECKING:
    from bascule.live.transactions.unit_of_work import UnitOfWork

ENROLLING = ("running", "decided")


def assign(work: UnitOfWork, units: Sequence[str]) -> list[Any]:
    """Return for each unit the number of its arm, an `Answer`, or the error of its call.

    A unit that the test does not take is answered all the same, and is not in the test.
    """
    work.find_arms(units)
    settle(work)
    arms = work.arms
    new = [unit for unit, arm in arms.items() if arm is None]
    problem = _enrol(work, new) if new else None
    served = served_arms(work.state)
    if problem is None and served is None:
        return [*map(arms.__getitem__, units)]
    return [_answer(work, arms[unit], problem, served) for unit in units]


def _answer(
    work: UnitOfWork, arm: int | None, problem: InputError | None, served: Served | None
) -> Any:
    if arm is not None:
        return arm if served is None else Answer(served.arms[arm], served.reasons[arm])
    assert problem is not None
    if problem.field == "clock" and served is None:
        # A clock that is wrong is an error of the machine: nothing is known about the test now.
        return problem
    return not_enrolled(work.design, work.phase, work.state, problem)


def _enrol(work: UnitOfWork, units: Sequence[str]) -> InputError | None:
    """Enrol new units as far as there is room; return why there was no more, or None."""
    state, design = work.state, work.design
    if work.phase not in ENROLLING:
        return not_enrolling(work.before.name, work.phase)
    if work.now < state.latest - TOLERANCE:
        return _clock_behind(work.before.name, state.latest, work.now)
    # Never backwards, so that units mature in the order in which they came.
    time = max(work.now, state.latest)
    deal = work.deal(state.deal) if state.deal and state.verdict is None else None
    placed = place(design, state, deal, work.shuffle, len(units), time)
    work.add_blocks(state.deal + 1, placed.dealt)
    numbers = count(state.units)
    columns = (units, placed.arms, numbers, placed.chances, repeat(time), placed.deals)
    work.add_all("assignments", zip(*columns, strict=False))
    work.arms.update(zip(units, placed.arms, strict=False))
    work.state = placed.state
    return placed.full


def not_enrolling(name: str, phase: str) -> InputError:
    """Return the error that says why an experiment takes no new units, and what to do."""
    remedy = {
        "ready": "start it first",
        "paused": "start it again",
        "over": "it has ended undecided",
        "stopped": "it was ended by hand",
    }.get(phase, "")
    message = f"{name} takes no new units, it is {phase}: {remedy}"
    return InputError("state", message, kind="conflict")


def _clock_behind(name: str, latest: float, now: float) -> InputError:
    return InputError(
        "clock",
        f"{name} takes no new units: its last one came at {moment(latest):%Y-%m-%d %H:%M:%S} UTC, "
        f"and the clock says {moment(now):%Y-%m-%d %H:%M:%S}; set the clock right, or if the "
        "last unit's time is wrong, stop this experiment and create another",
        kind="conflict",
    )
