"""Rules for what the paper discusses and does not spell out: bounded outcomes, and the total mean.

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

Alpha = Annotated[
    float,
    Option("Near 1 it saves regret, inf saves time.", kind="unbounded", limits=(1, math.inf)),
]
Growth = Annotated[
    float,
    Option("How many times later the next look comes.", flag="look_growth", limits=(1, math.inf)),
]

BERNSTEIN, BOUNDED_UNITS, MEANS, TOTAL = range(4)
"""What a loop compares: outcomes within limits, units within limits, or one of two means."""


@dataclass(frozen=True, slots=True)
class VariantProcedure(SimulatedProcedure):
    """How a rule for simulation proceeds; it is played by a compiled loop and by nothing else."""

    estimator: int = BERNSTEIN
    alpha: float = 2.0
    growth: float = GROWTH
    alike: float = 1.0
    kind: ClassVar[str] = "variant"
    refusal = "is a rule for simulation: it can be simulated and audited, not run"

    @property
    def end_error(self) -> float:
        """Each arm has its part of the error."""
        return self.design.calibration.delta


@dataclass(frozen=True, slots=True)
class Variant(Rule):
    """A rule with an index that is played by a loop of its own; all arms share the error."""

    alpha: Alpha = 2.0
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
        """Alpha: the larger, the more regret and the sooner the decision."""
        return Knob("alpha", self.alpha, 1.0, regret_grows=True)

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        """Give each arm its part of the error, for the one end of its interval that counts."""
        refuse_delta(error, delta)
        assert error is not None
        return Calibration(error / arms, error, "proven")

    def check_size(self, arms: int, max_units: int | None) -> None:
        """Only alpha above 1 bounds the decision time."""
        if max_units is None and self.alpha == 1:
            raise InputError(
                "max_units", "alpha = 1 has no bound on its decision time: set max_units"
            )

    def check_outcome(self, outcome: Outcome) -> None:
        """Accept outcomes within limits."""
        if not outcome.limited or outcome.recurring:
            raise InputError(
                "outcome",
                f"{self.label} needs outcomes between two limits, not {outcome!r}: use Bernoulli() "
                "or Bounded(low, high)",
            )

    def procedure(self, design: Setting) -> VariantProcedure:
        """Return what the loop has to play."""
        return VariantProcedure(design, self.label, self.estimator, self.alpha)


@RULES.register
@dataclass(frozen=True, slots=True)
class UCBBernstein(Variant):
    """UCB_alpha with an empirical Bernstein radius: outcomes within limits, of unknown variance.

    >>> UCBBernstein(2).label
    'UCB-Bernstein_2'
    """

    kind: Literal["ucb-bernstein"] = field(default="ucb-bernstein", kw_only=True, repr=False)
    name = "UCB-Bernstein"
    estimator = BERNSTEIN


@RULES.register
@dataclass(frozen=True, slots=True)
class BoundedUnits(Variant):
    """UCB_alpha for units whose outcomes recur within limits, by the mean of means, at looks.

    - `alpha`: the knob, from 1 on.
    - `look_growth`: how many times later than the one before each planned look is.
    - `alike`: how alike the units of a simulation are. A unit's own share of ones has a beta
      distribution with this concentration; every outcome is at one of the two limits.

    >>> BoundedUnits(2).label
    'UCB-MM-Bernstein_2'
    """

    growth: Growth = field(default=GROWTH, kw_only=True)
    alike: Annotated[
        float, Option("How alike units are: the concentration of their shares.", kind="positive")
    ] = field(default=4.0, kw_only=True)
    kind: Literal["bounded-units"] = field(default="bounded-units", kw_only=True, repr=False)
    name = "UCB-MM-Bernstein"
    estimator = BOUNDED_UNITS

    def procedure(self, design: Setting) -> VariantProcedure:
        """Return what the loop has to play."""
        played, growth = Variant.procedure(self, design), checked_growth(self.growth)
        return replace(played, growth=growth, alike=float(self.alike))


@RULES.register
@dataclass(frozen=True, slots=True)
class UnitMeans(Variant):
    """UCB_alpha for recurring outcomes by one of the paper's two estimators, at planned looks.

    - `mean`: "total" is the total mean, in which every outcome counts alike; "means" is the mean
      of means, in which every unit does.
    - `alpha`, `look_growth`: as in `BoundedUnits`.

    >>> UnitMeans(2).label, UnitMeans(2, mean="means").label
    ('total-mean_2', 'mean-of-means_2')
    """

    mean: Annotated[Literal["total", "means"], Option("Which mean of an arm is compared.")] = field(
        default="total", kw_only=True
    )
    growth: Growth = field(default=GROWTH, kw_only=True)
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
        """Accept outcomes that recur."""
        if not outcome.recurring:
            raise InputError("outcome", f"{self.label} needs Recurrent outcomes, not {outcome!r}")

    def procedure(self, design: Setting) -> VariantProcedure:
        """Return what the loop has to play."""
        estimator = TOTAL if self.mean == "total" else MEANS
        growth = checked_growth(self.growth)
        return VariantProcedure(design, self.label, estimator, self.alpha, growth)


def checked_growth(growth: float) -> float:
    """Return how many times later the next look comes; InputError unless it is above 1."""
    if not growth > 1.0:
        raise InputError(
            "look_growth", f"look_growth must be above 1 (got {growth:g}): {GROWTH} is usual"
        )
    return float(growth)
