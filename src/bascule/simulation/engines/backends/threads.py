"""Plays the runs of a simulation on all threads, and can be interrupted at any moment."""

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
"""What is played uncompiled to find the function that divides by zero."""

Progress = Callable[[int], None]
"""Called now and then with the number of finished runs."""

Stages = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class Effort:
    """What playing took."""

    steps: int
    compile_seconds: float
    kernel_seconds: float = 0.0
    """How long a GPU computed, without the time that results take to travel."""


class Compiling:
    """Whether a loop is being compiled, or read from the disk, for a bar that shows it."""

    def __init__(self) -> None:
        self._since: list[float] = []

    def __enter__(self) -> None:
        self._since.append(time.monotonic())

    def __exit__(self, *_: object) -> None:
        self._since.pop()

    @property
    def seconds(self) -> float:
        """How long it has taken so far; 0 if there is nothing to compile."""
        return time.monotonic() - min(self._since) if self._since else 0.0


compiling = Compiling()
"""The loops of this process."""


def available_threads() -> int:
    """How many threads this process may use at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def play_all(played: Runs, runs: int, threads: int, progress: Progress | None = None) -> Effort:
    """Play every run on `threads` threads."""
    with naming_rule(played.label):
        try:
            return _play_all(played, runs, threads, progress)
        except ZeroDivisionError:
            _call_steps(played, runs)
            raise


def _call_steps(played: Runs, runs: int) -> None:
    """Play a few runs uncompiled: an error in a function of a rule then says where it is."""
    design = replace(played.design, metrics=(), decides="primary")
    means = tuple(played.means.tolist())
    if design.procedure.counts != "stages":
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
            # Tell the loops to stop, or leaving the pool would wait for them to the end.
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
    # Few runs may be long ones: every thread gets its part of them.
    smallest = min(SMALLEST_CHUNK, -(-runs // threads))
    size = max(smallest, -(-runs // (threads * CHUNKS_PER_THREAD)))
    for first in range(0, runs, size):
        yield first, min(size, runs - first)
