"""What a test has seen, reduced to what the rules need. Halves of the data add up to the whole."""

from __future__ import annotations

from dataclasses import dataclass

from bascule.core import checks


@dataclass(frozen=True, slots=True)
class ArmStatistics:
    """What one arm has shown: as much as any rule needs, and mergeable.

    >>> ArmStatistics(2, 3.0, 5.0) + ArmStatistics(1, 1.0, 1.0)
    ArmStatistics(units=3, total=4.0, squares=6.0)
    """

    units: int = 0
    total: float = 0.0
    squares: float = 0.0

    def __add__(self, other: ArmStatistics) -> ArmStatistics:
        return ArmStatistics(
            self.units + other.units, self.total + other.total, self.squares + other.squares
        )

    @property
    def mean(self) -> float:
        """The average outcome; 0 before the first."""
        return self.total / self.units if self.units else 0.0


@dataclass(frozen=True, slots=True)
class Statistics:
    """What all arms have shown, and which of them are out of the test.

    >>> Statistics.empty(2).record(1, 0.5).arms[1]
    ArmStatistics(units=1, total=0.5, squares=0.25)
    """

    arms: tuple[ArmStatistics, ...]
    dropped: frozenset[int] = frozenset()

    @classmethod
    def empty(cls, arms: int) -> Statistics:
        """Before the first unit."""
        return cls(tuple(ArmStatistics() for _ in range(arms)))

    def record(self, arm: int, value: float) -> Statistics:
        """The same with one outcome more."""
        arm = checks.whole("arm", arm, 0, "arms are counted from 0", len(self.arms) - 1)
        value = checks.finite("value", value, "an outcome is a number")
        seen = list(self.arms)
        seen[arm] = seen[arm] + ArmStatistics(1, value, value * value)
        return Statistics(tuple(seen), self.dropped)

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            tuple(mine + theirs for mine, theirs in zip(self.arms, other.arms, strict=True)),
            self.dropped | other.dropped,
        )

    @property
    def units(self) -> int:
        """Units over all arms."""
        return sum(arm.units for arm in self.arms)
