"""Running intersections of the intervals of all differences, and their agreement with decisions.

An interval that holds at all times at once (a confidence sequence) may be intersected with all
earlier ones at no cost. The intersections are kept with the statistics, so that an interval that is
shown never grows, and an arm that was beaten stays beaten. docs/research/ends.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from bascule.core.evidence.families.rows import pair_index

Bounds = tuple[tuple[float, float], ...]
"""The lower and upper end of every difference, in the order of `itertools.combinations`."""

MOST_ARMS = 20
"""Up to this many arms all pairs are kept; with more, intervals come from the current evidence."""

STEPS_PER_E_FOLD = 20
"""Intervals that are expensive to compute are kept once in 5 % more units."""


def is_due(before: int, after: int, steps: int = STEPS_PER_E_FOLD) -> bool:
    """Return whether enough units have come to keep the intervals again.

    That is `steps` times while the units grow by a factor of e, and always at the start.

    >>> is_due(10, 11), is_due(10_000, 10_001), is_due(10_000, 10_600)
    (True, False, True)
    """
    if before < steps or after < steps:
        return True
    return math.floor(steps * math.log(after)) > math.floor(steps * math.log(before))


def narrowed(low: float, high: float, now_low: float, now_high: float) -> tuple[float, float]:
    """Return the intersection of a kept interval with the current one.

    Where the two have nothing in common, one of them is wrong, which happens with at most the
    probability that is stated; the kept one stays.

    >>> narrowed(0.0, 2.0, -1.0, 1.5), narrowed(0.0, 1.0, 2.0, 3.0)
    ((0.0, 1.5), (0.0, 1.0))
    """
    lowest, highest = max(low, now_low), min(high, now_high)
    return (lowest, highest) if lowest <= highest else (low, high)


def intersected(kept: Bounds, current: Iterable[tuple[float, float]]) -> Bounds:
    """Return each kept interval, `narrowed` by the current one; the current ones if none are kept.

    >>> intersected(((0.0, 2.0), (0.0, 1.0)), [(-1.0, 1.5), (2.0, 3.0)])
    ((0.0, 1.5), (0.0, 1.0))
    """
    current = tuple(current)
    if not kept:
        return current
    return tuple(narrowed(*before, *now) for before, now in zip(kept, current, strict=True))


def with_lower_end(
    bounds: Sequence[tuple[float, float]], arms: int, above: int, below: int
) -> Bounds:
    """Return the bounds with one arm at least as good as another.

    >>> with_lower_end([(-1.0, 2.0)], 2, above=0, below=1), with_lower_end([(-1.0, 2.0)], 2, 1, 0)
    (((0.0, 2.0),), ((-1.0, 0.0),))
    """
    changed = list(bounds)
    at = pair_index(arms, above, below)
    low, high = changed[at]
    limit = max if above < below else min
    changed[at] = (limit(low, 0.0), limit(high, 0.0))
    return tuple(changed)


def lower_end(bounds: Sequence[tuple[float, float]], arms: int, above: int, below: int) -> float:
    """Return the lower end of the difference of two arms, in either order.

    >>> lower_end([(-1.0, 2.0)], 2, 0, 1), lower_end([(-1.0, 2.0)], 2, 1, 0)
    (-1.0, -2.0)
    """
    low, high = bounds[pair_index(arms, above, below)]
    return low if above < below else -high


def with_dropped(
    bounds: Bounds, arms: int, dropped: Iterable[int], removed: frozenset[int]
) -> Bounds:
    """Return the bounds with each newly dropped arm below the arm that has beaten it.

    Its interval says so already but for rounding: the arm that has beaten it is the one whose
    difference from it has the highest lower end.
    """
    for arm in dropped:
        rivals = [other for other in range(arms) if other != arm and other not in removed]
        best = max(rivals, key=lambda other: lower_end(bounds, arms, other, arm))
        bounds = with_lower_end(bounds, arms, best, arm)
    return bounds
