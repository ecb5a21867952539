"""Tests whose units give outcomes repeatedly: weights, radii, guarantees and procedure.

Each estimator is `sum w * (the unit's own average) / sum w`, where the weight w depends on the
number of outcomes of the unit. `equal_weight` gives the mean of means, `outcome_weight` the total
mean, and `precision_weight` the mean with the least variance, whose weights are between those two.
docs/research/units.md says when each estimator fails.

An arm's interval is its weighted mean and a radius around it. The radii of the paper and of the
even split depend only on the number of units; those of a mixture depend on the clock, the sum of
the units' precisions. docs/research/units.md has the proofs, and the gaps in those of the paper.

In the rows of `intervals.state`, an arm's clock takes the place of its units, and its weighted sum
takes the place of its total, because the evidence of two arms requires this.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Literal

from bascule.core.cohorts import ArmCohorts, CohortStatistics
from bascule.core.errors import InputError, invalid
from bascule.core.evidence.calibration import Calibration, Guarantee
from bascule.core.evidence.looks import coming_look, look_part
from bascule.core.evidence.normal import mixture_boundary
from bascule.core.evidence.radius import FIRST_UNITS, lg
from bascule.core.numerics import turning_point
from bascule.core.outcomes import Outcome
from bascule.core.procedures.base import AnyStatistics
from bascule.core.procedures.intervals.procedure import ArmProcedure, Shape, Shown
from bascule.core.statistics import Statistics

Weight = Callable[[float, float, float], float]
"""(outcomes, sigma_unit, sigma_noise) -> the weight of a unit with that number of outcomes."""


def equal_weight(outcomes: float, sigma_unit: float, sigma_noise: float) -> float:
    """Return a weight of 1 for a unit, so that every unit counts once.

    >>> equal_weight(5, 1.0, 1.0)
    1.0
    """
    return 1.0


def outcome_weight(outcomes: float, sigma_unit: float, sigma_noise: float) -> float:
    """Return the number of outcomes of a unit as its weight, so that every outcome counts once.

    >>> outcome_weight(5, 1.0, 1.0)
    5.0
    """
    return 1.0 * outcomes


def precision_weight(outcomes: float, sigma_unit: float, sigma_noise: float) -> float:
    """Return the inverse variance of a unit's average, for spreads scaled so that the larger is 1.

    >>> precision_weight(1, 1.0, 1.0), precision_weight(4, 1.0, 1.0), precision_weight(4, 1.0, 0.0)
    (0.5, 0.8, 1.0)
    """
    largest = max(sigma_unit, sigma_noise)
    of_unit = sigma_unit / largest
    of_noise = sigma_noise / largest
    return 1.0 / (of_unit * of_unit + of_noise * of_noise / outcomes)


def weighted(
    arm: ArmCohorts, weight: Weight, sigma_unit: float, sigma_noise: float
) -> tuple[float, float]:
    """Return the weighted sum of the units' averages, and the sum of the weights (the clock).

    >>> weighted(ArmCohorts.of([(1, 3.0), (4, 8.0)]), precision_weight, 1.0, 1.0)
    (3.1, 1.3)
    """
    total = clock = 0.0
    for cohort in arm.cohorts:
        share = weight(cohort.outcomes, sigma_unit, sigma_noise)
        total += share * cohort.means
        clock += share * cohort.units
    return total, clock


def mean_of_means(arm: ArmCohorts) -> float:
    """Return the average of the units' averages; 0 before the first unit.

    >>> mean_of_means(ArmCohorts.of([(1, 3.0), (4, 8.0)]))
    2.5
    """
    return _ratio(*weighted(arm, equal_weight, 1.0, 1.0))


def total_mean(arm: ArmCohorts) -> float:
    """Return the average of all outcomes of all units; 0 before the first outcome.

    >>> total_mean(ArmCohorts.of([(1, 3.0), (4, 8.0)]))
    2.2
    """
    return _ratio(*weighted(arm, outcome_weight, 1.0, 1.0))


def precision_mean(arm: ArmCohorts, sigma_unit: float, sigma_noise: float) -> float:
    """Return the average of the units' averages, weighted by precision; 0 before the first unit.

    >>> round(precision_mean(ArmCohorts.of([(1, 3.0), (4, 8.0)]), 1.0, 1.0), 3)
    2.385
    """
    return _ratio(*weighted(arm, precision_weight, sigma_unit, sigma_noise))


def _ratio(total: float, clock: float) -> float:
    return total / clock if clock else 0.0


UnitRadius = Callable[[float, float, float, float, float], float]
"""(units, clock, sigma_unit, sigma_noise, log(count / delta)) -> half the width of an interval."""

LOG_PI_SQUARED_THIRDS = math.log(math.pi * math.pi / 3.0)
LOG_NINE = math.log(9.0)

PUBLISHED_FACTOR = 23.0
"""The factor of delta log(1 / delta) in the paper's bound on delta-tilde."""


@dataclass(frozen=True, slots=True)
class UnitShape:
    """The mean and the radius that a rule uses, with the parameters of its guarantee.

    `sequences` is the number of confidence sequences whose errors add up: one per arm, or one per
    pair with the best arm. The radius is called with `log(count / delta)`. With `together` each
    stage has a new unit for every active arm, otherwise one new unit. A `growth` above 0 is the
    ratio of the stages of consecutive planned looks; if it is 0, every stage is a look.
    """

    weight: Weight
    radius: UnitRadius
    count: float
    guarantee: Guarantee
    sequences: int
    together: bool = False
    growth: float = 0.0


def noise_share(units: float) -> float:
    """Return a bound on the average of 1 / age over units that arrived one at a time.

    >>> noise_share(1), round(noise_share(100), 4)
    (1.0, 0.0561)
    """
    return (1.0 + math.log(units)) / units


def algorithm_2_radius(
    units: float, clock: float, sigma_unit: float, sigma_noise: float, log_level: float
) -> float:
    """Return the radius of the paper's Algorithm 2 for the mean of means; needs `sigma_noise` > 0.

    >>> round(algorithm_2_radius(100, 100.0, 1.0, 1.0, -math.log(0.05)), 4)
    0.8165
    """
    if units < FIRST_UNITS:
        return math.inf
    ratio = sigma_unit / sigma_noise
    extra = max(0.0, math.log(units) + 2.0 * math.log(ratio)) if ratio > 0.0 else 0.0
    variance = sigma_unit * sigma_unit + sigma_noise * sigma_noise * noise_share(units)
    return math.sqrt(2.0 * variance / units * (log_level + 4.0 * math.log(4.0 * units) + extra))


def alternative_radius(
    units: float, clock: float, sigma_unit: float, sigma_noise: float, log_level: float
) -> float:
    """Return the paper's alternative radius; without noise it has the form of the i.i.d. radius.

    >>> round(alternative_radius(100, 100.0, 1.0, 1.0, -math.log(0.05)), 4)
    0.58
    """
    if units < FIRST_UNITS:
        return math.inf
    of_units = 2.0 / units * (log_level + LOG_NINE + 2.0 * math.log(lg(units)))
    of_noise = 2.0 * noise_share(units) / units * (log_level + 4.0 * math.log(4.0 * units))
    return sigma_unit * math.sqrt(of_units) + sigma_noise * math.sqrt(of_noise)


def even_radius(
    units: float, clock: float, sigma_unit: float, sigma_noise: float, log_level: float
) -> float:
    """Return half the difference at which ETC-MM decides between two arms with `units` units each.

    >>> round(2 * even_radius(100, 100.0, 1.0, 1.0, -math.log(0.05)), 4)
    0.7523
    """
    if units < FIRST_UNITS:
        return math.inf
    variance = sigma_unit * sigma_unit + sigma_noise * sigma_noise * noise_share(units)
    level = log_level + LOG_PI_SQUARED_THIRDS + 2.0 * math.log(units)
    return math.sqrt(variance / units * level)


def clock_radius(
    units: float, clock: float, sigma_unit: float, sigma_noise: float, log_level: float
) -> float:
    """Return the radius of a normal mixture around the precision-weighted mean.

    >>> round(clock_radius(100, 95.0, 1.0, 1.0, -math.log(0.025)), 4)
    0.348
    """
    if units < FIRST_UNITS:
        return math.inf
    return max(sigma_unit, sigma_noise) * mixture_boundary(clock, log_level) / clock


def even_clock_radius(
    units: float, clock: float, sigma_unit: float, sigma_noise: float, log_level: float
) -> float:
    """Return half the difference at which a mixture decides between two arms with the same clock.

    >>> round(2 * even_clock_radius(100, 95.0, 1.0, 1.0, -math.log(0.05)), 4)
    0.4582
    """
    if units < FIRST_UNITS:
        return math.inf
    return max(sigma_unit, sigma_noise) * mixture_boundary(0.5 * clock, log_level) / clock


def algorithm_2(arms: int, guarantee: Guarantee) -> UnitShape:
    """Return the mean and radius of UCB-MM; K arms divide the paper's level by K / 2."""
    return UnitShape(equal_weight, algorithm_2_radius, 0.5 * arms, guarantee, arms)


def alternative(arms: int) -> UnitShape:
    """Return the mean of UCB-MM with the paper's alternative radius."""
    return UnitShape(equal_weight, alternative_radius, 0.5 * arms, "as published", arms)


def even_split(arms: int) -> UnitShape:
    """Return the mean and radius of ETC-MM; its fixed stages make the paper's proof complete."""
    return UnitShape(equal_weight, even_radius, arms - 1.0, "proven", arms - 1, together=True)


def even_mixture(arms: int) -> UnitShape:
    """Return the mean and radius of ETC if a normal mixture compares each pair of arms."""
    return UnitShape(precision_weight, even_clock_radius, 1.0, "gaussian", arms - 1, together=True)


def mixture(arms: int) -> UnitShape:
    """Return the mean and radius of UCB for Gaussian outcomes, with looks at any time."""
    return UnitShape(precision_weight, clock_radius, 1.0, "gaussian", arms)


def planned_looks(arms: int, growth: float) -> UnitShape:
    """Return the mean and radius of UCB for sub-Gaussian outcomes, with planned looks."""
    return UnitShape(precision_weight, clock_radius, 1.0, "proven", arms, growth=growth)


def published_error(delta: float, count: float) -> float:
    """Return the error that the paper's theorems on UCB-MM state at a nominal delta; at most 1.

    They hold with probability 1 - delta-tilde, and the paper gives 23 delta log(1 / delta) as a
    bound on delta-tilde. With K arms delta is divided by `count` = K / 2.

    >>> published_error(0.05, 1.0), round(published_error(1e-4, 1.0), 4)
    (1.0, 0.0212)
    """
    level = delta / count
    return min(1.0, count * PUBLISHED_FACTOR * level * math.log(1.0 / level)) if level < 1 else 1.0


@lru_cache(maxsize=256)
def published_delta(error: float, count: float) -> float:
    """Return the nominal delta for which the paper's theorems on UCB-MM state this error.

    >>> round(published_error(published_delta(0.05, 1.0), 1.0), 6)
    0.05
    """
    # 23 delta log(1 / delta) grows up to delta = 1 / e, where it is far above 1.
    low, high = math.log(error / PUBLISHED_FACTOR) - 30.0, math.log(error / PUBLISHED_FACTOR)
    above = turning_point(lambda log: published_error(math.exp(log), count) <= error, low, high)
    return math.exp(math.nextafter(above, -math.inf))


def calibrate_units(shape: UnitShape, error: float | None, delta: float | None) -> Calibration:
    """Return the level of each comparison and the error that is stated for the whole test.

    UCB-MM states the error of its theorems, `published_error`. For even splits with the mean of
    means the error equals delta, and the other rules divide the error among their sequences.

    >>> calibrate_units(mixture(2), 0.05, None)
    Calibration(delta=0.025, error=0.05, guarantee='gaussian')
    >>> calibrate_units(alternative(2), None, 0.05)
    Calibration(delta=0.05, error=1.0, guarantee='as published')
    """
    if shape.guarantee == "as published":
        if delta is not None:
            return Calibration(delta, published_error(delta, shape.count), shape.guarantee)
        assert error is not None
        return Calibration(published_delta(error, shape.count), error, shape.guarantee)
    if shape.weight is equal_weight:
        level = delta if delta is not None else error
        assert level is not None
        return Calibration(level, level, shape.guarantee)
    if delta is not None or error is None:
        raise invalid("delta belongs to the paper's rules: give error instead")
    return Calibration(error / shape.sequences, error, shape.guarantee)


def refuse_without_noise(outcome: Outcome, instead: str) -> None:
    """Raise `InputError` if units have no noise, since Algorithm 2's radius would be infinite."""
    if outcome.unit_spreads[1] == 0:
        raise invalid(
            "sigma_noise must be above 0 with the radius of Algorithm 2, which is infinite at 0: "
            f"use {instead}, whose radius is finite"
        )


@dataclass(frozen=True, slots=True)
class RecurrentProcedure(ArmProcedure):
    """Intervals of arms whose units give an outcome at every stage.

    `clock_shape` is the shape to use if the clocks of arms are treated like numbers of units with
    one outcome each; None if the radius depends on the number of units.
    """

    shape: UnitShape
    clock_shape: Shape | None
    counts: ClassVar[Literal["stages"]] = "stages"
    kind: ClassVar[str] = "recurrent"

    @property
    def spreads(self) -> tuple[float, float]:
        """The spread between units and the spread within units."""
        return self.outcome.unit_spreads

    @property
    def sequences(self) -> int:
        """Number of confidence sequences that share the error."""
        return self.shape.sequences

    def empty(self) -> CohortStatistics:
        """Return the statistics before the first unit."""
        return CohortStatistics.empty(self.arms)

    def log_level(self, stage: int) -> float:
        """Return log(1 / level) of the radius: for the design, or for the next planned look."""
        level = math.log(self.shape.count / self.design.calibration.delta)
        if self.shape.growth > 0:
            number, _ = coming_look(stage, FIRST_UNITS * self.arms, self.shape.growth)
            level -= math.log(look_part(number))
        return level

    def may_decide(self, statistics: AnyStatistics) -> bool:
        """Return whether the rule allows a decision at this stage."""
        assert isinstance(statistics, CohortStatistics)
        return self.looks_at(statistics.stage)

    def check_live(self) -> None:
        """Raise `InputError` for a rule that needs a fixed number of new units at every stage."""
        if self.shape.weight is equal_weight or self.shape.together:
            raise InputError(
                "rule",
                f"{self.label} needs a fixed number of new units at every stage, which a live test "
                'cannot ensure: use UCB(alpha, radius="mixture"), or radius="looks"',
            )

    def looks_at(self, stage: int) -> bool:
        """Return whether the rule may decide at this stage."""
        growth = self.shape.growth
        return growth == 0 or coming_look(stage, FIRST_UNITS * self.arms, growth)[1] == stage

    def next_size(self, statistics: AnyStatistics) -> int:
        """Return the number of new units in the next stage."""
        return self.arms - len(statistics.out) if self.shape.together else 1

    @property
    def has_separate(self) -> bool:
        """Whether the means of single arms have an interval of a normal mixture."""
        return self.shape.weight is precision_weight

    def shown(self, statistics: AnyStatistics) -> list[Shown]:
        """Return the clock, the weighted sum and the radius of each arm."""
        self.check(statistics)
        assert isinstance(statistics, CohortStatistics)
        shape, spreads, level = self.shape, self.spreads, self.log_level(statistics.stage)
        shown = []
        for arm in statistics.arms:
            units, (total, clock) = float(arm.units), weighted(arm, shape.weight, *spreads)
            shown.append(Shown(units, clock, total, shape.radius(units, clock, *spreads, level)))
        return shown

    def record(self, statistics: Statistics, arm: int, value: float) -> Statistics:
        """Raise `InputError`, since recurring outcomes are not counted one by one."""
        raise InputError(
            "outcome",
            "recurring outcomes are not counted one by one: count the cohorts of a whole "
            "stage as CohortStatistics, and close_stage drops the arms that are beaten",
        )

    def close_stage(self, statistics: CohortStatistics) -> CohortStatistics:
        """Return the statistics at the end of a stage, with newly beaten arms dropped."""
        return replace(statistics, dropped=self.dropped(statistics))
