"""What to expect of tests in blocks, with their noise or on their mean path."""

from __future__ import annotations

import math
from dataclasses import replace

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
    course_of_bets,
    walk_of_bets,
)
from bascule.theory.prediction.course import Course, course_in_blocks, pace_of_blocks, shares_of
from bascule.theory.prediction.many_arms import MOST_ARMS, blocks
from bascule.theory.prediction.passage import Flat, Line, first_passage
from bascule.theory.prediction.paths.noisy_paths import Limits, Paths, tabulated
from bascule.theory.prediction.paths.straight_path import block_units
from bascule.theory.prediction.prediction import (
    Prediction,
    Question,
    noise_of_two,
    of_course,
    of_paths,
    of_units,
)

COARSE = 2.0
"""How many times as long as usual steps are at the least with three and more arms."""

ROUNDS = 20
"""Steps after which the assumed variance has settled."""


def predict_blocks(design: Design, procedure: BlockProcedure, asked: Question) -> Prediction:
    """Return what to expect of a test in blocks, its noise included as far as it is followed."""
    if len(asked.gaps) > 1:
        asked = asked._replace(stride=max(COARSE, asked.stride))
    if asked.cap is not None or procedure.has_horizon:
        return _limited(design, procedure, asked)
    if len(asked.gaps) == 1:
        return _two_arms(design, procedure, asked)
    if len(asked.gaps) >= MOST_ARMS:
        return mean_path_of_blocks(design, procedure, asked.gaps)
    paths = _paths(design, procedure, asked)
    if paths is not None:
        # Only paths that found the best arm are there, and how many did not is not known well.
        return replace(of_paths(paths, asked.gaps), wrong=math.nan)
    if procedure.boundary(1.0) is None:
        return Prediction(math.inf, math.inf, (math.inf,) * len(design.arms))
    return mean_path_of_blocks(design, procedure, asked.gaps)


def mean_path_of_blocks(
    design: Design, procedure: BlockProcedure, gaps: tuple[float, ...]
) -> Prediction:
    """Return what to expect of a test in blocks without its noise."""
    if procedure.has_horizon:
        raise NoPredictionError(
            "rule", f"{procedure.label} ends at a horizon, and has no mean path: use predict"
        )
    if procedure.boundary(1.0) is None:
        raise NoPredictionError(
            "outcome",
            f"{design.rule.label} has no prediction for more than two arms with "
            f"{design.outcome!r}, whose spread is not known: simulate it",
        )
    best, rivals = block_units(procedure, gaps)
    return of_units((best, *rivals), gaps)


def _two_arms(design: Design, procedure: BlockProcedure, asked: Question) -> Prediction:
    (gap,) = asked.gaps
    noise = noise_of_two(design.outcome, gap, asked.best, asked.noise)
    if procedure.boundary(1.0) is not None:
        return of_course(course_of_blocks(design, procedure, gap, asked.stride), gap)
    outcomes = _outcomes_of(design, gap, asked.best, noise)
    goal, centre = procedure.threshold, procedure.centre
    return of_course(course_of_bets(procedure, goal, outcomes, centre, asked.stride), gap)


def course_of_blocks(
    design: Design, procedure: BlockProcedure, gap: float, stride: float = 1.0
) -> Course | None:
    """Return the course of a test of two arms in blocks with a known spread; None if it never ends.

    A pair gains a clock of h for (1 + r) h units of the leader and (1 + 1/r) h of the other, with r
    from the lead before the block. Steps are `stride` times as long as usual.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.05, sides=1)
    >>> course = course_of_blocks(design, design.procedure, 0.1)
    >>> round(0.1 * course.worse), round(course.better + course.worse, -2)
    (129, 4100.0)
    """
    gap /= design.outcome.sigma
    shares = shares_of(procedure.tilt, procedure.share)
    most = float(shares[-1])
    block = procedure.batch * most / (1 + most)
    pace = pace_of_blocks(gap, block, shares, lambda leader: (1 + leader, 1 + 1 / leader))
    passage = first_passage(gap, line_of(procedure), procedure.batch / 2, block, pace, stride)
    return course_in_blocks(passage, most, procedure.batch)


def line_of(procedure: BlockProcedure) -> Line:
    """Return the boundary of blocks with a known spread."""
    return lambda clocks: np.array([procedure.boundary(clock) for clock in clocks.tolist()])


def _limited(design: Design, procedure: BlockProcedure, asked: Question) -> Prediction:
    """A test in blocks that ends at a horizon or a cap."""
    if len(asked.gaps) >= MOST_ARMS:
        raise NoPredictionError(
            "rule",
            f"{procedure.label} with a horizon or a cap is predicted for at most {MOST_ARMS} arms "
            f"(got {len(asked.gaps) + 1}): simulate it",
        )
    paths = _paths(design, procedure, asked)
    if paths is None:
        raise NoPredictionError(
            "rule", f"{procedure.label} has no prediction at gaps of {asked.gaps}: simulate it"
        )
    return of_paths(paths, asked.gaps)


def _paths(design: Design, procedure: BlockProcedure, asked: Question) -> Paths | None:
    others, best, noise, end_at, stride = asked
    cap = math.inf if end_at is None else end_at
    shares = shares_of(procedure.tilt, procedure.share)
    if procedure.horizon is not None:
        spread = _spread(design, others, best, noise)
        effect, reach = procedure.effect / spread, procedure.horizon.reach
        # The horizon may go by a larger variance than the outcomes have.
        wider = assumed_variance(procedure, spread) / spread**2
        end = (reach / effect) ** 2 * wider
        line: Line = _flat(procedure, end * wider)
        limits = Limits(end, cap, effect, procedure.horizon.futility)
        return blocks(_over(others, spread), line, shares, procedure.batch, 1.0, limits, stride)
    limits = Limits(units=cap)
    if procedure.boundary(1.0) is not None:
        line = tabulated(line_of(procedure))
        gaps = _over(others, design.outcome.sigma)
        return blocks(gaps, line, shares, procedure.batch, 1.0, limits, stride)
    outcomes = _outcomes_of(design, min(others), best, noise)
    paths, typical = None, float(shares[-1])
    # A block of the usual size stands for all of them, as for two arms.
    for longer in STRIDES:
        if math.isinf(cap) and not bets_win(outcomes, typical, procedure.centre):
            return None
        walk = walk_of_bets(procedure.threshold, outcomes, typical, procedure.centre)
        gaps = _over(others, design.outcome.scale * walk.deviation)
        line = tabulated(walk.boundary)
        steps = longer * stride
        paths = blocks(gaps, line, shares, procedure.batch, walk.scale, limits, steps)
        if paths is None:
            return None
        units = paths.units.mean(axis=0)
        typical = min(float(shares[-1]), max(1.0, float(units[0] / units[1:].max())))
    return paths


def _over(gaps: tuple[float, ...], spread: float) -> tuple[float, ...]:
    return tuple(gap / spread for gap in gaps)


def _flat(procedure: BlockProcedure, end: float) -> Flat:
    """The boundary of a test with a horizon; bets that follow it reach it nearly as soon."""
    return Flat(normal_constant(procedure.design.calibration.delta) * math.sqrt(end))


def assumed_variance(procedure: BlockProcedure, spread: float) -> float:
    """Return the variance that the horizon goes by, for outcomes with limits and this spread.

    It is at least what bets can follow: outcomes that vary little for their limits have a later
    horizon. Where no variance was planned it starts with the largest that there can be, which
    counts for less as the test goes on.
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
    design: Design, others: tuple[float, ...], best: float | None, noise: float | None
) -> float:
    """The spread of one outcome, as far as it is known: that of the best arm and its rival."""
    outcome = design.outcome
    if outcome.known_spread:
        return outcome.sigma
    if best is not None:
        known = [outcome.variance(best), outcome.variance(best - min(others))]
        stated = [variance for variance in known if variance is not None]
        if len(stated) == len(known):
            return math.sqrt(sum(stated) / len(stated))
    if noise is None:
        raise NoPredictionError(
            "noise", f"{design.rule.label} is predicted with the spread of outcomes: give noise"
        )
    return noise


def _outcomes_of(design: Design, gap: float, best: float | None, noise: float | None) -> Outcomes:
    outcome = design.outcome
    if outcome.binary and best is not None:
        return coins(best, best - gap)
    if noise is None:
        missing = "best, the mean of the best arm" if outcome.binary else "noise"
        raise NoPredictionError(
            "best" if outcome.binary else "noise",
            f"{design.rule.label} is predicted for {outcome!r} with {missing}: give it, "
            "or simulate",
        )
    return bell(gap / outcome.scale, noise / outcome.scale)
