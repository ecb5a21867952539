"""Evidence that one arm is better than another, however the units were shared out among them.

The blocks of a tilted rule give a difference with a clock of its own; rules that follow the
outcomes from unit to unit, as UCB does, do not. Here each arm has a mixture of its own, and the
evidence is the least that their product leaves to any two means that would make the claim false.
docs/research/evidence.md has the proof.
"""

from __future__ import annotations

import math

from bascule.core.evidence.normal import SCALES, log_tilted, tilted_slope
from bascule.core.types import called_rarely

SEARCH_STEPS = 60
"""More than any search for the least favourable means takes."""

FLAT = 1e-13
"""The search ends when a step promises to lower the log evidence by less than this."""


@called_rarely
def product_and_derivatives(
    error_a: float, error_b: float, units_a: float, units_b: float
) -> tuple[float, float, float]:
    """Log of both arms' mixtures, multiplied, and its first two derivatives.

    The mean of A came out too high by `error_a`, that of B too low by `error_b`; the derivatives
    are those of moving error from B to A.
    """
    top = -math.inf
    mass = 0.0
    first = 0.0
    second = 0.0
    for scale in SCALES:
        spread_a = math.sqrt(units_a + scale)
        spread_b = math.sqrt(units_b + scale)
        a = units_a / spread_a
        b = units_b / spread_b
        x = a * error_a
        y = b * error_b
        value_x = log_tilted(x)
        value_y = log_tilted(y)
        slope_x = tilted_slope(x, value_x)
        slope_y = tilted_slope(y, value_y)
        slope = a * slope_x - b * slope_y
        bend = a * a * (1.0 - slope_x * (slope_x - x)) + b * b * (1.0 - slope_y * (slope_y - y))
        part = math.log(scale / (spread_a * spread_b)) + value_x + value_y
        # Sums are kept relative to the largest part.
        if part > top:
            fade = math.exp(top - part)
            mass *= fade
            first *= fade
            second *= fade
            top = part
        share = math.exp(part - top)
        mass += share
        first += share * slope
        second += share * (bend + slope * slope)
    first /= mass
    second = second / mass - first * first
    return top + math.log(mass * 4.0 / len(SCALES)), first, second


@called_rarely
def ceiling(total: float, units_a: float, units_b: float) -> float:
    """A bound on the log evidence that is quicker to compute, and close when `total` is large.

    `total` is what the noise of each arm adds up to when it is shared out by the units.

    >>> round(ceiling(0.5 * 100 / 3, 100.0, 50.0), 4)
    2.1175
    """
    bend = 0.5 * total * total
    shift = bend * (1.0 / (units_a + SCALES[0]) + 1.0 / (units_b + SCALES[0]))
    evidence = 0.0
    for scale in SCALES:
        a = units_a + scale
        b = units_b + scale
        evidence += scale / math.sqrt(a * b) * math.exp(bend * (1.0 / a + 1.0 / b) - shift)
    return shift + math.log(4.0 / len(SCALES) * evidence)


def least_product(
    difference: float, units_a: float, units_b: float, error_a: float, threshold: float
) -> tuple[float, float]:
    """Log evidence at the least favourable means, and by how much the mean of A is off there.

    The search starts from `error_a` and ends as soon as the evidence is clearly below `threshold`.
    """
    value = -math.inf
    low = -math.inf
    high = math.inf
    for _ in range(SEARCH_STEPS):
        value, first, second = product_and_derivatives(
            error_a, difference - error_a, units_a, units_b
        )
        if value < threshold or first * first <= 2.0 * FLAT * second or second <= 0.0:
            break
        low = max(low, error_a) if first < 0.0 else low
        high = min(high, error_a) if first > 0.0 else high
        error_a -= first / second
        if not low < error_a < high:
            error_a = 0.5 * (low + high)
    return value, error_a


@called_rarely
def log_two_arms(
    difference: float, units_a: float, units_b: float, enough: float = -math.inf
) -> float:
    """Log evidence that arm A is better than arm B, from the difference of their means.

    The difference, A less B, is in units of sigma. The search ends as soon as it is clear that the
    evidence lies below `enough`; the value is then still below `enough`, but too high.

    >>> round(log_two_arms(0.5, 100.0, 50.0), 4)
    1.8394
    """
    precision = units_a * (units_b / (units_a + units_b))
    value = 0.5 * max(difference, 0.0) * difference * precision
    if value >= enough > -math.inf:
        value = ceiling(difference * precision, units_a, units_b)
    if value >= enough:
        share = units_b / (units_a + units_b)
        value, _ = least_product(difference, units_a, units_b, difference * share, enough)
    return value
