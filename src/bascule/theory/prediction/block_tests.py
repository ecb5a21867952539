"""Predict tests in blocks from the random walk of each pair of arms and its boundary."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import NoPredictionError
from bascule.core.evidence.families.following_bets import horizon_of
from bascule.core.evidence.horizon import normal_constant
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.theory.prediction.betting_course import (
    STRIDES,
    Outcomes,
    bell,
    bets_win,
    coins,
    walk_of_bets,
)
from bascule.theory.prediction.course import BlockTest, shares_of, two_arms
from bascule.theory.prediction.many_arms import many_arms
from bascule.theory.prediction.passage import Flat, Line, PassageLimits
from bascule.theory.prediction.prediction import Prediction, PredictionRequest

ROUNDS = 20
"""Number of iterations after which the variance that is assumed for the horizon has converged."""


# Cached, since a plan needs some predictions several times.
@lru_cache(maxsize=256)
def predict_blocks(
    design: Design, procedure: BlockProcedure, asked: PredictionRequest
) -> Prediction:
    """Return the predicted units and decision times of a test in blocks."""
    if not procedure.evidence.in_theory and procedure.boundary(1.0) is None:
        raise NoPredictionError(
            "rule",
            f"{procedure.label} has no prediction, as nothing is known of when the evidence "
            f"{procedure.evidence.name!r} decides: simulate it",
        )
    expected = _followed(design, procedure, asked)
    if expected is not None:
        return replace(expected, gaps=asked.gaps)
    if asked.cap is None and not procedure.has_horizon:
        return Prediction((math.inf,) * len(design.arms), asked.gaps)
    raise NoPredictionError(
        "rule", f"{procedure.label} has no prediction at gaps of {asked.gaps}: simulate it"
    )


def line_of(procedure: BlockProcedure) -> Line:
    """Return the decision boundary of a test in blocks with a known spread."""
    return lambda clocks: np.array([procedure.boundary(clock) for clock in clocks.tolist()])


def _followed(
    design: Design, procedure: BlockProcedure, asked: PredictionRequest
) -> Prediction | None:
    """Return the prediction, with gaps in standard deviations; None if too many tests never end."""
    (other_gaps, best, noise, end_at, stride), batch = asked, procedure.batch
    shares = shares_of(procedure.tilt, procedure.share)
    cap = math.inf if end_at is None else end_at
    follow = two_arms if len(other_gaps) == 1 else many_arms
    if procedure.horizon is not None:
        spread = _spread(design, other_gaps, best, noise)
        effect, reach = procedure.effect / spread, procedure.horizon.reach
        # The horizon may be computed from a larger variance than the outcomes have.
        wider = assumed_variance(procedure, spread) / spread**2
        end = (reach / effect) ** 2 * wider
        limits = PassageLimits(end, cap, effect, procedure.horizon.futility)
        line = _flat(procedure, end * wider)
        return follow(BlockTest(_over(other_gaps, spread), line, shares, batch, limits, stride))
    limits = PassageLimits(units=cap)
    if procedure.boundary(1.0) is not None:
        gaps = _over(other_gaps, design.outcome.sigma)
        return follow(BlockTest(gaps, line_of(procedure), shares, batch, limits, stride))
    outcomes = _outcomes_of(design, other_gaps, best, noise)
    expected, largest = None, float(shares[-1])
    typical = largest
    # All blocks are assumed to have the typical size; in an even split they have it.
    for longer in STRIDES if largest > 1.0 else STRIDES[-1:]:
        if math.isinf(cap) and not bets_win(outcomes, typical, procedure.centre):
            return None
        walk = walk_of_bets(procedure.threshold, outcomes, typical, procedure.centre)
        gaps, steps = _over(other_gaps, design.outcome.scale * walk.deviation), longer * stride
        test = BlockTest(gaps, walk.boundary, shares, batch, limits, steps, walk.scale)
        expected = follow(test)
        if expected is None:
            return None
        typical = min(largest, max(1.0, expected.units[0] / max(expected.units[1:])))
    return expected


def _over(gaps: tuple[float, ...], spread: float) -> tuple[float, ...]:
    return tuple(gap / spread for gap in gaps)


def _flat(procedure: BlockProcedure, end: float) -> Flat:
    """Return the flat boundary of a test with a horizon; for betting tests it is approximate."""
    return Flat(normal_constant(procedure.design.calibration.delta) * math.sqrt(end))


def assumed_variance(procedure: BlockProcedure, spread: float) -> float:
    """Return the variance from which the horizon is computed, given the spread of the outcomes.

    It is at least the smallest variance that bets can follow: outcomes that vary little within
    their limits have a later horizon. If no variance was planned, the test starts with the largest
    possible variance, which counts for less as outcomes come in.
    """
    outcome, params, horizon = procedure.outcome, procedure.params, procedure.horizon
    if horizon is None or not outcome.limited:
        return spread**2
    real, leaders = (spread / outcome.scale) ** 2, float(procedure.share(math.inf, procedure.tilt))
    if horizon.variance is not None:
        return max(real, params.least) * outcome.scale**2
    units_per_clock = (1.0 + leaders) * (leaders + procedure.arms - 1) / leaders
    assumed = max(real, params.least)
    for _ in range(ROUNDS):
        units = horizon_of(assumed, params.effect, params.reach) * units_per_clock
        shown = (real * units + params.prior) / (units + params.prior_units)
        assumed = max(shown, params.least)
    return assumed * outcome.scale**2


def _spread(
    design: Design, other_gaps: tuple[float, ...], best: float | None, noise: float | None
) -> float:
    """Return the spread of an outcome: that of the two best arms if known, else `noise`."""
    outcome = design.outcome
    if outcome.known_spread:
        return outcome.sigma
    if best is not None:
        means = best, best - min(other_gaps)
        for mean in means:
            outcome.check_mean(mean)
        known = [variance for mean in means if (variance := outcome.variance(mean)) is not None]
        if len(known) == len(means):
            return math.sqrt(sum(known) / len(known))
    if noise is None:
        missing = "best, the mean of the best arm" if outcome.binary else "noise"
        raise NoPredictionError(
            "best" if outcome.binary else "noise",
            f"{design.rule.label} is predicted for {outcome!r} with {missing}: give it, "
            "or simulate",
        )
    return noise


def _outcomes_of(
    design: Design, other_gaps: tuple[float, ...], best: float | None, noise: float | None
) -> Outcomes:
    gap, scale = min(other_gaps), design.outcome.scale
    if design.outcome.binary and best is not None:
        design.outcome.check_mean(best - max(other_gaps))
        return coins(best, best - gap)
    return bell(gap / scale, _spread(design, other_gaps, best, noise) / scale)
