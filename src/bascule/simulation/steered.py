"""Simulation of steered tests: shares change once a period, and units count when windows close.

A compiled loop of `core.rounds` adds the rounds of each period to the statistics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from bascule.core.calendar import DAY
from bascule.core.course_rows import terms_of
from bascule.core.design import Design
from bascule.core.ending import cap_met
from bascule.core.metrics.metric import DIRECTION
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.blocks.steps import GOES_ON
from bascule.core.rounds import (
    Stand,
    course_in_rounds,
    in_rounds,
    is_withheld,
    next_shares,
    rounds_loop,
    statistics_of,
    with_rounds,
)
from bascule.core.statistics import ArmStatistics
from bascule.core.types import NOBODY, FloatArray, IntArray
from bascule.simulation.kernels.blocks import compiled_params
from bascule.simulation.kernels.compiled import compile_loop
from bascule.simulation.kernels.guards import room_for_test
from bascule.simulation.result import Estimate

LONGEST = 400.0
"""Number of days after which a simulated test is ended undecided."""

Level = Callable[[FloatArray], FloatArray]
"""(times of arrival in days) -> the amount that is added to the mean of every arm at each time."""


@dataclass(frozen=True, slots=True)
class SteeredRuns:
    """How simulated tests ended: winners, days, and losses compared with the best arm."""

    winners: IntArray
    """Number of the arm that won, by run; -1 if undecided."""
    days: FloatArray
    """Days until the test is over, by run."""
    lost: FloatArray
    """Loss compared with the best arm, in outcome units, by run."""

    @property
    def expected_days(self) -> Estimate:
        """Days until the test is over, on average."""
        return Estimate.of(self.days)

    @property
    def expected_cost(self) -> Estimate:
        """Average loss until the test is over, compared with giving every unit the best arm."""
        return Estimate.of(self.lost)


def steady(times: FloatArray) -> FloatArray:
    """Return 0 for each time: the level of a world that does not change."""
    return np.zeros_like(times)


def simulate_steered(
    design: Design,
    means: Sequence[float],
    units_per_day: float,
    period: float = 1.0,
    *,
    runs: int = 200,
    seed: int = 0,
    level: Level = steady,
) -> SteeredRuns:
    """Play steered tests of 0/1 or normal outcomes, whose shares change every `period` days.

    >>> import bascule as bs
    >>> measure = bs.Measure("1d", "any")
    >>> rule = bs.Tilt(3, 0.2, power=0.9)
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), rule, measure=measure)
    >>> played = simulate_steered(design, [0.2, 0.5], 200, runs=5)
    >>> played.winners.tolist()
    [1, 1, 1, 1, 1]
    """
    played = [
        _steered(design, np.array(means), units_per_day, period, seed + run, level)
        for run in range(runs)
    ]
    winners, days, lost = zip(*played, strict=True)
    return SteeredRuns(np.array(winners), np.array(days), np.array(lost))


def _steered(
    design: Design, means: FloatArray, units_per_day: float, every: float, seed: int, level: Level
) -> tuple[int, float, float]:
    """Play one test; return its winner, its days, and its loss compared with the best arm."""
    procedure = cast("BlockProcedure", design.procedure)
    count, params, units = len(means), compiled_params(procedure), round(units_per_day * every)
    course, columns = course_in_rounds(design)
    loop = compile_loop(rounds_loop, course, columns)
    terms = terms_of(design, params, params, 1.0)._replace(margin=procedure.margin)
    test, marks = room_for_test(count)
    generator = np.random.default_rng(seed)
    window = 0.0 if design.measure is None else design.measure.matures(0.0) / DAY
    waits = math.ceil(window / every - 1e-9)
    arms, pairs = (np.array(rows) for rows in procedure.rows(procedure.empty()))
    course.start(test, marks, arms, pairs, arms, count)
    sums: list[ArmStatistics] = [ArmStatistics()] * count
    shares = np.full(count, 1.0 / count)
    worth = DIRECTION[design.goal] * means
    gaps = worth.max() - worth
    waiting: list[list[FloatArray]] = []
    lost = 0.0
    for period in range(math.ceil(LONGEST / every)):
        times = every * (period + generator.random(units))
        joined = generator.choice(count, units, p=shares)
        expected = means[joined] + level(times)
        if design.outcome.binary:
            outcomes = (generator.random(units) < expected).astype(float)
        else:
            outcomes = generator.normal(expected, design.outcome.scale)
        waiting.append([outcomes[joined == arm] for arm in range(count)])
        lost += float(gaps[joined].sum())
        if period < waits:
            continue
        # Units already arrive in random order, so they are not shuffled.
        block = waiting.pop(0)
        statistics = statistics_of(sums, arms, pairs)
        active = [arm for arm in range(count) if arm not in statistics.dropped]
        if not all(len(block[arm]) for arm in active):
            continue
        _, own = in_rounds(
            [outcomes if i in active else outcomes[:0] for i, outcomes in enumerate(block)]
        )
        rounds, powers = in_rounds(
            [
                np.asarray(design.oriented(outcomes)) if i in active else outcomes[:0]  # type: ignore[arg-type]
                for i, outcomes in enumerate(block)
            ]
        )
        days = every * (period + 1.0)
        rows = test, marks, arms, pairs
        stand = cast("Stand", loop(*rows, count, days, terms, rounds, np.array(powers)))
        winner = stand.winner if stand.winner != NOBODY else course.announce(test, days)
        sums = with_rounds(sums, own, stand.rounds)
        statistics = statistics_of(sums, arms, pairs)
        if winner != NOBODY or stand.ended != GOES_ON:
            return int(winner), days, lost
        if is_withheld(design, test):
            continue
        if cap_met(design, statistics):
            return NOBODY, days, lost
        shares = np.array(list(next_shares(design, statistics).values()))
    return NOBODY, LONGEST, lost
