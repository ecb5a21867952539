"""The loop that plays recurring outcomes a stage at a time, and its tables of radii.

A loop asks for the radius of every arm at every stage. `computed` computes it. `by_clock` is faster
for radii that depend only on the clock (an arm's total weight, which can be any number): a cubic
through the four nearest points of a table interpolates them with a relative error of about 1e-8.
The clocks of the table grow by a fixed factor.

A *crowd* computes the sums of an arm's units. `EVERY_OUTCOME`, in this module, draws each outcome
of each unit, so the time of a stage is proportional to the number of units. In the crowds of
`crowds` the time does not depend on it. Everything works on scalars and arrays that the caller
owns, and allocates nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from bascule.core.course import fits
from bascule.core.evidence.looks import following_look, look_part
from bascule.core.evidence.radius import FIRST_UNITS
from bascule.core.procedures.intervals.state import (
    SCORES,
    UPPERS,
    Steps,
    Within,
    clear,
    highest,
    place,
)
from bascule.core.procedures.recurrent import UnitRadius, Weight
from bascule.core.types import NO_DIFFERENCE, NOBODY, FloatArray
from bascule.simulation.kernels.compiled import (
    ALIVE,
    STOP,
    WAITING,
    Chunk,
    Kernel,
    RunColumns,
    finish_run,
)
from bascule.simulation.random import WordArray, fill_normals, seed_stream

Find = Callable[[FloatArray, int, float, float, float, float, float], float]
"""(radii, number of the look, units, clock, sigma_unit, sigma_noise, level) -> the radius."""

OCTAVE, OCTAVES = 16, 64
"""Number of tabulated clocks per octave, and number of octaves (doublings) in the table."""

POINTS = OCTAVE * OCTAVES
"""Number of clocks that are tabulated for one look at the data."""

FIRST_CLOCK = 0.125
"""Smallest clock (an arm's total weight) in the table, below that of any arm with a radius."""

PER_LOG = OCTAVE / math.log(2.0)


@lru_cache(maxsize=16)
def computed(radius_of: UnitRadius) -> Find:
    """Return the function that computes a radius without a table."""

    def find(
        radii: FloatArray,  # noqa: ARG001
        number: int,  # noqa: ARG001
        units: float,
        clock: float,
        sigma_unit: float,
        sigma_noise: float,
        level: float,
    ) -> float:
        return radius_of(units, clock, sigma_unit, sigma_noise, level)

    return find


def by_clock(
    radii: FloatArray,
    number: int,
    units: float,
    clock: float,
    sigma_unit: float,  # noqa: ARG001
    sigma_noise: float,  # noqa: ARG001
    level: float,  # noqa: ARG001
) -> float:
    """Look up a radius by an arm's clock, in a table with a row for each look at the data.

    The table holds the radius times the root of the clock, which changes little.
    """
    if units < FIRST_UNITS:
        return math.inf
    place = math.log(clock / FIRST_CLOCK) * PER_LOG
    below = math.floor(place)
    t = place - below
    at = np.uint64((number - 1) * POINTS + below - 1)
    a, b = radii[at], radii[at + np.uint64(1)]
    c, d = radii[at + np.uint64(2)], radii[at + np.uint64(3)]
    # Lagrange's cubic through the points at -1, 0, 1 and 2.
    outer = (d * (t + 1.0) - a * (t - 2.0)) * (t * (t - 1.0) / 6.0)
    inner = (b * (t - 1.0) - c * t) * ((t + 1.0) * (t - 2.0) / 2.0)
    return float((outer + inner) / math.sqrt(clock))


def build_by_clock(radius_of: UnitRadius, fingerprint: str) -> Kernel:
    """Build the loop that tabulates radii by clock: a row for each look, filled up to `last`."""

    def tabulate(
        radii: FloatArray,
        last: int,
        planned: bool,
        sigma_unit: float,
        sigma_noise: float,
        level: float,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        for row in range(radii.size // POINTS):
            row_level = level - math.log(look_part(row + 1.0)) if planned else level
            for i in range(last + 1):
                clock = FIRST_CLOCK * math.exp(i / PER_LOG)
                wide = radius_of(float(FIRST_UNITS), clock, sigma_unit, sigma_noise, row_level)
                radii[row * POINTS + i] = wide * math.sqrt(clock)

    return tabulate


BURST = 64
"""Number of outcomes drawn at a time."""

MEMBER = 5
ARM, ARRIVAL, EFFECT, TOTAL, COUNT = range(MEMBER)
"""Numbers that `EVERY_OUTCOME` stores for a unit: its arm, the stage at which it came, the distance
of its own mean from that of its arm, the sum of its deviations, and, if outcomes may be missing,
the number of its outcomes."""

WEIGHTS, SHARES = range(2)
"""The rows of the table of `EVERY_OUTCOME`, by the number of outcomes of a unit: its weight, and
that weight divided by the number."""

UNITS, CLOCK, SUM = range(3)
"""The rows of the tallies, with a column for each arm: its units, its clock, and the weighted sum
of deviations from its mean."""


class Crowd(NamedTuple):
    """Functions that keep the units of a run and draw their outcomes.

    `clear` is given the memory. `join` is given (memory, unit, arm, stage, effect), where unit
    counts from 0 and `effect` is how far the unit's own mean lies from its arm's. `advance` is
    given (memory, arms, table, units, stage, sigma_noise, streams, scratch, ziggurat, tallies):
    every unit gives an outcome, and each arm's clock and sum are written into the tallies, which
    are 0 at first.
    """

    clear: Callable[..., None]
    join: Callable[..., None]
    advance: Callable[..., None]


def clear_members(memory: FloatArray) -> None:
    """Do nothing, because the data of earlier runs in the memory are never read."""


def join_members(memory: FloatArray, unit: int, arm: int, stage: int, effect: float) -> None:
    """Write a new unit into the memory."""
    memory[unit, 0, ARM] = arm
    memory[unit, 0, ARRIVAL] = stage
    memory[unit, 0, EFFECT] = effect
    memory[unit, 0, TOTAL] = 0.0
    memory[unit, 0, COUNT] = 0.0


def advance_members(
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
    """Draw the outcome of each unit at this stage."""
    for arm in range(arms):
        tallies[CLOCK, arm] = 0.0
        tallies[SUM, arm] = 0.0
    advanced = 0
    while advanced < units:
        burst = min(BURST, units - advanced)
        fill_normals(streams, 0, scratch, 0, burst, ziggurat)
        for i in range(burst):
            unit = np.uint64(advanced + i)
            joined = np.uint64(memory[unit, 0, ARM])
            age = np.uint64(stage + 1 - memory[unit, 0, ARRIVAL])
            total = memory[unit, 0, TOTAL] + (memory[unit, 0, EFFECT] + sigma_noise * scratch[i])
            memory[unit, 0, TOTAL] = total
            tallies[CLOCK, joined] += table[WEIGHTS, age]
            tallies[SUM, joined] += table[SHARES, age] * total
        advanced += burst


EVERY_OUTCOME = Crowd(clear_members, join_members, advance_members)
"""The crowd that draws each outcome of each unit."""


class UnitSettings(NamedTuple):
    """Settings of the loop for recurring outcomes; the runs to play are given separately."""

    max_units: int
    room: int
    means: FloatArray
    sigma_unit: float
    sigma_noise: float
    alpha: float
    log_level: float
    growth: float
    threshold: float
    margin: float
    radii: FloatArray
    ziggurat: FloatArray


def build(
    steps: Steps,
    within: Within,
    find: Find,
    together: bool,
    planned: bool,
    crowd: Crowd,
    fixed_arms: int,
    fingerprint: str,
) -> Kernel:
    """Build the loop for one rule; `fixed_arms` above 0 lets the compiler unroll loops over arms.

    The loop plays from the row in `WAITING` on. A run that needs more room is left unfinished: the
    loop returns with the run's row in `WAITING` and 1 in `ALIVE`, and can be called again with more
    room to play it from the start.
    """
    score, decide = steps
    clear_crowd, join, advance = crowd

    def play(
        state: FloatArray,
        memory: FloatArray,
        tallies: FloatArray,
        table: FloatArray,
        streams: WordArray,
        scratch: FloatArray,
        any_arms: int,
        chunk: Chunk,
        settings: UnitSettings,
        columns: RunColumns,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        (seed, first_run, runs), control = chunk, columns.control
        (
            max_units,
            room,
            means,
            sigma_unit,
            sigma_noise,
            alpha,
            log_level,
            growth,
            threshold,
            margin,
            radii,
            ziggurat,
        ) = settings
        arms = fixed_arms if fixed_arms > 0 else any_arms
        scores, uppers = state[SCORES], state[UPPERS]
        sigma = max(sigma_unit, sigma_noise)
        unseen = score(0.0, math.inf, 0.0, alpha)
        control[ALIVE] = 0
        for row in range(control[WAITING], runs):
            seed_stream(streams, 0, seed, np.uint64(first_run + row))
            clear(state, arms, unseen)
            clear_crowd(memory)
            tallies[:] = 0.0
            units = 0
            stage = 0
            look = FIRST_UNITS * arms
            number = 1
            winner = NOBODY
            while winner == NOBODY and control[STOP] == 0:
                joining = 1
                if together:
                    joining = 0
                    for arm in range(arms):
                        joining += 1 if uppers[arm] > -math.inf else 0
                if not fits(units, joining, max_units):
                    break
                if units + joining > room:
                    control[ALIVE] = 1
                    break
                stage += 1
                arm = 0
                for _ in range(joining):
                    if together:
                        while uppers[arm] == -math.inf:
                            arm += 1
                    else:
                        arm = highest(scores, arms)
                    fill_normals(streams, 0, scratch, 0, 1, ziggurat)
                    join(memory, units, arm, stage, sigma_unit * scratch[0])
                    tallies[UNITS, arm] += 1.0
                    units += 1
                    arm += 1
                advance(
                    memory,
                    arms,
                    table,
                    units,
                    stage,
                    sigma_noise,
                    streams,
                    scratch,
                    ziggurat,
                    tallies,
                )
                if planned and stage > look:
                    look = following_look(look, growth)
                    number += 1
                level = log_level - math.log(look_part(number)) if planned else log_level
                for arm in range(arms):
                    tally = tallies[UNITS, arm]
                    if tally > 0.0 and uppers[arm] > -math.inf:
                        clock = tallies[CLOCK, arm]
                        total = means[arm] * clock + tallies[SUM, arm]
                        mean = total / clock
                        wide = find(radii, number, tally, clock, sigma_unit, sigma_noise, level)
                        urgency = score(mean, wide, tally, alpha)
                        place(state, arm, clock, total, mean, wide, urgency)
                if not planned or stage == look:
                    winner = decide(state, arms, sigma, threshold)
                    if (
                        margin > 0.0
                        and winner == NOBODY
                        and within(state, arms, sigma, threshold, margin)
                    ):
                        winner = NO_DIFFERENCE
            if control[STOP] != 0 or control[ALIVE] != 0:
                break
            control[WAITING] = row + 1
            finish_run(tallies[UNITS], row, units, winner, columns)

    return play


def build_tables(weight: Weight, fingerprint: str) -> Kernel:
    """Build the loop that computes the table of `EVERY_OUTCOME`."""

    def tabulate(table: FloatArray, sigma_unit: float, sigma_noise: float) -> None:
        made_of = fingerprint  # noqa: F841
        table[WEIGHTS, 0] = table[SHARES, 0] = 0.0
        for age in range(1, table.shape[1]):
            table[WEIGHTS, age] = weight(float(age), sigma_unit, sigma_noise)
            table[SHARES, age] = table[WEIGHTS, age] / age

    return tabulate
