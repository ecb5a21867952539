"""Static populations: the threshold for the difference of two arms, and which arm wins.

At each stage every unit gives one outcome, and an arm's mean is that over all its units and stages.
The difference of two arms is multiplied by sqrt(h), h = n_i n_j / (n_i + n_j), which makes its
variance that of one unit, sigma_unit^2 + sigma_noise^2 / stage, whatever their sizes. A threshold
is what this number has to reach. docs/research/static-populations.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from bascule.core.evidence.radius import lg
from bascule.core.types import NOBODY, FloatArray

Threshold = Callable[[float, float, float, float], float]
"""(stage, sigma_unit, sigma_noise, delta) -> what a difference has to reach."""


def spread(stage: float, sigma_unit: float, sigma_noise: float) -> float:
    """The standard deviation of a unit's own average over `stage` outcomes.

    >>> spread(4, 3.0, 8.0)
    5.0
    """
    return math.sqrt(sigma_unit * sigma_unit + sigma_noise * sigma_noise / stage)


def one_look(stage: float, sigma_unit: float, sigma_noise: float, delta: float) -> float:
    """The paper's threshold for a test that looks at one stage, fixed beforehand.

    >>> round(one_look(4, 3.0, 8.0, 0.05), 3)
    12.239
    """
    return spread(stage, sigma_unit, sigma_noise) * math.sqrt(2.0 * math.log(1.0 / delta))


def any_time(stage: float, sigma_unit: float, sigma_noise: float, delta: float) -> float:
    """The paper's threshold for a test that looks at every stage.

    >>> round(any_time(4, 3.0, 8.0, 0.05), 3)
    20.474
    """
    of_units = math.sqrt(2.0 * math.log(2.0 / delta))
    level = lg(stage)
    of_noise = math.sqrt(2.0 / stage * math.log(3.0 * level * level / delta))
    return sigma_unit * of_units + sigma_noise * of_noise


def scale(units_a: float, units_b: float) -> float:
    """The factor of the difference of two arms, by their units.

    >>> scale(50, 50)
    5.0
    """
    return math.sqrt(units_a * units_b / (units_a + units_b))


def leader(means: FloatArray, arms: int) -> int:
    """The arm with the highest mean; the first one on a tie."""
    best = 0
    for arm in range(1, arms):
        if means[arm] > means[best]:
            best = arm
    return best


def nearest(means: FloatArray, scales: FloatArray, arms: int, best: int) -> int:
    """The rival over which the lead of an arm is smallest, as a threshold sees it.

    `scales` holds `scale` for every pair of arms.
    """
    rival = 1 if best == 0 else 0
    least = math.inf
    for arm in range(arms):
        lead = (means[best] - means[arm]) * scales[best * arms + arm]
        if arm != best and lead < least:
            rival = arm
            least = lead
    return rival


def winner(means: FloatArray, scales: FloatArray, arms: int, threshold: float) -> int:
    """The arm whose lead over every other has reached the threshold, or `NOBODY`."""
    best = leader(means, arms)
    rival = nearest(means, scales, arms, best)
    lead = (means[best] - means[rival]) * scales[best * arms + rival]
    return best if lead >= threshold else NOBODY


def within(
    means: FloatArray, scales: FloatArray, arms: int, threshold: float, margin: float
) -> bool:
    """Whether every difference is proven smaller than the margin at this threshold.

    >>> import numpy as np
    >>> within(np.array([0.0, 0.1]), np.full(4, 10.0), 2, 5.0, 0.7)
    True
    """
    proven = True
    for i in range(arms):
        for j in range(i + 1, arms):
            reach = threshold / scales[i * arms + j]
            proven = proven and abs(means[i] - means[j]) + reach < margin
    return bool(proven)
