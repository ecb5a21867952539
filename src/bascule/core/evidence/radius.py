"""Anytime radii of a mean: the one of the paper, and one for outcomes whose variance is unknown.

The paper's `radius` after n observations is
`sigma * sqrt(factor / n * log(count * lg(n)^2 / delta))`. A rule chooses `factor` and `count`;
docs/research/iid-rules.md has the proof.

`bernstein_radius` is for outcomes within known limits. It depends on `squares`, the sum of the
squared distances of the outcomes from what was expected of each before it was observed.
docs/research/evidence.md has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from bascule.core.types import called_rarely

Radius = Callable[[float, float, float, float, float], float]
"""(n, sigma, factor, count, delta) -> half the width of an arm's interval."""

FIRST_UNITS = 3
"""How many units an arm needs before it has an interval, and so before any rule is asked."""

LOG_2 = math.log(2.0)


def lg(n: float) -> float:
    """Natural logarithm, kept from vanishing at n = 1.

    >>> round(lg(1), 3), round(lg(100), 3)
    (0.693, 4.605)
    """
    return max(math.log(n), LOG_2)


@called_rarely
def radius(n: float, sigma: float, factor: float, count: float, delta: float) -> float:
    """Half the width of an arm's interval after `n` observations; infinite before the third.

    >>> round(radius(100, sigma=1.0, factor=2.0, count=3.0, delta=0.05), 4)
    0.3781
    """
    if n < FIRST_UNITS:
        return math.inf
    level = lg(n)
    return sigma * math.sqrt(factor / n * math.log(count * level * level / delta))


TILTS = tuple(0.9 * 0.5**j for j in range(40))
"""The slopes, lambda in the docs, of the lines whose lower envelope is the boundary."""

_PARTS = tuple(1.0 / (1.0 + ((j - 4.0) / 3.0) ** 2) for j in range(len(TILTS)))

PRICES = tuple(math.log(sum(_PARTS) / part) for part in _PARTS)
"""What each line adds to the log threshold: minus the logarithm of its part of the level."""

CURVES = tuple(
    -math.log1p(-tilt) - tilt if tilt > 0.1 else sum(tilt**k / k for k in range(2, 20))
    for tilt in TILTS
)
"""What each line charges for a unit of squares: -log(1 - lambda) - lambda, without cancellation."""


def expected(n: float, total: float, low: float, high: float) -> float:
    """What an outcome is expected to be after `n` that add up to `total`.

    >>> expected(3, 2.0, low=0.0, high=1.0)
    0.625
    """
    return (total + 0.5 * (low + high)) / (n + 1.0)


def most_squares(n: float, total: float, raw_squares: float, low: float, high: float) -> float:
    """The most that `squares` can be after outcomes whose sum and sum of squares are known.

    In whichever order they came; so it can be computed from halves of the data that were added up.

    >>> round(most_squares(1000, 50.0, 50.0, low=0.0, high=1.0), 2)
    54.61
    """
    # Outcomes are counted from the middle of the limits, where the first of them is expected.
    middle = 0.5 * (low + high)
    off = total - n * middle
    around = raw_squares - 2.0 * middle * total + n * middle * middle
    width = high - low
    return max(0.0, around - off * off / (n + 1.0)) + width * width * math.log(n + 1.0)


def bernstein_boundary(squares: float, log_threshold: float) -> float:
    """How far a sum of outcomes within 0 and 1 may lie from its mean; increasing and concave.

    >>> round(bernstein_boundary(100.0, math.log(40.0)), 3)
    40.217
    """
    boundary = math.inf
    for j in range(len(TILTS)):
        line = (log_threshold + PRICES[j] + CURVES[j] * squares) / TILTS[j]
        boundary = min(boundary, line)
    return boundary


def bernstein_radius(n: float, squares: float, low: float, high: float, level: float) -> float:
    """Half the width of an arm's interval after `n` observations; infinite before the third.

    Each end is wrong, at any time, with a probability of at most `level`.

    >>> round(bernstein_radius(1000, 50.0, low=0.0, high=1.0, level=0.025), 4)
    0.0306
    """
    if n < FIRST_UNITS:
        return math.inf
    width = high - low
    return width * bernstein_boundary(squares / (width * width), -math.log(level)) / n
