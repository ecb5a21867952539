"""Decisions from the evidence of pairs of arms, day by day."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import combinations

from bascule.analysis.evidence.pairs import PairEvidence
from bascule.analysis.reduce.sums import Sums
from bascule.core.evidence.calibration import Guarantee
from bascule.core.metrics.effects import Effect
from bascule.core.metrics.metric import DIRECTION, Goal
from bascule.core.numerics import smallest
from bascule.core.procedures.base import SAME, Decision

MOST_TIMES = 1e3
"""Largest multiple of the present data for which the end of a test is predicted."""


@dataclass(frozen=True, slots=True)
class Day:
    """State of a test at the end of a day.

    `units` has the number of units of each arm whose outcomes count by then, and `means` the means
    of these outcomes. `decision` is the winner, or "no difference that matters", from the first day
    that allows it; None before. A log without times has a single day, whose `date` has no meaning.
    """

    date: str
    units: tuple[int, ...]
    means: tuple[float | None, ...]
    effects: tuple[Effect, ...]
    decision: str | None = None


@dataclass(frozen=True, slots=True)
class DailyCourse:
    """The days of a test, its decision, and the first day on which that decision was allowed.

    `times` is the multiple of the present data at which a decision is expected; None if there is no
    forecast. `log_e_values` has for each pair of arms the logarithm of an e-value against no
    difference, at the end of the log.
    """

    days: tuple[Day, ...]
    decision: Decision | None = None
    decided: str | None = None
    times: float | None = None
    log_e_values: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class DecisionTerms:
    """Requirements of a decision: arms, error, kind of guarantee, and the smallest relevant effect.

    `widest` is the largest difference that the outcomes allow, and `goal` says which arm is better.
    With `forecast`, it is predicted how long an undecided test may still take.
    """

    arms: tuple[str, ...]
    error: float
    guarantee: Guarantee
    min_effect: float | None = None
    widest: float = math.inf
    goal: Goal = "increase"
    forecast: bool = True

    @property
    def log_threshold(self) -> float:
        """The logarithm of the evidence at which an arm is beaten."""
        return math.log((len(self.arms) - 1) / self.error)

    def effects_of(self, pairs: Iterable[PairEvidence]) -> tuple[Effect, ...]:
        """Return the effects of pairs of arms from their evidence."""
        return self.effects_with(pair.interval(self.log_threshold, self.widest) for pair in pairs)

    def effects_with(self, bounds: Iterable[tuple[float, float, float]]) -> tuple[Effect, ...]:
        """Return effects from (difference, low, high) of each pair of arms."""
        error = self.error / (len(self.arms) - 1)
        return tuple(
            Effect(first, second, *end, error, self.guarantee)
            for (first, second), end in zip(combinations(self.arms, 2), bounds, strict=True)
        )


Look = tuple[Day, Decision | None]
"""The state at the end of a day, and the decision, if any, that the data by then allow."""


def course_of_looks(looks: Iterable[Look]) -> DailyCourse:
    """Return the course of a test from its daily looks; the first decision is final."""
    days: list[Day] = []
    reached: Decision | None = None
    decided = None
    for day, decision in looks:
        if reached is None and decision is not None:
            reached, decided = decision, day.date
        if days and days[-1].date == day.date:
            # Of several blocks of a day, the last one has the state at the end of the day.
            days.pop()
        days.append(day if reached is None else replace(day, decision=reached.name))
    return DailyCourse(tuple(days), reached, decided)


class Judge:
    """Eliminates beaten arms day by day; the first decision is final."""

    def __init__(self, terms: DecisionTerms) -> None:
        self.terms = terms
        self.beaten: set[str] = set()
        self.decision: Decision | None = None

    def see(self, effects: Sequence[Effect]) -> Decision | None:
        """Return the decision, if any, after the effects of one more day."""
        if self.decision is not None:
            return self.decision
        out, up = set(self.beaten), DIRECTION[self.terms.goal]
        for effect in effects:
            low, high = sorted((up * effect.low, up * effect.high))
            if low >= 0.0 and effect.first not in out:
                self.beaten.add(effect.second)
            if high <= 0.0 and effect.second not in out:
                self.beaten.add(effect.first)
        terms = self.terms
        left = [arm for arm in terms.arms if arm not in self.beaten]
        if len(left) == 1:
            arm = terms.arms.index(left[0])
            self.decision = Decision(arm, left[0], terms.error, terms.guarantee)
        elif terms.min_effect is not None and all(
            max(-effect.low, effect.high) < terms.min_effect
            for effect in effects
            if effect.first in left and effect.second in left
        ):
            self.decision = Decision(None, SAME, terms.error, terms.guarantee)
        return self.decision


def course_of(
    terms: DecisionTerms,
    sums: Sums,
    pairs: Iterable[tuple[PairEvidence, ...]],
    dates: Sequence[date],
    first: int = 0,
) -> DailyCourse:
    """Return the course of a test with one outcome per unit, final or still growing.

    `dates` has, for each day of arrival from `first` on, the day at whose end its outcomes were
    known, and `pairs` the evidence of the pairs of arms at that time.
    """
    judge = Judge(terms)
    last: tuple[PairEvidence, ...] = ()

    def looks() -> Iterator[Look]:
        nonlocal last
        for day, (known, last) in enumerate(zip(dates, pairs, strict=False), start=first):
            effects = terms.effects_of(last)
            yield Day(known.isoformat(), *sums.at_end_of(day), effects), judge.see(effects)

    course = course_of_looks(looks())
    course = replace(course, log_e_values=tuple(pair.log_e_value for pair in last))
    if course.decision is not None or not terms.forecast:
        return course
    return replace(course, times=times_needed(terms, last, judge.beaten))


def times_needed(
    terms: DecisionTerms, pairs: Sequence[PairEvidence], beaten: set[str]
) -> float | None:
    """Return the multiple of the present data at which a winner is expected; None if unknown."""
    left = [arm for arm in terms.arms if arm not in beaten]
    ahead = dict.fromkeys(left, 0.0)
    for (first, second), pair in zip(combinations(terms.arms, 2), pairs, strict=False):
        if pair.clock <= 0.0 or not pair.ready:
            return None
        up = DIRECTION[terms.goal]
        for mine, rival, sign in ((first, second, up), (second, first, -up)):
            if mine in ahead and rival in ahead:
                needed = _times(pair, sign * pair.difference, terms.log_threshold)
                ahead[mine] = max(ahead[mine], needed)
    best = min(ahead.values(), default=math.inf)
    return best if math.isfinite(best) and best > 0.0 else None


def _times(pair: PairEvidence, difference: float, log_threshold: float) -> float:
    """Return the smallest multiple of the data at which a difference exceeds its uncertainty."""
    if difference <= 0.0 or pair.reach(log_threshold, MOST_TIMES) > difference:
        return math.inf
    return smallest(lambda times: pair.reach(log_threshold, times) <= difference, 1.0, MOST_TIMES)
