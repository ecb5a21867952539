"""What a test is worth to everyone it is for: the units of the test and those that come after it.

A population of N units meets the test and what follows from it. Against giving all of them the best
arm, a test loses its regret; then `gap` for each unit that comes after it, if it has ended with a
wrong decision, or without one while the control is the worse arm; and `switch_cost` whenever it
changes from the control to another arm. Three truths are taken to be equally likely: the lift as
requested, the opposite, and none. docs/research/planning.md has the formula.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from bascule.planning.forecast import Forecast
from bascule.planning.request.request import PlanRequest

TRUTHS = 3
"""As requested, the opposite, and no difference."""


@dataclass(frozen=True, slots=True)
class Value:
    """What the population is expected to lose against always having had the best arm.

    `during` is the cost of the test, `after` what wrong and missing decisions cost later, and
    `switching` what changes to another arm cost; `gain` is what is gained over keeping the control,
    all averaged over the three truths.
    """

    during: float
    after: float
    switching: float
    gain: float

    @property
    def loss(self) -> float:
        """All that is lost."""
        return self.during + self.after + self.switching

    def to_dict(self) -> dict[str, Any]:
        """Return the value as plain data."""
        return {
            "loss": self.loss,
            "during": self.during,
            "after": self.after,
            "switching": self.switching,
            "gain": self.gain,
        }


def value_of(request: PlanRequest, expected: Forecast, zero: Forecast | None) -> Value | None:
    """Return what a design is worth to a population; None without one.

    >>> from bascule.simulation import Estimate
    >>> e = lambda value: Estimate(value, math.nan)
    >>> seen = Forecast(e(4.0), 4.0, 8.0, e(60.0), e(0.9), e(0.0))
    >>> found = value_of(PlanRequest(population=100_000), seen, None)
    >>> round(found.during), round(found.after), round(found.gain)
    (40, 27, 267)
    """
    if request.population is None:
        return None
    wrong = expected.wrong.mean if math.isfinite(expected.wrong.mean) else 0.0
    undecided = 1.0 - expected.decided.mean
    left = max(0.0, request.population - expected.days.mean * request.units_per_day)
    arms = len(request.names)
    # Equal arms win equally often; an error that is not known is taken as the largest there is.
    chance = min(1.0, 2.0 * request.side_error) if zero is None else zero.decided.mean
    switched = (1.0 - undecided - wrong) + wrong + chance * (arms - 1) / arms
    during = 2.0 * expected.cost.mean / TRUTHS
    after = request.gap * left * (2.0 * wrong + undecided) / TRUTHS
    switching = (request.switch_cost or 0.0) * switched / TRUTHS
    whole = request.gap * request.population / TRUTHS
    return Value(during, after, switching, whole - during - after - switching)
