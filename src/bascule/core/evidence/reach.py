"""How far a horizon must lie for a power: the reach, in standard errors of the planned effect.

A test ends when the planned effect is `reach` standard errors of its estimate. Its total is then a
Brownian motion with drift that has run for `reach**2`, in units of the effect, and its boundary
`z reach` away. The probability to cross it is `conditional_power(z reach, reach**2)`,
since many paths cross it and fall back: the reach is where that is the power.
docs/research/horizon.md has the derivation and what simulations show.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from bascule.core.evidence.horizon import conditional_power, quantile
from bascule.core.types import FloatArray

NORMAL = NormalDist()

OVERSHOOT = 0.5826
"""How far beyond a boundary a random walk is on average when it has crossed it, in standard
deviations of a step (Siegmund's correction)."""

CLOSE = 1e-6
"""How near to the power the probability of a reach has to be."""

EXACT = 1e-12
"""How near a line of futility has to be, as a part of its distance."""

TRIES = 60
"""How often a number is corrected, at the most."""

GRID_CLOCKS, CELLS = 80, 201
"""Steps of the clock and cells of the total on which the law of a path with futility is carried."""

LOWEST = -4.0
"""The lowest total that is followed, in standard deviations of the total at the horizon."""

NODES = 61
"""Points of the Gauss-Hermite rule for what comparisons with one arm have in common."""


@lru_cache(maxsize=1024)
def reach_for(power: float, constant: float, look: float = 0.0, futility: float = 0.0) -> float:
    """Return the reach at which the boundary `constant` is crossed with the probability `power`.

    `look` is the standard deviation of what is added to the total between two looks, in units of
    the planned effect; 0 for a test that is watched all the time. `futility` is the conditional
    power below which the test ends.

    >>> round(reach_for(0.9, 1.95996), 3), round(reach_for(0.9, 1.95996, futility=0.2), 3)
    (3.023, 3.138)
    """
    beyond = OVERSHOOT * look

    def crossed(reach: float) -> float:
        return conditional_power(constant * reach + beyond, reach * reach)

    watched = _solved(crossed, power, 1e-6, constant + max(0.0, quantile(power)) + look + 1.0)
    return watched if futility == 0.0 else watched * _futility_factor(power, constant, futility)


@lru_cache(maxsize=256)
def power_of_each(power: float, rivals: int, correlation: float) -> float:
    """Return the power of each comparison with a rival, so that all succeed with this one.

    They have the better arm in common, and so a correlation.

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

    # Independent comparisons need the most.
    most = quantile(power ** (1.0 / rivals))
    return NORMAL.cdf(_solved(all_succeed, power, quantile(power), most))


@lru_cache(maxsize=256)
def _futility_factor(power: float, constant: float, futility: float) -> float:
    """How many times as far a horizon lies with futility, which ends some tests too soon."""
    without = reach_for(power, constant)
    far = 2.0 * without

    def crossed(reach: float) -> float:
        return _carried(reach, constant, futility)

    return _solved(crossed, power, without, far) / without


def _carried(reach: float, constant: float, futility: float) -> float:
    """The probability to cross the boundary by the horizon and not to be futile before."""
    end, boundary = reach * reach, constant * reach
    step = end / GRID_CLOCKS
    deviation = math.sqrt(step)
    # Between two steps a path is watched all the time: both lines lie nearer by the overshoot.
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
    """How far away the boundary is where it is still crossed with the probability `futility`.

    It is at most twice that of a total beyond the boundary at the end, and its log is concave: from
    further away Newton's method comes nearer and never too near.
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


def _solved(rising: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """Return where a rising function has this value, by false position (Illinois)."""
    below, above = rising(low) - wanted, rising(high) - wanted
    here = high
    for _ in range(TRIES):
        here = (low * above - high * below) / (above - below)
        value = rising(here) - wanted
        if abs(value) < CLOSE:
            break
        if value < 0.0:
            low, below, above = here, value, 0.5 * above
        else:
            high, above, below = here, value, 0.5 * below
    return here


def _density(values: FloatArray, deviation: float) -> FloatArray:
    scaled = values / deviation
    return np.exp(-0.5 * scaled * scaled) / (deviation * math.sqrt(2.0 * math.pi))
