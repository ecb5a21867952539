"""Play the runs of a simulation on the workers of an executor, on this or other machines."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from bascule.core.design import Design
from bascule.core.types import FloatArray, IntArray
from bascule.simulation.engines.backends.threads import PROGRESS_SECONDS, Effort, Progress
from bascule.simulation.engines.choose import runs_of
from bascule.simulation.kernels.compiled import STEPS, new_control
from bascule.simulation.recurrent.runs import EngineName
from bascule.simulation.runs import Runs
from bascule.simulation.worlds.world import World

MOST_CHUNKS = 256
"""Maximum number of chunks into which runs are cut, unless `LARGEST_CHUNK` demands more."""

LARGEST_CHUNK = 200_000
"""Maximum number of runs in a chunk, so that its result is only a few megabytes."""

MOST_IN_FLIGHT = 64
"""Maximum number of unfinished chunks, so that unread results do not fill the memory."""

_EXECUTOR: ContextVar[Executor | None] = ContextVar("executor", default=None)


@contextmanager
def use_executor(executor: Executor | None) -> Iterator[None]:
    """Play all simulations inside a `with` block on the workers of an executor.

    It also applies to functions that simulate on their own: `plan`, `frontier`, `audit` and the
    paper's figures. With None, the threads of this program play them.

    >>> import bascule as bs
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
    >>> with ThreadPoolExecutor(2) as executor, use_executor(executor):
    ...     bs.simulate(design, [0, 1], runs=10).runs
    10
    """
    before = _EXECUTOR.set(executor)
    try:
        yield
    finally:
        _EXECUTOR.reset(before)


def current_executor() -> Executor | None:
    """Return the executor that `use_executor` set, or None."""
    return _EXECUTOR.get()


def reflected_world(design: Design, world: World) -> World:
    """Return the world for `design.increasing`: reflected if the design's goal is to decrease."""
    return world if design.goal == "increase" else world.reflected(design.outcome)


@dataclass(frozen=True, slots=True)
class Task:
    """The data that a worker needs to play runs of a simulation."""

    design: Design
    world: World
    seed: int
    engine: EngineName | None = None

    @property
    def increasing(self) -> tuple[Design, World]:
        """The design and world to play, both reflected if the lowest mean is the best."""
        return self.design.increasing, reflected_world(self.design, self.world)

    def play(self, first_run: int, runs: int) -> PlayedColumns:
        """Play `runs` runs from number `first_run` on, in one thread of this process."""
        started = time.perf_counter()
        played = runs_of(*self.increasing, self.seed, runs, self.engine)
        played.first_run = first_run
        played.play(first_run, 0, new_control())
        compile_seconds = time.perf_counter() - started
        control = new_control()
        played.play(first_run, runs, control)
        return PlayedColumns.of(played, Effort(int(control[STEPS]), compile_seconds))


@dataclass(frozen=True, slots=True)
class PlayedColumns:
    """Results of runs as plain arrays, with the steps and seconds that playing them took."""

    winners: IntArray
    times: IntArray
    regret: FloatArray
    units: IntArray
    effort: Effort
    engine: EngineName | None
    accuracy: float

    @classmethod
    def of(cls, played: Runs, effort: Effort) -> PlayedColumns:
        """Return the columns of runs that were played."""
        columns = (played.winners, played.times, played.regret, played.units)
        return cls(*columns, effort, played.engine, played.accuracy)


def chunk_answers(
    executor: Executor, task: Task, runs: int, progress: Progress | None = None
) -> Generator[tuple[int, PlayedColumns]]:
    """Play chunks of the runs on workers; yield each finished chunk's first run and columns.

    The chunks depend on the number of runs alone. On an interruption the chunks that no worker has
    begun are cancelled.
    """
    size = max(1, min(-(-runs // MOST_CHUNKS), LARGEST_CHUNK))
    firsts = iter(range(0, runs, size))
    under_way: dict[Future[PlayedColumns], int] = {}
    finished = 0
    try:
        while True:
            while len(under_way) < MOST_IN_FLIGHT and (first := next(firsts, None)) is not None:
                chunk = executor.submit(task.play, first, min(size, runs - first))
                under_way[chunk] = first
            if not under_way:
                return
            done, _ = wait(under_way, timeout=PROGRESS_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                first = under_way.pop(future)
                finished += min(size, runs - first)
                yield first, future.result()
            if progress is not None:
                progress(finished)
    finally:
        for future in under_way:
            future.cancel()
