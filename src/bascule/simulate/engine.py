"""Plays the runs of a simulation on all threads, and hands back what each run gave."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np

from bascule.core.arms import FloatArray, width
from bascule.core.design import Design
from bascule.core.gaps import rival_gaps
from bascule.simulate.compiled import compiled_kernel, compiled_table
from bascule.simulate.kernel import (
    ALIVE,
    BURST,
    CONTROL_SIZE,
    FINISHED,
    STEPS,
    STOP,
    WAITING,
    IntArray,
    Kernel,
)
from bascule.simulate.streams import WORDS, ziggurat_table
from bascule.theory import predict

UNITS_LIMIT = 10**9
"""A run that has no cap of its own is stopped here, undecided."""

SMALLEST_TABLE, LARGEST_TABLE = 1 << 14, 1 << 21
CHUNKS_PER_THREAD = 8
SMALLEST_CHUNK = 64
PROGRESS_SECONDS = 0.1

Progress = Callable[[int], None]
"""Told from time to time how many runs are finished."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What each run gave: one row a run."""

    times: IntArray
    winners: IntArray
    counts: IntArray
    steps: int
    compile_seconds: float


def available_threads() -> int:
    """How many threads this process may use at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def play_runs(
    design: Design,
    means: tuple[float, ...],
    runs: int,
    seed: int,
    threads: int,
    progress: Progress | None = None,
) -> Columns:
    """Play `runs` runs; the result depends on nothing but design, means and seed."""
    started = time.perf_counter()
    work = _Work(design, means, seed, runs)
    work.play(0, 0, np.zeros(CONTROL_SIZE, np.int64))
    compile_seconds = time.perf_counter() - started
    chunks = _chunks(runs, threads)
    lock = threading.Lock()

    def take_chunks(control: IntArray) -> None:
        while not control[STOP]:
            with lock:
                chunk = next(chunks, None)
            if chunk is None:
                return
            work.play(*chunk, control)

    controls = [np.zeros(CONTROL_SIZE, np.int64) for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        futures = {pool.submit(take_chunks, control) for control in controls}
        try:
            _watch(futures, controls, progress)
        except BaseException:
            # Tell the loops to stop, or leaving the pool would wait for them to the end.
            for control in controls:
                control[STOP] = 1
            raise
    steps = sum(int(control[STEPS]) for control in controls)
    counts = work.counts.reshape(runs, len(means))
    return Columns(work.times, work.winners, counts, steps, compile_seconds)


def _watch(futures: set[Future[None]], controls: list[IntArray], progress: Progress | None) -> None:
    while futures:
        done, futures = wait(futures, timeout=PROGRESS_SECONDS, return_when=FIRST_COMPLETED)
        if progress is not None:
            progress(sum(int(control[FINISHED]) for control in controls))
        for future in done:
            future.result()


def _chunks(runs: int, threads: int) -> Iterator[tuple[int, int]]:
    size = max(SMALLEST_CHUNK, -(-runs // (threads * CHUNKS_PER_THREAD)))
    for first in range(0, runs, size):
        yield first, min(size, runs - first)


def _lanes(arms: int) -> int:
    """Runs played at once: enough to hide latency, few enough to stay in the first cache."""
    return max(4, min(16, 256 // arms))


class _Work:
    """The numbers a loop needs, and the columns that the loops of all threads fill."""

    def __init__(self, design: Design, means: tuple[float, ...], seed: int, runs: int) -> None:
        arms = len(means)
        steps = design.rule.steps()
        self.arms = arms
        self.seed = np.uint64(seed)
        self.means = np.array(means)
        self.cap = design.max_units or UNITS_LIMIT
        shape = design.rule.shape(arms)
        delta = design.calibration.delta
        self.radius_of = (shape.factor, shape.count, delta)
        self.sigma = design.outcome.sigma
        self.alpha = design.rule.alpha
        self.tabulated: Kernel = compiled_kernel(steps, arms)
        self.endless: Callable[[], Kernel] = lambda: compiled_kernel(steps, arms, endless=True)
        self.radii = self._table(design, means)
        self.ziggurat = ziggurat_table()
        self.times = np.zeros(runs, np.int64)
        self.winners = np.zeros(runs, np.int64)
        self.counts = np.zeros(runs * arms, np.int64)

    def _table(self, design: Design, means: tuple[float, ...]) -> FloatArray:
        gaps = rival_gaps(means)
        wanted = float(self.cap) if min(gaps) == 0 else 8 * max(predict(design, gaps).units)
        size = int(min(max(wanted, SMALLEST_TABLE), self.cap, LARGEST_TABLE)) + 2 * BURST
        radii = np.empty(size)
        compiled_table()(radii, self.sigma, *self.radius_of)
        return radii

    def play(self, first_run: int, runs: int, control: IntArray) -> None:
        lanes = min(_lanes(self.arms), runs)
        here = slice(first_run, first_run + runs)
        cells = slice(first_run * self.arms, (first_run + runs) * self.arms)
        arguments = (
            np.empty(width(self.arms) * lanes),
            np.empty(WORDS * lanes, np.uint64),
            np.empty(lanes, np.int64),
            np.empty(lanes, np.int64),
            np.empty(BURST * lanes),
            self.arms,
            self.seed,
            first_run,
            runs,
            self.cap,
            self.means,
            self.sigma,
            self.alpha,
            *self.radius_of,
            self.radii,
            self.ziggurat,
            self.times[here],
            self.winners[here],
            self.counts[cells],
            control,
        )
        control[ALIVE] = control[WAITING] = 0
        self.tabulated(*arguments)
        while control[ALIVE] > 0 and not control[STOP]:
            self.endless()(*arguments)
            self.tabulated(*arguments)
