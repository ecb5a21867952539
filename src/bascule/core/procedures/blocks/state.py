"""A test that runs in blocks, as a stretch of a flat array: pairs of arms and what they have shown.

A block holds some units of the leader and fewer of each challenger, in random order; how many is
fixed before it starts. Once it is complete it adds to every pair (i, j) of active arms
`S += h D` and `V += h`, with D the difference of the block's means, n the block's units and
`h = n_i n_j / (n_i + n_j)`. `S - gap V` is then a martingale, whatever came before
(docs/explanation/tilted-blocks.md).

One test of K arms takes four stretches of K numbers (units, whether an arm is active, units and sum
of the current block) and two of K^2 (S and V of every pair). As in `intervals.state`, the functions
take the whole array and where a test begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bascule.core.types import FloatArray

Evidence = Callable[[float, float, float], float]
"""(total, clock, effect) -> log evidence that the first arm of a pair is better."""

CanReach = Callable[[float, float, float], bool]
"""(total, clock, threshold) -> whether the evidence can reach a threshold: cheaper than it."""


class Criterion(NamedTuple):
    """When one arm of a pair has beaten the other: by which evidence, and how much is enough.

    `evidence` and `boundary`, given (clock, threshold, effect), are None where bets decide.
    `effect` shapes the evidence: it is a planned effect, a horizon, or the share that bets lie
    around.
    """

    evidence: Any
    can_reach: CanReach
    boundary: Any
    effect: float
    threshold: float


OCTAVES, PARTS = 42, 16
"""Clocks up to 2^42 fall into 16 parts an octave; later ones count with the last part."""

FULL_TILT_AT = 2.5
"""The lead, in standard deviations, from which on the leader gets its full share."""


def width(arms: int) -> int:
    """Numbers that one test takes.

    >>> width(2)
    16
    """
    return 4 * arms + 2 * arms * arms


def clear(state: FloatArray, first: int, arms: int) -> None:
    """Reset the test that begins at `first`: no units yet, and every arm active."""
    for i in range(width(arms)):
        state[first + i] = 0.0
    for arm in range(arms):
        state[first + arms + arm] = 1.0


def lead(state: FloatArray, first: int, arms: int, arm: int) -> float:
    """How far an arm is ahead of its nearest active rival, in standard deviations (sigma = 1)."""
    totals = first + 4 * arms + arm * arms
    clocks = totals + arms * arms
    least = math.inf
    for rival in range(arms):
        if rival != arm and state[first + arms + rival] > 0.0:
            clock = state[clocks + rival]
            ahead = state[totals + rival] / math.sqrt(clock) if clock > 0.0 else 0.0
            least = min(least, ahead)
    return least


def leader(state: FloatArray, first: int, arms: int) -> tuple[int, float]:
    """The arm that is furthest ahead of its nearest rival (the first one on a tie), and how far."""
    if arms == 2:
        # One is ahead by as much as the other is behind.
        ahead = lead(state, first, arms, 0)
        best = 0 if ahead >= 0.0 else 1
        furthest = abs(ahead)
    else:
        best = -1
        furthest = -math.inf
        for arm in range(arms):
            if state[first + arms + arm] > 0.0:
                ahead = lead(state, first, arms, arm)
                if best < 0 or ahead > furthest:
                    best = arm
                    furthest = ahead
    return best, furthest


def units_of_leader(ahead: float, tilt: float) -> int:
    """Units of the leader for each one of a challenger: 1 at the start, `tilt` when well ahead.

    >>> [units_of_leader(ahead, 3.0) for ahead in (0.0, 1.0, 2.5, 9.0)]
    [1, 2, 3, 3]
    """
    share = min(1.0, max(0.0, ahead) / FULL_TILT_AT)
    return int(1.5 + (tilt - 1.0) * share)


def begin_block(
    state: FloatArray, first: int, arms: int, front: int, of_leader: int, of_others: int
) -> int:
    """Fix how many units each arm gets in the next block, and return how many they are."""
    size = 0
    for arm in range(arms):
        count = 0
        if state[first + arms + arm] > 0.0:
            count = of_leader if arm == front else of_others
        state[first + 2 * arms + arm] = count
        state[first + 3 * arms + arm] = 0.0
        size += count
    return size


def observe(state: FloatArray, first: int, arms: int, arm: int, value: float) -> None:
    """Add one outcome to the current block."""
    # Unsigned, because an index that cannot be negative compiles to less code.
    state[np.uint64(first + 3 * arms + arm)] += value


def fold(state: FloatArray, first: int, arms: int, precision: float) -> None:
    """Take the current block, which is complete, into the units and into every pair.

    `precision` is 1 / sigma: the total of a pair is kept in standard deviations.
    """
    counts = first + 2 * arms
    sums = counts + arms
    totals = sums + arms
    clocks = totals + arms * arms
    for i in range(arms):
        mine = state[counts + i]
        state[first + i] += mine
        for j in range(i + 1, arms):
            theirs = state[counts + j]
            if mine > 0.0 and theirs > 0.0:
                share = 1.0 / (mine + theirs)
                weight = mine * theirs * share
                step = (state[sums + i] * theirs - state[sums + j] * mine) * share * precision
                state[totals + i * arms + j] += step
                state[totals + j * arms + i] -= step
                state[clocks + i * arms + j] += weight
                state[clocks + j * arms + i] += weight


def part_of(clock: float) -> int:
    """In which part of which octave a clock lies.

    >>> part_of(1.0), part_of(1.5), part_of(2.0)
    (16, 24, 32)
    """
    fraction, exponent = math.frexp(clock)
    part = PARTS * exponent + int((2.0 * fraction - 1.0) * PARTS)
    return min(max(part, 0), OCTAVES * PARTS - 1)


def average_can_reach(total: float, clock: float, threshold: float) -> bool:
    """Whether an average over effects can reach a threshold.

    It never exceeds the evidence for the best of them, whose log is total^2 / (2 clock).
    """
    return total * total >= 2.0 * threshold * clock


def reached(total: float, clock: float, spread: float, criterion: Criterion) -> bool:
    """Whether the evidence of a total is enough where one outcome has this spread."""
    evidence, can_reach, _, effect, threshold = criterion
    standard = abs(total) / spread
    enough: bool = can_reach(standard, clock, threshold)
    return enough and evidence(standard, clock, effect / spread) >= threshold


def beaten(total: float, clock: float, criterion: Criterion, floors: FloatArray) -> bool:
    """Whether one arm of a pair is beaten; the second one where the total is positive.

    `floors` holds for each part of the clock a total below which the evidence is too little, so
    that it need not be computed; zeros ask for it every time.
    """
    evidence, can_reach, _, effect, threshold = criterion
    possible: bool = can_reach(total, clock, threshold)
    return (
        possible
        and abs(total) >= floors[part_of(clock)]
        and evidence(abs(total), clock, effect) >= threshold
    )


def drop_beaten(
    state: FloatArray, first: int, arms: int, criterion: Criterion, floors: FloatArray
) -> None:
    """Drop, in place, each arm that another active one has beaten."""
    totals = first + 4 * arms
    clocks = totals + arms * arms
    for i in range(arms):
        for j in range(i + 1, arms):
            total = state[totals + i * arms + j]
            clock = state[clocks + i * arms + j]
            if (
                state[first + arms + i] > 0.0
                and state[first + arms + j] > 0.0
                and beaten(total, clock, criterion, floors)
            ):
                state[first + arms + (j if total > 0.0 else i)] = 0.0


def last_in(state: FloatArray, first: int, arms: int) -> int:
    """The only active arm, or -1 while there are several."""
    found = -1
    several = False
    for arm in range(arms):
        if state[first + arms + arm] > 0.0:
            several = several or found >= 0
            found = arm
    return -1 if several else found
