"""Compute gaps: the best arm's mean minus each arm's mean, in outcome units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bascule.core.errors import invalid
from bascule.core.inputs import checks
from bascule.core.outcomes import Outcome


def checked_means(means: object, arms: int, outcome: Outcome) -> tuple[float, ...]:
    """Return the means; raise `InputError` unless there is a valid one for each arm.

    >>> import bascule as bs
    >>> checked_means([0, 1], 2, bs.Gaussian(1))
    (0.0, 1.0)
    """
    if isinstance(means, (str, Mapping)) or not (
        hasattr(means, "__len__") and hasattr(means, "__iter__")
    ):
        raise invalid(f"means must be a list of numbers (got {means!r})")
    if len(means) != arms:
        raise invalid(f"means must give one number per arm: {arms} arms, but {len(means)} means")
    accepted = tuple(checks.amount("means", mean, "give one number per arm") for mean in means)
    for mean in accepted:
        outcome.check_mean(mean)
    return accepted


def gaps_of(means: Sequence[float]) -> tuple[float, ...]:
    """Return the highest mean minus each mean.

    >>> gaps_of([0.0, 1.0])
    (1.0, 0.0)
    """
    best = max(means)
    return tuple(best - mean for mean in means)


def rival_gaps(means: Sequence[float]) -> tuple[float, ...]:
    """Return the gaps of all arms except one best arm; a second best arm has the gap 0.

    >>> rival_gaps([0.0, 1.0, 0.5])
    (1.0, 0.5)
    """
    gaps = list(gaps_of(means))
    gaps.remove(0.0)
    return tuple(gaps)
