"""Predict tests in blocks that are decided by bets, from the random walk of block differences.

The wealth of the bets nearly follows from the sum of the differences, so bets have a boundary too,
and the walk has a first passage. docs/research/prediction.md derives this.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bascule.core.evidence.betting import BETS, ORDINARY, log_part_at, share_at
from bascule.core.types import FloatArray, IntArray
from bascule.theory.prediction.passage import Line

STRIDES = (2.5, 1.0)
"""Step lengths of the two rounds of a prediction. The first round only finds the typical size of a
block, for which long steps are enough."""

BLOCKS = np.geomspace(1.0, 1e10, 300)
LOG_BLOCKS = np.log(BLOCKS)
"""Logarithms of the numbers of blocks for which the decision boundary is tabulated."""

SLOPES = np.geomspace(1e-6, 60.0, 300)
"""Exponential tilts of the distribution of a block's difference, in inverse standard deviations."""

STEEPEST = 60.0
"""Largest tilt, in inverse standard deviations, in the search for the tilt with a mean of 0."""

MOST_ROUNDS = 200
"""Maximum number of steps in the search for the tilt with mean difference 0, more than needed."""

LEAST = 1e-9
"""Smallest noise of outcomes, and smallest distance of the better mean from 1 and the worse mean
from 0."""


Law = tuple[FloatArray, FloatArray]
"""Possible values of a block's difference, scaled to lie within -1 and 1, with probabilities."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Distribution of a block's difference, by the leader's units per unit of the other arm.

    `law` returns the distribution for a whole number of units. `spread` returns the standard
    deviation of all outcomes, for any number of units.
    """

    law: Callable[[int], Law]
    spread: Callable[[float], float]


def coins(better: float, worse: float) -> Outcomes:
    """Return the distribution of a block's difference for 0/1 outcomes with these means.

    >>> values, chances = coins(0.5, 0.5).law(1)
    >>> values.tolist(), chances.tolist()
    ([0.0, -1.0, 1.0, 0.0], [0.25, 0.25, 0.25, 0.25])
    """
    better, worse = min(better, 1 - LEAST), max(worse, LEAST)

    def law(units: int) -> Law:
        hits = np.arange(units + 1)
        ways_to_hit = np.array([float(math.comb(units, int(hit))) for hit in hits])
        chances = ways_to_hit * better**hits * (1 - better) ** (units - hits)
        values = np.array([[hit / units - other_hit for other_hit in (0, 1)] for hit in hits])
        return values.ravel(), np.outer(chances, [1 - worse, worse]).ravel()

    def spread(units: float) -> float:
        mean = (units * better + worse) / (units + 1)
        return math.sqrt(mean * (1 - mean))

    return Outcomes(law, spread)


def bell(gap: float, noise: float) -> Outcomes:
    """Return the distribution of a block's difference, given the gap and the noise of outcomes.

    >>> values, chances = bell(0.1, 0.2).law(1)
    >>> round(float(values @ chances), 6)
    0.1
    """
    noise = max(noise, LEAST)

    def law(units: int) -> Law:
        deviation = noise * math.sqrt(3.0 * (1 + 1 / units))
        values = np.clip(np.array([gap - deviation, gap, gap + deviation]), -1.0, 1.0)
        return values, np.array([1 / 6, 2 / 3, 1 / 6])

    def spread(units: float) -> float:
        return math.hypot(noise, gap * math.sqrt(units) / (units + 1))

    return Outcomes(law, spread)


@dataclass(frozen=True, slots=True)
class Walk:
    """The random walk that approximates bets on a pair of arms, if all blocks have the same size.

    - `mean`: the mean of a block's difference.
    - `deviation`: the standard deviation of an outcome at which differences would be as noisy.
    - `boundary`: the total at which the bets have won enough, in deviations.
    - `scale`: the lead that the rule sees, divided by the standardised lead.
    """

    mean: float
    deviation: float
    boundary: Line
    scale: float


def bets_win(outcomes: Outcomes, typical: float, centre: float = ORDINARY) -> bool:
    """Return whether any bet's log wealth grows if blocks have `typical` units of the leader."""
    values, chances = _between(outcomes.law, typical)
    return bool((chances @ np.log1p(np.outer(values, bets_around(centre)[0])) > 0).any())


def walk_of_bets(
    threshold: float, outcomes: Outcomes, typical: float, centre: float = ORDINARY
) -> Walk:
    """Return the random walk for bets if every block has `typical` units of the leader."""
    values, chances = _between(outcomes.law, typical)
    # A block adds its difference, times its information, to the total.
    share, mean = typical / (1 + typical), float(values @ chances)
    deviation = math.sqrt(share * float((values - mean) ** 2 @ chances))
    boundary = _boundary(needed_mean(values, chances, threshold, centre), share, deviation)
    return Walk(mean, deviation, boundary, deviation / outcomes.spread(typical))


def _between(law_of: Callable[[int], Law], units: float) -> Law:
    """Return the distribution for blocks of a fractional size: a mixture of two whole sizes."""
    low = math.floor(units)
    smaller, larger = law_of(low), law_of(low + 1)
    part = units - low
    values = np.concatenate([smaller[0], larger[0]])
    chances = np.concatenate([(1 - part) * smaller[1], part * larger[1]])
    return values[chances > 0], chances[chances > 0]


def _boundary(needed: FloatArray, share: float, deviation: float) -> Line:
    """Return the total at which bets decide, by information; a block has information `share`."""
    known = needed < math.inf
    log_clocks, means = LOG_BLOCKS[known] + math.log(share), needed[known] / deviation

    def boundary(clocks: FloatArray) -> FloatArray:
        return clocks * np.interp(np.log(clocks), log_clocks, means, left=math.inf)

    return boundary


def bets_around(centre: float) -> tuple[FloatArray, FloatArray]:
    """Return the stakes of bets around a central stake, and the logs of their initial wealth."""
    places = range(len(BETS))
    parts = np.array([log_part_at(j, centre) for j in places])
    return np.array([share_at(j, centre) for j in places]), parts


def needed_mean(
    values: FloatArray, chances: FloatArray, threshold: float, centre: float = ORDINARY
) -> FloatArray:
    """Return the mean difference at which bets decide, by number of blocks; inf if they never do.

    Given their mean, blocks are distributed as if each had been drawn from the law of a block,
    tilted to that mean by an exponential factor.

    >>> needed = needed_mean(*coins(0.06, 0.05).law(1), math.log(20))
    >>> round(float(np.interp(math.log(10_000), LOG_BLOCKS, needed)), 4), float(needed[0])
    (0.0096, inf)
    """
    shares, parts = bets_around(centre)
    gains = np.log1p(np.outer(values, shares))
    mean = float(values @ chances)
    deviation = math.sqrt(float((values - mean) ** 2 @ chances))
    bent = _bent(values, chances, _fair(values, chances, deviation) + SLOPES / deviation)
    means, rates = bent @ values, bent @ gains

    def wealth(places: IntArray) -> FloatArray:
        return np.asarray(np.exp(parts + np.minimum(BLOCKS[:, None] * rates[places], 500.0)))

    low, high = np.zeros(len(BLOCKS), np.int64), np.full(len(BLOCKS), len(SLOPES) - 1)
    target_wealth = math.exp(threshold)
    is_ever = wealth(high).sum(axis=1) >= target_wealth
    while (high - low).max() > 1:
        middle = (low + high) // 2
        won = wealth(middle).sum(axis=1) >= target_wealth
        low, high = np.where(won, low, middle), np.where(won, middle, high)
    before, after = (np.log(wealth(places).sum(axis=1)) for places in (low, high))
    part = np.clip((threshold - before) / np.maximum(after - before, 1e-300), 0.0, 1.0)
    needed = means[low] + part * (means[high] - means[low])
    # The wealth also varies for a given sum of differences, which brings the boundary nearer.
    shares = wealth(high) / wealth(high).sum(axis=1)[:, None]
    known = np.sqrt(shares @ _explained(values, chances, gains))
    return np.where(is_ever, mean + known * (needed - mean), math.inf)


def _explained(values: FloatArray, chances: FloatArray, gains: FloatArray) -> FloatArray:
    """Return the share of the variance of each bet's gains that the block's difference explains."""
    apart, gained = values - values @ chances, gains - chances @ gains
    return (chances * apart @ gained) ** 2 / ((chances @ apart**2) * (chances @ gained**2) + 1e-300)


def _bent(values: FloatArray, chances: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return the exponentially tilted probabilities of the values; a row for each slope."""
    logs = np.outer(slopes, values) + np.log(chances)
    bent = np.exp(logs - logs.max(axis=1)[:, None])
    return np.asarray(bent / bent.sum(axis=1)[:, None])


def _fair(values: FloatArray, chances: FloatArray, deviation: float) -> float:
    """Return the exponential tilt at which the mean difference is 0; the steepest if there is none.

    It is found by Newton's method: the derivative of the mean by the slope is the variance. If a
    step would leave the interval in which the slope lies, the interval is halved instead.
    """
    low, high, slope = -STEEPEST / deviation, 0.0, 0.0
    for _ in range(MOST_ROUNDS):
        (law,) = _bent(values, chances, np.array([slope]))
        mean = float(law @ values)
        low, high = (low, slope) if mean > 0.0 else (slope, high)
        nearer = slope - mean / max(float(law @ (values - mean) ** 2), 1e-300)
        if abs(nearer - slope) <= 1e-15 * abs(slope):
            break
        slope = nearer if low < nearer < high else 0.5 * (low + high)
    return slope
