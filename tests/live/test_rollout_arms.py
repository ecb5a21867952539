"""Rollouts of two new versions through a store end as their plan says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bascule as bs

pytestmark = pytest.mark.slow

TESTS, PLANNED = 60, 4000
LOSSES = (0.0, 2.0, 4.0)
"""No difference, the margin, and twice the margin."""


@pytest.fixture(scope="module")
def plan() -> bs.planning.Rollout:
    speed = bs.Metric("speed", bs.Gaussian(1), margin=2.0, baseline=0.0)
    everyone = [("0d", 0.667)]
    return bs.plan_rollout([speed], everyone, 9, arms=3, runs=PLANNED, deadline_days=4)


def ending(plan: bs.planning.Rollout, loss: float, seed: int) -> str:
    """Return how a rollout ends in a store: "ship", "back" or "open"."""
    rng = np.random.default_rng([seed, int(loss)])
    with bs.open(":memory:", clock=bs.ManualClock()) as store:
        test = store.create("rollout", plan.design, audience=plan.audience, reports="always")
        for part in range(4):
            units = [f"{part} {i}" for i in range(9)]
            outcomes: list[tuple[Any, ...]] = []
            for unit, arm in zip(units, test.assign_many(units), strict=True):
                value = rng.normal(-loss if arm != "present" else 0.0)
                outcomes += [(unit, value, None, None, name) for name in ("primary", "speed")]
            test.record_many(outcomes)
            if test.state != "running":
                break
        decision = test.status().decision
        if decision is None:
            return "open"
        return "back" if decision.harm else "ship"


@pytest.mark.parametrize("place", range(3), ids=("equal", "at the margin", "twice"))
def test_three_arms_end_as_planned(plan: bs.planning.Rollout, place: int) -> None:
    case = plan.cases[place]
    endings = [ending(plan, LOSSES[place], seed) for seed in range(TESTS)]
    planned = {"ship": case.shipped, "back": case.rolled_back, "open": case.undecided}
    for name, expected in planned.items():
        # Four standard errors of a difference of two shares.
        spread = max(expected * (1.0 - expected), 1.0 / TESTS)
        allowed = 4.0 * math.sqrt(spread * (1.0 / TESTS + 1.0 / PLANNED))
        assert endings.count(name) / TESTS == pytest.approx(expected, abs=allowed), name
    # A version at its margin or beyond it is shipped in at most 5 %, and one within it goes back.
    assert (case.shipped if LOSSES[place] >= 2.0 else case.rolled_back) <= 0.05
