"""Anytime-valid radii of a mean: the paper's, and one for outcomes with an unknown variance.

The paper's `radius` after n observations is
`sigma * sqrt(factor / n * log(count * lg(n)^2 / delta))`. A rule chooses `factor` and `count`;
docs/research/iid-rules.md has the proof.

`bernstein_radius` is for outcomes within known limits. It depends on `squares`, the sum of the
squared differences between each outcome and its prediction before it was observed.
docs/research/evidence.md has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from bascule.core.types import called_rarely

Radius = Callable[[float, float, float, float, float], float]
"""(n, sigma, factor, count, delta) -> half the width of an arm's interval."""

FIRST_UNITS = 3
"""Number of units that an arm needs before it has an interval, and before a rule that compares
intervals may decide."""

LOG_2 = math.log(2.0)


def lg(n: float) -> float:
    """Return the natural logarithm of `n`, but at least log(2), so that it is positive at n = 1.

    >>> round(lg(1), 3), round(lg(100), 3)
    (0.693, 4.605)
    """
    return max(math.log(n), LOG_2)


@called_rarely
def radius(n: float, sigma: float, factor: float, count: float, delta: float) -> float:
    """Return the paper's radius around an arm's mean of `n` observations; infinity if `n` < 3.

    >>> round(radius(100, sigma=1.0, factor=2.0, count=3.0, delta=0.05), 4)
    0.3781
    """
    if n < FIRST_UNITS:
        return math.inf
    level = lg(n)
    return sigma * math.sqrt(factor / n * math.log(count * level * level / delta))


TILTS = tuple(0.9 * 0.5**j for j in range(40))
"""Slopes (lambda in the docs) of the lines whose minimum is the boundary of a sum."""

_PARTS = tuple(1.0 / (1.0 + ((j - 4.0) / 3.0) ** 2) for j in range(len(TILTS)))

PRICES = tuple(math.log(sum(_PARTS) / part) for part in _PARTS)
"""Increase of the log threshold for each line: minus the log of the line's part of the error."""

CURVES = tuple(
    -math.log1p(-tilt) - tilt if tilt > 0.1 else sum(tilt**k / k for k in range(2, 20))
    for tilt in TILTS
)
"""Coefficient of `squares` for each line: -log(1 - lambda) - lambda, without cancellation."""


def expected(n: float, total: float, low: float, high: float) -> float:
    """Return the prediction of the next outcome after `n` outcomes with the sum `total`.

    >>> expected(3, 2.0, low=0.0, high=1.0)
    0.625
    """
    return (total + 0.5 * (low + high)) / (n + 1.0)


def most_squares(n: float, total: float, raw_squares: float, low: float, high: float) -> float:
    """Return an upper bound on the sum of squared prediction errors, from sums over all outcomes.

    It holds for any order of the outcomes, so the sums of parts of the data can be added up first.

    >>> round(most_squares(1000, 50.0, 50.0, low=0.0, high=1.0), 2)
    54.61
    """
    # Outcomes are shifted by the middle of the limits, which is the prediction of the first one.
    middle = 0.5 * (low + high)
    off = total - n * middle
    around = raw_squares - 2.0 * middle * total + n * middle * middle
    width = high - low
    return max(0.0, around - off * off / (n + 1.0)) + width * width * math.log(n + 1.0)


def bernstein_boundary(squares: float, log_threshold: float) -> float:
    """Return how far a sum of outcomes between 0 and 1 may lie from its expectation.

    It is increasing and concave in `squares`.

    >>> round(bernstein_boundary(100.0, math.log(40.0)), 3)
    40.217
    """
    boundary = math.inf
    for j in range(len(TILTS)):
        line = (log_threshold + PRICES[j] + CURVES[j] * squares) / TILTS[j]
        boundary = min(boundary, line)
    return boundary


def bernstein_radius(n: float, squares: float, low: float, high: float, level: float) -> float:
    """Return the radius around a mean of `n` outcomes within limits; infinity if `n` < 3.

    The probability that an end is ever wrong is at most `level` for each end.

    >>> round(bernstein_radius(1000, 50.0, low=0.0, high=1.0, level=0.025), 4)
    0.0306
    """
    if n < FIRST_UNITS:
        return math.inf
    width = high - low
    return width * bernstein_boundary(squares / (width * width), -math.log(level)) / n
