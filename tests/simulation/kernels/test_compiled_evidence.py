from __future__ import annotations

import math

import numpy as np
import pytest

from bascule.core.evidence.betting import BETS, bet, log_wealth
from bascule.core.evidence.normal import (
    informed_boundary,
    log_informed,
    log_mixture,
    mixture_boundary,
    mixture_radius,
)
from bascule.core.evidence.radius import bernstein_radius
from bascule.core.evidence.two_arms import log_two_arms
from bascule.simulation.kernels.compiled import Kernel, compile_loop


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
    plain, compiled = build(""), compile_loop(build)
    states = np.zeros((2, len(BETS)))
    for x in (-1e6, -30.0, -2.0, 0.0, 0.7, 5.0, 60.0):
        for n in (3.0, 1e3, 1e12):
            out = np.zeros((2, 8))
            plain(x, n, states[0], out[0])
            compiled(x, n, states[1], out[1])
            assert out[1] == pytest.approx(out[0], rel=1e-11, abs=1e-11)
