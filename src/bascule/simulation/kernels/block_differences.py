"""The fast loop for two arms with normal outcomes in blocks, which draws one number per block.

A block changes the test only through `h D`, the weighted difference of its two means, which is
normal with mean `h gap` and variance `h sigma^2`; h follows from the block's sizes, which are fixed
before its outcomes. So a single normal number per block gives the same distribution as one number
per unit.
"""

from __future__ import annotations

import numpy as np

from bascule.core.course import fits
from bascule.core.evidence.families.known_spread import decides
from bascule.core.evidence.families.rows import Params
from bascule.core.procedures.blocks.steps import Share, lead_of
from bascule.core.types import NOBODY, FloatArray
from bascule.simulation.kernels.compiled import STOP, Chunk, Kernel, RunColumns, finish_run
from bascule.simulation.random import DONE, NORMAL, WordArray, outside_layer, seed_stream


def build(share_of: Share, fingerprint: str) -> Kernel:
    """Build the loop for two arms with outcomes of known spread, without a horizon."""
    begin = NORMAL.begin

    def play(
        state: FloatArray,
        streams: WordArray,
        chunk: Chunk,
        max_units: int,
        drift: float,
        tilt: float,
        batch: int,
        params: Params,
        weights: FloatArray,
        spreads: FloatArray,
        ziggurat: FloatArray,
        columns: RunColumns,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        (seed, first_run, runs), control = chunk, columns.control
        for row in range(runs):
            seed_stream(streams, 0, seed, np.uint64(first_run + row))
            a, b, c, counter = streams[0], streams[1], streams[2], streams[3]
            total = clock = weight = spread = 0.0
            units = of_first = size = last = 0
            winner = NOBODY
            while winner == NOBODY and control[STOP] == 0:
                ahead = lead_of(total, clock)
                share = share_of(abs(ahead), tilt)
                if share != last:
                    # The share rarely changes, which the processor predicts instead of waiting.
                    last, size = share, (share + 1) * batch
                    weight, spread = weights[np.uint64(share)], spreads[np.uint64(share)]
                if not fits(units, size, max_units):
                    break
                number, layer, a, b, c, counter = begin(a, b, c, counter, ziggurat)
                if layer != DONE:
                    streams[0], streams[1], streams[2], streams[3] = a, b, c, counter
                    number = outside_layer(streams, 0, layer, number, ziggurat)
                    a, b, c, counter = streams[0], streams[1], streams[2], streams[3]
                total += weight * drift + spread * number
                clock += weight
                units += size
                of_first += size - batch if ahead >= 0.0 else batch
                if decides(total, clock, params):
                    winner = 0 if total > 0.0 else 1
            if control[STOP] != 0:
                break
            state[0], state[1] = of_first, units - of_first
            finish_run(state, row, units, winner, columns)

    return play
