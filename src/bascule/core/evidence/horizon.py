"""Evidence for a test that ends at an information horizon: boundary, stakes and reach.

A pair of arms has a `total` and a `clock`, in standard deviations of an outcome; the `horizon` is
the clock at which its test ends and is fixed before the test. By the reflection principle a
Brownian motion reaches `z sqrt(horizon)` by then with probability `2 (1 - Phi(z))`, which gives the
level of a flat boundary. `stake` turns the boundary into a bet, which is proven without normality:
its wealth follows the conditional probability that the boundary is still reached.
docs/research/horizon.md has the proofs.

A test ends when the planned effect is `reach` standard errors of its estimate. In units of the
effect, its total is then a Brownian motion with drift after the time `reach**2`, and its boundary
is `z reach`. The probability of ever crossing it is `conditional_power(z reach, reach**2)`, which
includes paths that cross it and fall back; the reach is chosen so that this is the power.
docs/research/horizon.md has the derivation and the results of simulations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from bascule.core.evidence.normal import DENSITY_AT_0, HALF_ROOT, log_normal_cdf
from bascule.core.types import FloatArray

LOG_2 = math.log(2.0)

LEAST_STEP = 0.5
"""Smallest step of a pair's clock: that of a block with one unit of each arm."""

LOG_CENTRE, LOG_FAR = math.log(0.02425), -300.0
"""Logs of the tail probabilities at which `upper_quantile` changes its approximation."""

HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)


def quantile(probability: float) -> float:
    """Return the standard normal quantile of a probability.

    >>> round(quantile(0.9), 4)
    1.2816
    """
    return NormalDist().inv_cdf(probability)


def normal_constant(level: float) -> float:
    """Return z of the flat boundary `z sqrt(horizon)` with an error probability of `level`.

    >>> round(normal_constant(0.05), 4)
    1.96
    """
    return -quantile(0.5 * level)


def log_flat(total: float, horizon: float) -> float:
    """Return -log(p) of the probability p that a Brownian motion reaches `total` by the horizon.

    It does not depend on the clock, which has to be at most the horizon.

    >>> round(log_flat(19.6, 100.0), 3), log_flat(-1.0, 100.0)
    (2.996, 0.0)
    """
    return max(0.0, -LOG_2 - log_normal_cdf(-total / math.sqrt(horizon)))


def line_crossed(start: float, slope: float, deviation: float) -> float:
    """Return the probability that a Brownian motion reaches a line by the horizon.

    The line begins at `start` and rises by `slope`; `deviation` is the root of the horizon.

    >>> round(line_crossed(19.6, 0.0, 10.0), 3), line_crossed(-1.0, 0.1, 10.0)
    (0.05, 1.0)
    """
    if start <= 0.0:
        return 1.0
    near, rise = start / deviation, slope * deviation
    straight = 0.5 * math.erfc((near + rise) * HALF_ROOT)
    return straight + 0.5 * math.exp(-2.0 * near * rise) * math.erfc((near - rise) * HALF_ROOT)


def upper_quantile(log_tail: float) -> float:
    """Return the z beyond which a standard normal variable lies with probability exp(`log_tail`).

    It uses Acklam's rational approximation, to nine digits; the probability is at most 1/2.

    >>> round(upper_quantile(math.log(0.025)), 6), round(upper_quantile(-500_007.826695), 3)
    (1.959964, 1000.0)
    """
    if log_tail > LOG_CENTRE:
        q = 0.5 - math.exp(log_tail)
        r = q * q
        top = (-3.969683028665376e1 * r + 2.209460984245205e2) * r - 2.759285104469687e2
        top = ((top * r + 1.383577518672690e2) * r - 3.066479806614716e1) * r + 2.506628277459239e0
        bottom = (-5.447609879822406e1 * r + 1.615858368580409e2) * r - 1.556989798598866e2
        bottom = ((bottom * r + 6.680131188771972e1) * r - 1.328068155288572e1) * r + 1.0
        z = q * top / bottom
    elif log_tail > LOG_FAR:
        q = math.sqrt(-2.0 * log_tail)
        top = (-7.784894002430293e-3 * q - 3.223964580411365e-1) * q - 2.400758277161838e0
        top = ((top * q - 2.549732539343734e0) * q + 4.374664141464968e0) * q + 2.938163982698783e0
        bottom = (7.784695709041462e-3 * q + 3.224671290700398e-1) * q + 2.445134137142996e0
        bottom = (bottom * q + 3.754408661907416e0) * q + 1.0
        z = -top / bottom
    else:
        z = math.sqrt(-2.0 * log_tail)
        for _ in range(3):
            z = math.sqrt(2.0 * (-log_tail - HALF_LOG_2_PI - math.log(z)))
    return z


def room_left(log_share: float) -> float:
    """Return the distance to a flat boundary that is reached with probability exp(`log_share`).

    It is in standard deviations of the change of the total until the horizon. `log_share` is at
    most 0.

    >>> round(room_left(math.log(0.05)), 4), round(room_left(0.0), 4)
    (1.96, 0.0)
    """
    return upper_quantile(log_share - LOG_2)


def stake(log_share: float, left: float) -> float:
    """Return the stake of a bet whose wealth is exp(`log_share`) times its goal.

    With this stake the wealth follows the probability that the total reaches a flat boundary while
    the clock grows by `left`: it is the derivative of the log of that probability with respect to
    the total. All values are in standard deviations of an outcome; `log_share` is at most 0.

    >>> round(stake(math.log(0.05), 100.0), 4)
    0.2338
    """
    room = room_left(log_share)
    # The hazard rate: the density at `room` over the tail beyond; about `room` in the far tail.
    if log_share > LOG_FAR:
        hazard = DENSITY_AT_0 * math.exp(-0.5 * room * room - log_share + LOG_2)
    else:
        hazard = room + 1.0 / room
    # The last block may end beyond the horizon, so at least the step of one block is left.
    return hazard / math.sqrt(max(LEAST_STEP, left))


def conditional_power(room: float, left: float) -> float:
    """Return the probability of reaching the boundary by the horizon if the effect is as planned.

    `room` is the distance to the boundary and `left` the remaining clock, both in units of the
    planned effect: the mean and the variance of the total grow by 1 for each unit of the clock.

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


def may_reach(room: float, left: float, smallest: float) -> bool:
    """Return whether the conditional power is at least `smallest`.

    >>> may_reach(1.0, 4.0, 0.2), may_reach(8.0, 4.0, 0.2)
    (True, False)
    """
    # If `room` is at most `left`, the power is at least one half: the usual case, and quick.
    if smallest <= 0.5 and room <= left:
        return True
    return conditional_power(room, left) >= smallest


NORMAL = NormalDist()

OVERSHOOT = 0.5826
"""Mean distance of a random walk beyond the boundary that it has just crossed, in standard
deviations of a step (Siegmund's correction)."""

CLOSE = 1e-6
"""Maximum difference between the requested power and the power of the reach that is found."""

EXACT = 1e-12
"""Relative precision of the distance between the line of futility and the boundary."""

TRIES = 60
"""Maximum number of iterations of a numerical search."""

GRID_CLOCKS, CELLS = 80, 201
"""Numbers of time steps and of cells in the grid on which a test with futility is computed."""

LOWEST = -4.0
"""Lowest total of the grid, in standard deviations of the total at the horizon."""

NODES = 61
"""Number of Gauss-Hermite nodes to integrate over the arm that all comparisons share."""


@lru_cache(maxsize=1024)
def reach_for(power: float, constant: float, look: float = 0.0, futility: float = 0.0) -> float:
    """Return the reach at which the boundary `constant` is crossed with the probability `power`.

    `look` is the standard deviation of the change of the total between two looks, in units of the
    planned effect; 0 for a test that is monitored continuously. `futility` is the conditional power
    below which the test ends.

    >>> round(reach_for(0.9, 1.95996), 3), round(reach_for(0.9, 1.95996, futility=0.2), 3)
    (3.023, 3.138)
    """
    beyond = OVERSHOOT * look

    def crossed(reach: float) -> float:
        return conditional_power(constant * reach + beyond, reach * reach)

    watched = solved(crossed, power, 1e-6, constant + max(0.0, quantile(power)) + look + 1.0)
    return watched if futility == 0.0 else watched * _futility_factor(power, constant, futility)


@lru_cache(maxsize=256)
def power_of_each(power: float, rivals: int, correlation: float) -> float:
    """Return the power each comparison needs for all of them to succeed with probability `power`.

    The comparisons are correlated because they share the better arm.

    >>> round(power_of_each(0.9, 1, 0.5), 3), round(power_of_each(0.9, 4, 0.5), 3)
    (0.9, 0.967)
    """
    if rivals == 1:
        return power
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    rest = math.sqrt(1.0 - correlation)

    def all_succeed(z: float) -> float:
        shares = [NORMAL.cdf((z + math.sqrt(correlation) * node) / rest) for node in nodes]
        return float(weights @ np.array(shares) ** rivals)

    # Independent comparisons need the largest power, which is the upper end of the search.
    reach = quantile(power ** (1.0 / rivals))
    return NORMAL.cdf(solved(all_succeed, power, quantile(power), reach))


@lru_cache(maxsize=256)
def _futility_factor(power: float, constant: float, futility: float) -> float:
    """Return the factor on the reach that keeps the power although futile tests end early."""
    without = reach_for(power, constant)
    largest = 2.0 * without

    def crossed(reach: float) -> float:
        return _carried(reach, constant, futility)

    return solved(crossed, power, without, largest) / without


def _carried(reach: float, constant: float, futility: float) -> float:
    """Return the probability of crossing the boundary by the horizon before the test is futile."""
    end, boundary = reach * reach, constant * reach
    step = end / GRID_CLOCKS
    deviation = math.sqrt(step)
    # The grid has discrete times, unlike the test, so the overshoot moves both lines inwards.
    nearer = OVERSHOOT * deviation
    top = boundary - nearer
    edges = np.linspace(LOWEST * reach, top, CELLS + 1)
    middles, width = 0.5 * (edges[1:] + edges[:-1]), edges[1] - edges[0]
    moves = width * _density(middles[None, :] - middles[:, None] - step, deviation)
    beyond = np.array([NORMAL.cdf((cell + step - top) / deviation) for cell in middles])
    law = width * _density(middles - step, deviation)
    crossed = NORMAL.cdf((step - top) / deviation)
    for place in range(1, GRID_CLOCKS):
        futile = boundary - _room_of(futility, end - place * step) + nearer
        law *= np.clip((edges[1:] - futile) / width, 0.0, 1.0)
        crossed += float(law @ beyond)
        law = law @ moves
    return crossed


def _room_of(futility: float, left: float) -> float:
    """Return the distance to the boundary at which the conditional power is `futility`.

    The probability is at most twice that of a total beyond the boundary at the end, and its log is
    concave: from a start farther away, Newton's method approaches the distance from above.
    """
    root = math.sqrt(left)
    room = left - root * NORMAL.inv_cdf(0.5 * futility)
    for _ in range(TRIES):
        chance, beyond = conditional_power(room, left), NORMAL.cdf((left - room) / root)
        slope = 2.0 * (chance - beyond - NORMAL.pdf((left - room) / root) / root)
        step = chance * math.log(chance / futility) / slope
        room -= step
        if abs(step) < EXACT * room:
            break
    return room


def solved(
    rising: Callable[[float], float], wanted: float, low: float, high: float, close: float = CLOSE
) -> float:
    """Return the argument at which a rising function is `wanted`, by false position (Illinois).

    >>> round(solved(lambda x: x * x, 2.0, 0.0, 2.0), 5)
    1.41421
    """
    below, above = rising(low) - wanted, rising(high) - wanted
    root = high
    for _ in range(TRIES):
        root = (low * above - high * below) / (above - below)
        value = rising(root) - wanted
        if abs(value) < close:
            break
        if value < 0.0:
            low, below, above = root, value, 0.5 * above
        else:
            high, above, below = root, value, 0.5 * below
    return root


def _density(values: FloatArray, deviation: float) -> FloatArray:
    scaled = values / deviation
    return np.exp(-0.5 * scaled * scaled) / (deviation * math.sqrt(2.0 * math.pi))
