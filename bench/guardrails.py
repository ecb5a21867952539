"""`python -m bench.guardrails`: what guardrails do at their margin, at a harm, and without one.

The primary metric has a clear winner; all metrics are normal with spread 1. The figures are in
docs/explanation/guardrails.md.
"""

from __future__ import annotations

import sys
from statistics import median

import bascule as bs

MARGIN, ERROR, CAP = 0.5, 0.05, 800
WORLDS = {"at the margin": -MARGIN, "unchanged": 0.0, "harmed by twice the margin": -2 * MARGIN}


def design(tilt: float) -> bs.Design:
    """Two arms, one guardrail."""
    metric = bs.Metric("guard", bs.Gaussian(1), margin=MARGIN, error=ERROR)
    return bs.Design(
        ["control", "green"],
        bs.Gaussian(1),
        bs.Tilt(tilt),
        metrics=[metric],
        harm_error=ERROR,
        max_units=CAP,
    )


def main(runs: int = 400, *tilts: int) -> None:
    """Print a line for each tilt and world."""
    print("tilt | green's guardrail | shipped | removed | median units | undecided")
    for tilt in tilts or (1, 3, 8):
        for name, shift in WORLDS.items():
            played = bs.simulate(
                design(tilt), [0.0, 0.5], runs=runs, seed=7, metrics={"guard": [0.0, shift]}
            )
            assert played.guarded is not None
            shipped, removed = (played.winner == 1).mean(), played.guarded.by_harm.mean()
            units = median(played.decision_time.tolist())
            shares = f"{shipped:.3f} | {removed:.3f} | {units:.0f} | {played.undecided / runs:.3f}"
            print(f"{tilt:g} | {name} | {shares}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
