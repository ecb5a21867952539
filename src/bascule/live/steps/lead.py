"""Which arm leads a live test, and how much of the way to a decision it has covered."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bascule.core.design import Design
from bascule.core.effects import Effect, effects
from bascule.core.procedures.base import AnyStatistics


def evidence_of(design: Design, seen: AnyStatistics) -> float:
    """How much of the way to a decision is covered.

    >>> import bascule as bs
    >>> evidence_of(bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3)), bs.Statistics.empty(2))
    0.0
    """
    return lead(design, seen, effects(design, seen))[1]


def lead(design: Design, seen: AnyStatistics, found: Sequence[Effect]) -> tuple[str | None, float]:
    """The arm that is furthest on its way to beating all others, and how far it is."""
    into = [name for i, name in enumerate(design.arms) if i not in seen.out]
    least = dict.fromkeys(into, 1.0)
    rivals = dict.fromkeys(into, 0)
    for effect in found:
        sides = (
            (effect.first, effect.second, effect.difference, effect.low),
            (effect.second, effect.first, -effect.difference, -effect.high),
        )
        for mine, rival, difference, low in sides:
            if mine in least and rival in least:
                least[mine] = min(least[mine], _share(difference, low))
                rivals[mine] += 1
    # Of many arms not every pair is listed; who leads is compared with every other arm.
    compared = [name for name in into if rivals[name] == len(into) - 1]
    best = max(compared, key=lambda name: least[name])
    return (best, least[best]) if seen.units else (None, 0.0)


def _share(difference: float, low: float) -> float:
    if low >= 0.0:
        return 1.0
    if math.isinf(low) or difference <= 0.0:
        return 0.0
    return difference / (difference - low)
