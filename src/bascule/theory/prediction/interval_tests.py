"""What to expect of tests that compare intervals of arms: with the noise of two, or without any."""

from __future__ import annotations

from bascule.core.design import Design
from bascule.core.errors import NoPredictionError
from bascule.core.procedures.intervals.procedure import IntervalProcedure
from bascule.core.procedures.recurrent.procedure import RecurrentProcedure
from bascule.theory.prediction.paths.straight_path import interval_units
from bascule.theory.prediction.prediction import (
    Prediction,
    Question,
    noise_of_two,
    of_course,
    of_units,
)
from bascule.theory.prediction.two_arms import course_of_intervals


def predict_intervals(design: Design, procedure: IntervalProcedure, asked: Question) -> Prediction:
    """Return what to expect of two arms whose outcomes come once, noise included."""
    _refuse_seen_spread(procedure)
    if asked.cap is not None:
        raise NoPredictionError(
            "rule",
            f"{procedure.label} has no prediction with a cap "
            f"(got {asked.cap:g}): leave cap out, or simulate it",
        )
    if len(asked.gaps) > 1:
        raise NoPredictionError(
            "rule",
            f"{procedure.label} has no prediction for more than two arms "
            f"(got {len(asked.gaps) + 1}): simulate it, or use theory.mean_path",
        )
    (gap,) = asked.gaps
    noise = noise_of_two(design.outcome, gap, asked.best, asked.noise)
    return of_course(course_of_intervals(design, procedure, gap, noise or None, asked.stride), gap)


def mean_path_of_intervals(
    design: Design, procedure: IntervalProcedure, gaps: tuple[float, ...]
) -> Prediction:
    """Return what to expect where outcomes come once, without their noise."""
    _refuse_seen_spread(procedure)
    best, rivals = interval_units(design, procedure, gaps)
    return of_units((best, *rivals), gaps)


def mean_path_of_recurrent(
    design: Design, procedure: RecurrentProcedure, gaps: tuple[float, ...]
) -> Prediction:
    """Return about how many units it takes whose outcomes recur, within a factor of three.

    Units are taken to have given as few outcomes as they can, a planned look to be the first, and
    evidence of pairs to be no sooner enough than intervals are.
    """
    best, rivals = interval_units(design, procedure, gaps)
    return of_units((best, *rivals), gaps)


def _refuse_seen_spread(procedure: IntervalProcedure) -> None:
    if procedure.follows_spread:
        raise NoPredictionError(
            "radius",
            f"{procedure.label} follows the spread that it sees, and has no prediction: "
            "simulate it",
        )
