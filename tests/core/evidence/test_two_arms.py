from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from bascule.core.evidence.normal import SCALES, log_tilted
from bascule.core.evidence.two_arms import log_two_arms, product_and_derivatives

UNITS = st.floats(0, 7).map(lambda power: 10.0**power)


def product(error_a: float, error_b: float, units_a: float, units_b: float) -> float:
    parts = []
    for scale in SCALES:
        log_part = math.log(4.0 / len(SCALES))
        for error, units in ((error_a, units_a), (error_b, units_b)):
            log_part += 0.5 * math.log(scale / (units + scale))
            log_part += log_tilted(units * error / math.sqrt(units + scale))
        parts.append(log_part)
    return float(np.logaddexp.reduce(parts))


@given(error_a=st.floats(-1, 1), error_b=st.floats(-1, 1), units_a=UNITS, units_b=UNITS)
def test_product_is_the_average_of_products(
    error_a: float, error_b: float, units_a: float, units_b: float
) -> None:
    value, _, second = product_and_derivatives(error_a, error_b, units_a, units_b)
    assert value == pytest.approx(product(error_a, error_b, units_a, units_b), rel=1e-10, abs=1e-10)
    assert second > 0.0


def test_derivatives_are_those_of_the_value() -> None:
    def at(move: float) -> float:
        return product_and_derivatives(0.2 + move, 0.1 - move, 40.0, 90.0)[0]

    _, first, second = product_and_derivatives(0.2, 0.1, 40.0, 90.0)
    assert first == pytest.approx((at(1e-6) - at(-1e-6)) / 2e-6, rel=1e-6)
    assert second == pytest.approx((at(1e-4) - 2 * at(0.0) + at(-1e-4)) / 1e-8, rel=1e-4)


@given(z=st.floats(-5, 12), units_a=UNITS, units_b=UNITS)
def test_evidence_is_the_least_of_all_false_claims(
    z: float, units_a: float, units_b: float
) -> None:
    difference = z * math.sqrt(1.0 / units_a + 1.0 / units_b)
    value = log_two_arms(difference, units_a, units_b)
    spread = math.sqrt(1.0 / units_a + 1.0 / units_b) + abs(difference)
    least = minimize_scalar(
        lambda error: product(error, difference - error, units_a, units_b),
        bracket=(0.5 * difference - spread, 0.5 * difference + spread),
        tol=1e-12,
    ).fun
    assert value == pytest.approx(least, rel=1e-8, abs=1e-8)


@given(z=st.floats(-5, 12), units_a=UNITS, units_b=UNITS, enough=st.floats(0, 20))
def test_enough_only_saves_time(z: float, units_a: float, units_b: float, enough: float) -> None:
    difference = z * math.sqrt(1.0 / units_a + 1.0 / units_b)
    full = log_two_arms(difference, units_a, units_b)
    quick = log_two_arms(difference, units_a, units_b, enough)
    if full >= enough:
        assert quick == full
    else:
        assert full <= quick + 1e-12
        assert quick < enough


@given(z=st.floats(-5, 12), units_a=UNITS, units_b=UNITS)
def test_evidence_grows_with_the_difference(z: float, units_a: float, units_b: float) -> None:
    spread = math.sqrt(1.0 / units_a + 1.0 / units_b)
    less = log_two_arms(z * spread, units_a, units_b)
    assert log_two_arms((z + 0.1) * spread, units_a, units_b) > less - 1e-9


def test_equal_arms_under_greedy_sampling_are_rarely_told_apart() -> None:
    """The arm ahead gets the next unit three times out of four."""
    rng = np.random.default_rng(4)
    runs, length, level = 400, 250, 0.2
    wrong = 0
    for _ in range(runs):
        units, totals = [1.0, 1.0], list(rng.standard_normal(2))
        for _ in range(length):
            ahead = int(totals[1] / units[1] > totals[0] / units[0])
            arm = ahead if rng.random() < 0.75 else 1 - ahead
            units[arm] += 1.0
            totals[arm] += rng.standard_normal()
            difference = totals[0] / units[0] - totals[1] / units[1]
            if log_two_arms(difference, units[0], units[1], -math.log(level)) >= -math.log(level):
                wrong += 1
                break
    assert wrong / runs <= level + 3.0 * math.sqrt(level * (1.0 - level) / runs)
