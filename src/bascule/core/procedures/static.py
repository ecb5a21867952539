"""Tests of a population that is there from the first stage on: threshold, winner and procedure.

At each stage every unit gives one outcome, and an arm's mean is that over all its units and stages.
The difference of two arms is multiplied by sqrt(h), h = n_i n_j / (n_i + n_j), which makes its
variance that of one unit, sigma_unit^2 + sigma_noise^2 / stage, whatever their sizes. A threshold
is what this number has to reach. docs/research/static-populations.md has the proofs.

Every threshold is given (stage, sigma_unit, sigma_noise, delta, looks); `looks` is how many are
planned, 0 for endlessly many, and matters to `open_look` alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np

from bascule.core.cohorts import CohortStatistics
from bascule.core.errors import InputError
from bascule.core.evidence.calibration import Guarantee
from bascule.core.evidence.families.rows import Difference
from bascule.core.evidence.normal import mixture_boundary
from bascule.core.evidence.radius import lg
from bascule.core.gaps import checked_means
from bascule.core.inputs import checks
from bascule.core.procedures.base import UNKNOWN, AnyStatistics, Decision, Procedure
from bascule.core.types import NO_DIFFERENCE, NOBODY, FloatArray

Threshold = Callable[[float, float, float, float, float], float]
"""(stage, sigma_unit, sigma_noise, delta, looks) -> what a difference has to reach."""

SHRINKAGE = 1.5
"""Each planned look comes when the variance has fallen by this factor since the one before."""

FIRST_CLOCK = 100.0
"""The clock of the mixture at the first stage: far enough from the ends of its scales."""

NEVER = math.inf


def spread(stage: float, sigma_unit: float, sigma_noise: float) -> float:
    """The standard deviation of a unit's own average over `stage` outcomes.

    >>> spread(4, 3.0, 8.0)
    5.0
    """
    return math.sqrt(sigma_unit * sigma_unit + sigma_noise * sigma_noise / stage)


def one_look(
    stage: float,
    sigma_unit: float,
    sigma_noise: float,
    delta: float,
    looks: float,
) -> float:
    """The paper's threshold for a test that looks at one stage, fixed beforehand.

    >>> round(one_look(4, 3.0, 8.0, 0.05, 1), 3)
    12.239
    """
    return spread(stage, sigma_unit, sigma_noise) * math.sqrt(2.0 * math.log(1.0 / delta))


def any_time(
    stage: float,
    sigma_unit: float,
    sigma_noise: float,
    delta: float,
    looks: float,
) -> float:
    """The paper's threshold for a test that looks at every stage.

    >>> round(any_time(4, 3.0, 8.0, 0.05, 0), 3)
    20.474
    """
    of_units = math.sqrt(2.0 * math.log(2.0 / delta))
    level = lg(stage)
    of_noise = math.sqrt(2.0 / stage * math.log(3.0 * level * level / delta))
    return sigma_unit * of_units + sigma_noise * of_noise


def following_look(stage: float, sigma_unit: float, sigma_noise: float) -> float:
    """The stage of the planned look after the one at `stage`; infinite after the last.

    >>> following_look(1, 1.0, 1.0), following_look(3, 1.0, 1.0), following_look(4, 0.0, 1.0)
    (3.0, inf, 6.0)
    """
    now = spread(stage, sigma_unit, sigma_noise)
    of_noise = now * now / SHRINKAGE - sigma_unit * sigma_unit
    if of_noise <= 0.0:
        return NEVER
    # Rounding must not put a look one stage later.
    due = sigma_noise * sigma_noise / of_noise * (1.0 - 1e-12)
    return float(max(stage + 1.0, math.ceil(due))) if due < 1e18 else NEVER


def planned_looks(sigma_unit: float, sigma_noise: float, last: float) -> int:
    """How many looks there are up to stage `last`; 0 for endlessly many.

    >>> planned_looks(1.0, 1.0, math.inf), planned_looks(0.0, 1.0, 30), planned_looks(0, 1, NEVER)
    (2, 8, 0)
    """
    if sigma_unit == 0.0 and math.isinf(last):
        return 0
    count, stage = 0, 1.0
    while stage <= last and stage < NEVER:
        count += 1
        stage = following_look(stage, sigma_unit, sigma_noise)
    return count


def open_look(
    stage: float, sigma_unit: float, sigma_noise: float, delta: float, looks: float
) -> float:
    """The threshold of the latest planned look, which stays open at all stages after it.

    Planned looks share delta evenly; of endlessly many, look k has 1 / (k (k + 1)) of it.

    >>> [round(open_look(stage, 1.0, 1.0, 0.05, 2), 3) for stage in (1, 2, 3, 100)]
    [3.841, 3.841, 3.136, 3.136]
    """
    opened = 1.0
    number = 1.0
    following = following_look(opened, sigma_unit, sigma_noise)
    while following <= stage and (looks == 0.0 or number < looks):
        opened = following
        number += 1.0
        following = following_look(opened, sigma_unit, sigma_noise)
    parts = looks if looks > 0.0 else number * (number + 1.0)
    return spread(opened, sigma_unit, sigma_noise) * math.sqrt(2.0 * math.log(parts / delta))


def mixture(
    stage: float,
    sigma_unit: float,
    sigma_noise: float,
    delta: float,
    looks: float,
) -> float:
    """The threshold of a normal mixture, for normal units and noise.

    >>> round(mixture(4, 3.0, 8.0, 0.05, 0), 3)
    15.611
    """
    now = spread(stage, sigma_unit, sigma_noise)
    shrunk = spread(1.0, sigma_unit, sigma_noise) / now
    clock = FIRST_CLOCK * shrunk * shrunk
    return now * mixture_boundary(clock, -math.log(delta)) / math.sqrt(clock)


def scale(units_a: float, units_b: float) -> float:
    """The factor of the difference of two arms, by their units.

    >>> scale(50, 50)
    5.0
    """
    return math.sqrt(units_a * units_b / (units_a + units_b))


def leader(means: FloatArray, arms: int) -> int:
    """The arm with the highest mean; the first one on a tie."""
    best = 0
    for arm in range(1, arms):
        if means[arm] > means[best]:
            best = arm
    return best


def nearest(means: FloatArray, scales: FloatArray, arms: int, best: int) -> int:
    """The rival over which the lead of an arm is smallest, as a threshold sees it.

    `scales` holds `scale` for every pair of arms.
    """
    rival = 1 if best == 0 else 0
    least = math.inf
    for arm in range(arms):
        lead = (means[best] - means[arm]) * scales[best * arms + arm]
        if arm != best and lead < least:
            rival = arm
            least = lead
    return rival


def winner(means: FloatArray, scales: FloatArray, arms: int, threshold: float) -> int:
    """The arm whose lead over every other has reached the threshold, or `NOBODY`."""
    best = leader(means, arms)
    rival = nearest(means, scales, arms, best)
    lead = (means[best] - means[rival]) * scales[best * arms + rival]
    return best if lead >= threshold else NOBODY


def within(
    means: FloatArray, scales: FloatArray, arms: int, threshold: float, margin: float
) -> bool:
    """Whether every difference is proven smaller than the margin at this threshold.

    >>> import numpy as np
    >>> within(np.array([0.0, 0.1]), np.full(4, 10.0), 2, 5.0, 0.7)
    True
    """
    proven = True
    for i in range(arms):
        for j in range(i + 1, arms):
            reach = threshold / scales[i * arms + j]
            proven = proven and abs(means[i] - means[j]) + reach < margin
    return bool(proven)


@dataclass(frozen=True, slots=True)
class Look:
    """What a static test shows at a stage.

    `difference` is how far the leader's mean is above that of its nearest rival, and `threshold`
    what this difference has to reach; it is infinite at a stage at which the test does not look.
    """

    stage: int
    leader: int
    rival: int
    difference: float
    threshold: float
    decision: Decision | None
    error: float
    guarantee: Guarantee


@dataclass(frozen=True, slots=True)
class StaticProcedure(Procedure):
    """A population whose arms have `sizes` units each, compared at one stage or at every one.

    `horizon` is the last stage, if there is one; with `once` the test looks there only. `looks` is
    how many looks are planned, 0 for endlessly many.
    """

    sizes: tuple[int, ...]
    horizon: int | None
    once: bool
    stage_threshold: Threshold
    looks: int
    counts: ClassVar[Literal["stages"]] = "stages"
    kind: ClassVar[str] = "static"
    assigns: ClassVar[Literal["hash"]] = "hash"

    @property
    def spreads(self) -> tuple[float, float]:
        """The spread between units and that within them."""
        return self.outcome.unit_spreads

    @property
    def end_error(self) -> float:
        """Each pair has its part of the error."""
        return self.design.calibration.error / (self.arms - 1)

    @property
    def keeps_bounds(self) -> bool:
        """Nothing is kept: the means of a stage are all there is, and a decision ends the test."""
        return False

    @property
    def even(self) -> bool:
        """Whether all arms have equally many units."""
        return len(set(self.sizes)) == 1

    @property
    def last_stage(self) -> int | None:
        """The horizon."""
        return self.horizon

    def check_live(self) -> None:
        """Refuse: nothing has to be assigned or stored in a static population."""
        raise InputError(
            "rule",
            f"{self.label} is not run as a live test: split the population with buckets(), and "
            "judge the means of each stage with bascule.progress.look",
        )

    def empty(self) -> CohortStatistics:
        """Return the statistics before the first stage."""
        return CohortStatistics.empty(self.arms)

    def next_size(self, statistics: AnyStatistics) -> int:
        """Return 0: the units are all there from the start."""
        return 0

    def threshold(self, stage: float) -> float:
        """Return what a difference, times its scale, has to reach at a stage."""
        if self.once and stage != self.horizon:
            return math.inf
        delta = self.design.calibration.delta
        return self.stage_threshold(float(stage), *self.spreads, delta, float(self.looks))

    def look(self, stage: int, means: Sequence[float]) -> Look:
        """Return what the means of the arms, over all units and `stage` stages, allow to say."""
        stage = checks.whole("stage", stage, 1, "stages are counted from 1")
        last = self.horizon
        if last is not None and stage > last:
            raise InputError(
                "stage", f"stage must be at most {last} (got {stage}): the test ends at its horizon"
            )
        arms = self.arms
        observed = np.array(checked_means(means, arms, self.outcome))
        scales = pair_scales(self.sizes)
        limit = self.threshold(stage)
        best = leader(observed, arms)
        rival = nearest(observed, scales, arms, best)
        promise = self.design.calibration
        return Look(
            stage=stage,
            leader=best,
            rival=rival,
            difference=float(observed[best] - observed[rival]),
            threshold=limit / float(scales[best * arms + rival]),
            decision=self.declared(self._winner_of(observed, limit)),
            error=promise.error,
            guarantee=promise.guarantee,
        )

    def means(self, statistics: CohortStatistics) -> list[float]:
        """Return the mean of each arm; every unit has one outcome for each stage."""
        for size, arm, name in zip(self.sizes, statistics.arms, self.design.arms, strict=True):
            everyone = [(cohort.units, cohort.outcomes) for cohort in arm.cohorts]
            if everyone != [(size, statistics.stage)]:
                raise InputError(
                    "statistics",
                    f"statistics must have the {size} units of {name!r} with {statistics.stage} "
                    "outcomes each: in a static population everyone gives one at every stage",
                )
        return [arm.cohorts[0].means / arm.cohorts[0].units for arm in statistics.arms]

    def winner(self, statistics: AnyStatistics) -> int:
        """Return the arm that has won, `NO_DIFFERENCE` or `NOBODY`."""
        self.check(statistics)
        assert isinstance(statistics, CohortStatistics)
        means = np.array(self.means(statistics))
        return self._winner_of(means, self.threshold(statistics.stage))

    def _winner_of(self, means: FloatArray, limit: float) -> int:
        scales, margin = pair_scales(self.sizes), self.design.min_effect
        decided = winner(means, scales, self.arms, limit)
        if (
            decided == NOBODY
            and margin is not None
            and within(means, scales, self.arms, limit, margin)
        ):
            decided = NO_DIFFERENCE
        return decided

    def decision(self, statistics: AnyStatistics) -> Decision | None:
        """Return the decision that the stage allows, or None."""
        self.check(statistics)
        assert isinstance(statistics, CohortStatistics)
        return self.look(statistics.stage, self.means(statistics)).decision

    def differences(self, statistics: AnyStatistics) -> list[Difference]:
        """Return the interval of every difference: the threshold on either side of it."""
        self.check(statistics)
        assert isinstance(statistics, CohortStatistics)
        arms, sizes = self.arms, self.sizes
        if statistics.stage == 0:
            return [UNKNOWN] * (arms * (arms - 1) // 2)
        limit = self.threshold(statistics.stage)
        means = [sum(cohort.means for cohort in arm.cohorts) / arm.units for arm in statistics.arms]
        differences = []
        for i, j in combinations(range(arms), 2):
            reach = limit / scale(sizes[i], sizes[j])
            difference = means[i] - means[j]
            differences.append((difference, difference - reach, difference + reach))
        return differences

    def close_stage(self, statistics: CohortStatistics) -> CohortStatistics:
        """Return the statistics as they are: nobody leaves a static population."""
        return statistics


def pair_scales(sizes: tuple[int, ...]) -> FloatArray:
    """`scale` for every ordered pair of arms, row by row.

    >>> pair_scales((50, 50)).tolist()
    [5.0, 5.0, 5.0, 5.0]
    """
    units = np.array(sizes, np.float64)
    scales: FloatArray = np.sqrt(1.0 / (1.0 / units[:, None] + 1.0 / units[None, :])).ravel()
    return scales
