"""Ratios of means and adjusted means: a linear combination stands for the outcome of a unit.

Each arm is linearised around its own ratio and its own mean denominator, which are estimated from
the log together with the coefficient of the covariate, so the guarantee is asymptotic.
docs/research/analyse.md has the formulas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np

from bascule.analysis.evidence.fixed import Mean, OneLook, one_look
from bascule.analysis.evidence.pairs import UNKNOWN, Pair, estimated_pair
from bascule.analysis.reduce.moments import PLACE, POWERS, Adjustment, Centre, adjusted_mean
from bascule.analysis.reduce.sums import Sums
from bascule.core.types import FloatArray

UNITS, VALUE, PER = PLACE[0, 0, 0], PLACE[1, 0, 0], PLACE[0, 1, 0]


def adjusted(sums: Sums) -> Sums:
    """Sums in which the outcome of a unit is the linear combination that stands for its metric."""
    assert sums.moments is not None
    whole = Centre.within(sums.moments.sum(axis=0)).adjustment
    totals, squares, cubes = (np.zeros(sums.units.shape) for _ in range(3))
    for arm in range(sums.units.shape[1]):
        each = sums.moments[:, arm]
        value, per, units = (float(each[:, place].sum()) for place in (VALUE, PER, UNITS))
        its = whole._replace(ratio=value / per, per=per / units) if per > 0.0 else whole
        totals[:, arm], squares[:, arm], cubes[:, arm] = _linearised(each, its)
    unknown = np.full(sums.units.shape, np.nan)
    return replace(sums, totals=totals, squares=squares, cubes=cubes, lows=unknown, highs=unknown)


def _linearised(moments: FloatArray, adjustment: Adjustment) -> FloatArray:
    """Sums of the linear combination over units, of its squares and of its cubes, day by day."""
    weights = np.zeros((3, len(POWERS)))
    for degree in (1, 2, 3):
        for factors in product(adjustment.terms, repeat=degree):
            powers = tuple(sum(part) for part in zip(*(term for term, _ in factors), strict=True))
            weight = float(np.prod([coefficient for _, coefficient in factors]))
            weights[degree - 1, PLACE[powers]] += weight
    return np.asarray(weights @ moments.T)


def adjusted_days(sums: Sums, first: int = 0) -> Iterator[tuple[Pair, ...]]:
    """Day after day, the pairs of arms, adjusted by all that was known by then."""
    arms = range(sums.units.shape[1])
    for day in range(first, len(sums.days)):
        so_far = sums.first(day + 1)
        yield tuple(_adjusted_pair(so_far, i, j) for i, j in combinations(arms, 2))


def _adjusted_pair(sums: Sums, i: int, j: int) -> Pair:
    """Two arms, each around its own ratio, with the same days in the means of both.

    A ratio's numerator and denominator are means over days, weighted as the difference of the arms
    weighs them: a share of the units that changed while ratios did changes neither.
    """
    assert sums.moments is not None
    n, m = sums.units[:, i], sums.units[:, j]
    both = (n > 0.0) & (m > 0.0)
    weights = n[both] * m[both] / (n[both] + m[both])
    if not both.any():
        return UNKNOWN
    common = Centre.within(sums.moments[both][:, [i, j]].sum(axis=0))
    if common.per <= 0.0:
        return UNKNOWN
    units = np.stack([n[both], m[both]], axis=1)
    parts = []
    for arm in (i, j):
        moments = sums.moments[both, arm]
        share = weights / moments[:, UNITS]
        value, per = float(share @ moments[:, VALUE]), float(share @ moments[:, PER])
        if per <= 0.0:
            return UNKNOWN
        mean = per / float(weights.sum())
        parts.append(_linearised(moments, common.adjustment._replace(ratio=value / per, per=mean)))
    totals, squares, cubes = np.stack(parts, axis=-1)
    return estimated_pair(units, totals, squares, cubes, 0, 1)


def adjusted_look(arms: Sequence[str], sums: Sums, error: float) -> tuple[OneLook, ...]:
    """Compare all pairs at one look; each pair is adjusted by its own units."""
    assert sums.moments is not None
    by_arm = sums.moments.sum(axis=0)
    looks: list[OneLook] = []
    for i, j in combinations(range(len(arms)), 2):
        if min(by_arm[i, UNITS], by_arm[j, UNITS]) < 2:
            return ()
        # As other tools do it, so that their figures can be compared; it decides nothing.
        whole = Centre.of(by_arm[i] + by_arm[j])
        means = []
        for arm in (i, j):
            centre = Centre.of(by_arm[arm])
            means.append(Mean(centre.units, *adjusted_mean(centre, whole)))
        looks += one_look((arms[i], arms[j]), means, error, binary=False)
    return tuple(looks)
