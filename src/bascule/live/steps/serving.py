"""The arm to serve to a unit: its own, another one after a manual change, or the control.

The arm that a unit was assigned never changes, and its outcomes count for that arm. The arm that it
is served does change: after a release, after a stop with an arm for everyone, and when its arm was
dropped. A unit that is not in the test is served the winner, the leader or the control. Pure
functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from bascule.core.design import Design
from bascule.core.enrolment.audience import WHY
from bascule.core.errors import InputError, invalid
from bascule.core.progress import next_block
from bascule.live.storage.state import ArmValues, ExperimentState, Phase

ServedReason = Literal["SPLIT", "STATIC", "DISABLED", "DEFAULT"]
"""Reasons why a unit is served an arm, as defined by OpenFeature.

`SPLIT`: the unit is in the test. `STATIC`: everyone or every new unit gets this arm now, or the
unit's own arm was dropped. `DISABLED`: the test takes no new units. `DEFAULT`: the unit does not
belong to the audience.
"""


ENROLMENT = "enrolment"
"""Reason to refuse a unit: the units that have not counted yet may suffice for a decision."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The arm to serve to a unit, the OpenFeature reason, and whether the unit is enrolled."""

    arm: str
    """Name of the arm to serve."""
    value: Any
    """Value of the arm for programs; its name unless values were given."""
    reason: ServedReason
    """"SPLIT" if the unit gets an arm of its own, which after a decision is the winner; "STATIC" if
    everyone gets this arm or the unit's own arm was dropped; "DISABLED" if the test takes no new
    units; "DEFAULT" if the audience excludes the unit."""
    enrolled: bool
    """Whether the unit is in the test; units that come after the decision are, and do not count."""
    why: str = ""
    """What keeps the unit out of the test: "state", "max_units", "enrolment", "share", "layer",
    "holdout", "where" or "clock"; empty if it is enrolled."""
    detail: str = ""
    """Explanation of `why`."""


Served = tuple[Evaluation, ...]
"""The evaluation for the units of each arm, in the order of the arms."""


def served_arms(arms: ArmValues, state: ExperimentState) -> Served:
    """Return the evaluation for the units of each arm: their own arm, or another after a change.

    >>> import bascule as bs
    >>> from bascule.live.storage.state import Control
    >>> start = ExperimentState.empty(bs.Design(["a", "b", "c"], bs.Bernoulli(), bs.Tilt(3)))
    >>> moved, names = start._replace(control=Control(moved=((1, 0),))), ("a", "b", "c")
    >>> [evaluation.arm for evaluation in served_arms(ArmValues(names, names), moved)]
    ['a', 'a', 'c']
    """
    numbers, everyone = range(len(arms.names)), everyones_arm(state)
    moved = dict(state.control.moved) if everyone is None else dict.fromkeys(numbers, everyone)
    return tuple(
        _evaluation(arms, moved.get(arm, arm), "STATIC" if arm in moved else "SPLIT")
        for arm in numbers
    )


def _evaluation(
    arms: ArmValues, arm: int, reason: ServedReason, problem: InputError | None = None
) -> Evaluation:
    """Return the evaluation of a unit that is served an arm; one with a problem is not enrolled."""
    shown = arms.names[arm], arms.values[arm], reason
    if problem is None:
        return Evaluation(*shown, enrolled=True)
    return Evaluation(*shown, False, problem.field, str(problem))


def everyones_arm(state: ExperimentState) -> int | None:
    """Return the arm that everyone gets after a release or a stop with an arm, or None."""
    return shipped(state) if state.control.released else state.control.everyone


def shipped(state: ExperimentState) -> int:
    """Return the arm that new units get after the decision: the winner, or else the control.

    If the control is out, it is the first active arm.
    """
    assert state.ending.verdict is not None
    if state.ending.verdict.arm is not None:
        return state.ending.verdict.arm
    if state.ending.verdict.keep is not None:
        return state.ending.verdict.keep
    out = state.statistics.out
    return next(arm for arm in range(len(state.enrolment.assigned)) if arm not in out)


def not_enrolled(
    arms: ArmValues, design: Design, phase: Phase, state: ExperimentState, problem: InputError
) -> Evaluation:
    """Return the evaluation of a unit that is not in the test.

    The unit is served the arm for everyone if there is one, else the winner, the leader (while
    enrolment is complete, by `overflow`) or the control. Units that the audience excludes get
    neither the winner nor the leader. Those that a targeting rule or a holdout excludes always get
    the control.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), control="b")
    >>> arms, problem = ArmValues(("a", "b"), (False, True)), InputError("state", "it is paused")
    >>> not_enrolled(arms, design, "paused", ExperimentState.empty(design), problem)
    Evaluation(arm='b', value=True, reason='DISABLED', enrolled=False, why='state', \
detail='it is paused')
    """
    everyone, arm = everyones_arm(state), control_of(design, state)
    reason: ServedReason = "DISABLED"
    if problem.field in ("where", "holdout"):
        # Units that do not belong to the audience do not get the winner, which was found for
        # others.
        reason = "DEFAULT"
    elif everyone is not None:
        arm, reason = everyone, "STATIC"
    elif problem.field in WHY:
        reason = "DEFAULT"
    elif state.ending.verdict is not None and phase in ("decided", "stopped"):
        arm, reason = shipped(state), "STATIC"
    elif problem.field == ENROLMENT and design.overflow == "leader":
        arm = leader_of(design, state)
    return _evaluation(arms, arm, reason, problem)


def leader_of(design: Design, state: ExperimentState) -> int:
    """Return the leading arm among those that get units, or the control before any unit counted."""
    if not state.folding.folded:
        return control_of(design, state)
    return next_block(design, state.once).leader


def control_of(design: Design, state: ExperimentState) -> int:
    """Return the control, or the arm that replaced it when it was dropped."""
    arm = design.arms.index(design.control_arm)
    return dict(state.control.moved).get(arm, arm)


def moved_to(design: Design, state: ExperimentState, name: str, to: str | None) -> int:
    """Return the arm to serve to the users of a dropped arm: `to`, or else the control.

    If the control itself is dropped, this is the first arm that is left.
    """
    dropped = design.arms.index(name)
    gone = state.statistics.removed | {dropped}
    if to is None:
        control = control_of(design, state)
        left = (arm for arm in range(len(design.arms)) if arm not in gone)
        return control if control not in gone else next(left)
    if to not in design.arms or design.arms.index(to) in gone:
        left_names = [arm for i, arm in enumerate(design.arms) if i not in gone]
        raise invalid(
            f"to must be one of the arms that are left, {', '.join(left_names)} (got {to!r})"
        )
    return design.arms.index(to)
