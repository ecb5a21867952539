"""UCB_alpha (the paper's Algorithm 1): optimistic allocation, plain intervals for the decision.

The next unit goes to `argmax mean + alpha * radius`; the test ends when one interval `mean +-
radius` lies above every other. The proof is in docs/research/iid-rules.md; with the radius or the
stop of a normal mixture it is in docs/research/mixture-rules.md, and for units with recurring
outcomes (the paper's Algorithm 2) in docs/research/units.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal

from bascule.core.errors import InputError, invalid
from bascule.core.evidence.calibration import Calibration
from bascule.core.evidence.looks import GROWTH
from bascule.core.options import Option
from bascule.core.outcomes import Outcome
from bascule.core.procedures import recurrent
from bascule.core.procedures.base import Setting
from bascule.core.procedures.intervals.procedure import IntervalProcedure, Shape
from bascule.core.procedures.intervals.state import (
    Steps,
    intervals_within,
    parted,
    round_complete,
    rounds_within,
    two_arms_within,
)
from bascule.core.procedures.recurrent import RecurrentProcedure, UnitShape
from bascule.core.rules import mixture
from bascule.core.rules.base import Knob, Rule, calibrate_intervals, refuse_delta
from bascule.core.rules.mixture import RadiusName, StopName
from bascule.core.types import NOBODY, FloatArray

STALLS_BELOW = 2.0
"""Alpha below which a test that a normal mixture decides may never end."""


def score(mean: float, radius: float, units: float, alpha: float) -> float:
    """Return the index of an arm: its mean plus `alpha` radii."""
    return mean + alpha * radius


def decide(state: FloatArray, arms: int, sigma: float, threshold: float) -> int:
    """After any unit, return the arm whose interval lies above all others, or `NOBODY`."""
    return parted(state, arms)


def even_score(mean: float, radius: float, units: float, alpha: float) -> float:
    """Return minus the units of an arm as its index, which gives an even split."""
    return -units


def decide_rounds(state: FloatArray, arms: int, sigma: float, threshold: float) -> int:
    """After a full round, return the arm whose interval lies above all others; else `NOBODY`."""
    complete = round_complete(state, arms)
    return parted(state, arms) if complete else NOBODY


@dataclass(frozen=True, slots=True)
class UCB(Rule):
    """UCB_alpha: small `alpha` costs less regret, large `alpha` decides sooner.

    - `alpha`: the knob, at least 1; with 1 a design needs `max_units`.
    - `radius`: the radius of the intervals that allocate and decide. "paper" is that of the paper.
      "mixture" (a normal mixture) decides sooner and costs less at the same proven error. For
      `Recurrent` outcomes the guarantee of "mixture" is "gaussian", that of "paper" and of
      "alternative", the paper's other radius, is "as published", and "looks", which decides at
      planned stages only, is proven.
    - `stop`: "mixture" decides by a normal mixture instead of by the intervals.
    - `growth`: for "looks" only: the ratio of the times of two consecutive planned stages,
      above 1; 1.5 if not given.

    >>> UCB(2).label
    'UCB_2'
    """

    alpha: Annotated[
        float,
        Option(
            "Near 1 it saves regret, inf saves time.",
            kind="unbounded",
            limits=(1, math.inf),
            group="basics",
        ),
    ] = 2.0
    radius: Annotated[RadiusName, Option("Radius of the intervals.")] = field(
        default="paper", kw_only=True
    )
    stop: Annotated[StopName, Option("What ends a test.")] = field(
        default="intervals", kw_only=True
    )
    growth: Annotated[
        float | None, Option("With radius looks: the ratio of the times of consecutive looks.")
    ] = field(default=None, kw_only=True, repr=False)
    kind: Literal["ucb"] = field(default="ucb", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        Rule.__post_init__(self)
        if self.growth is None:
            return
        if self.radius != "looks":
            raise invalid('growth belongs to radius="looks": leave one of them out')
        if self.growth <= 1:
            raise invalid(
                f"growth must be above 1 (got {self.growth:g}): each look comes that many times "
                f"later than the one before; {GROWTH} is a good start"
            )

    @property
    def label(self) -> str:
        """The paper's name, `UCB_alpha`, with the settings that differ from Algorithms 1 and 2."""
        name = f"UCB_{self.alpha:g}"
        if self.radius == "alternative":
            return f"{name} alternative radius"
        if self.radius == "looks":
            return f"{name} planned looks" + (f" x{self.growth:g}" if self.growth else "")
        parts = [part for part in ("radius", "stop") if getattr(self, part) == "mixture"]
        return name + (f" mixture {' and '.join(parts)}" if parts else "")

    def shape(self, arms: int) -> Shape:
        """Return the radius of the arms' intervals; the error counts one side of each interval."""
        if self.radius == "mixture":
            return Shape(2.0, 1.0, arms, mixture.mixture_interval)
        return Shape(factor=2.0, count=1.5 * arms, sequences=arms)

    def unit_shape(self, arms: int) -> UnitShape:
        """Return the mean and the radius for recurring outcomes."""
        if self.radius == "mixture":
            return recurrent.mixture(arms)
        if self.radius == "looks":
            return recurrent.planned_looks(arms, self.growth or GROWTH)
        if self.radius == "alternative":
            return recurrent.alternative(arms)
        # With an infinite alpha the split is always even, and the proof has no gap.
        return recurrent.algorithm_2(arms, "proven" if math.isinf(self.alpha) else "as published")

    @property
    def words(self) -> str:
        """The rule in a few words."""
        if math.isinf(self.alpha):
            return f"even split, {self.label}"
        return f"UCB, alpha {self.alpha:g}"

    @property
    def family(self) -> str:
        """The name of the family: "UCB", also for an infinite alpha."""
        return "UCB"

    def explain(self, arms: int) -> str:
        """Return a sentence or two on how units get their arms and what ends a test."""
        enrolment = (
            "The arms get units in turn."
            if math.isinf(self.alpha)
            else "Each unit goes to the arm whose average, with an allowance for how little is "
            "known of it, is highest."
        )
        ending = "The test ends when the evidence for one arm over all others is strong enough."
        return f"{enrolment} {ending}"

    @property
    def knob(self) -> Knob:
        """Alpha: the larger, the more regret and the sooner the decision."""
        return Knob("alpha", self.alpha, 1.0, regret_grows=True)

    def procedure(self, design: Setting) -> IntervalProcedure | RecurrentProcedure:
        """Return the procedure with intervals; with an infinite alpha the split is even."""
        even, arms = math.isinf(self.alpha), len(design.arms)
        steps = Steps(even_score, decide_rounds) if even else Steps(score, decide)
        within = rounds_within if even else intervals_within
        pairwise = self.stop == "mixture"
        if pairwise:
            steps, within = steps._replace(decide=mixture.decide), two_arms_within
        shared = (design, self.label, self.alpha, steps, within, pairwise, False)
        if design.outcome.recurring:
            by_clock = self.radius in ("mixture", "looks")
            clock_shape = Shape(2.0, 1.0, arms, mixture.mixture_interval) if by_clock else None
            return RecurrentProcedure(*shared, self.unit_shape(arms), clock_shape)
        return IntervalProcedure(*shared, self.shape(arms))

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        """Return the calibration: by peeling, or for a mixture by dividing the error among arms.

        `recurrent.calibrate_units` calibrates the radii for recurring outcomes.
        """
        if outcome.recurring:
            return recurrent.calibrate_units(self.unit_shape(arms), error, delta)
        if self.radius != "paper":
            return mixture.calibrate_mixture(self.shape(arms), error, delta)
        if self.stop == "mixture":
            refuse_delta(error, delta)
        return calibrate_intervals(self.shape(arms), error, delta)

    def check_outcome(self, outcome: Outcome) -> None:
        """Raise `InputError` for outcomes without a sigma, or that the radius does not support."""
        Rule.check_outcome(self, outcome)
        if outcome.recurring:
            self._check_recurrent(outcome)
        elif self.radius in ("alternative", "looks"):
            raise invalid(
                f'radius="{self.radius}" belongs to Recurrent outcomes, not to {outcome!r}: '
                'use "paper" or "mixture"'
            )

    def _check_recurrent(self, outcome: Outcome) -> None:
        if self.stop == "mixture" and self.radius != "mixture":
            raise invalid(
                'stop="mixture" with Recurrent outcomes needs radius="mixture" (got '
                f'"{self.radius}"): give both, or leave out the stop'
            )
        if self.radius == "paper":
            recurrent.refuse_without_noise(outcome, f'UCB({self.alpha:g}, radius="alternative")')

    def check_size(self, arms: int, max_units: int | None) -> None:
        """Raise `InputError` without a cap if alpha is too small to bound the decision time."""
        if max_units is not None:
            return
        if self.stop == "mixture" and self.alpha < STALLS_BELOW:
            raise InputError(
                "max_units",
                f"{self.label} can stall, because a rival that looks bad gets too few units to be "
                f"beaten: set max_units, or use alpha from {STALLS_BELOW:g} on",
            )
        if self.alpha == 1:
            raise InputError(
                "max_units",
                "alpha = 1 has no bound on its decision time: set max_units, "
                "or use alpha above 1 (2 is a good start)",
            )
