"""What to expect, far sharper than what is proven: a test with its noise, or on its mean path.

Two arms are predicted by `two_arms` and `betting_course`, more of them by `many_arms`. Where these
do not reach, a test follows the mean path of `straight_path`.
docs/explanation/prediction.md derives this; the simulator says how good it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import NoPredictionError
from bascule.core.evidence.horizon import normal_constant
from bascule.core.outcomes import Gaussian
from bascule.core.procedures.base import Procedure
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.intervals.procedure import ArmProcedure, IntervalProcedure
from bascule.core.procedures.recurrent.procedure import RecurrentProcedure
from bascule.core.procedures.static.procedure import StaticProcedure
from bascule.core.progress import arm_procedure
from bascule.theory.prediction.betting_course import (
    ROUNDS,
    Outcomes,
    bell,
    bets_win,
    coins,
    course_of_bets,
    walk_of_bets,
)
from bascule.theory.prediction.course import shares_of
from bascule.theory.prediction.many_arms import (
    MOST_ARMS,
    Limits,
    Line,
    Paths,
    blocks,
    levels,
    rounds,
    tabulated,
)
from bascule.theory.prediction.straight_path import block_units, interval_units, radius_at
from bascule.theory.prediction.two_arms import course_of
from bascule.theory.prediction.unit_path import settled_path, twin
from bascule.theory.proven.bounds import checked_gaps
from bascule.theory.static import expected_stages


@dataclass(frozen=True, slots=True)
class Prediction:
    """Expected units (best arm first), decision time and regret. Not a guarantee.

    `course` has pairs of a number of units and the probability of a decision by then; it is empty
    where only the mean path is known. `open_until` are the units at which a test that is still
    undecided ends, and `wrong` the probability of a wrong decision, where it is known.
    """

    decision_time: float
    regret: float
    units: tuple[float, ...]
    course: tuple[tuple[float, float], ...] = ()
    open_until: float = math.inf
    wrong: float = math.nan

    def decided_by(self, units: float) -> float:
        """The probability of a decision by a number of units; nan where no course is known."""
        if not self.course:
            return math.nan
        times, decided = zip(*self.course, strict=True)
        return float(np.interp(units, times, decided, left=0.0))

    def time_until(self, share: float) -> float:
        """The units by which this share of tests is decided; nan where no course is known."""
        if not self.course:
            return math.nan
        times, decided = zip(*self.course, strict=True)
        return float(np.interp(share, decided, times, right=math.inf if self.limited else None))

    @property
    def limited(self) -> bool:
        """Whether some tests end without a decision."""
        return self.open_until < math.inf


def predict(
    design: Design,
    gaps: float | Sequence[float],
    best: float | None = None,
    noise: float | None = None,
    cap: float | None = None,
) -> Prediction:
    """The expected decision time and regret of a design at given gaps.

    0/1 outcomes also need the mean of the `best` arm, outcomes within limits the `noise`: the
    spread that they really have. The noise of a test is taken into account for up to 12 arms. With
    a `cap`, which is for tests in blocks, a test ends at that number of units, and gaps may be 0.

    >>> import bascule as bs, math
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=math.exp(-20))
    >>> expected = predict(design, 1.0)
    >>> round(expected.regret, 1), round(expected.decision_time)
    (86.2, 855)
    """
    design = with_known_spread(design, noise)
    others = checked_gaps(design, gaps, zero=cap is not None)
    if best is not None:
        design.outcome.check_mean(best)
        best = design.oriented(best)
    design = design.increasing
    procedure = design.procedure
    _refuse_unpredictable(procedure)
    if isinstance(procedure, StaticProcedure):
        return _of_static(design, procedure, others)
    if isinstance(procedure, RecurrentProcedure):
        return _of_units(design, procedure, others, predict)
    if cap is not None or procedure.has_horizon:
        return _limited(design, others, best, noise, math.inf if cap is None else cap)
    if len(others) == 1:
        return _two_arms(design, others[0], best, noise)
    return _many_arms(design, others, best, noise)


def mean_path(design: Design, gaps: float | Sequence[float]) -> Prediction:
    """Return what to expect on the path on which noise averages out: coarser, for any arms.

    >>> import bascule as bs, math
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=math.exp(-20))
    >>> expected = mean_path(design, 1.0)
    >>> round(expected.regret, 1), round(expected.decision_time)
    (85.6, 882)
    """
    design = with_known_spread(design)
    others = checked_gaps(design, gaps)
    design = design.increasing
    procedure = design.procedure
    _refuse_unpredictable(procedure)
    if isinstance(procedure, StaticProcedure):
        return _of_static(design, procedure, others)
    if isinstance(procedure, RecurrentProcedure):
        return _of_units(design, procedure, others, mean_path)
    if isinstance(procedure, BlockProcedure):
        if procedure.has_horizon:
            raise NoPredictionError(
                "rule", f"{procedure.label} ends at a horizon, and has no mean path: use predict"
            )
        if procedure.steps.evidence is None:
            raise NoPredictionError(
                "outcome",
                f"{design.rule.label} has no prediction for more than two arms with "
                f"{design.outcome!r}, whose spread is not known: simulate it",
            )
        best, rivals = block_units(procedure, others)
    else:
        best, rivals = interval_units(design, arm_procedure(design), others)
    return _summed((best, *rivals), others)


def with_known_spread(design: Design, noise: float | None = None) -> Design:
    """Return the design that knows the spread which this one estimates; any other as it is.

    With covariates, `noise` is the spread of the outcomes adjusted by them.

    >>> import bascule as bs
    >>> with_known_spread(bs.Design(["a", "b"], bs.Numeric(2.0), bs.Tilt(3))).outcome
    Gaussian(sigma=2.0)
    """
    if not design.outcome.estimated:
        if design.covariates is not None:
            raise NoPredictionError(
                "covariates", f"{design.rule.label} with covariates has no prediction: simulate it"
            )
        return design
    variance = design.outcome.variance(0.0)
    spread = math.sqrt(variance) if noise is None and variance is not None else noise
    if not spread:
        raise NoPredictionError(
            "noise",
            f"{design.outcome!r} does not say how much outcomes differ: give noise, or write "
            "Numeric(spread)",
        )
    return replace(design, outcome=Gaussian(spread), covariates=None)


def _of_static(design: Design, procedure: StaticProcedure, others: tuple[float, ...]) -> Prediction:
    # Nobody says which arm is best: on average it has as many units as any other.
    each = sum(procedure.sizes) / len(design.arms)
    stages = expected_stages(design, min(others))
    return Prediction(stages, each * sum(others), tuple(each for _ in design.arms))


def _summed(units: tuple[float, ...], others: tuple[float, ...]) -> Prediction:
    regret = sum(gap * count for gap, count in zip(others, units[1:], strict=True))
    return Prediction(sum(units), regret, units)


def _of_units(
    design: Design,
    procedure: RecurrentProcedure,
    others: tuple[float, ...],
    once: Callable[[Design, tuple[float, ...]], Prediction],
) -> Prediction:
    """Units whose outcomes keep coming: with radii that depend on their number, the mean path;

    otherwise the clocks that `once` predicts for outcomes that come once, made into units.
    """
    if procedure.clock_shape is None:
        best, rivals = interval_units(design, procedure, others)
        return _summed((best, *rivals), others)
    clocks = settled_path(design, lambda look: once(twin(design, look), others).units)
    return _summed(clocks, others)


def _refuse_unpredictable(procedure: Procedure) -> None:
    if not isinstance(procedure, BlockProcedure | ArmProcedure | StaticProcedure):
        raise NoPredictionError("rule", f"{procedure.label} has no prediction: simulate it")
    if isinstance(procedure, IntervalProcedure) and procedure.follows_spread:
        raise NoPredictionError(
            "radius",
            f"{procedure.label} follows the spread that it sees, and has no prediction: "
            "simulate it",
        )


def _two_arms(design: Design, gap: float, best: float | None, noise: float | None) -> Prediction:
    outcome, procedure = design.outcome, design.procedure
    if outcome.limited and best is not None:
        outcome.check_mean(best)
        outcome.check_mean(best - gap)
        variances = outcome.variance(best), outcome.variance(best - gap)
        if variances[0] is not None and variances[1] is not None:
            noise = math.sqrt((variances[0] + variances[1]) / 2)
    if isinstance(procedure, BlockProcedure) and procedure.steps.boundary is None:
        outcomes = _outcomes_of(design, gap, best, noise)
        course = course_of_bets(procedure, procedure.threshold, outcomes, procedure.centre)
    else:
        course = course_of(design, gap, noise or None)
    if course is None:
        return Prediction(math.inf, math.inf, (math.inf, math.inf))
    seen = tuple(zip(course.times.tolist(), course.decided.tolist(), strict=True))
    units = (course.better, course.worse)
    return Prediction(sum(units), gap * course.worse, units, seen, wrong=course.wrong)


def _limited(
    design: Design, others: tuple[float, ...], best: float | None, noise: float | None, cap: float
) -> Prediction:
    """A test in blocks that ends at a horizon or a cap."""
    procedure = design.procedure
    if not isinstance(procedure, BlockProcedure) or len(others) >= MOST_ARMS:
        raise NoPredictionError(
            "rule", f"{procedure.label} has no prediction with an end for these arms: simulate it"
        )
    paths = _paths_in_blocks(design, procedure, others, best, noise, cap)
    if paths is None:
        raise NoPredictionError("rule", f"{procedure.label} has no prediction here: simulate it")
    return _of_paths(paths, others)


def _of_paths(paths: Paths, others: tuple[float, ...]) -> Prediction:
    units = tuple(float(count) for count in paths.units.mean(axis=0))
    summed = _summed(units, others)
    return replace(summed, course=paths.course, open_until=paths.open_until, wrong=paths.wrong)


def _many_arms(
    design: Design, others: tuple[float, ...], best: float | None, noise: float | None
) -> Prediction:
    """Several arms with their noise, as far as they are followed."""
    paths, procedure = None, design.procedure
    bets = isinstance(procedure, BlockProcedure) and procedure.steps.boundary is None
    if len(others) < MOST_ARMS:
        if isinstance(procedure, BlockProcedure):
            paths = _paths_in_blocks(design, procedure, others, best, noise)
        elif not arm_procedure(design).pairwise:
            paths = _paths_of_intervals(design, others)
    if paths is None:
        infinite = Prediction(math.inf, math.inf, (math.inf,) * len(design.arms))
        return infinite if bets and len(others) < MOST_ARMS else mean_path(design, others)
    # Only paths that found the best arm are there, and how many did not is not known well.
    return replace(_of_paths(paths, others), wrong=math.nan)


def _paths_in_blocks(
    design: Design,
    procedure: BlockProcedure,
    others: tuple[float, ...],
    best: float | None,
    noise: float | None,
    cap: float = math.inf,
) -> Paths | None:
    shares = shares_of(procedure.tilt, procedure.steps.share)
    if procedure.horizon is not None:
        spread = _spread(design, others, best, noise)
        effect, reach = procedure.effect / spread, procedure.horizon.reach
        end = (reach / effect) ** 2
        line = _flat(procedure, end)
        limits = Limits(end, cap, effect, procedure.horizon.futility)
        return blocks(_over(others, spread), line, shares, procedure.batch, 1.0, limits)
    limits, line_at = Limits(units=cap), procedure.steps.boundary
    if line_at is not None:
        asked = (procedure.threshold, procedure.shape)
        line = tabulated(lambda clock: line_at(clock, *asked))
        gaps = _over(others, design.outcome.sigma)
        return blocks(gaps, line, shares, procedure.batch, 1.0, limits)
    outcomes = _outcomes_of(design, min(others), best, noise)
    paths, typical = None, float(shares[-1])
    # A block of the usual size stands for all of them, as for two arms.
    for _ in range(ROUNDS):
        if math.isinf(cap) and not bets_win(outcomes, typical, procedure.centre):
            return None
        walk = walk_of_bets(procedure.threshold, outcomes, typical, procedure.centre)
        gaps = _over(others, design.outcome.scale * walk.deviation)
        line = tabulated(walk.boundary)
        paths = blocks(gaps, line, shares, procedure.batch, walk.scale, limits)
        if paths is None:
            return None
        units = paths.units.mean(axis=0)
        typical = min(float(shares[-1]), max(1.0, float(units[0] / units[1:].max())))
    return paths


def _over(gaps: tuple[float, ...], spread: float) -> tuple[float, ...]:
    return tuple(gap / spread for gap in gaps)


def _flat(procedure: BlockProcedure, end: float) -> Line:
    """The boundary of a test with a horizon; bets that follow it reach it nearly as soon."""
    line = procedure.steps.boundary
    height = normal_constant(procedure.design.calibration.delta) * math.sqrt(end)
    if line is not None:
        height = line(end, procedure.threshold, end)
    return lambda clocks: np.where(clocks > 0.0, height, math.inf)


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


def _paths_of_intervals(design: Design, others: tuple[float, ...]) -> Paths | None:
    procedure, sigma = arm_procedure(design), design.outcome.sigma
    gaps = tuple(gap / sigma for gap in others)

    def radius(units: float) -> float:
        return radius_at(design, units) / sigma

    if math.isinf(procedure.alpha):
        return rounds(gaps, radius, procedure.eliminates)
    return levels(gaps, radius, procedure.alpha, mean_path(design, others).units[0])


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
