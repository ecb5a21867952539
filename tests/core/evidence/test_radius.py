from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.evidence.radius import lg, radius


def test_lg_is_the_logarithm_from_two_on() -> None:
    assert lg(1) == lg(2) == math.log(2)
    assert lg(10) == math.log(10)


def test_radius_is_the_formula_of_the_paper() -> None:
    assert radius(50, 2.0, 2.0, 3.0, 0.01) == pytest.approx(
        math.sqrt(2 * 4 / 50 * math.log(3 * math.log(50) ** 2 / 0.01))
    )


def test_there_is_no_interval_before_the_third_unit() -> None:
    assert [radius(n, 1, 2, 3, 0.05) for n in (0, 1, 2)] == [math.inf] * 3
    assert radius(3, 1, 2, 3, 0.05) < math.inf


@given(n=st.integers(3, 10**9), sigma=st.floats(0.01, 100), delta=st.floats(1e-12, 0.3))
def test_radius_shrinks_with_units_and_grows_with_spread_and_certainty(
    n: int, sigma: float, delta: float
) -> None:
    wide = radius(n, sigma, 2.0, 3.0, delta)
    assert radius(2 * n, sigma, 2.0, 3.0, delta) < wide
    assert radius(n, 2 * sigma, 2.0, 3.0, delta) == pytest.approx(2 * wide)
    assert radius(n, sigma, 2.0, 3.0, delta / 2) > wide
