"""The fields of a request, and what follows from them: means, gaps, units and traffic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bascule.core.calendar import DAY
from bascule.core.covariates import Covariate
from bascule.core.design import MOST_UNITS
from bascule.core.design_parts import DEFAULT_ERROR
from bascule.core.gaps import rival_gaps
from bascule.core.inputs.checks import tidy
from bascule.core.metrics.metric import Goal, Metric
from bascule.core.outcomes import Bernoulli, Outcome, Recurrent
from bascule.core.procedures.blocks.signals import EarlySignals
from bascule.planning.request.options import AcceptedGuarantee, Lift
from bascule.planning.request.sample import Sample
from bascule.planning.request.traffic import Traffic

BASELINE, LIFT = 0.05, "20%"
"""The question that is answered when none is asked: 5 % against 6 %."""

ZERO_OR_ONE = Bernoulli()


@dataclass(frozen=True, slots=True)
class RequestFields:
    """The fields of a `PlanRequest`, and what follows from them."""

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
    units_per_day: float = 5000.0
    """New units a day, of all arms together."""
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
    every: float | str | None = None
    """How often a steered test runs, in seconds or as "1d"."""
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

        >>> import bascule as bs
        >>> bs.PlanRequest(window="7d").max_units
        105000
        """
        days = self.deadline_days - self.window_days
        return min(MOST_UNITS, math.floor(self.traffic.units_after(days)))

    @property
    def traffic(self) -> Traffic:
        """Units a day, the share that is enrolled, and the days until an outcome is known."""
        return Traffic(self.units_per_day, ((0.0, self.share),), self.window_days)

    @property
    def window_days(self) -> float:
        """Days from a unit's assignment until it counts: the longest window of all metrics.

        >>> import bascule as bs
        >>> slow = bs.Metric("back", bs.Bernoulli(), margin=0.01, measure=bs.Measure("14d", "any"))
        >>> bs.PlanRequest(window="7d", metrics=[slow]).window_days
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

    @property
    def played_outcome(self) -> Outcome:
        """The outcome model of the simulation, in which a unit gives one outcome per arrival.

        One simulated outcome stands for the average of the real outcomes between two arrivals, so
        its noise is divided by the square root of their expected number.
        """
        if not self.outcome.recurring:
            return self.outcome
        assert self.outcomes_per_day is not None
        between, within = self.outcome.unit_spreads
        outcomes = self.outcomes_per_day / self.traffic.enrolled_per_day
        return Recurrent(between, within / math.sqrt(outcomes))

    @property
    def usual_spread(self) -> float:
        """The spread that the outcome model gives to outcomes of the first arm in a simulation."""
        return self.played_outcome.noise(self.means).spread(self.baseline)
