# ruff: noqa: ARG001
"""Guardrails in simulated tests: their arrays, and how their outcomes are drawn.

Each metric draws from a stream of its own, so that its outcomes do not depend on the other metrics.
Secondary metrics decide nothing, so they are not drawn.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from bascule.core.course_rows import (
    CENTRE,
    HARM,
    KIND,
    LINE,
    MARGIN,
    MARKS,
    NUMBERS,
    REMOVED_AT,
    SCALE,
    TEST,
    TURNED,
    WIDER,
    Rails,
    by_kind,
)
from bascule.core.design import Design
from bascule.core.evidence.families.rows import BLOCK_UNITS, Family
from bascule.core.progress import block_procedure
from bascule.core.types import FloatArray, IntArray
from bascule.simulation.guardrails import BoolArray, GuardedRuns
from bascule.simulation.kernels.compiled import Chunk
from bascule.simulation.kernels.worlds.unit import (
    NOISE,
    NORMAL,
    SPREAD,
    NoiseSource,
    outcome_of,
    world_numbers,
)
from bascule.simulation.random import WORDS, WordArray, fill_normals, seed_stream
from bascule.simulation.worlds.world import World

APART = 0x9E3779B97F4A7C15
"""Difference between the seeds of two metrics: the golden ratio in 64 bits."""


class GuardTables(NamedTuple):
    """Arrays that a loop needs for guardrails; those that it changes belong to one thread.

    `source` is the noise source of the primary metric. The fields from `seeds` to `means` have a
    row for each guardrail. The loop writes the results of a chunk into `removed_at` and `by_harm`.
    """

    rails: Rails
    source: NoiseSource
    seeds: WordArray
    streams: WordArray
    worlds: FloatArray
    means: FloatArray
    removed_at: IntArray
    by_harm: BoolArray


class GuardedMetrics(NamedTuple):
    """The guardrails of a design as arrays, with their kinds of evidence and their worlds."""

    kinds: tuple[Family, ...]
    rails: Rails
    seeds: WordArray
    worlds: FloatArray
    means: FloatArray
    removals: GuardedRuns

    def are_normal(self, source: NoiseSource) -> bool:
        """Return whether the outcomes of the primary metric and of all guardrails are normal."""
        return bool((self.worlds[:, NOISE] == NORMAL).all() and source.world[NOISE] == NORMAL)

    def room(self, source: NoiseSource, first: int, chunk: Chunk) -> GuardTables:
        """Return the arrays of one thread for a chunk; row 0 of `removals` is run `first`."""
        row, arms = chunk.first_run - first, self.removals.removed_at.shape[1]
        removed_at = self.removals.removed_at.reshape(-1)
        return GuardTables(
            Rails(*(column.copy() for column in self.rails)),
            source,
            self.seeds,
            np.empty((len(self.seeds), WORDS), np.uint64),
            self.worlds,
            self.means,
            removed_at[row * arms : (row + chunk.runs) * arms],
            self.removals.by_harm[row : row + chunk.runs],
        )


def room_for_test(arms: int) -> tuple[FloatArray, IntArray]:
    """Return zeros for the state of a test and for the marks of its arms."""
    return np.zeros(TEST), np.zeros((MARKS, arms), np.int64)


def seed_of(seed: int, metric: int) -> np.uint64:
    """Return the seed of a metric's random stream; metric 0 is the primary one."""
    return np.uint64((seed + metric * APART) % 2**64)


def guarded_metrics(design: Design, seed: int, removals: GuardedRuns) -> GuardedMetrics:
    """Return the guardrails of a design; the arms that they remove are written into `removals`."""
    means = removals.means
    kinds: list[Family] = []
    rows, judged, harmed_by, worlds, means_of, seeds = [], [], [], [], [], []
    arms = len(design.arms)
    for place, metric in enumerate(design.metrics):
        if not metric.is_guardrail:
            continue
        own, harm = design.metric_designs[place], design.harm_designs[place]
        procedure = block_procedure(own)
        if procedure.drawn_evidence not in kinds:
            kinds.append(procedure.drawn_evidence)
        row = np.zeros(NUMBERS)
        row[KIND], row[SCALE] = kinds.index(procedure.drawn_evidence), own.outcome.scale
        row[MARGIN], row[LINE] = metric.margin or 0.0, math.inf
        row[TURNED], row[CENTRE] = own.goal == "decrease", own.oriented(0.0)
        strict = procedure.params._replace(threshold=math.inf)
        if harm is not None and metric.harm_line is not None:
            strict, row[LINE] = block_procedure(harm).params, metric.harm_line
        # An interval at a higher threshold is wider.
        row[WIDER] = strict.threshold >= procedure.params.threshold
        rows.append(row)
        judged.append(procedure.params[:-1])
        harmed_by.append(strict[:-1])
        means_of.append(means[metric.name])
        worlds.append(world_numbers(World(means[metric.name]).for_outcome(own.outcome, arms)))
        seeds.append(seed_of(seed, 1 + place))
    count, cells = len(rows), len(rows) * arms
    rails = Rails(
        np.array(rows),
        np.array(judged),
        np.array(harmed_by),
        np.empty((count, arms, max(kind.arm_columns for kind in kinds))),
        np.empty((count, arms * (arms - 1) // 2, max(kind.pair_columns for kind in kinds))),
        np.empty(cells, np.int64),
        np.empty(cells),
        np.empty(cells),
    )
    return GuardedMetrics(
        tuple(kinds), rails, np.array(seeds), np.array(worlds), np.array(means_of), removals
    )


def seed_guards(guards: GuardTables, run: int) -> None:
    """Set the random streams of a run's guardrails to their start."""
    for rail in range(len(guards.seeds)):
        seed_stream(guards.streams[rail], 0, guards.seeds[rail], np.uint64(run))


def keep_guards(
    guards: GuardTables, test: FloatArray, marks: IntArray, row: int, count: int
) -> None:
    """Write into a run's row which arms its guardrails removed, and whether harm ended it."""
    guards.by_harm[row] = test[HARM] > 0.0
    for arm in range(count):
        guards.removed_at[row * count + arm] = marks[REMOVED_AT][arm]


def guard_source(guards: GuardTables, rail: int) -> NoiseSource:
    """Return the stream and the world from which a guardrail's outcomes are drawn."""
    _, cell, _, _, points, chances, ziggurat = guards.source
    streams, world, means = guards.streams[rail], guards.worlds[rail], guards.means[rail]
    return NoiseSource(streams, cell, world, means, points, chances, ziggurat)


@lru_cache(maxsize=64)
def observer_of(kinds: tuple[Family, ...]) -> Any:
    """Return the function of (guards, rail, arm, value) that adds a guardrail's outcome."""
    observe_any = by_kind([kind.observe for kind in kinds])

    def observe(guards: GuardTables, rail: int, arm: int, value: float) -> None:
        numbers = guards.rails.numbers[rail]
        if numbers[TURNED] > 0.0:
            value = numbers[CENTRE] - value
        observe_any(numbers[KIND], guards.rails.arms[rail][arm], value)

    return observe


@lru_cache(maxsize=64)
def draw_metrics(family: Family, kinds: tuple[Family, ...], normal: bool) -> Any:
    """Return the function that draws a block of the primary metric and of every guardrail.

    The order of units within a block does not matter here. If all outcomes are normal, no other
    noise is compiled.
    """
    observe, observe_guard = family.observe, observer_of(kinds)

    def draw(
        arms: FloatArray, streams: WordArray, slots: IntArray, noise: FloatArray, guards: Any,
        settings: Any, front: int, size: int, count: int,
    ) -> None:  # fmt: skip
        source, ziggurat = guards.source, guards.source.ziggurat
        bell, spread = source.world[NOISE] == NORMAL, source.world[SPREAD]
        for arm in range(count):
            dealt = int(arms[arm][BLOCK_UNITS])
            if bell:
                fill_normals(streams, 0, noise, 0, dealt, ziggurat)
            for i in range(dealt):
                if normal or bell:
                    value = source.means[arm] + spread * noise[i]
                else:
                    value = outcome_of(source, arm, source.means[arm])
                observe(arms[arm], value)
        for rail in range(len(guards.seeds)):
            bell = guards.worlds[rail, NOISE] == NORMAL
            mean_of, spread = guards.means[rail], guards.worlds[rail, SPREAD]
            drawn = guard_source(guards, rail)
            for arm in range(count):
                dealt = int(arms[arm][BLOCK_UNITS])
                guards.rails.arms[rail][arm][BLOCK_UNITS] = dealt
                if bell:
                    fill_normals(drawn.streams, 0, noise, 0, dealt, ziggurat)
                for i in range(dealt):
                    if normal or bell:
                        value = mean_of[arm] + spread * noise[i]
                    else:
                        value = outcome_of(drawn, arm, mean_of[arm])
                    observe_guard(guards, rail, arm, value)

    return draw
