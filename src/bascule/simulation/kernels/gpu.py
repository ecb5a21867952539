# mypy: disable-error-code="arg-type,assignment,attr-defined,no-untyped-call,no-untyped-def"
"""Kernels for a GPU, in which each thread plays one run, in most cases with the loop of a CPU.

The functions of `core` and the loops are compiled as they are; nothing is written twice. This
module loads Numba and is itself loaded when a GPU is asked for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import config, cuda
from numba.extending import overload

from bascule.core.course import fits
from bascule.core.procedures.intervals.state import Steps, highest
from bascule.core.types import NOBODY, FloatArray
from bascule.simulation.kernels.compiled import (
    ALIVE,
    CONTROL_SIZE,
    STEPS,
    Chunk,
    Function,
    Kernel,
    RunColumns,
    used_functions,
)
from bascule.simulation.kernels.two_arms import OUTGROWN
from bascule.simulation.random import WORDS, Word, WordArray, advance, keep_stream, seed_stream

if config.ENABLE_CUDASIM or not cuda.is_available():
    _cos, _sin, _log = math.cos, math.sin, math.log
else:
    # For the arguments here, the errors of these functions are below 5e-7, and they are several
    # times as fast as those of `math`.
    from numba.cuda.libdevice import fast_cosf as _cos
    from numba.cuda.libdevice import fast_logf as _log
    from numba.cuda.libdevice import fast_sinf as _sin

_TWO_PI = np.float32(2.0 * math.pi)
_UNIT = np.float32(2.0**-24)
_HALF = np.float32(0.5)
_MINUS_TWO = np.float32(-2.0)
_NOTHING = np.float32(0.0)
_HIGH, _LOW = np.uint64(40), np.uint64(0xFFFFFF)


UNFINISHED = -1
"""Stands for the number of steps of a run that outgrew the table of radii."""


def normal_pair(word: Word) -> tuple[float, float]:
    """Return two independent standard normals in single precision from 48 bits of a random word.

    The method is that of Box and Muller, in which the threads of a GPU never wait for each other.
    No value lies beyond 5.9.
    """
    inside = (np.float32(word >> _HIGH) + _HALF) * _UNIT
    angle = (np.float32(word & _LOW) * _UNIT - _HALF) * _TWO_PI
    # The logarithm of a number next to 1 may come out above 0.
    length = math.sqrt(max(_MINUS_TWO * _log(inside), _NOTHING))
    return length * _cos(angle), length * _sin(angle)


def fill_single_normals(
    streams: WordArray,
    at: int,
    values: FloatArray,
    first: int,
    count: int,
    table: FloatArray,  # noqa: ARG001
) -> None:
    """Write the next `count` standard normals of the stream, in single precision, into `values`.

    They come in pairs from `normal_pair`.
    """
    a, b, c, counter = streams[at], streams[at + 1], streams[at + 2], streams[at + 3]
    for i in range(0, count, 2):
        word, a, b, c, counter = advance(a, b, c, counter)
        normal, second_normal = normal_pair(word)
        values[first + i] = normal
        if i + 1 < count:
            values[first + i + 1] = second_normal
    keep_stream(streams, at, a, b, c, counter)


def build_kernel(play: Kernel, scratch: tuple[Any, ...], arms: int) -> Any:
    """Return the kernel in which thread i plays run `numbers[i]` with the loop `play`.

    `scratch` has five arrays with the shapes and types of the loop's work arrays, of which each
    thread gets its own.
    """
    for function in (play, *used_functions(play)):
        _register(function)
    shape_1, shape_2, shape_3, shape_4, shape_5 = (array.shape for array in scratch)
    type_1, type_2, type_3, type_4, type_5 = (array.dtype.type for array in scratch)

    def kernel(seed, numbers, settings, times, winners, counts, steps) -> None:
        row = cuda.grid(1)
        if row < numbers.size:
            control = cuda.local.array(CONTROL_SIZE, np.int64)
            for i in range(CONTROL_SIZE):
                control[i] = 0
            play(
                cuda.local.array(shape_1, type_1),
                cuda.local.array(shape_2, type_2),
                cuda.local.array(shape_3, type_3),
                cuda.local.array(shape_4, type_4),
                cuda.local.array(shape_5, type_5),
                arms,
                Chunk(seed, numbers[row], 1),
                *settings,
                RunColumns(
                    times[row : row + 1],
                    winners[row : row + 1],
                    counts[row * arms : (row + 1) * arms],
                    control,
                ),
            )
            steps[row] = control[STEPS] if control[ALIVE] == 0 else UNFINISHED

    return cuda.jit(kernel)


def _register(function: Function) -> None:
    if not config.ENABLE_CUDASIM and function not in _REGISTERED:
        overload(function, strict=False, target="cuda")(lambda *_: function)
        _REGISTERED.add(function)


_REGISTERED: set[Function] = set()


# A test of few arms in registers


def build_register_kernel(steps: Steps, arms: int) -> Any:
    """Return the kernel in which each thread plays one run and keeps the test in registers.

    The kernel is for rules that compare intervals, with normal outcomes in single precision. Arrays
    that are indexed by a number known only at run time cannot be in registers, but tuples can. So
    the numbers of a test are tuples with an item for each arm; joined together, they are read by
    the functions of the rule like an array.
    """
    score, decide = steps
    replaced = _replace_item(arms)
    for function in (advance, seed_stream, normal_pair, highest, score, decide, replaced):
        for used in (function, *used_functions(function)):
            _register(used)
    nothing, unbounded = (0.0,) * arms, (math.inf,) * arms

    def kernel(seed, numbers, settings, times, winners, counts, steps) -> None:
        row = cuda.grid(1)
        if row < numbers.size:
            first_setting = settings[0]
            max_units, means, sigma = (
                first_setting.max_units,
                first_setting.means,
                first_setting.sigma,
            )
            alpha, threshold, radii = (
                first_setting.alpha,
                first_setting.threshold,
                first_setting.radii,
            )
            streams = cuda.local.array(WORDS, np.uint64)
            seed_stream(streams, 0, seed, np.uint64(numbers[row]))
            a, b, c, counter = streams[0], streams[1], streams[2], streams[3]
            units, totals, scores, uppers = nothing, nothing, nothing, unbounded
            lowers = nothing
            unseen = score(0.0, math.inf, 0.0, alpha)
            for arm in range(arms):
                scores = replaced(scores, arm, unseen)
                lowers = replaced(lowers, arm, -math.inf)
            taken, winner, last = 0, NOBODY, float(radii.size - 1)
            while winner == NOBODY and fits(taken, 1, max_units):
                word, a, b, c, counter = advance(a, b, c, counter)
                normal, second_normal = normal_pair(word)
                for _ in range(2):
                    if winner == NOBODY and fits(taken, 1, max_units):
                        arm = highest(scores, arms)
                        count = units[arm] + 1.0
                        total = totals[arm] + means[arm] + sigma * normal
                        mean, wide = total / count, radii[np.uint64(count)]
                        units = replaced(units, arm, count)
                        totals = replaced(totals, arm, total)
                        scores = replaced(scores, arm, score(mean, wide, count, alpha))
                        lowers = replaced(lowers, arm, mean - wide)
                        uppers = replaced(uppers, arm, mean + wide)
                        taken += 1
                        shown = (units, totals, scores, lowers, uppers)
                        winner = decide(shown, arms, sigma, threshold)
                        if winner == NOBODY and count == last:
                            winner = OUTGROWN
                    normal = second_normal
            times[row] = taken
            winners[row] = winner
            for arm in range(arms):
                counts[row * arms + arm] = np.int64(units[arm])
            steps[row] = taken if winner != OUTGROWN else UNFINISHED

    return cuda.jit(kernel)


def _replace_item(size: int) -> Function:
    """Return a function of (items, at, value) that replaces one item of a tuple of this size."""
    last = size - 1
    if last == 0:

        def replace_only(items, at, value):
            return (value if at == 0 else items[0],)

        return replace_only
    rest = _replace_item(last)

    def replace(items, at, value):
        return rest(items, at, value) + (value if at == last else items[last],)  # noqa: RUF005

    return replace
