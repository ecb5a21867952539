"""UCB_alpha (the paper's Algorithm 1): optimistic allocation, plain intervals for the decision.

The next unit goes to `argmax mean + alpha * radius`; the test ends when one interval
`mean +- radius` lies above every other. The proof is in docs/explanation/iid-rules.md; with the
radius or the stop of a normal mixture it is in docs/explanation/mixture-rules.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from bascule.core import checks
from bascule.core.arms import FloatArray, Steps, Within, parted
from bascule.core.calibration import Calibration
from bascule.core.errors import InputError
from bascule.core.evidence.bernstein import bernstein_radius, most_squares
from bascule.core.margin import intervals_within, rounds_within, two_arms_within
from bascule.core.outcomes import Outcome
from bascule.core.rules import mixture
from bascule.core.rules.base import Shape, calibrate_intervals
from bascule.core.rules.etc_prime import ETCPrime
from bascule.core.rules.mixture import RadiusName, StopName

STALLS_BELOW = 2.0
"""Below this alpha a test with the stop of a mixture may go on for ever."""


def score(mean: float, radius: float, units: float, alpha: float) -> float:
    """The index of an arm: its mean, made optimistic by `alpha` radii."""
    return mean + alpha * radius


def decide(
    state: FloatArray,
    scores: int,
    lowers: int,
    uppers: int,
    arms: int,
    sigma: float,
    threshold: float,
) -> int:
    """The arm whose interval has parted from all others, checked after every unit."""
    return parted(state, lowers, uppers, arms)


def seen_spread(
    units: float, total: float, squares: float, sigma: float, low: float, high: float
) -> float:
    """The squares that Bernstein's radius follows, from the outcomes as they were seen."""
    return most_squares(units, total, squares, low, high)


def bernstein_interval(
    n: float, squares: float, factor: float, count: float, delta: float
) -> float:
    """Bernstein's radius with the arguments of the paper's; `factor` is the width of the limits.

    >>> round(bernstein_interval(1000, 50.0, factor=1.0, count=1.0, delta=0.025), 4)
    0.0306
    """
    return bernstein_radius(n, squares, 0.0, factor, delta / count)


@dataclass(frozen=True, slots=True)
class UCB:
    """UCB_alpha: small `alpha` costs less regret, large `alpha` decides sooner.

    A `radius` or a `stop` from a normal mixture decides sooner and costs less at the same proven
    error; the radius of Bernstein follows the spread of outcomes within limits as it is seen. A
    radius shapes both the intervals and the allocation; the stop does without the intervals.

    >>> UCB(2).label
    'UCB_2'
    """

    alpha: float = 2.0
    radius: RadiusName = field(default="paper", kw_only=True)
    stop: StopName = field(default="intervals", kw_only=True)
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
        checks.choice("radius", self.radius, get_args(RadiusName))
        checks.choice("stop", self.stop, get_args(StopName))

    @property
    def label(self) -> str:
        """The paper's name, `UCB_alpha`, with what comes from a mixture."""
        if self.radius == "bernstein":
            return f"UCB_{self.alpha:g} Bernstein radius"
        parts = [part for part in ("radius", "stop") if getattr(self, part) == "mixture"]
        return f"UCB_{self.alpha:g}" + (f" mixture {' and '.join(parts)}" if parts else "")

    def shape(self, outcome: Outcome, arms: int) -> Shape:
        """Each of the arms has one interval that may fail on one side."""
        if self.radius == "mixture":
            return Shape(2.0, 1.0, arms, mixture.mixture_interval)
        if self.radius == "bernstein":
            return Shape(outcome.scale, 1.0, arms, bernstein_interval, seen_spread)
        return Shape(factor=2.0, count=1.5 * arms, sequences=arms)

    def steps(self) -> Steps:
        """Index and stop; at alpha = infinity those of ETC', which is the limit."""
        steps = ETCPrime().steps() if math.isinf(self.alpha) else Steps(score, decide)
        return steps._replace(decide=mixture.decide) if self.stop == "mixture" else steps

    def within(self) -> Within:
        """Differences are judged by what decides between arms."""
        if self.stop == "mixture":
            return two_arms_within
        return rounds_within if math.isinf(self.alpha) else intervals_within

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        """By peeling, for the intervals of `shape`; the level of each arm with a mixture's."""
        if self.radius != "paper":
            return mixture.calibrate_mixture(self.shape(outcome, arms), error, delta)
        if self.stop == "mixture":
            mixture.refuse_delta(error, delta)
        return calibrate_intervals(self.shape(outcome, arms), error, delta)

    def check_outcome(self, outcome: Outcome) -> None:
        """Its intervals hold for every outcome with a sigma; Bernstein's need limits."""
        if self.radius == "bernstein" and math.isinf(outcome.high):
            raise InputError(
                "radius",
                f"radius 'bernstein' needs outcomes within limits, not {outcome!r}: use "
                "Bernoulli() or Bounded(low, high), or radius='mixture' for a known spread",
            )
        if self.radius == "bernstein" and self.stop == "mixture":
            raise InputError(
                "stop", "stop 'mixture' needs a known spread: leave it out with radius 'bernstein'"
            )

    def check_uncapped(self) -> None:
        """Only alpha above 1 bounds the decision time; the stop of a mixture asks for more."""
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
