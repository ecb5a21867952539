"""What every rule of the i.i.d. setting tells the rest of the package about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from bascule.core.outcomes import Outcome
from bascule.core.procedures.interval_state import Steps, Within
from bascule.core.rules.calibration import Calibration, level_for, peel
from bascule.core.rules.radius import Radius, radius
from bascule.core.rules.units import UnitShape

SpreadOf = Callable[[float, float, float, float, float, float], float]
"""(units, total, squares, sigma, low, high) -> what an arm's radius needs to know of its spread."""


def known_spread(
    units: float,
    total: float,
    squares: float,
    sigma: float,
    low: float,
    high: float,
) -> float:
    """The sigma of the outcome model, whatever the outcomes look like."""
    return sigma


@dataclass(frozen=True, slots=True)
class Shape:
    """Which radius a rule uses and how its proof adds up.

    The radius is given (units, spread, factor, count, delta), its spread comes from `spread_of`.

    `factor` and `count` shape the radius; the proven error is `sequences * peel(delta / count)`
    with the paper's radius and `sequences * delta` with that of a mixture.
    """

    factor: float
    count: float
    sequences: int
    radius: Radius = radius
    spread_of: SpreadOf = known_spread


class Rule(Protocol):
    """Allocation with stopping: who gets the next unit, and is there a decision."""

    @property
    def kind(self) -> str:
        """The name the rule has in a design file and on the command line."""

    @property
    def label(self) -> str:
        """The name the rule has in tables and figures."""

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        """What a design with this rule promises, given one of `error` and `delta`."""

    def check_outcome(self, outcome: Outcome) -> None:
        """Raise if the rule cannot be used with such outcomes, and say what to use instead."""

    def check_size(self, arms: int, max_units: int | None) -> None:
        """Raise if the rule must not run with so many arms, or with this cap on units or none."""


class IntervalRule(Rule, Protocol):
    """A rule that compares the intervals of the arms, as the paper's do."""

    @property
    def alpha(self) -> float:
        """The knob between regret (1) and decision time (infinity)."""

    def shape(self, outcome: Outcome, arms: int) -> Shape:
        """The radius and the proof for a test of this many arms."""

    def unit_shape(self, arms: int) -> UnitShape:
        """The same for units whose outcomes keep coming."""

    def steps(self) -> Steps:
        """The functions that allocate and stop."""

    def within(self) -> Within:
        """The function that finds all differences smaller than what matters."""


@lru_cache(maxsize=1024)
def calibrate_intervals(shape: Shape, error: float | None, delta: float | None) -> Calibration:
    """The calibration of a rule that compares intervals, by peeling.

    >>> round(calibrate_intervals(Shape(2.0, 3.0, 2), 0.05, None).delta, 3)
    0.017
    """
    if delta is not None:
        proven = min(1.0, shape.sequences * peel(delta / shape.count))
        return Calibration(delta, proven, "proven" if proven < 1 else "as published")
    assert error is not None
    return Calibration(shape.count * level_for(error / shape.sequences), error, "proven")
