"""Estimate the remaining time of a test by a range that contains it in most cases.

The lead of an arm, in standard errors of its difference, is a walk with drift. The test so far
gives only an estimate of the drift. The range takes the error of this estimate into account, so it
is wide at first. docs/research/prediction.md derives it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from bascule.core.types import FloatArray

SHARES = (0.1, 0.5, 0.9)
"""Quantiles of the time left: the lower bound, the estimate, and the upper bound."""

FURTHEST = 20.0
"""Maximum remaining time for which a range is given, as a multiple of the time so far."""

NODES = 15
"""Number of possible drifts over which probabilities are averaged."""

GROWTH = np.geomspace(0.004, FURTHEST, 64)
"""Tabulated growth of the information, as a multiple of the present information."""

_ERFC = np.vectorize(math.erfc, otypes=[np.float64])


def growth_range(
    lead: float, line: float, flat: bool, most: float, futile: tuple[float, float] = (0.0, 0.0)
) -> tuple[float, float, float] | None:
    """Return a range for the relative growth of a test's information from now until its end.

    The range is a lower bound, the median and an upper bound, as multiples of the present
    information.

    `lead` and `line` are the present lead and the lead that wins, in standard errors. A `flat` line
    is constant for the total, as in a test with a horizon. Any other line rises like the boundary
    of a normal mixture: after a growth of u it is at `sqrt((1 + u) (line^2 + log(1 + u)))`.

    The test ends at the latest when its information has grown by `most`. It ends sooner if it is
    futile: if the probability of winning by then at the planned effect, whose lead would now be
    `futile[0]` standard errors, is below `futile[1]`. The result is None if no positive line is
    known, or if the end is too far away for a range.

    >>> low, median, high = growth_range(2.0, 2.5, flat=True, most=1.0)
    >>> 0.0 < low < median < high <= 1.0
    True
    """
    if line <= 0.0 or not math.isfinite(line) or math.isnan(lead):
        return None
    planned, share = futile
    limits = (round(most, 3), round(planned, 2), share) if share > 0.0 else (math.inf, 0.0, 0.0)
    reached = _reached(round(lead, 2), round(line, 2), flat, limits)
    low, median, high = (
        min(most, float(np.interp(share, reached, GROWTH, left=0.0, right=math.inf)))
        for share in SHARES
    )
    return (low, median, high) if math.isfinite(high) else None


@lru_cache(maxsize=512)
def _reached(
    lead: float, line: float, flat: bool, limits: tuple[float, float, float]
) -> FloatArray:
    """Return the probability that the test has ended, for each growth in `GROWTH`."""
    limit, planned, share = limits
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    drift = (lead + nodes)[None, :]
    height = np.full(GROWTH.shape, line)
    if not flat:
        height = np.sqrt((1.0 + GROWTH) * (line * line + np.log1p(GROWTH)))
    grown = GROWTH[:, None]
    up = _crossed(np.maximum(height - lead, 0.0)[:, None], drift, grown)
    down = _crossed((height + lead)[:, None], -drift, grown)
    if share > 0.0:
        left = np.maximum(limit - GROWTH, 0.0)
        lowest = line - planned * left + np.sqrt(left) * NormalDist().inv_cdf(share)
        ahead = lead + drift * grown - lowest[:, None]
        down = np.maximum(down, 0.5 * _ERFC(ahead / np.sqrt(2.0 * grown)))
    chance: FloatArray = np.minimum(1.0, up + down) @ (weights / weights.sum())
    return np.maximum.accumulate(chance)


def _crossed(distance: FloatArray, drift: FloatArray, clock: FloatArray) -> FloatArray:
    """Return the probability that a random walk rises by `distance` before time `clock`."""
    root = np.sqrt(2.0 * clock)
    direct = 0.5 * _ERFC((distance - drift * clock) / root)
    turned = 0.5 * _ERFC((distance + drift * clock) / root)
    chance: FloatArray = direct + np.exp(np.minimum(2.0 * drift * distance, 500.0)) * turned
    return np.minimum(1.0, chance)
