"""Lower bounds for any rule: the least information, and the least regret within a given time.

docs/research/trade-off.md, "What no rule can beat", has the proofs for normal outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from bascule.core.errors import InputError, invalid
from bascule.core.inputs import checks
from bascule.core.numerics import turning_point
from bascule.core.outcomes import Outcome


def oracle_information(gap: float, sigma: float, error: float, failure: float = 0.0) -> float:
    """Return the least information that any rule needs on average, even one that knows the gap.

    `error` is one-sided and below 0.5. The information of two arms is `n_1 n_2 / (n_1 + n_2)`. A
    rule that declares a worse arm the best with probability at most `error`, and at this gap fails
    to find the best arm with probability `failure`, needs
    `2 sigma^2 kl(1 - failure, error) / gap^2` of it, however it splits the units; `kl` is the
    relative entropy of two coins. That is `2 sigma^2 log(1 / error) / gap^2` if it hardly ever
    fails.

    >>> round(oracle_information(gap=1.0, sigma=1.0, error=0.05), 2)
    5.99
    >>> round(oracle_information(gap=1.0, sigma=1.0, error=0.05, failure=0.05), 2)
    5.3
    """
    gap = checks.positive("gap", gap, "it is the difference that the oracle knows")
    sigma = checks.positive("sigma", sigma, "it is the spread of one unit's outcome")
    error = checks.probability("error", error, "0.05 is usual")
    if error >= 0.5:
        raise invalid(f"error must be below 0.5 (got {error:g}): a coin decides as well as that")
    if not 0.0 <= failure < 1.0 - error:
        raise invalid(
            f"failure must be from 0 to below {1 - error:g} (got {failure:g}): a rule that fails "
            "as often as that needs no units"
        )
    apart = (1.0 - failure) * math.log((1.0 - failure) / error)
    if failure > 0.0:
        apart += failure * math.log(failure / (1.0 - error))
    # Divide in two steps, because the square of a tiny gap could underflow to 0.
    return 2.0 * (sigma / gap) * (sigma / gap) * apart


def least_regret(
    gaps: Sequence[float], sigma: float, error: float, time: float, failure: float = 0.0
) -> float:
    """Return the least regret of any rule that decides within `time` units on average.

    `gaps` has a number for each arm but the best; `error` and `failure` are those of
    `oracle_information`. The result is nan if no rule can decide as soon
    as that. With two arms it is `(D / 2) (T - sqrt(T^2 - 4 h T))`, where D is the gap, T the time
    and h the `oracle_information`.

    >>> round(least_regret([0.1], 1.0, 0.05, 4000.0), 1)
    73.4
    """
    needed = [oracle_information(gap, sigma, error, failure) for gap in gaps]

    def others(best: float) -> list[float]:
        return [h * best / (best - h) for h in needed]

    def total(best: float) -> float:
        return best + math.fsum(others(best))

    lowest = max(needed)
    # With more units of the best arm, the total number of units falls at first, and then grows.
    soonest = turning_point(
        lambda best: total(best * (1 + 1e-6)) < total(best), lowest * (1 + 1e-9), lowest * 1e6
    )
    if time < total(soonest) * (1 - 1e-9):
        return math.nan
    best = turning_point(lambda units: total(units) <= time, soonest, soonest + time)
    return math.fsum(gap * units for gap, units in zip(gaps, others(best), strict=True))


def spread_between(means: Sequence[float], outcome: Outcome) -> float:
    """Return the standard deviation of outcomes of the two arms with the highest means.

    It is the root of the average of both variances, which the outcome model has to imply.

    >>> import bascule as bs
    >>> round(spread_between([0.05, 0.06], bs.Bernoulli()), 3)
    0.228
    """
    variances = [outcome.variance(mean) for mean in sorted(means, reverse=True)[:2]]
    known = [variance for variance in variances if variance is not None]
    if len(known) < len(variances):
        raise InputError(
            "outcome",
            f"means do not say how {outcome!r} outcomes spread: compare the rules on "
            "Gaussian(sigma) or Bernoulli() outcomes",
        )
    variance = sum(known) / len(known)
    if variance <= 0:
        raise invalid("means must not both be 0 or 1: then outcomes do not vary")
    return math.sqrt(variance)
