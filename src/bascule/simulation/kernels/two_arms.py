# mypy: disable-error-code="arg-type"
"""The loop for rules that compare the intervals of two arms, with each run held in registers.

The arm of the next unit is chosen by a branch, not by an index: the processor predicts the branch,
and draws the next outcome meanwhile. `kernels.intervals` has the loop for any number of arms, which
plays the same runs. The functions of a rule read the numbers of a test as a tuple here, in the
order of `intervals.state`.
"""

from __future__ import annotations

import math

import numpy as np

from bascule.core.course import fits
from bascule.core.evidence.radius import Radius
from bascule.core.procedures.intervals.state import UNITS, Steps, eliminate, highest
from bascule.core.types import NOBODY, FloatArray, IntArray
from bascule.simulation.kernels.compiled import (
    STOP,
    Chunk,
    IntervalSettings,
    Kernel,
    RunColumns,
    finish_run,
    used_functions,
)
from bascule.simulation.random import (
    DONE,
    Draws,
    WordArray,
    keep_stream,
    outside_layer,
    seed_stream,
)

STRETCH = 4096
"""Number of units between two checks whether to stop."""

OUTGROWN = -9
"""Stands for the winner of a run in which an arm has more units than the table has radii."""


def fits_registers(steps: Steps) -> bool:
    """Return whether a rule's decision changes no state, so that registers can hold the state.

    A rule that drops arms while the test goes on changes its state.
    """
    return eliminate not in used_functions(steps.decide)


def build(steps: Steps, endless: bool, draws: Draws, radius_of: Radius, fingerprint: str) -> Kernel:
    """Build the loop for a rule that `fits_registers`, with the arguments of `intervals.build`.

    With `endless` the loop computes each radius. Without it radii are looked up in a table, and a
    run with an arm that outgrows the table ends as `OUTGROWN`, so that the other loop plays it.
    """
    score, decide = steps
    begin, outcome = draws.begin, draws.outcome

    def play(
        state: FloatArray,
        streams: WordArray,
        rows: IntArray,  # noqa: ARG001
        units: IntArray,  # noqa: ARG001
        noise: FloatArray,  # noqa: ARG001
        any_arms: int,  # noqa: ARG001
        chunk: Chunk,
        settings: IntervalSettings,
        columns: RunColumns,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        max_units, means, sigma = settings.max_units, settings.means, settings.sigma
        alpha, threshold, radii = settings.alpha, settings.threshold, settings.radii
        factor, count, delta = settings.factor, settings.constant, settings.delta
        ziggurat = settings.ziggurat
        (seed, first_run, runs), (_, winners, _, control) = chunk, columns
        unseen = score(0.0, math.inf, 0.0, alpha)
        mean_0, mean_1 = means[0], means[1]
        for row in range(runs):
            seed_stream(streams, 0, seed, np.uint64(first_run + row))
            a, b, c, counter = streams[0], streams[1], streams[2], streams[3]
            units_0 = units_1 = total_0 = total_1 = 0.0
            score_0 = score_1 = unseen
            lower_0 = lower_1 = -math.inf
            upper_0 = upper_1 = math.inf
            taken, winner = 0, NOBODY
            number, layer, a, b, c, counter = begin(a, b, c, counter, ziggurat)
            while winner == NOBODY and fits(taken, 1, max_units) and control[STOP] == 0:
                room = STRETCH
                if not endless:
                    room = min(room, radii.size - 1 - int(max(units_0, units_1)))
                    if room == 0:
                        winner = OUTGROWN
                        break
                last = min(max_units, taken + room)
                while winner == NOBODY and taken < last:
                    if layer != DONE:
                        keep_stream(streams, 0, a, b, c, counter)
                        number = outside_layer(streams, 0, layer, number, ziggurat)
                        a, b, c, counter = streams[0], streams[1], streams[2], streams[3]
                        layer = DONE
                    # This loop calls only inlined functions, so that the test stays in registers.
                    for _ in range(last - taken):
                        if highest((score_0, score_1), 2) == 1:
                            units_1 += 1.0
                            total_1 += outcome(mean_1, sigma, number)
                            mean = total_1 / units_1
                            if endless:
                                wide = radius_of(units_1, sigma, factor, count, delta)
                            else:
                                wide = radii[np.uint64(units_1)]
                            score_1 = score(mean, wide, units_1, alpha)
                            lower_1, upper_1 = mean - wide, mean + wide
                        else:
                            units_0 += 1.0
                            total_0 += outcome(mean_0, sigma, number)
                            mean = total_0 / units_0
                            if endless:
                                wide = radius_of(units_0, sigma, factor, count, delta)
                            else:
                                wide = radii[np.uint64(units_0)]
                            score_0 = score(mean, wide, units_0, alpha)
                            lower_0, upper_0 = mean - wide, mean + wide
                        number, layer, a, b, c, counter = begin(a, b, c, counter, ziggurat)
                        numbers = (
                            (units_0, units_1),
                            (total_0, total_1),
                            (score_0, score_1),
                            (lower_0, lower_1),
                            (upper_0, upper_1),
                        )
                        winner = decide(numbers, 2, sigma, threshold)
                        if winner != NOBODY or layer != DONE:
                            break
                    taken = int(units_0 + units_1)
            if control[STOP] != 0:
                break
            units_of_both = state[0][UNITS]
            units_of_both[0], units_of_both[1] = units_0, units_1
            if winner == OUTGROWN:
                winners[row] = winner
            else:
                finish_run(units_of_both, row, taken, winner, columns)

    return play
