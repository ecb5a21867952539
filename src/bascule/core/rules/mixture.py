"""The normal mixture as a radius and as a stopping rule, for the rules of the paper.

The radius replaces the paper's and is smaller at the same proven error. The stop uses the evidence
for the leader against each rival; the intervals then serve only for the allocation.
docs/research/mixture-rules.md has the proofs.
"""

from __future__ import annotations

import math
from typing import Literal

from bascule.core.evidence.calibration import Calibration
from bascule.core.evidence.normal import mixture_boundary
from bascule.core.evidence.radius import FIRST_UNITS
from bascule.core.evidence.two_arms import log_two_arms
from bascule.core.procedures.intervals.procedure import Shape
from bascule.core.procedures.intervals.state import LOWERS, TOTALS, UNITS, UPPERS, highest
from bascule.core.rules.base import refuse_delta
from bascule.core.types import NOBODY, FloatArray

RadiusName = Literal["paper", "mixture", "alternative", "looks"]
"""Name of the radius of an arm's interval; the last two are for recurring outcomes."""

StopName = Literal["intervals", "mixture"]
"""What ends a test: intervals that no longer overlap, or the evidence of a mixture."""


def mixture_interval(n: float, sigma: float, factor: float, count: float, delta: float) -> float:
    """Return the radius of a normal mixture; it takes the same arguments as the paper's radius.

    As in the paper, a factor of 2 gives an interval for one arm, and a factor of 1 gives half the
    difference at which two arms with `n` units each are told apart.

    >>> round(mixture_interval(100, sigma=1.0, factor=2.0, count=1.0, delta=0.025), 4)
    0.3391
    """
    if n < FIRST_UNITS:
        return math.inf
    return sigma * mixture_boundary(0.5 * factor * n, math.log(count / delta)) / n


def beats(state: FloatArray, leader: int, rival: int, sigma: float, threshold: float) -> bool:
    """Return whether the evidence for the leader against a rival has reached the threshold."""
    upper = state[UPPERS][rival]
    is_enough = upper == -math.inf
    if -math.inf < upper < math.inf:
        units_a, units_b = state[UNITS][leader], state[UNITS][rival]
        product = units_a * units_b
        # The difference of the means, times the product of the units.
        lead = state[TOTALS][leader] * units_b - state[TOTALS][rival] * units_a
        # The log evidence is never above difference^2 / (2 sigma^2 (1/units_a + 1/units_b)).
        needed = 2.0 * threshold * sigma * sigma * product * (units_a + units_b)
        if lead > 0.0 and lead * lead >= needed:
            difference = lead / product / sigma
            is_enough = log_two_arms(difference, units_a, units_b, threshold) >= threshold
    return bool(is_enough)


def decide(state: FloatArray, arms: int, sigma: float, threshold: float) -> int:
    """Return the arm with the highest lower confidence bound if it beats all others."""
    leader = highest(state[LOWERS], arms)
    convinced = state[LOWERS][leader] > -math.inf
    rival = 0
    while convinced and rival < arms:
        if rival != leader:
            convinced = beats(state, leader, rival, sigma, threshold)
        rival += 1
    return leader if convinced else NOBODY


def calibrate_mixture(shape: Shape, error: float | None, delta: float | None) -> Calibration:
    """Return the calibration that divides the error equally among the shape's `sequences`.

    >>> calibrate_mixture(Shape(2.0, 1.0, 2, mixture_interval), 0.05, None).delta
    0.025
    """
    refuse_delta(error, delta)
    assert error is not None
    return Calibration(error / shape.sequences, error, "proven")
