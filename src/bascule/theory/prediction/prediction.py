"""What is asked of a prediction, and what it says."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bascule.core.outcomes import Outcome
from bascule.theory.prediction.course import Course
from bascule.theory.prediction.paths.noisy_paths import Paths


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


class Question(NamedTuple):
    """The gaps of the arms below the best, and what else is known of their outcomes.

    `best` is the mean of the best arm, `noise` the spread that the outcomes really have, and `cap`
    the number of units at which a test ends.
    """

    gaps: tuple[float, ...]
    best: float | None = None
    noise: float | None = None
    cap: float | None = None
    stride: float = 1.0


def of_units(units: tuple[float, ...], gaps: tuple[float, ...]) -> Prediction:
    """Return the prediction with these expected units of all arms, the best one first."""
    regret = sum(gap * count for gap, count in zip(gaps, units[1:], strict=True))
    return Prediction(sum(units), regret, units)


def of_course(course: Course | None, gap: float) -> Prediction:
    """Return the prediction of a course of a test of two arms; a course of None never ends."""
    if course is None:
        return Prediction(math.inf, math.inf, (math.inf, math.inf))
    decided = tuple(zip(course.times.tolist(), course.decided.tolist(), strict=True))
    units = (course.better, course.worse)
    return Prediction(sum(units), gap * course.worse, units, decided, wrong=course.wrong)


def of_paths(paths: Paths, gaps: tuple[float, ...]) -> Prediction:
    """Return the prediction from the paths of a test of several arms."""
    units = tuple(float(count) for count in paths.units.mean(axis=0))
    prediction = of_units(units, gaps)
    return replace(prediction, course=paths.course, open_until=paths.open_until, wrong=paths.wrong)


def noise_of_two(
    outcome: Outcome, gap: float, best: float | None, given: float | None
) -> float | None:
    """Return the spread of outcomes of two arms, by their means if it follows, or as given."""
    if not outcome.limited or best is None:
        return given
    outcome.check_mean(best)
    outcome.check_mean(best - gap)
    of_best, of_rival = outcome.variance(best), outcome.variance(best - gap)
    if of_best is None or of_rival is None:
        return given
    return math.sqrt((of_best + of_rival) / 2)
