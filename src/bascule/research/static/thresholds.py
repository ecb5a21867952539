"""Thresholds of a static population: the value that a difference must reach at a stage.

At each stage every unit gives one outcome, and an arm's mean is that over all its units and stages.
The difference of two arms is multiplied by sqrt(h), h = n_i n_j / (n_i + n_j), which makes its
variance that of one unit, sigma_unit^2 + sigma_noise^2 / stage, whatever their sizes. A threshold
is what this number has to reach. docs/research/static-populations.md has the proofs.

Every threshold is given (stage, sigma_unit, sigma_noise, delta, looks); `looks` is how many are
planned, 0 for endlessly many, and matters to `open_look` alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bascule.core.evidence.normal import mixture_boundary
from bascule.core.evidence.radius import lg
from bascule.core.types import NOBODY, FloatArray

Threshold = Callable[[float, float, float, float, float], float]
"""(stage, sigma_unit, sigma_noise, delta, looks) -> the value that a difference must reach."""

SHRINKAGE = 1.5
"""Factor by which the variance falls from one planned look to the next."""

FIRST_CLOCK = 100.0
"""Intrinsic time of the mixture at the first stage, well within the range of its scales."""

NEVER = math.inf


def spread(stage: float, sigma_unit: float, sigma_noise: float) -> float:
    """Return the standard deviation of a unit's own average over `stage` outcomes.

    >>> spread(4, 3.0, 8.0)
    5.0
    """
    return math.sqrt(sigma_unit * sigma_unit + sigma_noise * sigma_noise / stage)


def one_look(
    stage: float,
    sigma_unit: float,
    sigma_noise: float,
    delta: float,
    looks: float,
) -> float:
    """Return the paper's threshold for a test with a single look at a stage fixed beforehand.

    >>> round(one_look(4, 3.0, 8.0, 0.05, 1), 3)
    12.239
    """
    return spread(stage, sigma_unit, sigma_noise) * math.sqrt(2.0 * math.log(1.0 / delta))


def any_time(
    stage: float,
    sigma_unit: float,
    sigma_noise: float,
    delta: float,
    looks: float,
) -> float:
    """Return the paper's threshold for a test that looks at every stage.

    >>> round(any_time(4, 3.0, 8.0, 0.05, 0), 3)
    20.474
    """
    of_units = math.sqrt(2.0 * math.log(2.0 / delta))
    level = lg(stage)
    of_noise = math.sqrt(2.0 / stage * math.log(3.0 * level * level / delta))
    return sigma_unit * of_units + sigma_noise * of_noise


def following_look(stage: float, sigma_unit: float, sigma_noise: float) -> float:
    """Return the stage of the planned look after that at `stage`; infinite after the last look.

    >>> following_look(1, 1.0, 1.0), following_look(3, 1.0, 1.0), following_look(4, 0.0, 1.0)
    (3.0, inf, 6.0)
    """
    now = spread(stage, sigma_unit, sigma_noise)
    of_noise = now * now / SHRINKAGE - sigma_unit * sigma_unit
    if of_noise <= 0.0:
        return NEVER
    # Rounding must not put a look one stage later.
    due = sigma_noise * sigma_noise / of_noise * (1.0 - 1e-12)
    return float(max(stage + 1.0, math.ceil(due))) if due < 1e18 else NEVER


def planned_looks(sigma_unit: float, sigma_noise: float, last: float) -> int:
    """Return the number of planned looks up to stage `last`; 0 stands for infinitely many.

    >>> planned_looks(1.0, 1.0, math.inf), planned_looks(0.0, 1.0, 30), planned_looks(0, 1, NEVER)
    (2, 8, 0)
    """
    if sigma_unit == 0.0 and math.isinf(last):
        return 0
    count, stage = 0, 1.0
    while stage <= last and stage < NEVER:
        count += 1
        stage = following_look(stage, sigma_unit, sigma_noise)
    return count


def open_look(
    stage: float, sigma_unit: float, sigma_noise: float, delta: float, looks: float
) -> float:
    """Return the threshold of the latest planned look, which applies until the next look.

    Planned looks share delta evenly; of endlessly many, look k has 1 / (k (k + 1)) of it.

    >>> [round(open_look(stage, 1.0, 1.0, 0.05, 2), 3) for stage in (1, 2, 3, 100)]
    [3.841, 3.841, 3.136, 3.136]
    """
    opened = 1.0
    number = 1.0
    following = following_look(opened, sigma_unit, sigma_noise)
    while following <= stage and (looks == 0.0 or number < looks):
        opened = following
        number += 1.0
        following = following_look(opened, sigma_unit, sigma_noise)
    parts = looks if looks > 0.0 else number * (number + 1.0)
    return spread(opened, sigma_unit, sigma_noise) * math.sqrt(2.0 * math.log(parts / delta))


def mixture(
    stage: float,
    sigma_unit: float,
    sigma_noise: float,
    delta: float,
    looks: float,
) -> float:
    """Return the threshold of a normal mixture, for normal units and noise.

    >>> round(mixture(4, 3.0, 8.0, 0.05, 0), 3)
    15.611
    """
    now = spread(stage, sigma_unit, sigma_noise)
    shrunk = spread(1.0, sigma_unit, sigma_noise) / now
    clock = FIRST_CLOCK * shrunk * shrunk
    return now * mixture_boundary(clock, -math.log(delta)) / math.sqrt(clock)


def scale(units_a: float, units_b: float) -> float:
    """Return the factor that scales the difference of two arms to the variance of one unit.

    >>> scale(50, 50)
    5.0
    """
    return math.sqrt(units_a * units_b / (units_a + units_b))


def leader(means: FloatArray, arms: int) -> int:
    """Return the arm with the highest mean; the first one of a tie."""
    return int(means[:arms].argmax())


def nearest(means: FloatArray, scales: FloatArray, arms: int, best: int) -> int:
    """Return the rival over which an arm's scaled lead is smallest.

    `scales` holds `scale` for every pair of arms.
    """
    rival = 1 if best == 0 else 0
    smallest = math.inf
    for arm in range(arms):
        lead = (means[best] - means[arm]) * scales[best * arms + arm]
        if arm != best and lead < smallest:
            rival = arm
            smallest = lead
    return rival


def winner(means: FloatArray, scales: FloatArray, arms: int, threshold: float) -> int:
    """Return the arm whose scaled lead over all others reaches the threshold, or `NOBODY`."""
    best = leader(means, arms)
    rival = nearest(means, scales, arms, best)
    lead = (means[best] - means[rival]) * scales[best * arms + rival]
    return best if lead >= threshold else NOBODY


def within(
    means: FloatArray, scales: FloatArray, arms: int, threshold: float, margin: float
) -> bool:
    """Return whether the intervals of all differences lie within the margin.

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


def pair_scales(sizes: tuple[int, ...]) -> FloatArray:
    """Return `scale` for every ordered pair of arms, row by row.

    >>> pair_scales((50, 50)).tolist()
    [5.0, 5.0, 5.0, 5.0]
    """
    units = np.array(sizes, np.float64)
    scales: FloatArray = np.sqrt(1.0 / (1.0 / units[:, None] + 1.0 / units[None, :])).ravel()
    return scales
