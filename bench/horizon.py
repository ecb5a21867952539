"""`python -m bench.horizon`: errors, power and durations of tests with an information horizon.

The tables of docs/explanation/horizon.md are what this prints. Seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import bascule as bs
from bascule.core.evidence.horizon import conditional_power, normal_constant
from bascule.core.numerics import turning_point

RUNS, MANY = 4000, 1000
ERROR, POWER = 0.05, 0.9
GAP = 0.1
"""The difference of the normal arms, whose spread is 1."""


def played(
    rule: bs.Tilt,
    means: Sequence[float],
    outcome: Any = None,
    error: float = ERROR,
    runs: int = RUNS,
) -> bs.Simulation:
    """Runs of a rule; normal outcomes with spread 1 unless others are given."""
    arms = [f"arm {i}" for i in range(len(means))]
    design = bs.Design(arms, outcome or bs.Gaussian(1), rule, error=error)
    return bs.simulate(design, means, runs=runs, seed=17)


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


def main() -> None:
    """Print every table."""
    print(HEAD)
    for tilt in (1, 3, 8):
        for guarantee in ("proven", "gaussian"):
            rule = bs.Tilt(tilt, effect=GAP, power=POWER, guarantee=guarantee)
            print(row(f"tilt {tilt}, {guarantee}", rule, [0.0, GAP], [0.0, 0.0]), flush=True)
    for futility in (0.1, 0.2, 0.3):
        rule = bs.Tilt(1, effect=GAP, power=POWER, futility=futility)
        print(row(f"tilt 1, futility {futility}", rule, [0.0, GAP], [0.0, 0.0]), flush=True)
    five = bs.Tilt(3, effect=GAP, power=POWER)
    print(row("tilt 3, 5 arms", five, [0.0] * 4 + [GAP], [0.0] * 5, runs=MANY), flush=True)
    print("\n" + HEAD)
    for tilt in (1, 3, 8):
        for low, high in ((0.05, 0.06), (0.03, 0.033)):
            rule = bs.Tilt(tilt, effect=high - low, power=POWER, baseline=low)
            runs = RUNS if low > 0.04 else MANY
            more = {"outcome": bs.Bernoulli(), "runs": runs}
            name = f"{100 * low:g} % v {100 * high:g} %, tilt {tilt}"
            print(row(name, rule, [low, high], [low, low], **more), flush=True)
    guesses = (None, 0.02, 0.15)
    for guess in guesses:
        rule = bs.Tilt(3, effect=0.01, power=POWER, baseline=guess, futility=0.2)
        more = {"outcome": bs.Bernoulli(), "runs": MANY}
        name = "no baseline" if guess is None else f"baseline {100 * guess:g} %"
        print(row(f"{name}, futility 0.2", rule, [0.05, 0.06], [0.05, 0.05], **more), flush=True)
    print("\n| error | horizon | information over an oracle's | power |\n|---|---|---|---|")
    for error in (0.05, 0.001):
        reach = exact_reach(error, POWER)
        for rule in (
            bs.Tilt(1, effect=GAP),
            bs.Tilt(1, effect=GAP, power=POWER),
            bs.Tilt(1, effect=GAP, power=POWER, futility=0.2),
            bs.Tilt(1, effect=GAP, reach=reach),
        ):
            found = played(rule, [0.0, GAP], error=error, runs=5 * RUNS)
            divergence = (1 - 2 * error) * math.log((1 - error) / error)
            used = float(found.decision_time.mean()) / 4 * GAP**2 / (2 * divergence)
            share = 100 * float((found.winner == 1).mean())
            print(f"| {error:g} | {rule!r} | {used:.3f} | {share:.1f} % |", flush=True)


def exact_reach(error: float, power: float) -> float:
    """Return the reach at which a flat boundary has this power, all looks counted."""
    height = normal_constant(error)
    return turning_point(
        lambda reach: conditional_power(height * reach, reach * reach) < power, 0.5, height + 4.0
    )


if __name__ == "__main__":
    main()
