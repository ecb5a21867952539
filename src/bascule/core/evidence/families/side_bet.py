"""The bet on one arm of a pair: what it owns, what it has staked, and what that rules out.

A bet that an arm is better owns W, which starts at 1. Before each block it fixes a stake s. If the
arm is better by at most u, a block of weight h multiplies W by at most exp(s h u) on average. So
with the sum of s h in `STAKED`, `W exp(-u staked)` is evidence against every difference of at most
u: one number makes an interval, which lies on one side of 0 exactly when W has won.

The lift works the same. Against "the other arm's mean is at most 1 - l times that of the first"
the bet is paid l times the first arm's mean more, which `GAIN` and `LOSS` say in two numbers.
docs/research/horizon.md has the proofs.
"""

from __future__ import annotations

import math

from bascule.core.evidence.families.rows import Params, Row

STAKE, STAKED, GAIN, LOSS = range(1, 5)
"""Places after the log of what a bet owns: its stake on the next block; the sum of its stakes times
what blocks have added to the clock; and what a lift of l has been paid, which is l times the gain
less half of l squared times the loss, as a logarithm."""

BEST = LOSS + 1
"""Place from which on what was owned, as a log, staked, gained and lost is kept as it was when the
bet ruled out the smallest shift."""

BEST_STAKED, BEST_GAIN, BEST_LOSS = range(BEST + 1, BEST + 4)

MORE, MORE_STAKE, PEAK = range(BEST_LOSS + 1, BEST_LOSS + 4)
"""Places of the bet that the other arm is not better by a margin: what it owns beyond the first
bet, its stake on that, and the log of the most that it has owned in all."""

COLUMNS = PEAK + 1
"""Numbers that the bet on one arm of a pair takes."""

MOST_OWNED = 1e200
"""What a bet owns at the most; the rest is given away."""

LOG_MOST = math.log(MOST_OWNED)


def keep_best(pair: Row, bet: int, threshold: float) -> None:
    """Keep what a bet has shown if no look before has ruled out a smaller shift."""
    missing, before = threshold - pair[bet], threshold - pair[bet + BEST]
    if missing * pair[bet + BEST_STAKED] <= before * pair[bet + STAKED]:
        pair[bet + BEST], pair[bet + BEST_STAKED] = pair[bet], pair[bet + STAKED]
        pair[bet + BEST_GAIN], pair[bet + BEST_LOSS] = pair[bet + GAIN], pair[bet + LOSS]


def shift_ruled_out(pair: Row, bet: int, params: Params) -> float:
    """Return the smallest shift by which the other arm is not better; infinity for none.

    It is 0 exactly when the bet has won.
    """
    threshold = params.threshold
    if pair[bet] >= threshold:
        return 0.0
    shift = math.inf
    if pair[bet + STAKED] > 0.0:
        # A removal by hand raises the threshold: what was best may no longer be.
        shift = (threshold - pair[bet]) / pair[bet + STAKED]
        if pair[bet + BEST_STAKED] > 0.0:
            shift = min(shift, (threshold - pair[bet + BEST]) / pair[bet + BEST_STAKED])
    if params.margin > 0.0 and shift <= 2.0 * params.margin:
        # Shifts from one margin to two are judged by the bet on the margin alone.
        won = pair[bet + PEAK] >= threshold
        shift = min(shift, params.margin) if won else 2.0 * params.margin
    return shift


def lift_ruled_out(pair: Row, bet: int, threshold: float) -> float:
    """Return the smallest relative shift that a bet rules out; infinity for none.

    It is 0 exactly when the bet has won.
    """
    now = least_root(threshold - pair[bet], pair[bet + GAIN], pair[bet + LOSS])
    best = least_root(threshold - pair[bet + BEST], pair[bet + BEST_GAIN], pair[bet + BEST_LOSS])
    return min(now, best) if pair[bet] < threshold else 0.0


def least_root(missing: float, gain: float, loss: float) -> float:
    """Return the smallest l with l gain - l^2 loss / 2 >= missing; infinity where there is none.

    >>> least_root(1.0, 2.0, 0.0), least_root(2.0, 3.0, 2.0), least_root(2.0, 1.0, 1.0)
    (0.5, 1.0, inf)
    """
    inside = gain * gain - 2.0 * loss * missing
    if gain <= 0.0 or inside < 0.0:
        return math.inf
    return 2.0 * missing / (gain + math.sqrt(inside))
