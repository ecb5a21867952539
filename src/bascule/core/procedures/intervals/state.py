"""The arms of one test as a stretch of a flat array, and the steps every rule is made of.

One test takes five stretches: units and totals with a number an arm, then scores, lower ends and
upper ends. Of the last three a rule wants the highest, after every unit: few arms are simply
looked through; many are kept as a tournament (a binary tree of maxima over the arms), in which a
change or a question costs the depth of the tree. Only this file knows the difference.

The functions take the whole array and where a test or a stretch begins, so that the same code runs
on one test here, on many interleaved ones in the simulator, and on a graphics card.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bascule.core.types import NOBODY, FloatArray

FEW_ARMS = 8
"""Up to this many arms are looked through; more are kept as tournaments."""

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


def leaves(arms: int) -> int:
    """The leaves of a tournament: a power of two, so that every path is equally long.

    >>> leaves(9), leaves(1000)
    (16, 1024)
    """
    power = 2 * FEW_ARMS
    while power < arms:
        power *= 2
    return power


def span(arms: int) -> int:
    """Numbers in a stretch of scores or ends.

    >>> span(2), span(1000)
    (2, 2048)
    """
    return arms if arms <= FEW_ARMS else 2 * leaves(arms)


def width(arms: int) -> int:
    """Numbers that one test takes.

    >>> width(2)
    10
    """
    return 2 * arms + 3 * span(arms)


def stretches(first: int, arms: int) -> tuple[int, int, int]:
    """Where the scores, the lower ends and the upper ends of the test at `first` begin.

    >>> stretches(0, 2)
    (4, 6, 8)
    """
    scores = first + 2 * arms
    return scores, scores + span(arms), scores + 2 * span(arms)


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
    if arms > FEW_ARMS:
        half = leaves(arms)
        node = 1
        while node < half:
            node = 2 * node
            if state[values + node] < state[values + 1]:
                node += 1
        best = node - half
    else:
        best = 0
        top = state[values]
        for arm in range(1, arms):
            value = state[values + arm]
            better = value > top
            best = arm if better else best
            top = value if better else top
    return best


def runner_up(state: FloatArray, values: int, arms: int, leader: int) -> int:
    """The arm other than `leader` with the highest of a stretch of values; any one on a tie.

    When every other value is minus infinity it may be any arm.

    >>> runner_up(np.array([1.0, 3.0, 2.0]), 0, 3, 1)
    2
    """
    if arms > FEW_ARMS:
        half = leaves(arms)
        node = half + leader
        top = node ^ 1
        while node > 1:
            top = node ^ 1 if state[values + (node ^ 1)] > state[values + top] else top
            node >>= 1
        value = state[values + top]
        while top < half:
            top = 2 * top
            if state[values + top] < value:
                top += 1
        best = min(top - half, arms - 1)
    else:
        best = 1 if leader == 0 else 0
        for arm in range(arms):
            better = arm != leader and state[values + arm] > state[values + best]
            best = arm if better else best
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
    if arms > FEW_ARMS:
        floor = state[lowers + 1]
        node = leaves(arms) + leader
        while node > 1:
            upper = state[uppers + (node ^ 1)]
            rival = upper if upper > rival else rival
            node >>= 1
    else:
        floor = state[lowers + leader]
        for arm in range(arms):
            upper = -math.inf if arm == leader else state[uppers + arm]
            rival = upper if upper > rival else rival
    return leader if floor > rival else NOBODY


def round_complete(state: FloatArray, first: int, arms: int) -> bool:
    """Whether every active arm has the same score, hence as many units as the others.

    In a tournament it is enough that the first active arm has the highest score: equal scores
    are served in the order of the arms, so the first one is behind only when a round is over.

    >>> round_complete(np.array([0.0] * 6 + [-4.0, -math.inf, -4.0]), 0, 3)
    True
    """
    complete = True
    scores = first + 2 * arms
    if arms > FEW_ARMS:
        half = leaves(arms)
        node = 1
        while node < half:
            node = 2 * node
            if state[scores + node] == -math.inf:
                node += 1
        complete = state[scores + node] == state[scores + 1]
    else:
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
    offset = 0 if arms <= FEW_ARMS else leaves(arms)
    floor = state[lowers + offset + highest(state, lowers, arms)]
    for arm in range(arms):
        upper = state[uppers + offset + arm]
        if -math.inf < upper <= floor:
            put(state, scores, arms, arm, -math.inf)
            put(state, lowers, arms, arm, -math.inf)
            put(state, uppers, arms, arm, -math.inf)


def value_of(state: FloatArray, values: int, arms: int, arm: int) -> float:
    """One arm's value in a stretch of scores or ends.

    >>> value_of(np.array([1.0, 3.0]), 0, 2, 1)
    3.0
    """
    offset = 0 if arms <= FEW_ARMS else leaves(arms)
    return float(state[values + offset + arm])


def put(state: FloatArray, values: int, arms: int, arm: int, value: float) -> None:
    """Change one arm's value in a stretch of scores or ends."""
    if arms > FEW_ARMS:
        node = leaves(arms) + arm
        state[values + node] = value
        moved = True
        while moved and node > 1:
            other = state[values + (node ^ 1)]
            value = other if other > value else value
            node >>= 1
            moved = state[values + node] != value
            state[values + node] = value
    else:
        state[np.uint64(values + arm)] = value


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
    put(state, scores, arms, arm, score)
    put(state, lowers, arms, arm, mean - radius)
    put(state, uppers, arms, arm, mean + radius)
