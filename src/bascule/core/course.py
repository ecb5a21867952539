"""The course of a test in blocks: what begins, what a complete block does, and how the test ends.

This is the only place for the policy of a test: when it is judged, what harm does, which winner
waits for its guardrails, what the calendar withholds, and what ends it. All functions take rows of
numbers. The simulator compiles them, and leaves out the branches that a design does not need;
uncompiled they run on lists.

Whatever is checked after a batch is checked in this order: harm, then guardrails that a winner
awaits, then the decision, futility and horizon. The calendar says when a decision is announced. A
batch stays as it was dealt, but for arms that are removed.

A test is a row of numbers (`HELD` and the others below), marks of the arms, the rows of its
evidence (`core.evidence.families`), and rails: the rows of its guardrails. docs/research/ends.md
and docs/research/guardrails.md have the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from bascule.core.calendar import announced_after
from bascule.core.evidence.families.rows import ACTIVE, Family, Params, Row, Rows
from bascule.core.metrics.guard_rule import (
    BEYOND,
    HARMED,
    OPEN,
    all_harmed,
    allowed,
    harmed_on,
    is_harmful,
    look_is_due,
    none_can_ship,
    only_treatment,
    shipped,
    standing_of,
)
from bascule.core.procedures.blocks.steps import (
    FUTILE,
    GOES_ON,
    REFUSED,
    Scope,
    Share,
    begin_block,
    clear,
    steps_of,
)
from bascule.core.procedures.intervals.state import narrowed
from bascule.core.types import NOBODY

HELD, UNTIL, GONE, WAITS, HARM, TEST = range(6)
"""Columns of a test, and how many there are: the decision that is withheld and until when, how many
arms were removed, whether the last arm waits for its guardrails, and whether harm has decided."""

OUT, REMOVED, KEPT, REMOVED_AT, MARKS = range(5)
"""Rows of marks, with a number for each arm, and how many rows there are: whether it is not active,
whether it was removed, whether it was active before the decision that is withheld, and after how
many units it was found harmful."""

KIND, MARGIN, LINE, TURNED, CENTRE, SCALE, NUMBERS = range(7)
"""Columns of a guardrail's numbers, and how many there are: which of the families of evidence it
has, the margin and the line of harm, whether outcomes are reflected, and about what, and the scale
of its outcomes."""


class Rails(NamedTuple):
    """The guardrails of a test: their numbers, and rows like those of the primary metric.

    `params` and `harm` have for each guardrail the numbers of `Params` but for the floors: those
    that its margin is judged by, and those that harm is. `arms` and `pairs` are the rows of each
    guardrail; `standings`, `lows` and `highs` are what each guardrail says of each arm.
    """

    numbers: Any
    params: Any
    harm: Any
    arms: Any
    pairs: Any
    standings: Any
    lows: Any
    highs: Any


class Terms(NamedTuple):
    """The numbers of a design that its course goes by; times are in the unit of the clock."""

    control: int
    """The arm that guardrails compare with."""
    max_units: int
    rounds: int
    """Blocks in a batch."""
    each: int
    """Units of a challenger in a block."""
    tilt: float
    margin: float
    """The smallest difference that matters, in units of the scale; 0 for none."""
    least: float
    """How long a test lasts at least."""
    week: float
    """How long a week is; 0 if a decision may be announced at any time."""
    rollout: bool
    """Whether the guardrails alone decide."""
    usual: Params
    """Parameters of the evidence while no arm was removed by hand."""
    strict: Params
    """Parameters of the evidence, with a stricter threshold, after an arm was removed."""


class CourseScope(NamedTuple):
    """What a design has: with fewer branches its course compiles faster."""

    two_arms: bool
    intervals: bool
    """Whether the intervals of the primary metric are needed."""
    guarded: bool
    """Whether there are guardrails."""
    withholds: bool
    """Whether a decision may come too early for the calendar."""


class Course(NamedTuple):
    """The steps of a course, in their order."""

    start: Callable[..., None]
    choose: Callable[..., tuple[int, int]]
    begin: Callable[..., int]
    is_frozen: Callable[..., bool]
    fold: Callable[..., None]
    conclude: Callable[..., tuple[int, int]]
    announce: Callable[..., int]


def params_of(numbers: Row, floors: Row) -> Params:
    """Return the numbers of a guardrail's evidence as its family takes them."""
    return Params(
        numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6],
        numbers[7], numbers[8], numbers[9], numbers[10], numbers[11], numbers[12], numbers[13],
        numbers[14], numbers[15], numbers[16], numbers[17], floors,
    )  # fmt: skip


def by_kind(functions: Sequence[Any]) -> Any:
    """Return a function that calls one of some functions, by its number: the first argument.

    >>> [by_kind([min, max, sum])(kind, (1, 2, 3)) for kind in (0.0, 1.0, 2.0)]
    [1, 3, 6]
    """
    last, number = functions[-1], len(functions) - 1
    if number == 0:

        def only(kind: float, *arguments: Any) -> Any:  # noqa: ARG001
            return last(*arguments)

        return only
    others = by_kind(functions[:-1])

    def choose(kind: float, *arguments: Any) -> Any:
        if kind == number:
            return last(*arguments)
        return others(kind, *arguments)

    return choose


@lru_cache(maxsize=64)
def course_of(
    family: Family, kinds: tuple[Family, ...], share_of: Share, scope: CourseScope
) -> Course:
    """Return the course of a test by the family of its evidence and those of its guardrails.

    Where a design has neither guardrails nor a calendar, `test`, `marks` and `rails` are not used.
    """
    two_arms, intervals, guarded, withholds = scope
    steps = steps_of(family, Scope(two_arms, intervals))
    leader, fold_primary, drop, winner_of, over, interval, blocks_left = steps
    arm_columns, pair_columns = family.arm_columns, family.pair_columns
    fold_any: Any = None
    interval_any: Any = None
    if guarded:
        of_kinds = [steps_of(kind, Scope(two_arms=False, intervals=True)) for kind in kinds]
        fold_any = by_kind([kind.fold for kind in of_kinds])
        interval_any = by_kind([kind.interval for kind in of_kinds])

    def start(test: Row, marks: Rows, arms: Rows, pairs: Rows, rails: Rails, count: int) -> None:
        """Reset a test: no units yet, and every arm active."""
        clear(arms, pairs, count, arm_columns, pair_columns)
        if withholds or guarded:
            for i in range(TEST):
                test[i] = 0.0
            test[HELD] = NOBODY
            for arm in range(count):
                marks[OUT][arm] = 0
                marks[REMOVED][arm] = 0
                marks[KEPT][arm] = 1
                marks[REMOVED_AT][arm] = -1
        if guarded:
            for which in range(len(rails.numbers)):
                rows, rival_rows = rails.arms[which], rails.pairs[which]
                clear(rows, rival_rows, count, len(rows[0]), len(rival_rows[0]))
            for i in range(len(rails.standings)):
                rails.standings[i] = OPEN
                rails.lows[i] = -math.inf
                rails.highs[i] = math.inf

    def judged_by(test: Row, terms: Terms) -> Params:
        """Return the numbers of the evidence: stricter ones once an arm was removed."""
        if guarded and test[GONE] > 0.0:
            return terms.strict
        return terms.usual

    def control_is_back(test: Row, marks: Rows, arms: Rows, terms: Terms) -> bool:
        """Return whether the control, which was beaten, gets units for the guardrails' sake."""
        control = terms.control
        beaten = arms[control][ACTIVE] == 0.0 and marks[REMOVED][control] == 0
        return test[WAITS] > 0.0 and beaten  # type: ignore[no-any-return]

    def choose(
        test: Row, marks: Rows, arms: Rows, pairs: Rows, count: int, tilt: float, terms: Terms
    ) -> tuple[int, int]:
        """Return the leader of the next batch, and its units for each one of a challenger."""
        back = False
        if guarded:
            back = control_is_back(test, marks, arms, terms)
            if back:
                arms[terms.control][ACTIVE] = 1.0
        front, ahead = leader(arms, pairs, count, judged_by(test, terms))
        if guarded and back:
            arms[terms.control][ACTIVE] = 0.0
        return front, share_of(ahead, tilt)

    def begin(
        test: Row, marks: Rows, arms: Rows, count: int, front: int, share: int, terms: Terms
    ) -> int:
        """Fix how many units each arm gets in a block of the batch; return how many they are."""
        back = False
        if guarded:
            back = control_is_back(test, marks, arms, terms)
            if back:
                arms[terms.control][ACTIVE] = 1.0
        size = begin_block(arms, count, front, share * terms.each, terms.each)
        if guarded and back:
            arms[terms.control][ACTIVE] = 0.0
        return size

    def is_frozen(
        test: Row, arms: Rows, pairs: Rows, count: int, pending: int, clocks: Row, terms: Terms
    ) -> bool:
        """Return whether no batch may begin now, since the units that wait suffice for the horizon.

        `clocks` has what blocks under way will add to the clock of each pair.
        """
        suffices = pending > 0
        if withholds:
            suffices = suffices or test[HELD] != NOBODY
        if guarded:
            suffices = suffices and test[WAITS] == 0.0 and not terms.rollout
        params = judged_by(test, terms)
        return suffices and blocks_left(arms, pairs, count, clocks, params) <= 0.0

    def fold(
        test: Row, marks: Rows, arms: Rows, pairs: Rows, rails: Rails,
        count: int, before: int, after: int, last: bool, terms: Terms,
    ) -> None:  # fmt: skip
        """Take a complete block in: `after` units have counted, and `before` had.

        With the last block of a batch, arms that are beaten are dropped. Guardrails are looked at
        when that is due.
        """
        fold_primary(arms, pairs, count, judged_by(test, terms))
        if guarded:
            for which in range(len(rails.numbers)):
                params = params_of(rails.params[which], terms.usual.floors)
                kind = rails.numbers[which][KIND]
                fold_any(kind, rails.arms[which], rails.pairs[which], count, params)
        if last:
            looks = True
            if withholds:
                looks = test[HELD] == NOBODY
                if looks:
                    for arm in range(count):
                        marks[KEPT][arm] = arms[arm][ACTIVE]
            if guarded:
                looks = looks and not terms.rollout
            if looks:
                drop(arms, pairs, count, judged_by(test, terms))
        if guarded:
            note_waiting(test, marks, arms, rails, count, terms)
            if look_is_due(before, after, terms.rollout or test[WAITS] > 0.0):
                look(rails, count, terms)

    def note_waiting(
        test: Row, marks: Rows, arms: Rows, rails: Rails, count: int, terms: Terms
    ) -> None:
        """Note whether the only arm that is left waits for its guardrails."""
        for arm in range(count):
            marks[OUT][arm] = 0 if arms[arm][ACTIVE] > 0.0 else 1
        only = only_treatment(marks[OUT], count, terms.control)
        may = allowed(rails.standings, count, len(rails.numbers), only, terms.control)
        test[WAITS] = 1.0 if only != NOBODY and not may else 0.0

    def look(rails: Rails, count: int, terms: Terms) -> None:
        """Narrow the interval of every arm on every guardrail, and see who is harmful."""
        control, floors = terms.control, terms.usual.floors
        for which in range(len(rails.numbers)):
            numbers, arms, pairs = rails.numbers[which], rails.arms[which], rails.pairs[which]
            params = params_of(rails.params[which], floors)
            strict = params_of(rails.harm[which], floors)
            kind, scale, line = numbers[KIND], numbers[SCALE], numbers[LINE]
            for arm in range(count):
                at = which * count + arm
                low, high = 0.0, 0.0
                if arm != control:
                    _, low, high = interval_any(kind, arms, pairs, count, arm, control, params)
                    low, high = scale * low, scale * high
                rails.lows[at], rails.highs[at] = narrowed(
                    rails.lows[at], rails.highs[at], low, high
                )
                harmful = rails.standings[at] == HARMED
                # An interval at a higher threshold is wider.
                wider = strict.threshold >= params.threshold
                if not harmful and not (wider and high >= -line):
                    high = 0.0
                    if arm != control:
                        _, _, high = interval_any(kind, arms, pairs, count, arm, control, strict)
                    harmful = is_harmful(scale * high, line)
                rails.standings[at] = standing_of(
                    rails.lows[at], rails.highs[at], numbers[MARGIN], harmful
                )

    def remove_harmful(
        test: Row, marks: Rows, arms: Rows, pairs: Rows, rails: Rails,
        count: int, units: int, terms: Terms,
    ) -> None:  # fmt: skip
        """Remove arms that a guardrail has found harmful, for good, while three are left.

        A decision that is withheld is void then: all that has counted is judged again.
        """
        guardrails = len(rails.numbers)
        for arm in range(count):
            if marks[REMOVED][arm] == 0 and harmed_on(rails.standings, count, guardrails, arm):
                if marks[REMOVED_AT][arm] < 0:
                    marks[REMOVED_AT][arm] = units
                if count - test[GONE] > 2:
                    test[GONE] += 1.0
                    marks[REMOVED][arm] = 1
                    arms[arm][ACTIVE] = 0.0
                    come_back(marks, arms, pairs, count, terms)
                    if withholds:
                        test[HELD] = NOBODY

    def come_back(marks: Rows, arms: Rows, pairs: Rows, count: int, terms: Terms) -> None:
        """Make dropped arms active again that only removed arms have beaten."""
        for arm in range(count):
            if marks[REMOVED][arm] == 0 and arms[arm][ACTIVE] == 0.0:
                beaten = False
                for rival in range(count):
                    if rival != arm and marks[REMOVED][rival] == 0 and not beaten:
                        _, low, _ = interval(arms, pairs, count, rival, arm, terms.strict)
                        beaten = low >= 0.0
                arms[arm][ACTIVE] = 0.0 if beaten else 1.0

    def conclude(
        test: Row, marks: Rows, arms: Rows, pairs: Rows, rails: Rails,
        count: int, units: int, clock: float, terms: Terms,
    ) -> tuple[int, int]:  # fmt: skip
        """Return the decision after a batch, or `NOBODY`, and why the test ends without one, or 0.

        Harm comes first: an arm that a guardrail has found harmful is removed before anything is
        announced. A decision that comes too early for the calendar is withheld, unless harm has
        decided; futility waits until then.
        """
        guardrails, harm = 0, False
        if guarded:
            guardrails = len(rails.numbers)
            remove_harmful(test, marks, arms, pairs, rails, count, units, terms)
            note_waiting(test, marks, arms, rails, count, terms)
            harm = all_harmed(marks[REMOVED], rails.standings, count, guardrails, terms.control)
            test[HARM] = 1.0 if harm else 0.0
        if withholds and test[HELD] != NOBODY:
            return terms.control if harm else NOBODY, GOES_ON
        params = judged_by(test, terms)
        winner, ended = winner_of(arms, pairs, count, terms.margin, params), GOES_ON
        by_plan = True
        if guarded:
            if harm:
                winner = terms.control
            else:
                winner = shipped(
                    winner, terms.rollout, marks[OUT], rails.standings, count, guardrails,
                    terms.control,
                )  # fmt: skip
            by_plan = not terms.rollout and test[WAITS] == 0.0
        if winner == NOBODY and by_plan:
            ended = over(arms, pairs, count, params)
            if withholds and ended == FUTILE and clock < terms.least:
                ended = GOES_ON
        elif winner == NOBODY and guarded:
            stuck = none_can_ship(marks[OUT], rails.standings, count, guardrails, terms.control)
            if stuck and not may_be_harmful(marks, rails, count, terms):
                ended = REFUSED
        elif withholds and not harm:
            until = announced_after(clock, terms.least, terms.week)
            if until > clock:
                test[HELD], test[UNTIL] = winner, until
                winner = NOBODY
                for arm in range(count):
                    arms[arm][ACTIVE] = marks[KEPT][arm]
        return winner, ended

    def may_be_harmful(marks: Rows, rails: Rails, count: int, terms: Terms) -> bool:
        """Return whether an active arm beyond its margin may yet be found harmful."""
        may = False
        for which in range(len(rails.numbers)):
            numbers = rails.numbers[which]
            params = params_of(rails.params[which], terms.usual.floors)
            for arm in range(count):
                if marks[OUT][arm] == 0 and rails.standings[which * count + arm] == BEYOND:
                    middle, _, _ = interval_any(
                        numbers[KIND], rails.arms[which], rails.pairs[which], count, arm,
                        terms.control, params,
                    )  # fmt: skip
                    may = may or is_harmful(numbers[SCALE] * middle, numbers[LINE])
        return may

    def announce(test: Row, clock: float) -> int:
        """Return the decision that is withheld, once the calendar allows it, or `NOBODY`."""
        if withholds and test[HELD] != NOBODY and clock >= test[UNTIL]:
            return int(test[HELD])
        return NOBODY

    return Course(start, choose, begin, is_frozen, fold, conclude, announce)
