"""Decide when changes by operators take effect, and which units may enter. Pure functions.

The first arms of a block tell something about the remaining ones, so an operator who has seen the
first ones must not choose when the rest is filled. A pause, another share of the traffic and a step
of a ramp therefore wait until the open block is complete: the next units that arrive fill it, under
the terms on which it began. Knobs act when a block is dealt. A stop and a dropped arm act at once.

No block begins while the units of blocks that have not counted yet suffice to reach the horizon.
docs/research/operators.md has the proof and its limits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from bascule.core.design import Design
from bascule.core.enrolment.audience import Audience
from bascule.core.enrolment.targeting import Context
from bascule.core.position import HOLDING, position_of
from bascule.core.procedures.base import Block
from bascule.live.storage.state import Control, ExperimentState, Phase

ENROLLING: tuple[Phase, ...] = ("running", "decided")
FILLING: tuple[Phase, ...] = ("running", "paused")


def running_time(control: Control, now: float) -> float:
    """Return the seconds for which a test has been running, not counting its pauses.

    >>> running_time(Control(since=100.0, ran=50.0), 130.0)
    80.0
    """
    return control.ran + (0.0 if control.since is None else max(0.0, now - control.since))


def places_left(phase: Phase, state: ExperimentState) -> int:
    """Return how many more units the open block admits, 0 if it is no longer filled."""
    return state.enrolment.left if phase in FILLING and state.ending.verdict is None else 0


def for_next_block(
    audience: Audience | None, is_guarded: bool, state: ExperimentState, now: float
) -> Control:
    """Return the operators' settings with the share of the traffic for a block that begins now.

    A ramp follows the time for which the test has run. With guardrails, its next step waits until a
    unit enrolled since the previous step has counted: otherwise nothing would guard the step.
    """
    control = state.control
    if audience is None or not audience.ramp:
        return control._replace(share=1.0 if audience is None else audience.share)
    step, ramp = control.step, audience.ramp
    is_due = step + 1 < len(ramp) and float(ramp[step + 1][0]) <= running_time(control, now)
    if is_due and (step < 0 or not is_guarded or state.folding.folded > control.first):
        step += 1
        control = control._replace(step=step, first=state.units)
    return control._replace(share=ramp[step][1] if step >= 0 else 0.0)


def blocks_to_begin(design: Design, state: ExperimentState, block: Block, more: int = 0) -> float:
    """Return how many blocks like `block` may begin now, or infinity if there is no limit.

    `more` is the number of units that have been assigned an arm but are not part of `state` yet.
    """
    if not design.procedure.has_horizon:
        return math.inf
    calendar = None if state.ending.held is None else HOLDING
    position = position_of(design, state.latest_once, calendar)
    left = position.may_begin(state.pending + more, block, state.enrolment.under_way)
    return left if left == math.inf else max(0.0, math.ceil(left))


class Admission(NamedTuple):
    """The admitted units in order, and the reason why each of the other units is refused."""

    admitted: list[str]
    refused: dict[str, str]


def admission(
    test: str,
    phase: Phase,
    audience: Audience,
    places: tuple[int, float],
    share: float,
    asked: Iterable[tuple[str, Context | None]],
) -> Admission:
    """Return which new units are admitted: first to the open block, then to new blocks.

    `places` has the number of free places in the open block and its share of the traffic; `share`
    is the share for blocks that begin now.
    """
    left, open_share = places
    admitted: dict[str, None] = {}
    refused: dict[str, str] = {}
    for unit, context in asked:
        if unit in admitted:
            continue
        reason = audience.keeps_out(test, unit, context or {}, open_share if left else share)
        if reason is None and left == 0 and phase not in ENROLLING:
            reason = "state"
        if reason is None:
            admitted[unit] = None
            refused.pop(unit, None)
            left = max(0, left - 1)
        else:
            refused[unit] = reason
    return Admission([*admitted], refused)
