"""Evidence from bounded outcomes by betting, without knowing their variance.

A bet that arm A is better stakes a fixed share of its wealth on every block, and gains or loses in
proportion to the block's difference. If A is not better the wealth is a supermartingale, which is
rarely large; so a large wealth is evidence. A few shares are bet side by side, each with its own
part of one starting unit. docs/research/evidence.md has the proof.
"""

from __future__ import annotations

import math

from bascule.core.types import FloatArray

BETS = tuple(0.99 * 0.5**j for j in range(14))
"""Shares of the wealth that the bets stake on each block, largest first."""

_PARTS = tuple(1.0 / (1.0 + ((j - 3.0) / 2.0) ** 2) for j in range(len(BETS)))

LOG_PARTS = tuple(math.log(part / sum(_PARTS)) for part in _PARTS)
"""Log of the starting wealth of each bet. The bets that are best at finding lifts from 5 % to 50 %
start with most."""

CENTRAL = 3
"""Index in `BETS` of the central bet, the one that is tuned to a planned effect."""

ORDINARY = BETS[CENTRAL]
"""Share of its wealth that the central bet stakes if no effect is planned."""

FACTORS = tuple(2.0 ** (CENTRAL - j) for j in range(len(BETS)))
"""The shares in `BETS` as multiples of the central share."""

PLANNED = 0.75
"""Part of the starting wealth that the central bet gets if an effect is planned."""

PLANNED_LOG_PARTS = tuple(
    math.log((1.0 - PLANNED) * math.exp(part) + (PLANNED if j == CENTRAL else 0.0))
    for j, part in enumerate(LOG_PARTS)
)

CURVES = tuple(-math.log1p(-share) - share for share in BETS)
"""Coefficient of the squared gains that `log_shifted_wealth` subtracts, for each share."""

FOURTHS = tuple(-math.log1p(-s) - s - 0.5 * s * s - s**3 / 3.0 for s in BETS)
"""Coefficient of the fourth powers that `log_wealth_of_sums` subtracts, for each share."""

HALVINGS, CLOSE = 200, 1e-13
"""Maximum number of steps of a search, and the relative step size at which it ends."""

AT_LIMIT = 1e-3
"""Relative distance from -1, the smallest possible difference, at which a search gives up.

If only differences even nearer to -1 are ruled out, none counts as ruled out.
"""

SMALL = 2.0**-6
"""Size of a gain below which `log_factor` uses a series, which has full precision there."""


def log_factor(gain: float) -> float:
    """Return log(1 + `gain`) to full precision; faster than `math.log1p` for small gains.

    >>> log_factor(0.01) == math.log1p(0.01), log_factor(-0.99) == math.log1p(-0.99)
    (True, True)
    """
    if abs(gain) >= SMALL:
        return math.log1p(gain)
    high = 1.0 / 5.0 - gain * (1.0 / 6.0 - gain * (1.0 / 7.0 - gain * (1.0 / 8.0 - gain / 9.0)))
    low = 0.5 - gain * (1.0 / 3.0 - gain * (0.25 - gain * high))
    return gain - gain * gain * low


def share_at(j: int, centre: float) -> float:
    """Return the fraction of its wealth that bet `j` stakes, given that of the central bet.

    >>> [share_at(j, ORDINARY) for j in range(len(BETS))] == list(BETS)
    True
    """
    return min(BETS[0], centre * FACTORS[j])


def log_part_at(j: int, centre: float) -> float:
    """Return the log of the starting wealth of bet `j`, given the central share `centre`."""
    return LOG_PARTS[j] if centre == ORDINARY else PLANNED_LOG_PARTS[j]


def curve_at(j: int, centre: float) -> float:
    """Return the factor on the squared gains that `log_shifted_wealth` subtracts for bet `j`."""
    if centre == ORDINARY:
        return CURVES[j]
    share = share_at(j, centre)
    return -math.log1p(-share) - share


def central_share(effect: float, variance: float, leaders: float) -> float:
    """Return the stake with the fastest growth of wealth if blocks differ by `effect` on average.

    `variance` is that of one outcome and `leaders` the number of the leader's units for each unit
    of the other arm; `effect` and `variance` are in units of the limits' width.

    >>> round(central_share(0.01, 0.055 * 0.945, 1.0), 4)
    0.0961
    """
    return min(BETS[0], effect / (variance * (1.0 + 1.0 / leaders) + effect * effect))


def bet(state: FloatArray, first: int, difference: float, centre: float = ORDINARY) -> None:
    """Update the bets with the difference of one block (A less B), which lies between -1 and 1.

    `state` holds, from index `first` on, the logarithm of the factor by which each bet has
    multiplied its starting wealth; it starts with zeros. `centre` is the share that the central bet
    stakes.
    """
    for j in range(len(BETS)):
        state[first + j] += log_factor(share_at(j, centre) * difference)


def log_wealth(state: FloatArray, first: int, centre: float = ORDINARY) -> float:
    """Return the log of the total wealth of all bets, which was 1 at the start.

    It is never above the log of the largest factor by which a single bet has grown.

    >>> import numpy as np
    >>> state = [0.0] * len(BETS)
    >>> for _ in range(10):
    ...     bet(state, 0, 1.0)
    >>> round(float(log_wealth(state, 0)), 3)
    4.249
    """
    top = -math.inf
    for j in range(len(BETS)):
        top = max(top, state[first + j])
    wealth = 0.0
    for j in range(len(BETS)):
        wealth += math.exp(state[first + j] - top + log_part_at(j, centre))
    return top + math.log(wealth)


def log_shifted_wealth(
    blocks: float, differences: float, squares: float, shift: float, centre: float = ORDINARY
) -> float:
    """Return a lower bound on the log wealth of bets on a difference above `shift`.

    It is computed from the number of blocks, the sum of their differences and the sum of the
    squared differences; bets that are updated with every block have slightly more wealth. `shift`
    lies between -1 and 1.

    >>> round(log_shifted_wealth(1000.0, 100.0, 200.0, 0.0), 3)
    15.576
    >>> log_shifted_wealth(1000.0, 100.0, 200.0, 0.1) <= 0.0
    True
    """
    return shifted_wealth_and_slope(blocks, differences, squares, shift, centre)[0]


def shifted_wealth_and_slope(
    blocks: float, differences: float, squares: float, shift: float, centre: float
) -> tuple[float, float]:
    """Return `log_shifted_wealth` and minus its derivative with respect to the shift."""
    scale = 1.0 / (1.0 + shift)
    rest = differences - blocks * shift
    charge = squares + shift * (blocks * shift - 2.0 * differences)
    gains, charged = rest * scale, charge * scale * scale
    top = -math.inf
    for j in range(len(BETS)):
        top = max(top, share_at(j, centre) * gains - curve_at(j, centre) * charged)
    wealth, shares, curves = 0.0, 0.0, 0.0
    for j in range(len(BETS)):
        share, curve = share_at(j, centre), curve_at(j, centre)
        part = math.exp(share * gains - curve * charged - top + log_part_at(j, centre))
        wealth += part
        shares += part * share
        curves += part * curve
    # Minus the derivatives of `gains` and `charged` with respect to the shift.
    gained = blocks * scale + rest * scale * scale
    more_charged = 2.0 * scale * scale * (rest + charge * scale)
    return top + math.log(wealth), (gained * shares - more_charged * curves) / wealth


def shift_ruled_out(
    blocks: float, differences: float, squares: float, threshold: float, centre: float = ORDINARY
) -> float:
    """Return the largest difference below the observed mean that the bets rule out; -1 for none.

    At this difference `log_shifted_wealth` reaches the threshold. Newton's method finds it, with
    bisection for steps that would leave the bracketing interval. -1 is the smallest possible
    difference.

    >>> round(shift_ruled_out(1000.0, 100.0, 200.0, 3.0), 4)
    0.0558
    """
    mean = differences / blocks
    # Distances below the mean: one that is not ruled out, and that of -1, the smallest difference.
    near, far = 0.0, 1.0 + mean
    smallest = far
    if never_ruled_out(blocks, max(0.0, squares - differences * mean), threshold) >= far:
        return -1.0
    below = min(math.sqrt(2.0 * (threshold + 2.0) * squares) / blocks, 0.5 * far)
    for _ in range(HALVINGS):
        excess, slope = math.inf, 0.0
        if mean - below > -1.0:
            log_wealth_there, slope = shifted_wealth_and_slope(
                blocks, differences, squares, mean - below, centre
            )
            excess = log_wealth_there - threshold
        if excess >= 0.0:
            far = below
        else:
            near = below
        after = below - excess / slope if slope > 0.0 else math.inf
        # A step to either end is accepted: one that rounds to 0 then ends the search.
        if not near <= after <= far:
            after = 0.5 * (near + far)
        moved = abs(after - below)
        below = after
        if far == smallest and far - below <= AT_LIMIT * far:
            return -1.0
        if moved <= CLOSE * after:
            break
    return mean - below


def never_ruled_out(blocks: float, deviations: float, threshold: float) -> float:
    """Return a lower bound on the distance from the mean to the differences that the bets rule out.

    `deviations` is the sum of squared deviations from the mean. With gains of g in total, and c the
    sum of their squares, a share s wins s g and loses at least s^2 c / 2, so the log wealth of all
    bets together is at most g^2 / (2 c). For n blocks, at a distance b, that is
    (n b)^2 / (2 (deviations + n b^2)), which never exceeds n / 2.

    >>> never_ruled_out(17.0, 1.0, 9.0), round(never_ruled_out(1000.0, 190.0, 3.0), 4)
    (inf, 0.0339)
    """
    spare = blocks - 2.0 * threshold
    return math.sqrt(2.0 * threshold * deviations / (blocks * spare)) if spare > 0.0 else math.inf


def log_wealth_of_sums(differences: float, squares: float, cubes: float, fourths: float) -> float:
    """Return a lower bound on the log wealth of the bets, from four sums over the blocks.

    The sums are those of the blocks' differences, each between -1 and 1, and of their second, third
    and fourth powers. Bets that are updated with every block have hardly more wealth: in each
    logarithm only the terms from the fourth power on are replaced by their worst case.

    >>> state = [0.0] * len(BETS)
    >>> for difference in (1.0, 1.0, 0.5, -1.0, 1.0) * 20:
    ...     bet(state, 0, difference)
    >>> sums = (50.0, 85.0, 42.5, 81.25)
    >>> round(float(log_wealth(state, 0)), 2), round(log_wealth_of_sums(*sums), 2)
    (12.62, 11.75)
    """
    top = -math.inf
    for j in range(len(BETS)):
        top = max(top, log_of_sums(j, differences, squares, cubes, fourths))
    wealth = 0.0
    for j in range(len(BETS)):
        won = log_of_sums(j, differences, squares, cubes, fourths)
        wealth += math.exp(won - top + LOG_PARTS[j])
    return top + math.log(wealth)


def log_of_sums(j: int, differences: float, squares: float, cubes: float, fourths: float) -> float:
    """Return a lower bound on the log growth of bet `j`, from the sums in `log_wealth_of_sums`."""
    share = BETS[j]
    third = share * (differences - share * (0.5 * squares - share * cubes / 3.0))
    return third - FOURTHS[j] * fourths


def sums_may_reach(threshold: float, differences: float, squares: float) -> bool:
    """Check quickly if bets on either arm can be at the threshold: False is certain, True is not.

    As no gain is above 1, log(1 + s x) <= s x - s^2 x^2 / 6 for every share s, and the sum of
    these is at most 3/2 (sum of x)^2 / (sum of x^2).
    """
    return 1.5 * differences * differences >= threshold * squares and squares > 0.0
