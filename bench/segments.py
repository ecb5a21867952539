"""`python -m bench.segments`: wrong decisions with segments, and regret beside one winner.

The figures are in docs/research/segments.md. `live` plays null worlds through a store.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

import bascule as bs
from bascule.core.gaps import gaps_of
from bascule.core.types import FloatArray
from bascule.simulation import Estimate

CONVERSIONS = bs.Bernoulli()
BASE = 0.10
EFFECTS = (0.02, 0.01, 0.0, -0.01, -0.02)
POPULATIONS = (20_000, 100_000, 500_000)


def segmented(
    segments: int, arms: int, cap: int | None = None, outcome: bs.design.Outcome = CONVERSIONS
) -> bs.Design:
    """Return a design with so many segments; its error bounds both sides."""
    names = bs.Segments("place", [f"s{i}" for i in range(segments)])
    letters = ["a", "b", "c"][:arms]
    return bs.Design(
        letters,
        outcome,
        bs.Tilt(3),
        segments=names,
        max_units=cap,
        reports="always",
    )


def played(
    design: bs.Design, means: Mapping[str, Sequence[float]], runs: int, cap: int | None = None
) -> dict[str, bs.simulation.Simulation]:
    """Play the test of each segment, with a seed of its own."""
    return {
        name: bs.simulate(
            one if cap is None else replace(one, max_units=cap),
            means[name],
            runs,
            1000 + seed,
            engine="fast",
        )
        for seed, (name, one) in enumerate(design.by_segment.items())
    }


def served(one: bs.simulation.Simulation, gaps: Sequence[float], population: int) -> FloatArray:
    """Return the regret of a population, in the test and after it; the control if undecided."""
    lost = np.asarray(gaps)
    left = np.maximum(0.0, population - one.units.sum(axis=1))
    after = left * lost[np.where(one.winner >= 0, one.winner, 0)]
    total: FloatArray = one.units @ lost + after
    return total


def null(runs: int) -> None:
    """Print how often any winner is declared where all arms are equal everywhere."""
    print("segments | arms | any winner declared (error 0.05)")
    for segments in (2, 5):
        for arms in (2, 3):
            design = segmented(segments, arms, 4000)
            means = {name: [0.3] * arms for name in design.by_segment}
            found = played(design, means, runs)
            wrong = np.any([one.wrong for one in found.values()], axis=0).astype(float)
            print(f"{segments} | {arms} | {Estimate.of(wrong)}", flush=True)


def live(runs: int) -> None:
    """Print how often any winner is declared by a live test where all arms are equal."""
    print("segments | arms | tests with a winner in a store, of", runs)
    for segments in (2, 5):
        for arms in (2, 3):
            design, wrong = segmented(segments, arms, outcome=bs.Gaussian(1)), 0
            chance, names = random.Random(1), list(design.by_segment)
            with bs.open(":memory:", shuffle=random.Random(2).shuffle) as store:
                for run in range(runs):
                    tests = store.create_segments(f"t{run}", design).tests
                    for first in range(0, 300 * segments, 100 * segments):
                        for at, name in enumerate(names):
                            units = range(first + at, first + 100 * segments, segments)
                            tests[name].assign_many(units)
                            tests[name].record_many((i, chance.gauss(0.0, 1.0)) for i in units)
                    wrong += any(one.status().decision is not None for one in tests.values())
                assert run % 50 or all(one.verify().agrees for one in tests.values())
            print(f"{segments} | {arms} | {wrong}", flush=True)


def regret(runs: int) -> None:
    """Print the regret of a population with two segments, and of one winner for everyone."""
    design = segmented(2, 2)
    print("effect in s1 | population | regret, segments | regret, one winner | last decided, units")
    for effect in EFFECTS:
        for population in POPULATIONS:
            means = {"s0": [BASE, BASE + 0.02], "s1": [BASE, BASE + effect]}
            found = played(design, means, runs, population // 2)
            parts = [served(one, gaps_of(one.means), population // 2) for one in found.values()]
            mixed = np.mean([means[name] for name in found], axis=0).tolist()
            whole = bs.simulate(
                replace(design, segments=None, max_units=population),
                mixed,
                runs,
                2,
                engine="fast",
            )
            gaps = np.mean([gaps_of(one.means) for one in found.values()], axis=0)
            last = np.max([2 * one.decision_time for one in found.values()], axis=0)
            print(
                f"{effect:+.2f} | {population:,} | {Estimate.of(np.sum(parts, axis=0))} | "
                f"{Estimate.of(served(whole, gaps, population))} | {Estimate.of(last)}",
                flush=True,
            )


def main(what: str = "regret", runs: str = "200") -> None:
    """Measure one of null, live and regret."""
    {"null": null, "live": live, "regret": regret}[what](int(runs))


if __name__ == "__main__":
    main(*sys.argv[1:])
