from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.evidence.normal import log_mixture
from bascule.core.evidence.radius import lg
from bascule.core.types import NOBODY
from bascule.research.static.thresholds import (
    FIRST_CLOCK,
    Threshold,
    any_time,
    following_look,
    leader,
    mixture,
    nearest,
    one_look,
    open_look,
    planned_looks,
    scale,
    spread,
    winner,
)

pytestmark = pytest.mark.slow

THRESHOLDS = (one_look, any_time, open_look, mixture)

stages = st.integers(1, 10**6)
spreads = st.floats(0.01, 100)
deltas = st.floats(1e-9, 0.2)


@given(stage=stages, unit=spreads, noise=spreads, delta=deltas, n=st.integers(2, 10**6))
def test_the_papers_thresholds_for_n_users_in_two_halves(
    stage: int, unit: float, noise: float, delta: float, n: int
) -> None:
    half = scale(n / 2, n / 2)
    fixed = math.sqrt(8 * (unit**2 + noise**2 / stage) * math.log(1 / delta) / n)
    assert one_look(stage, unit, noise, delta, 1) / half == pytest.approx(fixed)
    users = math.sqrt(8 * unit**2 * math.log(2 / delta) / n)
    walk = math.sqrt(8 * noise**2 * math.log(3 * lg(stage) ** 2 / delta) / (stage * n))
    assert any_time(stage, unit, noise, delta, 0) / half == pytest.approx(users + walk)


@given(stage=stages, unit=spreads, noise=spreads, delta=deltas)
def test_the_mixture_asks_for_evidence_of_one_over_delta(
    stage: int, unit: float, noise: float, delta: float
) -> None:
    now = spread(stage, unit, noise)
    clock = FIRST_CLOCK * (spread(1, unit, noise) / now) ** 2
    total = mixture(stage, unit, noise, delta, 0) / now * math.sqrt(clock)
    assert log_mixture(total, clock) == pytest.approx(-math.log(delta), rel=1e-6)


@pytest.mark.parametrize("threshold", THRESHOLDS)
@given(stage=stages, unit=spreads, noise=spreads, delta=deltas, power=st.integers(-9, 9))
def test_the_units_of_the_outcome_do_not_matter(
    threshold: Threshold, stage: int, unit: float, noise: float, delta: float, power: int
) -> None:
    factor = 2.0**power
    looks = planned_looks(unit, noise, math.inf)
    assert looks == planned_looks(factor * unit, factor * noise, math.inf)
    scaled = threshold(stage, factor * unit, factor * noise, delta, looks)
    assert scaled == factor * threshold(stage, unit, noise, delta, looks)


@pytest.mark.parametrize("threshold", THRESHOLDS)
@given(stage=stages, unit=spreads, noise=spreads, delta=st.floats(1e-9, 0.05))
def test_thresholds_fall_with_time_towards_that_of_the_units(
    threshold: Threshold, stage: int, unit: float, noise: float, delta: float
) -> None:
    looks = planned_looks(unit, noise, math.inf)
    now = threshold(stage, unit, noise, delta, looks)
    assert threshold(stage + 1, unit, noise, delta, looks) <= now * (1 + 1e-9)
    assert now >= one_look(math.inf, unit, noise, delta, 1)


@given(unit=spreads, noise=spreads, delta=deltas, last=st.integers(1, 10**6))
def test_planned_looks_spend_delta_and_no_more(
    unit: float, noise: float, delta: float, last: int
) -> None:
    looks = planned_looks(unit, noise, last)
    at, spent = 1.0, 0.0
    for _ in range(looks):
        assert at <= last
        asked = open_look(at, unit, noise, delta, looks) / spread(at, unit, noise)
        spent += math.exp(-asked * asked / 2)
        at = following_look(at, unit, noise)
    assert at > last
    assert spent == pytest.approx(delta)


def test_endless_looks_spend_delta_in_the_end() -> None:
    at, spent = 1.0, 0.0
    for _ in range(60):
        asked = open_look(at, 0.0, 2.0, 0.05, 0) / spread(at, 0.0, 2.0)
        spent += math.exp(-asked * asked / 2)
        at = following_look(at, 0.0, 2.0)
    assert 0.95 * 0.05 < spent < 0.05


@given(stage=stages, unit=spreads, noise=spreads, delta=deltas)
def test_a_look_stays_open_with_the_threshold_it_had(
    stage: int, unit: float, noise: float, delta: float
) -> None:
    looks = planned_looks(unit, noise, math.inf)
    opened = 1.0
    while following_look(opened, unit, noise) <= stage:
        opened = following_look(opened, unit, noise)
    before = open_look(opened, unit, noise, delta, looks)
    assert open_look(stage, unit, noise, delta, looks) == before


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_units_without_noise_say_all_at_once(threshold: Threshold) -> None:
    assert threshold(1, 1.0, 0.0, 0.05, 1) == pytest.approx(threshold(1000, 1.0, 0.0, 0.05, 1))


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
