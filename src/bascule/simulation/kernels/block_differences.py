# mypy: disable-error-code="arg-type"
"""The quick loop for two arms in blocks of normal outcomes: one random number a block.

A block changes the test only through `h D`, the weighted difference of its two means, which is
normal with mean `h gap` and variance `h sigma^2`; h follows from the block's sizes, which are fixed
before its outcomes (`blocks.state`). So one normal number is as good as one for each unit.
"""

from __future__ import annotations

import numpy as np

from bascule.core.procedures.blocks import state as block_state
from bascule.core.procedures.blocks.state import Criterion, beaten
from bascule.core.procedures.blocks.steps import BlockSteps, never_over
from bascule.core.types import NOBODY, FloatArray
from bascule.simulation.kernels.control import STOP, Chunk, Kernel, RunColumns, finish_run
from bascule.simulation.random.draws import NORMAL
from bascule.simulation.random.streams import DONE, WordArray, outside_layer, seed_stream


def differences_suffice(steps: BlockSteps) -> bool:
    """Whether a rule uses nothing of two arms but the total and the clock of their difference."""
    return (
        steps.leader is block_state.leader
        and steps.fold is block_state.fold
        and steps.drop is block_state.drop_beaten
        and steps.over is never_over
        and not steps.split
    )


def build(steps: BlockSteps, fingerprint: str) -> Kernel:
    """The loop for one rule of which `differences_suffice`."""
    leader, share_of = steps.leader, steps.share
    evidence, can_reach, boundary = steps.evidence, steps.can_reach, steps.boundary
    begin = NORMAL.begin

    def play(
        state: FloatArray,
        streams: WordArray,
        chunk: Chunk,
        max_units: int,
        drift: float,
        tilt: float,
        batch: int,
        effect: float,
        threshold: float,
        floors: FloatArray,
        weights: FloatArray,
        spreads: FloatArray,
        ziggurat: FloatArray,
        columns: RunColumns,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        (seed, first_run, runs), control = chunk, columns.control
        criterion = Criterion(evidence, can_reach, boundary, effect, threshold)
        for row in range(runs):
            seed_stream(streams, 0, seed, np.uint64(first_run + row))
            a, b, c, counter = streams[0], streams[1], streams[2], streams[3]
            total = clock = weight = spread = 0.0
            units = of_first = size = last = 0
            winner = NOBODY
            while winner == NOBODY and control[STOP] == 0:
                pair = (0.0, total, -total, 0.0, 0.0, clock, clock, 0.0)
                front, ahead = leader((0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, *pair), 0, 2)
                share = share_of(ahead, tilt)
                if share != last:
                    # Rarely: so a processor goes on with these before it knows the share.
                    last, size = share, (share + 1) * batch
                    weight, spread = weights[np.uint64(share)], spreads[np.uint64(share)]
                if units + size > max_units:
                    break
                number, layer, a, b, c, counter = begin(a, b, c, counter, ziggurat)
                if layer != DONE:
                    streams[0], streams[1], streams[2], streams[3] = a, b, c, counter
                    number = outside_layer(streams, 0, layer, number, ziggurat)
                    a, b, c, counter = streams[0], streams[1], streams[2], streams[3]
                total += weight * drift + spread * number
                clock += weight
                units += size
                of_first += size - batch if front == 0 else batch
                if beaten(total, clock, criterion, floors):
                    winner = 0 if total > 0.0 else 1
            if control[STOP] != 0:
                break
            state[0], state[1] = of_first, units - of_first
            finish_run(state, 0, 2, row, units, winner, columns)

    return play
