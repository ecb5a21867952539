"""Changes of the world that a simulation must not notice, or must follow exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bascule as bs


def simulate(
    rule: Any, means: list[float], sigma: float = 1.0, **more: Any
) -> bs.simulation.Simulation:
    names = [f"arm {i}" for i in range(len(means))]
    design = bs.Design(names, bs.Gaussian(sigma), rule, error=0.1, sides=1)
    return bs.simulate(design, means, **{"runs": 60, "seed": 3, **more})


@settings(max_examples=20)
@given(st.sampled_from([-64.0, 0.5, 3.0]), st.integers(0, 1000))
def test_shifting_all_means_changes_no_run(shift: float, seed: int) -> None:
    before = simulate(bs.UCB(2), [0.0, 1.0, 0.25], seed=seed)
    after = simulate(bs.UCB(2), [shift, 1.0 + shift, 0.25 + shift], seed=seed)
    # Sums of shifted outcomes round differently, which a tie of indices can show.
    assert np.mean(before.decision_time == after.decision_time) >= 0.95
    assert np.allclose(before.regret.mean(), after.regret.mean(), rtol=0.02)


@settings(max_examples=20)
@given(st.sampled_from([0.125, 2.0, 4096.0]), st.integers(0, 1000))
def test_scaling_means_with_sigma_scales_regret_and_nothing_else(scale: float, seed: int) -> None:
    before = simulate(bs.UCB(2), [0.0, 1.0], seed=seed)
    after = simulate(bs.UCB(2), [0.0, scale], sigma=scale, seed=seed)
    assert np.array_equal(before.units, after.units)
    assert np.array_equal(before.regret * scale, after.regret)


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.ETC(), bs.ETCPrime()])
def test_permuting_the_arms_permutes_the_result(rule: Any) -> None:
    """Not run by run, since arms draw from one stream, but on average."""
    one = simulate(rule, [1.0, 0.5, 0.0], runs=4000)
    two = simulate(rule, [0.0, 1.0, 0.5], runs=4000, seed=4)
    for here, there in ((0, 1), (1, 2), (2, 0)):
        a, b = one.units[:, here], two.units[:, there]
        se = math.hypot(a.std(), b.std()) / math.sqrt(4000)
        assert abs(a.mean() - b.mean()) < 4 * se


def test_another_seed_is_another_simulation() -> None:
    one, two = (simulate(bs.UCB(2), [0.0, 1.0], seed=seed) for seed in (1, 2))
    assert not np.array_equal(one.units, two.units)
