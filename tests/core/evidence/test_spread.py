"""An estimated spread: the larger of own and common variance, and units that skewness asks for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bascule.core.evidence.spread import (
    FEWEST_UNITS,
    daily_variances,
    enough_units,
    larger_variances,
    noise_of_arm,
    skewness,
    squares_about_mean,
    units_needed,
)


def powers(values: np.ndarray) -> tuple[float, float, float, float]:
    return len(values), values.sum(), (values**2).sum(), (values**3).sum()


def test_skewness_is_that_of_the_outcomes_and_of_parts_that_are_added_up() -> None:
    values = np.random.default_rng(0).lognormal(2.0, 1.0, 5000)
    centred = values - values.mean()
    wanted = (centred**3).mean() / (centred**2).mean() ** 1.5
    assert skewness(*powers(values)) == pytest.approx(wanted, rel=1e-9)
    halves = np.array(powers(values[:1000])) + np.array(powers(values[1000:]))
    assert skewness(*halves) == pytest.approx(wanted, rel=1e-9)


def test_outcomes_that_are_all_the_same_have_no_skewness() -> None:
    for value in (0.0, 0.1, 1e8):
        assert math.isnan(skewness(*powers(np.full(1000, value))))
    assert math.isnan(skewness(1.0, 3.0, 9.0, 27.0))


def test_buyers_who_spend_the_same_have_to_be_about_twenty() -> None:
    for buyers, enough in ((10, False), (30, True)):
        arm = np.zeros(2000)
        arm[:buyers] = 50.0
        parts = np.array([powers(arm), powers(arm)]).T
        assert enough_units(*parts) is enough


def test_an_arm_without_a_buyer_waits_for_what_all_outcomes_ask_for() -> None:
    nobody, some = np.zeros(300), np.r_[np.ones(100), np.zeros(1900)]
    common = skewness(*powers(np.r_[nobody, some]))
    needed = units_needed(math.nan, common)
    assert needed == pytest.approx(20 * common**2)
    few, many = np.zeros(int(needed) - 1), np.zeros(2 * int(needed))
    assert not enough_units(*np.array([powers(few), powers(some)]).T)
    assert enough_units(*np.array([powers(many), powers(some)]).T)


def test_even_outcomes_need_the_fewest_units() -> None:
    assert units_needed(0.0, 0.0) == FEWEST_UNITS
    assert units_needed(math.nan, math.nan) == math.inf


def test_the_noise_is_the_larger_of_own_and_common() -> None:
    weights = np.array([0.5, 0.5])
    assert noise_of_arm(weights, np.zeros(2), np.full(2, 4.0)) == 4.0
    assert noise_of_arm(weights, np.full(2, 9.0), np.full(2, 4.0)) == 9.0


def test_days_with_few_units_take_the_variance_of_all() -> None:
    rng = np.random.default_rng(1)
    days = [rng.normal(size=100), rng.normal(size=5), rng.normal(size=1)]
    units, totals, squares = (np.array([powers(day)[k] for day in days]) for k in range(3))
    about = squares_about_mean(units, totals, squares)
    found = daily_variances(units, about)
    assert found[0] == pytest.approx(days[0].var(ddof=1))
    assert found[1] == found[2] == pytest.approx(about.sum() / 103)


def test_each_arm_has_the_larger_of_its_own_variance_and_the_pooled_one() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.0, 1.0, 40), rng.normal(5.0, 3.0, 10)
    about = [len(arm) * arm.var() for arm in (a, b)]
    pooled = sum(about) / 48
    wanted = (max(a.var(ddof=1), pooled), max(b.var(ddof=1), pooled))
    assert larger_variances(40.0, about[0], 10.0, about[1]) == pytest.approx(wanted)
    assert larger_variances(40.0, about[0], 1.0, 0.0) == (math.inf, math.inf)
