"""One run of a test in blocks, unit by unit and uncompiled."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from bascule.core.arms import NOBODY, FloatArray
from bascule.core.blocks import OCTAVES, PARTS, begin_block, last_in, units_of_leader
from bascule.core.design import Design
from bascule.core.progress import Decision
from bascule.core.rules.tilt import Tilt
from bascule.core.statistics import Statistics
from bascule.simulate.block_kernel import deal_slots
from bascule.simulate.draws import draws_of
from bascule.simulate.feasible import units_cap
from bascule.simulate.step import Step
from bascule.simulate.streams import WORDS, seed_stream, ziggurat_table


def block_trace(
    design: Design, rule: Tilt, means: tuple[float, ...], seed: int, run: int
) -> Iterator[Step]:
    """Every unit of one run; a decision can come with the last unit of a batch only."""
    arms = len(means)
    steps, draws = rule.steps(design.outcome), draws_of(design.outcome)
    state, streams = np.empty(steps.width(arms)), np.empty(WORDS, np.uint64)
    largest = rule.batch * (math.ceil(rule.tilt) + arms)
    slots, noise = np.empty(largest, np.int64), np.empty(largest)
    table, sigma = ziggurat_table(), design.outcome.sigma
    seen = Statistics.empty(arms)
    # The generator's arithmetic is modulo 2^64, which NumPy's scalars warn about.
    with np.errstate(over="ignore"):
        seed_stream(streams, 0, np.uint64(seed), np.uint64(run))
    steps.clear(state, 0, arms)
    rounds, each = (rule.batch, 1) if steps.split else (1, rule.batch)
    while True:
        front, ahead = steps.leader(state, 0, arms)
        share = units_of_leader(ahead, rule.tilt)
        size = begin_block(state, 0, arms, front, share * each, each)
        if seen.units + rounds * size > units_cap(design):
            return
        for left in reversed(range(rounds)):
            with np.errstate(over="ignore"):
                deal_slots(state, arms, slots, front, streams)
                draws.fill(streams, 0, noise, 0, size, table)
            for i in range(size):
                arm = int(slots[i])
                value = float(draws.outcome(means[arm], sigma, noise[i]))
                steps.observe(state, 0, arms, arm, value)
                seen = seen.record(arm, value)
                if left > 0 or i < size - 1:
                    yield Step(arm, value, seen, None)
            steps.fold(state, 0, arms, 1.0 / design.outcome.scale)
        seen, reached = _complete_batch(design, rule, state, seen)
        yield Step(arm, value, seen, reached)
        if reached is not None:
            return


def _complete_batch(
    design: Design, rule: Tilt, state: FloatArray, seen: Statistics
) -> tuple[Statistics, Decision | None]:
    arms, promise = len(design.arms), design.calibration
    steps, sigma = rule.steps(design.outcome), design.outcome.sigma
    threshold, no_floors = -math.log(promise.delta), np.zeros(OCTAVES * PARTS)
    steps.drop(state, 0, arms, (rule.effect or 0.0) / sigma, threshold, no_floors)
    out = frozenset(arm for arm in range(arms) if state[arms + arm] == 0.0)
    seen = Statistics(seen.arms, seen.dropped | out)
    winner = last_in(state, 0, arms)
    if winner == NOBODY:
        return seen, None
    return seen, Decision(winner, design.arms[winner], promise.error, promise.guarantee)
