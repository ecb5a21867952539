"""The mean of an arm from units that have given unequally many outcomes: three weights for a unit.

Each estimator is `sum w * (the unit's own average) / sum w`, where the weight depends on how many
outcomes the unit has given. `equal_weight` makes it the mean of means, `outcome_weight` the total
mean, `precision_weight` the mean with the least variance, which lies between them.
docs/research/units.md says where each of them goes wrong.
"""

from __future__ import annotations

from collections.abc import Callable

from bascule.core.cohorts import ArmCohorts

Weight = Callable[[float, float, float], float]
"""(outcomes, sigma_unit, sigma_noise) -> the weight of a unit, by its number of outcomes."""


def equal_weight(outcomes: float, sigma_unit: float, sigma_noise: float) -> float:
    """Every unit counts once.

    >>> equal_weight(5, 1.0, 1.0)
    1.0
    """
    return 1.0


def outcome_weight(outcomes: float, sigma_unit: float, sigma_noise: float) -> float:
    """Every outcome counts once.

    >>> outcome_weight(5, 1.0, 1.0)
    5.0
    """
    return 1.0 * outcomes


def precision_weight(outcomes: float, sigma_unit: float, sigma_noise: float) -> float:
    """One over the variance of the unit's own average, which counts 1 at the larger sigma squared.

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
    """The weighted sum of the units' averages, and the sum of the weights, an arm's clock.

    >>> weighted(ArmCohorts.of([(1, 3.0), (4, 8.0)]), precision_weight, 1.0, 1.0)
    (3.1, 1.3)
    """
    total = clock = 0.0
    for cohort in arm.cohorts:
        each = weight(cohort.outcomes, sigma_unit, sigma_noise)
        total += each * cohort.means
        clock += each * cohort.units
    return total, clock


def mean_of_means(arm: ArmCohorts) -> float:
    """The average over the units of each one's own average; 0 before the first.

    >>> mean_of_means(ArmCohorts.of([(1, 3.0), (4, 8.0)]))
    2.5
    """
    return _ratio(*weighted(arm, equal_weight, 1.0, 1.0))


def total_mean(arm: ArmCohorts) -> float:
    """The average of all outcomes, whoever gave them; 0 before the first.

    >>> total_mean(ArmCohorts.of([(1, 3.0), (4, 8.0)]))
    2.2
    """
    return _ratio(*weighted(arm, outcome_weight, 1.0, 1.0))


def precision_mean(arm: ArmCohorts, sigma_unit: float, sigma_noise: float) -> float:
    """The average in which a unit counts as much as is known of it; 0 before the first.

    >>> round(precision_mean(ArmCohorts.of([(1, 3.0), (4, 8.0)]), 1.0, 1.0), 3)
    2.385
    """
    return _ratio(*weighted(arm, precision_weight, sigma_unit, sigma_noise))


def _ratio(total: float, clock: float) -> float:
    return total / clock if clock else 0.0
