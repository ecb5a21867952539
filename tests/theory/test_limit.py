from __future__ import annotations

import math

import numpy as np
import pytest

import bascule as bs
from bascule.theory import least_regret, oracle_information


def test_it_is_what_a_sequential_test_of_two_known_gaps_takes() -> None:
    """Wald's test of a gap against none, on a path fine enough to meet its ends exactly."""
    error, step, runs = 0.05, 0.02, 2000
    limit = np.log((1 - error) / error)
    rng = np.random.default_rng(3)
    log_ratio, clock = np.zeros(runs), np.zeros(runs)
    open_tests = np.full(runs, True)
    while open_tests.any():
        count = int(open_tests.sum())
        total = step + np.sqrt(step) * rng.standard_normal(count)
        log_ratio[open_tests] += total - step / 2
        clock[open_tests] += step
        open_tests = np.abs(log_ratio) < limit
    se = clock.std() / np.sqrt(runs)
    # A step beyond the end makes the path a little longer: by less than sqrt(step) of 2 / 1.
    needed = oracle_information(1.0, 1.0, error, error)
    assert abs(clock.mean() - needed) < 3 * se + 2 * np.sqrt(step)


def test_it_grows_with_the_square_of_the_noise_over_the_gap() -> None:
    one = oracle_information(1.0, 1.0, 0.01)
    assert oracle_information(0.1, 2.0, 0.01) == pytest.approx(400 * one)


@pytest.mark.parametrize("error", [0.5, 0.9])
def test_a_coin_needs_no_oracle(error: float) -> None:
    with pytest.raises(bs.InputError, match="error must be below"):
        oracle_information(1.0, 1.0, error)


def test_who_hardly_fails_needs_the_logarithm_of_the_error() -> None:
    assert oracle_information(1.0, 1.0, 0.05) == pytest.approx(2 * math.log(20))
    assert oracle_information(1.0, 1.0, 0.05, 1e-12) == pytest.approx(2 * math.log(20))
    with pytest.raises(bs.InputError, match="failure must be"):
        oracle_information(1.0, 1.0, 0.05, 0.95)


@pytest.mark.parametrize("time", [2400.0, 3000.0, 10_000.0, 1e7])
def test_the_least_regret_of_two_arms_is_the_closed_form(time: float) -> None:
    h = oracle_information(0.1, 1.0, 0.05)
    exact = 0.05 * (time - math.sqrt(time * time - 4 * h * time))
    assert least_regret([0.1], 1.0, 0.05, time) == pytest.approx(exact, rel=1e-6)


def test_nobody_decides_sooner_than_an_even_split() -> None:
    h = oracle_information(0.1, 1.0, 0.05)
    assert math.isnan(least_regret([0.1], 1.0, 0.05, 3.99 * h))
    assert least_regret([0.1], 1.0, 0.05, 4 * h) == pytest.approx(0.2 * h, rel=1e-3)


def test_every_pair_of_many_arms_needs_its_information() -> None:
    gaps, time = [0.1, 0.2, 0.2], 20_000.0
    regret = least_regret(gaps, 1.0, 0.05, time)
    alone = sum(least_regret([gap], 1.0, 0.05, 1e9) for gap in gaps)
    assert alone < regret < 1.5 * alone
