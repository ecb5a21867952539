"""Statistics of recurring outcomes, which can be added over disjoint sets of units.

A cohort is the set of units of one arm with the same number of outcomes. All estimators give the
units of a cohort the same weight, so only the sum of their outcomes has to be stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from bascule.core.errors import InputError
from bascule.core.inputs import checks


@dataclass(frozen=True, slots=True)
class Cohort:
    """Units that have given `outcomes` outcomes each; `total` is the sum of all their outcomes.

    >>> Cohort(outcomes=3, units=1, total=6.0) + Cohort(outcomes=3, units=2, total=3.0)
    Cohort(outcomes=3, units=3, total=9.0)
    """

    outcomes: int
    units: int
    total: float

    def __post_init__(self) -> None:
        checks.whole("outcomes", self.outcomes, 1, "units are counted from their first outcome on")
        checks.whole("units", self.units, 1, "a cohort without units is left out")
        checks.finite("total", self.total, "it is a sum of outcomes")

    def __add__(self, other: Cohort) -> Cohort:
        if self.outcomes != other.outcomes:
            raise InputError(
                "outcomes",
                f"cohorts must have the same number of outcomes per unit to be added "
                f"(got {self.outcomes} and {other.outcomes})",
            )
        return Cohort(self.outcomes, self.units + other.units, self.total + other.total)

    @property
    def means(self) -> float:
        """The sum of the averages of all units.

        >>> Cohort(outcomes=3, units=2, total=6.0).means
        2.0
        """
        return self.total / self.outcomes


@dataclass(frozen=True, slots=True)
class ArmCohorts:
    """The cohorts of one arm, in increasing order of their numbers of outcomes.

    >>> ArmCohorts.of([(2, 1.0), (1, 0.5), (2, 3.0)]).cohorts[1]
    Cohort(outcomes=2, units=2, total=4.0)
    """

    cohorts: tuple[Cohort, ...] = ()

    @classmethod
    def of(cls, units: Iterable[tuple[int, float]]) -> ArmCohorts:
        """Return the cohorts of units, given the number and the sum of each unit's outcomes."""
        return cls._sorted(Cohort(outcomes, 1, total) for outcomes, total in units)

    @classmethod
    def _sorted(cls, parts: Iterable[Cohort]) -> ArmCohorts:
        by_outcomes: dict[int, Cohort] = {}
        for part in parts:
            known = by_outcomes.get(part.outcomes)
            by_outcomes[part.outcomes] = part if known is None else known + part
        return cls(tuple(by_outcomes[outcomes] for outcomes in sorted(by_outcomes)))

    def __add__(self, other: ArmCohorts) -> ArmCohorts:
        return self._sorted((*self.cohorts, *other.cohorts))

    def reflected(self, centre: float) -> ArmCohorts:
        """Return the cohorts of the arm with each outcome x replaced by `centre - x`."""
        return ArmCohorts(
            tuple(
                Cohort(
                    cohort.outcomes,
                    cohort.units,
                    centre * cohort.units * cohort.outcomes - cohort.total,
                )
                for cohort in self.cohorts
            )
        )

    @property
    def units(self) -> int:
        """Number of units of the arm."""
        return sum(cohort.units for cohort in self.cohorts)

    @property
    def outcomes(self) -> int:
        """The number of outcomes of all units."""
        return sum(cohort.units * cohort.outcomes for cohort in self.cohorts)


@dataclass(frozen=True, slots=True)
class CohortStatistics:
    """Statistics of all arms after `stage` stages, and the arms that get no more units.

    `dropped` arms were beaten, `removed` ones were removed by hand. `bounds` are the narrowest
    intervals so far of the differences of all pairs of arms; they are empty if none are kept.
    Bounds are ignored when statistics are compared, and a sum has none.

    >>> half = CohortStatistics((ArmCohorts.of([(2, 1.0)]), ArmCohorts.of([(1, 3.0)])), stage=2)
    >>> other = CohortStatistics((ArmCohorts(), ArmCohorts.of([(1, 2.0)])), stage=2)
    >>> (half + other).arms[1]
    ArmCohorts(cohorts=(Cohort(outcomes=1, units=2, total=5.0),))
    """

    metrics: ClassVar[tuple[()]] = ()
    """Tests with recurring outcomes have no other metrics."""

    arms: tuple[ArmCohorts, ...]
    stage: int = 0
    dropped: frozenset[int] = frozenset()
    removed: frozenset[int] = frozenset()
    bounds: tuple[tuple[float, float], ...] = field(default=(), compare=False)

    @classmethod
    def empty(cls, arms: int) -> CohortStatistics:
        """Return the statistics before the first unit."""
        return cls(tuple(ArmCohorts() for _ in range(arms)))

    def __add__(self, other: CohortStatistics) -> CohortStatistics:
        if self.stage != other.stage:
            raise InputError(
                "stage",
                f"statistics must be of the same stage to be added (got {self.stage} and "
                f"{other.stage}): a unit counts once, with all its outcomes up to the stage",
            )
        return CohortStatistics(
            tuple(mine + theirs for mine, theirs in zip(self.arms, other.arms, strict=True)),
            self.stage,
            self.dropped | other.dropped,
            self.removed | other.removed,
        )

    @property
    def out(self) -> frozenset[int]:
        """Arms that get no more units."""
        return self.dropped | self.removed

    @property
    def units(self) -> int:
        """Number of units in all arms."""
        return sum(arm.units for arm in self.arms)
