"""What a test has seen, reduced to what the rules need. Halves of the data add up to the whole."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

from bascule.core.errors import InputError
from bascule.core.inputs import checks

Part = TypeVar("Part", float, "Statistics")

PairRow = tuple[float, ...]
"""What blocks have shown of two arms: the columns of a family of evidence."""


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
class Statistics:
    """What all arms have shown, and which of them are out of the test.

    `dropped` arms were beaten, `removed` ones were removed by hand. Rules that work in blocks
    keep `pairs` too, a row for each of (0, 1), (0, 2) and so on: the first two numbers are the S
    and V of tilted blocks, the first arm less the second (the second less the first where the goal
    is to decrease the outcomes), and the others belong to the family of evidence
    (`core.evidence.families`). The order of blocks matters to these, so only statistics of which
    one has no pairs can be added. `bounds` are the narrowest interval so far of the difference of
    each pair, or nothing where none are kept; they tell of looks, not of data, so that two
    statistics are equal whatever their bounds, and a sum has none. `metrics` has what other metrics
    of the same units have shown: there arms that were found harmful are dropped, and `bounds` say
    by how much each arm is better than the control. `covariates` are the sums of
    `core.covariates.adjustment`.

    >>> Statistics.empty(2).record(1, 0.5).arms[1]
    ArmStatistics(units=1, total=0.5, squares=0.25, cubes=0.0)
    """

    arms: tuple[ArmStatistics, ...]
    dropped: frozenset[int] = frozenset()
    removed: frozenset[int] = frozenset()
    pairs: tuple[PairRow, ...] = ()
    bounds: tuple[tuple[float, float], ...] = field(default=(), compare=False)
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
        if self.pairs and other.pairs:
            raise InputError(
                "statistics",
                "statistics of blocks cannot be added: their evidence depends on the order of the "
                "blocks; fold the blocks of both one after the other",
            )
        return Statistics(
            tuple(a + b for a, b in zip(self.arms, other.arms, strict=True)),
            self.dropped | other.dropped,
            self.removed | other.removed,
            self.pairs or other.pairs,
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
