"""The units of a rollout: new ones at a steady rate, or a finite number of returning users."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.inputs import checks
from bascule.core.metrics.measure import SECONDS
from bascule.core.metrics.metric import Metric
from bascule.core.numerics import smallest
from bascule.planning.ramp import RampSteps
from bascule.theory.guardrails import units_within_margin

LONGEST_DAYS = 1e6


@dataclass(frozen=True, slots=True)
class Steady:
    """New units at a steady rate. Each of the `steps` has the share of the traffic in the test.

    >>> Steady(1000.0).units_after(((0.0, 0.1), (86400.0, 1.0)), 2.0)
    1100.0
    """

    units_per_day: float

    @property
    def words(self) -> str:
        """The traffic in a few words."""
        return f"{self.units_per_day:,.6g} units a day"

    def units_after(self, steps: RampSteps, days: float) -> float:
        """Return how many units are in the test by then."""
        return sum(
            speed * (min(days, end) - start)
            for start, end, speed in self._parts(steps)
            if days > start
        )

    def days_until(self, steps: RampSteps, units: float) -> float:
        """Return after how many days a number of units is in the test."""
        total = 0.0
        for start, end, speed in self._parts(steps):
            more = speed * (end - start)
            if total + more >= units:
                return start + (units - total) / speed
            total += more
        return math.inf

    def _parts(self, steps: RampSteps) -> list[tuple[float, float, float]]:
        """The first and the last day of each step, and the units a day that it brings."""
        starts = [at / SECONDS["d"] for at, _ in steps]
        ends = [*starts[1:], math.inf]
        speeds = [share * self.units_per_day for _, share in steps]
        return list(zip(starts, ends, speeds, strict=True))


@dataclass(frozen=True, slots=True)
class Returning:
    """Users who come back: how many are active, and how many requests they make a day in all.

    Activity differs from user to user as exponential times do: a few users make many requests. So
    `users * x / (1 + x)` of them have come after `x` requests a user, and the rest come ever more
    slowly. Requests are those that count, such as the judged ones. `alike` is the share of the
    variance of a request's outcome that lies between users.

    >>> crowd = Returning(3000, 20_000)
    >>> round(crowd.come(1.0)), round(crowd.come(28.0))
    (2609, 2984)
    """

    users: float
    requests_per_day: float
    alike: float = 0.05

    def __post_init__(self) -> None:
        checks.accept(self, "users", checks.positive, "it is how many users are active")
        checks.accept(self, "requests_per_day", checks.positive, "those of all users together")
        if not 0.0 <= checks.finite("alike", self.alike, "0.05 is usual") < 1.0:
            raise InputError("alike", f"alike must lie between 0 and 1 (got {self.alike:g})")

    @property
    def words(self) -> str:
        """The traffic in a few words."""
        return (
            f"{self.users:,.6g} active users who make {self.requests_per_day:,.6g} requests a day, "
            f"{self.a_day:.3g} each"
        )

    @property
    def a_day(self) -> float:
        """Requests of a user a day."""
        return self.requests_per_day / self.users

    def come(self, days: float) -> float:
        """Return how many users have come at least once within some days."""
        passed = self.a_day * max(0.0, days)
        return self.users * passed / (1.0 + passed)

    def units_after(self, steps: RampSteps, days: float) -> float:
        """Return how many users are in the test by then."""
        before, total = 0.0, 0.0
        for at, share in steps:
            total += (share - before) * self.come(days - at / SECONDS["d"])
            before = share
        return total

    def days_until(self, steps: RampSteps, units: float) -> float:
        """Return after how many days a number of users is in the test; infinite if never."""
        if units >= steps[-1][1] * self.users:
            return math.inf
        return smallest(lambda days: self.units_after(steps, days) >= units, 0.0, LONGEST_DAYS)

    def requests_in(self, days: float) -> float:
        """Return the requests of a user within a window of some days."""
        return self.a_day * days

    def spread(self, rate: float, days: float) -> float:
        """Return the spread over users of a share with this mean, within a window of some days.

        It is that of `(n - rate * d) / mean(d)`, and does not fall below what users differ by,
        however long the window is.

        >>> crowd = Returning(3000, 20_000)
        >>> round(crowd.spread(0.8, 1.0), 3), round(crowd.spread(0.8, 14.0), 3)
        (0.2, 0.133)
        """
        return math.sqrt(rate * (1.0 - rate) * (1.0 / self.requests_in(days) + 2.0 * self.alike))

    def expected(self, metric: Metric) -> Metric:
        """Return a metric of shares with the spread to expect in its window, where it has none."""
        outcome, measure, rate = metric.outcome, metric.measure, metric.baseline
        if not outcome.pairs or outcome.variance(0.0) is not None:
            return metric
        if measure is None or measure.window is None:
            raise InputError(
                "window", f"metric {metric.name} needs a window where users come back: window 1d"
            )
        if rate is None or not 0.0 < rate < 1.0:
            raise InputError(
                "baseline",
                f"baseline of {metric.name} must be a share between 0 and 1 (got {rate}): it says "
                "how much users differ; of other ratios give the spread, as in Ratio(spread=0.3)",
            )
        spread = self.spread(rate, float(measure.window) / SECONDS["d"])
        return replace(metric, outcome=outcome.expecting(spread))

    def users_needed(self, design: Design, days: float) -> float:
        """Return the users that all guardrails need, with windows of some days."""
        needs = [
            units_within_margin(design, self._with_window(metric, days))
            for metric in design.guardrails
        ]
        return max((need for need in needs if need is not None), default=math.nan)

    def _with_window(self, metric: Metric, days: float) -> Metric:
        """Return a metric with another window, where its spread was not given but expected."""
        outcome, measure, rate = metric.outcome, metric.measure, metric.baseline
        if not outcome.pairs or rate is None or measure is None:
            return metric
        was = self.spread(rate, float(measure.window or 0.0) / SECONDS["d"])
        if outcome.variance(rate) != was**2:
            return metric
        changed: Any = replace(outcome, spread=self.spread(rate, days))  # type: ignore[type-var]
        return replace(metric, outcome=changed)


Arrivals = Steady | Returning
"""Who comes into a rollout."""
