"""Units whose outcomes keep coming: what the sums of powers save against drawing every outcome."""

from __future__ import annotations

from functools import partial

import numpy as np

import bascule as bs
from bascule.simulation.recurrent.runs import EngineName
from bench.measure import Figure, compare, core_seconds

MILLION = 1_000_000


def _seconds_a_run(units: int, runs: int, engine: EngineName = "fast") -> float:
    """Seconds of one of many runs to the cap, on arms without a difference: UCB-MM_2, two arms."""
    design = bs.Design(
        ["a", "b"], bs.Recurrent(1, 1), bs.UCB(2), error=0.05, sides=1, max_units=units
    )

    def play() -> None:
        bs.simulate(design, [0.0, 0.0], runs=runs, seed=1, threads=1, engine=engine)

    return core_seconds(play) / runs


def _numpy_seconds(stages: int) -> float:
    """Seconds of as many stages in NumPy: all outcomes of a stage drawn in one call."""
    generator = np.random.default_rng(0)
    arms, totals = np.arange(stages) % 2, np.zeros(stages)
    means = generator.normal(size=stages)

    def draw() -> None:
        for stage in range(1, stages + 1):
            totals[:stage] += means[:stage] + generator.normal(size=stage)
            own = totals[:stage] / np.arange(stage, 0, -1)
            np.bincount(arms[:stage], own, minlength=2)

    return core_seconds(draw)


def _million_normals_seconds() -> float:
    generator, buffer = np.random.default_rng(0), np.empty(MILLION)
    return core_seconds(lambda: generator.standard_normal(out=buffer))


def figures() -> list[Figure]:
    """Every figure of units."""
    for engine in ("fast", "plain"):
        _seconds_a_run(6, 1, engine)
    ratios = [
        compare(
            f"drawing every outcome, {stages:,} stages",
            partial(_seconds_a_run, stages, plain_runs, "plain"),
            partial(_seconds_a_run, stages, fast_runs),
            target=f">= {target}",
            unit="s a run",
            against="sums of powers",
            rounds=3,
        )
        for stages, plain_runs, fast_runs, target in ((1000, 20, 300, 15), (20_000, 1, 20, 500))
    ]
    return [
        *ratios,
        compare(
            "drawing every outcome with NumPy, 1,000 stages",
            partial(_numpy_seconds, 1000),
            partial(_seconds_a_run, 1000, 300),
            unit="s a run",
            against="sums of powers",
            rounds=3,
        ),
        compare(
            "a run with a million units",
            partial(_seconds_a_run, MILLION, 1),
            _million_normals_seconds,
            target="<= 800",
            unit="s",
            against="a million normals from NumPy (0.012 s where 800 is 10 s)",
            rounds=3,
        ),
        compare(
            "a stage at a million units",
            lambda: _seconds_a_run(MILLION, 1) / MILLION,
            lambda: _seconds_a_run(10_000, 50) / 10_000,
            target="<= 2.0",
            unit="s",
            against="a stage at 10,000 units",
            rounds=3,
        ),
    ]
