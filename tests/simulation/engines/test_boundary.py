from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bascule.core.errors import InputError
from bascule.core.evidence.bernstein import bernstein_radius
from bascule.core.evidence.betting import BETS, bet, log_wealth
from bascule.core.evidence.normal import (
    informed_boundary,
    log_informed,
    log_mixture,
    mixture_boundary,
    mixture_radius,
)
from bascule.core.evidence.two_arms import log_two_arms
from bascule.simulation.engines.boundary import boundary
from bascule.simulation.kernels.compiled import compile_loop
from bascule.simulation.kernels.control import Kernel

CLOCKS = st.lists(st.floats(0, 1e12), max_size=20)


@settings(deadline=None)
@given(clocks=CLOCKS, level=st.floats(1e-9, 0.9), effect=st.none() | st.floats(0.01, 5))
def test_many_clocks_are_solved_as_one_by_one(
    clocks: list[float], level: float, effect: float | None
) -> None:
    totals = boundary(clocks, level, effect)
    for clock, total in zip(clocks, totals, strict=True):
        if effect is None:
            alone = mixture_boundary(clock, -math.log(level))
        else:
            alone = informed_boundary(clock, -math.log(level), effect)
        assert total == pytest.approx(alone, rel=1e-12, abs=1e-12)


def test_shape_and_order_are_kept() -> None:
    clocks = np.array([[9.0, 1.0, 1.0], [4.0, 9.0, 0.0]])
    totals = boundary(clocks, 0.05)
    assert totals.shape == clocks.shape
    assert totals[0, 0] == totals[1, 1] > totals[1, 0] > totals[0, 1] == totals[0, 2] > 0.0
    assert boundary([], 0.05).size == 0


def test_neighbouring_clocks_do_not_mislead_the_search() -> None:
    clocks = [1.0, math.nextafter(1.0, 2.0), 1e12]
    assert boundary(clocks, 0.05)[2] == pytest.approx(mixture_boundary(1e12, math.log(20)))


def test_a_million_clocks_in_any_order_have_boundaries_in_that_order() -> None:
    clocks = 10.0 ** np.random.default_rng(0).uniform(-2, 12, 1_000_000)
    for effect in (None, 0.5):
        totals = boundary(clocks, 0.05, effect)
        assert (np.diff(totals[np.argsort(clocks)]) >= 0.0).all()


@pytest.mark.parametrize(
    ("clocks", "level", "effect", "field"),
    [
        ([1.0], 0.0, None, "level"),
        ([1.0], 1.0, None, "level"),
        ([-1.0], 0.05, None, "clocks"),
        ([math.nan], 0.05, None, "clocks"),
        ([math.inf], 0.05, None, "clocks"),
        ([1.0], 0.05, 0.0, "effect"),
    ],
)
def test_bad_input_names_the_field(
    clocks: list[float], level: float, effect: float | None, field: str
) -> None:
    with pytest.raises(InputError, match=field):
        boundary(clocks, level, effect)


def build(fingerprint: str) -> Kernel:
    def all_of_them(x: float, n: float, state: np.ndarray, out: np.ndarray) -> None:
        made_of = fingerprint  # noqa: F841
        out[0] = log_mixture(x * math.sqrt(n), n)
        out[1] = log_informed(x * math.sqrt(n), n, 0.3)
        out[2] = mixture_boundary(n, abs(x))
        out[3] = informed_boundary(n, abs(x), 0.3)
        out[4] = mixture_radius(n, 2.0, 0.01)
        out[5] = log_two_arms(2.0 * x / math.sqrt(n), n, 2.0 * n)
        out[6] = bernstein_radius(n, 0.1 * n, 0.0, 2.0, 0.01)
        bet(state, 0, 0.1 * x / (1.0 + abs(x)))
        out[7] = log_wealth(state, 0)

    return all_of_them


def test_compiled_evidence_equals_uncompiled() -> None:
    plain, compiled = build(""), compile_loop(build, ())
    states = np.zeros((2, len(BETS)))
    for x in (-1e6, -30.0, -2.0, 0.0, 0.7, 5.0, 60.0):
        for n in (3.0, 1e3, 1e12):
            out = np.zeros((2, 8))
            plain(x, n, states[0], out[0])
            compiled(x, n, states[1], out[1])
            assert out[1] == pytest.approx(out[0], rel=1e-11, abs=1e-11)
