"""Recurring outcomes in worlds with trends, missing outcomes, heavy tails or related arrivals.

Each outcome of each unit is drawn. A trend adds to all outcomes of a stage; `arrivals` adds to a
unit what the trend is at its arrival, and the unit keeps it. A unit is counted from its first
outcome on, which is never missing; a unit's average is over the outcomes that came.
"""

from __future__ import annotations

import math
from functools import lru_cache

from bascule.core.errors import InputError
from bascule.core.outcomes import Outcome
from bascule.core.types import FloatArray
from bascule.simulation.random import WordArray, normal, student_t, uniform
from bascule.simulation.recurrent.kernel import (
    ARM,
    CLOCK,
    COUNT,
    EFFECT,
    EVERY_OUTCOME,
    SHARES,
    SUM,
    TOTAL,
    WEIGHTS,
    Crowd,
    join_members,
)
from bascule.simulation.worlds.world import Trend, World

NOISES = ("normal", "student-t")


def check_units_world(world: World, outcome: Outcome) -> None:
    """Raise `InputError` if units whose outcomes recur cannot be simulated in a world."""
    refused = {
        "change": world.change is not None,
        "batch": world.batch > 1,
        "delay": world.delay is not None,
        "correlation": world.correlation != 0,
        "noise": world.noise is not None and world.noise.kind not in NOISES,
    }
    for name, option in refused.items():
        if option:
            raise InputError(
                name,
                f"{name} does not go with {outcome!r}: worlds of recurring outcomes have a trend, "
                "arrivals, missing outcomes, and Normal or StudentT noise",
            )


def crowd_in(world: World, outcome: Outcome) -> Crowd:
    """Return how units are drawn in a world; `EVERY_OUTCOME` if the world is steady."""
    if world.plain_for(outcome):
        return EVERY_OUTCOME
    numbers = world.noise.numbers if world.noise is not None else {}
    return _crowd(
        world.trend,
        world.arrivals,
        world.missing,
        numbers.get("spread", 0.0),
        numbers.get("df", 0.0),
    )


def drift(wave: bool, size: float, span: float, stage: float) -> float:
    """Return what a trend adds at a stage."""
    if wave:
        return size * math.sin(2.0 * math.pi * stage / span)
    return size * math.exp(-stage / span)


@lru_cache(maxsize=32)
def _crowd(
    trend: Trend | None, arrivals: Trend | None, missing: float, spread: float, df: float
) -> Crowd:
    """Return how units are drawn in such a world; if `spread` is 0, the design's is used."""
    moved, moved_wave, moved_size, moved_span = _numbers(trend)
    joined, joined_wave, joined_size, joined_span = _numbers(arrivals)

    def join(memory: FloatArray, unit: int, arm: int, stage: int, effect: float) -> None:
        if joined:
            effect += drift(joined_wave, joined_size, joined_span, float(stage))
        join_members(memory, unit, arm, stage, effect)

    def advance(
        memory: FloatArray,
        arms: int,
        table: FloatArray,
        units: int,
        stage: int,
        sigma_noise: float,
        streams: WordArray,
        scratch: FloatArray,
        ziggurat: FloatArray,
        tallies: FloatArray,
    ) -> None:
        for arm in range(arms):
            tallies[CLOCK, arm] = 0.0
            tallies[SUM, arm] = 0.0
        common = drift(moved_wave, moved_size, moved_span, float(stage)) if moved else 0.0
        sigma = spread if spread > 0.0 else sigma_noise
        for unit in range(units):
            came = memory[unit, 0, COUNT] == 0.0 or missing == 0.0 or uniform(streams, 0) >= missing
            if came:
                number = student_t(streams, df) if df > 0.0 else normal(streams, scratch, ziggurat)
                memory[unit, 0, TOTAL] += memory[unit, 0, EFFECT] + common + sigma * number
                memory[unit, 0, COUNT] += 1.0
            count = int(memory[unit, 0, COUNT])
            arm = int(memory[unit, 0, ARM])
            tallies[CLOCK, arm] += table[WEIGHTS, count]
            tallies[SUM, arm] += table[SHARES, count] * memory[unit, 0, TOTAL]

    return EVERY_OUTCOME._replace(join=join, advance=advance)


def _numbers(trend: Trend | None) -> tuple[bool, bool, float, float]:
    if trend is None:
        return False, False, 0.0, 1.0
    return True, trend.kind == "wave", trend.size, trend.span
