"""Evidence from bounded outcomes by betting, without knowing their variance.

A gambler who thinks that arm A is better stakes a fixed share of what they own on every block,
and gains or loses in proportion to the block's difference. If A is not better the game is fair or
worse, and nobody grows rich; so what was won is evidence. A few shares are played side by side,
each with its own part of one starting unit. docs/explanation/evidence.md has the proof.
"""

from __future__ import annotations

import math

from bascule.core.procedures.interval_state import FloatArray

BETS = tuple(0.99 * 0.5**j for j in range(14))
"""The shares that are staked on each block."""

_PARTS = tuple(1.0 / (1.0 + ((j - 3.0) / 2.0) ** 2) for j in range(len(BETS)))

LOG_PARTS = tuple(math.log(part / sum(_PARTS)) for part in _PARTS)
"""Logarithms of what each share starts with: most where lifts from 5 % to 50 % are best found,
and something for every other."""

CURVES = tuple(-math.log1p(-share) - share for share in BETS)
"""What each share is charged for the square of a gain in `log_shifted_wealth`."""

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


def bet(state: FloatArray, first: int, difference: float) -> None:
    """Play one block, whose difference (A less B) is scaled to lie within -1 and 1.

    `state` holds, from `first` on, by what factor each of `BETS` has multiplied its part, as a
    logarithm; zeros are the beginning.
    """
    for j in range(len(BETS)):
        state[first + j] += log_factor(BETS[j] * difference)


def log_wealth(state: FloatArray, first: int) -> float:
    """Log of what all the bets together have made of one unit; never above the best of them.

    >>> import numpy as np
    >>> state = np.zeros(len(BETS))
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
        wealth += math.exp(state[first + j] - top + LOG_PARTS[j])
    return top + math.log(wealth)


def log_shifted_wealth(blocks: float, differences: float, squares: float, shift: float) -> float:
    """Log of what the bets that the difference is above `shift` have won at the least.

    It needs no more than how many blocks there were, the sum of their differences and of the
    squares of these; the bets themselves, played on every block, would have won a little more.
    `shift` lies within -1 and 1.

    >>> round(log_shifted_wealth(1000.0, 100.0, 200.0, 0.0), 3)
    15.576
    >>> log_shifted_wealth(1000.0, 100.0, 200.0, 0.1) <= 0.0
    True
    """
    scale = 1.0 / (1.0 + shift)
    gains = (differences - blocks * shift) * scale
    charged = (squares + shift * (blocks * shift - 2.0 * differences)) * scale * scale
    top = -math.inf
    for j in range(len(BETS)):
        top = max(top, BETS[j] * gains - CURVES[j] * charged)
    wealth = 0.0
    for j in range(len(BETS)):
        wealth += math.exp(BETS[j] * gains - CURVES[j] * charged - top + LOG_PARTS[j])
    return top + math.log(wealth)
