"""`python -m bench.covariates`: what covariates save, and errors with useless ones and trends.

The figures of docs/explanation/covariates.md are what this prints. Seeds are fixed.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace

import bascule as bs

RUNS, NULL_RUNS, GAP, STORE_RUNS, STORE_UNITS = 6000, 4000, 0.2, 100, 2000


def design(tilt: float) -> bs.Design:
    """Normal outcomes with a covariate."""
    covariates = [bs.Covariate("x")]
    return bs.Design(["a", "b"], bs.Numeric(1.0), bs.Tilt(tilt), covariates=covariates)


def ratio(tilt: float, correlation: float, gap: float, runs: int) -> tuple[float, float, float]:
    """Units without the covariate and with it, and the standard error of their ratio."""
    plain = replace(design(tilt), covariates=None)
    without = bs.simulate(plain, [0.0, gap], runs=runs, seed=1).decision_time
    world = bs.World([0.0, gap], correlation=correlation)
    with_it = bs.simulate(design(tilt), world=world, runs=runs, seed=1).decision_time
    parts = [float(times.std() / times.mean()) / math.sqrt(runs) for times in (without, with_it)]
    return float(without.mean()), float(with_it.mean()), math.hypot(*parts)


def null_share(tilt: float, world: bs.World, runs: int) -> float:
    """The larger of the shares of tests in which either of two equal arms wins."""
    played = bs.simulate(replace(design(tilt), max_units=4000), world=world, runs=runs, seed=2)
    return max(float((played.winner == arm).mean()) for arm in (0, 1))


def in_store(tilt: float, correlation: float, runs: int) -> float:
    """As `null_share`, with units assigned by a live store and outcomes recorded in it."""
    wins = [0, 0]
    for run in range(runs):
        chance = random.Random(run)
        with bs.open(":memory:") as store:
            test = store.create("null", replace(design(tilt), reports="always"))
            for first in range(0, STORE_UNITS, 200):
                units = [str(i) for i in range(first, first + 200)]
                known = [{"x": chance.gauss(0.0, 1.0)} for _ in units]
                test.assign_many(units, covariates=known)
                rest = math.sqrt(1.0 - correlation**2)
                test.record_many(
                    (unit, correlation * x["x"] + rest * chance.gauss(0.0, 1.0))
                    for unit, x in zip(units, known, strict=True)
                )
                if test.state != "running":
                    break
            reached = test.status().decision
            if reached is not None and reached.arm is not None:
                wins[reached.arm] += 1
    return max(wins) / runs


def main() -> None:
    """Print what covariates save, and the errors."""
    for tilt in (1.0, 3.0):
        without, with_it, error = ratio(tilt, 0.7, GAP, RUNS)
        share = with_it / without
        print(f"tilt {tilt:g}: {without:.0f} -> {with_it:.0f}, {share:.3f} +- {share * error:.3f}")
        for name, world in (
            ("useless", bs.World([0, 0])),
            ("correlation .7", bs.World([0, 0], correlation=0.7)),
            ("and a trend", bs.World([0, 0], correlation=0.7, trend=bs.Trend("fading", -1, 500))),
        ):
            print(f"  null, {name}: {100 * null_share(tilt, world, NULL_RUNS):.1f} %", flush=True)
    share = in_store(1.0, 0.0, STORE_RUNS)
    print(f"null, useless, tilt 1, in a store: {100 * share:.1f} %", flush=True)
    conversions = replace(design(3.0), outcome=bs.Bernoulli(), covariates=[bs.Covariate("x", 0, 6)])
    plain = bs.simulate(replace(conversions, covariates=None), [0.3, 0.35], runs=600, seed=1)
    for correlation in (0.0, 0.4, 0.7):
        world = bs.World([0.3, 0.35], correlation=correlation)
        played = bs.simulate(conversions, world=world, runs=600, seed=1)
        share = played.decision_time.mean() / plain.decision_time.mean()
        print(f"conversions, correlation {correlation:g}: {share:.2f}")


if __name__ == "__main__":
    main()
