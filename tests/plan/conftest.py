"""Plans that several tests look at."""

from __future__ import annotations

import pytest

import bascule as bs


@pytest.fixture(scope="session")
def default() -> bs.Plan:
    """The question that is answered when none is asked."""
    return bs.plan(runs=60)


@pytest.fixture(scope="session")
def spending() -> bs.Plan:
    """A short test of a continuous outcome."""
    return bs.plan(bs.Gaussian(5), baseline=20, lift="10%", units_per_day=20)


@pytest.fixture(scope="session")
def impossible() -> bs.Plan:
    """A lift that is too small for the time there is."""
    return bs.plan(bs.Gaussian(5), baseline=20, lift="2%", units_per_day=20)
