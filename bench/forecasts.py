"""`python -m bench.forecasts`: live forecasts of three and five arms beside simulated tests.

A forecast takes the means as they look now. Here the first blocks look exactly as the arms are, so
that what is compared is the forecast and not how well the means are known. A cell can be chosen by
its number: `python -m bench.forecasts 2`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import bascule as bs
from bascule.live.reports.forecast import expectation

BLOCKS, RUNS = 3, 2000

CELLS: Sequence[tuple[str, Any, Any, Sequence[float]]] = [
    ("three arms, normal, tilt 3", bs.Tilt(3), bs.Gaussian(1), (0.0, 0.0, 0.5)),
    ("three arms, 0/1, tilt 3", bs.Tilt(3), bs.Bernoulli(), (0.1, 0.1, 0.2)),
    (
        "three arms, 0/1, tilt 3, horizon",
        bs.Tilt(3, effect=0.1, power=0.9, baseline=0.1),
        bs.Bernoulli(),
        (0.1, 0.1, 0.2),
    ),
    ("five arms, normal, tilt 1", bs.Tilt(1), bs.Gaussian(1), (0.0, 0.1, 0.2, 0.3, 0.8)),
    (
        "five arms, normal, tilt 3, horizon",
        bs.Tilt(3, effect=0.5, power=0.9),
        bs.Gaussian(1),
        (0.0, 0.0, 0.0, 0.0, 0.5),
    ),
]


def row(name: str, rule: Any, outcome: Any, means: Sequence[float]) -> str:
    """One line of the table: units that a test takes all in all, forecast and simulated."""
    design = bs.Design([f"arm {i}" for i in range(len(means))], outcome, rule, sides=1)
    seen = bs.progress.Statistics.empty(len(means))
    for _ in range(BLOCKS):
        # Ten units whose mean and spread are those of the arm.
        block = [
            bs.progress.ArmStatistics(10, 10 * mean, 10 * (mean if outcome.binary else mean**2 + 1))
            for mean in means
        ]
        seen = bs.progress.fold_block(design, seen, block, look=False)
    expected = expectation(design, seen)
    assert expected is not None
    forecast = expected.decision_time
    played = bs.simulate(design, means, runs=RUNS, seed=9).decision_time
    error = 100 * (forecast / played.mean() - 1)
    return f"| {name} | {forecast:,.0f} | {played.mean():,.0f} | {error:+.1f} % |"


def main() -> None:
    """Print the table, or one cell of it."""
    print("| test | forecast | simulated | off by |\n|---|---|---|---|")
    for cell in [CELLS[int(sys.argv[1])]] if len(sys.argv) > 1 else CELLS:
        print(row(*cell), flush=True)


if __name__ == "__main__":
    main()
