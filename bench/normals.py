"""`python -m bench.normals`: 10^8 normals of the simulator against the normal distribution."""

from __future__ import annotations

import math

import numpy as np

from bascule.simulation.kernels.compiled import Kernel, compile_loop
from bascule.simulation.random import (
    WORDS,
    fill_normals,
    seed_stream,
    ziggurat_table,
)

ROUNDS, RUNS, EACH = 100, 1000, 1000
EDGES = (1.0, 2.0, 3.0, 3.6541528853610088, 4.0, 5.0)
CELLS = 512


def _build(fingerprint: str) -> Kernel:
    def play(streams, values, first, each, ziggurat) -> None:  # type: ignore[no-untyped-def]
        made_of = fingerprint  # noqa: F841
        for run in range(values.size // each):
            seed_stream(streams, 0, np.uint64(1), np.uint64(first + run))
            fill_normals(streams, 0, values, run * each, each, ziggurat)

    return play


def main() -> None:
    """Print each figure's distance from what it should be, in standard errors."""
    play = compile_loop(_build)
    streams, values = np.empty(WORDS, np.uint64), np.empty(RUNS * EACH)
    powers, tails = np.zeros(8), np.zeros((2, len(EDGES)))
    cells, within, between = np.zeros(CELLS), np.zeros(4), np.zeros(4)
    for part in range(ROUNDS):
        play(streams, values, part * RUNS, EACH, ziggurat_table())
        power = np.ones_like(values)
        for k in range(8):
            power *= values
            powers[k] += power.sum()
        tails += [[np.sum(values > e) for e in EDGES], [np.sum(values < -e) for e in EDGES]]
        cells += np.histogram(values, CELLS, (-4.0, 4.0))[0]
        table = values.reshape(RUNS, EACH)
        for lag in range(1, 5):
            within[lag - 1] += np.vdot(table[:, lag:], table[:, :-lag])
            between[lag - 1] += np.vdot(table[lag:], table[:-lag])
    count = ROUNDS * RUNS * EACH
    moments = [0 if k % 2 else math.prod(range(1, k, 2)) for k in range(17)]
    for k in range(1, 9):
        error = math.sqrt((moments[2 * k] - moments[k] ** 2) / count)
        print(f"moment {k}: {(powers[k - 1] / count - moments[k]) / error:+.2f}")
    for i, edge in enumerate(EDGES):
        expected = 0.5 * count * math.erfc(edge / math.sqrt(2))
        above, below = (tails[:, i] - expected) / math.sqrt(expected)
        print(f"beyond {edge:.2f}: {above:+.2f} above, {below:+.2f} below")
    edges = np.linspace(-4.0, 4.0, CELLS + 1) / math.sqrt(2)
    expected_cells = count * 0.5 * np.diff([math.erf(edge) for edge in edges])
    square = float(np.sum((cells - expected_cells) ** 2 / expected_cells))
    print(f"{CELLS} cells from -4 to 4: {(square - CELLS) / math.sqrt(2 * CELLS):+.2f}")
    for lag in range(1, 5):
        in_run = within[lag - 1] / math.sqrt(ROUNDS * RUNS * (EACH - lag))
        runs = between[lag - 1] / math.sqrt(ROUNDS * (RUNS - lag) * EACH)
        print(f"numbers {lag} apart in a run: {in_run:+.2f}; runs {lag} apart: {runs:+.2f}")


if __name__ == "__main__":
    main()
