"""Shift: does comparing within parts of the test change the difference between two arms?

Where the share of an arm moved while outcomes drifted, the raw difference contains the drift and
the one within parts does not. The standard error of their difference is derived in
docs/explanation/diagnostics.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bascule.core.diagnostics.periods import Cells, cells_of, join, joined
from bascule.core.diagnostics.result import Diagnostic, checked_level, shown
from bascule.core.diagnostics.tails import normal_tails
from bascule.core.evidence.spread import ROUNDING
from bascule.core.inputs import checks
from bascule.core.procedures.intervals.state import FloatArray
from bascule.core.statistics import Statistics

PARTS = 4
"""More parts find finer shifts, but let a rule that answers every unit bias what lies within."""


def shift(periods: Sequence[Statistics], level: float = 0.01, parts: int = PARTS) -> Diagnostic:
    """The pair of arms whose raw difference is furthest from the one within parts, for one look.

    `periods` are as for `trend`; they are joined into at most `parts` of about equal size. The
    p-value is multiplied by the number of pairs.

    >>> from bascule.core.statistics import ArmStatistics
    >>> early = Statistics((ArmStatistics(900, 90.0, 90.0), ArmStatistics(100, 10.0, 10.0)))
    >>> late = Statistics((ArmStatistics(500, 100.0, 100.0), ArmStatistics(500, 100.0, 100.0)))
    >>> shift([early, late]).message[:75]
    'arms 0 and 1 differ by -0.0476 overall but by 0 within parts of the test (p'
    """
    level = checked_level(level)
    parts = checks.whole("parts", parts, 2, f"{PARTS} is a good choice")
    cells = cells_of("periods", periods)
    variances, enough = cells.variances(), cells.units.sum(axis=0) >= cells.needed()
    starts = join(cells.units.sum(axis=1), cells.units.sum() / parts)
    cells = Cells(*(joined(part, starts) for part in cells))
    pairs, largest, which, differ = 0, 0.0, (0, 0), (0.0, 0.0)
    for arm in range(len(variances) - 1):
        if enough[arm]:
            others = arm + 1 + np.flatnonzero(enough[arm + 1 :])
            raw, moved, z, moving = _against(cells, variances, arm, others)
            pairs += int(np.count_nonzero(moving))
            at = int(np.argmax(np.abs(z))) if len(z) else 0
            if len(z) and abs(z[at]) >= abs(largest):
                largest, which = float(z[at]), (arm, int(others[at]))
                differ = float(raw[at]), float(raw[at] - moved[at])
    if pairs == 0:
        message = "nothing to compare: too few units, or the shares of the arms never moved"
        return Diagnostic("shift", 0.0, 1.0, level, "fixed time", message)
    p_value = min(1.0, pairs * normal_tails(largest))
    if p_value <= level:
        message = (
            f"arms {which[0]} and {which[1]} differ by {differ[0]:.3g} overall but by "
            f"{differ[1]:.3g} within parts of the test ({shown(p_value)}): outcomes drifted while "
            "the shares of the arms moved; trust the comparison within parts"
        )
    else:
        message = f"differences between arms are much the same within parts ({shown(p_value)})"
    return Diagnostic("shift", largest, p_value, level, "fixed time", message)


def _against(
    cells: Cells, variances: FloatArray, arm: int, others: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray, FloatArray, NDArray[np.bool_]]:
    """One arm against others: raw differences, how far they exceed those within parts, and z.

    The last array says where the shares moved at all; elsewhere z is 0.
    """
    theirs, mine = cells.units[:, others], cells.units[:, [arm]]
    weights = mine * theirs / np.maximum(mine + theirs, 1.0)
    inside = weights / np.maximum(weights.sum(axis=0), 1e-300)
    raw, moved, variance = np.zeros((3, len(others)))
    least = np.zeros(len(others))
    for sign, units, arms in ((1.0, mine, [arm]), (-1.0, theirs, others)):
        size = units.sum(axis=0)
        overall = cells.totals[:, arms].sum(axis=0) / size
        means = cells.totals[:, arms] / np.maximum(units, 1.0)
        raw += sign * overall
        moved -= sign * np.sum(inside * (means - overall), axis=0)
        off = (units / size - inside) ** 2 / np.maximum(units, 1.0)
        variance += variances[arms] * np.sum(off, axis=0)
        # With shares that never move nothing is left but rounding.
        least += ROUNDING * variances[arms] / size
    moving = (weights.sum(axis=0) > 0.0) & (variance > least)
    z = np.where(moving, moved / np.sqrt(np.where(moving, variance, 1.0)), 0.0)
    return raw, moved, z, moving
