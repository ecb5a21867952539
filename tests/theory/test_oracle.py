from __future__ import annotations

import numpy as np
import pytest

import bascule as bs
from bascule.theory import oracle_information


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
    assert abs(clock.mean() - oracle_information(1.0, 1.0, error)) < 3 * se + 2 * np.sqrt(step)


def test_it_grows_with_the_square_of_the_noise_over_the_gap() -> None:
    one = oracle_information(1.0, 1.0, 0.01)
    assert oracle_information(0.1, 2.0, 0.01) == pytest.approx(400 * one)


@pytest.mark.parametrize("error", [0.5, 0.9])
def test_a_coin_needs_no_oracle(error: float) -> None:
    with pytest.raises(bs.InputError, match="error must be below"):
        oracle_information(1.0, 1.0, error)
