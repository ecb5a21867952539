"""`simulate`: what a design would do, played many times."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import get_args

from bascule.core import checks
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.gaps import checked_means
from bascule.core.outcomes import Recurrent
from bascule.core.rules import Static, Tilt
from bascule.simulate.block_runs import BlockRuns
from bascule.simulate.engine import Progress, available_threads, play_all
from bascule.simulate.feasible import check_feasible
from bascule.simulate.interval_runs import IntervalRuns
from bascule.simulate.result import Simulation
from bascule.simulate.static_runs import StaticRuns
from bascule.simulate.streams import checked_seed
from bascule.simulate.unit_engines import EngineName, Fast, Plain
from bascule.simulate.unit_runs import UnitRuns

MOST_CELLS = 200_000_000
"""Runs times arms that fit into memory on any machine."""

MOST_THREADS = 1024


def simulate(
    design: Design,
    means: Sequence[float],
    runs: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    *,
    engine: EngineName | None = None,
) -> Simulation:
    """Play a design `runs` times on arms with these means.

    Run k of a seed draws the same numbers whatever the number of threads. An interruption raises
    and gives no result. With `Recurrent` outcomes the engine is "fast", whose cost does not grow
    with the number of units, or "plain", which draws every outcome.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05)
    >>> result = bs.simulate(design, means=[0.0, 1.0], runs=200, seed=1)
    >>> result.error_rate <= 0.05
    True
    """
    means = checked_means(means, len(design.arms), design.outcome)
    runs = checks.whole("runs", runs, 1, "1000 is a good start")
    if runs * len(means) > MOST_CELLS:
        raise InputError(
            "runs",
            f"runs must be at most {MOST_CELLS // len(means)} with {len(means)} arms "
            f"(got {runs}): play several seeds instead",
        )
    seed = checked_seed(seed)
    if threads is None:
        threads = available_threads()
    threads = checks.whole("threads", threads, 1, "leave it out to use every core", MOST_THREADS)
    check_feasible(design, means)
    _check_engine(design, engine)
    started = time.perf_counter()
    played = _runs_of(design, means, seed, runs, engine)
    effort = play_all(played, runs, threads, progress)
    return Simulation(
        design=design,
        means=means,
        seed=seed,
        winner=played.winners,
        decision_time=played.times,
        units=played.counts.reshape(runs, len(means)),
        steps=effort.steps,
        seconds=time.perf_counter() - started - effort.compile_seconds,
        compile_seconds=effort.compile_seconds,
        engine=played.engine.name if isinstance(played, UnitRuns) else None,
        accuracy=played.accuracy if isinstance(played, UnitRuns) else 0.0,
    )


def _runs_of(
    design: Design, means: tuple[float, ...], seed: int, runs: int, engine: EngineName | None
) -> IntervalRuns | BlockRuns | UnitRuns | StaticRuns:
    if isinstance(design.rule, Tilt):
        return BlockRuns(design, design.rule, means, seed, runs)
    if isinstance(design.rule, Static):
        return StaticRuns(design, design.rule, means, seed, runs)
    if isinstance(design.outcome, Recurrent):
        weight = design.rule.unit_shape(len(means)).weight
        kind = Plain if engine == "plain" else Fast
        return UnitRuns(design, design.rule, kind(design.outcome, weight), means, seed, runs)
    return IntervalRuns(design, design.rule, means, seed, runs)


def _check_engine(design: Design, engine: str | None) -> None:
    if engine is None:
        return
    checks.choice("engine", engine, get_args(EngineName))
    if isinstance(design.rule, Static):
        raise InputError("engine", "engine does not go with Static, which has one: leave it out")
    if not isinstance(design.outcome, Recurrent):
        raise InputError(
            "engine",
            f"engine belongs to Recurrent outcomes, not to {design.outcome!r}: leave it out",
        )
