"""Control of the false discovery rate over several metrics or many tests, by e-values.

docs/research/analyse.md says which number is an e-value, and why its largest value over time is not
one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

LEVEL = 0.05
"""Maximum expected share of false rejections among all rejections."""

LARGEST = 700.0
"""Logarithm of the e-value at which larger ones are capped."""


def e_value(log_evidence: float) -> float:
    """Return an e-value from its logarithm, as a finite number.

    >>> e_value(0.0), e_value(1e9) < float("inf")
    (1.0, True)
    """
    return math.exp(min(log_evidence, LARGEST))


def from_p_value(p_value: float) -> float:
    """Return the logarithm of the e-value 1 / (2 sqrt(p)) of a p-value p.

    The integral of this e-value over all p-values from 0 to 1 is 1.

    >>> round(math.exp(from_p_value(0.0001)), 6)
    50.0
    """
    return -0.5 * math.log(max(p_value, math.exp(-2.0 * LARGEST))) - math.log(2.0)


def standing(e_values: Sequence[float | None], level: float = LEVEL) -> tuple[bool, ...]:
    """Return whether each null hypothesis is rejected by e-BH; False for those without an e-value.

    This is the procedure of Benjamini and Hochberg for e-values. Of n hypotheses it rejects those
    with the k largest e-values, for the largest k at which the k-th of them is at least n /
    (level k).

    >>> standing([90.0, 9.0, 25.0, None], level=0.1)
    (True, False, True, False)
    """
    known = sorted((value for value in e_values if value is not None), reverse=True)
    least = math.inf
    for place, value in enumerate(known, start=1):
        if value >= len(known) / (level * place):
            least = value
    return tuple(value is not None and value >= least for value in e_values)
