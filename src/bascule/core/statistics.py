"""What a test has seen, reduced to what the rules need. Halves of the data add up to the whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from operator import add
from typing import TypeVar

from bascule.core.inputs import checks

Part = TypeVar("Part", float, "PairStatistics", "Statistics")


@dataclass(frozen=True, slots=True)
class ArmStatistics:
    """What one arm has shown: as much as any rule needs, and mergeable.

    `cubes` are summed up where the spread of the outcomes is estimated, and 0 elsewhere.

    >>> ArmStatistics(2, 3.0, 5.0) + ArmStatistics(1, 1.0, 1.0)
    ArmStatistics(units=3, total=4.0, squares=6.0, cubes=0.0)
    """

    units: int = 0
    total: float = 0.0
    squares: float = 0.0
    cubes: float = 0.0

    def __add__(self, other: ArmStatistics) -> ArmStatistics:
        return ArmStatistics(
            self.units + other.units,
            self.total + other.total,
            self.squares + other.squares,
            self.cubes + other.cubes,
        )

    def reflected(self, centre: float) -> ArmStatistics:
        """Return what the arm has shown if each outcome x is counted as `centre - x`.

        >>> ArmStatistics(2, 3.0, 5.0).reflected(10.0)
        ArmStatistics(units=2, total=17.0, squares=145.0, cubes=0.0)
        """
        n, total, squares = self.units, self.total, self.squares
        cubes = 0.0
        if self.cubes:
            cubes = centre * (centre * (n * centre - 3.0 * total) + 3.0 * squares) - self.cubes
        return ArmStatistics(
            n, n * centre - total, n * centre * centre - 2.0 * centre * total + squares, cubes
        )

    @property
    def mean(self) -> float:
        """The average outcome; 0 before the first."""
        return self.total / self.units if self.units else 0.0


@dataclass(frozen=True, slots=True)
class PairStatistics:
    """What two arms, i before j, have shown in blocks where both were: mergeable too.

    `total` and `clock` are the S and V of tilted blocks, i less j, or j less i where the goal is to
    decrease the outcomes. Bets also keep how many blocks there were, the sum of their differences
    and of the squares of these, and what each bet has won, as a logarithm, on i and on j. Where the
    spread is estimated, `share` is the part of the clock that arm i adds: with n units of i and m
    of j in a block, `h^2 / n` with `h = n m / (n + m)`.

    >>> (PairStatistics(1.0, 0.5) + PairStatistics(0.5, 0.75)).clock
    1.25
    """

    total: float = 0.0
    clock: float = 0.0
    blocks: float = 0.0
    differences: float = 0.0
    squares: float = 0.0
    wins: tuple[float, ...] = ()
    share: float = 0.0

    def __add__(self, other: PairStatistics) -> PairStatistics:
        return PairStatistics(
            self.total + other.total,
            self.clock + other.clock,
            self.blocks + other.blocks,
            self.differences + other.differences,
            self.squares + other.squares,
            _added(self.wins, other.wins),
            self.share + other.share,
        )


@dataclass(frozen=True, slots=True)
class PairRow:
    """What blocks have shown of one arm against each other arm, where there are many arms.

    `led` counts the blocks in which the arm was the leader. The columns have a number for each
    arm of the test: with a known spread `clocks` and `totals` are the V and S of tilted blocks,
    and `powers` is empty; with bets they are the number of blocks and the sum of their
    differences, and `powers` has the sums of the second, third and fourth powers of these.

    >>> PairRow(1, 2, (0.5, 0.0), (1.0, 0.0)) + PairRow(1, 1, (1.5, 0.0), (0.5, 0.0))
    PairRow(arm=1, led=3, clocks=(2.0, 0.0), totals=(1.5, 0.0), powers=())
    """

    arm: int
    led: int
    clocks: tuple[float, ...]
    totals: tuple[float, ...]
    powers: tuple[tuple[float, ...], ...] = ()

    def __add__(self, other: PairRow) -> PairRow:
        return PairRow(
            self.arm,
            self.led + other.led,
            tuple(map(add, self.clocks, other.clocks)),
            tuple(map(add, self.totals, other.totals)),
            tuple(
                tuple(map(add, mine, theirs))
                for mine, theirs in zip(self.powers, other.powers, strict=True)
            ),
        )


@dataclass(frozen=True, slots=True)
class Statistics:
    """What all arms have shown, and which of them are out of the test.

    `dropped` arms were beaten, `removed` ones were removed by hand. Rules that work in blocks
    keep `pairs` too: (0, 1), (0, 2) and so on. With many arms they keep `rows` instead, in the
    order of their arms: only pairs that blocks have compared are in one of them. `bounds` are the
    narrowest interval so far of the difference of each pair, or nothing where none are kept; they
    tell of looks, not of data, so that two statistics are equal whatever their bounds, and a sum
    has none. `metrics` has what other metrics of the same units have shown: there arms that were
    found harmful are dropped, and `bounds` say by how much each arm is better than the control.
    `covariates` are the sums of `core.covariates.adjustment`.

    >>> Statistics.empty(2).record(1, 0.5).arms[1]
    ArmStatistics(units=1, total=0.5, squares=0.25, cubes=0.0)
    """

    arms: tuple[ArmStatistics, ...]
    dropped: frozenset[int] = frozenset()
    removed: frozenset[int] = frozenset()
    pairs: tuple[PairStatistics, ...] = ()
    bounds: tuple[tuple[float, float], ...] = field(default=(), compare=False)
    rows: tuple[PairRow, ...] = field(default=(), kw_only=True)
    metrics: tuple[Statistics, ...] = field(default=(), kw_only=True)
    covariates: tuple[float, ...] = field(default=(), kw_only=True)

    @classmethod
    def empty(cls, arms: int) -> Statistics:
        """Before the first unit."""
        return cls(tuple(ArmStatistics() for _ in range(arms)))

    def record(self, arm: int, value: float) -> Statistics:
        """Return the statistics with one outcome more."""
        arm = checks.whole("arm", arm, 0, "arms are counted from 0", len(self.arms) - 1)
        value = checks.finite("value", value, "an outcome is a number")
        arms = list(self.arms)
        arms[arm] = arms[arm] + ArmStatistics(1, value, value * value)
        return replace(self, arms=tuple(arms))

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            tuple(a + b for a, b in zip(self.arms, other.arms, strict=True)),
            self.dropped | other.dropped,
            self.removed | other.removed,
            _added(self.pairs, other.pairs),
            rows=add_rows(self.rows, other.rows),
            metrics=_added(self.metrics, other.metrics),
            covariates=_added(self.covariates, other.covariates),
        )

    @property
    def out(self) -> frozenset[int]:
        """Arms that get no more units."""
        return self.dropped | self.removed

    @property
    def units(self) -> int:
        """Units over all arms."""
        return sum(arm.units for arm in self.arms)


def _added(mine: tuple[Part, ...], theirs: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the sums place by place, or what one side has where the other has nothing."""
    if not mine or not theirs:
        return mine or theirs
    return tuple(a + b for a, b in zip(mine, theirs, strict=True))


def add_rows(mine: Iterable[PairRow], theirs: Iterable[PairRow]) -> tuple[PairRow, ...]:
    """Return the rows of both, in the order of their arms, with those of the same arm added up."""
    joined = {row.arm: row for row in mine}
    for row in theirs:
        joined[row.arm] = joined[row.arm] + row if row.arm in joined else row
    return tuple(joined[arm] for arm in sorted(joined))
