"""The statistics of a test's arms as rows of numbers, and the functions of rules that use them.

Each row has a number for each arm. The rows are an array, or tuples if all numbers of a test are in
registers, so that the same code runs on one test here, on many interleaved ones in the simulator,
and on a GPU.

An interval that holds at all times simultaneously (a confidence sequence) may be intersected with
all earlier ones without a correction. The intersections are stored with the statistics, so that,
as long as no arm is removed, an interval never grows and an arm that was beaten stays beaten.

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
"""(mean, radius, units, alpha) -> the priority of the arm for the next unit."""

UNITS, TOTALS, SCORES, LOWERS, UPPERS = range(5)
"""Rows: the units of each arm, or its clock if outcomes recur; the sum of its outcomes; its score,
the priority for the next unit; and the ends of its interval."""

ROWS = 5
"""Number of rows."""

Decide = Callable[[FloatArray, int, float, float], int]
"""(state, arms, sigma, threshold) -> the winner, or `NOBODY`."""

Within = Callable[[FloatArray, int, float, float, float], bool]
"""(state, arms, sigma, threshold, margin) -> whether all differences are proven smaller."""


class Steps(NamedTuple):
    """The steps of a rule: how it scores arms for the next unit, and how it decides."""

    score: Score
    decide: Decide


def clear(state: FloatArray, arms: int, unseen_score: float) -> None:
    """Reset a test to no units and infinite intervals."""
    for arm in range(arms):
        place(state, arm, 0.0, 0.0, 0.0, math.inf, unseen_score)


def highest(values: FloatArray, arms: int) -> int:
    """Return the arm with the highest value of a row; the first one on a tie.

    For the row of scores, this is the arm that the next unit joins.

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
    """Return the arm whose interval lies above all others, or `NOBODY`.

    >>> ends = ([[0.1, 0.6], [0.5, 0.9]], [[0.1, 0.4], [0.5, 0.9]])
    >>> [parted(np.array([[0.0, 0.0]] * LOWERS + rows), 2) for rows in ends]
    [1, -1]
    """
    lowers, uppers = state[LOWERS], state[UPPERS]
    if arms == 2:
        # Two branches that are almost never taken are faster than a conditional selection.
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
    """Return whether all active arms have the same score, and hence the same number of units.

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
    """Drop, in place, each arm whose interval lies entirely below another's.

    The score and both ends of a dropped arm are minus infinity: it gets no more units and does not
    keep other arms from winning.
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
    """Write the statistics of one arm into the rows."""
    # The index is unsigned, because one that cannot be negative compiles to less code.
    at = np.uint64(arm)
    state[UNITS][at] = units
    state[TOTALS][at] = total
    state[SCORES][at] = score
    state[LOWERS][at] = mean - radius
    state[UPPERS][at] = mean + radius


Bounds = tuple[tuple[float, float], ...]
"""The lower and upper end of every difference, in the order of `itertools.combinations`."""

MOST_ARMS = 20
"""Maximum number of arms for which the bounds of all pairs are stored.

With more arms, intervals come from the current evidence.
"""

STEPS_PER_E_FOLD = 20
"""Number of times that intervals are stored while the units grow by a factor of e.

They are stored about once for every 5 % more units, because they are expensive to compute.
"""


def is_due(before: int, after: int, steps: float = STEPS_PER_E_FOLD) -> bool:
    """Return whether there are enough new units to store the intervals again.

    This happens `steps` times while the units grow by a factor of e, and always at the start.

    >>> is_due(10, 11), is_due(10_000, 10_001), is_due(10_000, 10_600)
    (True, False, True)
    """
    if before < steps or after < steps:
        return True
    return math.floor(steps * math.log(after)) > math.floor(steps * math.log(before))


def narrowed(low: float, high: float, now_low: float, now_high: float) -> tuple[float, float]:
    """Return the intersection of a stored interval with the current one.

    If they are disjoint, one of them is wrong, which happens at most with the stated error
    probability; the stored one is returned.

    >>> narrowed(0.0, 2.0, -1.0, 1.5), narrowed(0.0, 1.0, 2.0, 3.0)
    ((0.0, 1.5), (0.0, 1.0))
    """
    lowest, highest = max(low, now_low), min(high, now_high)
    return (lowest, highest) if lowest <= highest else (low, high)


def intersected(kept: Bounds, current: Iterable[tuple[float, float]]) -> Bounds:
    """Intersect stored intervals with the current ones; return the current ones if none are stored.

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
    """Cut off the interval of one pair at 0, so that arm `above` is at least as good as `below`.

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
    """Return the lower end of the difference `above` less `below`, for either order of the arms.

    >>> lower_end([(-1.0, 2.0)], 2, 0, 1), lower_end([(-1.0, 2.0)], 2, 1, 0)
    (-1.0, -2.0)
    """
    low, high = bounds[pair_index(arms, above, below)]
    return low if above < below else -high


def with_dropped(
    bounds: Bounds, arms: int, dropped: Iterable[int], removed: frozenset[int]
) -> Bounds:
    """Cut off bounds at 0, so that no newly dropped arm is better than the arm that has beaten it.

    Up to rounding, the interval already says so. The arm that has beaten a dropped arm is the rival
    with the highest lower end of the difference.
    """
    for arm in dropped:
        rivals = [rival for rival in range(arms) if rival != arm and rival not in removed]
        best = max(rivals, key=lambda rival: lower_end(bounds, arms, rival, arm))
        bounds = with_lower_end(bounds, arms, best, arm)
    return bounds


def intervals_within(
    state: FloatArray, arms: int, sigma: float, threshold: float, margin: float
) -> bool:
    """Return whether the intervals of all active arms together span less than the margin."""
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
    """Return whether `intervals_within` holds after a full round, as an even split requires."""
    complete = round_complete(state, arms)
    return complete and intervals_within(state, arms, sigma, threshold, margin)


def two_arms_within(
    state: FloatArray, arms: int, sigma: float, threshold: float, margin: float
) -> bool:
    """Return whether the evidence of each pair proves its difference smaller than the margin."""
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
