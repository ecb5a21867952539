"""Properties derived from the options of a plan: means, gaps, units and traffic."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bascule.core.calendar import DAY
from bascule.core.design import MOST_UNITS
from bascule.core.gaps import rival_gaps
from bascule.core.inputs.checks import tidy
from bascule.core.metrics.metric import DIRECTION
from bascule.core.outcomes import Outcome, Recurrent
from bascule.planning.request.options import PlanFields
from bascule.planning.request.traffic import Traffic


@dataclass(frozen=True, slots=True)
class RequestFields(PlanFields):
    """The fields of a request, and properties derived from them."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arms."""
        assert isinstance(self.arms, tuple)
        return self.arms

    @property
    def lifts(self) -> tuple[float, ...]:
        """The lift of each arm after the first, in outcome units."""
        assert isinstance(self.lift, tuple)
        return self.lift

    @property
    def main_lift(self) -> float:
        """The lift that a plan reports: the first that is not 0."""
        return next(lift for lift in self.lifts if lift)

    @property
    def means(self) -> tuple[float, ...]:
        """The mean of each arm if the lift is as requested."""
        return (self.baseline, *(tidy(self.baseline + lift) for lift in self.lifts))

    def loss_of(self, mean: float) -> float:
        """Return a mean, with the opposite sign if higher means are better."""
        return -DIRECTION[self.goal] * mean

    @property
    def gaps(self) -> tuple[float, ...]:
        """Differences of the other arms to the best one, as positive numbers."""
        return rival_gaps([-self.loss_of(mean) for mean in self.means])

    @property
    def gap(self) -> float:
        """The difference to detect: between the best arm and the second best."""
        return min(self.gaps)

    @property
    def best(self) -> float:
        """The mean of the best arm."""
        return min(self.means, key=self.loss_of)

    @property
    def rival(self) -> float:
        """The mean of the best arm's nearest rival."""
        return self.best - DIRECTION[self.goal] * self.gap

    @property
    def max_units(self) -> int:
        """Maximum number of units enrolled, such that their windows close by the deadline.

        >>> import bascule as bs
        >>> bs.PlanRequest(window="7d").max_units
        105000
        """
        days = self.deadline_days - self.window_days
        return min(MOST_UNITS, math.floor(self.traffic.units_after(days)))

    @property
    def traffic(self) -> Traffic:
        """Units per day, the share that is enrolled, and the days until outcomes are known."""
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
        windows = (measure.matures(0.0) for measure in measures if measure is not None)
        return max(float(self.window), *windows, 0.0) / DAY

    @property
    def withholds(self) -> bool:
        """Whether a decision may be withheld until a minimum duration or the end of a week."""
        return self.min_days is not None or self.whole_weeks

    @property
    def played_outcome(self) -> Outcome:
        """The outcome model of the simulation, in which a unit gives one outcome per arrival.

        One simulated outcome stands for the average of the real outcomes between two arrivals, so
        its noise is divided by the square root of their expected number.
        """
        if not self.outcome.supports("several outcomes"):
            return self.outcome
        assert self.outcomes_per_day is not None
        between, within = self.outcome.unit_spreads
        outcomes = self.outcomes_per_day / self.traffic.enrolled_per_day
        return Recurrent(between, within / math.sqrt(outcomes))

    @property
    def usual_spread(self) -> float:
        """Spread of the first arm's outcomes in a simulation, according to the outcome model."""
        return self.played_outcome.noise(self.means).spread(self.baseline)
