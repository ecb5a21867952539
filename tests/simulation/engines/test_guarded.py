"""Guardrails in simulations: what is stated of them holds, and is reported."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

import bascule as bs

RUNS = 100


def design(arms: int = 2, tilt: float = 3, **changes: Any) -> bs.Design:
    metric = bs.Metric("guard", bs.Gaussian(1), **{"margin": 1.0, "error": 0.2, **changes})
    names = ["control", "b", "c"][:arms]
    # At tilt 8 a block has more units than outcomes are drawn at a time.
    rule = bs.Tilt(tilt, batch=4 if tilt == 8 else 1)
    return bs.Design(
        names, bs.Gaussian(1), rule, metrics=[metric], harm_error=0.2, max_units=120 * rule.batch
    )


@pytest.mark.parametrize("tilt", [1, 8])
def test_an_arm_at_the_margin_is_shipped_no_more_often_than_stated(tilt: float) -> None:
    played = bs.simulate(
        design(tilt=tilt), [0.0, 2.0], runs=RUNS, seed=3, metrics={"guard": [0.0, -1.0]}
    )
    assert played.guarded is not None
    shipped = played.guarded.beyond_margin(played.winner, "guard")
    assert 0.0 < shipped <= 0.2 + 3.0 * math.sqrt(0.16 / RUNS)
    assert played.guarded.false_removals <= 0.2 + 3.0 * math.sqrt(0.16 / RUNS)
    assert played.to_dict()["metrics"]["shipped_beyond_margin"] == {"guard": shipped}


def test_a_harmful_arm_is_removed_and_the_next_one_ships() -> None:
    means = {"guard": [0.0, 0.0, -3.0]}
    played = bs.simulate(design(arms=3, baseline=0.0), [0.0, 2.0, 3.0], runs=20, metrics=means)
    assert played.guarded is not None
    assert played.guarded.removed[:, 2].mean() > 0.8
    assert (played.winner == 1).mean() > 0.8
    two = bs.simulate(design(), [0.0, 2.0], runs=20, metrics={"guard": [0.0, -3.0]})
    assert two.guarded is not None
    assert two.guarded.by_harm.mean() > 0.8
    # To keep the control is no claim about the primary metric.
    assert two.error_rate == 0.0


def test_means_of_metrics_are_given_or_known() -> None:
    with pytest.raises(bs.InputError, match="the means of guard are missing"):
        bs.simulate(design(), [0.0, 1.0], runs=2)
    with pytest.raises(bs.InputError, match="speed is not in the design: guard"):
        bs.simulate(design(baseline=0.0), [0.0, 1.0], runs=2, metrics={"speed": [1, 2]})
    with pytest.raises(bs.InputError, match="steady world"):
        bs.simulate(design(baseline=0.0), [0.0, 1.0], runs=2, world="rising")
    with pytest.raises(bs.InputError, match="primary metric alone"):
        bs.audit(design(baseline=0.0), runs=2)
    with pytest.raises(bs.InputError, match="the design has none"):
        bs.simulate(bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3)), [0, 1], metrics={"g": [0]})


def test_a_plan_for_the_primary_metric_does_not_end_a_test_that_waits_for_its_guardrails() -> None:
    guard = bs.Metric("guard", bs.Gaussian(1), margin=0.6, baseline=0.0, harm="never")
    made = bs.Design(
        ["control", "b"],
        bs.Gaussian(1),
        bs.Tilt(1, effect=2.0, power=0.9),
        metrics=[guard],
        max_units=600,
    )
    played = bs.simulate(made, [0.0, 2.0], runs=20, seed=1)
    alone = bs.simulate(replace(made, metrics=()), [0.0, 2.0], runs=20, seed=1)
    assert alone.decision_time.max() < 30
    shipped = played.winner == 1
    assert shipped.mean() > 0.7
    assert played.decision_time[shipped].mean() > 40
    # Where the primary metric finds nothing, the plan ends the test as before.
    assert bs.simulate(made, [0.0, 0.0], runs=10, seed=1).decision_time.max() < 30
