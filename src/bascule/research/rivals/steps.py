"""Computations of rival rules at a look: the probability of each arm, and the winner.

Plain functions on flat arrays that also compile. `sums` has five blocks with a value for each arm:
the units, the sum of outcomes, the sum of their squares, and the last two again with every outcome
divided by the probability of its arm. `shares` has the probability with which the next units join
each arm. Variances are estimated from the outcomes if `sigma` is 0, otherwise known.
"""

from __future__ import annotations

import math

from bascule.core.types import NOBODY, FloatArray

TRACK, THOMPSON, TOP_TWO, MIXTURE = range(4)
"""Codes of the kinds of rules."""

UNITS, TOTALS, SQUARES, WEIGHTED, WEIGHTED_SQUARES, SUMS = range(6)
"""Indices of the blocks of `sums`, and the number of blocks."""

FIRST = 10
"""Until each arm has this many units, units are assigned evenly at random."""

LEAST_VARIANCE = 1e-12

REACH, NODES = 5.0, 41
"""Range, in standard deviations, and number of nodes for integrating a posterior."""

FADING = 0.24
"""Exponent with which a mixture adaptive design's even part decreases (Liang, Bojinov)."""

TUNED_FOR = 2000.0
"""Number of units at which the intervals of the mixture adaptive design are tightest."""


def mean_of(sums: FloatArray, arms: int, arm: int) -> float:
    """Return the mean of an arm."""
    return float(sums[arms * TOTALS + arm] / max(1.0, sums[arm]))


def variance_of(sums: FloatArray, arms: int, arm: int, sigma: float) -> float:
    """Return the variance of an arm's outcomes: known, or estimated if `sigma` is 0."""
    if sigma > 0.0:
        return sigma * sigma
    units = max(1.0, sums[arm])
    mean = sums[arms * TOTALS + arm] / units
    variance = sums[arms * SQUARES + arm] / units - mean * mean
    return float(max(variance * units / max(1.0, units - 1.0), LEAST_VARIANCE))


def fewest_units(sums: FloatArray, arms: int) -> float:
    """Return the smallest number of units of any arm."""
    fewest = math.inf
    for arm in range(arms):
        fewest = min(fewest, sums[arm])
    return fewest


def leader_of(sums: FloatArray, arms: int) -> int:
    """Return the arm with the highest mean."""
    best = 0
    for arm in range(1, arms):
        if mean_of(sums, arms, arm) > mean_of(sums, arms, best):
            best = arm
    return best


def normal_cdf(z: float) -> float:
    """Return the probability that a standard normal is at most z."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def chance_to_win(sums: FloatArray, arms: int, arm: int, sigma: float) -> float:
    """Return the posterior probability that an arm is best: flat prior, normal likelihood."""
    mean = mean_of(sums, arms, arm)
    wide = math.sqrt(variance_of(sums, arms, arm, sigma) / sums[arm])
    if arms == 2:
        rival = 1 - arm
        apart = variance_of(sums, arms, rival, sigma) / sums[rival] + wide * wide
        return normal_cdf((mean - mean_of(sums, arms, rival)) / math.sqrt(apart))
    total, mass = 0.0, 0.0
    for node in range(NODES):
        z = REACH * (2.0 * node / (NODES - 1) - 1.0)
        weight = math.exp(-0.5 * z * z)
        part = weight
        for rival in range(arms):
            if rival != arm:
                error = math.sqrt(variance_of(sums, arms, rival, sigma) / sums[rival])
                part *= normal_cdf((mean + wide * z - mean_of(sums, arms, rival)) / error)
        total += part
        mass += weight
    return float(total / mass)


def likelihood_ratio(sums: FloatArray, arms: int, leader: int, rival: int, sigma: float) -> float:
    """Return the log likelihood ratio of the estimated means against equal means."""
    gap = mean_of(sums, arms, leader) - mean_of(sums, arms, rival)
    variance = variance_of(sums, arms, leader, sigma) / sums[leader]
    variance += variance_of(sums, arms, rival, sigma) / sums[rival]
    return float(0.5 * max(0.0, gap) ** 2 / variance)


def optimal_shares(sums: FloatArray, arms: int, sigma: float, shares: FloatArray) -> None:
    """Write the shares that maximise the growth of the smallest likelihood ratio.

    The leader's share is set to 1 at first. A common ratio y then determines the share of each
    rival. Bisection finds the y at which the marginal gains agree (Garivier, Kaufmann 2016).
    """
    leader = leader_of(sums, arms)
    leader_variance = variance_of(sums, arms, leader, sigma)
    # Without a smallest gap, arms with nearly equal means would get almost all units.
    smallest = 1e-3 * math.sqrt(leader_variance)
    top = math.inf
    for arm in range(arms):
        if arm != leader:
            gap = max(smallest, mean_of(sums, arms, leader) - mean_of(sums, arms, arm))
            top = min(top, gap * gap / leader_variance)
    low, high = 0.0, top
    for _ in range(40):
        y = 0.5 * (low + high)
        gained = 0.0
        for arm in range(arms):
            if arm != leader:
                gap = max(smallest, mean_of(sums, arms, leader) - mean_of(sums, arms, arm))
                rival_variance = variance_of(sums, arms, arm, sigma)
                shares[arm] = rival_variance / max(gap * gap / y - leader_variance, 1e-300)
                gained += leader_variance * shares[arm] * shares[arm] / rival_variance
        if gained < 1.0:
            low = y
        else:
            high = y
    shares[leader] = 1.0
    shares /= shares.sum()


def write_shares(
    kind: int,
    sums: FloatArray,
    arms: int,
    knob: float,
    sigma: float,
    shares: FloatArray,
) -> None:
    """Write the probability with which the next units join each arm."""
    shares[:] = 1.0 / arms
    if fewest_units(sums, arms) < FIRST:
        return
    if kind == TRACK:
        optimal_shares(sums, arms, sigma, shares)
    else:
        for arm in range(arms):
            shares[arm] = chance_to_win(sums, arms, arm, sigma)
        if kind == TOP_TWO:
            top_two(shares, arms, knob)
        else:
            even = knob * arms if kind == THOMPSON else sums[:arms].sum() ** -FADING
            for arm in range(arms):
                shares[arm] = even / arms + (1.0 - even) * shares[arm]


def top_two(shares: FloatArray, arms: int, leader: float) -> None:
    """Replace the chances to win by the shares of top-two Thompson sampling.

    An arm is drawn by the chances to win, and gets the unit with probability `leader`. Otherwise
    the next drawn arm that is another one gets it.
    """
    first = int(shares.argmax())
    # The other chances are summed directly: 1 minus a chance near 1 would lose all precision.
    rest = 1e-300
    for arm in range(arms):
        rest += shares[arm] * (arm != first)
    whole = rest + shares[first]
    of_rest = 0.0
    for arm in range(arms):
        if arm != first:
            of_rest += shares[arm] / (whole - shares[arm])
    of_first = shares[first] / rest
    for arm in range(arms):
        rest_shares = of_rest
        if arm != first:
            rest_shares += of_first - shares[arm] / (whole - shares[arm])
        shares[arm] *= leader + (1.0 - leader) * rest_shares
    shares /= shares.sum()


def winner_of(kind: int, sums: FloatArray, arms: int, error: float, sigma: float) -> int:
    """Return the arm that a rule declares the winner, or `NOBODY`."""
    if fewest_units(sums, arms) < FIRST:
        return NOBODY
    units, leader = float(sums[:arms].sum()), leader_of(sums, arms)
    if kind == THOMPSON:
        return leader if chance_to_win(sums, arms, leader, sigma) >= 1.0 - error else NOBODY
    if kind == MIXTURE:
        leader = int(sums[arms * WEIGHTED : arms * WEIGHTED_SQUARES].argmax())
    for rival in range(arms):
        if rival == leader:
            continue
        if kind == MIXTURE:
            beaten = weighted_difference(sums, arms, leader, rival, units, error) > 0.0
        else:
            ratio = likelihood_ratio(sums, arms, leader, rival, sigma)
            beaten = ratio > math.log((1.0 + math.log(units)) / error)
        if not beaten:
            return NOBODY
    return leader


def weighted_difference(
    sums: FloatArray, arms: int, leader: int, rival: int, units: float, error: float
) -> float:
    """Return the lower end of the confidence sequence for a difference of weighted sums.

    The sequence is asymptotic. Each end has the stated error, divided among the rivals.
    """
    level = 2.0 * error / (arms - 1.0)
    difference = sums[arms * WEIGHTED + leader] - sums[arms * WEIGHTED + rival]
    spread = sums[arms * WEIGHTED_SQUARES + leader] + sums[arms * WEIGHTED_SQUARES + rival]
    evidence = -2.0 * math.log(level)
    scale = (evidence + math.log(evidence + 1.0)) * units / (TUNED_FOR * spread)
    grown = spread * scale + 1.0
    return float(difference - math.sqrt(2.0 * grown / scale * math.log(math.sqrt(grown) / level)))
