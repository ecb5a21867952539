"""Plays the runs of a simulation on a GPU."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from bascule.core import checks
from bascule.core.errors import InputError
from bascule.simulation.engines.blocks import BlockRuns
from bascule.simulation.engines.intervals import IntervalRuns
from bascule.simulation.engines.runs import Runs
from bascule.simulation.engines.threads import Effort, Progress
from bascule.simulation.random.draws import NORMAL, Draws

Device = Literal["cpu", "cuda"]
Precision = Literal["single", "double"]

MOST_ARMS = 8
"""Arms whose state fits into what a thread of a GPU has close by."""

THREADS = 128
"""Threads of a group: enough to hide latency with the registers that a loop takes."""

CHUNK = 1 << 22
"""Runs started at a time, between which progress is told and an interruption is heard."""

_DEVICE: ContextVar[Device] = ContextVar("device", default="cpu")


@contextmanager
def use_device(device: Device) -> Iterator[None]:
    """Play all simulations inside a `with` block on a device, "cpu" or "cuda"."""
    checks.choice("device", device, get_args(Device))
    before = _DEVICE.set(device)
    try:
        yield
    finally:
        _DEVICE.reset(before)


def current_device() -> Device:
    """Return the device that `use_device` set."""
    return _DEVICE.get()


def check_gpu(played: Runs) -> BlockRuns | IntervalRuns:
    """Return runs that a GPU can play; refuse others, and machines without a GPU."""
    try:
        from numba import cuda

        there = bool(cuda.is_available())  # type: ignore[no-untyped-call]
    except ImportError:
        there = False
    if not there:
        raise InputError(
            "device",
            'device="cuda" needs an NVIDIA GPU and its driver, which are not here (and '
            "pip install 'bascule[cuda]'): leave it out to use the CPU",
        )
    if not isinstance(played, BlockRuns | IntervalRuns) or played.arms > MOST_ARMS:
        raise InputError(
            "device",
            f"a GPU plays UCB, even splits and tilted blocks with 2 to {MOST_ARMS} arms on normal "
            "or 0/1 outcomes in a steady world: leave device out to use the CPU",
        )
    return played


def play_on_gpu(
    played: BlockRuns | IntervalRuns,
    runs: int,
    precision: Precision = "single",
    progress: Progress | None = None,
) -> Effort:
    """Play every run on the GPU, a thread each, into the columns of `played`.

    Normals are drawn in single precision, and the sum of an arm's outcomes in a block at once,
    unless `precision` is "double", which draws what a CPU draws. Everything else is computed in
    double precision.
    """
    from numba import cuda

    started = time.perf_counter()
    draws = played.draws
    by_sums = precision == "single" and played.can_draw_sums
    if precision == "single" and draws is NORMAL:
        draws = single_normals()
    kernel = _kernel(played, draws, by_sums)
    settings = tuple(
        cuda.to_device(each) if isinstance(each, np.ndarray) else each for each in played.settings()
    )
    steps = 0
    compile_seconds = 0.0
    for first in range(0, runs, CHUNK):
        count = min(CHUNK, runs - first)
        columns = played.columns(played.first_run + first, count)
        on_gpu = [cuda.to_device(column) for column in columns]
        units = cuda.device_array(count, np.int64)
        threads = min(THREADS, count)
        kernel[-(-count // threads), threads](
            played.seed, played.first_run + first, count, settings, *on_gpu, units
        )
        cuda.synchronize()  # type: ignore[no-untyped-call]
        if first == 0:
            compile_seconds = time.perf_counter() - started
        for column, there in zip(columns, on_gpu, strict=True):
            there.copy_to_host(column)
        steps += int(units.copy_to_host().sum())
        if progress is not None:
            progress(first + count)
    return Effort(steps, compile_seconds)


@lru_cache(maxsize=1)
def single_normals() -> Draws:
    """Return how normal outcomes are drawn in single precision."""
    from bascule.simulation.kernels.gpu import fill_single_normals

    return NORMAL._replace(fill=fill_single_normals)


_KERNELS: dict[tuple[Any, ...], Any] = {}
"""Kernels that were built, by what they are made of."""


def _kernel(played: BlockRuns | IntervalRuns, draws: Draws, by_sums: bool) -> Any:
    from bascule.simulation.kernels.gpu import build_kernel

    scratch = played.scratch()
    key = (*played.functions, draws, played.arms, by_sums, tuple(map(len, scratch)))
    if key not in _KERNELS:
        _KERNELS[key] = build_kernel(
            played.build(draws, played.arms, by_sums), scratch, played.arms
        )
    return _KERNELS[key]
