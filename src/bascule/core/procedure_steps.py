# ruff: noqa: ARG001
"""Functions that let a course use the methods of any procedure, without compilation.

The evidence of a metric takes the place of the rows of its pairs, and its procedure that of the
parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from bascule.core.course_rows import Guards, Primary, Terms
from bascule.core.design import Design
from bascule.core.evidence.families.rows import ACTIVE, Difference
from bascule.core.procedures.base import UNKNOWN, AnyStatistics, Block, Decision, Procedure
from bascule.core.procedures.blocks.procedure import END_REASONS
from bascule.core.procedures.blocks.steps import GOES_ON
from bascule.core.types import NO_DIFFERENCE, NOBODY

Advance = Callable[[Procedure, Any, bool], Any]
"""(procedure, statistics, whether to drop beaten arms) -> statistics with more outcomes."""

Arms = list[list[float]]


class MetricEvidence:
    """The statistics of a metric, which a course uses in place of arrays of evidence."""

    __slots__ = ("_known", "advance", "design", "reached", "statistics")

    def __init__(
        self, design: Design, statistics: AnyStatistics, advance: Advance | None = None
    ) -> None:
        self.design, self.statistics, self.advance = design, statistics, advance
        self.reached: Decision | None = None
        self._known: tuple[Any, Any, dict[tuple[int, int], Difference]] | None = None

    def seen(self, arms: Arms) -> AnyStatistics:
        """Return the statistics, with those arms dropped that are inactive in `arms`."""
        statistics = self.statistics
        out = frozenset(i for i, row in enumerate(arms) if row[ACTIVE] == 0.0) - statistics.removed
        return statistics if out == statistics.dropped else replace(statistics, dropped=out)

    def oriented(self, arms: Arms) -> Any:
        """Return the statistics of `seen`, converted so that higher outcomes are better."""
        return self.design.oriented_statistics(self.seen(arms))

    def interval(self, first: int, second: int, procedure: Procedure, known: bool) -> Difference:
        """Return by how much an arm is better than another, by the current evidence.

        With `known` the interval may be intersected with those of other looks.
        """
        known_of = self._known
        if known_of is None or known_of[0] is not self.statistics or known_of[1] is not procedure:
            every: Any = replace(self.statistics, dropped=frozenset(), bounds=())
            oriented = self.design.oriented_statistics(every)
            listed = (procedure.known_differences if known else procedure.differences)(oriented)
            pairs = zip(procedure.compared(oriented), listed, strict=True)
            known_of = self._known = self.statistics, procedure, dict(pairs)
        if (first, second) in known_of[2]:
            return known_of[2][first, second]
        middle, low, high = known_of[2].get((second, first), UNKNOWN)
        return -middle, -high, -low


def _fold(
    arms: Arms, evidence: MetricEvidence, count: int, looks: bool, procedure: Procedure
) -> None:
    assert evidence.advance is not None
    evidence.statistics = evidence.advance(procedure, evidence.seen(arms), looks)
    for arm in range(count):
        arms[arm][ACTIVE] = 0.0 if arm in evidence.statistics.out else 1.0


def _leader(*_: object) -> tuple[int, float]:
    raise NotImplementedError("a procedure deals its own blocks")


def _winner(
    arms: Arms, evidence: MetricEvidence, count: int, margin: float, procedure: Procedure
) -> int:
    reached = evidence.reached = procedure.decision(evidence.oriented(arms))
    if reached is None:
        return NOBODY
    return NO_DIFFERENCE if reached.arm is None else reached.arm


def _over(arms: Arms, evidence: MetricEvidence, count: int, procedure: Procedure) -> int:
    if not procedure.has_horizon:
        return GOES_ON
    return END_REASONS.index(procedure.end_reason(evidence.oriented(arms)))


def _interval(
    arms: Arms, evidence: MetricEvidence, count: int, first: int, second: int, procedure: Procedure
) -> Difference:
    return evidence.interval(first, second, procedure, known=False)


def _blocks_left(
    arms: Arms,
    evidence: MetricEvidence,
    count: int,
    under_way: tuple[Block, Sequence[tuple[int, int, int]]],
    procedure: Procedure,
) -> float:
    if not procedure.has_horizon:
        return math.inf
    return procedure.blocks_left(evidence.oriented(arms), *under_way)


def _fold_guard(
    kind: float, arms: None, evidence: MetricEvidence, count: int, judge: Procedure
) -> None:
    assert evidence.advance is not None
    evidence.statistics = evidence.advance(judge, evidence.statistics, False)


def _guard_interval(
    kind: float,
    arms: None,
    evidence: MetricEvidence,
    count: int,
    first: int,
    second: int,
    procedure: Procedure,
) -> Difference:
    return evidence.interval(first, second, procedure, known=True)


def _own(procedure: Procedure, terms: Terms) -> Procedure:
    return procedure


PRIMARY = Primary(_leader, _fold, _winner, _over, _interval, _blocks_left)
GUARDS = Guards(_fold_guard, _guard_interval, _own)
