"""Boundaries of sequential tests: the sum of paired differences at which one arm has won.

A pair is one unit of each arm. All tests are one-sided at `error` and know the variance of an
outcome. A boundary has a value for each pair, infinite where the test does not look. The formulas
of GAVI and mSPRT are two-sided, so they are used at twice the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bascule.core.evidence.horizon import quantile
from bascule.core.types import FloatArray
from bascule.research.rivals.group_sequential import spending_bounds


class PairTest(NamedTuple):
    """Parameters of a boundary: the planned number of pairs, the outcomes' variance, the error."""

    pairs: int
    variance: float
    error: float

    @property
    def counts(self) -> FloatArray:
        """The numbers of pairs from 1 to `pairs`."""
        return np.arange(1.0, self.pairs + 1.0)


Boundary = Callable[[FloatArray], FloatArray]
"""(cumulative sums, with a row for each run) -> boundaries after each pair."""


def fixed(test: PairTest) -> Boundary:
    """Return the boundary of a test that looks once, at the end."""
    line = np.full(test.pairs, math.inf)
    line[-1] = quantile(1 - test.error) * math.sqrt(2 * test.variance * test.pairs)
    return lambda totals: line  # noqa: ARG005


def gavi(test: PairTest, narrowest: int) -> Boundary:
    """Return the normal mixture boundary of Howard et al. (2021), tightest at `narrowest` pairs."""
    level, n = 2 * test.error, test.counts
    rho = narrowest / (math.log(math.log(math.e / level**2)) - 2 * math.log(level))
    line = np.sqrt(2 * test.variance * (n + rho) * np.log((n + rho) / (rho * level**2)))
    return lambda totals: line  # noqa: ARG005


def msprt(test: PairTest, effect: float | None) -> Boundary:
    """Return the mSPRT boundary of Johari et al. in the form of Lindon et al. (2024).

    The mixture is tuned to the stated `effect` or, if that is None, to the effect observed so far,
    which no proof covers.
    """
    level, n = 2 * test.error, test.counts

    def boundary(totals: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            seen = totals / n if effect is None else effect
            phi = 4 * test.variance / seen**2
            part = np.log((phi + 2 * n) / (phi * level**2)) * (phi + 2 * n) / (2 * n)
            line: FloatArray = np.sqrt(2 * test.variance * n * part)
        return line

    return boundary


def flat(test: PairTest) -> Boundary:
    """Return the flat boundary of YEAST (Kurennoy et al. 2024), by Levy's inequality."""
    line = np.full(
        test.pairs, quantile(1 - test.error / 2) * math.sqrt(2 * test.variance * test.pairs)
    )
    return lambda totals: line  # noqa: ARG005


def group_sequential(test: PairTest, looks: int, power: float) -> Boundary:
    """Return the boundary for equally spaced looks with the error spending `error t^power`."""
    ends = [test.pairs * (look + 1) // looks for look in range(looks)]
    bounds = spending_bounds(
        [end / test.pairs for end in ends], lambda time: test.error * time**power
    )
    line = np.full(test.pairs, math.inf)
    for end, bound in zip(ends, bounds, strict=True):
        line[end - 1] = bound * math.sqrt(2 * test.variance * end)
    return lambda totals: line  # noqa: ARG005


def first_passage(totals: FloatArray, boundary: Boundary) -> FloatArray:
    """Return after how many pairs each run first crosses its boundary; infinite if never.

    >>> first_passage(np.array([[1.0, 3.0], [0.0, 1.0]]), lambda totals: np.array([2.0, 2.0]))
    array([ 2., inf])
    """
    crossed = totals > boundary(totals)
    found: FloatArray = np.where(crossed.any(axis=1), crossed.argmax(axis=1) + 1.0, math.inf)
    return found
