"""Random streams, one for each run, and draws from them.

A stream is four 64-bit words. Run k of seed s starts from the words (s, k, a constant, 1), so two
runs can never share a stream, and the numbers of a run depend only on s and k, and not on threads,
chunks or machines. NumPy's `SFC64` gives the same words from the same state.

Plain functions on scalars and flat arrays: the loops compile them for CPU and CUDA, and the traces
call them as they are. An argument `cell` is an array of one number, for intermediate results.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bascule.core.inputs import checks
from bascule.core.outcomes.noise import Noise
from bascule.core.types import FloatArray, called_rarely

WORDS = 4
"""Number of 64-bit words in the state of a stream."""

MIXING_ROUNDS = 18
"""Rounds after which SFC64 streams with similar seeds are unrelated, according to its author."""

LAYERS = 256
ROW = 4
"""Numbers per layer of the table: edge, scale, density at the layer, density at the next one up."""

TAIL = 3.6541528853610088
"""Point at which the ziggurat ends and the tail begins, for 256 layers of equal area."""

SLACK = 1e-10
"""Margin around the bounds of the density, within which a point is compared with the density."""

DONE = -1
"""Returned in place of a layer when the number is complete."""

_DOMAIN = np.uint64(0x62617363756C65)
_ONE, _THREE, _ELEVEN = np.uint64(1), np.uint64(3), np.uint64(11)
_TWENTY_FOUR, _FORTY = np.uint64(24), np.uint64(40)
_LAYER_MASK, _TWO = np.uint64(LAYERS - 1), np.uint64(2)
_UNIT = 1.0 / 9007199254740992.0

WordArray = NDArray[np.uint64]
Word = np.uint64


def checked_seed(seed: object, field: str = "seed") -> int:
    """Return a seed or run as an integer; refuse one that does not fit into 64 bits.

    >>> checked_seed(7)
    7
    """
    return checks.whole(field, seed, 0, "any whole number from 0 on", 2**64 - 1)


def advance(a: Word, b: Word, c: Word, counter: Word) -> tuple[Word, Word, Word, Word, Word]:
    """Do one SFC64 step; return the random word, then the four words of the new state."""
    word = a + b + counter
    mixed = ((c << _TWENTY_FOUR) | (c >> _FORTY)) + word
    return word, b ^ (b >> _ELEVEN), c + (c << _THREE), mixed, counter + _ONE


def keep_stream(streams: WordArray, at: int, a: Word, b: Word, c: Word, counter: Word) -> None:
    """Write the four words of a stream's state into `streams`, from index `at` on."""
    streams[at] = a
    streams[at + 1] = b
    streams[at + 2] = c
    streams[at + 3] = counter


@called_rarely
def seed_stream(streams: WordArray, at: int, seed: Word, run: Word) -> None:
    """Set the stream at `at` to the beginning of run `run` of seed `seed`."""
    a, b, c, counter = seed, run, _DOMAIN, _ONE
    for _ in range(MIXING_ROUNDS):
        _, a, b, c, counter = advance(a, b, c, counter)
    keep_stream(streams, at, a, b, c, counter)


def uniform(streams: WordArray, at: int) -> float:
    """Draw the next uniform number in [0, 1) from the stream at `at`."""
    word, a, b, c, counter = advance(streams[at], streams[at + 1], streams[at + 2], streams[at + 3])
    keep_stream(streams, at, a, b, c, counter)
    return float(np.int64(word >> _ELEVEN)) * _UNIT


@called_rarely
def outside_layer(
    streams: WordArray, at: int, row: int | np.int64, value: float, table: FloatArray
) -> float:
    """Finish a normal draw that is outside the rectangle of its ziggurat layer: one in eighty."""
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
        # above it: these bounds decide most draws. SLACK is far larger than rounding errors.
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
        keep_stream(streams, at, a, b, c, counter)
        row = np.int64((word & _LAYER_MASK) << _TWO)
        value = float(np.int64(word) >> 11) * table[row + 1]
        if abs(value) < table[row]:
            return value


def begin_normal(
    a: Word, b: Word, c: Word, counter: Word, table: FloatArray
) -> tuple[float, int | np.int64, Word, Word, Word, Word]:
    """Draw a normal from a stream's four words: return the number, `DONE`, and the new words.

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
    """Draw a number in [0, 1) from a stream's four words: return it, `DONE`, and the new words."""
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
            keep_stream(streams, at, a, b, c, counter)
            value = outside_layer(streams, at, row, value, table)
            a, b, c, counter = streams[at], streams[at + 1], streams[at + 2], streams[at + 3]
        values[np.uint64(first + i)] = value
    keep_stream(streams, at, a, b, c, counter)


def fill_uniforms(
    streams: WordArray, at: int, values: FloatArray, first: int, count: int, table: FloatArray
) -> None:
    """Write the next `count` numbers of [0, 1) of the stream at `at` into `values`."""
    a, b, c, counter = streams[at], streams[at + 1], streams[at + 2], streams[at + 3]
    for i in range(count):
        value, _, a, b, c, counter = begin_uniform(a, b, c, counter, table)
        values[np.uint64(first + i)] = value
    keep_stream(streams, at, a, b, c, counter)


@lru_cache(maxsize=1)
def ziggurat_table() -> FloatArray:
    """Return the layers of the ziggurat method for normal numbers, which have equal areas.

    The table is created once and must not be changed.

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


class Draws(NamedTuple):
    """Functions that turn a random stream into outcomes.

    - `fill`: writes noise, given (streams, at, values, first, count, ziggurat).
    - `begin`: begins one number of noise, as `begin_normal` does, given the four words of a stream
      and the ziggurat.
    - `outcome`: returns an outcome, given (mean, sigma, noise).
    - `total`: returns the sum of the outcomes of `units` units, given (mean, sigma, units, noise).
      It takes a single number of noise, and its distribution is exact.
    - `ones`: whether outcomes are 0 or 1, so that `total` is the number of ones.
    """

    fill: Callable[[WordArray, int, FloatArray, int, int, FloatArray], None]
    begin: Callable[..., tuple[float, int | np.int64, Word, Word, Word, Word]]
    outcome: Callable[[float, float, float], float]
    total: Callable[[float, float, float, float], float]
    ones: bool


def shifted(mean: float, sigma: float, noise: float) -> float:
    """Return a normal outcome made from a standard normal.

    >>> shifted(1.0, 2.0, -0.5)
    0.0
    """
    return mean + sigma * noise


def hit(mean: float, sigma: float, noise: float) -> float:  # noqa: ARG001
    """Return 1 with a probability of `mean`, else 0, given a uniform number in [0, 1).

    >>> hit(0.05, 0.5, 0.049), hit(0.05, 0.5, 0.05), hit(1.0, 0.5, 0.999)
    (1.0, 0.0, 1.0)
    """
    return 1.0 if noise < mean else 0.0


def shifted_total(mean: float, sigma: float, units: float, noise: float) -> float:
    """Return the sum of `units` normal outcomes, made from one standard normal.

    >>> shifted_total(1.0, 2.0, 4.0, -0.5)
    2.0
    """
    return units * mean + sigma * math.sqrt(units) * noise


def hits(mean: float, sigma: float, units: float, noise: float) -> float:  # noqa: ARG001
    """Return how many of `units` outcomes are 1: a binomial number, by inversion of `noise`.

    `noise` is a uniform number in [0, 1).

    >>> [hits(0.5, 0.5, 2.0, noise) for noise in (0.2, 0.3, 0.8)], hits(1.0, 0.0, 3.0, 0.9)
    ([0.0, 1.0, 2.0], 3.0)
    """
    if mean >= 1.0:
        return units
    share = 1.0
    for _ in range(int(units)):
        share *= 1.0 - mean
    reached = share
    count = 0.0
    while noise >= reached and count < units:
        share *= (units - count) / (count + 1.0) * mean / (1.0 - mean)
        count += 1.0
        reached += share
    return count


NORMAL = Draws(fill_normals, begin_normal, shifted, shifted_total, False)
ZERO_OR_ONE = Draws(fill_uniforms, begin_uniform, hit, hits, True)

DRAWS = {"normal": NORMAL, "coin": ZERO_OR_ONE}
"""Functions with which the loops for steady worlds draw noise in bursts, by kind of noise."""


def draws_of(noise: Noise) -> Draws | None:
    """Return how noise is drawn in bursts; None for noise that the general loops draw.

    >>> from bascule.core.outcomes import Beta, Coin
    >>> draws_of(Coin()) is ZERO_OR_ONE, draws_of(Beta())
    (True, None)
    """
    return DRAWS.get(noise.kind)


def normal(streams: WordArray, cell: FloatArray, ziggurat: FloatArray) -> float:
    """Draw a standard normal; successive calls give the numbers that `fill_normals` writes."""
    fill_normals(streams, 0, cell, 0, 1, ziggurat)
    return float(cell[0])


def exponential(streams: WordArray) -> float:
    """Draw an exponential number with mean 1 by inversion; it is at most 53 log 2 = 36.7."""
    return -math.log1p(-uniform(streams, 0))


def gamma(streams: WordArray, shape: float, cell: FloatArray, ziggurat: FloatArray) -> float:
    """Draw a gamma number with scale 1 by the rejection method of Marsaglia and Tsang."""
    boost = 1.0
    if shape < 1.0:
        # The method needs a shape of at least 1; for a smaller shape, the result is multiplied by a
        # power of a uniform number.
        boost = math.pow(1.0 - uniform(streams, 0), 1.0 / shape)
        shape += 1.0
    centre = shape - 1.0 / 3.0
    scale = 1.0 / math.sqrt(9.0 * centre)
    while True:
        value = normal(streams, cell, ziggurat)
        root = 1.0 + scale * value
        if root > 0.0:
            cube = root * root * root
            level = math.log(1.0 - uniform(streams, 0))
            if level < 0.5 * value * value + centre * (1.0 - cube + math.log(cube)):
                return boost * centre * cube


def beta(
    streams: WordArray, mean: float, concentration: float, cell: FloatArray, ziggurat: FloatArray
) -> float:
    """Draw from the beta distribution with this mean and this sum of its two parameters."""
    if mean <= 0.0 or mean >= 1.0:
        return mean
    first = gamma(streams, mean * concentration, cell, ziggurat)
    second = gamma(streams, (1.0 - mean) * concentration, cell, ziggurat)
    if first + second == 0.0:
        # Both underflow to 0: with so low a concentration, outcomes are 0 or 1.
        return 1.0 if uniform(streams, 0) < mean else 0.0
    return first / (first + second)


def student_t(streams: WordArray, df: float) -> float:
    """Draw from Student's t distribution with scale 1, by Bailey's polar method."""
    while True:
        u = 2.0 * uniform(streams, 0) - 1.0
        v = 2.0 * uniform(streams, 0) - 1.0
        square = u * u + v * v
        if 0.0 < square < 1.0:
            return u * math.sqrt(df * math.expm1(-2.0 / df * math.log(square)) / square)


def pick(streams: WordArray, points: FloatArray, chances: FloatArray, first: int) -> float:
    """Draw one of the points; `chances[first:]` holds their cumulative probabilities."""
    level = uniform(streams, 0)
    i = 0
    while i < points.size - 1 and level >= chances[first + i]:
        i += 1
    return float(points[i])
