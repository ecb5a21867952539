"""The estimate of a difference after a decision, which does not favour what was decided.

A test that ends when the difference is large enough ends on average when it looks larger than it
is. The median-unbiased estimate is the difference at which a test would have been decided as soon
as this one with probability one half, by the stages at which tests end. docs/research/ends.md.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import cast

import numpy as np

from bascule.core.design import Design
from bascule.core.evidence.families.known_spread import boundary_for
from bascule.core.evidence.families.rows import CLOCK, TOTAL, Params, pair_index
from bascule.core.evidence.normal import log_normal_cdf
from bascule.core.metrics.metric import DIRECTION
from bascule.core.numerics import smallest
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.statistics import Statistics
from bascule.core.types import FloatArray
from bascule.theory.prediction.passage import PassageLimits, first_passage

CLOSE = 1e-4
"""How near to one half the probability has to be."""

STRIDE = 2.0
"""How long the steps of a passage are: an estimate needs no more."""


def unbiased_difference(
    design: Design, statistics: Statistics, treatment: int, control: int
) -> float | None:
    """Return the median-unbiased estimate of treatment minus control.

    None while these two are neither decided nor at the end of the test, where outcomes do not vary,
    for rules that do not compare arms in blocks, and for evidence that theory does not know.

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
    pair = pairs[pair_index(procedure.arms, first, second)]
    params = procedure.params
    decided = procedure.evidence.verdict(pair, arms[first], arms[second], params) != 0.0
    ended = procedure.end_reason(oriented) == "horizon"
    if not decided and (not ended or {treatment, control} & statistics.out):
        return None
    spread = _spread(procedure, oriented, first, second)
    if spread == 0.0:
        # Outcomes that do not vary say the difference itself.
        return None
    total, clock = abs(pair[TOTAL]) / spread, pair[CLOCK]
    if not decided:
        size = _at_horizon(total, clock, params.constant * math.sqrt(clock))
    elif params.reach > 0.0:
        size = _at_horizon(total, clock, total)
    else:
        size = _behind_mixture(total, clock, params._replace(effect=params.effect / spread))
    sign = math.copysign(1.0, pair[TOTAL]) * (1.0 if treatment == first else -1.0)
    return DIRECTION[design.goal] * sign * size * spread * procedure.outcome.scale


def _spread(procedure: BlockProcedure, statistics: Statistics, first: int, second: int) -> float:
    """The standard deviation of outcomes of a pair, in units of the scale."""
    outcome = procedure.outcome
    if not (outcome.limited or outcome.estimated):
        return 1.0
    mine, theirs = (statistics.arms[arm].linearised for arm in (first, second))
    weighed = 0.0
    for arm, rival in ((mine, theirs), (theirs, mine)):
        mean = arm.total / arm.units
        weighed += rival.units * (arm.squares / arm.units - mean * mean)
    return math.sqrt(weighed / (mine.units + theirs.units)) / outcome.scale


def _at_horizon(total: float, clock: float, height: float) -> float:
    """The drift at which half of tests reach a flat boundary by the clock, or this total at it.

    A total at the boundary is the case of a test that was decided at this clock.
    """
    root = math.sqrt(clock)

    def reached(drift: float) -> bool:
        ahead = log_normal_cdf((drift * clock - total) / root)
        back = 2.0 * drift * height + log_normal_cdf((total - 2.0 * height - drift * clock) / root)
        return math.exp(ahead) + math.exp(back) >= 0.5

    return smallest(reached, min(0.0, total - height) / clock, total / clock)


@lru_cache(maxsize=256)
def _behind_mixture(total: float, clock: float, params: Params) -> float:
    """The median-unbiased drift for the boundary of a mixture that passes through the decision."""
    scale = total / boundary_for(clock, 1.0, params)

    def line(clocks: FloatArray) -> FloatArray:
        return scale * np.array([boundary_for(clock, 1.0, params) for clock in clocks.tolist()])

    def share(drift: float) -> float:
        until = PassageLimits(clock=clock)
        return float(
            first_passage(drift, line, min(0.5, clock), 0.0, None, STRIDE, until).above.sum()
        )

    low, high = 0.0, total / clock
    while high - low > CLOSE * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if share(middle) >= 0.5 else (middle, high)
    return 0.5 * (low + high)
