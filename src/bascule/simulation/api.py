"""`simulate`: what a design would do, played many times."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from bascule.core import checks
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.gaps import checked_means
from bascule.simulation.engines.choose import runs_of
from bascule.simulation.engines.feasible import check_feasible
from bascule.simulation.engines.threads import Progress, available_threads, play_all
from bascule.simulation.random.streams import checked_seed
from bascule.simulation.random.unit_draws import ShapeName
from bascule.simulation.recurrent.engines import EngineName
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
    world = world_of(design, means, world)
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
    # Where the lowest mean is the best, the reflected world is played for the highest.
    turned = design.increasing, reflected_world(design, world)
    check_feasible(*turned)
    started = time.perf_counter()
    played = runs_of(*turned, seed, runs, engine, shape)
    effort = play_all(played, runs, threads, progress)
    return Simulation(
        design=design,
        world=world,
        seed=seed,
        winner=played.winners,
        decision_time=played.times,
        regret=played.regret,
        units=played.units,
        steps=effort.steps,
        seconds=time.perf_counter() - started - effort.compile_seconds,
        compile_seconds=effort.compile_seconds,
        engine=played.engine,
        accuracy=played.accuracy,
    )


def reflected_world(design: Design, world: World) -> World:
    """Return the world that the increasing form of a design meets."""
    return world if design.goal == "increase" else world.reflected(design.outcome)


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
        lowest = design.goal == "decrease"
        world = base if world is None else named_world(world, base, outcome, lowest)
    else:
        raise InputError("world", f"world must be a World, a dict or a name (got {world!r})")
    written_out = world.for_outcome(outcome, arms)
    if outcome.recurring and not world.plain_for(outcome):
        raise InputError(
            "world",
            f"Recurrent outcomes are simulated in a steady world, not with {world.words}: "
            "give means alone",
        )
    # Limits alone do not say how outcomes fall within them, so the result has to.
    return written_out if outcome.variance(world.start[0]) is None else world


def _once(own: object, means: Sequence[float] | None) -> Sequence[float] | None:
    if own is not None:
        raise InputError("means", "means are given twice: leave them out here or in the world")
    return means
