"""The fixed-horizon test: sample size by a power calculation, and a single look.

Of K arms each gets `n = (z(1 - p / (K - 1)) + z(power))^2 (s_1^2 + s_2^2) / gap^2` units. Here z is
the quantile function of the standard normal distribution, s_1 and s_2 are the spreads of the best
arm and of its nearest rival, and p is `error` with `sides=1` and half of it with `sides=2`. The
better average wins if it is ahead by z(1 - p / (K - 1)) standard errors. The test declares a worse
arm with a probability of at most p, as the designs of a plan do, but by the normal approximation
and at that one look only. With a covariate, n is multiplied by the share of the variance that the
covariate does not explain. If outcomes recur, n is converted into units by the information of all
outcomes of a unit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

from bascule.core.inputs.serialization import finite_data
from bascule.planning.request.request import PlanRequest
from bascule.theory.solve import clock_until

ROUNDS = 50
"""Number of iterations, more than needed, that find the units of a test and its duration."""


@dataclass(frozen=True, slots=True)
class FixedHorizon:
    """A fixed-horizon test: units per arm, days until its single look, and its cost."""

    units_per_arm: int
    days: float
    """Days until its single look, when the conversion window of the last unit has closed."""
    cost: float
    """Loss until its look, compared with giving every unit the best arm."""
    power: float
    """Probability of finding the lift."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        data: dict[str, Any] = finite_data(self)
        return {"expected_days": data.pop("days"), "expected_cost": data.pop("cost"), **data}


@lru_cache(maxsize=64)
def fixed_horizon(request: PlanRequest) -> FixedHorizon:
    """Return the fixed-horizon test with the error, sides and power of the request.

    >>> test = fixed_horizon(PlanRequest())
    >>> test.units_per_arm, round(test.days, 2), round(test.cost)
    (10918, 4.37, 109)
    >>> fixed_horizon(PlanRequest(sides=1)).units_per_arm
    8898
    """
    arms, quantile = len(request.names), NormalDist().inv_cdf
    level = quantile(1 - request.side_error / (arms - 1)) + quantile(request.power)
    spread = _variance(request, request.best) + _variance(request, request.rival)
    wanted = max(0.0, level) ** 2 * request.unexplained * spread / request.gap**2
    units = max(1, math.ceil(_units_for(request, wanted)))
    days = request.announced_days(request.traffic.known_after(arms * units))
    cost = units * sum(request.gaps)
    return FixedHorizon(units, days, cost, request.power)


def _variance(request: PlanRequest, mean: float) -> float:
    known = request.played_outcome.variance(mean)
    return (request.spread or request.usual_spread) ** 2 if known is None else known


def _units_for(request: PlanRequest, wanted: float) -> float:
    """Return the units per arm that give the information of `wanted` units with one outcome each.

    If outcomes recur, early units have given more outcomes: the information of a unit depends on
    the duration of the test, and the duration on the number of units.
    """
    outcome = request.played_outcome
    if not outcome.recurring:
        return wanted
    arms, units = len(request.names), wanted
    for _ in range(ROUNDS):
        stages = arms * units
        # The mean information of a unit, if units arrive at a constant rate over these stages.
        clock_each = (clock_until(stages + 0.5, outcome) - clock_until(0.5, outcome)) / stages
        units = wanted / clock_each
    return units
