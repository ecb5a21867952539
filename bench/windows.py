"""`python -m bench.windows`: days, cost, power and errors of tests with a conversion window.

The table of docs/research/horizon.md is what this prints: 5 % against 6 %, 5,000 units a day, of
which a share gets in, and a window of 7 days. Seeds are fixed.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import bascule as bs

A_DAY, WINDOW, ERROR, POWER = 5000, 7, 0.05, 0.9
MEANS = (0.05, 0.06)
CELLS = ((1.0, 3.0), (1.0, 8.0), (0.5, 3.0), (0.5, 8.0), (0.3, 8.0), (0.2, 8.0))
"""Shares of the traffic, and tilts."""


def played(
    share: float, tilt: float, means: tuple[float, ...], runs: int
) -> bs.simulation.Simulation:
    """Runs of one design whose units count when their windows close."""
    rule = bs.Tilt(tilt, effect=0.01, baseline=0.05, power=POWER)
    design = bs.Design(["control", "green"], bs.Bernoulli(), rule, error=ERROR, sides=1)
    delay = bs.worlds.Delay(round(share * A_DAY * WINDOW))
    return bs.simulate(design, world=bs.worlds.World(means, delay=delay), runs=runs, seed=13)


def row(share: float, tilt: float, runs: int) -> str:
    """One line of the table."""
    found = played(share, tilt, MEANS, runs)
    equal = played(share, tilt, (0.05, 0.05), runs)
    days = found.decision_time / (share * A_DAY)
    late = np.sort(np.where(found.winner == 1, days, math.inf))
    sides = [100 * float((equal.winner == arm).mean()) for arm in (0, 1)]
    return (
        f"| {100 * share:.0f} %, tilt {tilt:g} | {days.mean():.1f} | "
        f"{late[math.ceil(0.9 * runs) - 1]:.1f} | {found.regret.mean():.0f} | "
        f"{100 * float((found.winner == 1).mean()):.1f} % | {min(sides):.1f} to {max(sides):.1f} % "
        f"| {equal.decision_time.mean() / (share * A_DAY):.1f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1500)
    runs = parser.parse_args().runs
    print(
        "| share of the traffic | days, mean | 90 % by | conversions lost | power | "
        "error at a tie, a side | days at a tie |\n|---|---|---|---|---|---|---|"
    )
    for share, tilt in CELLS:
        print(row(share, tilt, runs), flush=True)


if __name__ == "__main__":
    main()
