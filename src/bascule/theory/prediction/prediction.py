"""Classes for the input and the result of a prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True, slots=True)
class Prediction:
    """A prediction without guarantee: the expected units of each arm, the best arm first.

    `gaps` has the distances of the other arms' means from the best mean.
    `course` has pairs of a number of units and the probability of a decision by then; it is empty
    if only the mean path is known. `open_until` is the mean number of units at which tests without
    a decision end, infinite if there are none. `wrong` is the probability of a wrong decision, or
    nan if it is unknown.
    """

    units: tuple[float, ...]
    gaps: tuple[float, ...]
    course: tuple[tuple[float, float], ...] = ()
    open_until: float = math.inf
    wrong: float = math.nan

    @property
    def decision_time(self) -> float:
        """The expected units of all arms together."""
        return sum(self.units)

    @property
    def regret(self) -> float:
        """The expected regret: the sum of the gap of each arm times its units."""
        return sum(gap * count for gap, count in zip(self.gaps, self.units[1:], strict=True))

    def decided_by(self, units: float) -> float:
        """Return the probability of a decision by a number of units; nan if unknown."""
        if not self.course:
            return math.nan
        times, decided = zip(*self.course, strict=True)
        return float(np.interp(units, times, decided, left=0.0))

    def time_until(self, share: float) -> float:
        """Return the number of units by which this share of tests is decided; nan if unknown.

        It is infinite if some tests end undecided and fewer than this share are ever decided.
        """
        if not self.course:
            return math.nan
        times, decided = zip(*self.course, strict=True)
        return float(np.interp(share, decided, times, right=math.inf if self.limited else None))

    @property
    def limited(self) -> bool:
        """Whether some tests end without a decision."""
        return self.open_until < math.inf


class PredictionRequest(NamedTuple):
    """Input of a prediction: the gaps of the arms below the best, and facts about their outcomes.

    `best` is the mean of the best arm, `noise` the actual spread of the outcomes, `cap` the number
    of units at which a test ends, and `stride` the length of steps as a multiple of the usual one.
    """

    gaps: tuple[float, ...]
    best: float | None = None
    noise: float | None = None
    cap: float | None = None
    stride: float = 1.0
