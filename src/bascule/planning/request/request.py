"""The request that a plan answers, checked before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

from bascule.core.calendar import DAY, announced_after
from bascule.core.covariates.model import Covariate
from bascule.core.design import MOST_UNITS, Design
from bascule.core.design_fields import DEFAULT_ERROR
from bascule.core.design_parts import check_kind, checked_sides, cost_unit
from bascule.core.errors import InputError
from bascule.core.evidence.radius import FIRST_UNITS
from bascule.core.gaps import rival_gaps
from bascule.core.inputs.written_numbers import amount, tidy
from bascule.core.metrics.measure import Measure
from bascule.core.metrics.metric import Goal, Metric
from bascule.core.options import check_given
from bascule.core.outcomes import OUTCOMES, Bernoulli, Beta, Outcome, Recurrent
from bascule.core.procedures.blocks.signals import EarlySignals
from bascule.planning.request.arrivals import Arrivals, Returning, Steady, Traffic
from bascule.planning.request.checks import (
    arm_names,
    check_calendar,
    check_deadline,
    check_means,
    check_returning,
    checked_covariate,
    checked_delay,
    checked_metrics,
    checked_rate,
    checked_spread,
    checked_window,
    lifts_of,
)
from bascule.planning.request.options import PLAN, AcceptedGuarantee, Lift
from bascule.planning.request.sample import Sample
from bascule.simulation import Delay, World
from bascule.simulation.worlds.world import MOST_UNDER_WAY

BASELINE, LIFT = 0.05, "20%"
"""The question that is answered when none is asked: 5 % against 6 %."""

ZERO_OR_ONE = Bernoulli()
LEAST_POWER, MOST_POWER, MOST_ERROR = 0.5, 0.999, 0.5


AS_GIVEN = ("outcome", "arms")
"""Options whose value is not only a number or a word: a model, and names of arms."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a plan has to find: outcome model, baseline, lift (minimum detectable effect), traffic.

    >>> PlanRequest().means
    (0.05, 0.06)
    >>> PlanRequest(lift="-10%").means
    (0.05, 0.045)
    """

    outcome: Outcome = ZERO_OR_ONE
    """The outcome model."""
    baseline: float = BASELINE
    """Mean of the first arm."""
    lift: Lift = LIFT
    """Difference of a new arm from the baseline, in outcome units or as text such as "10%". A list
    has one for each arm after the first. A single lift is that of the second arm, or of all new
    arms if it makes them worse."""
    arms: int | Sequence[str] | None = None
    """Number of arms, or their names."""
    error: float = DEFAULT_ERROR
    """Bound on the probability that either of two equal arms wins (with `sides=1`, a worse arm)."""
    units_per_day: float | Returning = 5000.0
    """New units a day, of all arms together, or `Returning(users, requests_per_day)` for users who
    come back: no more than these can be enrolled. Ratios that are shares then need no spread."""
    deadline_days: float = 28.0
    """Days by which a decision is needed."""
    window: float | str | None = None
    """How long a unit's events count, in seconds or as "7d"; its outcome is then known. No unit is
    enrolled whose window would close after the deadline."""
    share: float = 1.0
    """Share of the traffic that gets into the test."""
    min_days: float | None = None
    """Days that the test lasts at least before a decision is announced."""
    whole_weeks: bool = False
    """Whether a decision is announced only after a whole number of weeks."""
    delay: float | str | None = None
    """How long a conversion takes on average."""
    early_signals: EarlySignals | None = None
    """Whether conversions of open windows affect the next blocks."""
    waiting_cost: float | None = None
    """What a day of waiting costs, in outcome units."""
    spread: float | None = None
    """Standard deviation to expect of outcomes within limits."""
    outcomes_per_day: float | None = None
    """Outcomes of each unit a day, where outcomes recur."""
    covariate: Covariate | str | None = None
    """A `Covariate` known of each unit before its assignment, or its name."""
    correlation: float = 0.0
    """Correlation of the covariate with the outcome."""
    sample: Sample | None = None
    """Earlier outcomes, from which the baseline and the spread were taken."""
    goal: Goal = "increase"
    """With "decrease" the lowest mean is the best, and a lift is usually negative."""
    control: str | None = None
    """Name of the control; the first arm if not given."""
    sides: int | None = None
    """2 for a two-sided error, 1 for a one-sided one."""
    metrics: Sequence[Metric] = ()
    """Guardrails and secondary metrics of the design."""
    harm_error: float = DEFAULT_ERROR
    """Bound on the probability that an arm without harm is removed."""
    guarantee: AcceptedGuarantee = "proven"
    """The weakest guarantee that is accepted: "proven", "gaussian" or "asymptotic"."""
    power: float = 0.9
    """Probability of a decision by the deadline if the lift is as requested."""
    futility: float | None = None
    """End designs with a horizon early, once the probability of finding the lift is below this."""

    def __post_init__(self) -> None:
        check_kind("outcome", self.outcome, Outcome, ", ".join(m.example for m in OUTCOMES))
        put = object.__setattr__
        check_given(PLAN, [name for name in PLAN if name != "cap" and getattr(self, name)])
        for name, option in PLAN.items():
            if name in AS_GIVEN or not (option.numeric or option.kind == "choice"):
                continue
            given = getattr(self, name, None)
            if given is not None and not isinstance(given, Returning):
                put(self, name, option.read(given))
        put(self, "baseline", amount("baseline", self.baseline, "it is the mean of the first arm"))
        put(self, "sides", checked_sides(self.sides))
        put(self, "window", checked_window(self.outcome, self.window))
        put(self, "delay", checked_delay(self.outcome, self.window, self.delay))
        if not LEAST_POWER <= self.power <= MOST_POWER:
            raise InputError(
                "power",
                f"power must lie between {LEAST_POWER:g} and {MOST_POWER:g} (got {self.power:g}): "
                "it is the probability of a decision by the deadline; 0.9 is usual",
            )
        if self.error >= MOST_ERROR:
            raise InputError(
                "error",
                f"error must be below {MOST_ERROR:g} (got {self.error:g}): a coin is wrong that "
                "often; 0.05 is usual",
            )
        if self.futility is not None and self.futility >= self.power:
            raise InputError(
                "futility",
                f"futility must be below power, {self.power:g} (got {self.futility:g})",
            )
        if self.share > 1.0:
            raise InputError(
                "share", f"share must be at most 1 (got {self.share:g}): 30 % is 0.3, or 30%"
            )
        put(self, "arms", arm_names(self.arms, self.lift))
        put(self, "metrics", checked_metrics(self.metrics, self.window))
        if self.traffic.steady is None:
            check_returning(self.outcome, self.delay)
        parts = (self.outcome, self.baseline, self.window)
        put(self, "outcome", self.arrivals.spread_in(*parts, "the primary metric"))
        expected = (self.arrivals.expected(metric, self.window) for metric in self.metrics)
        put(self, "metrics", tuple(expected))
        put(self, "lift", lifts_of(self.lift, self.baseline, len(self.names), self.goal))
        check_means(self.outcome, self.baseline, self.lifts, self.means, self.gap)
        check_deadline(
            self.outcome,
            len(self.names),
            self.arrivals,
            self.traffic.known_after(FIRST_UNITS * len(self.names)),
            self.deadline_days,
            self.window_days,
            self.max_units,
        )
        check_calendar(self.outcome, self.min_days, self.whole_weeks, self.deadline_days)
        known = checked_covariate(self.covariate, self.correlation, self.outcome)
        put(self, "covariate", known[0])
        put(self, "correlation", known[1])
        spread = checked_spread(self.outcome, self.baseline, self.spread, lambda: self.usual_spread)
        put(self, "spread", spread)
        put(self, "outcomes_per_day", checked_rate(self.outcome, self.outcomes_per_day))

    def accepts(self, design: Design) -> bool:
        """Return whether the guarantee of a design is one that is accepted."""
        order = get_args(AcceptedGuarantee)
        given = design.calibration.guarantee
        return given in order and order.index(given) <= order.index(self.guarantee)

    @property
    def side_error(self) -> float:
        """The probability, at most, that a worse arm is declared the winner.

        >>> PlanRequest(error=0.05).side_error
        0.025
        """
        return self.error / checked_sides(self.sides)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arms."""
        assert isinstance(self.arms, tuple)
        return self.arms

    @property
    def lifts(self) -> tuple[float, ...]:
        """What each arm after the first adds to the baseline, in outcome units."""
        assert isinstance(self.lift, tuple)
        return self.lift

    @property
    def main_lift(self) -> float:
        """The lift that a plan speaks of: the first that is not 0."""
        return next(lift for lift in self.lifts if lift)

    @property
    def means(self) -> tuple[float, ...]:
        """The mean of each arm if the lift is as requested."""
        return (self.baseline, *(tidy(self.baseline + lift) for lift in self.lifts))

    @property
    def gaps(self) -> tuple[float, ...]:
        """How much worse than the best each other arm is."""
        return rival_gaps([mean if self.goal == "increase" else -mean for mean in self.means])

    @property
    def gap(self) -> float:
        """The difference that has to be found: between the best arm and the next."""
        return min(self.gaps)

    @property
    def best(self) -> float:
        """The mean of the best arm."""
        return max(self.means) if self.goal == "increase" else min(self.means)

    @property
    def rival(self) -> float:
        """The mean of the best arm's nearest rival."""
        return self.best - self.gap if self.goal == "increase" else self.best + self.gap

    @property
    def max_units(self) -> int:
        """Units that are enrolled by the deadline at most: those whose windows close by then.

        >>> PlanRequest(window="7d").max_units
        105000
        """
        days = self.deadline_days - self.window_days
        return min(MOST_UNITS, math.floor(self.traffic.units_after(days)))

    @property
    def arrivals(self) -> Arrivals:
        """Who comes: new units at a steady rate, or users who come back."""
        given = self.units_per_day
        return given if isinstance(given, Returning) else Steady(given)

    @property
    def traffic(self) -> Traffic:
        """Who comes, the share that gets in, and how long each takes to be known."""
        return Traffic(self.arrivals, self.share, self.window_days)

    @property
    def unwon_per_day(self) -> float:
        """What each day without the better arm for everyone costs, in outcome units.

        >>> PlanRequest().unwon_per_day
        50.0
        """
        return tidy(self.arrivals.daily(self.window_days) * self.gap)

    @property
    def window_days(self) -> float:
        """Days from a unit's assignment until it counts: the longest window of all metrics.

        >>> slow = Metric("back", Bernoulli(), margin=0.01, measure=Measure("14d", "any"))
        >>> PlanRequest(window="7d", metrics=[slow]).window_days
        14.0
        """
        if self.window is None:
            return 0.0
        measures = (metric.measure for metric in self.metrics)
        others = (one.matures(0.0) for one in measures if one is not None)
        return max(float(self.window), *others, 0.0) / DAY

    @property
    def withholds(self) -> bool:
        """Whether a decision may be withheld for some time."""
        return self.min_days is not None or self.whole_weeks

    def announced_days(self, days: float) -> float:
        """Return after how many days a decision is announced that is reached after `days`.

        >>> PlanRequest(whole_weeks=True).announced_days(9.5)
        14.0
        """
        return announced_after(days, self.min_days or 0.0, 7.0 if self.whole_weeks else 0.0)

    @property
    def waiting_units(self) -> int:
        """Units that arrive while the window of one is open."""
        return math.ceil(self.traffic.units_after(self.window_days))

    @property
    def delay_units(self) -> float | None:
        """Units that arrive on average until the conversion of one; None if nothing is known of it.

        >>> PlanRequest(window="7d", delay="1d").delay_units
        5000.0
        """
        return None if self.delay is None else self.traffic.units_after(float(self.delay) / DAY)

    def measure_of(self, outcome: Outcome) -> Measure | None:
        """Return what events of a unit add up to where that is certain; None without a window.

        Conversions are any event and ratios are sums. Of other outcomes it has to be said whether
        they are sums, means or last values.

        >>> PlanRequest(window="7d").measure_of(Bernoulli()).aggregate
        'any'
        """
        if self.window is None or not (outcome.binary or outcome.pairs):
            return None
        return Measure(self.window, "any" if outcome.binary else "sum")

    @property
    def played_outcome(self) -> Outcome:
        """The outcome model that stands for this one in a simulation.

        There each unit gives one outcome whenever another unit arrives. What it gives meanwhile in
        truth, more than one or less, has the same average with this much less noise, or more.
        """
        if not self.outcome.recurring:
            return self.outcome
        assert self.outcomes_per_day is not None
        assert self.traffic.steady is not None
        between, within = self.outcome.unit_spreads
        return Recurrent(between, within / math.sqrt(self.outcomes_per_day / self.traffic.steady))

    @property
    def usual_spread(self) -> float:
        """The spread that the outcome model gives to outcomes of the first arm in a simulation."""
        return self.played_outcome.noise(self.means).spread(self.baseline)

    @property
    def cost_unit(self) -> str:
        """What cost is counted in."""
        return cost_unit(self.outcome, self.goal)

    @property
    def covariates(self) -> tuple[Covariate, ...] | None:
        """The covariates of the design that is planned."""
        return None if not isinstance(self.covariate, Covariate) else (self.covariate,)

    @property
    def unexplained(self) -> float:
        """The part of the variance that the covariate leaves."""
        return 1.0 - self.correlation**2

    @property
    def spread_is_usual(self) -> bool:
        """Whether outcomes spread as their model says."""
        return self.spread == self.usual_spread

    @property
    def can_be_played(self) -> bool:
        """Whether a simulation can keep all units whose windows are open."""
        return self.waiting_units <= MOST_UNDER_WAY

    @property
    def world(self) -> World:
        """The world in which the lift is as requested."""
        return self.world_at(self.means)

    def world_at(self, means: tuple[float, ...]) -> World:
        """Return the world in which the arms have these means."""
        if not self.can_be_played:
            raise InputError(
                "units_per_day",
                f"{self.waiting_units:,} units would wait for their windows to close, more than "
                f"the {MOST_UNDER_WAY:,} that a simulation takes: give a smaller share of the "
                "traffic, such as a tenth",
            )
        delay = None if self.window is None else Delay(self.waiting_units, events=self.delay_units)
        daily = self.traffic.steady if self.withholds else None
        world = World(means, delay=delay, correlation=self.correlation, units_per_day=daily)
        if self.spread is None or self.spread_is_usual:
            return world
        low, high = self.outcome.low, self.outcome.high
        room = (self.baseline - low) * (high - self.baseline)
        return replace(world, noise=Beta(room / self.spread**2 - 1.0, low, high))

    def scaled(self, factor: float) -> PlanRequest | None:
        """Return the request with every lift multiplied; None if outcomes have no room for that.

        >>> PlanRequest().scaled(0.5).means
        (0.05, 0.055)
        """
        lifts = tuple(tidy(factor * lift) for lift in self.lifts)
        means = [tidy(self.baseline + lift) for lift in lifts]
        if not self.outcome.low <= min(means) <= max(means) <= self.outcome.high:
            return None
        # A spread that came from the model follows the new means; one that was given stays.
        spread = None if self.spread_is_usual else self.spread
        return replace(self, lift=lifts, spread=spread)

    def to_dict(self) -> dict[str, Any]:
        """Return the request as plain data."""
        return {
            "means": list(self.means),
            "lift": list(self.lifts),
            **{
                name: getattr(self, name)
                for name, one in PLAN.items()
                if one.numeric and name not in AS_GIVEN
            },
            **({} if self.traffic.steady else {"units_per_day": asdict(self.arrivals)}),
            "window": self.window,
            "whole_weeks": self.whole_weeks,
            "delay": self.delay,
            "early_signals": self.early_signals,
            "guarantee": self.guarantee,
            "correlation": self.correlation or None,
            "max_units": self.max_units,
            "goal": self.goal,
        }
