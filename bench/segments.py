"""`python -m bench.segments`: wrong decisions with segments, and regret beside one winner.

The figures are in docs/explanation/segments.md. `live` plays null worlds through a store.
"""

from __future__ import annotations

import random
import sys

import bascule as bs

CONVERSIONS = bs.Bernoulli()
BASE = 0.10
EFFECTS = (0.02, 0.01, 0.0, -0.01, -0.02)
POPULATIONS = (20_000, 100_000, 500_000)


def segmented(
    segments: int, arms: int, cap: int | None = None, outcome: bs.Outcome = CONVERSIONS
) -> bs.Design:
    """Return a design with so many segments; its error bounds both sides."""
    names = bs.Segments("place", [f"s{i}" for i in range(segments)])
    letters = ["a", "b", "c"][:arms]
    return bs.Design(
        letters,
        outcome,
        bs.Tilt(3),
        segments=names,
        sides=2,
        max_units=cap,
        reports="always",
    )


def null(runs: int) -> None:
    """Print how often any winner is declared where all arms are equal everywhere."""
    print("segments | arms | any winner declared (error 0.05)")
    for segments in (2, 5):
        for arms in (2, 3):
            design = segmented(segments, arms, 4000)
            means = {name: [0.3] * arms for name in design.by_segment}
            found = bs.simulate_segments(design, means, runs=runs, seed=1, engine="fast")
            print(f"{segments} | {arms} | {found.any_wrong}", flush=True)


def live(runs: int) -> None:
    """Print how often any winner is declared by a live test where all arms are equal."""
    print("segments | arms | tests with a winner in a store, of", runs)
    for segments in (2, 5):
        for arms in (2, 3):
            design, wrong = segmented(segments, arms, outcome=bs.Gaussian(1)), 0
            chance, names = random.Random(1), list(design.by_segment)
            with bs.open(":memory:", shuffle=random.Random(2).shuffle) as store:
                for run in range(runs):
                    test = store.create_segmented(f"t{run}", design)
                    for first in range(0, 300 * segments, 100):
                        units = range(first, first + 100)
                        test.assign_many(units, segments=[names[i % segments] for i in units])
                        test.record_many((i, chance.gauss(0.0, 1.0)) for i in units)
                    wrong += bool(test.status().decisions)
                assert run % 50 or all(one.agrees for one in test.verify())
            print(f"{segments} | {arms} | {wrong}", flush=True)


def regret(runs: int) -> None:
    """Print the regret of a population with two segments, and of one winner for everyone."""
    design = segmented(2, 2)
    print("effect in s1 | population | regret, segments | regret, one winner | last decided, units")
    for effect in EFFECTS:
        for population in POPULATIONS:
            means = {"s0": [BASE, BASE + 0.02], "s1": [BASE, BASE + effect]}
            found = bs.simulate_segments(
                design, means, runs=runs, seed=1, population=population, engine="fast"
            )
            print(
                f"{effect:+.2f} | {population:,} | {found.regret} | {found.whole_regret} | "
                f"{found.decision_time}",
                flush=True,
            )


def main(what: str = "regret", runs: str = "200") -> None:
    """Measure one of null, live and regret."""
    {"null": null, "live": live, "regret": regret}[what](int(runs))


if __name__ == "__main__":
    main(*sys.argv[1:])
