"""The total mean as a rule: UCB-MM with every outcome counted once instead of every unit.

The paper mentions this estimator beside the mean of means and gives it no radius. Here it has the
radius of Algorithm 2, so that two rules differ in their estimator and in nothing else. Nothing is
proven of it: it can be simulated and compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import ClassVar, Literal

from bascule.core.errors import InputError
from bascule.core.evidence.calibration import Calibration
from bascule.core.outcomes import Outcome
from bascule.core.procedures.base import Setting
from bascule.core.procedures.recurrent.estimators import outcome_weight
from bascule.core.procedures.recurrent.procedure import RecurrentProcedure
from bascule.core.rules.base import Knob, Rule
from bascule.core.rules.ucb import UCB
from bascule.simulation.engines.choose import Order
from bascule.simulation.recurrent.engines import Plain
from bascule.simulation.recurrent.runs import UnitRuns
from bascule.simulation.runs import Runs


@dataclass(frozen=True, slots=True)
class TotalMeanProcedure(RecurrentProcedure):
    """UCB-MM around the total mean; it is played outcome by outcome and by nothing else."""

    kind: ClassVar[str] = "total-mean"

    def check_live(self) -> None:
        """Raise: nobody runs a test with a rule that has no guarantee."""
        self._refuse("has no guarantee: it can be simulated and compared, not run")


@dataclass(frozen=True, slots=True)
class TotalMean(Rule):
    """UCB-MM_alpha that compares total means.

    >>> TotalMean(2).label
    'total-mean_2'
    """

    alpha: float = 2.0
    kind: Literal["total-mean"] = field(default="total-mean", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", UCB(self.alpha).alpha)

    @property
    def label(self) -> str:
        """The name of the rule, with its knob."""
        return f"{self.kind}_{self.alpha:g}"

    @property
    def words(self) -> str:
        """The rule in a few words."""
        return f"UCB on total means, alpha {self.alpha:g}"

    @property
    def knob(self) -> Knob:
        """Alpha, as in UCB."""
        return UCB(self.alpha).knob

    def check_outcome(self, outcome: Outcome) -> None:
        """Accept outcomes that recur, with noise."""
        if not outcome.recurring:
            raise InputError("outcome", f"{self.label} is compared on outcomes that recur")
        UCB(self.alpha).check_outcome(outcome)

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        """Take the delta of UCB-MM, and promise nothing."""
        delta = UCB(self.alpha).calibrate(outcome, arms, error, delta).delta
        return Calibration(delta, 1.0, "as published")

    def procedure(self, design: Setting) -> TotalMeanProcedure:
        """Return UCB-MM with another weight."""
        usual = UCB(self.alpha).procedure(design)
        parts = {each.name: getattr(usual, each.name) for each in fields(usual)}
        parts["shape"] = replace(parts["shape"], weight=outcome_weight)
        return TotalMeanProcedure(**{**parts, "label": self.label})


def play_total_mean(procedure: TotalMeanProcedure, order: Order) -> Runs:
    """Return the runs, in which every outcome is drawn."""
    engine = Plain(order.design.outcome, outcome_weight)
    # What a run has room for at first is what UCB-MM is expected to take.
    like = replace(order.design, rule=UCB(procedure.alpha))
    return UnitRuns(like, procedure, engine, order.world, order.seed, order.runs)
