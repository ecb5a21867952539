"""Late outcomes: are those that came late like those that came promptly?

If they are not, a rule that counts outcomes as they come decides from a biased part of the units
(docs/explanation/coverage.md). Waiting equally long for every unit, or for whole blocks, helps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bascule.core.diagnostics.periods import (
    FEWEST_HITS,
    FEWEST_UNITS,
    Cells,
    cells_of,
    variances_of,
)
from bascule.core.diagnostics.result import Diagnostic, checked_level, shown
from bascule.core.diagnostics.tails import normal_tails
from bascule.core.errors import InputError
from bascule.core.statistics import Statistics


def late_outcomes(
    prompt: Sequence[Statistics], late: Sequence[Statistics], level: float = 0.01
) -> Diagnostic:
    """Late against prompt outcomes of the same arm and period, for one look.

    `prompt` and `late` are statistics of the same periods, by when a unit was assigned. One period
    for the whole test is enough when outcomes do not drift.

    >>> from bascule.core.statistics import ArmStatistics
    >>> prompt = [Statistics((ArmStatistics(500, 100.0, 100.0), ArmStatistics(500, 110.0, 110.0)))]
    >>> late = [Statistics((ArmStatistics(50, 2.0, 2.0), ArmStatistics(50, 3.0, 3.0)))]
    >>> late_outcomes(prompt, late).flagged
    True
    """
    level = checked_level(level)
    here, there = cells_of("prompt", prompt), cells_of("late", late)
    if here.units.shape != there.units.shape:
        raise InputError("late", "late must have the same periods and arms as prompt")
    both = Cells(*(a + b for a, b in zip(here, there, strict=True)))
    weights = here.units * there.units / np.maximum(both.units, 1.0)
    apart = there.totals / np.maximum(there.units, 1.0) - here.totals / np.maximum(here.units, 1.0)
    # Over all ways of calling as many outcomes of a stratum late.
    variance = float(np.sum(weights * variances_of(*both)))
    enough = min(here.units[weights > 0.0].sum(), there.units[weights > 0.0].sum())
    if variance <= (FEWEST_HITS if both.zero_or_one else 0.0) or enough < FEWEST_UNITS:
        message = "too few outcomes came late to tell whether they differ from prompt ones"
        return Diagnostic("late outcomes", 0.0, 1.0, level, "fixed time", message)
    difference = float(np.sum(weights * apart))
    z = difference / math.sqrt(variance)
    p_value = normal_tails(z)
    if p_value <= level:
        message = (
            f"late outcomes differ from prompt ones by {difference / float(weights.sum()):.3g} "
            f"({shown(p_value)}): outcomes counted as they come are biased; count each unit after "
            "the same time, long enough for late ones to be in, or wait for whole blocks"
        )
    else:
        message = f"late outcomes are like prompt ones ({shown(p_value)})"
    return Diagnostic("late outcomes", z, p_value, level, "fixed time", message)
