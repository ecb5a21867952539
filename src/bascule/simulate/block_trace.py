"""One run of a test in blocks, unit by unit and uncompiled."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from bascule.core.arms import NOBODY, FloatArray
from bascule.core.blocks import (
    OCTAVES,
    PARTS,
    begin_block,
    clear,
    drop_beaten,
    fold,
    last_in,
    leader,
    observe,
    units_of_leader,
    width,
)
from bascule.core.design import Design
from bascule.core.progress import Decision
from bascule.core.rules.tilt import Tilt
from bascule.core.statistics import Statistics
from bascule.simulate.block_kernel import deal_slots
from bascule.simulate.feasible import units_cap
from bascule.simulate.step import Step
from bascule.simulate.streams import WORDS, fill_normals, seed_stream, ziggurat_table


def block_trace(
    design: Design, rule: Tilt, means: tuple[float, ...], seed: int, run: int
) -> Iterator[Step]:
    """Every unit of one run; a decision can come with the last unit of a block only."""
    arms = len(means)
    state, streams = np.empty(width(arms)), np.empty(WORDS, np.uint64)
    largest = rule.batch * (math.ceil(rule.tilt) + arms)
    slots, noise = np.empty(largest, np.int64), np.empty(largest)
    table, sigma = ziggurat_table(), design.outcome.sigma
    seen = Statistics.empty(arms)
    # The generator's arithmetic is modulo 2^64, which NumPy's scalars warn about.
    with np.errstate(over="ignore"):
        seed_stream(streams, 0, np.uint64(seed), np.uint64(run))
    clear(state, 0, arms)
    while True:
        front, ahead = leader(state, 0, arms)
        share = units_of_leader(ahead, rule.tilt)
        size = begin_block(state, 0, arms, front, share * rule.batch, rule.batch)
        if seen.units + size > units_cap(design):
            return
        with np.errstate(over="ignore"):
            deal_slots(state, arms, slots, front, streams)
            fill_normals(streams, 0, noise, 0, size, table)
        for i in range(size):
            arm = int(slots[i])
            value = float(means[arm] + sigma * noise[i])
            observe(state, 0, arms, arm, value)
            seen = seen.record(arm, value)
            if i < size - 1:
                yield Step(arm, value, seen, None)
        seen, reached = _complete_block(design, rule, state, seen)
        yield Step(arm, value, seen, reached)
        if reached is not None:
            return


def _complete_block(
    design: Design, rule: Tilt, state: FloatArray, seen: Statistics
) -> tuple[Statistics, Decision | None]:
    arms, promise = len(design.arms), design.calibration
    effect = (rule.effect or 0.0) / design.outcome.sigma
    fold(state, 0, arms, design.outcome.sigma)
    evidence = rule.steps().evidence
    threshold = -math.log(promise.delta)
    drop_beaten(state, 0, arms, evidence, effect, threshold, np.zeros(OCTAVES * PARTS))
    out = frozenset(arm for arm in range(arms) if state[arms + arm] == 0.0)
    seen = Statistics(seen.arms, seen.dropped | out)
    winner = last_in(state, 0, arms)
    if winner == NOBODY:
        return seen, None
    return seen, Decision(winner, design.arms[winner], promise.error, promise.guarantee)
