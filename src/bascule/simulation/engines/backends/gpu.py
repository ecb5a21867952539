"""Play the runs of a simulation on a GPU."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from bascule.core.errors import InputError, invalid
from bascule.core.inputs import checks
from bascule.core.types import IntArray
from bascule.simulation.engines.backends.threads import Effort, Progress
from bascule.simulation.kernels.blocks import BlockRuns
from bascule.simulation.kernels.intervals import IntervalRuns
from bascule.simulation.random import NORMAL, Draws
from bascule.simulation.runs import Runs

Device = Literal["cpu", "cuda"]
Precision = Literal["single", "double"]

MOST_ARMS = 8
"""Maximum number of arms whose state fits into the fast memory of a GPU thread."""

THREADS = 128
"""Number of threads in a block of the GPU: enough to hide latency, few enough for its registers."""

LONGER_TABLE = 4.0
"""Length of a table of radii relative to that on a CPU. It is longer, because all threads wait
while the runs that outgrow the table are played again."""

CHUNK = 1 << 22
"""Maximum number of runs started at a time; progress is reported when they have ended."""

_DEVICE: ContextVar[Device] = ContextVar("device", default="cpu")


@contextmanager
def use_device(device: Device) -> Iterator[None]:
    """Play all simulations inside a `with` block on a device, "cpu" or "cuda".

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
    >>> with use_device("cpu"):
    ...     bs.simulate(design, [0, 1], runs=10).runs
    10
    """
    checks.choice("device", device, get_args(Device))
    before = _DEVICE.set(device)
    try:
        yield
    finally:
        _DEVICE.reset(before)


def current_device() -> Device:
    """Return the device that `use_device` set; "cpu" if it was not called."""
    return _DEVICE.get()


def check_gpu(played: Runs) -> BlockRuns | IntervalRuns:
    """Return the runs; raise `InputError` if a GPU cannot play them, or if there is no GPU."""
    try:
        from numba import cuda

        is_available = bool(cuda.is_available())  # type: ignore[no-untyped-call]
    except ImportError:
        is_available = False
    if not is_available:
        raise invalid(
            'device="cuda" needs an NVIDIA GPU, its driver and '
            "pip install 'bascule[cuda]', and no such GPU was found: leave it out to use the CPU",
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
    """Play every run on the GPU, one thread per run; write results into the columns of `played`.

    With the `precision` "single", normals are drawn in single precision, and the outcomes of an arm
    in a block are drawn as one sum if the rule needs no more. With "double", the same numbers are
    drawn as on a CPU. Everything else is computed in double precision.
    """
    draws, by_sums = played.draws, False
    if precision == "single":
        draws = single_normals() if draws is NORMAL else draws
        by_sums = played.can_draw_sums
    if isinstance(played, IntervalRuns):
        played.lengthen_table(LONGER_TABLE)
    compiled, kernel_seconds, steps = np.zeros(2), 0.0, 0
    for first in range(0, runs, CHUNK):
        count = min(CHUNK, runs - first)
        numbers = np.arange(first, first + count) + played.first_run
        columns = played.columns(played.first_run + first, count)
        units, *taken = _launch(played, draws, by_sums, numbers, columns)
        again, unfinished = [0.0, 0.0], np.flatnonzero(units < 0)
        if len(unfinished):
            units[unfinished], *again = _finish(played, draws, unfinished, numbers, columns)
        steps += int(units.sum())
        # A start takes hardly any time unless it compiles the kernel, so the longest one counts as
        # compilation.
        compiled = np.maximum(compiled, [taken[0], again[0]])
        kernel_seconds += taken[1] + again[1]
        if progress is not None:
            progress(first + count)
    return Effort(steps, float(compiled.sum()), kernel_seconds)


def _launch(
    played: BlockRuns | IntervalRuns,
    draws: Draws,
    by_sums: bool,
    numbers: IntArray,
    columns: tuple[IntArray, IntArray, IntArray],
    endless: bool = False,
) -> tuple[IntArray, float, float]:
    """Play the runs with the given numbers, and write their results into columns.

    Return the units of each run, the seconds until the kernel was started, and the seconds for
    which it ran. The units are negative for a run that outgrew the table of radii; an `endless`
    kernel computes radii and needs no table.
    """
    from numba import cuda

    def on_gpu(value: Any) -> Any:
        if isinstance(value, tuple):
            return type(value)(*map(on_gpu, value)) if hasattr(value, "_fields") else value
        return cuda.to_device(value) if isinstance(value, np.ndarray) else value

    units = cuda.device_array(len(numbers), np.int64)
    arrays = [cuda.device_array(len(column), np.int64) for column in columns]
    threads = min(THREADS, len(numbers))
    arguments = (played.seed, on_gpu(numbers), tuple(map(on_gpu, played.settings(endless))))
    asked = time.perf_counter()
    kernel = _kernel(played, draws, by_sums, endless)
    kernel[-(-len(numbers) // threads), threads](*arguments, *arrays, units)
    started = time.perf_counter()
    cuda.synchronize()  # type: ignore[no-untyped-call]
    ended = time.perf_counter()
    for column, values in zip(columns, arrays, strict=True):
        values.copy_to_host(column)
    taken: IntArray = units.copy_to_host()
    return taken, started - asked, ended - started


def _finish(
    played: BlockRuns | IntervalRuns,
    draws: Draws,
    unfinished: IntArray,
    numbers: IntArray,
    columns: tuple[IntArray, IntArray, IntArray],
) -> tuple[IntArray, float, float]:
    """Play again, from the start and without a table of radii, the runs that outgrew the table.

    Return the same values as `_launch`.
    """
    arms, count = played.arms, len(unfinished)
    again = (np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count * arms, np.int64))
    played_again = _launch(played, draws, False, numbers[unfinished], again, endless=True)
    times, winners, counts = columns
    times[unfinished], winners[unfinished] = again[0], again[1]
    counts.reshape(-1, arms)[unfinished] = again[2].reshape(-1, arms)
    return played_again


@lru_cache(maxsize=1)
def single_normals() -> Draws:
    """Return how normal outcomes are drawn in single precision."""
    from bascule.simulation.kernels.gpu import fill_single_normals

    return NORMAL._replace(fill=fill_single_normals)


_KERNELS: dict[tuple[Any, ...], Any] = {}
"""Kernels built so far, by everything that they depend on."""


def _kernel(played: BlockRuns | IntervalRuns, draws: Draws, by_sums: bool, endless: bool) -> Any:
    from bascule.simulation.kernels import gpu
    from bascule.simulation.kernels.two_arms import fits_registers

    scratch, arms = played.scratch(), played.arms
    shapes = tuple(array.shape for array in scratch)
    key = (*played.functions, draws, arms, by_sums, endless, shapes)
    if key not in _KERNELS:
        by_table = not endless and draws is single_normals()
        in_registers = by_table and isinstance(played, IntervalRuns)
        if in_registers and fits_registers(played.functions[0]):
            kernel = gpu.build_register_kernel(played.functions[0], arms)
        else:
            kernel = gpu.build_kernel(played.build(draws, by_sums, endless), scratch, arms)
        _KERNELS[key] = kernel
    return _KERNELS[key]
