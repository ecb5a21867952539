"""The radii for units as they are printed, and where they stop making sense."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bascule as bs
from bascule.core.evidence.normal import log_mixture
from bascule.core.evidence.radius import radius
from bascule.core.procedures import recurrent as units
from bascule.core.procedures.recurrent import (
    algorithm_2_radius,
    alternative_radius,
    clock_radius,
    even_clock_radius,
    even_radius,
    noise_share,
)

N = st.integers(3, 10**6)
SPREAD = st.floats(0.1, 10)
DELTA = st.floats(1e-9, 0.5)


@given(N, SPREAD, SPREAD, DELTA)
def test_algorithm_2(n: int, unit: float, noise: float, delta: float) -> None:
    variance = unit**2 + noise**2 * math.log(math.e * n) / n
    level = math.log((4 * n) ** 4 / delta * max(1, n * unit**2 / noise**2))
    expected = math.sqrt(2 * variance / n) * math.sqrt(level)
    assert algorithm_2_radius(n, n, unit, noise, -math.log(delta)) == pytest.approx(expected)


@given(N, SPREAD, SPREAD, DELTA)
def test_the_alternative_radius(n: int, unit: float, noise: float, delta: float) -> None:
    of_units = 2 * unit**2 / n * math.log(9 * math.log(n) ** 2 / delta)
    of_noise = 2 * noise**2 * math.log(math.e * n) / n**2 * math.log((4 * n) ** 4 / delta)
    expected = math.sqrt(of_units) + math.sqrt(of_noise)
    assert alternative_radius(n, n, unit, noise, -math.log(delta)) == pytest.approx(expected)


@given(N, SPREAD, SPREAD, DELTA)
def test_etc_mm_has_half_the_papers_threshold(
    n: int, unit: float, noise: float, delta: float
) -> None:
    variance = unit**2 + noise**2 * math.log(math.e * n) / n
    threshold = math.sqrt(4 * variance / n * math.log(math.pi**2 * n**2 / (3 * delta)))
    assert 2 * even_radius(n, n, unit, noise, -math.log(delta)) == pytest.approx(threshold)


@given(N, DELTA)
def test_without_noise_only_algorithm_2_blows_up(n: int, delta: float) -> None:
    level = -math.log(delta)
    plain = radius(n, 1.0, 2.0, 9.0, delta)
    assert alternative_radius(n, n, 1.0, 0.0, level) == pytest.approx(plain)
    assert alternative_radius(n, n, 1.0, 1e-9, level) == pytest.approx(plain, rel=1e-6)
    assert algorithm_2_radius(n, n, 1.0, 1e-150, level) > 3 * plain


@pytest.mark.parametrize("radius_of", [clock_radius, even_clock_radius])
@given(clock=st.floats(2, 1e6), level=st.floats(0.5, 30))
def test_a_mixture_ends_where_the_evidence_is_enough(
    radius_of: units.UnitRadius, clock: float, level: float
) -> None:
    wide = radius_of(10, clock, 0.5, 2.0, level)
    # In units of the larger spread; a pair of arms has half the clock and twice the radius.
    share = 1.0 if radius_of is clock_radius else 0.5
    total = wide / 2.0 * clock * (1 if share == 1 else 2) * share
    assert log_mixture(total, share * clock) == pytest.approx(level, rel=1e-6)


RADII = (algorithm_2_radius, alternative_radius, even_radius, clock_radius, even_clock_radius)


@pytest.mark.parametrize("radius_of", RADII)
def test_radii_are_endless_before_the_third_unit_and_fall_from_there(
    radius_of: units.UnitRadius,
) -> None:
    assert radius_of(2, 2.0, 1.0, 1.0, 3.0) == math.inf
    sizes = [radius_of(n, float(n), 1.0, 0.7, 0.1) for n in (*range(3, 50), 10**3, 10**6, 10**9)]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("stages", [1, 2, 5, 100, 5000])
@pytest.mark.parametrize("spacing", [1, 2, 7])
def test_noise_averages_out_as_fast_as_the_proof_says(stages: int, spacing: int) -> None:
    ages = [1 + spacing * k for k in range(stages)]
    assert sum(1 / age for age in ages) / stages <= noise_share(stages) + 1e-12


@pytest.mark.parametrize("arms", [2, 3, 10])
def test_more_arms_share_the_level(arms: int) -> None:
    names = [str(i) for i in range(arms)]

    def promise(rule: bs.UCB | bs.ETC) -> bs.design.Calibration:
        return bs.Design(names, bs.Recurrent(1, 1), rule, error=0.06, sides=1).calibration

    assert promise(bs.UCB(2, radius="mixture")).delta == pytest.approx(0.06 / arms)
    assert promise(bs.ETC(stop="mixture")).delta == pytest.approx(0.06 / (arms - 1))
    assert bs.UCB(2).unit_shape(arms).count == arms / 2
    assert bs.ETC().unit_shape(arms).count == arms - 1
