"""Replay a test from its log: units, stages and manual changes, in the order of counting.

`verify` replays a stored test with the functions of the live test itself. Pure functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from bascule.core.design import Design
from bascule.live.steps.folding import (
    announce,
    due_removals,
    fold_unit,
    plan_ends,
    take_out,
    with_knob,
)
from bascule.live.steps.maturity import Matured, with_event
from bascule.live.steps.stages import Sums, closed, joined
from bascule.live.storage.deals import Deal, with_blocks
from bascule.live.storage.state import ExperimentState


class ManualChange(NamedTuple):
    """A change of a knob or a removal of an arm, and the progress of the test at that time.

    `after` is the progress: the number of counted units or closed stages. A knob is turned from
    `before` to `now`. If an arm is removed, `deal` is the last block that was dealt by then,
    `handed` is how many of its slots were handed out, and `by_harm` says whether a guardrail
    removed the arm.
    """

    after: int
    knob: str = ""
    before: float = 0.0
    now: float = 0.0
    arm: str = ""
    deal: int = 0
    handed: int = 0
    by_harm: bool = False


@dataclass(frozen=True, slots=True)
class Replay:
    """A test replayed up to some point: the state, and the design with its knob at that point.

    `deal_of` returns a block by its number, `changes` are the changes still to come, `struck` has
    the blocks that lost an arm, and `faults` says where the test did not follow its own rule: a
    harmful arm not removed, an arm removed without harm, or a missed end.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2))
    >>> Replay.start(design, {}.__getitem__).fold(Matured(1, 0.5), None).state.statistics.units
    1
    """

    design: Design
    state: ExperimentState
    deal_of: Callable[[int], Deal]
    changes: Sequence[ManualChange]
    struck: Mapping[int, Deal]
    faults: tuple[str, ...] = ()

    @classmethod
    def start(
        cls,
        design: Design,
        deal_of: Callable[[int], Deal],
        changes: Sequence[ManualChange] = (),
        origin: float | None = None,
    ) -> Replay:
        """Return a replay before the first unit of a test; `design` is its latest design.

        `origin` is when the first unit came.
        """
        for change in reversed(changes):
            if change.knob:
                design = with_knob(design, change.knob, change.before)
        state = ExperimentState.empty(design)
        if design.withholds:
            state = state._replace(enrolment=state.enrolment._replace(origin=origin))
        return cls(design, state, deal_of, changes, {})

    def enrolled(
        self, arm: int, block: Deal | None = None, is_first: bool = False, is_heard: bool = False
    ) -> Replay:
        """Return the replay after one more unit has been enrolled.

        `block` is the unit's block, `is_first` says whether the unit is the first one in it, and
        `is_heard` whether the unit has an event. Units are enrolled and counted independently: all
        units may be enrolled before the first one is counted.
        """
        enrolment = self.state.enrolment
        assigned = [units + (i == arm) for i, units in enumerate(enrolment.assigned)]
        enrolment = enrolment._replace(assigned=tuple(assigned))
        if block is not None and is_first and self.design.procedure.has_horizon:
            under_way = with_blocks(enrolment.under_way, block.largest, 1)
            enrolment = enrolment._replace(under_way=under_way)
        state = self.state._replace(enrolment=enrolment)
        if block is not None and is_heard:
            state = with_event(state, block, arm)
        return replace(self, state=state)

    def fold(self, unit: Matured, deal: int | None, time: float = 0.0) -> Replay:
        """Return the replay after the next unit has counted; `deal` is the number of its block."""
        now = self.changed()
        block = None if deal is None else now._deal(deal)
        return replace(now, state=fold_unit(now.design, now.state, block, unit, time))

    def checked(self, time: float) -> Replay:
        """Return the replay with a fault added if the test should have ended or removed an arm.

        `time` is when the last unit counted.
        """
        design, state, faults = self.design, self.state, list(self.faults)
        if state.ending.verdict is not None or state.ending.final is not None or faults:
            return self
        if design.metrics and not state.folding.fronts:
            names = [design.arms[arm] for arm in due_removals(design, state)]
            faults += [f"{name} is harmful after {state.progress} units" for name in names]
        is_known = design.min_days is None or design.matures(0.0) is not None
        is_judged = state.progress and not any(arm.units for arm in state.block.sums)
        if design.procedure.has_horizon and is_judged and is_known:
            reason = plan_ends(design, state, time)
            faults += [f"{reason} ends the test after {state.progress} units"] if reason else []
        return replace(self, faults=tuple(faults))

    def announced(self, until: float) -> Replay:
        """Return the replay after the withheld decision, if any, was announced at `until`."""
        if self.state.ending.held is None:
            return self
        return replace(self, state=announce(self.design, self.state, until))

    def join(self, arms: Iterable[int], time: float) -> Replay:
        """Return the replay after units with recurring outcomes have arrived."""
        enrolment = joined(self.design, self.state.enrolment, arms, time)
        return replace(self, state=self.state._replace(enrolment=enrolment))

    def close_stage(self, sums: Sums) -> Replay:
        """Return the replay at the end of the next stage, given the sums of its events."""
        now = self.changed()
        return replace(now, state=closed(now.design, now.state, sums, 0.0))

    def changed(self, before: float = math.inf) -> Replay:
        """Return the replay after all manual changes that were made by this point.

        The changes that were made after block `before` was dealt are left for later.
        """
        now = self
        while now.changes and now.changes[0].after <= now.state.progress:
            change = now.changes[0]
            if change.deal >= before:
                break
            now = replace(now, changes=now.changes[1:])
            if change.knob:
                now = replace(now, design=with_knob(now.design, change.knob, change.now))
                continue
            if change.by_harm and not now.state.folding.fronts:
                harmful = {now.design.arms[arm] for arm in due_removals(now.design, now.state)}
                if change.arm not in harmful:
                    fault = f"{change.arm} was removed without harm after {change.after} units"
                    now = replace(now, faults=(*now.faults, fault))
            block = now._deal(change.deal) if change.deal else None
            enrolment = now.state.enrolment._replace(handed=change.handed)
            state = now.state._replace(enrolment=enrolment)
            state, kept = take_out(now.design, state, change.arm, block, 0.0)
            struck = now.struck if kept is None else {**now.struck, kept.number: kept}
            now = replace(now, state=state, struck=struck)
        return now

    def _deal(self, number: int) -> Deal:
        if number in self.struck:
            return self.struck[number]
        deal = self.deal_of(number)
        # Arms dropped later are removed when the replay reaches that point.
        return replace(deal, struck=()) if deal.struck else deal
