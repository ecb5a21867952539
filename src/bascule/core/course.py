"""The course of a test in blocks: functions that begin a block, add its outcomes, and decide.

This is the only place for the policy of a test: when it is judged, what happens to harmful arms,
which winner waits for its guardrails, which decisions the calendar withholds, and what ends it. All
functions take rows of numbers. The simulator compiles them for a family of evidence, and leaves out
the branches that a design does not need; `core.position` runs them uncompiled for live tests.

After a batch the checks are in this order: harm, then guardrails for which a winner waits, then the
decision, futility and horizon. The calendar says when a decision is announced. The sizes of a batch
do not change once it has begun, except for arms that are removed.

`core.course_rows` defines the rows that the steps work on. docs/research/ends.md and
docs/research/guardrails.md have the proofs.
"""

from __future__ import annotations

import math
from datetime import datetime
from functools import lru_cache
from typing import Any

from bascule.core.calendar import announced_after
from bascule.core.course_rows import (
    AHEAD,
    GONE,
    HARM,
    HELD,
    KEPT,
    KIND,
    LINE,
    MARGIN,
    OUT,
    REMOVED,
    REMOVED_AT,
    SCALE,
    TEST,
    UNTIL,
    WIDER,
    Course,
    CourseScope,
    Guards,
    Primary,
    Rails,
    Terms,
    by_kind,
    params_of,
)
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


def fits(units: int, more: int, cap: float) -> bool:
    """Return whether the cap on units leaves room for `more` units.

    >>> fits(90, 10, 100), fits(90, 11, 100)
    (True, False)
    """
    return units + more <= cap


def blocks_that_fit(units: int, size: int, cap: int) -> int:
    """Return how many blocks of a size the cap on units leaves room for."""
    return max(0, cap - units) // size


def is_past(deadline: datetime, now: float) -> bool:
    """Return whether a test ends at `now` because of its deadline; `now` is in seconds.

    >>> is_past(datetime.fromtimestamp(50.0), 49.0), is_past(datetime.fromtimestamp(50.0), 50.0)
    (False, True)
    """
    return now >= deadline.timestamp()


STEPS_OF_GUARDS = ("fold", "interval")
"""Names of the functions of `BlockSteps` that guardrails use."""


@lru_cache(maxsize=64)
def course_of(
    family: Family, kinds: tuple[Family, ...], share_of: Share, scope: CourseScope
) -> Course:
    """Return the course of a test, given its family of evidence and those of its guardrails."""
    leader, fold, drop, winner, over, interval, blocks_left = steps_of(
        family, Scope(scope.two_arms, scope.intervals, scope.horizon)
    )

    def fold_primary(arms: Rows, pairs: Rows, count: int, drops: bool, params: Params) -> None:
        fold(arms, pairs, count, params)
        if drops:
            drop(arms, pairs, count, params)

    guards = None
    if scope.guarded:
        of_kinds = [steps_of(kind, Scope(False, True, True)) for kind in kinds]
        folds, intervals = ([getattr(kind, step) for kind in of_kinds] for step in STEPS_OF_GUARDS)
        guards = Guards(by_kind(folds), by_kind(intervals), params_of)
    primary = Primary(leader, fold_primary, winner, over, interval, blocks_left)
    columns = family.arm_columns, family.pair_columns
    return course_of_steps(primary, guards, share_of, columns, scope)


@lru_cache(maxsize=64)
def course_of_steps(
    primary: Primary,
    guards: Guards | None,
    share_of: Share,
    columns: tuple[int, int],
    scope: CourseScope,
) -> Course:
    """Return the course of a test, given the functions that compute its evidence.

    `columns` are the numbers of columns of an arm and of a pair. If a design has neither guardrails
    nor a calendar, `test`, `marks` and `rails` are not used.
    """
    guarded, withholds = scope.guarded, scope.withholds
    leader, fold_primary, winner_of, over, interval, blocks_left = primary
    arm_columns, pair_columns = columns
    fold_any: Any = guards and guards.fold
    interval_any: Any = guards and guards.interval
    params_any: Any = guards and guards.params

    def start(test: Row, marks: Rows, arms: Rows, pairs: Rows, rails: Rails, count: int) -> None:
        """Reset a test to no units, with every arm active."""
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
        """Return the parameters of the evidence: stricter ones once an arm was removed."""
        if guarded and test[GONE] > 0.0:
            return terms.strict
        return terms.usual

    def lone_arm(test: Row, marks: Rows, arms: Rows, count: int, terms: Terms) -> int:
        """Return the only active arm if it is a treatment without a decision for it, else `NOBODY`.

        Such an arm waits for its guardrails, or for the end of its batch. `marks[OUT]` is set too.
        """
        for arm in range(count):
            marks[OUT][arm] = 0 if arms[arm][ACTIVE] > 0.0 else 1
        if withholds and test[HELD] != NOBODY:
            return NOBODY
        return only_treatment(marks[OUT], count, terms.control)

    def bring_back(test: Row, marks: Rows, arms: Rows, count: int, terms: Terms) -> bool:
        """Reactivate a beaten control if guardrails need its outcomes; return whether it was done.

        Guardrails compare arms with the control. They need its outcomes while the only active arm
        has no decision yet, and while a decision is withheld that harm would overturn.
        """
        control = terms.control
        asked = lone_arm(test, marks, arms, count, terms) != NOBODY
        if withholds:
            asked = asked or (terms.seeks_harm and test[HELD] != NOBODY)
        back = asked and arms[control][ACTIVE] == 0.0 and marks[REMOVED][control] == 0
        if back:
            arms[control][ACTIVE] = 1.0
        return back

    def choose(
        test: Row, marks: Rows, arms: Rows, pairs: Rows, count: int, tilt: float, terms: Terms
    ) -> tuple[int, int]:
        """Return the leading arm for the next batch, and its units per unit of each other arm."""
        back = False
        if guarded:
            back = bring_back(test, marks, arms, count, terms)
        front, ahead = leader(arms, pairs, count, judged_by(test, terms))
        if guarded and back:
            arms[terms.control][ACTIVE] = 0.0
        return front, share_of(ahead, tilt)

    def begin(
        test: Row, marks: Rows, arms: Rows, count: int, front: int, share: int, terms: Terms
    ) -> int:
        """Set the number of units of each arm in the next block, and return their total."""
        back = False
        if guarded:
            back = bring_back(test, marks, arms, count, terms)
        size = begin_block(arms, count, front, share * terms.each, terms.each)
        if guarded and back:
            arms[terms.control][ACTIVE] = 0.0
        return size

    def may_begin(
        test: Row, marks: Rows, arms: Rows, pairs: Rows,
        count: int, pending: int, clocks: Row, terms: Terms,
    ) -> float:  # fmt: skip
        """Return the number of blocks that may begin now: those that are left until the horizon.

        It is infinite without a horizon, in a rollout, while a lone arm is undecided, and if no
        unit is pending and no decision withheld. `clocks` are the blocks under way, by pair.
        """
        is_limited = pending > 0
        if withholds:
            is_limited = is_limited or test[HELD] != NOBODY
        if guarded:
            lone = lone_arm(test, marks, arms, count, terms)
            is_limited = is_limited and lone == NOBODY and not terms.rollout
        if not is_limited:
            return math.inf
        return blocks_left(arms, pairs, count, clocks, judged_by(test, terms))

    def fold(
        test: Row, marks: Rows, arms: Rows, pairs: Rows, rails: Rails,
        count: int, before: int, after: int, last: bool, terms: Terms,
    ) -> None:  # fmt: skip
        """Add a complete block, given the number of all units `before` and `after` the block.

        With the last block of a batch, arms that are beaten are dropped, unless a decision is
        withheld or the test is a rollout. Guardrails are checked when a look is due.
        """
        drops = last
        if withholds:
            drops = drops and test[HELD] == NOBODY
            if drops:
                for arm in range(count):
                    marks[KEPT][arm] = arms[arm][ACTIVE]
        if guarded:
            drops = drops and not terms.rollout
        fold_primary(arms, pairs, count, drops, judged_by(test, terms))
        if guarded:
            for which in range(len(rails.numbers)):
                if rails.numbers[which][AHEAD] == 0.0:
                    fold_guard(rails, which, count, terms)
            waits = waiting(test, marks, arms, rails, count, terms) != NOBODY
            if look_is_due(before, after, terms.rollout or waits):
                for which in range(len(rails.numbers)):
                    if rails.numbers[which][AHEAD] == 0.0:
                        look(rails, which, count, terms)

    def fold_guard(rails: Rails, which: int, count: int, terms: Terms) -> None:
        """Add a complete block of a guardrail."""
        params = params_any(rails.params[which], terms)
        kind = rails.numbers[which][KIND]
        fold_any(kind, rails.arms[which], rails.pairs[which], count, params)

    def fold_ahead(
        rails: Rails, which: int, count: int, before: int, after: int, terms: Terms
    ) -> None:
        """Add a complete block of a guardrail whose outcomes are known before the primary metric's.

        Whether a look is due depends on the guardrail's own units, from `before` to `after`.
        """
        fold_guard(rails, which, count, terms)
        if look_is_due(before, after, True):
            look(rails, which, count, terms)

    def waiting(test: Row, marks: Rows, arms: Rows, rails: Rails, count: int, terms: Terms) -> int:
        """Return the only active arm if guardrails do not allow it yet, else `NOBODY`."""
        only = lone_arm(test, marks, arms, count, terms)
        rows = len(rails.standings) // count
        if only != NOBODY and allowed(rails.standings, count, rows, only, terms.control):
            only = NOBODY
        return only

    def look(rails: Rails, which: int, count: int, terms: Terms) -> None:
        """Update the interval of every arm on a guardrail, and mark the harmful arms."""
        control = terms.control
        numbers, arms, pairs = rails.numbers[which], rails.arms[which], rails.pairs[which]
        params = params_any(rails.params[which], terms)
        kind, scale, line = numbers[KIND], numbers[SCALE], numbers[LINE]
        for arm in range(count):
            at = which * count + arm
            low, high = 0.0, 0.0
            if arm != control:
                _, low, high = interval_any(kind, arms, pairs, count, arm, control, params)
                low, high = scale * low, scale * high
            rails.lows[at], rails.highs[at] = narrowed(rails.lows[at], rails.highs[at], low, high)
            harmful = rails.standings[at] == HARMED
            if not harmful and line < math.inf and not (numbers[WIDER] > 0.0 and high >= -line):
                strict_high = 0.0
                if arm != control:
                    strict = params_any(rails.harm[which], terms)
                    _, _, strict_high = interval_any(kind, arms, pairs, count, arm, control, strict)
                harmful = is_harmful(scale * strict_high, line)
            rails.standings[at] = standing_of(
                rails.lows[at], rails.highs[at], numbers[MARGIN], harmful
            )

    def harmful_arm(test: Row, marks: Rows, rails: Rails, count: int) -> int:
        """Return the first harmful arm to remove if at least three arms are left, else `NOBODY`."""
        if count - test[GONE] > 2:
            for arm in range(count):
                if marks[REMOVED][arm] == 0 and harmed_on(
                    rails.standings, count, len(rails.numbers), arm
                ):
                    return arm
        return NOBODY

    def remove(
        test: Row, marks: Rows, arms: Rows, pairs: Rows, count: int, arm: int, terms: Terms
    ) -> None:
        """Remove an arm permanently.

        Arms that only removed arms have beaten come back. A decision that is withheld becomes void,
        and the data are judged again.
        """
        test[GONE] += 1.0
        marks[REMOVED][arm] = 1
        arms[arm][ACTIVE] = 0.0
        come_back(marks, arms, pairs, count, terms)
        if withholds:
            test[HELD] = NOBODY
            for other in range(count):
                marks[KEPT][other] = arms[other][ACTIVE]

    def come_back(marks: Rows, arms: Rows, pairs: Rows, count: int, terms: Terms) -> None:
        """Reactivate the dropped arms that no arm beats except removed ones."""
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
        """Remove harmful arms; return the decision or `NOBODY`, and the reason for another end.

        The reason is `GOES_ON` if the test does not end. Harm comes first: an arm that a guardrail
        has found harmful is removed before anything is announced.
        """
        if guarded:
            for arm in range(count):
                if marks[REMOVED_AT][arm] < 0 and harmed_on(
                    rails.standings, count, len(rails.numbers), arm
                ):
                    marks[REMOVED_AT][arm] = units
            arm = harmful_arm(test, marks, rails, count)
            while arm != NOBODY:
                remove(test, marks, arms, pairs, count, arm, terms)
                arm = harmful_arm(test, marks, rails, count)
        return judge(test, marks, arms, pairs, rails, count, clock, terms)

    def judge(
        test: Row, marks: Rows, arms: Rows, pairs: Rows, rails: Rails,
        count: int, clock: float, terms: Terms,
    ) -> tuple[int, int]:  # fmt: skip
        """Return the decision or `NOBODY`, and the reason for an end, as `conclude` does.

        A decision that is too early for the calendar is withheld, unless harm has decided; an end
        by futility waits for the minimum duration.
        """
        guardrails, rows, harm, by_plan = 0, 0, False, True
        if guarded:
            guardrails, rows = len(rails.numbers), len(rails.standings) // count
            waits = waiting(test, marks, arms, rails, count, terms) != NOBODY
            by_plan = not terms.rollout and not waits
            harm = all_harmed(marks[REMOVED], rails.standings, count, guardrails, terms.control)
            test[HARM] = 1.0 if harm else 0.0
        if withholds and test[HELD] != NOBODY:
            return terms.control if harm else NOBODY, GOES_ON
        params = judged_by(test, terms)
        winner, ended = winner_of(arms, pairs, count, terms.margin, params), GOES_ON
        if guarded:
            if harm:
                winner = terms.control
            else:
                winner = shipped(
                    winner, terms.rollout, marks[OUT], rails.standings, count, guardrails, rows,
                    terms.control,
                )  # fmt: skip
        if winner == NOBODY and by_plan:
            ended = over(arms, pairs, count, params)
            if withholds and ended == FUTILE and clock < terms.least:
                ended = GOES_ON
        elif winner == NOBODY and guarded:
            stuck = none_can_ship(marks[OUT], rails.standings, count, guardrails, terms.control)
            if stuck and not may_be_harmful(marks, rails, count, terms):
                ended = REFUSED
        elif withholds and not harm:
            until = announced_after(clock, terms.least, terms.week, terms.latest)
            if until > clock:
                test[HELD], test[UNTIL] = winner, until
                winner = NOBODY
                for arm in range(count):
                    arms[arm][ACTIVE] = marks[KEPT][arm]
        return winner, ended

    def may_be_harmful(marks: Rows, rails: Rails, count: int, terms: Terms) -> bool:
        """Return whether any active arm beyond its margin may still be found harmful."""
        may = False
        for which in range(len(rails.numbers)):
            numbers = rails.numbers[which]
            params = params_any(rails.params[which], terms)
            for arm in range(count):
                if marks[OUT][arm] == 0 and rails.standings[which * count + arm] == BEYOND:
                    middle, _, _ = interval_any(
                        numbers[KIND], rails.arms[which], rails.pairs[which], count, arm,
                        terms.control, params,
                    )  # fmt: skip
                    may = may or is_harmful(numbers[SCALE] * middle, numbers[LINE])
        return may

    def announce(test: Row, clock: float) -> int:
        """Return the withheld decision if it may be announced by now, else `NOBODY`."""
        if withholds and test[HELD] != NOBODY and clock >= test[UNTIL]:
            return int(test[HELD])
        return NOBODY

    return Course(
        start, choose, begin, may_begin, fold, fold_ahead, waiting, bring_back, harmful_arm,
        remove, judge, conclude, announce,
    )  # fmt: skip
