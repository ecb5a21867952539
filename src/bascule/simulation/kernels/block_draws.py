# ruff: noqa: ARG001
"""Draw the outcomes of a block, in worlds in which outcomes come at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from bascule.core.course_rows import Terms
from bascule.core.evidence.families.rows import BLOCK_SUM, BLOCK_UNITS, Family
from bascule.core.types import FloatArray, IntArray
from bascule.simulation.random import (
    DONE,
    Draws,
    WordArray,
    begin_uniform,
    keep_stream,
    outside_layer,
    uniform,
)


class BlockSettings(NamedTuple):
    """Settings of a loop that plays rules in blocks; the runs to play are given separately."""

    means: FloatArray
    sigma: float
    ziggurat: FloatArray
    terms: Terms


def deal_slots(
    arms: FloatArray, count: int, slots: IntArray, front: int, streams: WordArray
) -> None:
    """Assign the units of a block to arms in random order, every order equally likely.

    The leader's units are alike, so it is enough to place the other units among them one by one.
    """
    size = int(arms[front][BLOCK_UNITS])
    for i in range(size):
        slots[i] = front
    for arm in range(count):
        if arm != front:
            for _ in range(int(arms[arm][BLOCK_UNITS])):
                place = int(uniform(streams, 0) * (size + 1))
                slots[size] = slots[place]
                slots[place] = arm
                size += 1


Draw = Callable[..., None]
"""(arms, streams, slots, noise, guards, settings, front, size, count): draw the outcomes of a
block."""


@lru_cache(maxsize=64)
def draw_sums(family: Family, draws: Draws) -> Draw:
    """Return the function that draws the outcomes of each arm in a block at once, as their sum."""
    count_ones, fill, total = family.count_ones, draws.fill, draws.total

    def draw(
        arms: FloatArray, streams: WordArray, slots: IntArray, noise: FloatArray, guards: Any,
        settings: BlockSettings, front: int, size: int, count: int,
    ) -> None:  # fmt: skip
        means, sigma = settings.means, settings.sigma
        fill(streams, 0, noise, 0, count, settings.ziggurat)
        for arm in range(count):
            dealt = arms[arm][BLOCK_UNITS]
            if dealt > 0.0:
                count_ones(arms[arm], total(means[arm], sigma, dealt, noise[arm]))

    return draw


@lru_cache(maxsize=64)
def draw_slots(family: Family, draws: Draws) -> Draw:
    """Return the function that puts a block's units into random order and draws their outcomes."""
    observe, fill, outcome = family.observe, draws.fill, draws.outcome

    def draw(
        arms: FloatArray, streams: WordArray, slots: IntArray, noise: FloatArray, guards: Any,
        settings: BlockSettings, front: int, size: int, count: int,
    ) -> None:  # fmt: skip
        means, sigma = settings.means, settings.sigma
        deal_slots(arms, count, slots, front, streams)
        fill(streams, 0, noise, 0, size, settings.ziggurat)
        for i in range(size):
            arm = slots[i]
            observe(arms[arm], outcome(means[np.uint64(arm)], sigma, noise[i]))

    return draw


@lru_cache(maxsize=64)
def draw_single(family: Family, draws: Draws) -> Draw:
    """Return the function that draws a block of two arms, one of which has a single unit.

    The place of the single unit tells the arm of each outcome.
    """
    count_ones, outcome, begin, counts_ones = (
        family.count_ones,
        draws.outcome,
        draws.begin,
        draws.ones,
    )

    def draw(
        arms: FloatArray, streams: WordArray, slots: IntArray, noise: FloatArray, guards: Any,
        settings: BlockSettings, front: int, size: int, count: int,
    ) -> None:  # fmt: skip
        means, sigma, ziggurat = settings.means, settings.sigma, settings.ziggurat
        # Unsigned indices, which cannot be negative, compile to less code.
        first, second = np.uint64(front), np.uint64(1 - front)
        of_front, of_other = means[first], means[second]
        a, b, c, counter = streams[0], streams[1], streams[2], streams[3]
        number, _, a, b, c, counter = begin_uniform(a, b, c, counter, ziggurat)
        place = int(number * size)
        added = other_value = 0.0
        for i in range(size):
            number, layer, a, b, c, counter = begin(a, b, c, counter, ziggurat)
            if not counts_ones and layer != DONE:
                keep_stream(streams, 0, a, b, c, counter)
                number = outside_layer(streams, 0, layer, number, ziggurat)
                a, b, c, counter = streams[0], streams[1], streams[2], streams[3]
            other_value = number if i == place else other_value
            added += 0.0 if i == place else outcome(of_front, sigma, number)
        keep_stream(streams, 0, a, b, c, counter)
        other_value = outcome(of_other, sigma, other_value)
        if counts_ones:
            count_ones(arms[first], added)
            count_ones(arms[second], other_value)
        else:
            arms[first][BLOCK_SUM] = added
            arms[second][BLOCK_SUM] = other_value

    return draw
