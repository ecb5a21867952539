"""Assign units: return the arms they already have, or enrol them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

from bascule.core.covariates import Known, known_of
from bascule.core.enrolment.audience import WHY, Audience
from bascule.core.enrolment.targeting import Context, checked_context
from bascule.core.errors import InputError, invalid
from bascule.live.clock import TOLERANCE, moment
from bascule.live.control import ENROLLING, admission, for_next_block, places_left
from bascule.live.steps.assignment import place
from bascule.live.steps.serving import Evaluation, not_enrolled
from bascule.live.storage.names import is_erased
from bascule.live.storage.queries import Loaded
from bascule.live.storage.state import Control, Phase
from bascule.live.transactions.settle import is_settled, settle
from bascule.live.transactions.unit_of_work import UnitOfWork

Newcomer = tuple[str, Mapping[str, object] | None, Context | None]
"""A unit to assign: its name, its covariates and its context."""


def newcomer(
    unit: str, covariates: Mapping[str, object] | None, context: Context | None = None
) -> Newcomer:
    """Return a unit to assign, with checked copies of its covariates and its context."""
    if covariates is not None and not isinstance(covariates, Mapping):
        raise invalid(
            'covariates must be names with numbers, as in {"spend_before": 12.5} '
            f"(got {covariates!r:.60})",
        )
    known = None if covariates is None else dict(covariates)
    if context is None:
        return unit, known, None
    return unit, known, {"targetingKey": unit, **checked_context(context)}


def assign(work: UnitOfWork, items: Sequence[Newcomer]) -> list[Any]:
    """Return for each unit its `Evaluation`, or the error to raise.

    A unit that the test does not take has an evaluation too, in which `enrolled` is false.
    Covariates and contexts matter only for new units; those of a unit that has an arm are ignored.
    """
    units, covariates, contexts = zip(*items, strict=True)
    has_names = work.state.names.links or work.state.names.key
    names = work.identify(units) if has_names else None
    asked = units if names is None else [*map(names.__getitem__, units)]
    work.find_arms(asked)
    if not is_settled(work, work.now):
        settle(work)
    arms = work.arms
    new = [unit for unit, arm in arms.items() if arm is None]
    known: dict[str, Known] = {}
    refused: dict[str, InputError] = {}
    is_known = work.design.covariates is not None or covariates.count(None) < len(covariates)
    if new and is_known:
        known, refused = _with_covariates(work, asked, covariates)
    if refused:
        new = [unit for unit in new if unit not in refused]
    terms = work.state.control
    if new and (work.delivery.audience is not None or work.phase not in ENROLLING):
        new, terms, outside = _admitted(work, new, zip(asked, contexts, strict=True))
        refused |= outside
    problem = _enrol(work, new, known, terms) if new else None
    served = work.served
    if names is not None:
        # Arms are remembered under every name of a unit, except for erased units.
        known_by = [item for item in names.items() if not is_erased(item[1])]
        arms.update([(name, arms[identity]) for name, identity in known_by])
    return [
        served[arm]
        if (arm := arms[unit]) is not None
        else _outside(work, refused.get(unit, problem))
        for unit in asked
    ]


def _with_covariates(
    work: UnitOfWork, asked: Sequence[str], covariates: Sequence[Any]
) -> tuple[dict[str, Known], dict[str, InputError]]:
    """Return the covariates of new units, and the errors of units whose covariates are invalid."""
    known: dict[str, Known] = {}
    refused: dict[str, InputError] = {}
    declared = work.design.covariates or ()
    for unit, values in zip(asked, covariates, strict=True):
        if work.arms[unit] is not None or unit in known or unit in refused:
            continue
        try:
            known[unit] = known_of(declared, values)
        except InputError as error:
            refused[unit] = error
    return known, refused


def _admitted(
    work: UnitOfWork, new: Sequence[str], asked: Iterable[tuple[str, Context | None]]
) -> tuple[list[str], Control, dict[str, InputError]]:
    """Return the admitted units, the settings for new blocks, and the errors of refused units."""
    state, name, audience = work.state, work.before.name, work.delivery.audience
    terms = for_next_block(audience, bool(work.design.guardrails), state, work.now)
    places = places_left(work.phase, state), state.control.share
    among = frozenset(new)
    pairs = ((unit, context) for unit, context in asked if unit in among)
    admitted = admission(name, work.phase, audience or Audience(), places, terms.share, pairs)
    refused = {
        unit: _refusal(name, work.phase, reason) for unit, reason in admitted.refused.items()
    }
    return admitted.admitted, terms, refused


def _refusal(name: str, phase: Phase, reason: str) -> InputError:
    """Return the error that says why a unit is not admitted."""
    return not_enrolling(name, phase) if reason == "state" else InputError(reason, WHY[reason])


def outside_stopped(loaded: Loaded, unit: str, context: Context | None) -> Evaluation:
    """Return the evaluation of a unit without an arm in an experiment that was stopped."""
    audience, share = loaded.delivery.audience or Audience(), loaded.state.control.share
    asked = [(unit, context)]
    admitted = admission(loaded.name, "stopped", audience, (0, share), share, asked)
    problem = _refusal(loaded.name, "stopped", admitted.refused[unit])
    return not_enrolled(loaded.arms, loaded.design, loaded.phase, loaded.state, problem)


def _outside(work: UnitOfWork, problem: InputError | None) -> Evaluation | InputError:
    """Return the evaluation of a unit that is not in the test, or the error to raise."""
    assert problem is not None
    if problem.field == "covariates":
        return problem
    if problem.field == "clock" and all(shown.reason == "SPLIT" for shown in work.served):
        # A wrong clock is a fault of this machine, and says nothing about the test.
        return problem
    return not_enrolled(work.before.arms, work.design, work.phase, work.state, problem)


def _enrol(
    work: UnitOfWork, units: Sequence[str], known: Mapping[str, Known], terms: Control
) -> InputError | None:
    """Enrol as many of the new units as may be enrolled; return why not all were, or None.

    `terms` are the operators' settings (such as the share of the traffic) for a block that begins
    now; they are stored if one begins.
    """
    state, design = work.state, work.design
    latest = max(state.enrolment.latest, work.before.created)
    if work.now < latest - TOLERANCE:
        return _clock_behind(work.before.name, latest, work.now)
    # Enrolment times never decrease, so that units mature in the order in which they came.
    time = max(work.now, latest)
    deal = (
        work.deal(state.enrolment.deal)
        if state.enrolment.deal and state.ending.verdict is None
        else None
    )
    placed = place(design, state, deal, work.shuffle, len(units), time)
    if placed.dealt:
        work.add_blocks(state.enrolment.deal + 1, placed.dealt, placed.used)
    begins = bool(placed.dealt) or design.procedure.assigns != "blocks"
    work.state = placed.state._replace(control=terms) if begins else placed.state
    arms, numbers = placed.arms, range(state.units, placed.state.units)
    columns: list[Iterable[Any]] = [
        units,
        arms,
        numbers,
        placed.chances,
        repeat(time),
        placed.deals,
    ]
    if design.covariates is not None:
        stored = [known[unit] for unit in units[: len(arms)]]
        enrolment = work.state.enrolment._replace(
            lacking=state.enrolment.lacking + sum(row.missing > 0 for row in stored),
            beyond=state.enrolment.beyond + sum(row.beyond > 0 for row in stored),
        )
        work.state = work.state._replace(enrolment=enrolment)
        columns.append([row.text for row in stored])
    work.add_all("assignments", zip(repeat(work.before.id), *columns, strict=False))
    work.arms.update(zip(units, arms, strict=False))
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
        f"{name} takes no new units: its last one came, or it was created, at "
        f"{moment(latest):%Y-%m-%d %H:%M:%S} UTC, and the clock says "
        f"{moment(now):%Y-%m-%d %H:%M:%S}; set the clock right, or if the last unit's time is "
        "wrong, stop this experiment and create another",
        kind="conflict",
    )
