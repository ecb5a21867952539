"""Rules that the paper discusses without details: for bounded outcomes and for the total mean.

They are for simulation. docs/research/units.md and docs/research/evidence.md have the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

from bascule.core.errors import InputError
from bascule.core.evidence.calibration import Calibration
from bascule.core.evidence.looks import GROWTH
from bascule.core.options import Option
from bascule.core.outcomes import Outcome
from bascule.core.procedures.base import Setting
from bascule.core.rules.base import RULES, Knob, Rule, refuse_delta
from bascule.research.simulated import SimulatedProcedure

ALPHA = Option("Near 1 it saves regret, inf saves time.", kind="unbounded", limits=(1, math.inf))
LOOK_GROWTH = Option(
    "Ratio of the times of consecutive looks.", flag="look_growth", limits=(1, math.inf)
)

BERNSTEIN, BOUNDED_UNITS, MEANS, TOTAL = range(4)
"""Estimators: for bounded outcomes, for units with bounded outcomes, mean of means, total mean."""


@dataclass(frozen=True, slots=True)
class VariantProcedure(SimulatedProcedure):
    """The procedure of a variant rule, which only a compiled loop can simulate."""

    estimator: int = BERNSTEIN
    alpha: float = 2.0
    growth: float = GROWTH
    alike: float = 1.0
    kind: ClassVar[str] = "variant"
    refusal = "is a rule for simulation: it can be simulated and audited, not run"

    @property
    def end_error(self) -> float:
        """The error of one arm: that of the design divided by the number of arms."""
        return self.design.calibration.delta


@dataclass(frozen=True, slots=True)
class Variant(Rule):
    """A UCB rule for simulation only; the error is divided evenly among the arms."""

    alpha: Annotated[float, ALPHA] = 2.0
    name: ClassVar[str]
    estimator: ClassVar[int]

    @property
    def label(self) -> str:
        """The name of the rule and its alpha."""
        return f"{self.name}_{self.alpha:g}"

    @property
    def words(self) -> str:
        """The rule in a few words."""
        return f"{self.name}, alpha {self.alpha:g}"

    @property
    def knob(self) -> Knob:
        """The setting alpha; a larger one increases regret and decides sooner."""
        return Knob("alpha", self.alpha, 1.0, regret_grows=True)

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        """Divide the error evenly among the arms, for one end of each arm's interval."""
        refuse_delta(error, delta)
        assert error is not None
        return Calibration(error / arms, error, "proven")

    def check_size(self, arms: int, max_units: int | None) -> None:
        """Raise an error if alpha is 1 without a cap, since the decision time then has no bound."""
        if max_units is None and self.alpha == 1:
            raise InputError(
                "max_units", "alpha = 1 has no bound on its decision time: set max_units"
            )

    def check_outcome(self, outcome: Outcome) -> None:
        """Raise an error unless outcomes have two limits and come once."""
        if not outcome.limited or outcome.recurring:
            raise InputError(
                "outcome",
                f"{self.label} needs outcomes between two limits, not {outcome!r}: use Bernoulli() "
                "or Bounded(low, high)",
            )

    def procedure(self, design: Setting) -> VariantProcedure:
        """Return the procedure that the compiled loop simulates."""
        return VariantProcedure(design, self.label, self.estimator, self.alpha)


@RULES.register
@dataclass(frozen=True, slots=True)
class UCBBernstein(Variant):
    """UCB_alpha with an empirical Bernstein radius, for bounded outcomes of unknown variance.

    >>> UCBBernstein(2).label
    'UCB-Bernstein_2'
    """

    kind: Literal["ucb-bernstein"] = field(default="ucb-bernstein", kw_only=True, repr=False)
    name = "UCB-Bernstein"
    estimator = BERNSTEIN


@RULES.register
@dataclass(frozen=True, slots=True)
class BoundedUnits(Variant):
    """UCB_alpha at planned looks by the mean of means, for units with many bounded outcomes each.

    The outcome model is `Bernoulli()` or `Bounded(low, high)`.

    - `alpha`: the knob, from 1 on.
    - `growth`: the ratio of the times of two consecutive planned looks, above 1.
    - `alike`: how alike the units of a simulation are. A unit's own share of ones has a beta
      distribution with this concentration; every outcome is at one of the two limits.

    >>> BoundedUnits(2).label
    'UCB-MM-Bernstein_2'
    """

    growth: Annotated[float, LOOK_GROWTH] = field(default=GROWTH, kw_only=True)
    alike: Annotated[
        float, Option("How alike units are: the concentration of their shares.", kind="positive")
    ] = field(default=4.0, kw_only=True)
    kind: Literal["bounded-units"] = field(default="bounded-units", kw_only=True, repr=False)
    name = "UCB-MM-Bernstein"
    estimator = BOUNDED_UNITS

    def procedure(self, design: Setting) -> VariantProcedure:
        """Return the procedure that the compiled loop simulates."""
        played, growth = Variant.procedure(self, design), checked_growth(self.growth)
        return replace(played, growth=growth, alike=float(self.alike))


@RULES.register
@dataclass(frozen=True, slots=True)
class UnitMeans(Variant):
    """UCB_alpha at planned looks for recurring outcomes, with either estimator of the paper.

    - `mean`: "total" is the total mean, in which every outcome counts alike; "means" is the mean
      of means, in which every unit counts alike.
    - `alpha`: as in `UCB`.
    - `growth`: ratio of the times of consecutive looks.

    >>> UnitMeans(2).label, UnitMeans(2, mean="means").label
    ('total-mean_2', 'mean-of-means_2')
    """

    mean: Annotated[Literal["total", "means"], Option("Which mean of an arm is compared.")] = field(
        default="total", kw_only=True
    )
    growth: Annotated[float, LOOK_GROWTH] = field(default=GROWTH, kw_only=True)
    kind: Literal["unit-means"] = field(default="unit-means", kw_only=True, repr=False)

    @property
    def label(self) -> str:
        """The name of the estimator, and alpha."""
        return f"{'total-mean' if self.mean == 'total' else 'mean-of-means'}_{self.alpha:g}"

    @property
    def words(self) -> str:
        """The rule in a few words."""
        return f"UCB on the {self.label}"

    def check_outcome(self, outcome: Outcome) -> None:
        """Raise an error unless outcomes recur."""
        if not outcome.recurring:
            raise InputError("outcome", f"{self.label} needs Recurrent outcomes, not {outcome!r}")

    def procedure(self, design: Setting) -> VariantProcedure:
        """Return the procedure that the compiled loop simulates."""
        estimator = TOTAL if self.mean == "total" else MEANS
        growth = checked_growth(self.growth)
        return VariantProcedure(design, self.label, estimator, self.alpha, growth)


def checked_growth(growth: float) -> float:
    """Return the ratio of the times of consecutive looks; raise InputError unless it is above 1."""
    if not growth > 1.0:
        raise InputError("growth", f"growth must be above 1 (got {growth:g}): {GROWTH} is usual")
    return float(growth)
