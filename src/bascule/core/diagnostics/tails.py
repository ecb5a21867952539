"""How often chance alone goes so far: upper tails of the chi-square and the normal distribution."""

from __future__ import annotations

import math


def chi_square_tail(value: float, degrees: int) -> float:
    """Probability that a chi-square with whole `degrees` of freedom is at least `value`.

    With y = value / 2 it is the sum of exp(-y) y^a / Gamma(a + 1) over a = 0, 1, ... below
    degrees / 2 for even degrees, and erfc(sqrt(y)) plus that sum over a = 1/2, 3/2, ... for odd
    ones. All terms are positive, so no digits cancel.

    >>> round(chi_square_tail(3.841459, 1), 6), round(chi_square_tail(18.307038, 10), 6)
    (0.05, 0.05)
    """
    y, odd = 0.5 * value, degrees % 2
    if y <= 0.0:
        return 1.0
    if y == math.inf:
        return 0.0
    tail = math.erfc(math.sqrt(y)) if odd else 0.0
    lowest, terms = 0.5 * odd, degrees // 2
    if terms == 0:
        return tail
    # From the largest term outwards: from any other one they could all vanish.
    steps = min(max(math.floor(y - lowest), 0), terms - 1)
    top = lowest + steps
    largest = math.exp(top * math.log(y) - y - math.lgamma(top + 1.0))
    total = term = largest
    for k in range(steps):
        term *= (top - k) / y
        total += term
    term = largest
    for k in range(1, terms - steps):
        term *= y / (top + k)
        total += term
    return min(1.0, tail + total)


def normal_tails(z: float) -> float:
    """Probability that a standard normal is at least `abs(z)` away from 0.

    >>> round(normal_tails(-1.959964), 6)
    0.05
    """
    return math.erfc(abs(z) * math.sqrt(0.5))
