from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.evidence.normal import mixture_boundary
from bascule.core.evidence.radius import (
    CURVES,
    PRICES,
    TILTS,
    bernstein_boundary,
    bernstein_radius,
    expected,
    most_squares,
)


def test_the_lines_share_the_level() -> None:
    assert sum(math.exp(-price) for price in PRICES) == pytest.approx(1.0, rel=1e-14)


@given(xi=st.floats(-1, 5), j=st.integers(0, len(TILTS) - 1))
def test_a_line_gains_no_more_than_a_fair_bet(xi: float, j: int) -> None:
    """exp(t x - c(t) x^2) <= 1 + t x for every x >= -1: the inequality behind the radius."""
    gain = TILTS[j] * xi - CURVES[j] * xi * xi
    assert gain <= math.log1p(TILTS[j] * xi) * (1.0 + 1e-12) + 1e-15


@given(squares=st.floats(-3, 12).map(lambda power: 10.0**power), growth=st.floats(0.01, 10))
def test_the_boundary_rises_ever_less_steeply(squares: float, growth: float) -> None:
    low, middle, high = (
        bernstein_boundary(squares * (1.0 + k * growth), math.log(40.0)) for k in range(3)
    )
    assert low < middle < high
    assert middle >= 0.5 * (low + high) * (1.0 - 1e-12)


def test_the_radius_scales_with_the_limits_and_waits_for_the_third_unit() -> None:
    assert [bernstein_radius(n, 1.0, 0.0, 1.0, 0.05) for n in (0, 1, 2)] == [math.inf] * 3
    narrow = bernstein_radius(500, 20.0, 0.0, 1.0, 0.05)
    assert bernstein_radius(500, 2000.0, -5.0, 5.0, 0.05) == pytest.approx(10 * narrow)


def test_what_is_expected_follows_the_outcomes_before() -> None:
    assert expected(0, 0.0, 2.0, 6.0) == 4.0
    assert expected(1, 5.0, 2.0, 6.0) == 4.5


@pytest.mark.parametrize("mean", [0.05, 0.5])
def test_intervals_hold_at_all_times_and_follow_the_variance(mean: float) -> None:
    rng = np.random.default_rng(5)
    runs, length, level = 2000, 1500, 0.1
    totals, squares = np.zeros(runs), np.zeros(runs)
    above, below = np.zeros(runs, dtype=bool), np.zeros(runs, dtype=bool)
    tilts, curves = np.array(TILTS)[:, None], np.array(CURVES)[:, None]
    bases = (-math.log(level) + np.array(PRICES)[:, None]) / tilts
    for n in range(length):
        outcomes = (rng.random(runs) < mean).astype(float)
        squares += (outcomes - (totals + 0.5) / (n + 1.0)) ** 2
        totals += outcomes
        limits = (bases + curves / tilts * squares).min(axis=0)
        above |= totals - (n + 1) * mean >= limits
        below |= (n + 1) * mean - totals >= limits
    for wrong in (above, below):
        assert wrong.mean() <= level + 3.0 * math.sqrt(level * (1.0 - level) / runs)
    assert limits[0] == pytest.approx(bernstein_boundary(squares[0], -math.log(level)), rel=1e-12)
    # With a variance of 0.05 narrower than a mixture that must assume 1/4.
    if mean == 0.05:
        assert limits.mean() < 0.7 * 0.5 * mixture_boundary(length, -math.log(level))


@given(
    outcomes=st.lists(st.floats(-2.0, 5.0), min_size=1, max_size=60),
    order=st.randoms(use_true_random=False),
)
def test_sums_bound_the_squares_in_whichever_order(outcomes: list[float], order: Random) -> None:
    order.shuffle(outcomes)
    low, high = -2.0, 5.0
    total = squares = 0.0
    for n, outcome in enumerate(outcomes):
        squares += (outcome - expected(n, total, low, high)) ** 2
        total += outcome
    bound = most_squares(len(outcomes), total, sum(x * x for x in outcomes), low, high)
    assert squares <= bound * (1 + 1e-12)
    assert bound <= squares + (high - low) ** 2 * math.log(len(outcomes) + 1) + 1e-9
