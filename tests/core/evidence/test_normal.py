from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_ndtr
from scipy.stats import norm

from bascule.core.evidence.normal import (
    CENTRE,
    SCALES,
    SERIES_BELOW,
    informed_boundary,
    log_informed,
    log_mixture,
    log_normal_cdf,
    log_tilted,
    mixture_boundary,
    mixture_boundary_from,
    mixture_radius,
    tilted,
    tilted_slope,
)
from bascule.core.types import FloatArray
from bascule.simulation.kernels.compiled import Kernel, compile_loop

CLOCKS = st.floats(-3, 12).map(lambda power: 10.0**power)
THRESHOLDS = st.floats(0.1, 2000)
EFFECTS = st.floats(-3, 1).map(lambda power: 10.0**power)


def mixed_over_half_normals(total: float, clock: float) -> float:
    parts = []
    for scale in SCALES:
        peak = max(total, 0.0) / (clock + scale)
        wide = 12.0 / math.sqrt(clock + scale)

        def gain(tilt: float, scale: float = scale) -> float:
            prior = 2.0 * norm.pdf(tilt, 0.0, 1.0 / math.sqrt(scale))
            return math.exp(tilt * total - 0.5 * tilt * tilt * clock) * float(prior)

        points = [max(0.0, peak - wide), peak + wide]
        parts.append(quad(gain, *points, epsabs=0, epsrel=1e-12, limit=400)[0])
    return float(sum(parts)) / len(SCALES)


@given(z=st.one_of(st.floats(-1e8, 40), st.floats(-60, 12)))
def test_log_normal_cdf_is_accurate_everywhere(z: float) -> None:
    assert log_normal_cdf(z) == pytest.approx(float(log_ndtr(z)), rel=1e-12, abs=1e-300)


def test_the_series_takes_over_without_a_step() -> None:
    above, below = SERIES_BELOW, math.nextafter(SERIES_BELOW, -math.inf)
    assert log_tilted(below) == pytest.approx(log_tilted(above), rel=1e-12)
    assert tilted(below, 0.0) == pytest.approx(tilted(above, 0.0), rel=1e-12)
    slopes = [tilted_slope(z, log_tilted(z)) for z in (below, above)]
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-7)


@pytest.mark.parametrize("clock", [0.0, 0.5, 30.0, 4000.0])
@pytest.mark.parametrize("z", [-6.0, -1.0, 0.0, 1.0, 3.0, 9.0])
def test_mixture_is_its_defining_integral(clock: float, z: float) -> None:
    total = z * math.sqrt(clock + 1.0)
    direct = math.log(mixed_over_half_normals(total, clock))
    assert log_mixture(total, clock) == pytest.approx(direct, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("effect", [0.1, 1.0])
@pytest.mark.parametrize("clock", [0.0, 3.0, 500.0])
@pytest.mark.parametrize("z", [-4.0, 0.0, 2.0, 6.0])
def test_informed_is_its_defining_integral(effect: float, clock: float, z: float) -> None:
    total = z * math.sqrt(clock + 1.0)
    spread = effect / 2.0

    def gain(tilt: float) -> float:
        prior = norm.pdf(tilt, effect, spread) / norm.cdf(effect / spread)
        return math.exp(tilt * total - 0.5 * tilt * tilt * clock) * float(prior)

    precision = clock + 1.0 / spread**2
    peak = max(0.0, (total + effect / spread**2) / precision)
    wide = 12.0 / math.sqrt(precision)
    parts = [(max(0.0, peak - wide), peak), (peak, peak + wide)]
    direct = sum(quad(gain, *part, epsabs=0, epsrel=1e-12, limit=400)[0] for part in parts)
    assert log_informed(total, clock, effect) == pytest.approx(math.log(direct), rel=1e-9, abs=1e-9)


def test_informed_is_the_formula_written_out() -> None:
    total, clock, effect = 7.0, 20.0, 0.8
    spread = effect / CENTRE
    grown = 1.0 + spread**2 * clock
    by_hand = (
        -0.5 * math.log(grown)
        + (spread**2 * total**2 + 2 * effect * total - effect**2 * clock) / (2 * grown)
        + norm.logcdf((effect / spread**2 + total) / math.sqrt(clock + 1 / spread**2))
        - norm.logcdf(effect / spread)
    )
    assert log_informed(total, clock, effect) == pytest.approx(float(by_hand), rel=1e-12)


@given(total=st.floats(-1e7, 1e7), clock=CLOCKS, effect=EFFECTS)
def test_evidence_grows_with_the_total_and_falls_with_the_clock(
    total: float, clock: float, effect: float
) -> None:
    more = total + 0.1 * abs(total) + 0.1
    later = 1.1 * clock
    slack = 1e-12 * (1.0 + total * total / (clock + 1.0))
    assert log_mixture(more, clock) >= log_mixture(total, clock) - slack
    assert log_mixture(total, later) <= log_mixture(total, clock) + slack
    informed = log_informed(total, clock, effect)
    slack += 1e-12 * abs(informed)
    assert log_informed(more, clock, effect) >= informed - slack
    assert log_informed(total, later, effect) <= informed + slack


@given(clock=CLOCKS, threshold=THRESHOLDS, effect=EFFECTS)
def test_boundaries_are_where_the_evidence_reaches_the_threshold(
    clock: float, threshold: float, effect: float
) -> None:
    total = mixture_boundary(clock, threshold)
    assert log_mixture(total, clock) == pytest.approx(threshold, rel=1e-10)
    total = informed_boundary(clock, threshold, effect)
    assert log_informed(total, clock, effect) == pytest.approx(threshold, rel=1e-10)


@given(clock=CLOCKS, growth=st.floats(1e-3, 100), threshold=THRESHOLDS, effect=EFFECTS)
def test_boundaries_rise_with_the_clock_ever_less_steeply(
    clock: float, growth: float, threshold: float, effect: float
) -> None:
    clocks = [clock, clock * (1.0 + growth), clock * (1.0 + 2.0 * growth)]
    for low, middle, high in (
        [mixture_boundary(at, threshold) for at in clocks],
        [informed_boundary(at, threshold, effect) for at in clocks],
    ):
        assert low * (1.0 - 1e-12) <= middle <= high * (1.0 + 1e-12)
        assert middle >= 0.5 * (low + high) * (1.0 - 1e-12)


@given(clock=CLOCKS, threshold=THRESHOLDS, factor=st.floats(0.01, 100))
def test_newton_finds_the_boundary_from_either_side(
    clock: float, threshold: float, factor: float
) -> None:
    total = mixture_boundary(clock, threshold)
    again = mixture_boundary_from(factor * total, clock, threshold)
    assert again == pytest.approx(total, rel=1e-12)


def test_extreme_numbers_stay_finite_and_in_order() -> None:
    for clock in (0.0, 1e-300, 1.0, 1e12, 1e100):
        values = [log_mixture(total, clock) for total in (-1e150, -1e8, 0.0, 1e8, 1e120)]
        informed = [log_informed(total, clock, 0.3) for total in (-1e150, -1e8, 0.0, 1e8, 1e120)]
        assert all(map(math.isfinite, values + informed))
        assert values == sorted(values)
        assert informed == sorted(informed)
    assert log_mixture(1e200, 1.0) == math.inf
    assert log_mixture(-1e300, 1e12) > -800.0
    for power in (-300.0, 300.0):
        clock = 1e12
        total = math.sqrt(2.0 * clock * abs(power) * math.log(10.0)) * math.copysign(1.0, power)
        assert math.isfinite(log_mixture(total, clock))
    for threshold in (1e-6, 700.0, 1e6):
        for clock in (0.0, 1.0, 1e12):
            total = mixture_boundary(clock, threshold)
            assert log_mixture(total, clock) == pytest.approx(threshold, rel=1e-8)


def test_radius_is_the_boundary_a_unit() -> None:
    assert [mixture_radius(n, 1.0, 0.05) for n in (0, 1, 2)] == [math.inf] * 3
    alone = 3.0 * mixture_boundary(50, math.log(100.0)) / 50
    assert mixture_radius(50, 3.0, 0.01) == pytest.approx(alone, rel=1e-12)
    radii = [mixture_radius(n, 1.0, 0.05) for n in range(3, 200)]
    assert radii == sorted(radii, reverse=True)


def build_boundaries(fingerprint: str) -> Kernel:
    def fill(clocks: FloatArray, threshold: float, effect: float, totals: FloatArray) -> None:
        made_of = fingerprint  # noqa: F841
        for i in range(clocks.size):
            if effect > 0.0:
                totals[i] = informed_boundary(clocks[i], threshold, effect)
            else:
                totals[i] = mixture_boundary(clocks[i], threshold)

    return fill


def boundary(clocks: FloatArray, level: float, effect: float | None) -> FloatArray:
    """The total that has to be reached at each clock, for a false alarm of `level` at most."""
    totals = np.empty_like(clocks)
    compile_loop(build_boundaries)(clocks, -math.log(level), effect or 0.0, totals)
    return totals


def ever_crossed(
    steps: FloatArray, clocks: FloatArray, level: float, effect: float | None
) -> float:
    limits = boundary(clocks, level, effect)
    return float((np.cumsum(steps, axis=1) >= limits).any(axis=1).mean())


@pytest.mark.parametrize("effect", [None, 0.3])
@pytest.mark.parametrize("noise", ["gaussian", "rademacher"])
def test_null_walks_cross_no_more_often_than_promised(noise: str, effect: float | None) -> None:
    rng = np.random.default_rng(1)
    runs, length, level = 2000, 1500, 0.1
    shape = (runs, length)
    steps = rng.standard_normal(shape) if noise == "gaussian" else rng.choice([-1.0, 1.0], shape)
    rate = ever_crossed(steps, np.arange(1.0, length + 1.0), level, effect)
    assert rate <= level + 3.0 * math.sqrt(level * (1.0 - level) / runs)
    assert rate > 0.1 * level


@pytest.mark.parametrize("effect", [None, 0.3])
def test_clocks_that_follow_the_walk_do_not_help_to_cross(effect: float | None) -> None:
    """Each step is made large when the walk is ahead of its clock and small when it is behind."""
    rng = np.random.default_rng(2)
    runs, length, level = 2000, 400, 0.1
    totals, clocks = np.zeros(runs), np.zeros(runs)
    crossed = np.zeros(runs, dtype=bool)
    for _ in range(length):
        ahead = totals / np.sqrt(clocks + 1.0)
        weights = np.where(ahead > 0.5, 3.0, 0.2) * rng.uniform(0.5, 1.5, runs)
        totals += np.sqrt(weights) * rng.standard_normal(runs)
        clocks += weights
        crossed |= totals >= boundary(clocks, level, effect)
    assert crossed.mean() <= level + 3.0 * math.sqrt(level * (1.0 - level) / runs)
