"""The fixed-horizon test keeps its error and its power."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bascule as bs
from bascule.planning.search.fixed_horizon import fixed_horizon


def test_power_and_error_are_as_promised() -> None:
    request = bs.PlanRequest(bs.Gaussian(5), 20, 1, error=0.05, sides=1)
    units = fixed_horizon(request).units_per_arm
    random = np.random.default_rng(1)
    runs = 20_000
    noise = 5 * math.sqrt(2 / units) * random.standard_normal(runs)
    threshold = 1.6448536 * 5 * math.sqrt(2 / units)
    power, wrong = np.mean(1 + noise > threshold), np.mean(noise > threshold)
    assert power == pytest.approx(0.9, abs=4 * math.sqrt(0.09 / runs))
    assert wrong == pytest.approx(0.05, abs=4 * math.sqrt(0.0475 / runs))


def test_it_has_the_sides_of_the_request() -> None:
    # The textbook's sample size for 5 % two-sided and 90 % power: (1.96 + 1.28)^2 2 s^2 / D^2.
    two_sided = bs.PlanRequest(bs.Gaussian(5), 20, 1, error=0.05, sides=2)
    assert fixed_horizon(two_sided).units_per_arm == 526
    one_sided = bs.PlanRequest(bs.Gaussian(5), 20, 1, error=0.025, sides=1)
    assert fixed_horizon(two_sided) == fixed_horizon(one_sided)


def test_more_arms_share_the_error_and_cost_more() -> None:
    two, four = (fixed_horizon(bs.PlanRequest(arms=arms, sides=1)) for arms in (2, 4))
    assert four.units_per_arm > two.units_per_arm
    assert four.cost == pytest.approx(3 * 0.01 * four.units_per_arm)


def test_limits_and_recurring_outcomes_have_theirs() -> None:
    bounded = bs.PlanRequest(bs.Bounded(0, 100), 20, 1, spread=5, sides=1)
    assert (
        fixed_horizon(bounded).units_per_arm
        == fixed_horizon(bs.PlanRequest(bs.Gaussian(5), 20, 1, sides=1)).units_per_arm
    )
    once = bs.PlanRequest(bs.Recurrent(5, 0), 20, 1, sides=1)
    assert fixed_horizon(once).units_per_arm == pytest.approx(429, abs=1)
    noisy = bs.PlanRequest(bs.Recurrent(5, 5), 20, 1, units_per_day=100, sides=1)
    rare = bs.PlanRequest(
        bs.Recurrent(5, 5), 20, 1, units_per_day=100, outcomes_per_day=0.1, sides=1
    )
    assert 429 < fixed_horizon(noisy).units_per_arm < fixed_horizon(rare).units_per_arm
