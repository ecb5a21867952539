"""From the error a user asks for to the paper's nominal delta, by peeling.

`peel` bounds the probability that one sequence ever leaves its interval on one side. It adds up
the paper's maximal inequality over epochs [T1, T2] whose lengths grow by a factor `growth`, and
takes the best factor. docs/explanation/calibration.md has the proof.
"""

from __future__ import annotations

import math
from functools import lru_cache

from bascule.core.radius import lg

EXPLICIT_EPOCHS_UNTIL = 1_000_000
"""Epochs beyond this one are summed by an integral."""

SMALLEST_GROWTH, LARGEST_GROWTH = 1.02, 40.0


@lru_cache(maxsize=4096)
def peel(level: float) -> float:
    """Bound on P(some t >= 1 has S_t >= sigma sqrt(2 t log(lg(t)^2 / level))); at most 1.

    >>> round(peel(0.0117), 3)
    0.05
    """
    if level <= 0.0:
        return 0.0
    if level >= 1.0:
        return 1.0
    # The sum has one valley in log(growth) up to the small jumps that whole epoch ends cause, so
    # a coarse look finds the valley and a fine one its floor; any growth is a valid bound.
    low, high = math.log(SMALLEST_GROWTH), math.log(LARGEST_GROWTH)
    best = 1.0
    for points in (24, 48, 48):
        spacing = (high - low) / points
        tried = [low + spacing * k for k in range(points + 1)]
        value, where = min((_epoch_sum(level, math.exp(log_g)), log_g) for log_g in tried)
        best = min(best, value)
        low, high = where - spacing, where + spacing
    return best


def level_for(error: float) -> float:
    """The largest level whose peeled bound is `error`.

    >>> round(level_for(0.05), 4)
    0.0117
    """
    low, high = math.log(error) - 30.0, math.log(error)
    for _ in range(60):
        middle = (low + high) / 2
        if peel(math.exp(middle)) <= error:
            low = middle
        else:
            high = middle
    return math.exp(low)


def stretch(ratio: float) -> float:
    """The price, in the exponent, of bounding a whole epoch [T1, ratio * T1] at once.

    >>> stretch(1.0)
    1.0
    """
    root = math.sqrt(ratio)
    return (1.0 + root) ** 2 / (4.0 * root)


def _epoch_sum(level: float, growth: float) -> float:
    power = 1.0 / stretch(growth)
    if 2.0 * power <= 1.0 or growth <= 1.0:
        return 1.0
    total = 0.0
    start = 1
    while start < EXPLICIT_EPOCHS_UNTIL:
        end = max(start, math.floor(growth * start))
        total += math.pow(level / lg(start) ** 2, 1.0 / stretch(end / start))
        start = end + 1
        if total >= 1.0:
            return 1.0
    # From here each epoch starts at least `growth` times later than the one before.
    log_start = math.log(start)
    tail = math.pow(log_start, -2.0 * power)
    tail += math.pow(log_start, 1.0 - 2.0 * power) / ((2.0 * power - 1.0) * math.log(growth))
    return min(1.0, total + math.pow(level, power) * tail)
