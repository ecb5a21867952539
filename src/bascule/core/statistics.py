"""Statistics of a test: sums over units, which can be added over parts of the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar

from bascule.core.errors import invalid
from bascule.core.inputs import checks

Part = TypeVar("Part", float, "Statistics")

PairRow = tuple[float, ...]
"""Evidence about a pair of arms from blocks, as a row of numbers."""

LackingRow = tuple[int, float, float]
"""Units of an arm that lack a value: number, excess over the expected number, its variance."""


@dataclass(frozen=True, slots=True)
class ArmStatistics:
    """Sums of one arm's outcomes; the sums of disjoint sets of units can be added.

    `total` is the sum of the outcomes, `squares` that of their squares, and `cubes` that of their
    cubes if the spread of the outcomes is estimated, else 0. If the metric is
    a ratio, the sums are over the numerators n, and `per` has the sums that contain denominators d:
    of d, n d, d^2, n^2 d, n d^2 and d^3. Otherwise `per` is empty.

    >>> ArmStatistics(2, 3.0, 5.0) + ArmStatistics(1, 1.0, 1.0)
    ArmStatistics(units=3, total=4.0, squares=6.0, cubes=0.0, per=())
    """

    units: int = 0
    total: float = 0.0
    squares: float = 0.0
    cubes: float = 0.0
    per: tuple[float, ...] = ()

    @classmethod
    def of_ratio(cls, numerator: float, denominator: float) -> ArmStatistics:
        """Return the sums of one unit whose metric is a ratio.

        >>> ArmStatistics.of_ratio(1.0, 4.0).mean
        0.25
        """
        n, d = numerator, denominator
        per = (d, n * d, d * d, n * n * d, n * d * d, d * d * d)
        return cls(1, n, n * n, n * n * n, per)

    def __add__(self, other: ArmStatistics) -> ArmStatistics:
        return ArmStatistics(
            self.units + other.units,
            self.total + other.total,
            self.squares + other.squares,
            self.cubes + other.cubes,
            _added(self.per, other.per) if self.per or other.per else (),
        )

    def times(self, factor: float) -> ArmStatistics:
        """Return the sums for `factor` times as many units with the same averages.

        >>> ArmStatistics(2, 3.0, 5.0).times(2)
        ArmStatistics(units=4, total=6.0, squares=10.0, cubes=0.0, per=())
        """
        return ArmStatistics(
            round(factor * self.units),
            factor * self.total,
            factor * self.squares,
            factor * self.cubes,
            tuple(factor * part for part in self.per),
        )

    @property
    def linearised(self) -> ArmStatistics:
        """The sums of one number per unit: its outcome, or for a ratio `r + (n - r d) / w`.

        Here r is the arm's own ratio and w its own mean denominator. The mean of these numbers is
        the ratio, and the spread of the ratio follows from their spread.

        >>> (ArmStatistics.of_ratio(1.0, 2.0) + ArmStatistics.of_ratio(3.0, 2.0)).linearised
        ArmStatistics(units=2, total=2.0, squares=2.5, cubes=3.5, per=())
        """
        if not self.per:
            return self
        return ArmStatistics(self.units, *linearised(float(self.units), self._sums))

    def around(self, ratio: float, mean: float) -> ArmStatistics:
        """Return the sums of `ratio + (n - ratio d) / mean`, for numerator n and denominator d.

        >>> ArmStatistics.of_ratio(1.0, 2.0).around(1.0, 2.0)
        ArmStatistics(units=1, total=0.5, squares=0.25, cubes=0.125, per=())
        """
        return ArmStatistics(self.units, *around(ratio, mean, float(self.units), self._sums))

    @property
    def _sums(self) -> tuple[float, ...]:
        return self.total, self.squares, self.cubes, *self.per

    def reflected(self, centre: float) -> ArmStatistics:
        """Return the sums of the arm with each outcome x replaced by `centre - x`.

        >>> ArmStatistics(2, 3.0, 5.0).reflected(10.0)
        ArmStatistics(units=2, total=17.0, squares=145.0, cubes=0.0, per=())
        """
        if self.per:
            # Ratios have no limits, so only the sign of the numerator changes.
            d, nd, dd, nnd, ndd, ddd = self.per
            per = (d, -nd, dd, nnd, -ndd, ddd)
            return ArmStatistics(self.units, -self.total, self.squares, -self.cubes, per)
        n, total, squares = self.units, self.total, self.squares
        cubes = 0.0
        if self.cubes:
            cubes = centre * (centre * (n * centre - 3.0 * total) + 3.0 * squares) - self.cubes
        return ArmStatistics(
            n, n * centre - total, n * centre * centre - 2.0 * centre * total + squares, cubes
        )

    @property
    def mean(self) -> float:
        """The average outcome, or the ratio of the sums; 0 without units or denominators."""
        over = self.per[0] if self.per else self.units
        return self.total / over if over else 0.0

    @property
    def known_mean(self) -> float | None:
        """The mean; None without any unit, or if all denominators are 0.

        >>> ArmStatistics.of_ratio(0.0, 0.0).known_mean is None
        True
        """
        return self.mean if (self.per[0] if self.per else self.units) else None


def around(
    ratio: float, mean: float, units: float, sums: Sequence[float]
) -> tuple[float, float, float]:
    """Return the sums of y, y^2 and y^3 over units, for y = `ratio + (n - ratio d) / mean`.

    `sums` has the sums of n, n^2 and n^3 for the numerators n, followed by the sums in
    `ArmStatistics.per`.
    """
    n, nn, nnn, d, nd, dd, nnd, ndd, ddd = sums
    first = (n - ratio * d) / mean
    second = max(nn - 2.0 * ratio * nd + ratio * ratio * dd, 0.0) / (mean * mean)
    third = nnn + ratio * (-3.0 * nnd + ratio * (3.0 * ndd - ratio * ddd))
    third /= mean * mean * mean
    return (
        units * ratio + first,
        units * ratio * ratio + 2.0 * ratio * first + second,
        units * ratio * ratio * ratio + 3.0 * ratio * (ratio * first + second) + third,
    )


def linearised(units: float, sums: Sequence[float]) -> tuple[float, float, float]:
    """Return the result of `around` for the ratio and the mean denominator of the units themselves.

    While all denominators are 0 there is no ratio, and the skewness is infinite, so that nothing
    can be decided.

    >>> linearised(2.0, (4.0, 10.0, 28.0, 4.0, 8.0, 8.0, 20.0, 16.0, 16.0))
    (2.0, 2.5, 3.5)
    """
    n, d = sums[0], sums[3]
    if d <= 0.0:
        return 0.0, units, math.inf
    return around(n / d, d / units, units, sums)


@dataclass(frozen=True, slots=True)
class Statistics:
    """Sums of all arms, the arms that get no more units, and further evidence.

    Statistics can be added if at most one of them has `pairs`, because these depend on the order of
    the blocks. A sum has no `bounds`.

    >>> Statistics.empty(2).record(1, 0.5).arms[1]
    ArmStatistics(units=1, total=0.5, squares=0.25, cubes=0.0, per=())
    """

    stage: ClassVar[None] = None
    """Units with one outcome have no stages."""

    arms: tuple[ArmStatistics, ...]
    """Sums of each arm."""
    dropped: frozenset[int] = frozenset()
    """Arms that were beaten."""
    removed: frozenset[int] = frozenset()
    """Arms that were removed, by hand or because a guardrail has found them harmful."""
    pairs: tuple[PairRow, ...] = ()
    """For rules in blocks: a row for each pair of arms (0, 1), (0, 2) and so on. The first two
    numbers are the S and V of tilted blocks, first arm minus second (second minus first with the
    goal "decrease"); the others depend on the evidence in use."""
    bounds: tuple[tuple[float, float], ...] = field(default=(), compare=False)
    """For each pair, the narrowest interval so far of its difference; empty if none are stored.
    They depend on the times of the looks, so they are ignored when statistics are compared."""
    metrics: tuple[Statistics, ...] = field(default=(), kw_only=True)
    """Statistics of the other metrics of the same units. In these, arms that were found harmful are
    dropped, and `bounds` say by how much each arm is better than the control."""
    covariates: tuple[float, ...] = field(default=(), kw_only=True)
    """Sums over the blocks so far from which the coefficients of the covariates follow."""
    lacking: tuple[LackingRow, ...] = field(default=(), kw_only=True)
    """For each arm: the number of units without a value, its excess over the number expected from
    the control, and the variance of this excess; empty before the first unit without a value."""

    @classmethod
    def empty(cls, arms: int) -> Statistics:
        """Return the statistics before the first unit."""
        return cls(tuple(ArmStatistics() for _ in range(arms)))

    def record(self, arm: int, value: float) -> Statistics:
        """Return the statistics with a further outcome."""
        arm = checks.whole("arm", arm, 0, "arms are counted from 0", len(self.arms) - 1)
        value = checks.finite("value", value, "an outcome is a number")
        arms = list(self.arms)
        arms[arm] = arms[arm] + ArmStatistics(1, value, value * value)
        return replace(self, arms=tuple(arms))

    def with_block(self, block: Sequence[ArmStatistics]) -> Statistics:
        """Return the statistics with a block added, given each arm's sums in the block."""
        return replace(
            self, arms=tuple(mine + new for mine, new in zip(self.arms, block, strict=True))
        )

    def __add__(self, other: Statistics) -> Statistics:
        if self.pairs and other.pairs:
            raise invalid(
                "statistics of blocks cannot be added: their evidence depends on the order of the "
                "blocks; fold the blocks of both one after the other"
            )
        return Statistics(
            tuple(a + b for a, b in zip(self.arms, other.arms, strict=True)),
            self.dropped | other.dropped,
            self.removed | other.removed,
            self.pairs or other.pairs,
            metrics=_added(self.metrics, other.metrics),
            covariates=_added(self.covariates, other.covariates),
            lacking=_added_rows(self.lacking, other.lacking),
        )

    @property
    def known_means(self) -> list[float | None]:
        """The mean of each arm, None before its first outcome."""
        return [arm.known_mean for arm in self.arms]

    @property
    def out(self) -> frozenset[int]:
        """Arms that get no more units."""
        return self.dropped | self.removed

    @property
    def units(self) -> int:
        """Number of units in all arms."""
        return sum(arm.units for arm in self.arms)


def _added(mine: tuple[Part, ...], theirs: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the elementwise sum of two rows; an empty row counts as zeros."""
    if not mine or not theirs:
        return mine or theirs
    return tuple(a + b for a, b in zip(mine, theirs, strict=True))


def _added_rows(
    mine: tuple[LackingRow, ...], theirs: tuple[LackingRow, ...]
) -> tuple[LackingRow, ...]:
    """Return the elementwise sums of two lists of rows; an empty list counts as zeros."""
    if not mine or not theirs:
        return mine or theirs
    return tuple((a[0] + b[0], a[1] + b[1], a[2] + b[2]) for a, b in zip(mine, theirs, strict=True))
