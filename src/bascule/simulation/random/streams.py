"""One random stream per run: SFC64 seeded by (seed, run), and normals by the ziggurat method.

A stream is four 64-bit words. Run k of seed s starts from the words (s, k, a constant, 1), so two
runs can never share a stream, and what a run draws depends on nothing but s and k: not on
threads, chunks or machines. NumPy's `SFC64` gives the same words from the same state.

Plain functions on scalars and flat arrays: they run as they are and compile for CPU and CUDA.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bascule.core.inputs import checks
from bascule.core.types import FloatArray

WORDS = 4
"""Words of state a stream has."""

MIXING_ROUNDS = 18
"""Rounds after which SFC64 has forgotten that its seeds were alike (its author's count)."""

LAYERS = 256
ROW = 4
"""Numbers per layer of the table: edge, scale, density at the layer, density at the next one up."""

TAIL = 3.6541528853610088
"""Where the ziggurat ends and the normal's tail begins, for 256 layers of equal area."""

SLACK = 1e-10
"""How close to the density a point is compared with the density itself, not with its bounds."""

DONE = -1
"""In place of a layer: the number is complete."""

_DOMAIN = np.uint64(0x62617363756C65)
_ONE, _THREE, _ELEVEN = np.uint64(1), np.uint64(3), np.uint64(11)
_TWENTY_FOUR, _FORTY = np.uint64(24), np.uint64(40)
_LAYER_MASK, _TWO = np.uint64(LAYERS - 1), np.uint64(2)
_UNIT = 1.0 / 9007199254740992.0

WordArray = NDArray[np.uint64]
Word = np.uint64


def checked_seed(seed: object, field: str = "seed") -> int:
    """Accept what one word of a stream's state can hold.

    >>> checked_seed(7)
    7
    """
    return checks.whole(field, seed, 0, "any whole number from 0 on", 2**64 - 1)


def advance(a: Word, b: Word, c: Word, counter: Word) -> tuple[Word, Word, Word, Word, Word]:
    """One SFC64 step: the random word, then the four words of the new state."""
    word = a + b + counter
    mixed = ((c << _TWENTY_FOUR) | (c >> _FORTY)) + word
    return word, b ^ (b >> _ELEVEN), c + (c << _THREE), mixed, counter + _ONE


def seed_stream(streams: WordArray, at: int, seed: Word, run: Word) -> None:
    """Set the stream at `at` to the beginning of run `run` of seed `seed`."""
    a, b, c, counter = seed, run, _DOMAIN, _ONE
    for _ in range(MIXING_ROUNDS):
        _, a, b, c, counter = advance(a, b, c, counter)
    streams[at] = a
    streams[at + 1] = b
    streams[at + 2] = c
    streams[at + 3] = counter


def uniform(streams: WordArray, at: int) -> float:
    """The next number of [0, 1) from the stream at `at`."""
    word, a, b, c, counter = advance(streams[at], streams[at + 1], streams[at + 2], streams[at + 3])
    streams[at] = a
    streams[at + 1] = b
    streams[at + 2] = c
    streams[at + 3] = counter
    return float(np.int64(word >> _ELEVEN)) * _UNIT


def outside_layer(
    streams: WordArray, at: int, row: int | np.int64, value: float, table: FloatArray
) -> float:
    """Finish the one draw in eighty that falls outside its layer's rectangle."""
    while True:
        if row == 0:
            while True:
                beyond = -math.log1p(-uniform(streams, at)) / TAIL
                height = -math.log1p(-uniform(streams, at))
                if height + height > beyond * beyond:
                    return math.copysign(TAIL + beyond, value)
        top = table[row + 3]
        density = table[row + 2] + (top - table[row + 2]) * uniform(streams, at)
        # The density here is top * exp(-fall). 1 - fall is below exp(-fall), 1 - fall + fall^2 / 2
        # above it: they settle most draws. SLACK is far more than what rounding can change.
        beyond = abs(value) - table[row]
        fall = beyond * (table[row] + 0.5 * beyond)
        low = 1.0 - fall - SLACK
        if density < top * low:
            return value
        if density < top * (low + 0.5 * fall * fall + 2.0 * SLACK) and density < math.exp(
            -0.5 * value * value
        ):
            return value
        word, a, b, c, counter = advance(
            streams[at], streams[at + 1], streams[at + 2], streams[at + 3]
        )
        streams[at] = a
        streams[at + 1] = b
        streams[at + 2] = c
        streams[at + 3] = counter
        row = np.int64((word & _LAYER_MASK) << _TWO)
        value = float(np.int64(word) >> 11) * table[row + 1]
        if abs(value) < table[row]:
            return value


def begin_normal(
    a: Word, b: Word, c: Word, counter: Word, table: FloatArray
) -> tuple[float, int | np.int64, Word, Word, Word, Word]:
    """Begin the next normal of the stream with these words: the number, `DONE`, and its new words.

    In place of `DONE` there is the layer that the number falls outside of, for `outside_layer`.
    """
    word, a, b, c, counter = advance(a, b, c, counter)
    # The low byte picks the layer; the high 53 bits, sign included, a point along it.
    row = (word & _LAYER_MASK) << _TWO
    value = float(np.int64(word) >> 11) * table[row + _ONE]
    return value, np.int64(row) if abs(value) >= table[row] else DONE, a, b, c, counter


def begin_uniform(
    a: Word,
    b: Word,
    c: Word,
    counter: Word,
    table: FloatArray,  # noqa: ARG001
) -> tuple[float, int | np.int64, Word, Word, Word, Word]:
    """The next number of [0, 1) of the stream with these words, `DONE`, and its new words."""
    word, a, b, c, counter = advance(a, b, c, counter)
    return float(np.int64(word >> _ELEVEN)) * _UNIT, DONE, a, b, c, counter


def fill_normals(
    streams: WordArray, at: int, values: FloatArray, first: int, count: int, table: FloatArray
) -> None:
    """Write the next `count` standard normals of the stream at `at` into `values`."""
    a, b, c, counter = streams[at], streams[at + 1], streams[at + 2], streams[at + 3]
    for i in range(count):
        value, row, a, b, c, counter = begin_normal(a, b, c, counter, table)
        if row != DONE:
            streams[at] = a
            streams[at + 1] = b
            streams[at + 2] = c
            streams[at + 3] = counter
            value = outside_layer(streams, at, row, value, table)
            a, b, c, counter = streams[at], streams[at + 1], streams[at + 2], streams[at + 3]
        values[np.uint64(first + i)] = value
    streams[at] = a
    streams[at + 1] = b
    streams[at + 2] = c
    streams[at + 3] = counter


def fill_uniforms(
    streams: WordArray, at: int, values: FloatArray, first: int, count: int, table: FloatArray
) -> None:
    """Write the next `count` numbers of [0, 1) of the stream at `at` into `values`."""
    a, b, c, counter = streams[at], streams[at + 1], streams[at + 2], streams[at + 3]
    for i in range(count):
        value, _, a, b, c, counter = begin_uniform(a, b, c, counter, table)
        values[np.uint64(first + i)] = value
    streams[at] = a
    streams[at + 1] = b
    streams[at + 2] = c
    streams[at + 3] = counter


@lru_cache(maxsize=1)
def ziggurat_table() -> FloatArray:
    """The layers of the normal density, computed from their definition: equal areas.

    It is made once, and everybody only reads it.

    >>> ziggurat_table().shape
    (1024,)
    """
    area = TAIL * math.exp(-0.5 * TAIL**2) + math.sqrt(math.pi / 2) * math.erfc(TAIL / math.sqrt(2))
    table = np.zeros((LAYERS, ROW))
    # Layer 0 is the base strip with the tail; 255 lies just above it and 1 at the very top.
    width = TAIL
    table[0] = [TAIL, area / math.exp(-0.5 * TAIL**2), 1.0, 1.0]
    density = math.exp(-0.5 * TAIL**2)
    for layer in range(LAYERS - 1, 0, -1):
        above = min(1.0, density + area / width)
        inner = math.sqrt(-2.0 * math.log(above)) if layer > 1 else 0.0
        table[layer] = [inner, width, density, 1.0 if layer == 1 else above]
        density, width = above, inner
    table[:, 1] /= 2.0**52
    return table.ravel()
