"""Peeling: the table it is known by, its shape, and simulated crossings that it has to cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bascule as bs
from bascule.core.evidence.calibration import level_for, peel, stretch

pytestmark = pytest.mark.slow

TABLE = [
    (0.05, 0.0170, 0.0117),
    (0.01, 3.2e-3, 2.2e-3),
    (0.001, 3.0e-4, 2.0e-4),
]
"""Proven error, then the delta that proves it for UCB and for ETC, two arms."""


@pytest.mark.parametrize(("error", "ucb", "etc"), TABLE)
def test_the_delta_behind_an_error(error: float, ucb: float, etc: float) -> None:
    # The table has two digits; "within 2 %" on top of half a unit of the last one.
    for rule, delta in ((bs.UCB(2), ucb), (bs.ETC(), etc)):
        design = bs.Design(["a", "b"], bs.Gaussian(1), rule, error=error, sides=1)
        half_digit = 0.5 * 10 ** (math.floor(math.log10(delta)) - (2 if delta > 0.01 else 1))
        assert design.calibration.delta == pytest.approx(delta, rel=0.02, abs=half_digit)


@given(st.floats(1e-12, 0.2))
def test_error_and_delta_are_each_others_inverse(error: float) -> None:
    assert peel(level_for(error)) == pytest.approx(error, rel=1e-9)


@given(st.floats(1e-12, 0.4), st.floats(1.01, 2))
def test_peel_grows_with_the_level_and_exceeds_it(level: float, factor: float) -> None:
    assert level < peel(level) <= peel(level * factor)


def test_peel_ends_at_nothing_and_at_certainty() -> None:
    assert peel(0.0) == 0.0
    assert peel(1.0) == peel(0.9) == 1.0


def test_stretch_is_the_price_of_an_epoch() -> None:
    assert stretch(1.0) == 1.0
    assert stretch(4.0) == pytest.approx(9 / 8)


def test_simulated_crossings_stay_under_the_bound() -> None:
    """Gaussian walks are the hardest case, and the bound is not far from them."""
    rng = np.random.default_rng(20190416)
    levels = np.array([0.03, 0.0117])
    paths, horizon, batch = 16_000, 4_000, 1_000
    t = np.arange(1, horizon + 1)
    logs = np.maximum(np.log(t), math.log(2))
    boundaries = np.sqrt(2 * t * np.log(logs**2 / levels[:, None]))
    crossed = np.zeros(2)
    for _ in range(paths // batch):
        walks = rng.standard_normal((batch, horizon), dtype=np.float32).cumsum(axis=1)
        crossed += [np.any(walks >= boundary, axis=1).sum() for boundary in boundaries]
    for level, rate in zip(levels.tolist(), (crossed / paths).tolist(), strict=True):
        se = math.sqrt(rate * (1 - rate) / paths)
        assert rate + 3 * se <= peel(level)
        assert rate > peel(level) / 10


@pytest.mark.parametrize(
    ("rule", "arms", "error", "delta"),
    [
        (bs.UCB(2), 3, 0.05, 4.5 * level_for(0.05 / 3)),
        (bs.ETCPrime(), 5, 0.05, 7.5 * level_for(0.05 / 5)),
        (bs.ETC(), 3, 0.05, 9.0 * level_for(0.05 / 3)),
        (bs.ETC(), 10, 0.01, 30.0 * level_for(0.01 / 10)),
    ],
)
def test_the_union_counts_every_arm(
    rule: bs.UCB | bs.ETC | bs.ETCPrime, arms: int, error: float, delta: float
) -> None:
    names = [str(i) for i in range(arms)]
    design = bs.Design(names, bs.Gaussian(1), rule, error=error, sides=1)
    assert design.calibration.delta == pytest.approx(delta)


def test_an_error_too_small_to_prove_is_refused() -> None:
    with pytest.raises(bs.InputError, match="error must be at least 1e-200"):
        bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=1e-300)
    smallest = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=1e-200, sides=1).calibration
    assert 2 * peel(smallest.delta / 3) == pytest.approx(1e-200)


@pytest.mark.parametrize("arms", [2, 3, 10, 1000])
def test_every_rule_gets_the_error_it_was_asked_for(arms: int) -> None:
    names = [str(i) for i in range(arms)]
    for rule in (bs.UCB(2), bs.ETC(), bs.ETCPrime()):
        asked = bs.Design(names, bs.Gaussian(1), rule, error=0.05, sides=1)
        told = bs.Design(names, bs.Gaussian(1), rule, delta=asked.calibration.delta)
        assert told.calibration.error == pytest.approx(0.05, rel=1e-3)
        assert told.calibration.guarantee == "proven"
