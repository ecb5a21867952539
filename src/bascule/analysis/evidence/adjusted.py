"""Ratios of means and adjusted means: a linear combination stands for the outcome of a unit.

The ratio R of all units and the coefficient of the covariate are estimated from the log, so the
guarantee is asymptotic. docs/explanation/analyse.md has the formulas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np

from bascule.analysis.evidence.fixed import Mean, OneLook, one_look
from bascule.analysis.evidence.pairs import Pair, estimated_now
from bascule.analysis.reduce.moments import PLACE, Centre, adjusted_mean
from bascule.analysis.reduce.sums import Sums


def adjusted(sums: Sums) -> Sums:
    """Sums in which the outcome of a unit is the linear combination that stands for its metric."""
    assert sums.moments is not None
    terms = Centre.of(sums.moments.sum(axis=(0, 1))).adjustment.terms
    parts = []
    for degree in (1, 2, 3):
        total = np.zeros(sums.units.shape)
        for factors in product(terms, repeat=degree):
            powers = tuple(sum(part) for part in zip(*(term for term, _ in factors), strict=True))
            weight = float(np.prod([coefficient for _, coefficient in factors]))
            total += weight * sums.moments[:, :, PLACE[powers]]
        parts.append(total)
    unknown = np.full(sums.units.shape, np.nan)
    totals, squares, cubes = parts
    return replace(sums, totals=totals, squares=squares, cubes=cubes, lows=unknown, highs=unknown)


def adjusted_days(sums: Sums, first: int = 0) -> Iterator[tuple[Pair, ...]]:
    """Day after day, the pairs of arms, adjusted by all that was known by then."""
    for day in range(first, len(sums.days)):
        yield estimated_now(adjusted(sums.first(day + 1)))


def adjusted_look(arms: Sequence[str], sums: Sums, error: float) -> tuple[OneLook, ...]:
    """Compare all pairs at one look; each pair is adjusted by its own units."""
    assert sums.moments is not None
    by_arm = sums.moments.sum(axis=0)
    looks: list[OneLook] = []
    for i, j in combinations(range(len(arms)), 2):
        if min(by_arm[i, PLACE[0, 0, 0]], by_arm[j, PLACE[0, 0, 0]]) < 2:
            return ()
        whole = Centre.of(by_arm[i] + by_arm[j])
        means = []
        for arm in (i, j):
            centre = Centre.of(by_arm[arm])
            means.append(Mean(centre.units, *adjusted_mean(centre, whole)))
        looks += one_look((arms[i], arms[j]), means, error, binary=False)
    return tuple(looks)
