"""Where a test of a static population stands at a stage: a pure function of design and means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bascule.core import checks
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.gaps import checked_means
from bascule.core.outcomes import Recurrent
from bascule.core.procedures import population
from bascule.core.procedures.cohorts import CohortStatistics
from bascule.core.procedures.decision import Decision
from bascule.core.procedures.interval_state import NOBODY, FloatArray
from bascule.core.rules.calibration import Guarantee
from bascule.core.rules.static import Static


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


def look(design: Design, stage: int, means: Sequence[float]) -> Look:
    """What the means of the arms, over all their units and `stage` stages, allow to say.

    A decision stands from the first stage that gives one.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Recurrent(1, 3), bs.Static(10_000, horizon=30))
    >>> seen = look(design, 30, [4.97, 5.06])
    >>> round(seen.threshold, 4), seen.decision.name, seen.guarantee
    (0.0558, 'b', 'proven')
    """
    rule, outcome = static_rule(design), recurrent_outcome(design)
    arms = len(design.arms)
    last = rule.horizon
    stage = checks.whole("stage", stage, 1, "stages are counted from 1")
    if last is not None and stage > last:
        raise InputError(
            "stage", f"stage must be at most {last} (got {stage}): the test ends at its horizon"
        )
    seen = np.array(checked_means(means, arms, outcome))
    scales = pair_scales(rule.sizes(arms))
    limit = stage_threshold(design, stage)
    best = population.leader(seen, arms)
    rival = population.nearest(seen, scales, arms, best)
    won = population.winner(seen, scales, arms, limit)
    promise = design.calibration
    return Look(
        stage=stage,
        leader=best,
        rival=rival,
        difference=float(seen[best] - seen[rival]),
        threshold=limit / float(scales[best * arms + rival]),
        decision=None
        if won == NOBODY
        else Decision(won, design.arms[won], promise.error, promise.guarantee),
        error=promise.error,
        guarantee=promise.guarantee,
    )


def look_at_cohorts(design: Design, statistics: CohortStatistics) -> Look:
    """The same from statistics, which have one cohort an arm: everyone came at the start."""
    sizes = static_rule(design).sizes(len(design.arms))
    for size, arm, name in zip(sizes, statistics.arms, design.arms, strict=True):
        everyone = [(cohort.units, cohort.outcomes) for cohort in arm.cohorts]
        if everyone != [(size, statistics.stage)]:
            raise InputError(
                "statistics",
                f"statistics must have the {size} units of {name!r} with {statistics.stage} "
                "outcomes each: in a static population everyone gives one at every stage",
            )
    means = [arm.cohorts[0].means / arm.cohorts[0].units for arm in statistics.arms]
    return look(design, statistics.stage, means)


def stage_threshold(design: Design, stage: float) -> float:
    """What a difference, times its scale, has to reach at a stage."""
    rule, outcome = static_rule(design), recurrent_outcome(design)
    if rule.stop == "horizon" and stage != rule.horizon:
        return math.inf
    spreads = (outcome.sigma_unit, outcome.sigma_noise)
    delta, looks = design.calibration.delta, float(rule.looks(outcome))
    return rule.threshold(float(stage), *spreads, delta, looks)


def pair_scales(sizes: tuple[int, ...]) -> FloatArray:
    """`scale` for every ordered pair of arms, row by row.

    >>> pair_scales((50, 50)).tolist()
    [5.0, 5.0, 5.0, 5.0]
    """
    units = np.array(sizes, np.float64)
    scales: FloatArray = np.sqrt(1.0 / (1.0 / units[:, None] + 1.0 / units[None, :])).ravel()
    return scales


def static_rule(design: Design) -> Static:
    """The rule of a design on a static population."""
    if isinstance(design.rule, Static):
        return design.rule
    raise InputError(
        "rule", f"rule must be Static(population) here, not {design.rule.label}: it needs no stages"
    )


def recurrent_outcome(design: Design) -> Recurrent:
    """The outcome of such a design."""
    assert isinstance(design.outcome, Recurrent)
    return design.outcome
