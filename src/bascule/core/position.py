"""Convert the statistics of a test to the arrays that `core.course` works on, and back.

The simulator compiles the course for a family of evidence. Here it runs uncompiled with the methods
of any procedure (`core.procedure_steps`), for live tests, their replay, reports and `trace`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from bascule.core.calendar import DAY
from bascule.core.course import course_of_steps
from bascule.core.course_rows import (
    AHEAD,
    GONE,
    HARM,
    HELD,
    KEPT,
    LINE,
    MARGIN,
    MARKS,
    NUMBERS,
    REMOVED,
    SCALE,
    TEST,
    Course,
    CourseScope,
    Rails,
    Terms,
    terms_of,
)
from bascule.core.design import Design
from bascule.core.evidence.families.rows import ACTIVE
from bascule.core.metrics import coverage
from bascule.core.metrics.guard_rule import HARMED, OPEN, WITHIN, allowed, standing_of
from bascule.core.metrics.guardrails import (
    empty_metrics,
    has_primary_say,
    holding,
    may_hold,
    with_lacking,
)
from bascule.core.procedure_steps import GUARDS, PRIMARY, Advance, Arms, MetricEvidence
from bascule.core.procedures.base import AnyStatistics, Block, Decision
from bascule.core.procedures.blocks.steps import units_of_leader
from bascule.core.statistics import Statistics
from bascule.core.types import NO_DIFFERENCE, NOBODY


class Calendar(NamedTuple):
    """The calendar of a test whose decision may be withheld; times are in seconds."""

    origin: float
    """Time of the first unit."""
    now: float = 0.0
    held: int = NOBODY
    """The withheld decision, or `NOBODY`."""
    kept: frozenset[int] | None = None
    """Arms that got no more units before the last look; None if they are the same as now."""


HOLDING = Calendar(0.0, held=NO_DIFFERENCE)
"""A calendar with a withheld decision, to be used if it does not matter which decision it is."""


class Judgement(NamedTuple):
    """The result that the data allow: a decision, withheld or not, or an end without a decision."""

    winner: int
    ended: int
    reached: Decision | None
    """The decision that the primary metric alone would give."""
    harm: bool
    """Whether the decision is for the control because every treatment is harmful."""
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class Position:
    """The state of a test in the form of the arrays that its course works on."""

    course: Course
    test: list[float]
    marks: list[list[int]]
    arms: Arms
    evidence: MetricEvidence
    rails: Rails
    places: Sequence[int]
    """Indexes of the guardrails among the metrics of the design."""
    terms: Terms
    clock: float
    """Duration of the test so far."""

    @property
    def count(self) -> int:
        """Number of arms."""
        return len(self.arms)

    def waiting(self) -> int:
        """Return the only arm left if guardrails do not allow it to win yet, else `NOBODY`."""
        if not self.rails.standings:
            return NOBODY
        rows = self.test, self.marks, self.arms, self.rails
        return self.course.waiting(*rows, self.count, self.terms)

    def compared(self) -> AnyStatistics:
        """Return the statistics for the next block.

        The control is active in them if the guardrails still have to compare with it.
        """
        self.course.bring_back(self.test, self.marks, self.arms, self.count, self.terms)
        return self.evidence.seen(self.arms)

    def may_begin(
        self, pending: int, block: Block, under_way: Sequence[tuple[int, int, int]]
    ) -> float:
        """Return how many blocks like `block` may begin, given the blocks under way.

        `pending` is the number of units that have not counted yet.
        """
        rows = self.test, self.marks, self.arms, self.evidence
        return self.course.may_begin(*rows, self.count, pending, (block, under_way), self.terms)

    def harmful_arm(self) -> int:
        """Return the first harmful arm that has to be removed, or `NOBODY` if there is none."""
        if not self.rails.standings:
            return NOBODY
        return self.course.harmful_arm(self.test, self.marks, self.rails, self.count)

    def without(self, arm: int) -> frozenset[int]:
        """Remove an arm, and return the arms that are then dropped."""
        evidence = self.evidence
        evidence.statistics = replace(
            evidence.statistics, removed=evidence.statistics.removed | {arm}
        )
        rows = self.test, self.marks, self.arms, evidence
        self.course.remove(*rows, self.count, arm, self.terms)
        return evidence.seen(self.arms).dropped

    def judge(self) -> Judgement:
        """Return the current decision, or the reason why the test ends without one."""
        rows = self.test, self.marks, self.arms, self.evidence, self.rails
        was_held = self.test[HELD]
        winner, ended = self.course.judge(*rows, self.count, self.clock, self.terms)
        harm, held = self.test[HARM] > 0.0, int(self.test[HELD])
        if held != was_held:
            return Judgement(held, ended, self.evidence.reached, harm, is_held=True)
        return Judgement(winner, ended, self.evidence.reached, harm)


def position_of(
    design: Design,
    statistics: AnyStatistics,
    calendar: Calendar | None = None,
    units: Sequence[int] | None = None,
    removes: bool = False,
) -> Position:
    """Return the state of a test as arrays; without a calendar decisions are announced at once.

    `units` are the units of each arm that count in the primary metric after the current step, if
    they differ from the statistics. `removes` says that an arm is going to be removed.
    """
    test, count = [0.0] * TEST, len(design.arms)
    test[HELD], test[GONE] = NOBODY, len(statistics.removed)
    marks = [[0] * count for _ in range(MARKS)]
    arms = [[0.0, 1.0] for _ in range(count)]
    for arm in statistics.out:
        arms[arm][ACTIVE] = 0.0
    for arm in statistics.removed:
        marks[REMOVED][arm] = 1
    guarded = may_hold(design)
    if calendar is not None:
        test[HELD] = calendar.held
        out = statistics.out if calendar.kept is None else calendar.kept | statistics.removed
        marks[KEPT] = [0 if arm in out else 1 for arm in range(count)]
    scope = CourseScope(
        two_arms=False,
        intervals=True,
        horizon=True,
        guarded=guarded,
        withholds=calendar is not None,
    )
    course = course_of_steps(PRIMARY, GUARDS if guarded else None, units_of_leader, (0, 0), scope)
    rails, places = NO_RAILS, list[int]()
    if guarded:
        assert isinstance(statistics, Statistics)
        rails, places = _rails(design, statistics, units)
    evidence = MetricEvidence(design, statistics)
    terms = _terms(design, statistics, calendar, removes)
    clock = 0.0 if calendar is None else calendar.now - calendar.origin
    return Position(course, test, marks, arms, evidence, rails, places, terms, clock)


NO_RAILS = Rails((), (), (), (), (), (), (), ())
ENDLESS = (-math.inf, math.inf)


def _terms(
    design: Design, statistics: AnyStatistics, calendar: Calendar | None, removes: bool
) -> Terms:
    # The course gets procedures in place of parameters: the stricter one decides after an arm was
    # removed, by hand or by a guardrail.
    strict: Any = design.stricter.procedure if removes or statistics.removed else design.procedure
    usual: Any = strict if statistics.removed else design.procedure
    latest = math.inf
    if calendar is not None and design.deadline is not None:
        latest = design.deadline.timestamp() - calendar.origin
    return terms_of(design, usual, strict, DAY, latest)


def _rails(
    design: Design, statistics: Statistics, units: Sequence[int] | None
) -> tuple[Rails, list[int]]:
    """Return the state of all guardrails at their last looks, and a row for missing values."""
    count, known = len(design.arms), statistics.metrics or empty_metrics(design)
    places = [which for which, metric in enumerate(design.metrics) if metric.is_guardrail]
    numbers, standings = [], list[int]()
    lows, highs = list[float](), list[float]()
    for which in places:
        metric, shown = design.metrics[which], known[which]
        row = [0.0] * NUMBERS
        row[SCALE], row[MARGIN] = 1.0, metric.margin or 0.0
        row[LINE] = math.inf if metric.harm_line is None else metric.harm_line
        numbers.append(row)
        for arm, (low, high) in enumerate(shown.bounds or (ENDLESS,) * count):
            lows.append(low)
            highs.append(high)
            standings.append(standing_of(low, high, row[MARGIN], arm in shown.dropped))
    if has_primary_say(design) or any(
        coverage.is_counted(design.metric_designs[which]) for which in places
    ):
        units = units or [arm.units for arm in statistics.arms]
        rows = holding(design, statistics)
        standings += [
            OPEN if any(coverage.held(own, shown, units, arm) for _, own, shown in rows) else WITHIN
            for arm in range(count)
        ]
    rails = Rails(
        numbers,
        [design.metric_designs[which].procedure for which in places],
        [
            harm_design and harm_design.procedure
            for harm_design in (design.harm_designs[which] for which in places)
        ],
        [None] * len(places),
        [MetricEvidence(design.metric_designs[which], known[which]) for which in places],
        standings,
        lows,
        highs,
    )
    return rails, places


# Steps


class BlockStep(NamedTuple):
    """A complete block, or a single unit, that is added to the statistics."""

    advance: Advance
    """Function that adds the outcomes of the primary metric."""
    metrics: Mapping[int, Advance]
    """Functions that add the outcomes of other metrics, by the metric's index in the design."""
    units: Sequence[int]
    """Number of units of each arm in the block."""
    lacking: Sequence[Sequence[int]] = ()
    """For the primary metric and each other one, the number of each arm's units without a value."""
    last: bool = True
    """Whether the block is the last one of its batch; arms are compared only after such a block."""


def folded(
    design: Design, statistics: Statistics, step: BlockStep, is_held: bool = False
) -> Statistics:
    """Return the statistics with a block added; drop no arm while a decision is withheld."""
    known = list(statistics.metrics or empty_metrics(design))
    if step.lacking:
        first, *others = step.lacking
        statistics = with_lacking(design, statistics, step.units, first)
        for which, without in enumerate(others):
            own = design.metric_designs[which]
            known[which] = with_lacking(own, known[which], step.units, without)
        statistics = replace(statistics, metrics=tuple(known))
    calendar = HOLDING if is_held else None
    units = [arm.units + more for arm, more in zip(statistics.arms, step.units, strict=True)]
    position = position_of(design, statistics, calendar, units)
    position.evidence.advance = step.advance
    for at, which in enumerate(position.places):
        position.rails.pairs[at].advance = step.metrics.get(which)
        position.rails.numbers[at][AHEAD] = float(which not in step.metrics)
    before = statistics.units
    rows = position.test, position.marks, position.arms, position.evidence, position.rails
    position.course.fold(
        *rows, position.count, before, before + sum(step.units), step.last, position.terms
    )
    for which, advance in step.metrics.items():
        if which not in position.places:
            known[which] = advance(design.metric_designs[which].procedure, known[which], False)
    after = position.evidence.seen(position.arms)
    assert isinstance(after, Statistics)
    return _with_rails(after, known, position)


def folded_ahead(
    design: Design, statistics: Statistics, steps: Mapping[int, Advance]
) -> Statistics:
    """Return the statistics with outcomes of metrics that are known before the primary one's.

    `steps` has a function for each metric, by the metric's index in the design. The looks at a
    metric depend on its own units.
    """
    known = list(statistics.metrics or empty_metrics(design))
    position = position_of(design, statistics)
    for which, advance in steps.items():
        before, own = known[which], design.metric_designs[which]
        after = advance(own.procedure, before, False)
        if which not in position.places:
            known[which] = after
            continue
        at = position.places.index(which)
        position.rails.pairs[at].advance = lambda *_, after=after: after
        position.course.fold_ahead(
            position.rails, at, position.count, before.units, after.units, position.terms
        )
    return _with_rails(statistics, known, position)


def _with_rails(statistics: Statistics, known: list[Statistics], position: Position) -> Statistics:
    """Return the statistics with those of its other metrics, updated by the guardrails' results."""
    count, rails = position.count, position.rails
    for at, which in enumerate(position.places):
        own = slice(at * count, (at + 1) * count)
        shown, standings = rails.pairs[at].statistics, rails.standings[own]
        bounds = tuple(zip(rails.lows[own], rails.highs[own], strict=True))
        harmful = frozenset(arm for arm, said in enumerate(standings) if said == HARMED)
        # A look can find harm without narrowing an interval.
        if bounds != (shown.bounds or (ENDLESS,) * count) or harmful != shown.dropped:
            shown = replace(shown, bounds=bounds, dropped=harmful)
        known[which] = shown
    return replace(statistics, metrics=tuple(known))


def still_compared(design: Design, statistics: AnyStatistics, is_held: bool = False) -> Any:
    """Return the statistics, with the control active if guardrails still compare arms with it.

    Guardrails do so while an arm waits for them, and while a decision `is_held`.
    """
    if not may_hold(design):
        return statistics
    return position_of(design, statistics, HOLDING if is_held else None).compared()


def waiting_arm(design: Design, statistics: Statistics) -> int | None:
    """Return the arm that waits only for guardrails or missing values to be shipped, or None."""
    arm = position_of(design, statistics).waiting() if may_hold(design) else NOBODY
    return None if arm == NOBODY else arm


def may_ship(design: Design, statistics: Statistics, arm: int) -> bool:
    """Return whether guardrails and missing values allow an arm to be shipped."""
    rails, count = position_of(design, statistics).rails, len(design.arms)
    return allowed(rails.standings, count, len(rails.standings) // count, arm, design.control_index)
