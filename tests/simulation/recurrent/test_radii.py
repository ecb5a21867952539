"""Radii from tables are the radii of the rules."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bascule as bs
from bascule.core.evidence.looks import look_part
from bascule.core.procedures.recurrent import (
    UnitRadius,
    algorithm_2_radius,
    clock_radius,
    even_clock_radius,
)
from bascule.core.types import FloatArray
from bascule.simulation.recurrent.kernel import by_clock
from bascule.simulation.recurrent.runs import Fast

pytestmark = pytest.mark.slow

LEVEL = math.log(40)
MIXTURE = Fast(bs.Recurrent(1, 2), bs.UCB(2, radius="mixture").unit_shape(2).weight)


@cache
def radii(radius_of: UnitRadius) -> FloatArray:
    return MIXTURE.radii(radius_of, 10**6, 3, LEVEL)


@pytest.mark.parametrize("radius_of", [clock_radius, even_clock_radius])
@given(clock=st.floats(0.5, 4e6), number=st.integers(1, 3))
def test_a_cubic_between_clocks_is_as_good_as_the_radius(
    radius_of: UnitRadius, clock: float, number: int
) -> None:
    level = LEVEL - math.log(look_part(number))
    expected = radius_of(3, clock, 1.0, 2.0, level)
    found = by_clock(radii(radius_of), number, 3, clock, 1.0, 2.0, level)
    assert found == pytest.approx(expected, rel=2e-8)
    assert by_clock(radii(radius_of), number, 2, clock, 1.0, 2.0, level) == math.inf


def test_radii_by_units_go_on_where_their_table_ends() -> None:
    engine = Fast(bs.Recurrent(1, 2), bs.UCB(2).unit_shape(2).weight)
    radii = engine.radii(algorithm_2_radius, 50, 1, LEVEL)
    find = engine.find(algorithm_2_radius)
    assert np.isinf(radii[:3]).all()
    for units in (3, 50, 51, 10**6):
        expected = algorithm_2_radius(units, units, 1.0, 2.0, LEVEL)
        assert find(radii, 1, units, units, 1.0, 2.0, LEVEL) == pytest.approx(expected)
