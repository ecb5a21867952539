from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.evidence.radius import radius
from bascule.core.rules import Shape
from bascule.theory.solve import units_until, units_within

UCB_SHAPE = Shape(factor=2.0, count=3.0, sequences=2)


@given(st.floats(1e-4, 1.5), st.floats(1e-9, 0.5))
def test_the_radius_is_above_the_width_before_and_below_it_after(
    width: float, delta: float
) -> None:
    n = units_until(width, 1.0, UCB_SHAPE, delta)
    if n > 3:
        assert radius(n * 0.999, 1.0, 2.0, 3.0, delta) > width
    assert radius(n * 1.001, 1.0, 2.0, 3.0, delta) <= width


def test_a_radius_that_first_rises_counts_when_it_comes_down_for_good() -> None:
    shape, delta = Shape(1.0, 1.0, 1), 0.9
    peak = max(radius(n, 1.0, 1.0, 1.0, delta) for n in range(3, 200))
    assert peak > radius(3, 1.0, 1.0, 1.0, delta)
    width = (peak + radius(3, 1.0, 1.0, 1.0, delta)) / 2
    n = units_until(width, 1.0, shape, delta)
    assert all(radius(m, 1.0, 1.0, 1.0, delta) <= width for m in range(math.ceil(n), 500))


def test_no_width_takes_for_ever_and_any_width_takes_three_units() -> None:
    assert units_until(0.0, 1.0, UCB_SHAPE, 0.05) == math.inf
    assert units_until(math.inf, 1.0, UCB_SHAPE, 0.05) == 3


@given(st.floats(5, 1e6), st.floats(1e-9, 0.3))
def test_units_within_solves_the_papers_equation(information: float, delta: float) -> None:
    n = units_within(information, UCB_SHAPE, delta)
    if n > 3:
        assert n / math.log(3 * math.log(n) ** 2 / delta) == pytest.approx(information, rel=1e-9)
