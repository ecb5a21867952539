"""One run of a test in blocks, unit by unit and uncompiled."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bascule.core.design import Design
from bascule.core.procedures.blocks import fold_block, next_block
from bascule.core.procedures.intervals import decision
from bascule.core.rules.tilt import Tilt
from bascule.core.statistics import Statistics
from bascule.simulation.engines.feasible import units_cap
from bascule.simulation.kernels.blocks import deal_slots
from bascule.simulation.random.draws import draws_of
from bascule.simulation.random.streams import WORDS, seed_stream, ziggurat_table
from bascule.simulation.step import Step


def block_trace(
    design: Design, rule: Tilt, means: tuple[float, ...], seed: int, run: int
) -> Iterator[Step]:
    """Every unit of one run; a decision can come with the last unit of a batch only."""
    arms, draws = len(means), draws_of(design.outcome)
    streams = np.empty(WORDS, np.uint64)
    largest = rule.batch * (math.ceil(rule.tilt) + arms)
    slots, noise, table = np.empty(largest, np.int64), np.empty(largest), ziggurat_table()
    # The generator's arithmetic is modulo 2^64, which NumPy's scalars warn about.
    with np.errstate(over="ignore"):
        seed_stream(streams, 0, np.uint64(seed), np.uint64(run))
    seen = Statistics.empty(arms)
    while True:
        coming = next_block(design, seen)
        if seen.units + coming.size > units_cap(design):
            return
        begun = np.array([*(0.0,) * (2 * arms), *coming.units])
        for left in reversed(range(coming.repeat)):
            with np.errstate(over="ignore"):
                deal_slots(begun, arms, slots, coming.leader, streams)
                draws.fill(streams, 0, noise, 0, sum(coming.units), table)
            block = Statistics.empty(arms)
            for i in range(sum(coming.units)):
                arm = int(slots[i])
                value = float(draws.outcome(means[arm], design.outcome.sigma, noise[i]))
                block = block.record(arm, value)
                if left > 0 or i < sum(coming.units) - 1:
                    yield Step(arm, value, replace(seen, arms=(seen + block).arms), None)
            seen = fold_block(design, seen, block.arms, look=left == 0)
        reached = decision(design, seen)
        yield Step(arm, value, seen, reached)
        if reached is not None:
            return
