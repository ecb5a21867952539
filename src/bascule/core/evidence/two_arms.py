"""Evidence that one arm is better than another, valid for any allocation of the units.

The blocks of a tilted rule give a difference with a clock of its own; rules that adapt to the
outcomes after every unit, such as UCB, do not. Here each arm has a mixture of its own, and the
evidence is the minimum of their product over all pairs of means for which the claim is false.
docs/research/evidence.md has the proof.
"""

from __future__ import annotations

import math

from bascule.core.evidence.normal import SCALES, log_tilted, tilted_slope
from bascule.core.types import called_rarely

SEARCH_STEPS = 60
"""Maximum number of steps; no search for the least favourable means needs as many."""

FLAT = 1e-13
"""Expected decrease of the log evidence by a step at which the search ends."""


@called_rarely
def product_and_derivatives(
    error_a: float, error_b: float, units_a: float, units_b: float
) -> tuple[float, float, float]:
    """Return the log of the product of both arms' mixtures, and its first two derivatives.

    The observed mean of A is too high by `error_a`, that of B too low by `error_b`. The derivatives
    are with respect to `error_a`, with the sum of both errors fixed.
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
        # The sums are kept relative to the largest part so far, to avoid overflow.
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
    """Return an upper bound on the log evidence: quick to compute, and close for a large `total`.

    `total` is the difference of the means times n_a n_b / (n_a + n_b).

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
    """Return the log evidence at the least favourable true means, and the error of A's mean there.

    The search starts from `error_a` and ends as soon as the evidence is below `threshold`.
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
    """Return the log evidence that arm A is better than arm B, from the difference of their means.

    The difference, A less B, is in units of sigma. As soon as the evidence is known to be below
    `enough`, an upper bound on it that is also below `enough` is returned.

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
