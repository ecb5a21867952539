"""Evidence for a test that ends at an information horizon: a flat boundary and stakes along it.

A pair of arms has a `total` and a `clock`, in standard deviations of an outcome; the `horizon` is
the clock at which its test ends and is fixed before the test. By the reflection principle a
Brownian motion ever reaches `z sqrt(horizon)` by then with probability `2 (1 - Phi(z))`, so a flat
boundary needs no more than that. `stake` makes a bet of it, which is proven without normality: what
is owned then follows the probability, seen from now on, that the boundary is still reached.
docs/research/horizon.md has the proofs.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from bascule.core.evidence.normal import DENSITY_AT_0, HALF_ROOT, log_normal_cdf

LOG_2 = math.log(2.0)

LEAST_STEP = 0.5
"""What a block adds to the clock of a pair at the least: that of one unit of each arm."""

LOG_CENTRE, LOG_FAR = math.log(0.02425), -300.0
"""Where one approximation of a normal quantile takes over from another."""

HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)

A = (
    *(-3.969683028665376e1, 2.209460984245205e2, -2.759285104469687e2),
    *(1.383577518672690e2, -3.066479806614716e1, 2.506628277459239e0),
)
B = (
    *(-5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2),
    *(6.680131188771972e1, -1.328068155288572e1),
)
C = (
    *(-7.784894002430293e-3, -3.223964580411365e-1, -2.400758277161838e0),
    *(-2.549732539343734e0, 4.374664141464968e0, 2.938163982698783e0),
)
D = (7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996e0, 3.754408661907416e0)
"""Coefficients of Acklam's approximation."""


def quantile(probability: float) -> float:
    """Return the standard normal quantile of a probability.

    >>> round(quantile(0.9), 4)
    1.2816
    """
    return NormalDist().inv_cdf(probability)


def normal_constant(level: float) -> float:
    """Return z of the flat boundary `z sqrt(horizon)` of normal outcomes, for an error of `level`.

    >>> round(normal_constant(0.05), 4)
    1.96
    """
    return -quantile(0.5 * level)


def log_flat(total: float, horizon: float) -> float:
    """Log of 1 / p, with p the probability that a Brownian motion reaches `total` by the horizon.

    It does not depend on the clock, which has to be at most the horizon.

    >>> round(log_flat(19.6, 100.0), 3), log_flat(-1.0, 100.0)
    (2.996, 0.0)
    """
    return max(0.0, -LOG_2 - log_normal_cdf(-total / math.sqrt(horizon)))


def upper_quantile(log_tail: float) -> float:
    """Return the z beyond which a standard normal variable lies with probability exp(`log_tail`).

    Acklam's rational approximation, to nine digits; the probability is at most 1/2.

    >>> round(upper_quantile(math.log(0.025)), 6), round(upper_quantile(-500_007.826695), 3)
    (1.959964, 1000.0)
    """
    if log_tail > LOG_CENTRE:
        q = 0.5 - math.exp(log_tail)
        r = q * q
        top = ((((A[0] * r + A[1]) * r + A[2]) * r + A[3]) * r + A[4]) * r + A[5]
        bottom = ((((B[0] * r + B[1]) * r + B[2]) * r + B[3]) * r + B[4]) * r + 1.0
        z = q * top / bottom
    elif log_tail > LOG_FAR:
        q = math.sqrt(-2.0 * log_tail)
        top = ((((C[0] * q + C[1]) * q + C[2]) * q + C[3]) * q + C[4]) * q + C[5]
        bottom = (((D[0] * q + D[1]) * q + D[2]) * q + D[3]) * q + 1.0
        z = -top / bottom
    else:
        z = math.sqrt(-2.0 * log_tail)
        for _ in range(3):
            z = math.sqrt(2.0 * (-log_tail - HALF_LOG_2_PI - math.log(z)))
    return z


def room_left(log_share: float) -> float:
    """Return how far a flat boundary is, in standard deviations of the way that is left.

    It is where the boundary is reached with the probability exp(`log_share`), which is at most 1.

    >>> round(room_left(math.log(0.05)), 4), round(room_left(0.0), 4)
    (1.96, 0.0)
    """
    return upper_quantile(log_share - LOG_2)


def stake(log_share: float, left: float) -> float:
    """Return the stake of a bet that owns the share exp(`log_share`) of its goal, at most all.

    It is what makes the bet follow the probability to reach a flat boundary while the clock goes on
    by `left`: the derivative of the log of that probability in the total. Everything in standard
    deviations of an outcome.

    >>> round(stake(math.log(0.05), 100.0), 4)
    0.2338
    """
    room = room_left(log_share)
    # The density at that place over the tail beyond; far out it is nearly the place itself.
    if log_share > LOG_FAR:
        hazard = DENSITY_AT_0 * math.exp(-0.5 * room * room - log_share + LOG_2)
    else:
        hazard = room + 1.0 / room
    # The last block may reach beyond the horizon, and is staked on as a whole.
    return hazard / math.sqrt(max(LEAST_STEP, left))


def conditional_power(room: float, left: float) -> float:
    """Return the probability that a boundary is reached at the planned effect before the end.

    `room` is how far away it is, and `left` the rest of the way, both in units of the planned
    effect: so the total grows by 1 for each unit of the clock, and its variance too.

    >>> round(conditional_power(1.96 * 3.24, 3.24**2), 3), conditional_power(0.0, 1.0)
    (0.932, 1.0)
    """
    if room <= 0.0:
        return 1.0
    if left <= 0.0:
        return 0.0
    root = math.sqrt(left)
    straight = 0.5 * math.erfc((room - left) / root * HALF_ROOT)
    return straight + math.exp(2.0 * room + log_normal_cdf((-room - left) / root))


def may_reach(room: float, left: float, least: float) -> bool:
    """Return whether the conditional power is at least `least`.

    >>> may_reach(1.0, 4.0, 0.2), may_reach(8.0, 4.0, 0.2)
    (True, False)
    """
    # With no more room than what is left, it is one half or more: most tests are here for long.
    if least <= 0.5 and room <= left:
        return True
    return conditional_power(room, left) >= least
