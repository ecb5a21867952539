"""Treatment minus control: the difference of each arm from the control, also relative to it.

The relative lift is the difference divided by the control's mean. Its interval takes the interval
of the difference and one of the control's mean, which holds at any time and for any sampling;
docs/research/ends.md has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bascule.core.design import Design
from bascule.core.evidence.bernstein import bernstein_radius, most_squares
from bascule.core.evidence.calibration import Guarantee
from bascule.core.evidence.normal import mixture_radius
from bascule.core.evidence.spread import skewness, squares_about_mean, units_needed
from bascule.core.metrics.effects import Effect
from bascule.core.outcomes import Outcome
from bascule.core.statistics import ArmStatistics

PART = 0.05
"""What each bound of the control's mean may fail with, as a part of the error of a difference."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """The mean of a treatment minus that of the control, in outcome units and relative to it.

    `low` and `high` each fail with probability at most `error`, over the whole test, and so do
    `lift_low` and `lift_high` with `lift_error`. A lift of 0.1 is 10 % of the control's mean. It is
    None where the control's mean is not above 0, and its bounds are infinite while it may be 0.
    `unbiased` is the
    median-unbiased estimate of the difference after a decision, None before one.
    """

    treatment: str
    control: str
    difference: float
    low: float
    high: float
    error: float
    lift: float | None
    lift_low: float
    lift_high: float
    lift_error: float
    guarantee: Guarantee
    unbiased: float | None = None

    @property
    def name(self) -> str:
        """The contrast in words: "green - control"."""
        return f"{self.treatment} - {self.control}"


def contrasts(
    design: Design, effects: Sequence[Effect], control: ArmStatistics | None, mean: float | None
) -> tuple[Contrast, ...]:
    """Return the contrast of each arm with the control, in the order of the arms.

    `effects` are those of the design. `control` is what the control has shown, None where outcomes
    recur: then only its `mean` is used, and lifts have no bounds. They have none either where
    outcomes are adjusted by covariates: the mean of an arm is then no average of its outcomes.

    >>> import bascule as bs
    >>> design = bs.Design(["control", "green"], bs.Gaussian(1), bs.UCB(2))
    >>> from bascule.progress import ArmStatistics, Statistics, effects
    >>> data = Statistics((ArmStatistics(100, 400.0), ArmStatistics(100, 500.0)))
    >>> (result,) = contrasts(design, effects(design, data), data.arms[0], data.arms[0].mean)
    >>> result.name, result.lift, round(result.lift_low, 2), round(result.lift_high, 2)
    ('green - control', 0.25, 0.03, 0.52)
    """
    name, listed = design.control_arm, []
    radii: dict[float, float] = {}
    for effect in effects:
        if name not in (effect.first, effect.second):
            continue
        treatment = effect.second if name == effect.first else effect.first
        three = effect.of(treatment).interval
        part = PART * effect.error
        if part not in radii:
            radii[part] = (
                math.inf
                if control is None or design.adjustment is not None
                else mean_radius(design.outcome, control, part)
            )
        lift, low, high = _relative(design.outcome, three, mean, radii[part])
        listed.append(
            Contrast(
                treatment=treatment,
                control=name,
                difference=three[0],
                low=three[1],
                high=three[2],
                error=effect.error,
                lift=lift,
                lift_low=low,
                lift_high=high,
                lift_error=min(1.0, effect.error + 2.0 * part),
                guarantee=effect.guarantee,
            )
        )
    places = {arm: place for place, arm in enumerate(design.arms)}
    return tuple(sorted(listed, key=lambda one: places[one.treatment]))


def mean_radius(outcome: Outcome, arm: ArmStatistics, level: float) -> float:
    """Return how far an arm's mean may lie from the truth, at any time and for any sampling.

    Each end fails with probability at most `level`; asymptotically where the spread is estimated.

    >>> import bascule as bs
    >>> round(mean_radius(bs.Bernoulli(), ArmStatistics(10_000, 500.0, 500.0), 0.0025), 4)
    0.0101
    """
    if outcome.limited:
        limits = outcome.low, outcome.high
        squares = most_squares(arm.units, arm.total, arm.squares, *limits)
        return bernstein_radius(arm.units, squares, *limits, level)
    return mixture_radius(arm.units, _spread(outcome, arm), level)


def _spread(outcome: Outcome, arm: ArmStatistics) -> float:
    """Return the spread of an arm's outcomes: as stated, or estimated once it has units enough."""
    if not outcome.estimated:
        return outcome.sigma
    arm = arm.linearised
    sums = (float(arm.units), arm.total, arm.squares)
    if arm.units < units_needed(skewness(*sums, arm.cubes), math.nan):
        return math.inf
    return math.sqrt(squares_about_mean(*sums) / (arm.units - 1))


def _relative(
    outcome: Outcome, three: tuple[float, float, float], mean: float | None, radius: float
) -> tuple[float | None, float, float]:
    """Return the lift and its bounds."""
    if mean is None or mean <= 0.0:
        return None, -math.inf, math.inf
    difference, low, high = three
    # The control's mean lies between these.
    least, most = mean - radius, mean + radius
    if least <= 0.0:
        return difference / mean, -math.inf, math.inf
    lowest = low / (most if low >= 0.0 else least)
    highest = high / (least if high >= 0.0 else most)
    if outcome.low >= 0.0 or outcome.is_share:
        # What is never negative cannot fall by more than all of it.
        lowest = max(lowest, -1.0)
    return difference / mean, lowest, highest
