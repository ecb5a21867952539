"""Early signals in a simulated test: events of units whose conversion windows are still open."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bascule.core.evidence.families.rows import TOTAL
from bascule.core.procedures.blocks.signals import (
    ALIKE,
    DELAY,
    EVENTS,
    SQUARES,
    add_events,
    judge_delays,
    window_part,
)
from bascule.core.types import FloatArray, IntArray
from bascule.simulation.worlds.world import Delay

OFF, AUTO, ALWAYS = range(3)
"""How a rule uses early signals: not at all, unless delays are found to differ, or always."""

MODES = {None: OFF, "auto": AUTO, "always": ALWAYS}

FRONT, SHARE = range(2)
"""Columns of a block under way: its leading arm, and the number of that arm's units in a round."""

NOTHING = -1
"""The end of a list of units."""


class Early(NamedTuple):
    """Early signals: how the rule uses them, their sums, and the events that are not known yet.

    - `mode`: how the rule uses early signals.
    - `slack`: by how much delays may differ.
    - `event`: the outcome that is an event, 0 or 1.
    - `sign`: 1 if events are good, -1 if they are bad.
    - `lags`: the mean delay of events in each arm.
    - `sums`: the sums of events, a row for each pair of arms.
    - `seen`: a scratch array.
    - `dealt`: the units of each arm in each block.
    - `delays`: the sums of the delays of matured events, a row for each arm.
    - `heads`: for each time, the first unit whose event becomes known then.
    - `nexts`: for each unit, the next unit whose event becomes known at the same time.
    - `blocks`: the block of each unit.
    - `waits`: the delay of each unit's event.
    - `closes`: when the window of each unit closes.
    """

    mode: int
    slack: float
    event: float
    sign: float
    lags: FloatArray
    sums: FloatArray
    seen: FloatArray
    dealt: FloatArray
    delays: FloatArray
    heads: IntArray
    nexts: IntArray
    blocks: IntArray
    waits: FloatArray
    closes: IntArray


def has_signals(mode: int, delay: Delay | None) -> bool:
    """Return whether the rule uses early signals and the world states when events are known."""
    return mode != OFF and delay is not None and delay.events is not None


def room_for_signals(mode: int, slack: float, delay: Delay | None, arms: int, length: int) -> Early:
    """Return the early signals of a test without units; `length` is that of its ring buffers."""
    lags = () if delay is None or mode == OFF else delay.events_of(arms)
    mode, length = (mode, length) if lags else (OFF, 1)
    low = delay is not None and delay.event == "low"
    pairs = arms * (arms - 1) // 2
    return Early(
        mode,
        slack,
        0.0 if low else 1.0,
        -1.0 if low else 1.0,
        np.array(lags or (0.0,)),
        np.zeros((pairs, TOTAL + 2)),
        np.zeros((pairs, TOTAL + 2)),
        np.zeros((length, arms)),
        np.zeros((arms, SQUARES + 1)),
        np.empty(length, np.int64),
        np.empty(length, np.int64),
        np.empty(length, np.int64),
        np.empty(length),
        np.empty(length, np.int64),
    )


def clear_signals(early: Early) -> None:
    """Forget all events."""
    for rows in (early.sums, early.delays):
        for i in range(rows.shape[0]):
            for k in range(rows.shape[1]):
                rows[i][k] = 0.0
    for i in range(early.heads.size):
        early.heads[i] = NOTHING


def expect_event(early: Early, unit: int, block: int, known: int, wait: float) -> None:
    """Schedule the event of a unit for the time `known`, at which the event becomes known."""
    turn = early.heads.size - 1
    early.nexts[unit & turn] = early.heads[known & turn]
    early.heads[known & turn] = unit
    early.blocks[unit & turn] = block
    early.waits[unit & turn] = wait


def show_events(early: Early, time: int, owners: IntArray) -> None:
    """Add the events that become known at `time` to the sums."""
    turn = early.heads.size - 1
    unit = early.heads[time & turn]
    early.heads[time & turn] = NOTHING
    while unit != NOTHING:
        sizes = early.dealt[early.blocks[unit & turn] & turn]
        add_events(early.sums, sizes, sizes.size, owners[unit & turn], 1.0)
        unit = early.nexts[unit & turn]


def add_delay(early: Early, unit: int, arm: int, window: float) -> None:
    """Add the delay of the event of a unit whose window closes now."""
    step = window_part(early.waits[unit & (early.waits.size - 1)], window)
    early.delays[arm][EVENTS] += 1.0
    early.delays[arm][DELAY] += step
    early.delays[arm][SQUARES] += step * step


def judged(early: Early, arms: FloatArray, count: int) -> int:
    """Return whether delays of events are `ALIKE` in all arms, `DIFFERENT`, or still `UNKNOWN`."""
    return ALIKE if early.mode == ALWAYS else judge_delays(early.delays, arms, count, early.slack)
