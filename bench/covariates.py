"""`python -m bench.covariates`: what covariates save, and errors with useless ones and trends.

The figures of docs/research/covariates.md are what this prints; `bench.honesty_metrics` has
null worlds in a live store. Seeds are fixed.
"""

from __future__ import annotations

import math
from dataclasses import replace

import bascule as bs

RUNS, NULL_RUNS, GAP = 6000, 4000, 0.2


def design(tilt: float) -> bs.Design:
    """Normal outcomes with a covariate."""
    covariates = [bs.Covariate("x")]
    return bs.Design(["a", "b"], bs.Numeric(1.0), bs.Tilt(tilt), sides=1, covariates=covariates)


def ratio(tilt: float, correlation: float, gap: float, runs: int) -> tuple[float, float, float]:
    """Units without the covariate and with it, and the standard error of their ratio."""
    plain = replace(design(tilt), covariates=None)
    without = bs.simulate(plain, [0.0, gap], runs=runs, seed=1).decision_time
    world = bs.worlds.World([0.0, gap], correlation=correlation)
    with_it = bs.simulate(design(tilt), world=world, runs=runs, seed=1).decision_time
    parts = [float(times.std() / times.mean()) / math.sqrt(runs) for times in (without, with_it)]
    return float(without.mean()), float(with_it.mean()), math.hypot(*parts)


def null_share(tilt: float, world: bs.worlds.World, runs: int) -> float:
    """The larger of the shares of tests in which either of two equal arms wins."""
    played = bs.simulate(replace(design(tilt), max_units=4000), world=world, runs=runs, seed=2)
    return max(float((played.winner == arm).mean()) for arm in (0, 1))


def main() -> None:
    """Print what covariates save, and the errors."""
    for tilt in (1.0, 3.0):
        without, with_it, error = ratio(tilt, 0.7, GAP, RUNS)
        share = with_it / without
        print(f"tilt {tilt:g}: {without:.0f} -> {with_it:.0f}, {share:.3f} +- {share * error:.3f}")
        for name, world in (
            ("useless", bs.worlds.World([0, 0])),
            ("correlation .7", bs.worlds.World([0, 0], correlation=0.7)),
            (
                "and a trend",
                bs.worlds.World([0, 0], correlation=0.7, trend=bs.worlds.Trend("fading", -1, 500)),
            ),
        ):
            print(f"  null, {name}: {100 * null_share(tilt, world, NULL_RUNS):.1f} %", flush=True)
    conversions = replace(design(3.0), outcome=bs.Bernoulli(), covariates=[bs.Covariate("x", 0, 6)])
    plain = bs.simulate(replace(conversions, covariates=None), [0.3, 0.35], runs=600, seed=1)
    for correlation in (0.0, 0.4, 0.7):
        world = bs.worlds.World([0.3, 0.35], correlation=correlation)
        played = bs.simulate(conversions, world=world, runs=600, seed=1)
        share = played.decision_time.mean() / plain.decision_time.mean()
        print(f"conversions, correlation {correlation:g}: {share:.2f}")


if __name__ == "__main__":
    main()
