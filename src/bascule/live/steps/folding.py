"""Update the state with units that count, and with manual changes, in order. Pure functions.

The proofs require this order: the n-th outcome of an arm is that of its n-th unit, however long
each took, so that neither quick nor slow outcomes are preferred. docs/research/live.md

Metrics with a shorter window than the primary metric are counted ahead of it, also in the order in
which blocks were dealt, so that each metric has its own martingale (docs/research/guardrails.md). A
guardrail with a window of an hour can then remove a bad arm after an hour, although units count in
the primary metric after a week.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import repeat

from bascule.core.design import Design
from bascule.core.ending import remove_arm
from bascule.core.errors import InputError
from bascule.core.metrics.guardrails import harmed
from bascule.core.outcomes import Pair, Value
from bascule.core.position import Calendar, Judgement, position_of
from bascule.core.procedures.base import EndReason
from bascule.core.procedures.blocks.procedure import END_REASONS
from bascule.core.progress import decision_of, fold_ahead, fold_block, record
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.core.types import NO_DIFFERENCE, NOBODY
from bascule.live.steps.maturity import Matured, without_block
from bascule.live.storage.deals import Deal, is_struck, with_blocks
from bascule.live.storage.state import ExperimentState, Front, OpenBlock, Verdict


def fold_unit(
    design: Design, state: ExperimentState, deal: Deal | None, unit: Matured, now: float
) -> ExperimentState:
    """Return the state after the next unit has counted.

    `deal` is the block that the unit belongs to, in tests that have blocks.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2))
    >>> fold_unit(design, ExperimentState.empty(design), None, Matured(1, 0.5), 0.0).once.units
    1
    """
    arm, value, metrics, covariates, lacking, _ = unit
    folding = state.folding._replace(folded=state.folding.folded + 1)
    if deal is None or design.procedure.counts == "units":
        assert isinstance(value, float)
        numbers = [number for number in metrics if isinstance(number, float)]
        latest = state.latest_once
        statistics = record(
            design, latest, arm, value, numbers, lacking, counts_after_decision(state)
        )
        return announced(design, with_latest(state, statistics)._replace(folding=folding), now)
    block = state.block
    if design.adjustment is not None:
        rest = _rest(state.latest_once, value)
        added = design.adjustment.added(block.covariates, rest, covariates)
        block = block._replace(covariates=added)
        explained = rest - design.adjustment.adjust(state.latest_once.covariates, rest, covariates)
        if isinstance(value, Pair):
            value = value._replace(numerator=value.numerator - explained)
        else:
            value -= explained
    block = block._replace(sums=with_unit(design, block.sums, arm, value))
    if metrics:
        sums = map(with_unit, design.metric_designs, block.metrics, repeat(arm), metrics)
        block = block._replace(metrics=tuple(sums))
    if any(lacking) or block.lacking:
        block = block._replace(lacking=_with_lacking(block, arm, lacking))
    if block.number != deal.number:
        block = block._replace(number=deal.number, part=0)
    return close_parts(design, state._replace(block=block, folding=folding), deal, now)


def counts_after_decision(state: ExperimentState) -> bool:
    """Return whether units count after a decision, because it is withheld or by `measure_on`.

    No arm is dropped from then on.
    """
    return state.ending.final is not None


def with_latest(state: ExperimentState, statistics: Statistics) -> ExperimentState:
    """Return the state with `statistics` as those of all units that have counted."""
    if state.ending.final is None:
        return state._replace(statistics=statistics)
    return state._replace(ending=state.ending._replace(final=statistics))


def without_held(state: ExperimentState) -> ExperimentState:
    """Return the state without its withheld decision, so that all counted units are judged."""
    if state.ending.held is None or state.ending.final is None:
        return state
    ending = state.ending._replace(held=None, final=None)
    return state._replace(statistics=state.ending.final, ending=ending)


def _rest(statistics: Statistics, value: Value) -> float:
    """Return the value to adjust: an outcome, or the residual of a numerator given its denominator.

    The ratio is that of all complete blocks; any ratio known before the block would be valid.
    """
    if not isinstance(value, Pair):
        return value
    ratio = sum(statistics.arms, ArmStatistics()).mean
    return value.numerator - ratio * value.denominator


def with_unit(
    design: Design, sums: tuple[ArmStatistics, ...], arm: int, value: Value | None
) -> tuple[ArmStatistics, ...]:
    """Return the sums of a block with one more unit added, unless the unit has no value."""
    if value is None:
        return sums
    sums_with = sums[arm] + design.procedure.unit_sums(value)
    return (*sums[:arm], sums_with, *sums[arm + 1 :])


def _with_lacking(
    block: OpenBlock, arm: int, lacking: Sequence[bool]
) -> tuple[tuple[int, ...], ...]:
    """Return a block's numbers of units without a value, by metric and arm, after one more unit."""
    without_values = (0,) * len(block.sums)
    before = block.lacking or (without_values,) * len(lacking)
    return tuple(
        (*counts[:arm], counts[arm] + lacks, *counts[arm + 1 :])
        for counts, lacks in zip(before, lacking or repeat(False), strict=False)
    )


def close_parts(design: Design, state: ExperimentState, deal: Deal, now: float) -> ExperimentState:
    """Add the complete parts of a block, those whose units have all counted, to the statistics."""
    sizes, block = deal.sizes, state.block
    before = state.latest_once.dropped
    while block.part < len(sizes) and sum(arm.units for arm in block.sums) >= sizes[block.part]:
        last = block.part == len(sizes) - 1
        ahead = {number for front in state.folding.fronts for number in front.metrics}
        rest = [None if k in ahead else sums for k, sums in enumerate(block.metrics)]
        sums = (block.sums, last, rest, block.covariates, block.lacking)
        statistics = fold_block(design, state.latest_once, *sums, counts_after_decision(state))
        if design.procedure.uses_signals:
            state = without_block(state, deal, block.sums)
        empty = (ArmStatistics(),) * len(block.sums)
        kept = tuple(sums if k in ahead else empty for k, sums in enumerate(block.metrics))
        place = (deal.number + 1, 0) if last else (deal.number, block.part + 1)
        block = OpenBlock(empty, kept, (), (), *place)
        state = with_latest(state, statistics)._replace(block=block)
        if last and design.procedure.has_horizon:
            under_way = with_blocks(state.enrolment.under_way, deal.largest, -1)
            state = state._replace(enrolment=state.enrolment._replace(under_way=under_way))
        if last:
            return announced(design, state, now, before)
    return state


def take_out(
    design: Design, state: ExperimentState, name: str, deal: Deal | None, now: float
) -> tuple[ExperimentState, Deal | None]:
    """Remove an arm: return the state, and the open block without the arm in its remaining slots.

    The other slots stay: the sizes of active arms remain as they were dealt. A withheld decision
    becomes void, and all units that have counted are judged again.
    """
    state = without_held(state)
    state = state._replace(statistics=remove_arm(design, state.statistics, name))
    arm = design.arms.index(name)
    if deal is None:
        return announced(design, state, now), None
    handed = state.enrolment.handed
    deal = replace(deal, struck=(*deal.struck, (arm, _dealt_slot(deal, handed))))
    state = state._replace(enrolment=state.enrolment._replace(left=len(deal.slots) - handed))
    if state.block.number == deal.number and handed:
        state = close_parts(design, state, deal, now)
    for place, front in enumerate(state.folding.fronts):
        if front.folding == deal.number and front.units:
            state = _close_parts_ahead(design, state, place, deal, now)
    return announced(design, state, now), deal


def with_knob(design: Design, knob: str, value: float) -> Design:
    """Return the design with the named knob set to a value.

    >>> import bascule as bs
    >>> with_knob(bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3)), "tilt", 5).rule.tilt
    5.0
    """
    has = design.rule.knob
    if has is None or has.name != knob:
        remedy = "it has none" if has is None else f"its knob is {has.name}"
        raise InputError(knob, f"{knob} is not a knob of {design.rule.label}: {remedy}")
    return replace(design, rule=design.rule.with_knob(value))


def _dealt_slot(deal: Deal, handed: int) -> int:
    """Return the index, among all dealt slots, of the first slot that no unit has got yet."""
    slot = 0
    for arm in (arm for part in deal.parts for arm in part):
        if handed == 0:
            break
        if not is_struck(deal.struck, arm, slot):
            handed -= 1
        slot += 1
    return slot


def due_removals(design: Design, state: ExperimentState) -> dict[int, tuple[int, ...]]:
    """Return the harmful arm to remove next, if any, with the metrics that found the harm."""
    if not design.metrics or state.ending.verdict is not None or state.block.part > 0:
        return {}
    statistics = state.latest_once
    harmful = harmed(statistics)
    arm = position_of(design, statistics).harmful_arm() if harmful else NOBODY
    return {} if arm == NOBODY else {arm: harmful[arm]}


def plan_ends(design: Design, state: ExperimentState, time: float) -> EndReason | None:
    """Return why a test ends now without a decision, or None; futility waits for `min_days`."""
    return None if state.block.part > 0 else END_REASONS[_judged(design, state, time).ended]


def _judged(
    design: Design, state: ExperimentState, now: float, kept: frozenset[int] | None = None
) -> Judgement:
    """Judge a test as it is now; the arms `kept` were out at the previous look."""
    origin, held = state.enrolment.origin, state.ending.held
    calendar = None
    if design.withholds and origin is not None:
        winner = NOBODY
        if held is not None:
            winner = NO_DIFFERENCE if held.arm is None else held.arm
        calendar = Calendar(origin, now, winner, kept)
    return position_of(design, state.latest_statistics, calendar).judge()


def announced(
    design: Design, state: ExperimentState, now: float, dropped: frozenset[int] | None = None
) -> ExperimentState:
    """Return the state with a newly reached decision added; unchanged if it already has one.

    A test is judged between batches only, and not while a harmful arm has to be removed. Units that
    count after a decision go into the final statistics, which leave out only the arms that were
    dropped before the decision (`dropped`).
    """
    if state.ending.verdict is not None or state.block.part > 0 or due_removals(design, state):
        return state
    judged = _judged(design, state, now, dropped)
    reached = decision_of(design, state.latest_statistics, judged)
    if reached is None:
        return state
    state = without_held(state)
    keep = None
    if reached.arm is None:
        control = design.control_index
        keep = None if control in state.statistics.out else control
    verdict, ending = Verdict.of(reached, state.folding.folded, now, keep), state.ending
    if judged.is_held or design.measure_on:
        statistics = state.once
        out = statistics.dropped if dropped is None else dropped
        ending = ending._replace(final=replace(statistics, dropped=out))
    ending = ending._replace(held=verdict) if judged.is_held else ending._replace(verdict=verdict)
    return state._replace(ending=ending)


def withheld_until(design: Design, state: ExperimentState, reached: float) -> float:
    """Return when a decision reached at the time `reached` is announced."""
    if not design.withholds or state.enrolment.origin is None:
        return reached
    return design.announces(state.enrolment.origin, reached)


def due_announcement(design: Design, state: ExperimentState) -> float:
    """Return when the withheld decision is announced, or infinity if there is none."""
    held = state.ending.held
    return math.inf if held is None else withheld_until(design, state, held.time)


def announce(design: Design, state: ExperimentState, time: float) -> ExperimentState:
    """Return the state after the withheld decision was announced at `time`.

    The statistics are then those at the announcement.
    """
    ending = state.ending
    assert ending.held is not None
    assert ending.final is not None
    statistics = replace(ending.final, dropped=state.statistics.dropped)
    final = ending.final if design.measure_on else None
    ending = ending._replace(verdict=replace(ending.held, time=time), held=None, final=final)
    return state._replace(statistics=statistics, ending=ending)


def fold_ahead_unit(
    design: Design,
    state: ExperimentState,
    place: int,
    deal: Deal,
    arm: int,
    values: Sequence[Value | None],
    now: float,
) -> ExperimentState:
    """Return the state after a unit has counted in a front: metrics with the same shorter window.

    `place` is the index of the front, and `values` are the unit's outcomes of its metrics.
    """
    front = state.folding.fronts[place]
    if front.folding != deal.number:
        front = front._replace(folding=deal.number, part=0, units=0)
    opened = list(state.block.metrics)
    for number, value in zip(front.metrics, values, strict=True):
        opened[number] = with_unit(design.metric_designs[number], opened[number], arm, value)
    front = front._replace(folded=front.folded + 1, units=front.units + 1)
    block = state.block._replace(metrics=tuple(opened))
    state = with_front(state, place, front)._replace(block=block)
    return _close_parts_ahead(design, state, place, deal, now)


def with_front(state: ExperimentState, place: int, front: Front) -> ExperimentState:
    """Return the state with the front at an index replaced."""
    before = state.folding.fronts
    fronts = (*before[:place], front, *before[place + 1 :])
    return state._replace(folding=state.folding._replace(fronts=fronts))


def _close_parts_ahead(
    design: Design, state: ExperimentState, place: int, deal: Deal, now: float
) -> ExperimentState:
    """Add the complete parts of a block to the statistics of the metrics in a front."""
    sizes, front = deal.sizes, state.folding.fronts[place]
    while front.part < len(sizes) and front.units >= sizes[front.part]:
        blocks = {number: state.block.metrics[number] for number in front.metrics}
        empty = (ArmStatistics(),) * len(design.arms)
        opened = (
            empty if number in blocks else sums for number, sums in enumerate(state.block.metrics)
        )
        statistics = fold_ahead(design, state.latest_once, blocks)
        opened_block = state.block._replace(metrics=tuple(opened))
        state = with_latest(state, statistics)._replace(block=opened_block)
        front = front._replace(part=front.part + 1, units=0)
        if front.part == len(sizes):
            front = front._replace(folding=deal.number + 1, part=0)
            return announced(design, with_front(state, place, front), now)
        state = with_front(state, place, front)
    return state
