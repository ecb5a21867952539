"""Steered tests in simulations: days, conversions lost, and wrong decisions.

python -m bench.steering [--runs 400] prints the row of the table in docs/research/steering.md, and
the share of false winners among equal arms whose level changes with weekdays and a trend.
"""

from __future__ import annotations

import argparse

import numpy as np

import bascule as bs
from bascule.core.types import FloatArray
from bascule.simulation.steered import simulate_steered

WORLDS = ((0.06, "1d"), (0.055, "1d"), (0.055, "7d"))
"""Chances of the better arm, against 5 %, and conversion windows."""

PER_DAY = 5000


def design_of(better: float, window: str) -> bs.Design:
    """Return the design that is planned for a world, with tilt 8."""
    rule = bs.Tilt(8, better - 0.05, power=0.9, baseline=0.05, futility=0.2)
    measure = bs.Measure(window, "any")
    return bs.Design(["control", "variant"], bs.Bernoulli(), rule, measure=measure)


def weekdays_and_trend(times: FloatArray) -> FloatArray:
    """Return the level of a world with better weekends, evenings and a slow fall."""
    weekend = np.where(times.astype(int) % 7 >= 5, 0.02, 0.0)
    return weekend + 0.01 * np.sin(2.0 * np.pi * times) - 0.0005 * np.minimum(times, 40.0)


def ties(runs: int, seed: int = 1) -> int:
    """Return how many tests of equal arms have a winner."""
    design, level = design_of(0.06, "1d"), weekdays_and_trend
    played = simulate_steered(design, (0.06, 0.06), PER_DAY, runs=runs, seed=seed, level=level)
    return int(np.count_nonzero(played.winners >= 0))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    for better, window in WORLDS:
        played = simulate_steered(design_of(better, window), (0.05, better), PER_DAY, runs=runs)
        right, wrong = (int(np.count_nonzero(played.winners == arm)) for arm in (1, 0))
        figures = f"days {played.expected_days}, lost {played.expected_cost}"
        print(f"5 to {100 * better:g} %, window {window}: {figures}, right {right}, wrong {wrong}")
    print(f"false winners of equal arms: {ties(runs)} of {runs}")


if __name__ == "__main__":
    main()
