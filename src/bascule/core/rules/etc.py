"""ETC (explore, then commit): even allocation over the active arms, elimination of beaten ones.

Two arms are compared by their difference, which has a narrower interval than two separate means;
more arms are compared by their own intervals, as in the paper. With the stop of a normal mixture
each pair of arms is compared by its difference, for any number of arms
(docs/research/mixture-rules.md). For units with recurring outcomes this is ETC-MM
(docs/research/units.md): each stage has one new unit for every active arm.

ETC' is the paper's name for UCB_alpha with alpha = infinity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from bascule.core.evidence.calibration import Calibration
from bascule.core.options import Option
from bascule.core.outcomes import Outcome
from bascule.core.procedures import recurrent
from bascule.core.procedures.base import Setting
from bascule.core.procedures.intervals.procedure import IntervalProcedure, Shape
from bascule.core.procedures.intervals.state import (
    Steps,
    eliminate,
    parted,
    round_complete,
    rounds_within,
)
from bascule.core.procedures.recurrent import RecurrentProcedure, UnitShape, refuse_without_noise
from bascule.core.rules.base import Rule, calibrate_intervals
from bascule.core.rules.mixture import calibrate_mixture, mixture_interval
from bascule.core.rules.ucb import UCB, even_score
from bascule.core.types import NOBODY, FloatArray


def decide(state: FloatArray, arms: int, sigma: float, threshold: float) -> int:
    """Drop beaten arms after a full round; return the last active arm, or `NOBODY`."""
    winner = NOBODY
    if round_complete(state, arms):
        eliminate(state, arms)
        winner = parted(state, arms)
    return winner


@dataclass(frozen=True, slots=True)
class ETC(Rule):
    """Explore then commit: an even split that ends as soon as the evidence allows.

    >>> ETC().label
    'ETC'
    """

    stop: Annotated[Literal["intervals", "mixture"], Option("What ends a test.")] = field(
        default="intervals", kw_only=True
    )
    kind: Literal["etc"] = field(default="etc", kw_only=True, repr=False)

    @property
    def label(self) -> str:
        """The paper's name of the rule, followed by "mixture" if a normal mixture ends the test."""
        return "ETC mixture" if self.stop == "mixture" else "ETC"

    @property
    def words(self) -> str:
        """The rule in a few words."""
        return f"even split, {self.label}"

    def explain(self, arms: int) -> str:
        """Return a sentence or two on how units get their arms and what ends a test."""
        return (
            "The arms get units in turn. An arm is dropped when the evidence that another one is "
            "better is strong enough."
        )

    def shape(self, arms: int) -> Shape:
        """Return the radius for the difference of two arms, or for each mean of more arms."""
        if self.stop == "mixture":
            return Shape(1.0, 1.0, arms - 1, mixture_interval)
        if arms == 2:
            # Half the paper's threshold for a difference: the radii of the two arms add up to it.
            return Shape(factor=1.0, count=1.0, sequences=1)
        return Shape(factor=2.0, count=3.0 * arms, sequences=arms)

    def unit_shape(self, arms: int) -> UnitShape:
        """Return the mean and the radius for recurring outcomes, compared pair by pair."""
        return (
            recurrent.even_mixture(arms) if self.stop == "mixture" else recurrent.even_split(arms)
        )

    def procedure(self, design: Setting) -> IntervalProcedure | RecurrentProcedure:
        """Return the procedure of an even split with elimination."""
        arms, steps = len(design.arms), Steps(even_score, decide)
        shared = (design, self.label, math.inf, steps, rounds_within, False, True)
        if design.outcome.recurring:
            clock_shape = self.shape(arms) if self.stop == "mixture" else None
            return RecurrentProcedure(*shared, self.unit_shape(arms), clock_shape)
        return IntervalProcedure(*shared, self.shape(arms))

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        """Return the calibration: by peeling, or for a mixture by dividing the error among pairs.

        `recurrent.calibrate_units` calibrates the radii for recurring outcomes.
        """
        if outcome.recurring:
            return recurrent.calibrate_units(self.unit_shape(arms), error, delta)
        if self.stop == "mixture":
            return calibrate_mixture(self.shape(arms), error, delta)
        return calibrate_intervals(self.shape(arms), error, delta)


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
        """Return the calibration of `UCB(inf)`."""
        return LIMIT.calibrate(outcome, arms, error, delta)

    def check_outcome(self, outcome: Outcome) -> None:
        """Raise `InputError` for outcomes without a sigma, and recurring ones without noise."""
        Rule.check_outcome(self, outcome)
        if outcome.recurring:
            refuse_without_noise(outcome, 'UCB(math.inf, radius="alternative")')
