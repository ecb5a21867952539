"""How units differ and how their outcomes scatter: numbers with mean 0 and variance 1.

Each of them is sub-Gaussian with a proxy of 1, so what is proven for sub-Gaussian units holds for
all; what is proven for Gaussian ones, for the normal shape alone.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np

from bascule.core.types import FloatArray
from bascule.simulation.random.streams import WordArray, fill_normals, uniform
from bascule.simulation.recurrent.kernel import Crowd, Fill, every_outcome

ShapeName = Literal["normal", "signs", "uniform"]
"""The shapes that units and noise can have."""

HALF_WIDTH = math.sqrt(3.0)


def fill_signs(
    streams: WordArray,
    at: int,
    values: FloatArray,
    first: int,
    count: int,
    table: FloatArray,  # noqa: ARG001
) -> None:
    """Write `count` numbers that are 1 or -1."""
    for i in range(count):
        values[np.uint64(first + i)] = 1.0 if uniform(streams, at) < 0.5 else -1.0


def fill_centred(
    streams: WordArray,
    at: int,
    values: FloatArray,
    first: int,
    count: int,
    table: FloatArray,  # noqa: ARG001
) -> None:
    """Write `count` numbers of equal chance between minus and plus the root of 3."""
    for i in range(count):
        values[np.uint64(first + i)] = HALF_WIDTH * (2.0 * uniform(streams, at) - 1.0)


FILLS: dict[ShapeName, Fill] = {
    "normal": fill_normals,
    "signs": fill_signs,
    "uniform": fill_centred,
}


@lru_cache(maxsize=len(FILLS))
def crowd_of(shape: ShapeName) -> Crowd:
    """The crowd that draws each outcome with noise of this shape."""
    return every_outcome(FILLS[shape])
