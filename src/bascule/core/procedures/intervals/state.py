"""The arms of one test as rows of numbers: steps of a rule, bounds of differences, and margins.

The rows have a number for each arm. They are an array, or tuples where all numbers of a test are in
registers, so that the same code runs on one test here, on many interleaved ones in the simulator,
and on a graphics card.

An interval that holds at all times at once (a confidence sequence) may be intersected with all
earlier ones at no cost. The intersections are kept with the statistics, so that an interval that is
shown never grows, and an arm that was beaten stays beaten.

`intervals_within`, `rounds_within` and `two_arms_within` say whether every difference between
active arms is proven smaller than a margin, in outcome units. docs/research/ends.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from bascule.core.evidence.families.rows import pair_index
from bascule.core.evidence.two_arms import log_two_arms
from bascule.core.types import NOBODY, FloatArray

Score = Callable[[float, float, float, float], float]
"""(mean, radius, units, alpha) -> how urgently the arm should get the next unit."""

UNITS, TOTALS, SCORES, LOWERS, UPPERS = range(5)
"""Rows: the units of each arm, or the clock that takes their place; the sum of its outcomes; how
urgently it should get the next unit; and the ends of its interval."""

ROWS = 5
"""How many rows there are."""

Decide = Callable[[FloatArray, int, float, float], int]
"""(state, arms, sigma, threshold) -> the winner, or `NOBODY`."""

Within = Callable[[FloatArray, int, float, float, float], bool]
"""(as `Decide`, margin) -> whether every difference is proven smaller than the margin."""


class Steps(NamedTuple):
    """What distinguishes one rule from another while a test runs."""

    score: Score
    decide: Decide


def clear(state: FloatArray, arms: int, unseen_score: float) -> None:
    """Reset a test: no units yet, and all intervals infinite."""
    for arm in range(arms):
        place(state, arm, 0.0, 0.0, 0.0, math.inf, unseen_score)


def highest(values: FloatArray, arms: int) -> int:
    """The arm with the highest value of a row; the first one on a tie.

    Of the scores, this is the arm that the next unit joins.

    >>> highest(np.array([1.0, 3.0, 3.0]), 3)
    1
    """
    best = 0
    top = values[0]
    for arm in range(1, arms):
        value = values[arm]
        better = value > top
        best = arm if better else best
        top = value if better else top
    return best


def parted(state: FloatArray, arms: int) -> int:
    """The arm whose interval lies above every other, or `NOBODY`.

    >>> ends = ([[0.1, 0.6], [0.5, 0.9]], [[0.1, 0.4], [0.5, 0.9]])
    >>> [parted(np.array([[0.0, 0.0]] * LOWERS + rows), 2) for rows in ends]
    [1, -1]
    """
    lowers, uppers = state[LOWERS], state[UPPERS]
    if arms == 2:
        # Two questions that are almost always answered by no cost a processor less than a choice.
        if lowers[0] > uppers[1]:
            return 0
        return 1 if lowers[1] > uppers[0] else NOBODY
    leader = highest(lowers, arms)
    rival = -math.inf
    for arm in range(arms):
        upper = -math.inf if arm == leader else uppers[arm]
        rival = upper if upper > rival else rival
    return leader if lowers[leader] > rival else NOBODY


def round_complete(state: FloatArray, arms: int) -> bool:
    """Whether every active arm has the same score, hence as many units as the others.

    >>> round_complete(np.array([[0.0] * 3] * SCORES + [[-4.0, -math.inf, -4.0]]), 3)
    True
    """
    complete = True
    scores = state[SCORES]
    latest = -math.inf
    for arm in range(arms):
        score = scores[arm]
        if score > -math.inf:
            if latest > -math.inf and score != latest:
                complete = False
            latest = score
    return complete


def eliminate(state: FloatArray, arms: int) -> None:
    """Drop, in place, each arm whose interval lies wholly below another's.

    An arm that is out has minus infinity as score and as both ends: it gets no more units and
    stands in nobody's way.
    """
    floor = state[LOWERS][highest(state[LOWERS], arms)]
    for arm in range(arms):
        if -math.inf < state[UPPERS][arm] <= floor:
            state[SCORES][arm] = -math.inf
            state[LOWERS][arm] = -math.inf
            state[UPPERS][arm] = -math.inf


def place(
    state: FloatArray,
    arm: int,
    units: float,
    total: float,
    mean: float,
    radius: float,
    score: float,
) -> None:
    """Write the statistics of one arm into its row."""
    # Unsigned, because an index that cannot be negative compiles to less code.
    at = np.uint64(arm)
    state[UNITS][at] = units
    state[TOTALS][at] = total
    state[SCORES][at] = score
    state[LOWERS][at] = mean - radius
    state[UPPERS][at] = mean + radius


Bounds = tuple[tuple[float, float], ...]
"""The lower and upper end of every difference, in the order of `itertools.combinations`."""

MOST_ARMS = 20
"""Up to this many arms all pairs are kept; with more, intervals come from the current evidence."""

STEPS_PER_E_FOLD = 20
"""Intervals that are expensive to compute are kept once in 5 % more units."""


def is_due(before: int, after: int, steps: float = STEPS_PER_E_FOLD) -> bool:
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
        rivals = [rival for rival in range(arms) if rival != arm and rival not in removed]
        best = max(rivals, key=lambda rival: lower_end(bounds, arms, rival, arm))
        bounds = with_lower_end(bounds, arms, best, arm)
    return bounds


def intervals_within(
    state: FloatArray, arms: int, sigma: float, threshold: float, margin: float
) -> bool:
    """Intervals: from the lowest end to the highest of all active arms."""
    lowest = math.inf
    highest = -math.inf
    for arm in range(arms):
        upper = state[UPPERS][arm]
        if upper > -math.inf:
            highest = max(highest, upper)
            lowest = min(lowest, state[LOWERS][arm])
    return highest - lowest < margin


def rounds_within(
    state: FloatArray, arms: int, sigma: float, threshold: float, margin: float
) -> bool:
    """Intervals of an even split, which are compared after full rounds only."""
    complete = round_complete(state, arms)
    return complete and intervals_within(state, arms, sigma, threshold, margin)


def two_arms_within(
    state: FloatArray, arms: int, sigma: float, threshold: float, margin: float
) -> bool:
    """The evidence of two arms for arbitrary sampling, against either end of the margin."""
    units, totals, uppers = state[UNITS], state[TOTALS], state[UPPERS]
    within = True
    for i in range(arms):
        for j in range(i + 1, arms):
            if within and uppers[i] > -math.inf and uppers[j] > -math.inf:
                have_units = units[i] > 0.0 and units[j] > 0.0
                within = have_units and uppers[i] < math.inf and uppers[j] < math.inf
                if within:
                    difference = totals[i] / units[i] - totals[j] / units[j]
                    room = (margin - abs(difference)) / sigma
                    within = room > 0.0
                    if within:
                        within = log_two_arms(room, units[i], units[j], threshold) >= threshold
    return within
