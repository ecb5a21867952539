"""`python -m bench.horizon`: errors, power and durations of tests with an information horizon.

The tables of docs/research/horizon.md are what this prints. Seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import bascule as bs
from bascule.core.inputs.checks import tidy
from bascule.core.outcomes.noise import Noise, Normal

RUNS = 20_000
ERROR, POWER = 0.05, 0.9
GAP = 0.1
"""The difference of the normal arms, whose spread is 1."""


def played(
    rule: bs.Tilt,
    means: Sequence[float],
    outcome: Any = None,
    error: float = ERROR,
    noise: Noise | None = None,
) -> bs.simulation.Simulation:
    """Runs of a rule; normal outcomes with spread 1 unless others are given."""
    arms = [f"arm {i}" for i in range(len(means))]
    design = bs.Design(arms, outcome or bs.Gaussian(1), rule, error=error, sides=1)
    return bs.simulate(design, world=bs.worlds.World(means, noise=noise), runs=RUNS, seed=17)


def row(
    name: str, rule: bs.Tilt, means: Sequence[float], null: Sequence[float], **more: Any
) -> str:
    """One line of a table: durations and power at the effect, errors at the null."""
    found, equal = played(rule, means, **more), played(rule, null, **more)
    times, best = found.decision_time, int(np.argmax(means))
    worse = float(np.delete(found.units, best, axis=1).mean())
    sides = [100 * float((equal.winner == arm).mean()) for arm in (0, len(means) - 1)]
    return (
        f"| {name} | {times.mean():,.0f} | {np.quantile(times, 0.9):,.0f} | {worse:,.0f} | "
        f"{100 * float((found.winner == best).mean()):.1f} % | {min(sides):.1f} to "
        f"{max(sides):.1f} % | {equal.decision_time.mean():,.0f} |"
    )


HEAD = (
    "| rule | units, mean | 90 % by | in a worse arm | power | error at a tie, a side | "
    "units at a tie |\n|---|---|---|---|---|---|---|"
)


FEW = ((0.01, 0.03), (0.05, 0.10), (0.2, 0.3), (0.3, 0.6), (0.6, 0.9))
"""Means of 0/1 outcomes of which a test sees few."""


def main() -> None:
    """Print every table."""
    print(HEAD)
    for tilt in (1, 3, 8):
        for futility in (None, 0.2):
            rule = bs.Tilt(tilt, effect=GAP, power=POWER, futility=futility)
            name = f"tilt {tilt}" + ("" if futility is None else f", futility {futility}")
            print(row(name, rule, [0.0, GAP], [0.0, 0.0]), flush=True)
    normal = bs.Tilt(1, effect=GAP, power=POWER, guarantee="gaussian")
    print(row("tilt 1, gaussian", normal, [0.0, GAP], [0.0, 0.0]), flush=True)
    for tilt in (1, 3, 8):
        rule = bs.Tilt(tilt, effect=GAP, power=POWER)
        more = {"outcome": bs.Numeric(), "noise": Normal(1.0)}
        print(row(f"tilt {tilt}, `Numeric`", rule, [0.0, GAP], [0.0, 0.0], **more), flush=True)
    for arms in (3, 5):
        for tilt in (1, 3, 8):
            rule = bs.Tilt(tilt, effect=GAP, power=POWER)
            means = [0.0] * (arms - 1) + [GAP]
            print(row(f"tilt {tilt}, {arms} arms", rule, means, [0.0] * arms), flush=True)
    print("\n" + HEAD)
    for low, high in ((0.05, 0.06), (0.03, 0.033), *FEW):
        for tilt in (1, 3, 8):
            rule = bs.Tilt(tilt, effect=tidy(high - low), power=POWER, baseline=low)
            name = f"{100 * low:g} % against {100 * high:g} %, tilt {tilt}"
            print(row(name, rule, [low, high], [low, low], outcome=bs.Bernoulli()), flush=True)
    for guess in (None, 0.02, 0.15):
        rule = bs.Tilt(3, effect=0.01, power=POWER, baseline=guess, futility=0.2)
        name = "no baseline" if guess is None else f"baseline {100 * guess:g} %"
        name = f"5 % against 6 %, tilt 3, futility 0.2, {name}"
        print(row(name, rule, [0.05, 0.06], [0.05, 0.05], outcome=bs.Bernoulli()), flush=True)
    print("\n| error | rule | information over the limit | power |\n|---|---|---|---|")
    for error in (0.05, 0.001):
        for rule in (
            bs.Tilt(1, effect=GAP),
            bs.Tilt(1, effect=GAP, power=POWER),
            bs.Tilt(1, effect=GAP, power=POWER, futility=0.2),
        ):
            found = played(rule, [0.0, GAP], error=error)
            share = float((found.winner == 1).mean())
            used = float(found.decision_time.mean()) / 4 * GAP**2 / (2 * divergence(share, error))
            print(f"| {error:g} | {rule!r} | {used:.3f} | {100 * share:.1f} % |", flush=True)


def divergence(share: float, error: float) -> float:
    """Return what a test that decides rightly with probability `share` has to learn."""
    missed = 1.0 - share
    rest = missed * math.log(missed / (1.0 - error)) if missed > 0.0 else 0.0
    return share * math.log(share / error) + rest


if __name__ == "__main__":
    main()
