"""Comparisons of two rules, with the tolerance that their standard errors give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bascule.core.procedures.interval_state import FloatArray
from bascule.paper.measure import Measurements, Quantity
from bascule.simulation import Estimate

MARGIN = 3.0
"""Standard errors that a difference needs before it counts."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """By how much one rule stays below another, at each log(1/delta) and on average over them.

    >>> one = Comparison("UCB_2", "ETC", "regret", (2.0, 4.0), (Estimate(-1, 0.1), Estimate(9, 1)),
    ...                  Estimate(4, 0.5))
    >>> one.holds, one.against, one.shown
    (False, (2.0,), (4.0,))
    """

    lower: str
    higher: str
    quantity: Quantity
    grid: tuple[float, ...]
    margins: tuple[Estimate, ...]
    average: Estimate

    @property
    def against(self) -> tuple[float, ...]:
        """Where the opposite is shown."""
        pairs = zip(self.grid, self.margins, strict=True)
        return tuple(level for level, margin in pairs if margin.mean < -MARGIN * margin.se)

    @property
    def shown(self) -> tuple[float, ...]:
        """Where it is shown."""
        pairs = zip(self.grid, self.margins, strict=True)
        return tuple(level for level, margin in pairs if margin.mean > MARGIN * margin.se)

    @property
    def holds(self) -> bool:
        """No point shows the opposite, and the average over all points shows it."""
        return not self.against and self.average.mean > MARGIN * self.average.se


def below(
    measurements: Measurements, quantity: Quantity, lower: str, higher: str, grid: Sequence[float]
) -> Comparison:
    """How far `lower` stays below `higher`, run against run."""
    above, under = _paired(
        measurements.runs_of(quantity, higher, grid), measurements.runs_of(quantity, lower, grid)
    )
    distance = above - under
    return Comparison(
        lower,
        higher,
        quantity,
        tuple(grid),
        tuple(Estimate.of(row) for row in distance),
        Estimate.of(distance.mean(axis=0)),
    )


def ratio(
    measurements: Measurements, quantity: Quantity, over: str, under: str, level: float
) -> Estimate:
    """The mean of `over` divided by that of `under` at one log(1/delta), by the delta method."""
    (top,), (bottom,) = _paired(
        measurements.runs_of(quantity, over, [level]),
        measurements.runs_of(quantity, under, [level]),
    )
    value = float(np.mean(top) / np.mean(bottom))
    return Estimate(value, Estimate.of(top - value * bottom).se / float(np.mean(bottom)))


def _paired(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The runs that both have."""
    runs = min(first.shape[1], second.shape[1])
    return first[:, :runs], second[:, :runs]


def near(estimate: Estimate, target: float, share: float) -> bool:
    """Whether an estimate lies within a share of its target, give or take its margin.

    >>> near(Estimate(0.47, 0.005), 0.5, 0.05), near(Estimate(0.42, 0.005), 0.5, 0.1)
    (True, False)
    """
    return abs(estimate.mean - target) <= share * target + MARGIN * estimate.se
