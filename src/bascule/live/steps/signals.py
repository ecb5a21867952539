"""Early signals of a live test: events of pending units, and delays of matured ones.

Both are whole numbers, so that they can be computed again from the log to the last digit. Pure
functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bascule.core.design import Design
from bascule.core.procedures.blocks.signals import WINDOW_PARTS, window_part
from bascule.core.statistics import ArmStatistics
from bascule.live.storage.deals import Deal, Early, Used
from bascule.live.storage.state import ExperimentState

NO_DELAYS = (0, 0, 0)
"""The delays of an arm before its first matured event."""


def sizes_of(deal: Deal, arms: int) -> tuple[int, ...]:
    """Return the units of each arm in a part of a block, as it was dealt.

    >>> sizes_of(Deal(1, ((0, 1, 0), (0, 0, 1))), 3)
    (2, 1, 0)
    """
    units = Counter(deal.parts[0])
    return tuple(units[arm] for arm in range(arms))


def with_events(early: Early, sizes: tuple[int, ...], events: Sequence[int]) -> Early:
    """Return the events of open blocks with some more in blocks of these sizes, or fewer.

    >>> with_events(with_events((), (1, 2), (0, 3)), (1, 2), (0, -1))
    (((1, 2), (0, 2)),)
    """
    result = dict(early)
    before = result.get(sizes, (0,) * len(sizes))
    result[sizes] = tuple(a + b for a, b in zip(before, events, strict=True))
    return tuple((its, counts) for its, counts in sorted(result.items()) if any(counts))


def with_event(state: ExperimentState, deal: Deal, arm: int, count: int = 1) -> ExperimentState:
    """Return the state after the first event of a unit that has not counted."""
    arms = len(state.enrolment.assigned)
    events = tuple(count * (one == arm) for one in range(arms))
    early = with_events(state.signals.early, sizes_of(deal, arms), events)
    return state._replace(signals=state.signals._replace(early=early))


def without_block(
    state: ExperimentState, deal: Deal, block: Sequence[ArmStatistics]
) -> ExperimentState:
    """Return the state without the events of a part of a block that counts now."""
    events = tuple(-int(arm.total) for arm in block)
    early = with_events(state.signals.early, sizes_of(deal, len(block)), events)
    return state._replace(signals=state.signals._replace(early=early))


def window_of(design: Design, arrived: float) -> float:
    """Return how long after its arrival a unit counts."""
    matures = design.matures(arrived)
    assert matures is not None
    return matures - arrived


def with_delay(
    design: Design, state: ExperimentState, arm: int, arrived: float, heard: float
) -> ExperimentState:
    """Return the state with the delay of a matured unit, whose event was reported at `heard`."""
    step = window_part(heard - arrived, window_of(design, arrived))
    delays = list(state.signals.delays or (NO_DELAYS,) * len(state.enrolment.assigned))
    count, total, squares = delays[arm]
    delays[arm] = count + 1, total + step, squares + step * step
    return state._replace(signals=state.signals._replace(delays=tuple(delays)))


def heard_after_erasure(design: Design, arrived: float, heard: float, time: float) -> float:
    """Return when an erased unit, moved to another time of arrival, is said to have had its event.

    It is in the same hundredth of its window.
    """
    window = window_of(design, arrived)
    return time + (window_part(heard - arrived, window) + 0.5) / WINDOW_PARTS * window


def used_by(design: Design, state: ExperimentState) -> Used | None:
    """Return what the next block goes by, to be stored with it; None without signals."""
    if not design.procedure.uses_signals:
        return None
    knob = design.rule.knob
    assert knob is not None
    return Used(state.folding.folded, knob.value, state.signals)
