"""Plan a guarded rollout: its design, its schedule, and the results of simulated rollouts.

The schedule has the share of the traffic that gets a new version, over time. With several new
versions it is their total share. All arms of the test get equally many users, so with K arms the
test has K / (K - 1) times that share of the traffic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bascule.core.calendar import DAY
from bascule.core.design import Design
from bascule.core.design_parts import DEFAULT_HARM_ERROR, Reports
from bascule.core.enrolment.audience import checked_ramp
from bascule.core.errors import InputError, invalid
from bascule.core.inputs import checks
from bascule.core.inputs.checks import amount, tidy
from bascule.core.inputs.serialization import finite_data
from bascule.core.metrics.measure import Measure
from bascule.core.metrics.metric import DIRECTION, Goal, Metric, check_metrics
from bascule.core.outcomes import Gaussian, Outcome
from bascule.core.presenter import Reported, presenter
from bascule.core.rules import Tilt
from bascule.planning.request.checks import arm_names
from bascule.planning.request.options import PLAN
from bascule.planning.request.traffic import Traffic, TrafficSteps
from bascule.simulation import simulate
from bascule.theory.guardrails import metric_spread, units_within_margin

Ramp = Sequence[tuple[float | str, float]]
"""Pairs of a time since the start and the share of the traffic that gets a new version then."""

UNCHANGED = "unchanged"

LOSSES = {"at its margin": 1.0, "worse by twice its margin": 2.0}
"""Loss of a new version on a guardrail in each simulated case, as a multiple of the margin."""

MOST_RUNS, FEWEST_RUNS, DRAWS = 1000, 100, 1e8
"""Maximum and minimum number of simulated rollouts per case, and the number of outcomes drawn in
total, which takes a few seconds; the minimum takes precedence."""


def ramp_of(text: str) -> list[tuple[str, float]]:
    """Parse the steps of a ramp from text.

    >>> ramp_of("0d:1%, 1d:5%")
    [('0d', 0.01), ('1d', 0.05)]
    """
    steps = []
    for step in text.split(","):
        at, colon, share = step.partition(":")
        if not colon:
            raise invalid(f"ramp must be steps such as 0d:1%,1d:5% (got {step!r:.60})")
        steps.append((at.strip(), amount("ramp", share, "5% or 0.05")))
    return steps


@dataclass(frozen=True, slots=True)
class RolloutCase:
    """Result of simulated rollouts in a case; `name` says how the guardrails changed."""

    name: str
    shipped: float
    """Probability that a new version is shipped by the deadline."""
    rolled_back: float
    """Probability that the rollout is rolled back by the deadline."""
    median_days: float
    """Median days of the rollouts that ended by the deadline; nan if none did."""
    p90_days: float
    """Day by which 90 % of the rollouts that ended by the deadline had ended; nan if none did."""
    exposed: float
    """Mean number of users who get a new version before the end or the deadline."""

    @property
    def undecided(self) -> float:
        """Probability that the rollout neither ships nor rolls back by the deadline."""
        # Shares of runs need not add up to 1 exactly.
        return max(0.0, round(1.0 - self.shipped - self.rolled_back, 9))

    @property
    def shown_days(self) -> float:
        """Median days; nan if fewer than half of the rollouts ended."""
        return self.median_days if self.shipped + self.rolled_back >= 0.5 else math.nan


@dataclass(frozen=True, slots=True, repr=False)
class Rollout(Reported):
    """A guarded rollout: its design, its schedule and its forecast."""

    PAGE = "Rollout plan"

    design: Design
    ramp: TrafficSteps
    """Pairs of a time in seconds and the share of the users who get a new version."""
    units_per_day: float
    deadline_days: float
    runs: int
    """Number of simulated rollouts of each case."""
    cases: tuple[RolloutCase, ...]

    @property
    def traffic(self) -> TrafficSteps:
        """The steps of the schedule, each with the share of the traffic that is in the test."""
        return traffic_of(self.ramp, len(self.design.arms))

    @property
    def audience(self) -> dict[str, Any]:
        """The audience of the test as plain data: the ramp of `traffic`, with times in seconds."""
        return {"ramp": [[at, share] for at, share in self.traffic]}

    @property
    def users_needed(self) -> dict[str, float | None]:
        """Expected number of users until each guardrail clears an unchanged version.

        The numbers are rather too high. They are None for guardrails whose spread is unknown.
        """
        design = self.design
        return {
            guardrail.name: units_within_margin(design, guardrail)
            for guardrail in design.guardrails
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        names = ("shipped", "rolled_back", "undecided", "median_days", "p90_days", "exposed")
        return {
            "design": self.design.to_dict(),
            "audience": self.audience,
            "units_per_day": self.units_per_day,
            "deadline_days": self.deadline_days,
            "users_needed": finite_data(self.users_needed),
            "runs": self.runs,
            "cases": {
                case.name: finite_data({name: getattr(case, name) for name in names})
                for case in self.cases
            },
        }

    def report(self) -> Any:
        """Return the report: headline, tables and notes."""
        return presenter("plan.rollout").report(self)


def plan_rollout(
    metrics: Sequence[Metric],
    ramp: Ramp,
    units_per_day: float | str = 5000.0,
    *,
    deadline_days: float | str = 28.0,
    harm_error: float | str = DEFAULT_HARM_ERROR,
    arms: int | Sequence[str] | None = None,
    outcome: Outcome | None = None,
    goal: Goal | None = None,
    measure: Measure | None = None,
    reports: Reports | None = None,
    runs: int | None = None,
    seed: int = 0,
) -> Rollout:
    """Plan a rollout whose guardrails are `metrics`, at the shares of new versions in `ramp`.

    Parameters
    ----------
    metrics
        The guardrails, and secondary metrics.
    ramp
        Pairs of a time since the start, in seconds or as "1d", and the share of the users who get a
        new version, all new versions together. The first time is 0; times increase, and shares
        never fall.
    units_per_day
        New units a day.
    deadline_days
        Days by which the rollout should have ended; they include the longest window.
    harm_error
        Bound on the probability that a version without harm is rolled back.
    arms
        Names of the versions, the present one first, or their number; "present" and "new" if not
        given. Of several new versions the
        first one that every guardrail allows is shipped; in the cases of the plan, all new versions
        are alike.
    outcome
        Outcome model of the primary metric, which is shown and does not decide. If it is not given,
        the primary metric is the first guardrail, whose outcomes are recorded under both names.
    goal
        Goal of the primary metric, "increase" or "decrease".
    measure
        Measure of the primary metric.
    reports
        With "always" every unit reports an outcome, and no window is needed.
    runs
        Number of simulated rollouts of each case; if not given, from 100 to 1,000, as many as take
        a few seconds.
    seed
        Seed of the random numbers.

    Examples
    --------
    >>> import bascule as bs
    >>> latency = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=3)
    >>> ramp = [("0d", 0.01), ("1d", 0.1), ("3d", 0.5)]
    >>> plan = plan_rollout([latency], ramp, 10_000, deadline_days=7, runs=100)
    >>> [case.name for case in plan.cases]
    ['unchanged', 'latency at its margin', 'latency worse by twice its margin']

    """
    names = arm_names(2 if arms is None else arms, None, "present", "new")
    ramp_steps = rollout_steps(ramp, len(names))
    daily = PLAN["units_per_day"].read(units_per_day)
    days = PLAN["deadline_days"].read(deadline_days)
    if runs is not None:
        runs = checks.whole("runs", runs, 1, "1000 is a good start", 100_000)
    listed = [metrics] if isinstance(metrics, Metric) else [*metrics]
    measured = measure or next(
        (metric.measure for metric in listed if isinstance(metric, Metric)), None
    )
    if measured is not None and measured.missing == "exclude":
        raise invalid(
            'outcome and measure of a primary metric are missing: missing="exclude" is for metrics '
            'beside it, so give for example outcome=Bernoulli(), measure=Measure("1d", "any")'
        )
    guardrails = [metric for metric in check_metrics(listed, measured) if metric.is_guardrail]
    if not guardrails:
        raise InputError("metrics", "a rollout needs at least one guardrail: give Metric(...)")
    for metric in guardrails:
        check_spread(metric)
    measures = [
        measure for measure in (measured, *(m.measure for m in listed)) if measure is not None
    ]
    window = max((measure.matures(0.0) / DAY for measure in measures), default=0.0)
    if window >= days:
        raise invalid(
            f"deadline_days ({days:g}) must be longer than the longest window ({window:g} days)"
        )
    traffic = Traffic(daily, traffic_of(ramp_steps, len(names)), window)
    first = guardrails[0]
    design = Design(
        names,
        first.outcome if outcome is None else outcome,
        Tilt(1),
        measure=measured,
        goal=goal or (first.goal if outcome is None else "increase"),
        reports=reports,
        metrics=listed,
        harm_error=PLAN["harm_error"].read(harm_error),
        decides="guardrails",
        max_units=max(6, math.floor(traffic.units_after(days - window))),
    )
    worlds = _worlds(design)
    if runs is None:
        assert design.max_units is not None
        affordable = DRAWS / (len(worlds) * (1 + len(guardrails)) * design.max_units)
        runs = max(FEWEST_RUNS, min(MOST_RUNS, int(affordable)))
    cases = tuple(_case(design, traffic, name, means, runs, seed) for name, means in worlds)
    return Rollout(design, ramp_steps, daily, days, runs, cases)


def _worlds(design: Design) -> list[tuple[str, dict[str, tuple[float, ...]]]]:
    """Return the cases to simulate: for each a name, and the means of all metrics in all arms."""
    new = len(design.arms) - 1
    unchanged = {metric.name: (metric.baseline or 0.0,) * (1 + new) for metric in design.metrics}
    worlds = [(UNCHANGED, unchanged)]
    for metric in design.guardrails:
        base, sign = metric.baseline or 0.0, -DIRECTION[metric.goal]
        worlds += [
            (
                f"{metric.name} {name}",
                {**unchanged, metric.name: (base, *(base + sign * loss,) * new)},
            )
            for name, loss in _losses(metric)
        ]
    return worlds


def _losses(metric: Metric) -> list[tuple[str, float]]:
    """Return the names and the sizes of the losses with which a new version is simulated."""
    assert metric.margin is not None
    losses = [(name, times * metric.margin) for name, times in LOSSES.items()]
    outcome, baseline = metric.outcome, metric.baseline
    if not outcome.limited or baseline is None:
        return losses
    largest = baseline - outcome.low if metric.goal == "increase" else outcome.high - baseline
    possible = [(name, loss) for name, loss in losses if loss <= largest]
    if len(possible) < len(losses):
        possible.append((f"worse by {largest:.3g}, the largest possible loss", largest))
    return possible


def _case(
    design: Design,
    traffic: Traffic,
    name: str,
    means: dict[str, tuple[float, ...]],
    runs: int,
    seed: int,
) -> RolloutCase:
    """Simulate rollouts of one case.

    The primary metric does not decide, so its outcomes do not matter. Outcomes are known at once in
    the simulation; the longest window, in which units are still enrolled, is added to its days.
    """
    metrics = tuple(replace(metric, measure=None) for metric in design.metrics)
    plain: dict[str, Any] = {"goal": "increase", "measure": None, "reports": None}
    played = replace(design, outcome=Gaussian(1.0), metrics=metrics, **plain)
    result = simulate(played, (0.0,) * len(design.arms), runs, seed, metrics=means)
    assert result.guarded is not None
    assert design.max_units is not None
    shipped, harmed = result.winner >= 1, result.guarded.by_harm
    days = traffic.window_days + traffic.days_until(result.decision_time.astype(float))
    exposed = (1.0 - result.share[0]) * np.minimum(design.max_units, traffic.units_by(days))
    ended = days[shipped | harmed]
    median, p90 = np.quantile(ended, (0.5, 0.9)) if len(ended) else (math.nan, math.nan)
    shares = float(shipped.mean()), float(harmed.mean())
    return RolloutCase(name, *shares, float(median), float(p90), float(exposed.mean()))


def check_spread(metric: Metric) -> None:
    """Raise an error if the spread of a guardrail's outcomes is unknown."""
    if metric_spread(metric) is not None:
        return
    if metric.outcome.limited:
        raise invalid(
            f"baseline of {metric.name} is missing: it is the control's mean, which says how much "
            "outcomes within limits differ; write Metric(..., baseline=...)"
        )
    try:
        metric.outcome.noise((metric.baseline or 0.0,)).spread(metric.baseline or 0.0)
    except InputError as error:
        raise InputError(error.field, f"guardrail {metric.name}: {error}") from None


def traffic_of(steps: TrafficSteps, arms: int) -> TrafficSteps:
    """Return steps with the share of the traffic in the test, at most 1.

    `steps` have the share of the traffic that gets one of the new versions.

    >>> traffic_of(((0.0, 0.05), (86400.0, 0.5)), 2)
    ((0.0, 0.1), (86400.0, 1.0))
    >>> traffic_of(((0.0, 0.05), (86400.0, 0.667)), 3)
    ((0.0, 0.075), (86400.0, 1.0))
    """
    return tuple((at, min(1.0, tidy(share * arms / (arms - 1)))) for at, share in steps)


def rollout_steps(ramp: object, arms: int = 2) -> TrafficSteps:
    """Return the steps of a ramp, in seconds; raise an error if they do not rise from 0."""
    steps, largest = checked_ramp(ramp), round((arms - 1) / arms, 3)
    if not steps or steps[0][0] != 0.0:
        raise invalid(f"ramp must begin at 0 (got {ramp!r:.60}): begin with 0d")
    wrong = next((share for _, share in steps if not 0.0 < share <= largest), None)
    if wrong is not None:
        raise InputError(
            "ramp",
            f"shares of a ramp of {arms} arms must be above 0 and at most {largest:g} (got "
            f"{wrong:g}): "
            "a share is that of all new versions together, and the old version needs as many users "
            "as each new one, for comparison, until the end",
        )
    return steps
