"""A flat boundary up to a horizon, and the stakes that follow it."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from bascule.core.evidence.horizon import (
    conditional_power,
    log_flat,
    normal_constant,
    room_left,
    stake,
    upper_quantile,
)


@pytest.mark.parametrize("tail", [0.5, 0.3, 0.02, 1e-3, 1e-9, 1e-40])
def test_the_quantile_is_that_of_the_normal_distribution(tail: float) -> None:
    assert upper_quantile(math.log(tail)) == pytest.approx(-NormalDist().inv_cdf(tail), abs=1e-7)


@pytest.mark.parametrize("log_tail", [-299.0, -301.0, -1e4])
def test_the_quantile_goes_on_far_out(log_tail: float) -> None:
    z = upper_quantile(log_tail)
    assert -0.5 * z * z - math.log(z) - 0.5 * math.log(2 * math.pi) == pytest.approx(
        log_tail, rel=1e-4
    )


@pytest.mark.parametrize("level", [0.4, 0.05, 1e-6])
def test_the_evidence_reaches_its_threshold_at_the_boundary(level: float) -> None:
    line = normal_constant(level) * math.sqrt(70.0)
    assert log_flat(line, 70.0) == pytest.approx(-math.log(level))


@pytest.mark.parametrize("share", [0.9, 0.05, 1e-5])
def test_the_stake_is_the_slope_of_the_probability_to_reach_the_boundary(share: float) -> None:
    left = 30.0
    room = room_left(math.log(share)) * math.sqrt(left)

    def log_probability(total: float) -> float:
        return math.log(2 * NormalDist().cdf(-(room - total) / math.sqrt(left)))

    slope = (log_probability(1e-4) - log_probability(-1e-4)) / 2e-4
    assert stake(math.log(share), left) == pytest.approx(slope, rel=1e-4)


def test_conditional_power_is_what_paths_show() -> None:
    room, left, steps, paths = 2.0, 4.0, 400, 4000
    noise = np.random.default_rng(1).normal(left / steps, math.sqrt(left / steps), (paths, steps))
    reached = float((noise.cumsum(axis=1).max(axis=1) >= room).mean())
    # Between two of the steps a path is not seen: as if the boundary were further away.
    seen = conditional_power(room + 0.5826 * math.sqrt(left / steps), left)
    assert reached == pytest.approx(seen, abs=4 * math.sqrt(seen * (1 - seen) / paths))
