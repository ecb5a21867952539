"""Simulated covariates: fewer units with a related one, none lost with a useless one."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import bascule as bs

pytestmark = pytest.mark.slow

DESIGN = bs.Design(["a", "b"], bs.Numeric(1.0), bs.Tilt(3), covariates=[bs.Covariate("x")], sides=1)
RUNS = 1000


def units(correlation: float, design: bs.Design = DESIGN) -> tuple[float, float]:
    """The mean decision time and its standard error."""
    world = bs.worlds.World([0.0, 0.2], correlation=correlation)
    times = bs.simulate(design, world=world, runs=RUNS, seed=1).decision_time
    return float(times.mean()), float(times.std()) / math.sqrt(RUNS)


def test_a_related_covariate_saves_what_it_explains_and_a_useless_one_costs_little() -> None:
    useless, error = units(0.0)
    related, related_error = units(0.7)
    allowed = 3.0 * math.hypot(error / useless, related_error / related)
    assert related / useless <= 0.56 * (1.0 + allowed)
    plain, plain_error = units(0.0, replace(DESIGN, covariates=None))
    assert useless / plain <= 1.03 + 3.0 * math.hypot(error, plain_error) / plain


@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_with_a_trend_and_equal_means_a_winner_is_as_rare_as_stated(correlation: float) -> None:
    trend = bs.worlds.Trend("fading", -1.0, 300)
    world = bs.worlds.World([0.0, 0.0], correlation=correlation, trend=trend)
    played = bs.simulate(replace(DESIGN, max_units=2000), world=world, runs=RUNS, seed=2)
    allowed = 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / RUNS)
    assert max(float((played.winner == arm).mean()) for arm in (0, 1)) <= allowed


def test_a_correlation_without_a_covariate_is_refused() -> None:
    with pytest.raises(bs.InputError, match="this one has none"):
        bs.simulate(replace(DESIGN, covariates=None), world={"means": [0, 1], "correlation": 0.5})
    with pytest.raises(bs.InputError, match="between -1 and 1"):
        bs.worlds.World([0, 1], correlation=1.5)
