"""The calendar of a test: its minimum duration, and the time at which a decision is announced.

A decision that is reached before the calendar allows it is withheld. The test goes on as before
until the decision is announced, and its guarantee is the same: docs/research/ends.md.
"""

from __future__ import annotations

import math

from bascule.core.options import Option

DAY = 86_400.0
WEEK = 7.0 * DAY

LONGEST_DAYS = 3660.0
"""Largest minimum duration that can be required, in days: ten years."""

SLACK = 1e-9
"""Tolerance for rounding errors when weeks are counted, as a fraction of a week."""

MIN_DAYS = Option(
    "Withhold a decision until the test has lasted this many days.",
    label="Minimum duration in days",
    kind="days",
    limits=(0, LONGEST_DAYS),
    unset="a decision is announced at once",
)
WHOLE_WEEKS = Option(
    "Withhold a decision until the test has lasted a whole number of weeks.",
    label="Whole weeks",
    kind="switch",
)


def announced_after(reached: float, seconds: float, week: float, latest: float = math.inf) -> float:
    """Return when a decision that was reached at the time `reached` is announced.

    Times are counted from the first unit, all in the same unit. `seconds` is the minimum duration,
    and `week` the length of a week; if it is 0, the test need not last whole weeks. The decision is
    announced no later than `latest`, or at `reached` if that is later.

    >>> announced_after(9.5, 0.0, 7.0), announced_after(3.0, 10.0, 0.0), announced_after(7.0, 0, 7)
    (14.0, 10.0, 7.0)
    """
    at = max(reached, seconds)
    if week > 0.0:
        at = max(at, math.ceil(at / week - SLACK) * week)
    return max(reached, min(at, latest))
