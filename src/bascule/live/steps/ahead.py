"""Fold metrics whose windows close before those of their units. Pure functions.

Blocks are folded in the order in which they were dealt, metric by metric, so that each metric has
its own martingale, as in docs/research/guardrails.md: a guardrail with a window of an hour sends a
bad arm back after an hour, although units count after a week.
"""

from __future__ import annotations

from collections.abc import Sequence

from bascule.core.design import Design
from bascule.core.metrics.guardrails import fold_ahead
from bascule.core.outcomes import Value
from bascule.core.statistics import ArmStatistics
from bascule.live.steps.folding import announced, with_unit
from bascule.live.storage.deals import Deal
from bascule.live.storage.state import ExperimentState, Front


def fold_ahead_unit(
    design: Design,
    state: ExperimentState,
    place: int,
    deal: Deal,
    arm: int,
    values: Sequence[Value | None],
    now: float,
) -> ExperimentState:
    """Return the state after the next unit has counted in the metrics of a front.

    `place` is that of the front, and `values` has the unit's outcomes of its metrics.
    """
    front = state.folding.fronts[place]
    if front.folding != deal.number:
        front = front._replace(folding=deal.number, part=0, units=0)
    opened = list(state.block.metrics)
    for which, value in zip(front.metrics, values, strict=True):
        opened[which] = with_unit(design.metric_designs[which], opened[which], arm, value)
    front = front._replace(folded=front.folded + 1, units=front.units + 1)
    block = state.block._replace(metrics=tuple(opened))
    state = with_front(state, place, front)._replace(block=block)
    return _close_parts(design, state, place, deal, now)


def with_front(state: ExperimentState, place: int, front: Front) -> ExperimentState:
    """Return the state with a front changed."""
    before = state.folding.fronts
    fronts = (*before[:place], front, *before[place + 1 :])
    return state._replace(folding=state.folding._replace(fronts=fronts))


def _close_parts(
    design: Design, state: ExperimentState, place: int, deal: Deal, now: float
) -> ExperimentState:
    """Fold the parts of a block whose units have all counted in the metrics of a front."""
    sizes, front = deal.sizes, state.folding.fronts[place]
    while front.part < len(sizes) and front.units >= sizes[front.part]:
        blocks = {which: state.block.metrics[which] for which in front.metrics}
        empty = (ArmStatistics(),) * len(design.arms)
        opened = (
            empty if which in blocks else sums for which, sums in enumerate(state.block.metrics)
        )
        state = state._replace(
            statistics=fold_ahead(design, state.once, blocks),
            block=state.block._replace(metrics=tuple(opened)),
        )
        front = front._replace(part=front.part + 1, units=0)
        if front.part == len(sizes):
            front = front._replace(folding=deal.number + 1, part=0)
            return announced(design, with_front(state, place, front), now)
        state = with_front(state, place, front)
    return state
