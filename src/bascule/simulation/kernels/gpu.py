# mypy: disable-error-code="attr-defined,no-untyped-call,no-untyped-def"
"""Kernels for a GPU: each thread plays runs with the loops that a CPU plays them with.

The functions of `core` and the loops are compiled as they are; nothing is written twice. This
module loads Numba and is itself loaded when a GPU is asked for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import config, cuda
from numba.extending import overload

from bascule.core.procedures.interval_state import FloatArray
from bascule.simulation.kernels.compiled import Function, used_functions
from bascule.simulation.kernels.control import ALIVE, CONTROL_SIZE, STEPS, Kernel
from bascule.simulation.random.streams import WordArray, advance

_TWO_PI = np.float32(2.0 * math.pi)
_UNIT = np.float32(2.0**-24)
_HALF = np.float32(0.5)
_MINUS_TWO = np.float32(-2.0)
_HIGH, _LOW = np.uint64(40), np.uint64(0xFFFFFF)


UNFINISHED = -1
"""The steps of a run that outgrew the loop's table."""


def fill_single_normals(
    streams: WordArray,
    at: int,
    values: FloatArray,
    first: int,
    count: int,
    table: FloatArray,  # noqa: ARG001
) -> None:
    """Write the next `count` standard normals of the stream, in single precision, into `values`.

    Two at a time, by the method of Box and Muller, from 48 bits of one random word. Threads of a
    GPU that walk together never wait for each other here; none lies beyond 5.9.
    """
    a, b, c, counter = streams[at], streams[at + 1], streams[at + 2], streams[at + 3]
    for i in range(0, count, 2):
        word, a, b, c, counter = advance(a, b, c, counter)
        inside = (np.float32(word >> _HIGH) + _HALF) * _UNIT
        angle = np.float32(word & _LOW) * _UNIT * _TWO_PI
        length = math.sqrt(_MINUS_TWO * math.log(inside))
        values[first + i] = length * math.cos(angle)
        if i + 1 < count:
            values[first + i + 1] = length * math.sin(angle)
    streams[at] = a
    streams[at + 1] = b
    streams[at + 2] = c
    streams[at + 3] = counter


def build_kernel(play: Kernel, scratch: tuple[Any, ...], arms: int) -> Any:
    """Return the kernel in which each thread plays one run with a loop, by its number.

    `scratch` are arrays of the sizes and types that the loop works in; each thread has its own.
    """
    for function in (play, *used_functions(play)):
        _register(function)
    sizes = tuple(len(array) for array in scratch)
    if len(scratch) == 4:
        return _block_kernel(play, sizes, arms)
    return _interval_kernel(play, sizes, arms)


def _register(function: Function) -> None:
    if not config.ENABLE_CUDASIM and function not in _REGISTERED:
        overload(function, strict=False, target="cuda")(lambda *_: function)
        _REGISTERED.add(function)


_REGISTERED: set[Function] = set()


def _block_kernel(play: Kernel, sizes: tuple[int, ...], arms: int) -> Any:
    state_size, words, slot_count, noise_count = sizes

    def kernel(seed, numbers, settings, times, winners, counts, steps) -> None:
        row = cuda.grid(1)
        if row < numbers.size:
            state = cuda.local.array(state_size, np.float64)
            streams = cuda.local.array(words, np.uint64)
            slots = cuda.local.array(slot_count, np.int64)
            noise = cuda.local.array(noise_count, np.float64)
            control = cuda.local.array(CONTROL_SIZE, np.int64)
            for i in range(CONTROL_SIZE):
                control[i] = 0
            play(
                state,
                streams,
                slots,
                noise,
                arms,
                seed,
                numbers[row],
                1,
                *settings,
                times[row : row + 1],
                winners[row : row + 1],
                counts[row * arms : (row + 1) * arms],
                control,
            )
            steps[row] = control[STEPS] if control[ALIVE] == 0 else UNFINISHED

    return cuda.jit(kernel)


def _interval_kernel(play: Kernel, sizes: tuple[int, ...], arms: int) -> Any:
    state_size, words, row_count, unit_count, noise_count = sizes

    def kernel(seed, numbers, settings, times, winners, counts, steps) -> None:
        row = cuda.grid(1)
        if row < numbers.size:
            state = cuda.local.array(state_size, np.float64)
            streams = cuda.local.array(words, np.uint64)
            rows = cuda.local.array(row_count, np.int64)
            units = cuda.local.array(unit_count, np.int64)
            noise = cuda.local.array(noise_count, np.float64)
            control = cuda.local.array(CONTROL_SIZE, np.int64)
            for i in range(CONTROL_SIZE):
                control[i] = 0
            play(
                state,
                streams,
                rows,
                units,
                noise,
                arms,
                seed,
                numbers[row],
                1,
                *settings,
                times[row : row + 1],
                winners[row : row + 1],
                counts[row * arms : (row + 1) * arms],
                control,
            )
            steps[row] = control[STEPS] if control[ALIVE] == 0 else UNFINISHED

    return cuda.jit(kernel)
