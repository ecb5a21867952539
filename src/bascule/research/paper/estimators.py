"""Comparison of two estimators of an arm's mean: the mean of means, and the total mean.

The mean of means is the average of the units' own averages; the total mean is the average of all
outcomes. They are compared in an arm that had no new units for a while, and along runs of UCB-MM.

If the ages of an arm's units do not depend on their outcomes, the variance of a mean with shares
`s_u` is `sigma_unit^2 sum s_u^2 + sigma_noise^2 sum s_u^2 / age_u`. With equal shares the first sum
is one over the number of units. With shares in proportion to age it is one over the number of
*effective* units, `(sum of ages)^2 / (sum of their squares)`, as if only these had been observed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bascule.core.procedures.recurrent import Weight
from bascule.core.rules import UCB
from bascule.core.rules.ucb import score
from bascule.core.types import FloatArray
from bascule.research.paper.units import GRID, MEANS, OUTCOME, design
from bascule.simulation import Estimate

RULE = UCB(1.5)
LEVEL = GRID[0]

STAGES = 300
MARKS = (100, STAGES)
"""Stages at which the estimators are compared."""

TOGETHER = 100
"""Number of runs that are simulated together; more would not fit into the CPU's cache."""

FEW, WAIT = 3, 1000
"""The units that an arm has at first, and the number of stages in which it gets no others."""


@dataclass(frozen=True, slots=True)
class Errors:
    """The errors of both estimators of an arm's mean after a stage, one per run."""

    stage: int
    arm: int
    units: FloatArray
    of_means: FloatArray
    of_total: FloatArray

    @property
    def squares_ratio(self) -> Estimate:
        """The ratio of mean squared errors: total mean over mean of means."""
        top, bottom = self.of_total**2, self.of_means**2
        value = float(top.mean() / bottom.mean())
        return Estimate(value, Estimate.of(top - value * bottom).se / float(bottom.mean()))


def variance(ages: Sequence[float], weight: Weight) -> float:
    """Return the variance of a weighted mean of units whose ages are independent of outcomes.

    >>> from bascule.core.procedures.recurrent import equal_weight, outcome_weight
    >>> variance([4, 4], equal_weight) == variance([4, 4], outcome_weight)
    True
    """
    unit, noise = OUTCOME.sigma_unit, OUTCOME.sigma_noise
    weights = [weight(age, unit, noise) for age in ages]
    variances = [
        w * w * (unit * unit + noise * noise / age) for w, age in zip(weights, ages, strict=True)
    ]
    return sum(variances) / sum(weights) ** 2


def ages_after_wait(arrivals: int, wait: int = WAIT) -> list[int]:
    """Return the ages in an arm that got `FEW` units, none for `wait` stages, then one per stage.

    >>> ages_after_wait(2, wait=10)
    [12, 12, 12, 2, 1]
    """
    return [wait + arrivals] * FEW + list(range(arrivals, 0, -1))


@lru_cache(maxsize=2)
def along_runs(runs: int, seed: int) -> tuple[Errors, ...]:
    """Return the errors of both estimators in simulated runs of UCB-MM without stopping.

    >>> [(each.stage, each.arm) for each in along_runs(2, 0)[:3]]
    [(100, 0), (100, 1), (300, 0)]
    """
    generator = np.random.default_rng(seed)
    sizes = [min(TOGETHER, runs - first) for first in range(0, runs, TOGETHER)]
    played = [_played(size, generator) for size in sizes]
    cells = [(stage, arm) for stage in MARKS for arm in range(len(MEANS))]
    return tuple(
        Errors(stage, arm, *np.concatenate([run[place] for run in played], axis=1))
        for place, (stage, arm) in enumerate(cells)
    )


def _played(runs: int, generator: np.random.Generator) -> list[FloatArray]:
    """Return, for each stage of `MARKS` and each arm, units and both errors of each run."""
    radii = _radii()
    totals, effects = np.zeros((STAGES, runs)), np.zeros((STAGES, runs))
    joined = np.zeros((len(MEANS), STAGES, runs))
    means = np.zeros((len(MEANS), runs))
    rows: list[FloatArray] = []
    for unit in range(STAGES):
        stage = unit + 1
        counts = joined[:, :unit].sum(axis=1).astype(int)
        arm = np.argmax(score(means, radii[counts], counts, RULE.alpha), axis=0)  # type: ignore[arg-type]
        joined[arm, unit, np.arange(runs)] = 1.0
        effects[unit] = np.take(MEANS, arm) + OUTCOME.sigma_unit * generator.standard_normal(runs)
        totals[:stage] += effects[:stage]
        totals[:stage] += OUTCOME.sigma_noise * generator.standard_normal((stage, runs))
        ages = np.arange(stage, 0, -1.0)
        now, sums = joined[:, :stage], totals[:stage]
        units = now.sum(axis=1)
        means = np.einsum("aur,ur,u->ar", now, sums, 1.0 / ages) / np.maximum(units, 1.0)
        if stage in MARKS:
            outcomes = np.einsum("aur,u->ar", now, ages)
            pooled = np.einsum("aur,ur->ar", now, sums) / outcomes
            rows += [
                np.array([units[i], means[i] - mean, pooled[i] - mean])
                for i, mean in enumerate(MEANS)
            ]
    return rows


def _radii() -> FloatArray:
    played = design(RULE, LEVEL)
    radius = RULE.unit_shape(len(MEANS)).radius
    level = -np.log(played.calibration.delta)
    unit, noise = OUTCOME.sigma_unit, OUTCOME.sigma_noise
    return np.array([radius(float(n), float(n), unit, noise, level) for n in range(STAGES + 1)])
