"""How the outcomes of each model are drawn: noise in bursts, then noise and mean to an outcome.

The loops compile these functions; the traces call them as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bascule.core.outcomes.noise import Noise
from bascule.core.types import FloatArray
from bascule.simulation.random.streams import (
    Word,
    WordArray,
    begin_normal,
    begin_uniform,
    fill_normals,
    fill_uniforms,
)


class Draws(NamedTuple):
    """The steps from a stream to outcomes.

    `fill` is given (streams, at, values, first, count, ziggurat) and writes the noise; `begin`,
    given a stream's four words and the ziggurat, begins one number of it as `begin_normal` does.
    `outcome` is given (mean, sigma, noise). `total`, given (mean, sigma, units, noise), is the sum
    of the outcomes of that many units from one draw of noise, exact in distribution; with `ones` it
    is how many of them are 1.
    """

    fill: Callable[[WordArray, int, FloatArray, int, int, FloatArray], None]
    begin: Callable[..., tuple[float, int | np.int64, Word, Word, Word, Word]]
    outcome: Callable[[float, float, float], float]
    total: Callable[[float, float, float, float], float]
    ones: bool


def shifted(mean: float, sigma: float, noise: float) -> float:
    """A normal outcome from a standard normal.

    >>> shifted(1.0, 2.0, -0.5)
    0.0
    """
    return mean + sigma * noise


def hit(mean: float, sigma: float, noise: float) -> float:  # noqa: ARG001
    """1 with a probability of `mean`, else 0, from a number of [0, 1).

    >>> hit(0.05, 0.5, 0.049), hit(0.05, 0.5, 0.05), hit(1.0, 0.5, 0.999)
    (1.0, 0.0, 1.0)
    """
    return 1.0 if noise < mean else 0.0


def shifted_total(mean: float, sigma: float, units: float, noise: float) -> float:
    """The sum of normal outcomes from a standard normal.

    >>> shifted_total(1.0, 2.0, 4.0, -0.5)
    2.0
    """
    return units * mean + sigma * math.sqrt(units) * noise


def hits(mean: float, sigma: float, units: float, noise: float) -> float:  # noqa: ARG001
    """How many of some units have the outcome 1, from a number of [0, 1), by inversion.

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
"""The noise that is drawn in bursts by the quick loops, by its kind."""


def draws_of(noise: Noise) -> Draws | None:
    """Return how noise is drawn in bursts; None for noise that the general loops draw.

    >>> from bascule.core.outcomes import Beta, Coin
    >>> draws_of(Coin()) is ZERO_OR_ONE, draws_of(Beta())
    (True, None)
    """
    return DRAWS.get(noise.kind)
