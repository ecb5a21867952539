from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bascule as bs
from bascule.theory import corollary, corollary_delta, delta_tilde, peel

TABLE = [(0.05, 6.0e-4, 4.4e-4), (0.01, 9.9e-5, 7.1e-5), (0.001, 7.9e-6, 5.6e-6)]


@pytest.mark.parametrize(("error", "ucb", "etc"), TABLE)
def test_the_delta_that_the_corollary_needs(error: float, ucb: float, etc: float) -> None:
    for rule, delta in ((bs.UCB(2), ucb), (bs.ETC(), etc)):
        design = bs.Design(["a", "b"], bs.Gaussian(1), rule, sides=1)
        assert corollary_delta(error, design) == pytest.approx(delta, rel=0.02)


def test_the_corollary_says_nothing_at_delta_five_percent() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=0.05)
    assert delta_tilde(design, by="corollary") == 1.0
    assert delta_tilde(design) < 0.2
    assert delta_tilde(design) == design.calibration.error


@given(st.floats(1e-30, 0.1))
def test_peeling_proves_no_more_error_than_the_corollary(level: float) -> None:
    assert peel(level) <= corollary(level)
