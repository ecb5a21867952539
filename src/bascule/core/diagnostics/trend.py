"""Trend: do the outcomes of an arm stay what they were when the test began?

Each arm is compared with itself, from part to part of its own units, so a difference between
arms is no trend. docs/explanation/diagnostics.md says why that holds however units were allocated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bascule.core.diagnostics.periods import cells_of, join, joined
from bascule.core.diagnostics.result import Diagnostic, checked_level, shown
from bascule.core.diagnostics.tails import chi_square_tail
from bascule.core.inputs import checks
from bascule.core.statistics import Statistics

PARTS = 15
"""The most parts that an arm's units are cut into: two weeks, when periods are days."""


def trend(periods: Sequence[Statistics], level: float = 0.01, parts: int = PARTS) -> Diagnostic:
    """Chi-square of the means of each arm over time, for one look.

    `periods` are the statistics of the units assigned in consecutive stretches of the test, a day
    each, say; the more the better. Each arm's periods are joined into at most `parts`.

    >>> from bascule.core.statistics import ArmStatistics
    >>> early = Statistics((ArmStatistics(100, 10.0, 10.0), ArmStatistics(100, 12.0, 12.0)))
    >>> late = Statistics((ArmStatistics(100, 30.0, 30.0), ArmStatistics(100, 28.0, 28.0)))
    >>> trend([early, late]).flagged, trend([early, early]).flagged
    (True, False)
    """
    level = checked_level(level)
    parts = checks.whole("parts", parts, 2, f"{PARTS} is a good choice")
    cells = cells_of("periods", periods)
    variances, needed = cells.variances(), cells.needed()
    statistic, degrees = 0.0, 0
    for arm in range(len(variances)):
        units = cells.units[:, arm]
        starts = join(units, max(needed[arm], units.sum() / parts))
        if variances[arm] > 0.0 and len(starts) > 1:
            sizes, totals = joined(units, starts), joined(cells.totals[:, arm], starts)
            off = totals / sizes - totals.sum() / sizes.sum()
            statistic += float(np.sum(sizes * off * off)) / float(variances[arm])
            degrees += len(starts) - 1
    if degrees == 0:
        message = "too little to tell whether outcomes drift: wait, or give more periods"
        return Diagnostic("trend", 0.0, 1.0, level, "fixed time", message)
    p_value = chi_square_tail(statistic, degrees)
    if p_value <= level:
        message = (
            f"outcomes drifted during the test ({shown(p_value)}): compare arms within periods, "
            "as tilted blocks do; other rules may take the drift for a difference"
        )
    else:
        message = f"no drift of the outcomes seen ({shown(p_value)})"
    return Diagnostic("trend", statistic, p_value, level, "fixed time", message)
