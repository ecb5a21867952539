"""ETC': the paper's name for UCB_alpha with alpha = infinity."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

from bascule.core.evidence.calibration import Calibration
from bascule.core.outcomes import Outcome
from bascule.core.procedures.base import Setting
from bascule.core.procedures.intervals.procedure import IntervalProcedure
from bascule.core.procedures.recurrent import RecurrentProcedure, refuse_without_noise
from bascule.core.rules.base import Rule
from bascule.core.rules.ucb import UCB

LIMIT = UCB(math.inf)
"""The rule UCB_alpha with an infinite alpha, which is the same as ETC'."""


@dataclass(frozen=True, slots=True)
class ETCPrime(Rule):
    """ETC', the even-split end of the UCB_alpha family: `UCB(inf)`.

    >>> ETCPrime().label
    "ETC'"
    """

    kind: Literal["etc-prime"] = field(default="etc-prime", kw_only=True, repr=False)

    @property
    def label(self) -> str:
        """The paper's name."""
        return "ETC'"

    @property
    def words(self) -> str:
        """The rule in a few words."""
        return f"even split, {self.label}"

    @property
    def curve_value(self) -> float:
        """The alpha at which UCB_alpha becomes this rule."""
        return LIMIT.alpha

    def explain(self, arms: int) -> str:
        """Return a sentence or two on how units get their arms and what ends a test."""
        return LIMIT.explain(arms)

    def procedure(self, design: Setting) -> IntervalProcedure | RecurrentProcedure:
        """Return the procedure of `UCB(inf)`."""
        return replace(LIMIT.procedure(design), label=self.label)

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        """Calibrate as `UCB(inf)` does."""
        return LIMIT.calibrate(outcome, arms, error, delta)

    def check_outcome(self, outcome: Outcome) -> None:
        """Raise `InputError` for outcomes without a sigma, and recurring ones without noise."""
        Rule.check_outcome(self, outcome)
        if outcome.recurring:
            refuse_without_noise(outcome, 'UCB(math.inf, radius="alternative")')
