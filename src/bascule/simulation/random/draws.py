"""How the outcomes of each model are drawn: noise in bursts, then noise and mean to an outcome.

The loops compile these functions; the traces call them as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bascule.core.outcomes.noise import Coin, Noise, Normal
from bascule.core.procedures.interval_state import FloatArray
from bascule.simulation.random.streams import WordArray, fill_normals, fill_uniforms


class Draws(NamedTuple):
    """The two steps from a stream to outcomes.

    `fill` is given (streams, at, values, first, count, ziggurat) and writes the noise; `outcome`
    is given (mean, sigma, noise).
    """

    fill: Callable[[WordArray, int, FloatArray, int, int, FloatArray], None]
    outcome: Callable[[float, float, float], float]


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


NORMAL = Draws(fill_normals, shifted)
ZERO_OR_ONE = Draws(fill_uniforms, hit)

DRAWS: dict[type[object], Draws] = {Normal: NORMAL, Coin: ZERO_OR_ONE}
"""The noise that is drawn in bursts by the quick loops."""


def draws_of(noise: Noise) -> Draws | None:
    """Return how noise is drawn in bursts; None for noise that the general loops draw.

    >>> from bascule.core.outcomes import Beta
    >>> draws_of(Coin()) is ZERO_OR_ONE, draws_of(Beta())
    (True, None)
    """
    return DRAWS.get(type(noise))
