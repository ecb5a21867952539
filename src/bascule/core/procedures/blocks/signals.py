"""Early signals: use events in open windows to choose the arm that the next block favours.

A unit counts when its window closes. Its event is known sooner, and so is the arm with more events
among units of the same age, as those of a block are. The sizes of the next block may depend on this
arm, since they are still fixed before the outcomes of the block; the decision depends on matured
outcomes alone (docs/research/early-signals.md).

An event of arm i, in a block with n_i and n_j units, adds `n_j / (n_i + n_j)` to the difference of
the pair and `n_i n_j / (n_i + n_j)^2` to its variance. These are sums over open blocks of
`h (c_i / n_i - c_j / n_j)` and of `h c / n`, with c the events so far and h the weight of a block.
"""

from __future__ import annotations

import math
from typing import Literal

from bascule.core.evidence.families.rows import ACTIVE, CLOCK, TOTAL, Row, Rows

EarlySignals = Literal["auto", "always"]
"""When early signals are used: unless the delays of the arms are found to differ, or always."""

GENTLE_TILT = 3.0
"""Maximum tilt while it is not known whether the arms have similar delays."""

WINDOW_PARTS = 100
"""Number of equal parts of the window, in which delays from assignment to event are measured."""

EVENTS, DELAY, SQUARES = range(3)
"""Columns of the delays of an arm: the number of events of matured units, the sum of their delays
in parts of the window, and the sum of the squared delays."""

UNKNOWN, ALIKE, DIFFERENT = range(3)
"""Results of comparing the delays of the arms, by matured units."""

FEWEST = 10.0
"""Minimum number of events of each arm before delays are compared."""

USUAL_SLACK = 0.05
"""Relative difference in shares of early events that is tolerated if no effect is planned."""

DEVIATIONS = 2.0
"""Standard errors by which a difference of delays has to be below or above the tolerance."""


def slack_of(effect: float, baseline: float | None) -> float:
    """Return the relative difference in shares of early events that causes a bias of effect / 2.

    >>> round(slack_of(0.01, 0.05), 3), slack_of(0.0, None)
    (0.091, 0.05)
    """
    if effect <= 0.0 or baseline is None:
        return USUAL_SLACK
    return 0.5 * effect / (baseline + 0.5 * effect)


def window_part(waited: float, window: float) -> int:
    """Return the index of the part of the conversion window in which an event becomes known.

    >>> window_part(0.0, 7.0), window_part(3.5, 7.0), window_part(7.0, 7.0)
    (0, 50, 99)
    """
    return max(0, min(WINDOW_PARTS - 1, int(WINDOW_PARTS * waited / window)))


def add_events(early: Rows, sizes: Row, count: int, arm: int, events: float) -> None:
    """Add early events of one arm to all pairs of the arm; a negative number removes events.

    >>> early = [[0.0, 0.0]]
    >>> add_events(early, [3, 1], 2, 0, 2.0)
    >>> early
    [[0.5, 0.375]]
    """
    mine = sizes[arm]
    at = 0
    for i in range(count):
        for j in range(i + 1, count):
            if arm in (i, j):
                theirs = sizes[j] if arm == i else sizes[i]
                if mine > 0.0 and theirs > 0.0:
                    part = theirs / (mine + theirs)
                    early[at][TOTAL] += events * part if arm == i else -events * part
                    early[at][CLOCK] += events * part * mine / (mine + theirs)
            at += 1


def blend(
    combined: Rows, pairs: Rows, early: Rows, sign: float, spread: float, scale: float
) -> None:
    """Set the totals and clocks in `combined` to those of matured outcomes plus early signals.

    `sign` is -1 if an event is a bad outcome, `spread` the standard deviation of an outcome in
    units of the `scale`. The clock of a signal is its variance in units of an outcome's variance.

    >>> combined = [[0.0, 0.0]]
    >>> blend(combined, [[2.0, 10.0]], [[0.5, 0.375]], 1.0, 0.25, 1.0)
    >>> combined
    [[2.5, 16.0]]
    """
    for at in range(len(pairs)):
        combined[at][TOTAL] = pairs[at][TOTAL] + sign * early[at][TOTAL] / scale
        combined[at][CLOCK] = pairs[at][CLOCK] + early[at][CLOCK] / (scale * spread) ** 2


def judge_delays(delays: Rows, arms: Rows, count: int, slack: float) -> int:
    """Return whether the delays of matured units are `ALIKE` or `DIFFERENT`, or still `UNKNOWN`.

    While blocks of all ages up to the window are open, the part 1 - (mean delay) / window of an
    arm's events is known early. Delays are alike if the relative difference of these parts, plus
    two standard errors, is at most the slack for all pairs of active arms; they are different if it
    exceeds the slack by more than two standard errors for some pair.

    >>> arms = [[0.0, 1.0], [0.0, 1.0]]
    >>> slow, quick = [400.0, 16000.0, 800000.0], [400.0, 2000.0, 20000.0]
    >>> judge_delays([quick, quick], arms, 2, 0.09), judge_delays([slow, quick], arms, 2, 0.09)
    (1, 2)
    """
    judged = ALIKE
    for i in range(count):
        for j in range(i + 1, count):
            if arms[i][ACTIVE] > 0.0 and arms[j][ACTIVE] > 0.0:
                events = min(delays[i][EVENTS], delays[j][EVENTS])
                if events < FEWEST:
                    judged = judged if judged == DIFFERENT else UNKNOWN
                else:
                    mine = 1.0 - delays[i][DELAY] / delays[i][EVENTS] / WINDOW_PARTS
                    theirs = 1.0 - delays[j][DELAY] / delays[j][EVENTS] / WINDOW_PARTS
                    middle = max(0.5 * (mine + theirs), 1.0 / WINDOW_PARTS)
                    difference = abs(mine - theirs) / middle
                    error = _variance(delays[i]) / delays[i][EVENTS]
                    error += _variance(delays[j]) / delays[j][EVENTS]
                    doubt = DEVIATIONS * math.sqrt(error) / WINDOW_PARTS / middle
                    if difference - doubt > slack:
                        judged = DIFFERENT
                    elif difference + doubt > slack and judged == ALIKE:
                        judged = UNKNOWN
    return judged


def _variance(delays: Row) -> float:
    mean = delays[DELAY] / delays[EVENTS]
    return float(max(0.0, delays[SQUARES] / delays[EVENTS] - mean * mean))


def most_tilt(judged: int, tilt: float) -> float:
    """Return the maximum tilt: a gentle one while it is unknown whether the arms' delays are alike.

    >>> most_tilt(UNKNOWN, 8.0), most_tilt(ALIKE, 8.0), most_tilt(DIFFERENT, 8.0)
    (3.0, 8.0, 8.0)
    """
    return min(tilt, GENTLE_TILT) if judged == UNKNOWN else tilt
