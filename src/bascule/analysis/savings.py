"""Expected savings of a planned adaptive design, compared with the test of a log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from bascule.core.design import Design
from bascule.core.design_parts import ONE_SIDED
from bascule.core.errors import InputError
from bascule.core.outcomes import Gaussian
from bascule.core.rules import Tilt
from bascule.theory.prediction.predict import predict

if TYPE_CHECKING:
    from bascule.analysis.result import Analysis

PLANNED = Tilt(3)
"""Rule of the adaptive design."""

SMALLEST_GAP = 1e-6
"""Minimum difference assumed between arms, in standard deviations."""


@dataclass(frozen=True, slots=True)
class Savings:
    """A test as it was, and its forecast with an adaptive design of at most as many units.

    `units`, `lost` and `days` are those of the test as it was: `lost` is the total loss of all
    units against the best arm, and `days` is None if the log has no dates. The other fields are
    those of the forecast, which takes the observed means for the true ones.
    """

    units: int
    lost: float
    adaptive_units: float
    adaptive_lost: float
    days: int | None = None

    @property
    def adaptive_days(self) -> float | None:
        """Expected number of days of the adaptive test, at the same number of units per day."""
        return None if self.days is None else self.days * self.adaptive_units / self.units


def savings_of(analysis: Analysis) -> Savings | None:
    """Return the expected savings of an adaptive design; None if it cannot be predicted."""
    arms = [arm for arm in analysis.arms if arm.counted > 1 and arm.mean is not None]
    deviations = [arm.deviation or 0.0 for arm in arms]
    units = sum(arm.units for arm in arms)
    if len(arms) < 2 or not units or analysis.cost is None or analysis.withheld:
        return None
    free = sum(arm.counted - 1 for arm in arms)
    squares = sum((arm.counted - 1) * d * d for arm, d in zip(arms, deviations, strict=True))
    sigma = (squares / free) ** 0.5
    if sigma <= 0.0:
        return None
    better = sorted((analysis.design.oriented(arm.mean or 0.0) for arm in arms), reverse=True)
    gaps = [max(better[0] - mean, SMALLEST_GAP * sigma) for mean in better[1:]]
    names = [arm.name for arm in arms]
    design = Design(names, Gaussian(sigma), PLANNED, error=analysis.error, sides=ONE_SIDED)
    try:
        expected = predict(design, gaps, cap=float(units))
    except InputError:
        return None
    days = None
    if analysis.reading.times == "dates" and analysis.first_day and analysis.last_day:
        span = date.fromisoformat(analysis.last_day) - date.fromisoformat(analysis.first_day)
        days = span.days + 1
    taken = min(float(expected.decision_time), float(units))
    return Savings(units, analysis.cost, taken, float(expected.regret), days)
