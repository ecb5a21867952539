"""Sums over units of a function of age times what each brought along."""

from __future__ import annotations

import numpy as np
import pytest

from bascule.simulation.kernels.compiled import compile_loop
from bascule.simulation.kernels.control import Kernel
from bascule.simulation.recurrent.exponential_sum import fit
from bascule.simulation.recurrent.noise import read
from bascule.simulation.recurrent.sums import advance_sums, clear_sums, sums_width


def build(fingerprint: str) -> Kernel:
    def play(
        state: np.ndarray, terms: int, nodes: np.ndarray, weights: np.ndarray, out: np.ndarray
    ) -> None:
        made_of = fingerprint  # noqa: F841
        clear_sums(state, 3, terms)
        for stage in range(out.size // 2):
            advance_sums(state, 3, terms, nodes, 0.5 * stage if stage % 3 == 1 else 0.0)
            out[2 * stage] = read(state, 3, terms, weights)
            out[2 * stage + 1] = read(state, 3 + terms, terms, weights)

    return play


@pytest.mark.parametrize("shift", [0.0, 1.0, 5.0])
def test_sums_are_those_over_the_units(shift: float) -> None:
    powers = fit(200, 1e-5, shift)
    state, out = np.full(sums_width(powers.terms) + 6, np.nan), np.empty(400)
    compile_loop(build)(state, powers.terms, np.array(powers.nodes), np.array(powers.weights), out)
    arrived = np.arange(1, 200, 3)
    for stage in range(200):
        here = arrived[arrived <= stage]
        age, value = stage - here + 1.0, 0.5 * here
        assert out[2 * stage] == pytest.approx(np.sum(value / (age + shift)), rel=1e-5)
        assert out[2 * stage + 1] == pytest.approx(np.sum(value * age / (age + shift)), rel=1e-5)
    assert np.isnan(state[:3]).all()
    assert np.isnan(state[-3:]).all()


def test_a_sum_of_totals_is_exact() -> None:
    powers = fit(100, 1e-3)
    terms, nodes, total = powers.terms, np.array(powers.nodes), np.array(powers.total)
    state = np.zeros(sums_width(terms))
    for stage in range(100):
        advance_sums(state, 0, terms, nodes, 2.0)
        assert read(state, 0, terms, total) == 2.0 * (stage + 1)
        assert read(state, terms, terms, total) == (stage + 1) * (stage + 2)


def test_compiled_gives_what_plain_python_gives() -> None:
    powers = fit(50)
    nodes, weights = np.array(powers.nodes), np.array(powers.weights)
    plain, machine = np.empty(100), np.empty(100)
    for loop, out in ((build(""), plain), (compile_loop(build), machine)):
        loop(np.zeros(sums_width(powers.terms) + 6), powers.terms, nodes, weights, out)
    assert machine == pytest.approx(plain, rel=1e-13)
