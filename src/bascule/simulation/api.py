"""`simulate`: what a design would do, played many times."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from bascule.core import checks
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.gaps import checked_means, gaps_of
from bascule.core.outcomes import Bounded, Recurrent
from bascule.core.rules import Static, Tilt
from bascule.core.rules.base import known_spread
from bascule.simulation.engines.blocks import BlockRuns
from bascule.simulation.engines.feasible import check_feasible
from bascule.simulation.engines.intervals import IntervalRuns
from bascule.simulation.engines.static import StaticRuns
from bascule.simulation.engines.threads import Progress, available_threads, play_all
from bascule.simulation.engines.worlds import WorldBlockRuns, WorldIntervalRuns
from bascule.simulation.random.streams import checked_seed
from bascule.simulation.random.unit_draws import ShapeName
from bascule.simulation.recurrent.engines import Engine, EngineName, Fast, Plain
from bascule.simulation.recurrent.runs import UnitRuns
from bascule.simulation.result import Simulation
from bascule.simulation.worlds.named_worlds import named_world
from bascule.simulation.worlds.world import World

MOST_CELLS = 200_000_000
"""Runs times arms that fit into memory on any machine."""

MOST_THREADS = 1024


def simulate(
    design: Design,
    means: Sequence[float] | None = None,
    runs: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    world: World | Mapping[str, Any] | str | None = None,
    *,
    engine: EngineName | None = None,
    shape: ShapeName = "normal",
) -> Simulation:
    """Play a design `runs` times on arms with these means, or in a world that has them.

    A `world` is a `World`, the same as plain data, or the name of one together with means. Run k of
    a seed draws the same numbers whatever the number of threads. An interruption raises and gives
    no result. With `Recurrent` outcomes the engine is "fast", whose cost does not grow with the
    number of units, or "plain", which draws every outcome. Units and noise are normal unless their
    `shape` is "signs" or "uniform", which takes the plain engine.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05)
    >>> result = bs.simulate(design, means=[0.0, 1.0], runs=200, seed=1)
    >>> result.error_rate <= 0.05
    True
    """
    met = world_of(design, means, world)
    arms = len(design.arms)
    runs = checks.whole("runs", runs, 1, "1000 is a good start")
    if runs * arms > MOST_CELLS:
        raise InputError(
            "runs",
            f"runs must be at most {MOST_CELLS // arms} with {arms} arms "
            f"(got {runs}): play several seeds instead",
        )
    seed = checked_seed(seed)
    if threads is None:
        threads = available_threads()
    threads = checks.whole("threads", threads, 1, "leave it out to use every core", MOST_THREADS)
    check_feasible(design, met)
    way = _engine(design, engine, shape)
    started = time.perf_counter()
    played = _runs_of(design, met, seed, runs, way)
    effort = play_all(played, runs, threads, progress)
    units = played.counts.reshape(runs, arms)
    return Simulation(
        design=design,
        world=met,
        seed=seed,
        winner=played.winners,
        decision_time=played.times,
        regret=(
            played.regrets
            if isinstance(played, WorldIntervalRuns | WorldBlockRuns)
            else units @ np.array(gaps_of(met.start))
        ),
        units=units,
        steps=effort.steps,
        seconds=time.perf_counter() - started - effort.compile_seconds,
        compile_seconds=effort.compile_seconds,
        engine=played.engine.name if isinstance(played, UnitRuns) else None,
        accuracy=played.accuracy if isinstance(played, UnitRuns) else 0.0,
    )


def world_of(
    design: Design,
    means: Sequence[float] | None,
    world: World | Mapping[str, Any] | str | None = None,
) -> World:
    """The world that means, a world, or both describe, checked against the design.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05)
    >>> world_of(design, [0, 1], {"batch": 50}).words
    'batches of 50'
    """
    arms, outcome = len(design.arms), design.outcome
    if means is not None:
        means = checked_means(means, arms, outcome)
    if isinstance(world, Mapping):
        world = World.from_dict(
            world if means is None else {**world, "means": _once(world.get("means"), means)}
        )
    elif isinstance(world, World):
        _once(world if means is not None else None, means)
    elif world is None or isinstance(world, str):
        if means is None:
            raise InputError("means", "means are missing: give one number an arm, or a world")
        base = World(means)
        world = base if world is None else named_world(world, base, outcome)
    else:
        raise InputError("world", f"world must be a World, a dict or a name (got {world!r})")
    met = world.for_outcome(outcome, arms)
    if isinstance(outcome, Recurrent) and not world.plain_for(outcome):
        raise InputError(
            "world",
            f"Recurrent outcomes are simulated in a steady world, not with {world.words}: "
            "give means alone",
        )
    # Limits alone do not say how outcomes fall within them, so the result has to.
    return met if isinstance(outcome, Bounded) else world


def _once(own: object, means: Sequence[float] | None) -> Sequence[float] | None:
    if own is not None:
        raise InputError("means", "means are given twice: leave them out here or in the world")
    return means


def _engine(design: Design, engine: EngineName | None, shape: ShapeName) -> Engine | None:
    """How to play units whose outcomes keep coming; None if they come once."""
    checks.choice("shape", shape, get_args(ShapeName))
    if engine is not None:
        checks.choice("engine", engine, get_args(EngineName))
    if isinstance(design.rule, Static):
        if engine is not None or shape != "normal":
            raise InputError("engine", "engine and shape do not go with Static: leave them out")
        return None
    if not isinstance(design.outcome, Recurrent):
        if engine is not None or shape != "normal":
            raise InputError(
                "engine",
                f"engine and shape belong to Recurrent outcomes, not to {design.outcome!r}: "
                "leave them out",
            )
        return None
    weight = design.paper_rule.unit_shape(len(design.arms)).weight
    if engine == "plain" or (engine is None and shape != "normal"):
        return Plain(design.outcome, weight, shape)
    if shape != "normal":
        raise InputError(
            "engine", f'the fast engine is for normal units, not for "{shape}": use engine="plain"'
        )
    return Fast(design.outcome, weight)


def _runs_of(
    design: Design, world: World, seed: int, runs: int, engine: Engine | None
) -> IntervalRuns | BlockRuns | WorldIntervalRuns | WorldBlockRuns | UnitRuns | StaticRuns:
    rule, outcome, arms = design.rule, design.outcome, len(design.arms)
    if isinstance(rule, Static):
        return StaticRuns(design, rule, world.start, seed, runs)
    if engine is not None:
        return UnitRuns(design, engine, world.start, seed, runs)
    met = world.for_outcome(outcome, arms)
    # The quick loops know normal and 0/1 outcomes, and decisions by intervals that depend on
    # units alone.
    quick = world.plain_for(outcome) and not isinstance(outcome, Bounded)
    if isinstance(rule, Tilt):
        if quick:
            return BlockRuns(design, rule, world.start, seed, runs)
        return WorldBlockRuns(design, rule, met, seed, runs)
    by_units = rule.shape(outcome, arms).spread_of is known_spread and design.min_effect is None
    if quick and by_units:
        return IntervalRuns(design, rule, world.start, seed, runs)
    return WorldIntervalRuns(design, rule, met, seed, runs)
