"""The horizon of a test in blocks, and the variance assumed at its start."""

from __future__ import annotations

from dataclasses import dataclass

PRIOR_SQUARES = 25.0
"""Weight of a planned variance, as a sum of squared deviations; a rare conversion adds about 1."""


@dataclass(frozen=True, slots=True)
class Horizon:
    """The end of a test: when the planned effect is `reach` standard errors of its estimate.

    `variance` is the initial assumption for an unknown variance of an outcome, in units of the
    scale; the outcomes correct it. `futility` is the conditional power below which a test is
    futile; 0 for never. A futile test ends, unless the plan only `advises` to end it.
    """

    reach: float
    variance: float | None = None
    futility: float = 0.0
    advises: bool = False

    def prior_for(self, effect: float) -> tuple[float, float]:
        """Return the prior of the variance estimate: a sum of squares and a number of units.

        Their ratio is the planned variance, or 1/4 without one, and at least `effect`.
        """
        if self.variance is None:
            return 1.0, 1.0 / max(0.25, effect)
        return PRIOR_SQUARES, PRIOR_SQUARES / max(self.variance, effect)
