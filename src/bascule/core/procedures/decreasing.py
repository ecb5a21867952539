"""The procedure of a design whose goal is to decrease its outcomes: the one place that turns them.

A rule looks for the highest mean. Where the lowest is wanted it is given reflected outcomes: `x`
becomes `low + high - x` within limits, and `-x` without, so that they fit the same outcome model
and have the same spread. The sums of the arms stay in the user's own numbers; what pairs of arms
have shown, and the ends of their intervals, say how much better the first arm is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from bascule.core.cohorts import CohortStatistics
from bascule.core.evidence.families.rows import Ends
from bascule.core.outcomes import Outcome
from bascule.core.procedures.base import (
    AnyStatistics,
    Block,
    Decision,
    EndReason,
    Interval,
    Procedure,
)
from bascule.core.procedures.intervals.bounds import Bounds
from bascule.core.statistics import ArmStatistics, Statistics

Seen = TypeVar("Seen", bound=AnyStatistics)


def reflected(outcome: Outcome, value: float) -> float:
    """Return an outcome, or a mean, turned round: the lowest becomes the highest.

    >>> import bascule as bs
    >>> reflected(bs.Bounded(0, 10), 2.0), reflected(bs.Gaussian(1), 2.0)
    (8.0, -2.0)
    """
    return outcome.low + outcome.high - value if outcome.limited else -value


@dataclass(frozen=True, slots=True)
class DecreasingProcedure(Procedure):
    """Any procedure, on reflected outcomes."""

    inner: Procedure

    @classmethod
    def of(cls, inner: Procedure) -> DecreasingProcedure:
        """Return the procedure that looks for the lowest mean where `inner` takes the highest."""
        return cls(inner.design, inner.label, inner)

    # What a procedure states of itself

    @property
    def counts(self) -> Any:  # type: ignore[override]
        """What enters the statistics at a time."""
        return self.inner.counts

    @property
    def assigns(self) -> Any:  # type: ignore[override]
        """How a unit gets its arm."""
        return self.inner.assigns

    @property
    def has_intervals(self) -> bool:  # type: ignore[override]
        """Whether `intervals` gives an interval of each arm."""
        return self.inner.has_intervals

    @property
    def end_error(self) -> float:
        """The probability that one given end of one interval ever fails."""
        return self.inner.end_error

    @property
    def strict_error(self) -> float:
        """The error at which a design bounds a wrong statement about any pair by its own error."""
        return self.inner.strict_error

    @property
    def keeps_bounds(self) -> bool:
        """Whether running intersections of the intervals are kept with the statistics."""
        return self.inner.keeps_bounds

    @property
    def quick_ends(self) -> bool:
        """Whether `ends` is quick enough to be called at every look."""
        return self.inner.quick_ends

    @property
    def even(self) -> bool:
        """Whether every active arm gets equally many units whatever the outcomes."""
        return self.inner.even

    @property
    def largest_block(self) -> int | None:
        """The most units in a block, if arms are compared only within blocks; else None."""
        return self.inner.largest_block

    @property
    def last_stage(self) -> int | None:
        """The stage at which the test ends at the latest, where it is planned by stages."""
        return self.inner.last_stage

    @property
    def has_horizon(self) -> bool:
        """Whether the plan ends every test, whatever the outcomes."""
        return self.inner.has_horizon

    @property
    def arm_sizes(self) -> tuple[int, ...] | None:
        """How many units each arm has, where all are there from the start."""
        return self.inner.arm_sizes

    def check_live(self) -> None:
        """Raise `InputError` if units that arrive at any time cannot be counted this way."""
        self.inner.check_live()

    # Statistics

    def empty(self) -> AnyStatistics:
        """Return the statistics before the first unit."""
        return self.inner.empty()

    def unit_sums(self, value: float) -> ArmStatistics:
        """Return what one outcome adds to the sums of its arm."""
        return self.inner.unit_sums(value)

    def check(self, statistics: AnyStatistics) -> None:
        """Raise `InputError` if statistics are not those of such a design."""
        self.inner.check(statistics)

    def winner(self, statistics: AnyStatistics) -> int:
        """Return the arm that has won, `NO_DIFFERENCE` or `NOBODY`."""
        return self.inner.winner(self._turned(statistics))

    def decision(self, statistics: AnyStatistics) -> Decision | None:
        """Return the decision that the data allow, or None."""
        return self.inner.decision(self._turned(statistics))

    def end_reason(self, statistics: AnyStatistics) -> EndReason | None:
        """Return why the plan of the test ends it here without a decision."""
        return self.inner.end_reason(self._turned(statistics))

    def is_futile(self, statistics: AnyStatistics) -> bool:
        """Return whether the plan calls the test futile."""
        return self.inner.is_futile(self._turned(statistics))

    def horizon_share(self, statistics: AnyStatistics) -> float:
        """Return which part of the way to the horizon is covered."""
        return self.inner.horizon_share(self._turned(statistics))

    def ends(self, statistics: AnyStatistics) -> list[Ends]:
        """Return by how much the first arm of each pair is better, and the interval of that."""
        return self.inner.ends(self._turned(statistics))

    def known_ends(self, statistics: AnyStatistics) -> list[Ends]:
        """Return the intervals that may be intersected with those of other looks."""
        return self.inner.known_ends(self._turned(statistics))

    def advantages(self, statistics: AnyStatistics, control: int) -> list[tuple[float, float]]:
        """Return by how much each arm is better than the control."""
        return self.inner.advantages(self._turned(statistics), control)

    def bounds(self, before: AnyStatistics, after: AnyStatistics) -> Bounds:
        """Return the running intersections of all intervals after one more step of a test."""
        return self.inner.bounds(self._turned(before), self._turned(after))

    def compared(self, statistics: AnyStatistics) -> list[tuple[int, int]]:
        """Return the pairs of arms whose intervals are listed."""
        return self.inner.compared(self._turned(statistics))

    def beaten(self, statistics: AnyStatistics, without: frozenset[int]) -> frozenset[int]:
        """Return the arms that the evidence puts behind some arm that is not among `without`."""
        return self.inner.beaten(self._turned(statistics), without)

    def coming(self, statistics: AnyStatistics) -> int:
        """Return how many units the next step takes."""
        return self.inner.coming(self._turned(statistics))

    def may_decide(self, statistics: AnyStatistics) -> bool:
        """Return whether a decision is allowed at this moment."""
        return self.inner.may_decide(self._turned(statistics))

    # Steps

    def next_arm(self, statistics: AnyStatistics) -> int:
        """Return the arm that the next unit joins."""
        return self.inner.next_arm(self._turned(statistics))

    def record(self, statistics: Statistics, arm: int, value: float) -> Statistics:
        """Return the statistics after one more outcome, with newly beaten arms dropped."""
        return self.record_and_decide(statistics, arm, value)[0]

    def record_and_decide(
        self, statistics: Statistics, arm: int, value: float
    ) -> tuple[Statistics, Decision | None]:
        """Return what `record` and then `decision` give."""
        self.outcome.check_value(value)
        turned = self._turned(statistics)
        after, reached = self.inner.record_and_decide(turned, arm, self._value(value))
        return replace(after, arms=statistics.record(arm, value).arms), reached

    def intervals(self, statistics: AnyStatistics) -> tuple[Interval, ...]:
        """Return the interval of each arm, in the user's own numbers."""
        found = self.inner.intervals(self._turned(statistics))
        return tuple(Interval(self._value(one.mean), one.radius) for one in found)

    def next_block(self, statistics: Statistics) -> Block:
        """Return the block that comes next; it is fixed before its outcomes are."""
        return self.inner.next_block(self._turned(statistics))

    def fold_block(
        self, statistics: Statistics, block: Sequence[ArmStatistics], look: bool = True
    ) -> Statistics:
        """Return the statistics after one more block, with newly beaten arms dropped."""
        turned = [self._arm(arm) for arm in block]
        after = self.inner.fold_block(self._turned(statistics), turned, look)
        sums = zip(statistics.arms, block, strict=True)
        return replace(after, arms=tuple(before + new for before, new in sums))

    def close_stage(self, statistics: CohortStatistics) -> CohortStatistics:
        """Return the statistics at the end of a stage, with newly beaten arms dropped."""
        return replace(self.inner.close_stage(self._turned(statistics)), arms=statistics.arms)

    # Turning

    def _value(self, value: float) -> float:
        return reflected(self.outcome, value)

    def _turned(self, statistics: Seen) -> Seen:
        centre = self._value(0.0)
        arms: Any = tuple(arm.reflected(centre) for arm in statistics.arms)
        return replace(statistics, arms=arms)

    def _arm(self, arm: ArmStatistics) -> ArmStatistics:
        return arm.reflected(self._value(0.0))
