"""`simulate`: play a design many times on random outcomes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import InputError, invalid, with_article
from bascule.core.gaps import checked_means
from bascule.core.inputs import checks
from bascule.simulation.engines.backends.cluster import (
    PlayedColumns,
    Task,
    chunk_answers,
    current_executor,
)
from bascule.simulation.engines.backends.gpu import (
    Device,
    Precision,
    check_gpu,
    current_device,
    play_on_gpu,
)
from bascule.simulation.engines.backends.threads import (
    Effort,
    Progress,
    available_threads,
    play_all,
)
from bascule.simulation.engines.choose import runs_of
from bascule.simulation.feasible import check_feasible, check_simulated
from bascule.simulation.guardrails import GuardedRuns, metric_means
from bascule.simulation.random import checked_seed
from bascule.simulation.recurrent.runs import EngineName, check_units_world
from bascule.simulation.result import Simulation
from bascule.simulation.worlds.named_worlds import named_world
from bascule.simulation.worlds.world import World

MOST_CELLS = 200_000_000
"""Maximum of runs times arms, so that the result fits into the memory of any machine."""

MOST_THREADS = 1024


def simulate(
    design: Design,
    means: Sequence[float | str] | None = None,
    runs: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    world: World | Mapping[str, Any] | str | None = None,
    *,
    engine: EngineName | None = None,
    executor: Executor | None = None,
    metrics: Mapping[str, Sequence[float]] | None = None,
    device: Device | None = None,
    precision: Precision = "single",
) -> Simulation:
    """Simulate a design `runs` times on arms with these means, or in a world.

    Run k of a seed draws the same numbers whatever the number of threads. An interruption raises
    `KeyboardInterrupt`, without a result. If the cap is so small that hardly any run would decide,
    `bascule.design.InfeasibleError`, an `InputError`, is raised.

    Parameters
    ----------
    design
        The design to simulate.
    means
        The mean of each arm, as 0.05 or "5%"; leave them out if `world` has them. If the best means
        are equal, the design needs something that ends a test of them, such as `max_units`.
    runs
        Number of runs.
    seed
        Seed of the random numbers.
    threads
        Number of threads; all cores if not given.
    progress
        Called now and then with the number of finished runs.
    world
        A `World`, the same as plain data, or a name, which needs `means`. With its `units_per_day`
        the simulation includes the window and the calendar of the design.
    engine
        "plain" draws every outcome. "fast" is for `Recurrent` outcomes, where its cost does not
        grow with the number of units, and for rules in blocks, where it draws the sum of an arm's
        outcomes in a block at once, with the same distribution; this needs normal or 0/1 outcomes
        and a world of means alone. If not given, every outcome is drawn, except that `Recurrent`
        outcomes in a steady world are played as with "fast". With guardrails, "plain" runs the
        usual loop uncompiled, with the same result.
    executor
        An executor of `concurrent.futures`, or of a Dask client, instead of threads; the result is
        the same.
    metrics
        The means of the arms on each other metric of the design. Metrics are drawn independently. A
        metric that is left out has its `baseline` as the mean of every arm, which it then needs. In
        a world with `units_per_day`, a guardrail whose window is shorter than that of the primary
        metric counts after its own window, unless the design has `min_days`, `whole_weeks` or
        `measure_on`.
    device
        "cuda" for a GPU, "cpu" for the processor; that of `use_device` if not given.
    precision
        On a GPU, "double" draws the same numbers as a CPU. "single" is faster: normal outcomes have
        single precision, and the outcomes of an arm in a block are drawn as one sum if possible.

    Examples
    --------
    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05)
    >>> result = bs.simulate(design, means=[0.0, 1.0], runs=200, seed=1)
    >>> result.error_rate <= 0.05
    True

    """
    if not isinstance(design, Design):
        raise invalid(
            f"design must be a Design (got {with_article(type(design).__name__)}): the design of "
            "a plan is plan.design, and Design.load(path) reads a design file",
        )
    world = world_of(design, means, world)
    arms = len(design.arms)
    runs = checks.whole("runs", runs, 1, "1000 is a good start")
    if runs * arms > MOST_CELLS:
        raise invalid(
            f"runs must be at most {MOST_CELLS // arms} with {arms} arms (got {runs}): simulate "
            "more runs in parts, with another seed each",
        )
    if metrics is not None and not design.metrics:
        raise invalid("metrics: the design has only the primary one: leave metrics out")
    if threads is None:
        threads = available_threads()
    threads = checks.whole("threads", threads, 1, "leave it out to use every core", MOST_THREADS)
    executor = current_executor() if executor is None else executor
    if not (executor is None or isinstance(executor, Executor)):
        raise invalid(
            f"executor must be one of concurrent.futures (got {executor!r:.60}); a Dask client "
            "gives one with client.get_executor()",
        )
    task = Task(design, world, checked_seed(seed), engine)
    check_feasible(*task.increasing)
    if device is not None:
        checks.choice("device", device, get_args(Device))
    checks.choice("precision", precision, get_args(Precision))
    started = time.perf_counter()
    on_gpu = (device or current_device()) == "cuda"
    guarded = None
    if design.metrics:
        if executor is not None:
            raise invalid("executor: designs with metrics are played on this machine")
        if on_gpu:
            raise InputError("device", "a GPU plays designs of one metric: leave device out here")
        guarded = GuardedRuns.empty(design.increasing, metric_means(design, metrics), runs)
    if executor is not None:
        result = _collected(task, runs, executor, progress)
    else:
        played = runs_of(*task.increasing, task.seed, runs, engine, guarded)
        if on_gpu:
            effort = play_on_gpu(check_gpu(played), runs, precision, progress)
        else:
            effort = play_all(played, runs, threads, progress)
        result = PlayedColumns.of(played, effort)
    taken = time.perf_counter() - started - result.effort.compile_seconds
    made = Simulation.of(task, result, max(0.0, taken))
    return made if guarded is None else replace(made, guarded=replace(guarded, design=design))


def _collected(
    task: Task, runs: int, executor: Executor, progress: Progress | None
) -> PlayedColumns:
    """Play runs on the workers of an executor, and join their columns in the order of the runs."""
    arms = len(task.design.arms)
    winners, times = np.empty(runs, np.int64), np.empty(runs, np.int64)
    regret, units = np.empty(runs), np.empty((runs, arms), np.int64)
    steps, compile_seconds, accuracy, engine = 0, 0.0, 0.0, task.engine
    for first, part in chunk_answers(executor, task, runs, progress):
        rows = slice(first, first + len(part.times))
        winners[rows], times[rows] = part.winners, part.times
        regret[rows], units[rows] = part.regret, part.units
        steps += part.effort.steps
        compile_seconds = max(compile_seconds, part.effort.compile_seconds)
        accuracy, engine = max(accuracy, part.accuracy), part.engine
    effort = Effort(steps, compile_seconds)
    return PlayedColumns(winners, times, regret, units, effort, engine, accuracy)


def world_of(
    design: Design,
    means: Sequence[float | str] | None,
    world: World | Mapping[str, Any] | str | None = None,
) -> World:
    """Return the world given by means, by a world, or by both; check it against the design.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05)
    >>> world_of(design, [0, 1], {"batch": 50}).words
    'batches of 50'
    """
    arms, outcome = len(design.arms), design.outcome
    checked = None if means is None else checked_means(means, arms, outcome)
    if isinstance(world, Mapping):
        world = World.from_dict(
            world if checked is None else {**world, "means": _once(world.get("means"), checked)}
        )
    elif isinstance(world, World):
        _once(world if checked is not None else None, checked)
    elif world is None or isinstance(world, str):
        if checked is None:
            raise invalid("means are missing: give one number per arm, or a world")
        base = World(checked)
        lowest = design.goal == "decrease"
        world = base if world is None else named_world(world, base, outcome, lowest)
    else:
        raise invalid(f"world must be a World, a dict or a name (got {world!r})")
    written_out = world.for_outcome(outcome, arms)
    check_simulated(design, world)
    if outcome.recurring:
        check_units_world(world, outcome)
    elif world.arrivals is not None:
        raise invalid(
            f"arrivals belongs to Recurrent outcomes, not to {outcome!r}: a unit with one outcome "
            "has the trend of its arrival anyway; give trend instead",
        )
    # Limits alone do not determine the distribution of outcomes, so the result states the noise.
    played = written_out if outcome.variance(world.start[0]) is None else world
    return played.with_window(_window(design)) if outcome.supports("window") else played


def _window(design: Design) -> float:
    """Return the seconds from a unit's assignment to its outcome; 0 if it comes at once."""
    return design.matures(0.0) or 0.0


def _once(own: object, means: Sequence[float] | None) -> Sequence[float] | None:
    if own is not None:
        raise invalid("means are given twice: leave them out here or in the world")
    return means
