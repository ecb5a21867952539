"""Looks planned by the calendar: the stages at which a decision is allowed, each with its level.

The first look comes when every arm can have its first units, each further one `growth` times
later. Look k spends 1 / (k (k + 1)) of the error, and these parts add up to 1.
"""

from __future__ import annotations

import math

GROWTH = 1.5
"""How many times later the next look comes, unless a design says otherwise."""


def following_look(stage: int, growth: float) -> int:
    """The stage of the look after the one at `stage`.

    >>> following_look(6, 1.5), following_look(101, 1.5)
    (9, 152)
    """
    return max(stage + 1, math.ceil(growth * stage - 1e-9))


def coming_look(stage: int, first: int, growth: float) -> tuple[int, int]:
    """Number and stage of the first look that is not before `stage`; looks are counted from 1.

    >>> coming_look(7, 6, 1.5), coming_look(9, 6, 1.5)
    ((2, 9), (2, 9))
    """
    number, at = 1, first
    while at < stage:
        number, at = number + 1, following_look(at, growth)
    return number, at


def look_part(number: float) -> float:
    """The part of the error that look `number` spends.

    >>> look_part(1), round(sum(look_part(k) for k in range(1, 1000)), 3)
    (0.5, 0.999)
    """
    return 1.0 / (number * (number + 1.0))
