"""Guardrails as functions of numbers and arrays: what may be shipped, and what ends a test.

`core.course` and `core.metrics.guardrails` call these functions with the data of a test, and the
simulator compiles them. `standings` has one number for each arm on the first guardrail, then on the
second, and so on. `out` and `removed` have one for each arm: `out` is 0 for active arms, `removed`
for those that were not removed. docs/research/guardrails.md has the proofs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bascule.core.procedures.intervals.state import STEPS_PER_E_FOLD, is_due
from bascule.core.types import NO_DIFFERENCE, NOBODY

OPEN, WITHIN, HARMED, BEYOND = range(4)
"""State of an arm on a guardrail: open, within the margin, harmful, or beyond the margin."""

WAITING_STEPS = 100
"""Number of looks while the units grow by a factor of e, if an arm waits for its guardrails."""

Flags = Sequence[int] | NDArray[np.int64]
Standings = Sequence[int] | NDArray[np.int64]


def look_is_due(before: int, after: int, guardrails_decide: bool) -> bool:
    """Return whether a look at the guardrails is due.

    A look is expensive, so it is due after 5 % more units, or after 1 % more while only the
    guardrails can end the test. The guarantees hold for any choice of looks.
    """
    return is_due(before, after, WAITING_STEPS if guardrails_decide else STEPS_PER_E_FOLD)


def standing_of(low: float, high: float, margin: float, harmful: bool) -> int:
    """Classify an arm on a guardrail by the interval of its advantage over the control.

    Stored intervals never grow, so an arm that is beyond its margin without being harmful stays
    there, and is never shipped.

    >>> [standing_of(*ends, 0.5, False) for ends in ((-0.4, 0), (-0.5, 0), (-0.9, -0.6))]
    [1, 0, 3]
    >>> standing_of(-0.4, 0.0, 0.5, True)
    2
    """
    if harmful:
        return HARMED
    if low > -margin:
        return WITHIN
    return BEYOND if high < -margin else OPEN


def is_harmful(high: float, line: float) -> bool:
    """Return whether an arm is harmful: `high`, the most it can be better by, is below -`line`."""
    return high < -line


def standing_at_end(low: float, high: float, margin: float, line: float) -> int:
    """Return the standing of an arm by its last interval; an infinite `line` never finds harm.

    >>> standing_at_end(-0.9, -0.6, 0.5, 0.5), standing_at_end(-0.9, -0.6, 0.5, 9.0)
    (2, 3)
    """
    return standing_of(low, high, margin, is_harmful(high, line))


def guarded_winner(standings: Standings, arms: int, guardrails: int, control: int) -> int:
    """Return the decision of a test that guardrails alone decide, or `NOBODY`.

    >>> guarded_winner([OPEN, WITHIN], 2, 1, 0), guarded_winner([OPEN, HARMED], 2, 1, 0)
    (1, 0)
    """
    active = [0] * arms
    if all_harmed(active, standings, arms, guardrails, control):
        return control
    return shipped(NOBODY, True, active, standings, arms, guardrails, guardrails, control)


def allowed(standings: Standings, arms: int, guardrails: int, arm: int, control: int) -> bool:
    """Return whether an arm is the control, or within the margin of every guardrail."""
    within = True
    for rail in range(guardrails):
        within = within and standings[rail * arms + arm] == WITHIN
    return within or arm == control


def harmed_on(standings: Standings, arms: int, guardrails: int, arm: int) -> bool:
    """Return whether any guardrail has found an arm harmful."""
    harmed = False
    for rail in range(guardrails):
        harmed = harmed or standings[rail * arms + arm] == HARMED
    return harmed


def only_treatment(out: Flags, arms: int, control: int) -> int:
    """Return the only active arm if it is a treatment, else `NOBODY`.

    >>> only_treatment([1, 0, 1], 3, 0), only_treatment([0, 1, 1], 3, 0)
    (1, -1)
    """
    left = 0
    last = NOBODY
    for arm in range(arms):
        if out[arm] == 0:
            left += 1
            last = arm
    return last if left == 1 and last != control else NOBODY


def all_harmed(
    removed: Flags, standings: Standings, arms: int, guardrails: int, control: int
) -> bool:
    """Return whether every treatment that was not removed is harmful, so that the control stays."""
    left = 0
    for arm in range(arms):
        if arm != control and removed[arm] == 0:
            left += 1
            if not harmed_on(standings, arms, guardrails, arm):
                return False
    return left > 0 and removed[control] == 0


def none_can_ship(
    out: Flags, standings: Standings, arms: int, guardrails: int, control: int
) -> bool:
    """Return whether every active treatment is harmful or beyond the margin of some guardrail.

    >>> none_can_ship([0, 0], [OPEN, BEYOND], 2, 1, 0), none_can_ship([0, 0], [OPEN, OPEN], 2, 1, 0)
    (True, False)
    """
    left = 0
    for arm in range(arms):
        if arm != control and out[arm] == 0:
            left += 1
            refused = False
            for rail in range(guardrails):
                said = standings[rail * arms + arm]
                refused = refused or said in (HARMED, BEYOND)
            if not refused:
                return False
    return left > 0


def shipped(
    winner: int,
    rollout: bool,
    out: Flags,
    standings: Standings,
    arms: int,
    guardrails: int,
    rows: int,
    control: int,
) -> int:
    """Return the decision of a test in which some treatment is not harmful, or `NOBODY`.

    `winner` is the result on the primary metric. In a rollout the guardrails alone decide, for the
    first treatment in the order of the design that all of them allow. If no difference matters the
    control stays; with guardrails this needs a control that is still active. `standings` has `rows`
    rows: first the guardrails, then the checks that enough units have a value. While a check is
    open for an active arm, "no difference matters" is not decided either.
    """
    if rollout:
        winner = NOBODY
        for arm in range(arms):
            is_new = arm != control and out[arm] == 0 and winner == NOBODY
            if is_new and allowed(standings, arms, rows, arm, control):
                winner = arm
    if winner == NO_DIFFERENCE:
        for arm in range(arms):
            for row in range(guardrails, rows):
                if out[arm] == 0 and standings[row * arms + arm] == OPEN:
                    return NOBODY
        return NOBODY if guardrails > 0 and out[control] != 0 else winner
    if winner != NOBODY and not allowed(standings, arms, rows, winner, control):
        return NOBODY
    return winner
