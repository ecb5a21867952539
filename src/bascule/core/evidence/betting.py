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
"""The shares that are staked on each block."""

_PARTS = tuple(1.0 / (1.0 + ((j - 3.0) / 2.0) ** 2) for j in range(len(BETS)))

LOG_PARTS = tuple(math.log(part / sum(_PARTS)) for part in _PARTS)
"""Logarithms of what each share starts with: most where lifts from 5 % to 50 % are best found,
and something for every other."""

CENTRAL = 3
"""Which of the shares a planned effect is bet on with."""

ORDINARY = BETS[CENTRAL]
"""The central share where no effect is planned."""

FACTORS = tuple(2.0 ** (CENTRAL - j) for j in range(len(BETS)))
"""The shares as multiples of the central one."""

PLANNED = 0.75
"""The part of the starting unit that is bet on a planned effect; the rest is divided as ever."""

PLANNED_LOG_PARTS = tuple(
    math.log((1.0 - PLANNED) * math.exp(part) + (PLANNED if j == CENTRAL else 0.0))
    for j, part in enumerate(LOG_PARTS)
)

CURVES = tuple(-math.log1p(-share) - share for share in BETS)
"""What each share is charged for the square of a gain in `log_shifted_wealth`."""

FOURTHS = tuple(-math.log1p(-s) - s - 0.5 * s * s - s**3 / 3.0 for s in BETS)
"""What each share is charged for the fourth power of a gain in `log_wealth_of_sums`."""

HALVINGS, CLOSE = 200, 1e-13
"""The most steps of a search; it ends sooner, once they are this small beside what is found."""

AT_LIMIT = 1e-3
"""The part of the way to the smallest difference that is left to it, so that a search in vain ends:
what no bet has ruled out as far as that is taken not to be ruled out at all."""

SMALL = 2.0**-6
"""Below this the first terms of its series give a logarithm to full precision."""


def log_factor(gain: float) -> float:
    """Log of 1 + `gain`, to full precision and sooner than the library has it for small gains.

    >>> log_factor(0.01) == math.log1p(0.01), log_factor(-0.99) == math.log1p(-0.99)
    (True, True)
    """
    if abs(gain) >= SMALL:
        return math.log1p(gain)
    high = 1.0 / 5.0 - gain * (1.0 / 6.0 - gain * (1.0 / 7.0 - gain * (1.0 / 8.0 - gain / 9.0)))
    low = 0.5 - gain * (1.0 / 3.0 - gain * (0.25 - gain * high))
    return gain - gain * gain * low


def share_at(j: int, centre: float) -> float:
    """Return the share of one of the bets around a central share, at most that of the first.

    >>> [share_at(j, ORDINARY) for j in range(len(BETS))] == list(BETS)
    True
    """
    return min(BETS[0], centre * FACTORS[j])


def log_part_at(j: int, centre: float) -> float:
    """Return the logarithm of what one of the bets around a central share starts with."""
    return LOG_PARTS[j] if centre == ORDINARY else PLANNED_LOG_PARTS[j]


def curve_at(j: int, centre: float) -> float:
    """Return what one of the bets is charged for the square of a gain."""
    if centre == ORDINARY:
        return CURVES[j]
    share = share_at(j, centre)
    return -math.log1p(-share) - share


def central_share(effect: float, variance: float, leaders: float) -> float:
    """Return the share that grows fastest where blocks differ by an effect on average.

    `variance` is that of one outcome and `leaders` how many units the leader has for each one of
    the other arm; all is in units of the limits' width.

    >>> round(central_share(0.01, 0.055 * 0.945, 1.0), 4)
    0.0961
    """
    return min(BETS[0], effect / (variance * (1.0 + 1.0 / leaders) + effect * effect))


def bet(state: FloatArray, first: int, difference: float, centre: float = ORDINARY) -> None:
    """Play one block, whose difference (A less B) is scaled to lie within -1 and 1.

    `state` holds, from `first` on, by what factor each of `BETS` has multiplied its part, as a
    logarithm; zeros are the beginning. With another central share the bets lie around that.
    """
    for j in range(len(BETS)):
        state[first + j] += log_factor(share_at(j, centre) * difference)


def log_wealth(state: FloatArray, first: int, centre: float = ORDINARY) -> float:
    """Log of what all the bets together have made of one unit; never above the best of them.

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
    """Log of what the bets that the difference is above `shift` have won at the least.

    It needs no more than how many blocks there were, the sum of their differences and of the
    squares of these; the bets themselves, played on every block, would have won a little more.
    `shift` lies within -1 and 1.

    >>> round(log_shifted_wealth(1000.0, 100.0, 200.0, 0.0), 3)
    15.576
    >>> log_shifted_wealth(1000.0, 100.0, 200.0, 0.1) <= 0.0
    True
    """
    return shifted_wealth_and_slope(blocks, differences, squares, shift, centre)[0]


def shifted_wealth_and_slope(
    blocks: float, differences: float, squares: float, shift: float, centre: float
) -> tuple[float, float]:
    """Return `log_shifted_wealth`, and how fast it grows as the shift decreases."""
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
    # How fast the gains and the charge grow as the shift decreases.
    gained = blocks * scale + rest * scale * scale
    more_charged = 2.0 * scale * scale * (rest + charge * scale)
    return top + math.log(wealth), (gained * shares - more_charged * curves) / wealth


def shift_ruled_out(
    blocks: float, differences: float, squares: float, threshold: float, centre: float = ORDINARY
) -> float:
    """Return the largest shift that bets have ruled out, below the mean difference.

    It is where `log_shifted_wealth` reaches the threshold, found by Newton's method, and by halving
    where that would leave the interval known to hold it; -1, the smallest difference, where it
    does not.

    >>> round(shift_ruled_out(1000.0, 100.0, 200.0, 3.0), 4)
    0.0558
    """
    mean = differences / blocks
    # How far below the mean: nothing is ruled out at `near`, and no difference lies below -1.
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
        # A step that is too small to change anything is the end, not a reason to halve.
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
    """Return how far below the mean a shift has to be before bets can have ruled it out.

    `deviations` is the sum of squared deviations from the mean. A share s gains s g and is charged
    at least s^2 c / 2, so that all bets together have won g^2 / (2 c) at the most: at a distance b
    that is (n b)^2 / (2 (deviations + n b^2)), which never exceeds n / 2.

    >>> never_ruled_out(17.0, 1.0, 9.0), round(never_ruled_out(1000.0, 190.0, 3.0), 4)
    (inf, 0.0339)
    """
    spare = blocks - 2.0 * threshold
    return math.sqrt(2.0 * threshold * deviations / (blocks * spare)) if spare > 0.0 else math.inf


def log_wealth_of_sums(differences: float, squares: float, cubes: float, fourths: float) -> float:
    """Log of what the bets have won at the least, by four sums over the blocks.

    These are the sums of the differences, each within -1 and 1, and of their powers. The bets
    themselves, played on every block, would have won hardly more: of each logarithm only the
    terms from the fourth power on are replaced, by their worst case.

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
    """Log of what one of `BETS` has won at the least, by the sums of `log_wealth_of_sums`."""
    share = BETS[j]
    third = share * (differences - share * (0.5 * squares - share * cubes / 3.0))
    return third - FOURTHS[j] * fourths


def sums_may_reach(threshold: float, differences: float, squares: float) -> bool:
    """Whether bets on either arm can have reached a threshold; where not, none has.

    As no gain is above 1, log(1 + s x) <= s x - s^2 x^2 / 6 for every share s, and the sum of
    these is at most 3/2 (sum of x)^2 / (sum of x^2).
    """
    return 1.5 * differences * differences >= threshold * squares and squares > 0.0
