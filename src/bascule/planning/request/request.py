"""The request that a plan answers, checked before anything is computed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, get_args

from bascule.core.calendar import DAY, announced_after
from bascule.core.covariates import Covariate
from bascule.core.design import Design
from bascule.core.design_parts import check_kind, checked_sides, cost_unit
from bascule.core.errors import InputError, invalid
from bascule.core.inputs.checks import tidy
from bascule.core.metrics.measure import Measure
from bascule.core.options import check_given, options_of
from bascule.core.outcomes import OUTCOMES, Beta, Outcome
from bascule.planning.request import checks
from bascule.planning.request.fields import RequestFields
from bascule.planning.request.options import PLAN, AcceptedGuarantee
from bascule.simulation import Delay, World
from bascule.simulation.worlds.world import MOST_UNDER_WAY

AS_GIVEN = ("outcome", "arms")
"""Options that are not converted by their declaration: the outcome model and the arms."""


@dataclass(frozen=True, slots=True)
class PlanRequest(RequestFields):
    """The question of a plan: outcome model, baseline, lift (minimum detectable effect), traffic.

    The fields, described below, may also be given to `plan` as keyword arguments.

    >>> PlanRequest().means
    (0.05, 0.06)
    >>> PlanRequest(lift="-10%").means
    (0.05, 0.045)
    """

    def __post_init__(self) -> None:
        check_kind("outcome", self.outcome, Outcome, ", ".join(m.example for m in OUTCOMES))
        put, options = object.__setattr__, options_of(type(self))
        check_given(options, [name for name in options if getattr(self, name)])
        for name, option in options.items():
            if name in AS_GIVEN or not (option.numeric or option.kind == "choice"):
                continue
            value = getattr(self, name)
            if value is not None:
                put(self, name, option.read(value))
        checks.check_supported(self)
        put(self, "sides", checked_sides(self.sides))
        put(self, "window", checks.checked_window(self))
        put(self, "delay", checks.checked_delay(self))
        put(self, "every", checks.checked_every(self))
        if self.futility is not None and self.futility >= self.power:
            raise invalid(f"futility must be below power, {self.power:g} (got {self.futility:g})")
        put(self, "arms", checks.arm_names(self.arms, self.lift))
        put(self, "metrics", checks.checked_metrics(self))
        put(self, "lift", checks.lifts_of(self, len(self.names)))
        checks.check_means(self)
        checks.check_deadline(self)
        checks.check_calendar(self)
        put(self, "covariate", checks.checked_covariate(self))
        put(self, "spread", checks.checked_spread(self))
        put(self, "outcomes_per_day", checks.checked_rate(self))

    def accepts(self, design: Design) -> bool:
        """Return whether the request accepts the guarantee of a design."""
        order = get_args(AcceptedGuarantee)
        guarantee = design.calibration.guarantee
        return guarantee in order and order.index(guarantee) <= order.index(self.guarantee)

    @property
    def side_error(self) -> float:
        """Maximum probability that a worse arm is declared the winner.

        >>> PlanRequest(error=0.05).side_error
        0.025
        """
        return self.error / checked_sides(self.sides)

    @property
    def unwon_per_day(self) -> float:
        """Loss on each day on which the whole traffic lacks the better arm, in outcome units.

        >>> PlanRequest().unwon_per_day
        50.0
        """
        return tidy(self.units_per_day * self.gap)

    def announced_days(self, days: float) -> float:
        """Return the day on which a decision that is reached after `days` is announced.

        >>> PlanRequest(whole_weeks=True).announced_days(9.5)
        14.0
        """
        return announced_after(days, self.min_days or 0.0, 7.0 if self.whole_weeks else 0.0)

    @property
    def waiting_units(self) -> int:
        """Number of units that are enrolled while the window of a unit is open."""
        return math.ceil(self.traffic.units_after(self.window_days))

    @property
    def delay_units(self) -> float | None:
        """Number of units enrolled during the mean delay of a conversion; None without a delay.

        >>> PlanRequest(window="7d", delay="1d").delay_units
        5000.0
        """
        return None if self.delay is None else self.traffic.units_after(float(self.delay) / DAY)

    def measure_of(self, outcome: Outcome) -> Measure | None:
        """Return the default measure of an outcome model; None if the user has to choose a measure.

        Conversions aggregate as "any" and ratios as "sum". For other outcomes the user has to
        choose between sums, means and last values.

        >>> import bascule as bs
        >>> PlanRequest(window="7d").measure_of(bs.Bernoulli()).aggregate
        'any'
        """
        if self.window is None or not (outcome.binary or outcome.pairs):
            return None
        return Measure(self.window, "any" if outcome.binary else "sum")

    @property
    def cost_unit(self) -> str:
        """Unit of the cost, in words."""
        return cost_unit(self.outcome, self.goal)

    @property
    def covariates(self) -> tuple[Covariate, ...] | None:
        """The covariates of the planned design; None if there are none."""
        return None if not isinstance(self.covariate, Covariate) else (self.covariate,)

    @property
    def unexplained(self) -> float:
        """Share of the variance that the covariate does not explain."""
        return 1.0 - self.correlation**2

    @property
    def spread_is_usual(self) -> bool:
        """Whether the spread of the request is the one that the outcome model implies."""
        return self.spread == self.usual_spread

    @property
    def can_be_played(self) -> bool:
        """Whether the number of pending units is within the limit of a simulation."""
        return self.waiting_units <= MOST_UNDER_WAY

    @property
    def world(self) -> World:
        """The simulated world in which the lift is as requested."""
        return self.world_at(self.means)

    def world_at(self, means: tuple[float, ...]) -> World:
        """Return a simulated world in which the arms have these means."""
        if not self.can_be_played:
            raise InputError(
                "units_per_day",
                f"{self.waiting_units:,} units would wait for their windows to close, more than "
                f"the {MOST_UNDER_WAY:,} that a simulation takes: give a smaller share of the "
                "traffic, such as a tenth",
            )
        delay = None if self.window is None else Delay(self.waiting_units, events=self.delay_units)
        daily = self.traffic.enrolled_per_day if self.withholds else None
        world = World(means, delay=delay, correlation=self.correlation, units_per_day=daily)
        if self.spread is None or self.spread_is_usual:
            return world
        low, high = self.outcome.low, self.outcome.high
        room = (self.baseline - low) * (high - self.baseline)
        return replace(world, noise=Beta(room / self.spread**2 - 1.0, low, high))

    def scaled(self, factor: float) -> PlanRequest | None:
        """Return the request with lifts times `factor`; None if a mean is beyond the limits.

        >>> PlanRequest().scaled(0.5).means
        (0.05, 0.055)
        """
        lifts = tuple(tidy(factor * lift) for lift in self.lifts)
        means = [tidy(self.baseline + lift) for lift in lifts]
        if not self.outcome.low <= min(means) <= max(means) <= self.outcome.high:
            return None
        # A spread that the model implies changes with the means; a spread that was given does not.
        spread = None if self.spread_is_usual else self.spread
        return replace(self, lift=lifts, spread=spread)

    def to_dict(self) -> dict[str, Any]:
        """Return the request as plain data."""
        return {
            "means": list(self.means),
            "lift": list(self.lifts),
            **{
                name: getattr(self, name)
                for name, option in PLAN.items()
                if option.numeric and name not in AS_GIVEN
            },
            "window": self.window,
            "whole_weeks": self.whole_weeks,
            "delay": self.delay,
            "every": self.every,
            "early_signals": self.early_signals,
            "guarantee": self.guarantee,
            "correlation": self.correlation or None,
            "max_units": self.max_units,
            "goal": self.goal,
        }
