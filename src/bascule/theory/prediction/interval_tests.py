"""What to expect of tests that compare intervals of arms, whether outcomes come once or recur."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from bascule.core.design import Design
from bascule.core.errors import NoPredictionError
from bascule.core.procedures.base import Procedure
from bascule.core.procedures.intervals.procedure import IntervalProcedure
from bascule.core.procedures.recurrent.procedure import RecurrentProcedure
from bascule.core.progress import interval_procedure
from bascule.theory.prediction.many_arms import MOST_ARMS, levels, rounds
from bascule.theory.prediction.paths.noisy_paths import Paths
from bascule.theory.prediction.paths.straight_path import interval_units, radius_at
from bascule.theory.prediction.paths.unit_path import settled_path, twin
from bascule.theory.prediction.prediction import (
    Prediction,
    Question,
    noise_of_two,
    of_course,
    of_paths,
    of_units,
)
from bascule.theory.prediction.two_arms import course_of_intervals


def predict_intervals(design: Design, procedure: IntervalProcedure, asked: Question) -> Prediction:
    """Return what to expect where outcomes come once, noise included as far as it is followed."""
    _refuse_seen_spread(procedure)
    refuse_cap(procedure, asked)
    if len(asked.gaps) == 1:
        (gap,) = asked.gaps
        noise = noise_of_two(design.outcome, gap, asked.best, asked.noise)
        return of_course(
            course_of_intervals(design, procedure, gap, noise or None, asked.stride), gap
        )
    paths = None
    if len(asked.gaps) < MOST_ARMS and not procedure.pairwise:
        paths = _paths(design, procedure, asked.gaps)
    if paths is None:
        return mean_path_of_intervals(design, procedure, asked.gaps)
    # Only paths that found the best arm are there, and how many did not is not known well.
    return replace(of_paths(paths, asked.gaps), wrong=math.nan)


def mean_path_of_intervals(
    design: Design, procedure: IntervalProcedure, gaps: tuple[float, ...]
) -> Prediction:
    """Return what to expect where outcomes come once, without their noise."""
    _refuse_seen_spread(procedure)
    best, rivals = interval_units(design, procedure, gaps)
    return of_units((best, *rivals), gaps)


def predict_recurrent(design: Design, procedure: RecurrentProcedure, asked: Question) -> Prediction:
    """Return what to expect of units whose outcomes recur."""
    refuse_cap(procedure, asked)
    # The units of the twin are clocks, of which only the gaps are known.
    clocks = Question(asked.gaps)
    return _of_clocks(
        design,
        procedure,
        asked.gaps,
        lambda once: predict_intervals(once, interval_procedure(once), clocks),
    )


def mean_path_of_recurrent(
    design: Design, procedure: RecurrentProcedure, gaps: tuple[float, ...]
) -> Prediction:
    """Return what to expect of units whose outcomes recur, without noise."""
    return _of_clocks(
        design,
        procedure,
        gaps,
        lambda once: mean_path_of_intervals(once, interval_procedure(once), gaps),
    )


def refuse_cap(procedure: Procedure, asked: Question) -> None:
    """Raise if a test is to end at a cap that its prediction does not follow."""
    if asked.cap is not None:
        raise NoPredictionError(
            "rule",
            f"{procedure.label} has no prediction with a cap "
            f"(got {asked.cap:g}): leave cap out, or simulate it",
        )


def _refuse_seen_spread(procedure: IntervalProcedure) -> None:
    if procedure.follows_spread:
        raise NoPredictionError(
            "radius",
            f"{procedure.label} follows the spread that it sees, and has no prediction: "
            "simulate it",
        )


def _of_clocks(
    design: Design,
    procedure: RecurrentProcedure,
    gaps: tuple[float, ...],
    once: Callable[[Design], Prediction],
) -> Prediction:
    """Make the clocks that `once` predicts for outcomes that come once into units.

    Where radii depend on the number of units it is the mean path.
    """
    if procedure.clock_shape is None:
        best, rivals = interval_units(design, procedure, gaps)
        return of_units((best, *rivals), gaps)
    return of_units(settled_path(design, lambda look: once(twin(design, look)).units), gaps)


def _paths(design: Design, procedure: IntervalProcedure, others: tuple[float, ...]) -> Paths | None:
    sigma = design.outcome.sigma
    gaps = tuple(gap / sigma for gap in others)

    def radius(units: float) -> float:
        return radius_at(design, units) / sigma

    if math.isinf(procedure.alpha):
        return rounds(gaps, radius, procedure.eliminates)
    path = mean_path_of_intervals(design, procedure, others)
    return levels(gaps, radius, procedure.alpha, path.units[0])
