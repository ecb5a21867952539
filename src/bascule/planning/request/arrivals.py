"""The units of a test: new ones at a steady rate, or a finite number of returning users."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bascule.core.calendar import DAY
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.inputs import checks
from bascule.core.inputs.checks import tidy
from bascule.core.metrics.metric import Metric
from bascule.core.outcomes import Outcome
from bascule.core.types import FloatArray
from bascule.theory.guardrails import units_within_margin

LONGEST_DAYS, HALVINGS = 1e6, 60
"""The longest time that `days_until` searches, in days, and its number of bisection steps."""

TrafficSteps = tuple[tuple[float, float], ...]
"""Pairs of seconds since the start and the share of the traffic from then on, in order."""


@dataclass(frozen=True, slots=True)
class Steady:
    """New units at a steady rate. Each of the `steps` has the share of the traffic in the test.

    >>> Steady(1000.0).units_after(((0.0, 0.1), (86400.0, 1.0)), np.array([1.0, 2.0])).tolist()
    [100.0, 1100.0]
    """

    units_per_day: float

    @property
    def words(self) -> str:
        """The traffic in a few words."""
        units = self.units_per_day
        return f"{units:,.0f} units a day" if units >= 1000 else f"{units:.6g} units a day"

    def units_after(self, steps: TrafficSteps, days: FloatArray) -> FloatArray:
        """Return how many units are in the test after numbers of days."""
        units = np.zeros_like(days)
        for start, end, speed in self._parts(steps):
            units = units + speed * (np.clip(days, start, end) - start)
        return units

    def days_until(self, steps: TrafficSteps, units: FloatArray) -> FloatArray:
        """Return after how many days numbers of units are in the test."""
        days, total = np.zeros_like(units), 0.0
        for start, end, speed in self._parts(steps):
            days = np.where(units > total, start + (units - total) / speed, days)
            total += speed * (end - start)
        return days

    def scaled(self, factor: float) -> float:
        """Return this many times the traffic, as units a day."""
        return self.units_per_day * factor

    def daily(self, window_days: float) -> float:  # noqa: ARG002
        """Return how many units a day would have the better arm if all traffic had it."""
        return self.units_per_day

    def expected(self, metric: Metric, window: float | str | None = None) -> Metric:  # noqa: ARG002
        """Return the metric unchanged, because the spread of new units is not known."""
        return metric

    def spread_in(self, outcome: Outcome, *about: object) -> Outcome:  # noqa: ARG002
        """Return the model unchanged, because the spread of new units is not known."""
        return outcome

    def _parts(self, steps: TrafficSteps) -> list[tuple[float, float, float]]:
        """The first and the last day of each step, and the units a day that it brings."""
        starts = [at / DAY for at, _ in steps]
        until = [*starts[1:], math.inf]
        speeds = [tidy(share * self.units_per_day) for _, share in steps]
        return list(zip(starts, until, speeds, strict=True))


@dataclass(frozen=True, slots=True)
class Returning:
    """Users who come back: how many are active, and how many requests they make a day in all.

    Activity differs from user to user as exponential times do: a few users make many requests. So
    `users * x / (1 + x)` of them have come after `x` requests a user, and the rest come ever more
    slowly. Requests are those that count, such as the judged ones. `alike` is the share of the
    variance of a request's outcome that lies between users.

    >>> crowd = Returning(3000, 20_000)
    >>> crowd.come(np.array([1.0, 28.0])).round().tolist()
    [2609.0, 2984.0]
    """

    users: float
    requests_per_day: float
    alike: float = 0.05

    def __post_init__(self) -> None:
        checks.accept(self, "users", checks.positive, "it is how many users are active")
        remedy = "it is the number of requests of all users together"
        checks.accept(self, "requests_per_day", checks.positive, remedy)
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

    def come(self, days: FloatArray | float) -> FloatArray:
        """Return how many users have come at least once within some days."""
        passed = self.a_day * np.maximum(0.0, days)
        return np.asarray(self.users * passed / (1.0 + passed))

    def units_after(self, steps: TrafficSteps, days: FloatArray) -> FloatArray:
        """Return how many users are in the test after numbers of days."""
        before, total = 0.0, np.zeros_like(days)
        for at, share in steps:
            total = total + (share - before) * self.come(days - at / DAY)
            before = share
        return total

    def days_until(self, steps: TrafficSteps, units: FloatArray) -> FloatArray:
        """Return after how many days numbers of users are in the test; infinite if never."""
        low, high = np.zeros_like(units), np.full_like(units, LONGEST_DAYS)
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            enough = self.units_after(steps, middle) >= units
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return np.where(units < steps[-1][1] * self.users, high, math.inf)

    def scaled(self, factor: float) -> Returning:
        """Return this many times the users, each of whom makes as many requests."""
        return replace(
            self, users=self.users * factor, requests_per_day=self.requests_per_day * factor
        )

    def daily(self, window_days: float) -> float:
        """Return how many units a day would have the better arm if all traffic had it.

        A unit is the requests of a user within the window, or the first request without one.
        """
        return self.users / window_days if window_days else self.requests_per_day

    def requests_in(self, days: float) -> float:
        """Return the requests of a user within a window of some days, which begins with one."""
        return 1.0 + self.a_day * days

    def spread(self, rate: float, days: float) -> float:
        """Return the spread over users of a share with this mean, within a window of some days.

        It is that of `(n - rate * d) / mean(d)`, and does not fall below what users differ by,
        however long the window is. The most active users come first, and spread a little less.

        >>> crowd = Returning(3000, 20_000)
        >>> round(crowd.spread(0.8, 1.0), 3), round(crowd.spread(0.8, 14.0), 3)
        (0.187, 0.132)
        """
        alone = 1.0 / self.requests_in(days)
        return math.sqrt(rate * (1.0 - rate) * (alone + 2.0 * self.alike * (1.0 - alone)))

    def expected(self, metric: Metric, window: float | str | None = None) -> Metric:
        """Return a metric of shares with the spread to expect in its window, where it has none.

        A metric without a measure has the window that is given, in seconds.
        """
        length = window if metric.measure is None else metric.measure.window
        outcome = self.spread_in(metric.outcome, metric.baseline, length, f"metric {metric.name}")
        return metric if outcome is metric.outcome else replace(metric, outcome=outcome)

    def spread_in(
        self, outcome: Outcome, rate: float | None, window: float | str | None, name: str
    ) -> Outcome:
        """Return the model of a share with the spread to expect in a window, where it has none."""
        if not outcome.pairs or outcome.variance(0.0) is not None:
            return outcome
        if window is None:
            raise InputError(
                "window", f"{name} has no window, and users who come back need one: add 1d, say"
            )
        if rate is None or not 0.0 < rate < 1.0:
            raise InputError(
                "baseline",
                f"baseline of {name} must be a share between 0 and 1 (got {rate}): it says how "
                "much users differ; of other ratios give the spread, as in Ratio(spread=0.3)",
            )
        expected: Any = outcome.expecting(self.spread(rate, float(window) / DAY))
        share = True if expected.is_share is None else expected.is_share
        return replace(expected, is_share=share)  # type: ignore[no-any-return]

    def users_needed(self, design: Design, days: float, least: float = math.nan) -> float:
        """Return the users that all guardrails need, with windows of some days; or the least."""
        needs = [
            units_within_margin(design, self._with_window(metric, days))
            for metric in design.guardrails
        ]
        return max((need for need in needs if need is not None), default=least)

    def _with_window(self, metric: Metric, days: float) -> Metric:
        """Return a metric with another window, where its spread was not given but expected."""
        if metric.measure is None or metric.measure.window is None:
            return metric
        was = float(metric.measure.window) / DAY
        return replace(metric, outcome=self.respread(metric.outcome, metric.baseline, was, days))

    def respread(self, outcome: Outcome, rate: float | None, was: float, days: float) -> Outcome:
        """Return the model in a window of some days, if its spread was that to expect before."""
        if not outcome.pairs or rate is None or not was:
            return outcome
        if outcome.variance(rate) != self.spread(rate, was) ** 2:
            return outcome
        changed: Any = replace(outcome, spread=self.spread(rate, days))  # type: ignore[type-var]
        return changed  # type: ignore[no-any-return]


Arrivals = Steady | Returning
"""Who comes into a test."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Who comes, which share of them gets in, and when the outcome of one is known.

    >>> Traffic(Steady(5000.0), ((0.0, 0.3),), 7.0).known_after(3000)
    9.0
    """

    arrivals: Arrivals
    """Who comes."""
    steps: TrafficSteps
    """The share of them that gets in, from when on."""
    window_days: float
    """Days until the outcome of one is known."""

    @property
    def steady(self) -> float | None:
        """Units that get in each day at first if new ones keep coming; None for returning users."""
        arrivals, share = self.arrivals, self.steps[0][1]
        return tidy(share * arrivals.units_per_day) if isinstance(arrivals, Steady) else None

    def units_by(self, days: FloatArray) -> FloatArray:
        """Return how many units are enrolled after numbers of days, if enrolment goes on."""
        return np.asarray(self.arrivals.units_after(self.steps, days))

    def units_after(self, days: float) -> float:
        """Return how many units are enrolled by then, if enrolment goes on."""
        return self.units_by(np.asarray(days, np.float64)).item()

    def days_until(self, units: FloatArray | float) -> FloatArray:
        """Return after how many days numbers of units are enrolled; infinite if never."""
        counts = np.asarray(units, np.float64)
        return np.asarray(self.arrivals.days_until(self.steps, counts))

    def known_after(self, units: float) -> float:
        """Return after how many days the outcomes of a number of units are known."""
        return self.days_until(units).item() + self.window_days

    def days_at(self, arrived: FloatArray, enrolled: FloatArray) -> FloatArray:
        """Convert the ends of simulated tests from arrived units to days.

        A simulation measures time in arrived units: every window lasts for as many units as arrive
        in the first one. Users who come back arrive ever more slowly, and none is lost while
        enrolment is closed. So a test takes as many windows as in the simulation, or longer if the
        last enrolled user arrives later, whose outcome has to be known too.
        """
        if not self.window_days or self.steady is not None:
            return self.days_until(arrived)
        waiting = math.ceil(self.units_after(self.window_days))
        windows, more = np.divmod(arrived, float(waiting))
        last = np.clip(arrived - waiting, 0.0, enrolled)
        least = windows * self.window_days + self.days_until(more)
        return np.maximum(least, self.window_days + self.days_until(last))
