"""No interval excludes its own estimate: all families of evidence, on outcomes that turn round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.metrics.guardrails import metric_views
from bascule.core.outcomes import Pair
from bascule.live.steps.folding import fold_unit, take_out
from bascule.live.steps.maturity import Matured
from bascule.live.storage.deals import Deal
from bascule.live.storage.state import ExperimentState

pytestmark = pytest.mark.slow

DAY = bs.Measure("1d", "mean", "exclude")
GUARD = bs.Metric("guard", bs.Numeric(), margin=1.0, measure=DAY)
HARM = bs.Metric("harm", bs.Gaussian(1), margin=5.0, measure=DAY, harm="any")
X, LIMITED = bs.Covariate("x"), bs.Covariate("x", -3, 3)
PLAN: dict[str, Any] = {"effect": 0.8, "power": 0.9}
COIN: dict[str, Any] = {"effect": 0.3, "baseline": 0.3}

FAMILIES: dict[str, tuple[bs.Tilt, Any, dict[str, Any]]] = {
    "known spread": (bs.Tilt(1), bs.Gaussian(1), {}),
    "known spread, planned": (bs.Tilt(3, effect=0.8), bs.Gaussian(1), {"goal": "decrease"}),
    "known spread, horizon": (bs.Tilt(3, **PLAN, futility=0.2), bs.Gaussian(1), {}),
    "known spread, flat": (bs.Tilt(1, **PLAN, guarantee="gaussian"), bs.Gaussian(1), {}),
    "bets": (bs.Tilt(3), bs.Bernoulli(), {}),
    "bets, limits": (bs.Tilt(1), bs.Bounded(0, 4), {}),
    "bets, planned": (bs.Tilt(3, **COIN), bs.Bernoulli(), {"goal": "decrease"}),
    "bets, horizon": (bs.Tilt(1, **COIN, power=0.9), bs.Bernoulli(), {}),
    "bets, covariate": (bs.Tilt(3), bs.Bounded(0, 4), {"covariates": [LIMITED]}),
    "estimated": (bs.Tilt(3), bs.Numeric(), {}),
    "estimated, horizon": (bs.Tilt(1, **PLAN), bs.Numeric(), {}),
    "estimated, covariate": (bs.Tilt(1), bs.Numeric(), {"covariates": [X]}),
    "ratio": (bs.Tilt(3), bs.Ratio(at=2), {}),
    "ratio, horizon": (bs.Tilt(1, **PLAN), bs.Ratio(at=2), {"goal": "decrease"}),
    "ratio, covariate": (bs.Tilt(1), bs.Ratio(at=2), {"covariates": [X]}),
    "metrics": (bs.Tilt(1), bs.Gaussian(1), {"metrics": [GUARD, HARM], "measure": DAY}),
}


def design_of(family: str, arms: int) -> bs.Design:
    rule, outcome, more = FAMILIES[family]
    return bs.Design([f"arm{i}" for i in range(arms)], outcome, rule, error=0.2, **more)


def drawn(design: bs.Design, rng: np.random.Generator, ahead: bool) -> Any:
    """An outcome: of the arm that is ahead now, or of another."""
    level = 2.0 + 1.2 * ahead
    if design.outcome.pairs:
        visits = float(rng.integers(0, 4))
        return Pair(visits * rng.normal(level, 0.5), visits)
    if design.outcome.binary:
        return float(rng.random() < (0.8 if ahead else 0.2))
    return float(np.clip(rng.normal(level, 1.0), 0.0, 4.0))


def check(design: bs.Design, state: ExperimentState) -> None:
    listed = list(bs.progress.effects(design, state.once))
    if design.metrics:
        listed += [one for view in metric_views(design, state.once) for one in view.effects]
    for effect in listed:
        assert effect.low <= effect.difference <= effect.high, effect


@pytest.mark.parametrize("arms", [2, 3, 5])
@pytest.mark.parametrize("family", FAMILIES)
def test_no_interval_excludes_its_own_estimate(family: str, arms: int) -> None:
    design = design_of(family, arms)
    rng = np.random.default_rng([1, arms])
    state, blocks = ExperimentState.empty(design), 60 // arms
    for number in range(1, blocks + 1):
        block = bs.progress.next_block(design, state.once)
        parts = []
        for _ in range(block.repeat):
            slots = [arm for arm, units in enumerate(block.units) for _ in range(units)]
            parts.append(tuple(rng.permutation(slots).tolist()))
        deal = Deal(number, tuple(parts))
        # One arm is ahead for long, and then another.
        leader = 1 if number < blocks // 2 else 0
        for arm in deal.slots:
            value = drawn(design, rng, arm == leader)
            others = [
                None if rng.random() < 0.3 else drawn(one, rng, arm == leader)
                for one in design.metric_designs
            ]
            known = tuple(float(rng.normal()) for _ in design.covariates or ())
            lacking = [False, *(one is None for one in others)]
            unit = Matured(arm, value, others, known, lacking)
            state = fold_unit(design, state, deal, unit, 0.0)
        check(design, state)
        if arms > 2 and number == (2 * blocks) // 3:
            state, _ = take_out(design, state, design.arms[-1], None, 0.0)
            check(design, state)


def test_many_arms_in_four_sums() -> None:
    design = design_of("bets", 22)
    rng, seen = np.random.default_rng(4), bs.progress.Statistics.empty(22)
    for number in range(12):
        sums = []
        for arm, units in enumerate(bs.progress.next_block(design, seen).units):
            values = [drawn(design, rng, arm == number // 6) for _ in range(units)]
            sums.append(bs.progress.ArmStatistics(units, sum(values), sum(values)))
        seen = bs.progress.fold_block(design, seen, sums)
        for effect in bs.progress.effects(design, seen):
            assert effect.low <= effect.difference <= effect.high
