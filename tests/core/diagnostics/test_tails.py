from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, norm

from bascule.core.diagnostics.result import chi_square_tail, normal_tails

DEGREES = [1, 2, 3, 4, 5, 10, 41, 100, 999, 20_000]


@pytest.mark.parametrize("degrees", DEGREES)
@pytest.mark.parametrize("power", [0.01, 0.3, 1, 2, 5, 20, 80, 200, 290])
def test_chi_square_tail_down_to_the_smallest(degrees: int, power: float) -> None:
    value = float(chi2.isf(10.0**-power, degrees))
    assert chi_square_tail(value, degrees) == pytest.approx(chi2.sf(value, degrees), rel=1e-10)


@given(st.floats(0, 5000), st.integers(1, 3000))
def test_chi_square_tail_anywhere(value: float, degrees: int) -> None:
    expected = float(chi2.sf(value, degrees))
    assert chi_square_tail(value, degrees) == pytest.approx(expected, rel=1e-10, abs=1e-300)


@pytest.mark.parametrize("degrees", DEGREES)
def test_chi_square_tail_at_its_ends(degrees: int) -> None:
    assert chi_square_tail(0.0, degrees) == chi_square_tail(5e-324, degrees) == 1.0
    assert chi_square_tail(math.inf, degrees) == 0.0
    assert chi_square_tail(1e300, degrees) == 0.0


@given(st.floats(-38, 38))
def test_normal_tails(z: float) -> None:
    assert normal_tails(z) == pytest.approx(2.0 * norm.sf(abs(z)), rel=1e-10)
