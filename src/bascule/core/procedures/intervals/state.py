"""The arms of one test as a stretch of a flat array, and the steps every rule is made of.

One test takes five stretches with a number per arm: units, totals, scores, lower ends and upper
ends.

The functions take the whole array and where a test or a stretch begins, so that the same code runs
on one test here, on many interleaved ones in the simulator, and on a graphics card.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bascule.core.types import NOBODY, FloatArray

Score = Callable[[float, float, float, float], float]
"""(mean, radius, units, alpha) -> how urgently the arm should get the next unit."""

Decide = Callable[[FloatArray, int, int, float, float], int]
"""(state, first, arms, sigma, threshold) -> the winner, or `NOBODY`."""

Within = Callable[[FloatArray, int, int, float, float, float], bool]
"""(as `Decide`, margin) -> whether every difference is proven smaller than the margin."""


class Steps(NamedTuple):
    """What distinguishes one rule from another while a test runs."""

    score: Score
    decide: Decide


def width(arms: int) -> int:
    """Numbers that one test takes.

    >>> width(2)
    10
    """
    return 5 * arms


def stretches(first: int, arms: int) -> tuple[int, int, int]:
    """Where the scores, the lower ends and the upper ends of the test at `first` begin.

    >>> stretches(0, 2)
    (4, 6, 8)
    """
    scores = first + 2 * arms
    return scores, scores + arms, scores + 2 * arms


def units_of(state: FloatArray, first: int, arm: int) -> float:
    """The units of one arm, or the clock that takes their place."""
    return float(state[first + arm])


def total_of(state: FloatArray, first: int, arms: int, arm: int) -> float:
    """The total of one arm."""
    return float(state[first + arms + arm])


def clear(state: FloatArray, first: int, arms: int, unseen_score: float) -> None:
    """Put the test that begins at `first` before its first unit: endless intervals everywhere."""
    for i in range(width(arms)):
        state[first + i] = -math.inf
    for arm in range(arms):
        place(state, first, arms, arm, 0.0, 0.0, 0.0, math.inf, unseen_score)


def highest(state: FloatArray, values: int, arms: int) -> int:
    """The arm with the highest of a stretch of values; the first one on a tie.

    Of the scores, this is the arm that the next unit joins.

    >>> highest(np.array([1.0, 3.0, 3.0]), 0, 3)
    1
    """
    best = 0
    top = state[values]
    for arm in range(1, arms):
        value = state[values + arm]
        better = value > top
        best = arm if better else best
        top = value if better else top
    return best


def parted(state: FloatArray, first: int, arms: int) -> int:
    """The arm whose interval lies above every other, or `NOBODY`.

    >>> ends = ([0.1, 0.6, 0.5, 0.9], [0.1, 0.4, 0.5, 0.9])
    >>> [parted(np.array([0.0] * 6 + numbers), 0, 2) for numbers in ends]
    [1, -1]
    """
    _, lowers, uppers = stretches(first, arms)
    if arms == 2:
        # Two questions that are almost always answered by no cost a processor less than a choice.
        if state[lowers] > state[uppers + 1]:
            return 0
        return 1 if state[lowers + 1] > state[uppers] else NOBODY
    leader = highest(state, lowers, arms)
    rival = -math.inf
    for arm in range(arms):
        upper = -math.inf if arm == leader else state[uppers + arm]
        rival = upper if upper > rival else rival
    return leader if state[lowers + leader] > rival else NOBODY


def round_complete(state: FloatArray, first: int, arms: int) -> bool:
    """Whether every active arm has the same score, hence as many units as the others.

    >>> round_complete(np.array([0.0] * 6 + [-4.0, -math.inf, -4.0]), 0, 3)
    True
    """
    complete = True
    scores = first + 2 * arms
    latest = -math.inf
    for arm in range(arms):
        score = state[scores + arm]
        if score > -math.inf:
            if latest > -math.inf and score != latest:
                complete = False
            latest = score
    return complete


def eliminate(state: FloatArray, first: int, arms: int) -> None:
    """Drop, in place, each arm whose interval lies wholly below another's.

    An arm that is out has minus infinity as score and as both ends: it gets no more units and
    stands in nobody's way.
    """
    scores, lowers, uppers = stretches(first, arms)
    floor = state[lowers + highest(state, lowers, arms)]
    for arm in range(arms):
        if -math.inf < state[uppers + arm] <= floor:
            state[scores + arm] = -math.inf
            state[lowers + arm] = -math.inf
            state[uppers + arm] = -math.inf


def place(
    state: FloatArray,
    first: int,
    arms: int,
    arm: int,
    units: float,
    total: float,
    mean: float,
    radius: float,
    score: float,
) -> None:
    """Write what one arm has shown into the test that begins at `first`."""
    scores, lowers, uppers = stretches(first, arms)
    # Unsigned, because an index that cannot be negative compiles to less code.
    state[np.uint64(first + arm)] = units
    state[np.uint64(first + arms + arm)] = total
    state[np.uint64(scores + arm)] = score
    state[np.uint64(lowers + arm)] = mean - radius
    state[np.uint64(uppers + arm)] = mean + radius
