"""UCB_alpha (the paper's Algorithm 1): optimistic allocation, plain intervals for the decision.

The next unit goes to `argmax mean + alpha * radius`; the test ends when one interval
`mean +- radius` lies above every other. The proof is in docs/explanation/iid-rules.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from bascule.core import checks
from bascule.core.arms import FloatArray, Steps, parted
from bascule.core.calibration import Calibration
from bascule.core.errors import InputError
from bascule.core.rules.base import Shape, calibrate_intervals
from bascule.core.rules.etc_prime import ETCPrime


def score(mean: float, radius: float, units: float, alpha: float) -> float:
    """The index of an arm: its mean, made optimistic by `alpha` radii."""
    return mean + alpha * radius


def decide(state: FloatArray, scores: int, lowers: int, uppers: int, arms: int) -> int:
    """The arm whose interval has parted from all others, checked after every unit."""
    return parted(state, lowers, uppers, arms)


@dataclass(frozen=True, slots=True)
class UCB:
    """UCB_alpha: small `alpha` costs less regret, large `alpha` decides sooner.

    >>> UCB(2).label
    'UCB_2'
    """

    alpha: float = 2.0
    kind: Literal["ucb"] = field(default="ucb", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        alpha = checks.number("alpha", self.alpha, "2 is a good start")
        if alpha < 1:
            raise InputError(
                "alpha",
                f"alpha must be at least 1 (got {alpha:g}): below 1 the intervals never part; "
                "2 is a good start",
            )
        object.__setattr__(self, "alpha", alpha)

    @property
    def label(self) -> str:
        """The paper's name, `UCB_alpha`."""
        return f"UCB_{self.alpha:g}"

    def shape(self, arms: int) -> Shape:
        """Each of the arms has one interval that may fail on one side."""
        return Shape(factor=2.0, count=1.5 * arms, sequences=arms)

    def steps(self) -> Steps:
        """Index and intervals; at alpha = infinity the steps of ETC', which is the limit."""
        if math.isinf(self.alpha):
            return ETCPrime().steps()
        return Steps(score, decide)

    def calibrate(self, arms: int, error: float | None, delta: float | None) -> Calibration:
        """By peeling, for the intervals of `shape`."""
        return calibrate_intervals(self.shape(arms), error, delta)

    def check_uncapped(self) -> None:
        """Only alpha above 1 bounds the decision time."""
        if self.alpha == 1:
            raise InputError(
                "max_units",
                "alpha = 1 has no bound on its decision time: set max_units, "
                "or use alpha above 1 (2 is a good start)",
            )
