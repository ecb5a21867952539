"""Lines on daily sums are evidence: without a difference their mean is at most 1."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from bascule.core.evidence.days import (
    COSTS,
    SLOPES,
    curves,
    day_charges,
    lines_boundary,
    weighted_charges,
)
from bascule.core.evidence.radius import most_squares

STEEP = slice(0, 8)
"""The slopes that one small day can tell apart from 0."""


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 3), (4, 1)])
@pytest.mark.parametrize("p", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("guess", [None, 0.0, 0.3, 1.0])
def test_the_mean_of_a_day_is_at_most_1(n: int, m: int, p: float, guess: float | None) -> None:
    mean = np.zeros(len(SLOPES))
    for outcomes in product((0.0, 1.0), repeat=n + m):
        mine, theirs = outcomes[:n], outcomes[n:]
        if guess is None:
            squares = [most_squares(len(x), sum(x), sum(x), 0.0, 1.0) for x in (mine, theirs)]
        else:
            squares = [sum((x - guess) ** 2 for x in some) for some in (mine, theirs)]
        total = n * m / (n + m) * (sum(mine) / n - sum(theirs) / m)
        chance = math.prod(p if x else 1 - p for x in outcomes)
        mean += chance * np.exp(SLOPES * total - day_charges(n, m, *squares))
    assert np.all(mean <= 1.0 + 1e-12)
    assert np.all(mean[STEEP] < 1.0)


@pytest.mark.parametrize("chance", [0.001, 0.2, 0.7, 0.99])
@pytest.mark.parametrize("guess", [0.0, 0.1, 1.0])
def test_the_mean_of_a_weighted_unit_is_at_most_1(chance: float, guess: float) -> None:
    p = 0.3
    mean = np.zeros(len(SLOPES))
    for joined, outcome in product((True, False), (0.0, 1.0)):
        # A unit counts with the probability of the other arm.
        weight = 1 - chance if joined else chance
        off = weight * (outcome - guess)
        likely = (chance if joined else 1 - chance) * (p if outcome else 1 - p)
        charges = weighted_charges(weight, off * off)
        mean += likely * np.exp(SLOPES * (off if joined else -off) - charges)
    assert np.all(mean <= 1.0 + 1e-12)
    assert mean[0] < 1.0


def test_a_lighter_unit_is_charged_no_less_by_the_heaviest_of_its_day() -> None:
    for heaviest in (0.5, 0.9, 1.0):
        assert np.all(weighted_charges(heaviest, 0.04) >= weighted_charges(0.2, 0.04))


def test_the_boundary_is_where_the_evidence_reaches_the_threshold() -> None:
    for units in (3, 300, 30_000, 3e9):
        charges = day_charges(units, 2 * units, 0.05 * units, 0.1 * units)
        for threshold in (0.0, math.log(20), 50.0):
            total = lines_boundary(charges, threshold)
            evidence = np.logaddexp.reduce(SLOPES * total - charges - COSTS)
            assert evidence == pytest.approx(threshold, abs=1e-9)


def test_parts_of_the_level_add_up_to_1() -> None:
    assert np.exp(-COSTS).sum() == pytest.approx(1.0)


def test_curves_lose_no_digits() -> None:
    slopes = np.array([1e-8, 1e-3, 0.04999, 0.05001, 0.5, 0.9])
    exact = [sum(s**k / k for k in range(400, 1, -1)) for s in slopes.tolist()]
    assert curves(slopes) == pytest.approx(exact, rel=1e-12)
