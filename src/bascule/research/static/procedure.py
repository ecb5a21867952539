"""The procedure of a static population: the arms are compared at one stage or at every one.

docs/research/static-populations.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np

from bascule.core.cohorts import CohortStatistics
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.evidence.calibration import Guarantee
from bascule.core.evidence.families.rows import Difference
from bascule.core.gaps import checked_means
from bascule.core.inputs import checks
from bascule.core.procedures.base import UNKNOWN, AnyStatistics, Decision, Procedure
from bascule.core.progress import procedure_as
from bascule.core.types import NO_DIFFERENCE, NOBODY, FloatArray
from bascule.research.static.thresholds import (
    Threshold,
    leader,
    nearest,
    pair_scales,
    scale,
    winner,
    within,
)


@dataclass(frozen=True, slots=True)
class Look:
    """The state of a test on a static population at one stage.

    `leader` and `rival` are the numbers of arms, counted from 0. `difference` is the leader's mean
    minus that of its nearest rival. `threshold` is what this difference has to reach; it is
    infinite at a stage at which the test does not look. `error` is one-sided.
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
    the number of planned looks, 0 for endlessly many; only `open_look` uses it.
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
        """The standard deviations of outcomes between units and within units."""
        return self.outcome.unit_spreads

    @property
    def end_error(self) -> float:
        """The error of one pair: that of the design divided by the number of arms less one."""
        return self.design.calibration.error / (self.arms - 1)

    @property
    def keeps_bounds(self) -> bool:
        """False: intersections of intervals are not stored, as only the present means are used."""
        return False

    @property
    def even(self) -> bool:
        """Whether all arms have equally many units."""
        return len(set(self.sizes)) == 1

    @property
    def has_horizon(self) -> bool:
        """Whether every test ends at a planned last stage."""
        return self.horizon is not None

    def check_live(self) -> None:
        """Raise an error: a static population needs no live test, with assignment and storage."""
        raise InputError(
            "rule",
            f"{self.label} is not run as a live test: split the population with buckets(), and "
            "judge the means of each stage with bascule.research.look",
        )

    def empty(self) -> CohortStatistics:
        """Return the statistics before the first stage."""
        return CohortStatistics.empty(self.arms)

    def next_size(self, statistics: AnyStatistics) -> int:
        """Return 0: the units are all there from the start."""
        return 0

    def threshold(self, stage: float) -> float:
        """Return the value that a scaled difference must reach for a decision at a stage."""
        if self.once and stage != self.horizon:
            return math.inf
        delta = self.design.calibration.delta
        return self.stage_threshold(float(stage), *self.spreads, delta, float(self.looks))

    def look(self, stage: int, means: Sequence[float]) -> Look:
        """Evaluate the means of the arms over all units and the first `stage` stages."""
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
        """Return the mean of each arm; raise an error unless each unit has an outcome per stage."""
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
        """Return every difference with its interval, which extends a threshold to each side."""
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


def look(design: Design, stage: int, means: Sequence[float]) -> Look:
    """Evaluate the arm means of a static population at a stage.

    The means are over all units and `stage` stages. A decision stands from the first stage that
    gives one.

    >>> import bascule as bs
    >>> from bascule.research import Static
    >>> design = bs.Design(["a", "b"], bs.Recurrent(1, 3), Static(10_000, horizon=30))
    >>> result = look(design, 30, [4.97, 5.06])
    >>> round(result.threshold, 4), result.decision.name, result.guarantee
    (0.0619, 'b', 'proven')
    """
    # Means are oriented so that higher is better, and the leader's difference is never negative.
    shown = checked_means(means, len(design.arms), design.outcome)
    return static_procedure(design).look(stage, [design.oriented(mean) for mean in shown])


def static_procedure(design: Design) -> StaticProcedure:
    """Return the procedure of a design whose rule is `Static`; InputError for other rules."""
    return procedure_as(design, StaticProcedure, "rule must be Static(population) here")
