"""Rollouts that are played unit by unit, and their agreement with paths of the evidence."""

from __future__ import annotations

import math

import pytest

import bascule as bs


def test_paths_of_a_known_spread_agree_with_rollouts_that_are_played() -> None:
    speed = bs.Metric("speed", bs.Gaussian(1), margin=0.8, baseline=0.0)
    plan = bs.plan_rollout([speed], [("0d", 0.5)], 100, runs=2000, deadline_days=5)
    assert not plan.played
    for case, loss in zip(plan.cases, (0.0, -0.4, -0.8, -1.6), strict=True):
        played = bs.simulate(
            plan.design, [0.0, 0.0], runs=2000, seed=3, metrics={"speed": [0.0, loss]}
        )
        assert played.guarded is not None
        shipped, back = (played.winner == 1).mean(), played.guarded.by_harm.mean()
        for observed, expected in ((shipped, case.shipped), (back, case.rolled_back)):
            # Four standard errors of a difference of two shares.
            allowed = 4.0 * math.sqrt(2.0 * max(expected * (1.0 - expected), 0.001) / 2000)
            assert observed == pytest.approx(expected, abs=allowed)
        error = played.decision_time.std() / 2.0 / math.sqrt(2000)
        assert played.decision_time.mean() / 2 == pytest.approx(case.exposed, abs=4 * 1.42 * error)
    # The primary metric has no say, so nothing it shows is wrong.
    assert played.error_rate == 0.0


def test_guardrails_without_a_known_spread_are_played() -> None:
    # Where the baseline is nearer to a limit than the margin, an arm cannot be so much worse.
    metric = bs.Metric("bought", bs.Bernoulli(), margin=0.3, baseline=0.25)
    plan = bs.plan_rollout([metric], [("0d", 0.5)], 100, runs=20, deadline_days=2)
    assert plan.played
    assert [case.name for case in plan.cases] == [
        "unchanged",
        "bought worse by half its margin",
        "bought worse by 0.25, the largest possible loss",
    ]
    assert "20 rollouts of each kind, played unit by unit" in repr(plan)
