"""Evidence of a steered test: the units of a block are counted as rounds of the planned procedure.

Within a block the shares of the arms were the same for all units, so the units may be taken in any
order that is blind to outcomes. The rounds are counted and judged by the steps of live tests.
docs/research/steering.md has the proof.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bascule.core.design import Design
from bascule.core.ending import cap_met
from bascule.core.position import may_ship, still_compared
from bascule.core.progress import fold_block, next_block
from bascule.core.rounds import in_rounds
from bascule.core.statistics import ArmStatistics
from bascule.core.types import FloatArray
from bascule.live.steps.folding import (
    announce,
    announced,
    counts_after_decision,
    due_announcement,
    due_removals,
    plan_ends,
    take_out,
    with_latest,
)
from bascule.live.storage.state import ExperimentState, Folding
from bascule.steering.reading import Counts, Outcomes


@dataclass(frozen=True, slots=True)
class SteeringEvidence:
    """Evidence of the blocks of a test, up to its decision or end if there is one."""

    state: ExperimentState
    """The state of a live test with these outcomes."""
    reason: str | None
    """Why the test is over without a decision: horizon, futility, guardrails or cap; else None."""
    clipped: int
    """Number of outcomes beyond the limits of the model, which count as the nearest limit."""
    unpaired: int
    """Number of units that are left out because an active arm has no units in their block."""


def ordered(outcomes: Mapping[Outcomes, int], generator: np.random.Generator) -> FloatArray:
    """Return the outcomes of an arm in a random order: a row per unit, a column per metric.

    The order depends only on the number of units, and not on their outcomes.
    """
    sizes = [outcomes[values] for values in sorted(outcomes)]
    rows = np.repeat(np.array(sorted(outcomes), dtype=float), sizes, axis=0)
    return rows[generator.permutation(len(rows))]


def fold_blocks(
    design: Design, blocks: Sequence[Counts], name: str, counted: Sequence[float], now: float
) -> SteeringEvidence:
    """Count the blocks of a test, in order, until it is decided or over.

    `counted` has the time at which the windows of each block closed, and `now` is the time of the
    run, in seconds since 1970. The order of units within a block is derived from `name`.
    """
    state = ExperimentState.empty(design)._replace(folding=Folding())
    wait = design.matures(0.0) or 0.0
    if design.withholds and counted:
        state = state._replace(enrolment=state.enrolment._replace(origin=counted[0] - wait))
    models = [each.outcome for each in (design, *design.metric_designs)]
    low, high = [model.low for model in models], [model.high for model in models]
    clipped = unpaired = 0
    reason: str | None = None
    for number, (block, clock) in enumerate(zip(blocks, counted, strict=True)):
        if due_announcement(design, state) <= clock:
            break
        out = still_compared(design, state.latest_once, counts_after_decision(state)).out
        generator = generator_of(f"{name}/{number}")
        arms = [ordered(block[arm] or {(0.0,) * len(models): 0}, generator) for arm in design.arms]
        arms = [arm[:0] if place in out else arm for place, arm in enumerate(arms)]
        if min(len(arm) for place, arm in enumerate(arms) if place not in out) == 0:
            unpaired += sum(map(len, arms))
            continue
        limited = [np.clip(arm, low, high) for arm in arms]
        clipped += sum(int(np.count_nonzero(a != b)) for a, b in zip(arms, limited, strict=True))
        for sums in _rounds(limited, len(models)):
            state = _folded(design, state, sums, clock)
            reason = plan_ends(design, state, clock)
            if state.ending.verdict is not None or reason is not None:
                break
        going = state.ending.verdict is None and state.ending.held is None
        if going and reason is None and cap_met(design, state.once):
            reason = "cap"
        if state.ending.verdict is not None or reason is not None:
            break
    until = due_announcement(design, state)
    if until <= now:
        state = announce(design, state, until)
    assigned = tuple(arm.units for arm in state.once.arms)
    latest = counted[-1] - wait if counted else 0.0
    state = state._replace(
        enrolment=state.enrolment._replace(assigned=assigned, latest=latest),
        ending=state.ending._replace(enrolled=assigned),
    )
    return SteeringEvidence(state, reason, clipped, unpaired)


def generator_of(label: str) -> np.random.Generator:
    """Return the random generator for the order of a block's units, seeded by `label`."""
    seed = int.from_bytes(hashlib.sha256(label.encode()).digest()[:8])
    return np.random.default_rng(seed)


def _rounds(arms: Sequence[FloatArray], metrics: int) -> Iterator[list[tuple[ArmStatistics, ...]]]:
    """Yield the sums of each round: for every metric, those of each arm."""
    powers = [np.stack(in_rounds([arm[:, k] for arm in arms])[1], -1) for k in range(metrics)]
    for by_metric in np.stack(powers, 1).tolist():
        yield [
            tuple(ArmStatistics(int(units), *sums) for units, *sums in by_arm)
            for by_arm in by_metric
        ]


def _folded(
    design: Design, state: ExperimentState, sums: list[tuple[ArmStatistics, ...]], clock: float
) -> ExperimentState:
    """Return the state after one more round, updated as a live test updates it after a block."""
    before = state.latest_once
    if before.out:
        out = still_compared(design, before, counts_after_decision(state)).out
        no_units = ArmStatistics()
        sums = [tuple(no_units if i in out else arm for i, arm in enumerate(arms)) for arms in sums]
    first, *others = sums
    after = fold_block(design, before, first, metrics=others, is_held=counts_after_decision(state))
    state = with_latest(state, after)._replace(folding=Folding(after.units))
    state = announced(design, state, clock, before.dropped)
    while harmful := due_removals(design, state):
        state, _ = take_out(design, state, design.arms[next(iter(harmful))], None, clock)
    return state


def arm_that_stays(design: Design, evidence: SteeringEvidence) -> str:
    """Return the arm that everyone gets at the end of a test.

    It is the winner. Without one it is the control, unless another arm has beaten it: then it is
    the arm that leads, if the guardrails allow it.
    """
    verdict, statistics = evidence.state.ending.verdict, evidence.state.once
    if verdict is not None and verdict.arm is not None:
        return design.arms[verdict.arm]
    leader = next_block(design, statistics).leader
    beaten = design.control_index in statistics.out
    goes = beaten and may_ship(design, statistics, leader)
    return design.arms[leader] if goes else design.control_arm
