"""Periods of a test laid out as arrays, and joined where they are too short to be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bascule.core.errors import InputError
from bascule.core.evidence.spread import squares_about_mean
from bascule.core.statistics import Statistics
from bascule.core.types import FloatArray

FEWEST_UNITS = 10
"""Fewer units than this say too little about a mean."""

FEWEST_HITS = 5
"""The outcomes of the rarer kind, 0 or 1, that must be expected."""


class Cells(NamedTuple):
    """Units, totals and squares of each period (rows) and arm (columns)."""

    units: FloatArray
    totals: FloatArray
    squares: FloatArray

    @property
    def zero_or_one(self) -> bool:
        """Whether all outcomes are their own squares."""
        return bool(np.array_equal(self.totals, self.squares))

    def variances(self) -> FloatArray:
        """The variance of each arm over the whole test; 0 where all outcomes are alike."""
        return variances_of(*(part.sum(axis=0) for part in self))

    def needed(self) -> FloatArray:
        """How many units of each arm can be compared with others of the same arm."""
        units, totals = self.units.sum(axis=0), self.totals.sum(axis=0)
        fewest = np.full(units.shape, float(FEWEST_UNITS))
        if self.zero_or_one:
            rarer = np.minimum(totals, units - totals) / np.maximum(units, 1.0)
            with np.errstate(divide="ignore"):
                fewest = np.maximum(fewest, FEWEST_HITS / rarer)
        return fewest


def variances_of(units: FloatArray, totals: FloatArray, squares: FloatArray) -> FloatArray:
    """Variances of groups of outcomes; 0 where all are alike.

    >>> variances_of(np.array([2.0, 2.0]), np.array([1.0, 0.6]), np.array([1.0, 0.18]))
    array([0.5, 0. ])
    """
    return squares_about_mean(units, totals, squares) / np.maximum(units - 1.0, 1.0)


def cells_of(field: str, periods: Sequence[Statistics]) -> Cells:
    """Lay periods out, one row each; all must have the same arms."""
    rows = list(periods) if isinstance(periods, Sequence) else []
    if not rows or not all(isinstance(row, Statistics) for row in rows):
        raise InputError(field, f"{field} must be a list of Statistics, one a period")
    arms = len(rows[0].arms)
    for row in rows:
        if len(row.arms) != arms:
            raise InputError(
                field, f"{field} must all have the same arms (got {arms} and {len(row.arms)})"
            )
    table = np.array([[(arm.units, arm.total, arm.squares) for arm in row.arms] for row in rows])
    cells = Cells(table[:, :, 0], table[:, :, 1], table[:, :, 2])
    if not np.all(np.isfinite(table)) or np.any(cells.units < 0.0):
        raise InputError(field, f"{field} must have finite totals and no units below 0")
    least = cells.totals**2 / np.maximum(cells.units, 1.0)
    if np.any(cells.squares < (1.0 - 1e-9) * least):
        raise InputError(
            field, f"{field} have squares too small for their totals: add up the squares as well"
        )
    return cells


def join(units: FloatArray, needed: float) -> list[int]:
    """Where to begin new stretches of periods so that each has at least `needed` units.

    What is left over at the end belongs to the last stretch.

    >>> join(np.array([4.0, 7.0, 2.0, 9.0, 1.0]), 10.0)
    [0, 2]
    """
    starts, held, begin = [], 0.0, 0
    for period, more in enumerate(units.tolist()):
        held += more
        if held >= needed:
            starts.append(begin)
            held, begin = 0.0, period + 1
    return starts


def joined(values: FloatArray, starts: list[int]) -> FloatArray:
    """Sums of rows over the stretches that begin at `starts`.

    >>> joined(np.array([1.0, 2.0, 3.0]), [0, 2])
    array([3., 3.])
    """
    sums: FloatArray = np.add.reduceat(values, starts, axis=0)
    return sums
