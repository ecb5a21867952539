"""Fold matured units, and changes by hand, in the order in which they came. Pure functions.

The order is what the proofs ask for: the n-th outcome of an arm is that of its n-th unit, however
long each took, so that neither quick nor slow outcomes are preferred. docs/research/live.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any

from bascule.core.design import Design
from bascule.core.ends import remove_arm
from bascule.core.errors import InputError
from bascule.core.outcomes import Pair, Value
from bascule.core.procedures.base import AnyStatistics
from bascule.core.progress import decision, fold_block, record
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.live.steps.signals import without_block
from bascule.live.storage.state import Deal, ExperimentState, Verdict, is_struck, with_blocks


def fold_unit(
    design: Design,
    state: ExperimentState,
    deal: Deal | None,
    arm: int,
    value: Value,
    now: float,
    metrics: Sequence[Value | None] = (),
    covariates: tuple[float, ...] = (),
    lacking: Sequence[bool] = (),
) -> ExperimentState:
    """Return the state after the next unit has given its outcome.

    `deal` is the block that the unit belongs to, in tests that have blocks. `metrics` are the
    unit's outcomes of the other metrics, in the order of the design, None where it has no value,
    and `covariates` what was known of it when it was assigned. `lacking` says of the primary metric
    and each other one whether no value of the unit was recorded.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2))
    >>> fold_unit(design, ExperimentState.empty(design), None, 1, 0.5, now=0.0).statistics.units
    1
    """
    if state.final is not None:
        return _measured_on(design, state, deal, arm, value, now, metrics, covariates, lacking)
    folded = state.folded + 1
    if deal is None or design.procedure.counts == "units":
        numbers = [one for one in metrics if one is not None]
        assert isinstance(value, float)
        statistics = record(design, state.once, arm, value, numbers, lacking)  # type: ignore[arg-type]
        return announced(design, state._replace(statistics=statistics, folded=folded), now)
    if design.adjustment is not None:
        rest = _rest(state.once, value)
        block = design.adjustment.added(state.open_covariates, rest, covariates)
        state = state._replace(open_covariates=block)
        explained = rest - design.adjustment.adjust(state.once.covariates, rest, covariates)
        if isinstance(value, Pair):
            value = value._replace(numerator=value.numerator - explained)
        else:
            value -= explained
    sums = with_unit(design, state.open, arm, value)
    if metrics:
        others = map(with_unit, design.metric_designs, state.metric_open, repeat(arm), metrics)
        state = state._replace(metric_open=tuple(others))
    if any(lacking) or state.open_lacking:
        state = state._replace(open_lacking=_with_lacking(state, arm, lacking))
    if state.folding != deal.number:
        state = state._replace(folding=deal.number, part=0)
    return close_parts(design, state._replace(open=sums, folded=folded), deal, now)


def _measured_on(
    design: Design,
    state: ExperimentState,
    *unit: Any,
) -> ExperimentState:
    """Return the state after a unit that counts after a decision: no arm is dropped any more."""
    assert state.final is not None
    after = fold_unit(design, state._replace(statistics=state.final, final=None), *unit)
    final = replace(after.once, dropped=state.final.dropped)
    return after._replace(statistics=state.statistics, final=final)


def _rest(statistics: Statistics, value: Value) -> float:
    """Return what covariates may explain: an outcome, or a numerator less what its ratio expects.

    The ratio is that of all complete blocks: any that was known before the block would do.
    """
    if not isinstance(value, Pair):
        return value
    ratio = sum(statistics.arms, ArmStatistics()).mean
    return value.numerator - ratio * value.denominator


def with_unit(
    design: Design, sums: tuple[ArmStatistics, ...], arm: int, value: Value | None
) -> tuple[ArmStatistics, ...]:
    """Return the sums of a block with one more unit, unless it has no value."""
    if value is None:
        return sums
    more = sums[arm] + design.procedure.unit_sums(value)
    return (*sums[:arm], more, *sums[arm + 1 :])


def _with_lacking(
    state: ExperimentState, arm: int, lacking: Sequence[bool]
) -> tuple[tuple[int, ...], ...]:
    """Return the units of a block without a value, by metric and arm, with one more unit."""
    none = (0,) * len(state.open)
    before = state.open_lacking or (none,) * len(lacking)
    return tuple(
        (*counts[:arm], counts[arm] + lacks, *counts[arm + 1 :])
        for counts, lacks in zip(before, lacking or repeat(False), strict=False)
    )


def close_parts(design: Design, state: ExperimentState, deal: Deal, now: float) -> ExperimentState:
    """Fold the parts of a block whose units are all there."""
    sizes = deal.sizes
    before = state.once.dropped
    while state.part < len(sizes) and (sum(arm.units for arm in state.open) >= sizes[state.part]):
        last = state.part == len(sizes) - 1
        ahead = {which for front in state.fronts for which in front.metrics}
        others = [None if k in ahead else its for k, its in enumerate(state.metric_open)]
        block = (state.open, last, others, state.open_covariates, state.open_lacking)
        statistics = fold_block(design, state.once, *block)
        if design.procedure.uses_signals:
            state = without_block(state, deal, state.open)
        empty = (ArmStatistics(),) * len(state.open)
        kept = (its if k in ahead else empty for k, its in enumerate(state.metric_open))
        state = state._replace(
            statistics=statistics,
            open=empty,
            metric_open=tuple(kept),
            open_covariates=(),
            open_lacking=(),
            part=state.part + 1,
        )
        if last:
            state = state._replace(folding=deal.number + 1, part=0)
            if design.procedure.has_horizon:
                state = state._replace(under_way=with_blocks(state.under_way, deal.shape, -1))
            return announced(design, state, now, before)
    return state


def take_out(
    design: Design, state: ExperimentState, name: str, deal: Deal | None, now: float
) -> tuple[ExperimentState, Deal | None]:
    """Return the state and the block without an arm, which gets no slot that is left in it.

    The other slots stay: between active arms, sizes remain what they were dealt. A decision that is
    withheld is void, and all that has counted is judged again.
    """
    if state.held is not None and state.final is not None:
        state = state._replace(statistics=state.final, held=None, final=None)
    statistics: AnyStatistics = (
        remove_arm(design, state.once, name)
        if isinstance(state.statistics, Statistics)
        else remove_arm(design, state.statistics, name)
    )
    arm = design.arms.index(name)
    paused = tuple(other for other in state.control.paused if other != arm)
    state = state._replace(statistics=statistics, control=state.control._replace(paused=paused))
    if deal is None:
        return announced(design, state, now), None
    deal = replace(deal, struck=(*deal.struck, (arm, _dealt_slot(deal, state.handed))))
    state = state._replace(left=len(deal.slots) - state.handed)
    if state.folding == deal.number and state.handed:
        state = close_parts(design, state, deal, now)
    return announced(design, state, now), deal


def with_knob(design: Design, knob: str, value: float) -> Design:
    """Return the design with the knob of that name set to a value.

    >>> import bascule as bs
    >>> with_knob(bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3)), "tilt", 5).rule.tilt
    5.0
    """
    has = design.rule.knob
    if has is None or has.name != knob:
        raise InputError(knob, f"{knob} is no knob of {design.rule.label}")
    return replace(design, rule=design.rule.with_knob(value))


def _dealt_slot(deal: Deal, handed: int) -> int:
    """The slot, of all that were dealt, that follows those that were handed out."""
    slot = 0
    for arm in (arm for part in deal.parts for arm in part):
        if handed == 0:
            break
        if not is_struck(deal.struck, arm, slot):
            handed -= 1
        slot += 1
    return slot


def announced(
    design: Design, state: ExperimentState, now: float, dropped: frozenset[int] | None = None
) -> ExperimentState:
    """Return the state with the decision that the statistics allow, unless it has one.

    A decision that comes before the calendar allows one is withheld, unless it was reached because
    all other arms were found harmful. Units that count later go into the final statistics, which
    leave out only the arms that were dropped before the decision (`dropped`).
    """
    if state.verdict is not None or state.held is not None:
        return state
    reached = decision(design, state.statistics)
    if reached is None:
        return state
    keep = None
    if reached.arm is None:
        control = design.arms.index(design.control_arm)
        keep = None if control in state.statistics.out else control
    verdict = Verdict.of(reached, state.folded, now, keep)
    if design.withholds or design.measure_on:
        statistics = state.once
        out = statistics.dropped if dropped is None else dropped
        state = state._replace(final=replace(statistics, dropped=out))
    is_held = not verdict.harm and withheld_until(design, state, now) > now
    return state._replace(held=verdict) if is_held else state._replace(verdict=verdict)


def withheld_until(design: Design, state: ExperimentState, reached: float) -> float:
    """Return when a decision is announced that was reached at some moment."""
    if not design.withholds or state.origin is None:
        return reached
    return design.announces(state.origin, reached)


def due_announcement(design: Design, state: ExperimentState) -> float:
    """Return when the decision that is withheld is announced; never if there is none."""
    return math.inf if state.held is None else withheld_until(design, state, state.held.time)


def announce(state: ExperimentState, time: float) -> ExperimentState:
    """Return the state with the decision that was withheld, announced at a time."""
    assert state.held is not None
    return state._replace(verdict=replace(state.held, time=time), held=None)
