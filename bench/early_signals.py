"""`python -m bench.early_signals`: days, cost and errors of tests that use early signals.

The tables of docs/research/early-signals.md are what this prints: 5 % against 6 %, 5,000 units a
day, of which a share gets in, a window of 7 days, and conversions after a day on average. Seeds are
fixed. `--errors` plays equal arms whose delays differ.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import bascule as bs
from bascule.core.procedures.blocks.signals import EarlySignals
from bench.windows import A_DAY, CELLS, ERROR, MEANS, POWER, WINDOW

Days = tuple[float, float]
"""How long conversions of each arm take on average, in days."""

ALIKE: Days = (1.0, 1.0)
BETTER_LATER: Days = (0.3, 3.0)
BETTER_SOONER: Days = (3.0, 0.3)
MODES: tuple[EarlySignals | None, ...] = (None, "auto", "always")


def played(
    share: float,
    tilt: float,
    mode: EarlySignals | None,
    lags: Days,
    means: tuple[float, ...],
    runs: int,
) -> bs.simulation.Simulation:
    """Runs of one design whose units count when their windows close."""
    rule = bs.Tilt(tilt, effect=0.01, baseline=0.05, power=POWER, early_signals=mode)
    design = bs.Design(["control", "green"], bs.Bernoulli(), rule, error=ERROR, sides=1)
    rate = share * A_DAY
    delay = bs.worlds.Delay(round(rate * WINDOW), events=tuple(rate * lag for lag in lags))
    return bs.simulate(design, world=bs.worlds.World(means, delay=delay), runs=runs, seed=13)


def cell(share: float, tilt: float, mode: EarlySignals | None, lags: Days, runs: int) -> str:
    """Mean days, days by which nine of ten have decided, conversions lost, and power."""
    found = played(share, tilt, mode, lags, MEANS, runs)
    days = found.decision_time / (share * A_DAY)
    late = np.sort(np.where(found.winner == 1, days, math.inf))
    power = 100 * float((found.winner == 1).mean())
    return (
        f"{days.mean():.1f}, {late[math.ceil(0.9 * runs) - 1]:.1f}, "
        f"**{found.regret.mean():.0f}** ({power:.0f} %)"
    )


def errors(share: float, tilt: float, mode: EarlySignals | None, runs: int) -> str:
    """How often each of two equal arms wins whose delays differ."""
    found = played(share, tilt, mode, BETTER_LATER, (MEANS[0],) * 2, runs)
    sides = [100 * float((found.winner == arm).mean()) for arm in (0, 1)]
    return f"{sides[0]:.1f} %, {sides[1]:.1f} %"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1500)
    parser.add_argument("--errors", action="store_true", help="equal arms whose delays differ")
    given = parser.parse_args()
    head = "| share of traffic, tilt | off | auto | always |\n|---|---|---|---|"
    if given.errors:
        print(f"Equal arms, {BETTER_LATER} days: the sooner arm wins, the later one wins\n\n{head}")
        for share, tilt in CELLS[:3]:
            row = [errors(share, tilt, mode, given.runs) for mode in MODES]
            print(f"| {100 * share:.0f} %, tilt {tilt:g} | {' | '.join(row)} |", flush=True)
        return
    for name, lags, cells in (
        ("Delays alike", ALIKE, CELLS),
        ("The better arm converts later", BETTER_LATER, CELLS[:4]),
        ("The better arm converts sooner", BETTER_SOONER, CELLS[:2]),
    ):
        print(f"\n{name}: {lags} days\n\n{head}")
        for share, tilt in cells:
            row = [cell(share, tilt, mode, lags, given.runs) for mode in MODES]
            print(f"| {100 * share:.0f} %, tilt {tilt:g} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
