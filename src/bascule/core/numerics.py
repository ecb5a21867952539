"""Numerical searches by bisection."""

from __future__ import annotations

import math
from collections.abc import Callable

HALVINGS = 200
"""Maximum number of steps of a bisection, which ends sooner if its ends are adjacent floats."""


def turning_point(before: Callable[[float], bool], low: float, high: float) -> float:
    """Return the number between `low` and `high` at which `before` turns from true to false.

    >>> round(turning_point(lambda x: x * x < 2, 1.0, 2.0), 6)
    1.414214
    """
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if before(middle):
            low = middle
        else:
            high = middle
    return high


def smallest(is_enough: Callable[[float], bool], low: float, high: float) -> float:
    """Return the number in (low, high] from which `is_enough` holds.

    >>> round(smallest(lambda x: x * x >= 2.0, 0.0, 2.0), 12)
    1.414213562373
    """
    return turning_point(lambda x: not is_enough(x), low, high)


def first_after(before: Callable[[float], bool], low: float, limit: float = 1e300) -> float:
    """Return the number from `low` on at which `before` turns false; infinity if it is too large.

    The search doubles `low` until `before` is false, and gives up beyond `limit`.

    >>> round(first_after(lambda x: x * x < 200, 1.0), 6), first_after(lambda x: True, 1.0)
    (14.142136, inf)
    """
    if not before(low):
        return low
    high = 2.0 * low
    while before(high):
        low, high = high, 2.0 * high
        if high > limit:
            return math.inf
    return turning_point(before, low, high)
