"""Arms of a static population: a hash of the unit and of the experiment's name, and no storage.

It is `bucket(unit, NAME, [1] * arms)`, so every program can tell it, also without a store.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from bascule.core.bucket import cuts, point
from bascule.live.steps.assignment import Assignment


def arm_of(name: str, arms: int, unit: str) -> int:
    """The arm of a unit in an experiment of that name.

    >>> import bascule as bs
    >>> arm_of("newsletter", 2, "user-42") == bs.bucket("user-42", "newsletter", [1, 1])
    True
    """
    return bisect_right(_even(arms), point(unit, name))


def placed_by_hash(name: str, arms: int, unit: str, number: int, begun: float) -> Assignment:
    """The same as it is stored; everyone came when the test began."""
    return Assignment(unit, arm_of(name, arms, unit), number, 1.0 / arms, begun)


@lru_cache(maxsize=64)
def _even(arms: int) -> tuple[int, ...]:
    return cuts([1] * arms)
