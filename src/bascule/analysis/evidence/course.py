"""From what pairs of arms have shown to a decision, day after day."""

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
"""A test's end is not predicted if it is further away than this multiple of the data."""


@dataclass(frozen=True, slots=True)
class Day:
    """Where the test stood at the end of a day.

    `units` are those of each arm whose outcomes count by then. `decision` is the winner, or "no
    difference that matters", from the first day on that allows it.
    """

    date: str
    units: tuple[int, ...]
    means: tuple[float | None, ...]
    effects: tuple[Effect, ...]
    decision: str | None = None


@dataclass(frozen=True, slots=True)
class DailyCourse:
    """All days, the decision, and when it was first allowed; `times` as much data may do.

    `log_e_values` has for each pair of arms the logarithm of an e-value of no difference, as it is
    at the end of the log.
    """

    days: tuple[Day, ...]
    decision: Decision | None = None
    decided: str | None = None
    times: float | None = None
    log_e_values: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class DecisionTerms:
    """What a decision is held to: arms, error, what kind of proof, and what difference matters.

    `widest` is the largest difference that the outcomes allow, and `goal` says which arm is better.
    With `forecast` an open test says how long it may take.
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
        """The log evidence at which an arm is beaten."""
        return math.log((len(self.arms) - 1) / self.error)

    def effects_of(self, pairs: Iterable[PairEvidence]) -> tuple[Effect, ...]:
        """Effects from what pairs of arms have shown."""
        return self.effects_with(pair.interval(self.log_threshold, self.widest) for pair in pairs)

    def effects_with(self, bounds: Iterable[tuple[float, float, float]]) -> tuple[Effect, ...]:
        """Effects from differences and both ends of their intervals, pair after pair."""
        error = self.error / (len(self.arms) - 1)
        return tuple(
            Effect(first, second, *end, error, self.guarantee)
            for (first, second), end in zip(combinations(self.arms, 2), bounds, strict=True)
        )


Look = tuple[Day, Decision | None]
"""What a test shows at the end of a day, and the decision that this day alone allows."""


def course_of_looks(looks: Iterable[Look]) -> DailyCourse:
    """The course of a test that is looked at day after day: the first decision stands."""
    days: list[Day] = []
    reached: Decision | None = None
    decided = None
    for day, decision in looks:
        if reached is None and decision is not None:
            reached, decided = decision, day.date
        if days and days[-1].date == day.date:
            # Of the blocks of a day, the last one says where the test stood at its end.
            days.pop()
        days.append(day if reached is None else replace(day, decision=reached.name))
    return DailyCourse(tuple(days), reached, decided)


class Judge:
    """Drops beaten arms day after day; what is decided once stands."""

    def __init__(self, terms: DecisionTerms) -> None:
        self.terms = terms
        self.beaten: set[str] = set()
        self.decision: Decision | None = None

    def see(self, effects: Sequence[Effect]) -> Decision | None:
        """The decision, after one more day."""
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
    """The course of a test whose outcomes come once a unit, or grow.

    `dates` has for each day of arrival, from `first` on, the day at whose end its outcomes were
    known, and `pairs` what the pairs of arms showed then.
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
    """How many times the data the leader is expected to need, if all goes on as it is."""
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
    """The smallest multiple of the data at which a difference is more than it may be off."""
    if difference <= 0.0 or pair.reach(log_threshold, MOST_TIMES) > difference:
        return math.inf
    return smallest(lambda times: pair.reach(log_threshold, times) <= difference, 1.0, MOST_TIMES)
