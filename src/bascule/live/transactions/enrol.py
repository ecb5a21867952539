"""The arms of units that a transaction brings: those that they have, or new ones for ever."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count, repeat
from typing import TYPE_CHECKING, Any, cast

from bascule.core.covariates.model import Known, known_of
from bascule.core.errors import InputError
from bascule.live.clock import TOLERANCE, moment
from bascule.live.steps.assignment import place
from bascule.live.steps.serving import Answer, Served, not_enrolled, served_arms
from bascule.live.transactions.settle import settle

if TYPE_CHECKING:
    from bascule.live.transactions.unit_of_work import UnitOfWork

ENROLLING = ("running", "decided")


Newcomer = str | tuple[str, Mapping[str, object]]
"""A unit to assign, alone or with what is known of it."""


def assign(work: UnitOfWork, items: Sequence[Newcomer]) -> list[Any]:
    """Return for each unit the number of its arm, an `Answer`, or the error of its call.

    A unit that the test does not take is answered all the same, and is not in the test. Covariates
    count where the unit is new; those of a unit that has an arm are not looked at.
    """
    known: dict[str, Known] = {}
    invalid: dict[str, InputError] = {}
    units = cast("Sequence[str]", items)
    if work.design.covariates is not None or any(type(item) is tuple for item in items):
        units, known, invalid = _with_covariates(work, items)
    work.find_arms(units)
    settle(work)
    arms = work.arms
    new = [unit for unit, arm in arms.items() if arm is None and unit not in invalid]
    problem = _enrol(work, new, known) if new else None
    served = served_arms(work.state)
    if problem is None and served is None and not invalid:
        return [*map(arms.__getitem__, units)]
    return [_answer(work, arms[unit], invalid.get(unit) or problem, served) for unit in units]


def _with_covariates(
    work: UnitOfWork, items: Sequence[Newcomer]
) -> tuple[list[str], dict[str, Known], dict[str, InputError]]:
    """Return the names of the units, their covariates, and the errors of those that have none."""
    units: list[str] = []
    known: dict[str, Known] = {}
    invalid: dict[str, InputError] = {}
    for item in items:
        unit, given = (item, None) if isinstance(item, str) else item
        units.append(unit)
        if unit in known or unit in invalid:
            continue
        try:
            known[unit] = known_of(work.design.covariates or (), given)
        except InputError as error:
            invalid[unit] = error
    return units, known, invalid


def _answer(
    work: UnitOfWork, arm: int | None, problem: InputError | None, served: Served | None
) -> Any:
    if arm is not None:
        return arm if served is None else Answer(served.arms[arm], served.reasons[arm])
    assert problem is not None
    if problem.field == "covariates" or (problem.field == "clock" and served is None):
        # A clock that is wrong is an error of the machine: nothing is known about the test now.
        return problem
    return not_enrolled(work.design, work.phase, work.state, problem)


def _enrol(work: UnitOfWork, units: Sequence[str], known: Mapping[str, Known]) -> InputError | None:
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
    texts: Iterable[str | None] = repeat(None)
    work.state = placed.state
    if design.covariates is not None:
        found = [known[unit] for unit in units[: len(placed.arms)]]
        texts = [f"[{','.join(map(repr, one.values))}]" for one in found]
        lacking = state.lacking + sum(one.missing > 0 for one in found)
        beyond = state.beyond + sum(one.beyond > 0 for one in found)
        work.state = work.state._replace(lacking=lacking, beyond=beyond)
    columns = (units, placed.arms, numbers, placed.chances, repeat(time), placed.deals, texts)
    work.add_all("assignments", zip(*columns, strict=False))
    work.arms.update(zip(units, placed.arms, strict=False))
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
