"""The loop for static populations: one run after the other, a stage at a time.

With normal units and normal noise all that matters of an arm is its mean: the mean of its units,
drawn once, and a random walk over the stages. So a stage costs one draw an arm, however many units
there are.
"""

from __future__ import annotations

import math

import numpy as np

from bascule.core.evidence.normal import (
    mixture_boundary,
    mixture_boundary_from,
    tail_series,
    tilted,
)
from bascule.core.procedures.static.population import Threshold, winner, within
from bascule.core.types import NO_DIFFERENCE, NOBODY, FloatArray, IntArray
from bascule.simulation.kernels.control import FINISHED, STEPS, STOP, Chunk, Kernel, RunColumns
from bascule.simulation.random.streams import (
    WordArray,
    fill_normals,
    outside_layer,
    seed_stream,
    uniform,
)


def build_thresholds(threshold: Threshold, fingerprint: str) -> Kernel:
    """The loop that tabulates what a difference has to reach at each look."""

    def tabulate(
        thresholds: FloatArray,
        stages: IntArray,
        sigma_unit: float,
        sigma_noise: float,
        delta: float,
        looks: float,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        for i in range(stages.size):
            stage = float(stages[i])
            thresholds[i] = threshold(stage, sigma_unit, sigma_noise, delta, looks)

    return tabulate


def build(fingerprint: str) -> Kernel:
    """The loop; `stages` are those at which the test looks, `thresholds` what they ask for."""

    def play(
        centres: FloatArray,
        walks: FloatArray,
        observed: FloatArray,
        noise: FloatArray,
        streams: WordArray,
        arms: int,
        chunk: Chunk,
        stages: IntArray,
        thresholds: FloatArray,
        scales: FloatArray,
        means: FloatArray,
        unit_spreads: FloatArray,
        noise_spreads: FloatArray,
        margin: float,
        ziggurat: FloatArray,
        columns: RunColumns,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        (seed, first_run, runs), (times, winners, _, control) = chunk, columns
        for row in range(runs):
            seed_stream(streams, 0, seed, np.uint64(first_run + row))
            fill_normals(streams, 0, noise, 0, arms, ziggurat)
            for arm in range(arms):
                centres[arm] = means[arm] + unit_spreads[arm] * noise[arm]
                walks[arm] = 0.0
            stage = 0
            won = NOBODY
            i = 0
            while won == NOBODY and i < stages.size and control[STOP] == 0:
                # Stages between two looks add up to one step of the walk.
                step = math.sqrt(float(stages[i] - stage))
                stage = stages[i]
                fill_normals(streams, 0, noise, 0, arms, ziggurat)
                for arm in range(arms):
                    walks[arm] += step * noise_spreads[arm] * noise[arm]
                    observed[arm] = centres[arm] + walks[arm] / stage
                won = winner(observed, scales, arms, thresholds[i])
                if (
                    margin > 0.0
                    and won == NOBODY
                    and within(observed, scales, arms, thresholds[i], margin)
                ):
                    won = NO_DIFFERENCE
                i += 1
            if control[STOP] != 0:
                break
            times[row] = stage
            winners[row] = won
            control[FINISHED] += 1
            control[STEPS] += i

    return play


CALLED = (
    *(seed_stream, uniform, outside_layer),
    *(mixture_boundary, mixture_boundary_from, tilted, tail_series),
)
"""Functions that the loops call rarely enough to leave them outside."""
