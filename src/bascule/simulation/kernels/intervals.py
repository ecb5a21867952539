"""The loop for rules that compare intervals: many runs interleaved, to hide each other's latency.

`build` returns a plain function around a rule's steps, which is compiled. Everything in it works on
scalars and flat arrays that the caller owns, and allocates nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bascule.core.evidence.normal import (
    mixture_boundary,
    mixture_boundary_from,
    tail_series,
    tilted,
)
from bascule.core.evidence.radius import Radius, radius
from bascule.core.evidence.two_arms import ceiling, log_two_arms, product_and_derivatives
from bascule.core.procedures.intervals.state import Steps, clear, highest, place, width
from bascule.core.types import NOBODY, FloatArray, IntArray
from bascule.simulation.kernels.control import (
    ALIVE,
    STOP,
    WAITING,
    Chunk,
    Kernel,
    RunColumns,
    finish_run,
)
from bascule.simulation.random.draws import NORMAL, Draws
from bascule.simulation.random.streams import (
    WORDS,
    WordArray,
    outside_layer,
    seed_stream,
    uniform,
)

BURST = 32
"""Outcomes drawn for a run at a time."""

IDLE = -1
"""The run of a lane that has nothing left to do."""


class IntervalSettings(NamedTuple):
    """The settings of a loop that compares intervals, without the runs to play.

    `low` and `high` are the limits of outcomes, `factor`, `constant` and `delta` numbers of the
    radius, and `radii` its table, which may be empty.
    """

    max_units: int
    means: FloatArray
    sigma: float
    low: float
    high: float
    alpha: float
    factor: float
    constant: float
    delta: float
    threshold: float
    margin: float
    radii: FloatArray
    ziggurat: FloatArray


def start_run(
    state: FloatArray,
    arms: int,
    unseen_score: float,
    streams: WordArray,
    lane: int,
    chunk: Chunk,
    row: int,
) -> None:
    """Put a lane at the beginning of a run: no units, endless intervals, its own stream."""
    seed_stream(streams, lane * WORDS, chunk.seed, np.uint64(chunk.first_run + row))
    clear(state, lane * width(arms), arms, unseen_score)


def move_lane(
    state: FloatArray,
    size: int,
    streams: WordArray,
    rows: IntArray,
    units: IntArray,
    source: int,
    target: int,
) -> None:
    """Let one lane take over another's place."""
    rows[target] = rows[source]
    units[target] = units[source]
    for i in range(WORDS):
        streams[target * WORDS + i] = streams[source * WORDS + i]
    for i in range(size):
        state[target * size + i] = state[source * size + i]


def build(
    steps: Steps,
    fixed_arms: int,
    endless: bool,
    fingerprint: str,
    draws: Draws = NORMAL,
    radius_of: Radius = radius,
) -> Kernel:
    """The loop for one rule; `fixed_arms` above 0 lets the compiler unroll the loops over arms.

    With `endless` the loop computes each radius, without it looks them up in a table; each kind
    returns when an arm outgrows the table, or none does any more, for the other to go on.
    `fingerprint` stands for all the source the loop
    is made of: the compiler's cache keeps it with the machine code, and so notices a change in a
    file that it does not watch itself.
    """
    score, decide = steps
    fill, outcome = draws.fill, draws.outcome

    def play(
        state: FloatArray,
        streams: WordArray,
        rows: IntArray,
        units: IntArray,
        noise: FloatArray,
        any_arms: int,
        chunk: Chunk,
        settings: IntervalSettings,
        columns: RunColumns,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        max_units, means, sigma = settings.max_units, settings.means, settings.sigma
        alpha, threshold, radii = settings.alpha, settings.threshold, settings.radii
        factor, count, delta = settings.factor, settings.constant, settings.delta
        ziggurat = settings.ziggurat
        runs, control = chunk.runs, columns.control
        arms = fixed_arms if fixed_arms > 0 else any_arms
        size = width(arms)
        scores = 2 * arms
        unseen = score(0.0, math.inf, 0.0, alpha)
        alive = control[ALIVE]
        waiting = control[WAITING]
        while waiting < min(rows.size, runs):
            rows[waiting] = waiting
            units[waiting] = 0
            start_run(state, arms, unseen, streams, waiting, chunk, waiting)
            waiting += 1
            alive += 1
        while alive > 0 and control[STOP] == 0:
            # A burst is as long as every lane can go without meeting the cap.
            burst = min(BURST, max_units)
            longest = 0.0
            for lane in range(alive):
                if units[lane] == max_units:
                    first = lane * size
                    winner = decide(state, first, arms, sigma, threshold)
                    finish_run(state, first, arms, rows[lane], max_units, winner, columns)
                    units[lane] = 0
                    rows[lane] = IDLE
                    if waiting < runs:
                        rows[lane] = waiting
                        start_run(state, arms, unseen, streams, lane, chunk, waiting)
                        waiting += 1
                burst = min(burst, max_units - units[lane])
                for arm in range(arms):
                    longest = max(longest, state[lane * size + arm])
            if endless == (longest + burst < radii.size):
                break
            for lane in range(alive):
                fill(streams, lane * WORDS, noise, lane * BURST, burst, ziggurat)
            for step in range(burst):
                for lane in range(alive):
                    first = lane * size
                    # Asked when the lane's turn comes again, not right after the unit: by then
                    # the arm's new ends have reached the cache, and nothing waits for them.
                    winner = decide(state, first, arms, sigma, threshold)
                    if winner != NOBODY and rows[lane] != IDLE:
                        taken = units[lane] + step
                        finish_run(state, first, arms, rows[lane], taken, winner, columns)
                        rows[lane] = IDLE
                        if waiting < runs:
                            rows[lane] = waiting
                            units[lane] = -step
                            start_run(state, arms, unseen, streams, lane, chunk, waiting)
                            fill(
                                streams,
                                lane * WORDS,
                                noise,
                                lane * BURST + step,
                                burst - step,
                                ziggurat,
                            )
                            waiting += 1
                    arm = highest(state, first + scores, arms)
                    observed = state[np.uint64(first + arm)] + 1.0
                    total = state[np.uint64(first + arms + arm)] + outcome(
                        means[np.uint64(arm)], sigma, noise[lane * BURST + step]
                    )
                    mean = total / observed
                    if endless:
                        wide = radius_of(observed, sigma, factor, count, delta)
                    else:
                        wide = radii[np.uint64(observed)]
                    place(
                        state,
                        first,
                        arms,
                        arm,
                        observed,
                        total,
                        mean,
                        wide,
                        score(mean, wide, observed, alpha),
                    )
            for lane in range(alive):
                units[lane] += burst
            lane = 0
            while lane < alive:
                if rows[lane] == IDLE:
                    alive -= 1
                    move_lane(state, size, streams, rows, units, alive, lane)
                else:
                    lane += 1
        control[ALIVE] = alive
        control[WAITING] = waiting

    return play


def build_table(fingerprint: str, radius_of: Radius = radius) -> Kernel:
    """The loop that tabulates radii."""

    def tabulate(
        radii: FloatArray, sigma: float, factor: float, count: float, delta: float
    ) -> None:
        made_of = fingerprint  # noqa: F841
        for n in range(radii.size):
            radii[n] = radius_of(n, sigma, factor, count, delta)

    return tabulate


CALLED = (
    *(radius, seed_stream, uniform, outside_layer, start_run, finish_run, move_lane),
    *(mixture_boundary, mixture_boundary_from, tilted, tail_series),
    *(log_two_arms, ceiling, product_and_derivatives),
)
"""Functions that the loops call rarely enough to leave them outside."""
