"""Play the runs of a simulation on threads, which can be interrupted at any moment."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import islice

from bascule.core.types import IntArray
from bascule.simulation.kernels.compiled import FINISHED, STEPS, STOP, new_control
from bascule.simulation.runs import Runs, naming_rule
from bascule.simulation.trace import steps_of

CHUNKS_PER_THREAD = 8
SMALLEST_CHUNK = 64
PROGRESS_SECONDS = 0.1

CALLED_RUNS, CALLED_UNITS = 5, 2000
"""Number of runs, and of units in each run, that are played uncompiled to find a division by
zero."""

Progress = Callable[[int], None]
"""A function that is called now and then with the number of finished runs."""

Stages = Callable[[str, int, int], None]
"""A function called with the name of a stage of work, the amount done, and the whole amount."""


@dataclass(frozen=True, slots=True)
class Effort:
    """The simulated units (`steps`), and the seconds that compiling and a GPU took."""

    steps: int
    compile_seconds: float
    kernel_seconds: float = 0.0
    """Seconds that a GPU computed, without the transfer of results."""


class Compiling:
    """A context that records when the compilation of loops began, for a progress bar."""

    def __init__(self) -> None:
        self._since: list[float] = []

    def __enter__(self) -> None:
        self._since.append(time.monotonic())

    def __exit__(self, *_: object) -> None:
        self._since.pop()

    @property
    def seconds(self) -> float:
        """Seconds since compilation began; 0 if nothing is being compiled."""
        return time.monotonic() - min(self._since) if self._since else 0.0


compiling = Compiling()
"""The compilation of loops in this process."""


def available_threads() -> int:
    """Return how many threads this process may use at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def play_all(played: Runs, runs: int, threads: int, progress: Progress | None = None) -> Effort:
    """Play every run on `threads` threads; return the simulated units and the compile time."""
    with naming_rule(played.label):
        try:
            return _play_all(played, runs, threads, progress)
        except ZeroDivisionError:
            _call_steps(played, runs)
            raise


def _call_steps(played: Runs, runs: int) -> None:
    """Play a few runs uncompiled: a division by zero in a rule's function then has a traceback."""
    design = replace(played.design, metrics=(), decides="primary")
    means = tuple(played.means.tolist())
    if design.procedure.supports("trace"):
        for run in range(min(runs, CALLED_RUNS)):
            steps = steps_of(design, means, int(played.seed), run)
            for _ in islice(steps, CALLED_UNITS):
                pass


def _play_all(played: Runs, runs: int, threads: int, progress: Progress | None) -> Effort:
    with compiling:
        started = time.perf_counter()
        played.play(0, 0, new_control())
        compile_seconds = time.perf_counter() - started
    threads = min(threads, runs)
    chunks = _chunks(runs, threads)
    lock = threading.Lock()

    def take_chunks(control: IntArray) -> None:
        while not control[STOP]:
            with lock:
                chunk = next(chunks, None)
            if chunk is None:
                return
            played.play(*chunk, control)

    controls = [new_control() for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        futures = {pool.submit(take_chunks, control) for control in controls}
        try:
            _watch(futures, controls, progress)
        except BaseException:
            # Stop the loops: otherwise leaving the pool would wait until all of them have finished.
            for control in controls:
                control[STOP] = 1
            raise
    return Effort(sum(int(control[STEPS]) for control in controls), compile_seconds)


def _watch(futures: set[Future[None]], controls: list[IntArray], progress: Progress | None) -> None:
    while futures:
        finished, futures = wait(futures, timeout=PROGRESS_SECONDS, return_when=FIRST_COMPLETED)
        if progress is not None:
            progress(sum(int(control[FINISHED]) for control in controls))
        for future in finished:
            future.result()


def _chunks(runs: int, threads: int) -> Iterator[tuple[int, int]]:
    # A few runs may take long: divide them evenly among all threads.
    smallest = min(SMALLEST_CHUNK, -(-runs // threads))
    size = max(smallest, -(-runs // (threads * CHUNKS_PER_THREAD)))
    for first in range(0, runs, size):
        yield first, min(size, runs - first)
