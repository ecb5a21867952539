"""Where a test in blocks ends, and what is assumed of its outcomes at first."""

from __future__ import annotations

from dataclasses import dataclass

PRIOR_SQUARES = 25.0
"""The conversions that a variance counts for which follows from a planned baseline."""


@dataclass(frozen=True, slots=True)
class Horizon:
    """Where a test ends: when the planned effect is `reach` standard errors of its estimate.

    `variance` is what is assumed of an outcome's variance at first, in units of the scale, where it
    is not known; the outcomes correct it. `futility` is the conditional power below which a test
    is futile; 0 for never. Such a test ends, unless the plan only `advises` to end it.
    """

    reach: float
    variance: float | None = None
    futility: float = 0.0
    advises: bool = False

    def prior_for(self, effect: float) -> tuple[float, float]:
        """The sum of squares and the units that the variance starts with, at least so large."""
        if self.variance is None:
            return 1.0, 1.0 / max(0.25, effect)
        return PRIOR_SQUARES, PRIOR_SQUARES / max(self.variance, effect)
