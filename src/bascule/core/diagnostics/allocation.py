"""Check whether the units per arm agree with the probabilities of assignment.

The numbers are compared with the probabilities at the time of each assignment, which adaptive rules
change continually, and not with an even split. An assignment (1 or 0) minus its probability has
mean 0 whatever happened before, so sums of these differences are martingales
(docs/research/diagnostics.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bascule.core.diagnostics.result import Diagnostic, checked_level, shown
from bascule.core.errors import invalid
from bascule.core.inputs import checks
from bascule.core.types import FloatArray

FACTORS = tuple(sign * 0.5**j for j in range(1, 8) for sign in (-1.0, 1.0))
"""Alternatives against which the bets test: logs of the factor by which an arm's odds are wrong."""

CLOSE_TO_ONE = 1e-6
"""Maximum deviation of a sum of probabilities from 1."""


@dataclass(frozen=True, slots=True)
class AllocationStatistics:
    """Observed and expected units of each arm; statistics of disjoint sets of units can be added.

    `expected` is the sum of the units' probabilities, `covariance` that of their covariances, and
    `stakes` has 14 sums for each arm: of log(1 + (e^f - 1) p), for f = -1/2, 1/2, -1/4 ... 1/128.
    `impossible` counts units in an arm whose probability was 0.

    >>> AllocationStatistics.empty(2).record(0, [0.5, 0.5]).record(0, [0.75, 0.25]).expected
    (1.25, 0.75)
    """

    observed: tuple[int, ...]
    expected: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    stakes: tuple[tuple[float, ...], ...]
    impossible: int = 0

    @classmethod
    def empty(cls, arms: int) -> AllocationStatistics:
        """Return the statistics before the first unit."""
        arms = checks.whole("arms", arms, 2, "a test compares at least two")
        stakes = ((0.0,) * len(FACTORS),) * arms
        return cls((0,) * arms, (0.0,) * arms, ((0.0,) * arms,) * arms, stakes)

    @classmethod
    def of(
        cls, assigned: Sequence[int], probabilities: Sequence[Sequence[float]]
    ) -> AllocationStatistics:
        """Create statistics from each unit's arm and each unit's probabilities of all arms.

        >>> AllocationStatistics.of([0, 1, 1], [[0.5, 0.5]] * 3).observed
        (1, 2)
        """
        chances = _checked_probabilities(probabilities)
        units, arms = chances.shape
        joined = np.asarray(assigned)
        if joined.shape != (units,) or not np.issubdtype(joined.dtype, np.integer):
            raise invalid(
                f"assigned must have the number of an arm for each of {units} units (got "
                f"{joined.dtype} of shape {joined.shape})"
            )
        if units and not (joined.min() >= 0 and joined.max() < arms):
            raise invalid(
                f"assigned must be arms from 0 to {arms - 1} (got {joined.min()} to {joined.max()})"
            )
        expected = chances.sum(axis=0)
        stakes = [np.log1p(math.expm1(factor) * chances).sum(axis=0) for factor in FACTORS]
        return cls(
            tuple(np.bincount(joined, minlength=arms).tolist()),
            tuple(expected.tolist()),
            _rows(np.diag(expected) - chances.T @ chances),
            _rows(np.transpose(stakes)),
            int(np.count_nonzero(chances[np.arange(units), joined] == 0.0)),
        )

    @classmethod
    def of_counts(cls, counts: Sequence[int], weights: Sequence[float]) -> AllocationStatistics:
        """Create statistics from the units per arm, if all units had the same probabilities.

        >>> AllocationStatistics.of_counts([1, 2], [0.5, 0.5]).expected
        (1.5, 1.5)
        """
        chances = _checked_probabilities([weights])[0]
        units = sum(counts)
        expected = units * chances
        stakes = [units * np.log1p(math.expm1(factor) * chances) for factor in FACTORS]
        return cls(
            tuple(int(count) for count in counts),
            tuple(expected.tolist()),
            _rows(np.diag(expected) - units * np.outer(chances, chances)),
            _rows(np.transpose(stakes)),
            sum(int(n) for n, p in zip(counts, chances, strict=True) if p == 0.0),
        )

    def record(self, arm: int, probabilities: Sequence[float]) -> AllocationStatistics:
        """Return the statistics with a further unit, which joined `arm`."""
        return self + AllocationStatistics.of([arm], [probabilities])

    def __add__(self, other: AllocationStatistics) -> AllocationStatistics:
        return AllocationStatistics(
            tuple(np.add(self.observed, other.observed).tolist()),
            tuple(np.add(self.expected, other.expected).tolist()),
            _rows(np.add(self.covariance, other.covariance)),
            _rows(np.add(self.stakes, other.stakes)),
            self.impossible + other.impossible,
        )

    @property
    def units(self) -> int:
        """Number of units in all arms."""
        return sum(self.observed)


def block_probabilities(left: Sequence[int]) -> tuple[float, ...]:
    """Return the arm probabilities of a block's next unit, from the units that each arm still gets.

    All orders of a block are equally likely; so, given the units before it, the next one is any of
    those left with equal probability.

    >>> block_probabilities([3, 1])
    (0.75, 0.25)
    """
    total = sum(left)
    return tuple(units / total for units in left)


def allocation_any_time(statistics: AllocationStatistics, level: float = 0.01) -> Diagnostic:
    """Test by bets, at any time, whether the units per arm agree with the logged probabilities.

    `statistic` is the evidence: the wealth of bets that started with 1.

    >>> fair = AllocationStatistics.of([0, 1] * 500, [[0.5, 0.5]] * 1000)
    >>> lost = AllocationStatistics.of([0, 1] * 400 + [0] * 200, [[0.5, 0.5]] * 1000)
    >>> allocation_any_time(fair).flagged, allocation_any_time(lost).flagged
    (False, True)
    """
    level = checked_level(level)
    wealth = np.outer(statistics.observed, FACTORS) - np.array(statistics.stakes)
    evidence = float(np.logaddexp.reduce(wealth, axis=None)) - math.log(wealth.size)
    if statistics.impossible:
        evidence = math.inf
    p_value = math.exp(min(0.0, -evidence))
    message = _message(statistics, p_value, level)
    value = math.exp(evidence) if evidence < 700.0 else math.inf
    return Diagnostic("sample ratio", value, p_value, level, "any time", message)


def _message(statistics: AllocationStatistics, p_value: float, level: float) -> str:
    if statistics.impossible:
        return (
            f"{statistics.impossible} units are in an arm whose logged probability was 0: find out "
            "where the log or the assignment goes wrong before you trust a comparison"
        )
    variances = np.diag(np.array(statistics.covariance))
    if not np.any(variances > 0.0):
        return "every unit is where it had to be; no assignment was left to chance"
    if p_value > level:
        return f"units per arm agree with the logged probabilities ({shown(p_value)})"
    off = np.array(statistics.observed) - np.array(statistics.expected)
    arm = int(np.argmax(np.abs(off) / np.sqrt(np.maximum(variances, 1e-300))))
    return (
        f"arm {arm} has {statistics.observed[arm]} units where its logged probabilities add up to "
        f"{statistics.expected[arm]:.1f} ({shown(p_value)}): find out where units are lost or "
        "counted twice before you trust a comparison"
    )


def _checked_probabilities(probabilities: Sequence[Sequence[float]]) -> FloatArray:
    try:
        chances = np.array(probabilities, dtype=float)
    except (TypeError, ValueError):
        chances = np.empty(0)
    if chances.ndim != 2 or chances.shape[1] < 2:
        raise invalid("probabilities must give one number per arm for each unit")
    total_off = np.abs(chances.sum(axis=1) - 1.0)
    if not (np.all(chances >= 0.0) and np.all(total_off <= CLOSE_TO_ONE)):
        raise invalid(
            "probabilities must be at least 0 and add up to 1 for each unit: log them unrounded"
        )
    return chances


def _rows(table: FloatArray) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, table.tolist()))
