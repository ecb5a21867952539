from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.evidence.radius import lg
from bascule.core.procedures.static.population import (
    Threshold,
    any_time,
    leader,
    nearest,
    one_look,
    scale,
    winner,
)
from bascule.core.types import NOBODY

THRESHOLDS = (one_look, any_time)

stages = st.integers(1, 10**6)
spreads = st.floats(0.01, 100)
deltas = st.floats(1e-9, 0.2)


@given(stage=stages, unit=spreads, noise=spreads, delta=deltas, n=st.integers(2, 10**6))
def test_the_papers_thresholds_for_n_users_in_two_halves(
    stage: int, unit: float, noise: float, delta: float, n: int
) -> None:
    half = scale(n / 2, n / 2)
    fixed = math.sqrt(8 * (unit**2 + noise**2 / stage) * math.log(1 / delta) / n)
    assert one_look(stage, unit, noise, delta) / half == pytest.approx(fixed)
    users = math.sqrt(8 * unit**2 * math.log(2 / delta) / n)
    walk = math.sqrt(8 * noise**2 * math.log(3 * lg(stage) ** 2 / delta) / (stage * n))
    assert any_time(stage, unit, noise, delta) / half == pytest.approx(users + walk)


@pytest.mark.parametrize("threshold", THRESHOLDS)
@given(stage=stages, unit=spreads, noise=spreads, delta=deltas, power=st.integers(-9, 9))
def test_the_units_of_the_outcome_do_not_matter(
    threshold: Threshold, stage: int, unit: float, noise: float, delta: float, power: int
) -> None:
    factor = 2.0**power
    scaled = threshold(stage, factor * unit, factor * noise, delta)
    assert scaled == factor * threshold(stage, unit, noise, delta)


@pytest.mark.parametrize("threshold", THRESHOLDS)
@given(stage=stages, unit=spreads, noise=spreads, delta=st.floats(1e-9, 0.05))
def test_thresholds_fall_with_time_towards_that_of_the_units(
    threshold: Threshold, stage: int, unit: float, noise: float, delta: float
) -> None:
    now = threshold(stage, unit, noise, delta)
    assert threshold(stage + 1, unit, noise, delta) <= now * (1 + 1e-9)
    assert now >= one_look(math.inf, unit, noise, delta)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_units_without_noise_say_all_at_once(threshold: Threshold) -> None:
    assert threshold(1, 1.0, 0.0, 0.05) == pytest.approx(threshold(1000, 1.0, 0.0, 0.05))


@given(
    st.lists(st.tuples(st.floats(-3, 3), st.integers(1, 100)), min_size=2, max_size=6),
    st.floats(0.1, 10),
)
def test_the_winner_leads_every_rival_by_the_threshold(
    arms: list[tuple[float, int]], threshold: float
) -> None:
    means = np.array([mean for mean, _ in arms])
    scales = np.array([scale(a, b) for _, a in arms for _, b in arms])
    best = leader(means, len(arms))
    leads = [
        (means[best] - means[j]) * scales[best * len(arms) + j] if j != best else math.inf
        for j in range(len(arms))
    ]
    assert means[best] == means.max()
    assert leads[nearest(means, scales, len(arms), best)] == min(leads)
    expected = best if min(leads) >= threshold else NOBODY
    assert winner(means, scales, len(arms), threshold) == expected
