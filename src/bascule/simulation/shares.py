"""Shares of runs with their uncertainty, also for shares of 0 and 1."""

from __future__ import annotations

import math

from bascule.simulation.result import Estimate

NORMAL_95 = 1.959963984540054
"""Standard errors on either side of an estimate for a confidence of 95 %."""


def wilson(count: int, runs: int) -> tuple[float, float]:
    """Wilson's interval for a probability, with a confidence of 95 %.

    >>> [round(end, 3) for end in wilson(0, 400)]
    [0.0, 0.01]
    """
    share, square = count / runs, NORMAL_95**2 / runs
    middle = (share + square / 2) / (1 + square)
    half = math.sqrt(square * share * (1 - share) + square**2 / 4) / (1 + square)
    return (
        max(0.0, middle - half) if count else 0.0,
        min(1.0, middle + half) if count < runs else 1.0,
    )


def share_estimate(count: int, runs: int) -> Estimate:
    """Return a share, with the standard error as if each outcome had two more runs.

    So the error of a share that was never, or always, seen is not taken for 0.

    >>> print(share_estimate(400, 400))
    1.0000 ± 0.0035
    """
    pulled = (count + 2) / (runs + 4)
    return Estimate(count / runs, math.sqrt(pulled * (1 - pulled) / (runs + 4)))
