"""The bet on one arm of a pair: its wealth, its stakes, and the differences that it rules out.

A bet that an arm is better has the wealth W, which starts at 1. Before each block it fixes a stake
s. If the arm is better by at most u, a block of weight h multiplies W by at most exp(s h u) on
average. So with the sum of s h in `STAKED`, `W exp(-u staked)` is evidence against every difference
of at most u: this sum gives an interval, which lies on one side of 0 exactly when W has won.

The lift works in the same way. To rule out a lift of l, a bet is paid l times the first arm's mean
more. The bet that the second arm has the higher mean then rules out that its mean is at most 1 - l
times the first arm's, and the other bet that it is at least 1 + l times the first arm's. `GAIN` and
`LOSS` bound that payment.
docs/research/horizon.md has the proofs.
"""

from __future__ import annotations

import math

from bascule.core.evidence.families.rows import Params, Row

STAKE, STAKED, GAIN, LOSS = range(1, 5)
"""Columns after the log wealth of a bet: its stake on the next block; the sum of its stakes times
the steps of the clock; and the gain and the loss, where a lift of l adds l times the gain less half
of l squared times the loss to the log wealth."""

BEST = LOSS + 1
"""First of four columns with the values at the time when the bet ruled out the smallest shift: the
log wealth, `STAKED`, `GAIN` and `LOSS`."""

BEST_STAKED, BEST_GAIN, BEST_LOSS = range(BEST + 1, BEST + 4)

MORE, MORE_STAKE, PEAK = range(BEST_LOSS + 1, BEST_LOSS + 4)
"""Columns of the bet that the other arm is not better by a margin: its wealth beyond that of the
first bet, its stake of this additional wealth, and the log of its maximum total wealth so far."""

COLUMNS = PEAK + 1
"""Number of columns that the bet on one arm of a pair needs."""

MOST_OWNED = 1e200
"""Maximum wealth of a bet; any wealth beyond it is discarded."""

LOG_MOST = math.log(MOST_OWNED)


def keep_best(pair: Row, bet: int, threshold: float) -> None:
    """Store the current values of a bet if the shift that they rule out is the smallest so far."""
    missing, before = threshold - pair[bet], threshold - pair[bet + BEST]
    if missing * pair[bet + BEST_STAKED] <= before * pair[bet + STAKED]:
        pair[bet + BEST], pair[bet + BEST_STAKED] = pair[bet], pair[bet + STAKED]
        pair[bet + BEST_GAIN], pair[bet + BEST_LOSS] = pair[bet + GAIN], pair[bet + LOSS]


def shift_ruled_out(pair: Row, bet: int, params: Params) -> float:
    """Return the smallest advantage of the other arm that the bet rules out; infinity for none.

    It is 0 exactly when the bet has won.
    """
    threshold = params.threshold
    if pair[bet] >= threshold:
        return 0.0
    shift = math.inf
    if pair[bet + STAKED] > 0.0:
        # Removing an arm raises the threshold: the stored values may no longer be best.
        shift = (threshold - pair[bet]) / pair[bet + STAKED]
        if pair[bet + BEST_STAKED] > 0.0:
            shift = min(shift, (threshold - pair[bet + BEST]) / pair[bet + BEST_STAKED])
    if params.margin > 0.0 and shift <= 2.0 * params.margin:
        # Shifts from one margin to two are judged by the bet on the margin alone.
        won = pair[bet + PEAK] >= threshold
        shift = min(shift, params.margin) if won else 2.0 * params.margin
    return shift


def lift_ruled_out(pair: Row, bet: int, threshold: float) -> float:
    """Return the smallest relative lift that a bet rules out; infinity for none.

    It is 0 exactly when the bet has won.
    """
    now = least_root(threshold - pair[bet], pair[bet + GAIN], pair[bet + LOSS])
    best = least_root(threshold - pair[bet + BEST], pair[bet + BEST_GAIN], pair[bet + BEST_LOSS])
    return min(now, best) if pair[bet] < threshold else 0.0


def least_root(missing: float, gain: float, loss: float) -> float:
    """Return the smallest l with l gain - l^2 loss / 2 >= missing; infinity for none.

    >>> least_root(1.0, 2.0, 0.0), least_root(2.0, 3.0, 2.0), least_root(2.0, 1.0, 1.0)
    (0.5, 1.0, inf)
    """
    inside = gain * gain - 2.0 * loss * missing
    if gain <= 0.0 or inside < 0.0:
        return math.inf
    return 2.0 * missing / (gain + math.sqrt(inside))
