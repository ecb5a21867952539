"""What an oracle needs: the least that any test of the same error has to learn."""

from __future__ import annotations

import math

from bascule.core.errors import InputError
from bascule.core.inputs import checks


def oracle_information(gap: float, sigma: float, error: float) -> float:
    """The expected clock of the best test that knows the gap and has to tell it from none.

    The clock of two arms is `n_1 n_2 / (n_1 + n_2)`; the oracle needs `2 sigma^2 kl(error,
    1 - error) / gap^2` of it, however the units are split.

    >>> round(oracle_information(gap=1.0, sigma=1.0, error=0.05), 2)
    5.3
    """
    gap = checks.positive("gap", gap, "it is the difference that the oracle knows")
    sigma = checks.positive("sigma", sigma, "it is the spread of one unit's outcome")
    error = checks.probability("error", error, "0.05 is usual")
    if error >= 0.5:
        raise InputError(
            "error", f"error must be below 0.5 (got {error:g}): a coin decides as well as that"
        )
    # In two steps, so that no square of a tiny gap can vanish.
    return 2.0 * (sigma / gap) * (sigma / gap) * (1 - 2 * error) * math.log((1 - error) / error)
