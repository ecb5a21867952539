"""`python -m bench.predictions`: print how far predictions are off, as tables in Markdown.

Every cell is simulated with a fixed seed, so the tables change only when the package does. The
summary is in docs/research/prediction.md.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import bascule as bs
from bascule.core.outcomes import Outcome
from bascule.core.rules import Rule
from bascule.simulation.result import Estimate
from bench.prediction_page import SHAPES, Cell, page

MOST_RUNS, FEWEST_RUNS, UNITS = 4000, 400, 1e7
"""Runs of a cell: as many as these units allow, within limits."""

CAP = 50
"""Ends a run with more than two arms, in multiples of the predicted time."""

ERRORS, GAPS = (0.1, 0.01, 0.001), (1.0, 0.3, 0.1, 0.02)


def measure(design: bs.Design, where: str, means: Sequence[float]) -> Cell:
    """Predict a design and play it; the best mean is the last."""
    gaps = [means[-1] - mean for mean in means[:-1]]
    expected = bs.theory.predict(design, gaps, best=means[-1])
    runs = int(min(MOST_RUNS, max(FEWEST_RUNS, UNITS / expected.decision_time)))
    if len(means) > 2:
        design = replace(design, max_units=int(CAP * expected.decision_time))
    seen = bs.simulate(design, means, runs=runs, seed=1)
    found = seen.winner == len(means) - 1 if len(means) > 2 else slice(None)
    batch = getattr(design.rule, "batch", 1)
    return Cell(
        design.rule.label + (f", batch {batch}" if batch > 1 else ""),
        design.calibration.error,
        where,
        runs,
        (expected.regret, expected.decision_time),
        (Estimate.of(seen.regret[found]), Estimate.of(seen.decision_time[found])),
    )


def two_arms() -> list[Cell]:
    """Tilted blocks over the whole range."""
    return [
        measure(_design(bs.Tilt(tilt), error), f"{gap:g}", [0.0, gap])
        for tilt, error, gap in product((1, 3, 10), ERRORS, GAPS)
    ]


def variants() -> list[Cell]:
    """An effect and batches; not at the smallest gap, where they take long to simulate."""
    return [
        measure(_design(rule, error), f"{gap:g}", [0.0, gap])
        for error, gap in product(ERRORS, GAPS[:3])
        for rule in (bs.Tilt(3, gap), bs.Tilt(3, batch=10))
    ]


def coins() -> list[Cell]:
    """0/1 outcomes, on which tilted blocks bet."""
    rates = ((0.05, 0.06), (0.09, 0.12), (0.2, 0.3), (0.45, 0.5), (0.85, 0.9), (0.2, 0.5))
    return [
        measure(_design(bs.Tilt(tilt), error, bs.Bernoulli()), f"{low:g}, {high:g}", [low, high])
        for tilt, error, (low, high) in product((1, 3, 10), ERRORS, rates)
    ]


def more_arms() -> list[Cell]:
    """More than two arms: all rivals at one distance, or each further away than the one before."""
    cells = []
    for tilt, arms, gap in product((1, 3, 10), (3, 5), (1.0, 0.2)):
        level = [0.0] * (arms - 1) + [gap]
        stairs = [gap * i for i in range(arms)]
        for shape, means in zip(SHAPES, (level, stairs), strict=True):
            where = f"{arms} arms, {gap:g}, {shape}"
            cells.append(measure(_design(bs.Tilt(tilt), 0.05, arms=arms), where, means))
    return cells


def _design(rule: Rule, error: float, outcome: Outcome | None = None, arms: int = 2) -> bs.Design:
    names = [f"arm {i}" for i in range(arms)]
    return bs.Design(names, outcome or bs.Gaussian(1), rule, error=error, sides=1)


def main() -> None:
    """Measure every cell and print the tables; progress goes to standard error."""
    started = time.perf_counter()
    parts: list[Callable[[], list[Cell]]] = [two_arms, variants, coins, more_arms]
    measured = []
    for part in parts:
        measured.append(part())
        worst = max(measured[-1], key=lambda cell: cell.worst)
        print(
            f"{part.__name__}: {len(measured[-1])} cells, the worst {100 * worst.worst:.1f} % "
            f"({worst.rule}, error {worst.error:g}, {worst.where}), "
            f"{math.ceil(time.perf_counter() - started)} s",
            file=sys.stderr,
        )
    print(page(*measured))


if __name__ == "__main__":
    main()
