"""One unit in a world: its mean, its outcome, and when the outcome is known.

Here a world is a flat array of numbers, at the indices named below; `world_numbers` writes it. The
loops of `worlds.intervals` and `worlds.blocks` call these functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bascule.core.errors import InputError
from bascule.core.types import FloatArray
from bascule.simulation.random import (
    WORDS,
    WordArray,
    beta,
    exponential,
    normal,
    pick,
    student_t,
    uniform,
    ziggurat_table,
)
from bascule.simulation.worlds.world import World

NOISE, SPREAD, DF, CONCENTRATION, LOW, HIGH = range(6)
TREND, SIZE, SPAN, CHANGED, BY, AT, BEST, LATER_BEST = range(6, 14)
BATCH, DELAY, LAG, HIGH_LAG, MIDDLE, WINDOW, MISSING, NUMBERS = range(14, 22)
"""Indices of the array that `world_numbers` returns, and its length."""

NORMAL, STUDENT_T, COIN, BETA, DISCRETE = range(5)
STILL, FADING, WAVE = range(3)
AT_ONCE, FIXED, RANDOM = range(3)

NOISES = {
    "normal": NORMAL,
    "student-t": STUDENT_T,
    "coin": COIN,
    "beta": BETA,
    "discrete": DISCRETE,
}
"""Numbers by which the loops know the kinds of noise that they can draw."""

_PLACES = {"spread": SPREAD, "df": DF, "concentration": CONCENTRATION, "low": LOW, "high": HIGH}


def world_numbers(world: World) -> FloatArray:
    """Return a world, which has to state its noise, as the array that the loops read.

    >>> import bascule as bs
    >>> float(world_numbers(World([0.0, 0.1], noise=bs.worlds.Normal(2.0)))[SPREAD])
    2.0
    """
    noise, trend, change, delay = world.noise, world.trend, world.change, world.delay
    assert noise is not None
    numbers = np.zeros(NUMBERS)
    if noise.kind not in NOISES:
        raise InputError("noise", f"{noise!r} cannot be simulated: choose from {', '.join(NOISES)}")
    numbers[NOISE] = NOISES[noise.kind]
    numbers[LOW], numbers[HIGH] = -math.inf, math.inf
    for name, number in noise.numbers.items():
        numbers[_PLACES[name]] = number
    if trend is not None:
        numbers[TREND] = FADING if trend.kind == "fading" else WAVE
        numbers[SIZE], numbers[SPAN] = trend.size, trend.span
    numbers[CHANGED], numbers[AT] = -1, math.inf
    if change is not None:
        numbers[CHANGED], numbers[BY], numbers[AT] = change.arm, change.by, change.at
    numbers[BEST], numbers[LATER_BEST] = max(world.start), max(world.end)
    numbers[BATCH], numbers[MISSING] = world.batch, world.missing
    numbers[MIDDLE] = (min(world.start) + max(world.start)) / 2
    numbers[WINDOW] = math.inf
    if delay is not None:
        numbers[DELAY] = RANDOM if delay.kind == "random" else FIXED
        numbers[LAG], numbers[HIGH_LAG] = delay.mean, delay.mean * delay.high_outcomes
        if delay.window is not None:
            numbers[WINDOW] = delay.window
    return numbers


def points_of(world: World) -> tuple[FloatArray, FloatArray]:
    """Return the values of discrete noise, and their cumulative probabilities arm after arm."""
    points = None if world.noise is None else world.noise.points
    if points is None:
        return np.zeros(1), np.ones(len(world.start))
    return np.array(points[0]), np.cumsum(np.array(points[1]), axis=1).ravel()


class NoiseSource(NamedTuple):
    """The data to draw the outcomes of a run: its stream, the numbers of its world, and tables.

    `cell` has room for one number. `points` and `chances` are those of `points_of`.
    """

    streams: WordArray
    cell: FloatArray
    world: FloatArray
    means: FloatArray
    points: FloatArray
    chances: FloatArray
    ziggurat: FloatArray


class UnitSteps(NamedTuple):
    """The functions that simulate a unit in a world, with only the features that the world needs.

    Loops with such functions compile faster than a loop for any world.
    """

    draw: Callable[[NoiseSource, int, float], float]
    """(source, arm, mean) -> an outcome of a unit of the arm, whose current mean is `mean`."""
    mean_and_gap: Callable[[FloatArray, FloatArray, int, float], tuple[float, float]]
    """(world, means, arm, time) -> the mean of an arm, and how far it lies below the best."""
    arrival: Callable[[WordArray, FloatArray, int, float], tuple[int, bool]]
    """(streams, world, time, value) -> the time by which the outcome of a unit assigned at `time`
    arrives or is known never to arrive, and whether it arrives."""


def source_of(world: World, streams: WordArray | None = None) -> NoiseSource:
    """Return the noise source of a world that states its noise, with the given random stream."""
    words = np.empty(WORDS, np.uint64) if streams is None else streams
    numbers = world_numbers(world), np.array(world.start), *points_of(world)
    return NoiseSource(words, np.empty(1), *numbers, ziggurat_table())


def drift(world: FloatArray, time: float) -> float:
    """Return the amount that the trend adds to every mean at `time`."""
    moved = 0.0
    if world[TREND] == FADING:
        moved = world[SIZE] * math.exp(-time / world[SPAN])
    elif world[TREND] == WAVE:
        moved = world[SIZE] * math.sin(2.0 * math.pi * time / world[SPAN])
    return moved


def mean_and_gap(
    world: FloatArray, means: FloatArray, arm: int, time: float
) -> tuple[float, float]:
    """Return the mean of an arm at `time`, and how far it lies below the best mean."""
    mean = means[arm]
    best = world[BEST]
    if time >= world[AT]:
        best = world[LATER_BEST]
        if arm == world[CHANGED]:
            mean += world[BY]
    moved = drift(world, time)
    mean = min(max(mean + moved, world[LOW]), world[HIGH])
    best = min(max(best + moved, world[LOW]), world[HIGH])
    return mean, best - mean


def steady_mean_and_gap(
    world: FloatArray,
    means: FloatArray,
    arm: int,
    time: float,  # noqa: ARG001
) -> tuple[float, float]:
    """Return the constant mean of an arm, and how far it lies below the best mean."""
    mean: float = means[arm]
    return mean, world[BEST] - mean


def normal_outcome(source: NoiseSource, arm: int, mean: float) -> float:  # noqa: ARG001
    """Draw a normal outcome with this mean."""
    number = normal(source.streams, source.cell, source.ziggurat)
    return float(mean + source.world[SPREAD] * number)


def coin_outcome(source: NoiseSource, arm: int, mean: float) -> float:  # noqa: ARG001
    """Draw an outcome of 0 or 1 with this mean."""
    return 1.0 if uniform(source.streams, 0) < mean else 0.0


def outcome_of(source: NoiseSource, arm: int, mean: float) -> float:
    """Draw an outcome of an arm whose current mean is `mean`, with the noise of the world."""
    streams, cell, world, means, points, chances, ziggurat = source
    kind = world[NOISE]
    if kind == NORMAL:
        value = normal_outcome(source, arm, mean)
    elif kind == COIN:
        value = coin_outcome(source, arm, mean)
    elif kind == BETA:
        length = world[HIGH] - world[LOW]
        share = (mean - world[LOW]) / length
        value = world[LOW] + length * beta(streams, share, world[CONCENTRATION], cell, ziggurat)
    elif kind == STUDENT_T:
        value = mean + world[SPREAD] * student_t(streams, world[DF])
    else:
        value = pick(streams, points, chances, arm * points.size) + (mean - means[arm])
    return float(value)


def units_of(world: World) -> UnitSteps:
    """Return the functions that simulate a unit in a world that states its noise."""
    assert world.noise is not None
    draws = {"normal": normal_outcome, "coin": coin_outcome}
    steady = world.trend is None and world.change is None
    by_chance = world.missing > 0.0 or (world.delay is not None and world.delay.kind == "random")
    return UnitSteps(
        draws.get(world.noise.kind, outcome_of),
        steady_mean_and_gap if steady else mean_and_gap,
        arrival if by_chance else sure_arrival,
    )


def event_at(streams: WordArray, world: FloatArray, lag: float, time: int) -> tuple[int, float]:
    """Draw when the event of a unit assigned at `time` is known, and how long the event took.

    The delay is exponential with the mean `lag`, given that it is shorter than the window.
    """
    window = world[LAG]
    within = -math.expm1(-window / lag)
    wait = min(window, -lag * math.log1p(-within * uniform(streams, 0)))
    return next_batch(world, time + 1 + math.ceil(wait)), wait


def next_batch(world: FloatArray, time: int) -> int:
    """Return when outcomes that are known at `time` are reported: at the end of a batch."""
    batch = math.floor(world[BATCH])
    return time + (batch - time % batch) % batch if batch > 1 else time


def arrival_of(by_chance: bool) -> Callable[[WordArray, FloatArray, int, float], tuple[int, bool]]:
    """Return `UnitSteps.arrival`, with or without random delays and missing outcomes."""

    def arrival(streams: WordArray, world: FloatArray, time: int, value: float) -> tuple[int, bool]:
        came = True
        wait = world[HIGH_LAG] if value > world[MIDDLE] else world[LAG]
        if by_chance:
            if world[DELAY] == RANDOM:
                wait *= exponential(streams)
            if world[MISSING] > 0.0 and uniform(streams, 0) < world[MISSING]:
                came = False
                wait = world[WINDOW] if world[WINDOW] < math.inf else 0.0
        if wait > world[WINDOW]:
            came = False
            wait = world[WINDOW]
        return next_batch(world, time + 1 + math.ceil(wait)), came

    return arrival


arrival, sure_arrival = arrival_of(by_chance=True), arrival_of(by_chance=False)
