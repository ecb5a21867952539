"""Median-unbiased estimate of a difference after a test that may have ended early.

A test that ends when the difference is large enough overestimates the difference on average. The
ends of tests are ordered by how good they are for the leading arm: a decision for it is better than
any other end, an early one better than a late one, and of futile tests the later is better. The
median-unbiased estimate is the difference at which, with probability one half, a test ends at least
as well for the leading arm as this test. docs/research/ends.md has the order and the proof.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import cast

import numpy as np

from bascule.core.design import Design
from bascule.core.evidence.families.known_spread import boundary_for
from bascule.core.evidence.families.rows import CLOCK, TOTAL, Params, pair_index
from bascule.core.evidence.horizon import solved
from bascule.core.metrics.metric import DIRECTION
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.statistics import Statistics
from bascule.core.types import FloatArray
from bascule.theory.prediction.passage import (
    NO_LIMITS,
    RATIO,
    Flat,
    Line,
    PassageLimits,
    first_passage,
    overstep,
)

CLOSE = 1e-3
"""Tolerance of the search for the estimate, as a difference of probabilities."""

STEPS = 79
"""Number of steps of a first passage, which starts at a hundredth of the final information."""

ROUNDING = 1e-9
"""Relative difference up to which two values of the information are considered equal."""


def unbiased_difference(
    design: Design, statistics: Statistics, treatment: int, control: int, is_over: bool = False
) -> float | None:
    """Return the median-unbiased estimate of the difference of treatment and control.

    `is_over` says that the test has ended, for example by a limit on its units or its time; an end
    by its plan is noticed anyway. The estimate is None while these two arms are undecided and the
    test goes on, if one of them was dropped before they were decided, if outcomes do not vary, for
    rules that do not compare arms in blocks, and for evidence that theory does not know.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(1, effect=0.5, power=0.9))
    >>> data = design.procedure.empty()
    >>> unbiased_difference(design, data, 1, 0) is None
    True
    """
    if design.procedure.counts != "blocks":
        return None
    deciding, oriented = design.judging(statistics)
    procedure = cast(BlockProcedure, deciding)
    if not procedure.evidence.in_theory:
        return None
    arms, pairs = procedure.rows(oriented)
    first, second = min(treatment, control), max(treatment, control)
    pair, mine, theirs = pairs[pair_index(procedure.arms, first, second)], arms[first], arms[second]
    params, evidence = procedure.params, procedure.evidence
    decided = evidence.verdict(pair, mine, theirs, params) != 0.0
    over = is_over or procedure.end_reason(oriented) is not None
    if not decided and (not over or {treatment, control} & statistics.out):
        return None
    spread = _spread(procedure, oriented, first, second) if pair[CLOCK] > 0.0 else 0.0
    if spread == 0.0:
        # There are no data yet, or outcomes do not vary, so that the difference has no error.
        return None
    total, horizon, height = abs(pair[TOTAL]), math.inf, 0.0
    if params.reach > 0.0:
        shared = evidence.shared(arms, procedure.arms, params)
        left = evidence.remaining(pair, mine, theirs, shared, 0.0, params)
        horizon = pair[CLOCK] + max(0.0, left)
        # If the spread is estimated, the last block and an allowance for skewness make the boundary
        # higher than planned. A futile test was judged by this higher boundary.
        if procedure.outcome.estimated and params.futility > 0.0 and left > 0.0 and not decided:
            sign = math.copysign(1.0, pair[TOTAL])
            standard, room = evidence.outlook(pair, mine, theirs, sign, shared, params)
            if 0.0 < standard < math.inf:
                height = (total + room * params.effect * left / standard) / spread
    # A test of more than two arms is futile only if every arm is.
    futility = params.futility if procedure.arms == 2 else 0.0
    scaled = params._replace(effect=params.effect / spread, futility=futility)
    size = _drift(total / spread, pair[CLOCK], decided, horizon, height, scaled)
    sign = math.copysign(1.0, pair[TOTAL]) * (1.0 if treatment == first else -1.0)
    return DIRECTION[design.goal] * sign * size * spread * procedure.outcome.scale


def _spread(procedure: BlockProcedure, statistics: Statistics, first: int, second: int) -> float:
    """Return the standard deviation of a pair's outcomes, in units of the scale of the outcomes."""
    outcome = procedure.outcome
    if not (outcome.limited or outcome.estimated):
        return 1.0
    mine, theirs = (statistics.arms[arm].linearised for arm in (first, second))
    weighed = 0.0
    for arm, rival in ((mine, theirs), (theirs, mine)):
        mean = arm.total / arm.units
        weighed += rival.units * (arm.squares / arm.units - mean * mean)
    return math.sqrt(weighed / (mine.units + theirs.units)) / outcome.scale


@lru_cache(maxsize=256)
def _drift(
    total: float, clock: float, decided: bool, horizon: float, height: float, params: Params
) -> float:
    """Return the drift at which half of all tests end at least as well for the leader as this one.

    If the test was decided, the boundary passes through the point of the decision. Otherwise
    `height` is the height of the boundary, or 0 for its planned height.
    """
    limits = NO_LIMITS
    if math.isinf(horizon):
        scale = total / boundary_for(clock, 1.0, params) if decided else 1.0
        clocks = clock * RATIO ** np.arange(-STEPS, 1.0)
        heights = [scale * boundary_for(one, 1.0, params) for one in clocks.tolist()]

        def line(some: FloatArray) -> FloatArray:
            return np.asarray(np.interp(some, clocks, heights))

    else:
        planned = height or params.constant * math.sqrt(horizon)
        height = total if decided else max(total, planned)
        line = Flat(height)  # type: ignore[assignment]
        limits = PassageLimits(
            horizon, effect=params.reach / math.sqrt(horizon), futility=params.futility
        )

    def share(drift: float) -> float:
        return ends_ahead(drift, total, clock, line, limits)

    high = total / clock
    while share(high) < 0.5:
        high += 1.0 / math.sqrt(clock)
    return solved(share, 0.5, 0.0, high, CLOSE) if share(0.0) < 0.5 else 0.0


def ends_ahead(
    drift: float, total: float, clock: float, line: Line, limits: PassageLimits
) -> float:
    """Return the probability that a path crosses `line` by `clock`, or is at `total` or above then.

    Paths that have become futile count as not ahead. The last step of the passage is at `clock`:
    there the line falls to `total`, so that no path is left inside.

    >>> ends = [ends_ahead(drift, 8.0, 16.0, Flat(8.0), NO_LIMITS) for drift in (0.0, 0.5)]
    >>> [round(end, 2) for end in ends]
    [0.05, 0.6]
    """
    step = clock * (1.0 - 1.0 / RATIO)
    (height,) = line(np.array([clock]))
    # A passage also counts crossings between steps; the final total is only observed at `clock`.
    late = overstep(step, max(0.0, drift + (height - total) / step)) if total < height else 0.0

    def falls(clocks: FloatArray) -> FloatArray:
        heights = np.where(clocks > clock * (1.0 + ROUNDING), 0.0, total + late)
        before = clocks < clock * (1.0 - ROUNDING)
        heights[before] = line(clocks[before])
        return heights

    passage = first_passage(drift, falls, clock / RATIO**STEPS, 0.0, limits=limits)
    return float(passage.above[passage.clocks <= clock * (1.0 + ROUNDING)].sum())
