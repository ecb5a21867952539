"""ETC': UCB_alpha as alpha tends to infinity: even allocation, one interval an arm."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from bascule.core.outcomes import Outcome, Recurrent
from bascule.core.procedures.interval_state import (
    NOBODY,
    FloatArray,
    Steps,
    Within,
    parted,
    round_complete,
)
from bascule.core.procedures.margin import rounds_within
from bascule.core.rules import units
from bascule.core.rules.base import Shape, calibrate_intervals
from bascule.core.rules.calibration import Calibration
from bascule.core.rules.units import UnitShape


def score(mean: float, radius: float, units: float, alpha: float) -> float:
    """The fewer units an arm has, the sooner it gets one."""
    return -units


def decide(
    state: FloatArray,
    scores: int,
    lowers: int,
    uppers: int,
    arms: int,
    sigma: float,
    threshold: float,
) -> int:
    """The arm whose interval has parted from all others, checked after each full round."""
    complete = round_complete(state, scores, arms)
    return parted(state, lowers, uppers, arms) if complete else NOBODY


@dataclass(frozen=True, slots=True)
class ETCPrime:
    """ETC', the even-split end of the UCB_alpha family.

    >>> ETCPrime().label
    "ETC'"
    """

    kind: Literal["etc-prime"] = field(default="etc-prime", kw_only=True, repr=False)

    @property
    def label(self) -> str:
        """The paper's name."""
        return "ETC'"

    @property
    def alpha(self) -> float:
        """Where ETC' stands in the UCB_alpha family."""
        return math.inf

    def shape(self, outcome: Outcome, arms: int) -> Shape:
        """The same intervals as UCB_alpha."""
        return Shape(factor=2.0, count=1.5 * arms, sequences=arms)

    def unit_shape(self, arms: int) -> UnitShape:
        """The intervals of UCB-MM; the split is even whatever the outcomes, so they are proven."""
        return units.algorithm_2(arms, "proven")

    def steps(self) -> Steps:
        """Even allocation and the intervals of UCB_alpha."""
        return Steps(score, decide)

    def within(self) -> Within:
        """Differences are judged by what decides between arms."""
        return rounds_within

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        """By peeling, for the intervals of `shape`."""
        if isinstance(outcome, Recurrent):
            return units.calibrate_units(self.unit_shape(arms), error, delta)
        return calibrate_intervals(self.shape(outcome, arms), error, delta)

    def check_outcome(self, outcome: Outcome) -> None:
        """Its intervals hold for every outcome with a sigma; for units they need noise."""
        if isinstance(outcome, Recurrent):
            units.refuse_without_noise(outcome, 'UCB(math.inf, radius="alternative")')

    def check_size(self, arms: int, max_units: int | None) -> None:
        """Its time is bounded."""
