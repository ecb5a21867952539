"""Planned looks: the stages at which a decision is allowed, each with its level.

The first look is at the stage at which every arm can have `FIRST_UNITS` units, and each further
look `growth` times later. Look k spends 1 / (k (k + 1)) of the error; these fractions add up to 1.
"""

from __future__ import annotations

import math

GROWTH = 1.5
"""Default ratio of the stages of consecutive looks."""


def following_look(stage: int, growth: float) -> int:
    """Return the stage of the look after the one at `stage`.

    >>> following_look(6, 1.5), following_look(101, 1.5)
    (9, 152)
    """
    return max(stage + 1, math.ceil(growth * stage - 1e-9))


def coming_look(stage: int, first: int, growth: float) -> tuple[int, int]:
    """Return the number (counted from 1) and the stage of the first look at or after `stage`.

    >>> coming_look(7, 6, 1.5), coming_look(9, 6, 1.5)
    ((2, 9), (2, 9))
    """
    number, at = 1, first
    while at < stage:
        number, at = number + 1, following_look(at, growth)
    return number, at


def look_part(number: float) -> float:
    """Return the fraction of the error that look `number` spends.

    >>> look_part(1), round(sum(look_part(k) for k in range(1, 1000)), 3)
    (0.5, 0.999)
    """
    return 1.0 / (number * (number + 1.0))
