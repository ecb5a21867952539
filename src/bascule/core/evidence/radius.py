"""The paper's anytime radius: how far a mean may lie from the truth.

The radius after n observations is `sigma * sqrt(factor / n * log(count * lg(n)^2 / delta))`.
A rule chooses `factor` and `count`; docs/research/iid-rules.md has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable

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


def radius(n: float, sigma: float, factor: float, count: float, delta: float) -> float:
    """Half the width of an arm's interval after `n` observations; infinite before the third.

    >>> round(radius(100, sigma=1.0, factor=2.0, count=3.0, delta=0.05), 4)
    0.3781
    """
    if n < FIRST_UNITS:
        return math.inf
    level = lg(n)
    return sigma * math.sqrt(factor / n * math.log(count * level * level / delta))
