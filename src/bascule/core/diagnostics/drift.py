"""Check whether mean outcomes change over time, and whether late outcomes differ from prompt ones.

`trend` compares each arm with itself, from part to part of its own units, so that a difference
between arms does not count as a trend. `late_outcomes` compares outcomes that came late with prompt
ones: if they differ, a rule that counts outcomes as they come decides from a biased part of the
units (docs/research/coverage.md). docs/research/diagnostics.md derives the standard errors, and
says why they hold however units were allocated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bascule.core.diagnostics.result import (
    Diagnostic,
    checked_level,
    chi_square_tail,
    normal_tails,
    shown,
)
from bascule.core.errors import invalid
from bascule.core.evidence.spread import squares_about_mean
from bascule.core.inputs import checks
from bascule.core.statistics import Statistics
from bascule.core.types import FloatArray

FEWEST_UNITS = 10
"""Minimum number of units of a group whose mean outcome is compared with another one."""

FEWEST_HITS = 5
"""Minimum expected number of the rarer of the outcomes 0 and 1 in a group that is compared."""


class Cells(NamedTuple):
    """Number, sum and sum of squares of the outcomes of each period (rows) and arm (columns)."""

    units: FloatArray
    totals: FloatArray
    squares: FloatArray

    @property
    def zero_or_one(self) -> bool:
        """Whether all outcomes are 0 or 1, so that their sums and sums of squares are equal."""
        return bool(np.array_equal(self.totals, self.squares))

    def variances(self) -> FloatArray:
        """Return the variance of each arm over the whole test; 0 if all its outcomes are equal."""
        return variances_of(*(part.sum(axis=0) for part in self))

    def needed(self) -> FloatArray:
        """Return, for each arm, the minimum number of units of a group of periods."""
        units, totals = self.units.sum(axis=0), self.totals.sum(axis=0)
        fewest = np.full(units.shape, float(FEWEST_UNITS))
        if self.zero_or_one:
            rarer = np.minimum(totals, units - totals) / np.maximum(units, 1.0)
            with np.errstate(divide="ignore"):
                fewest = np.maximum(fewest, FEWEST_HITS / rarer)
        return fewest


def variances_of(units: FloatArray, totals: FloatArray, squares: FloatArray) -> FloatArray:
    """Return the variances of groups of outcomes; 0 for a group whose outcomes are all equal.

    >>> variances_of(np.array([2.0, 2.0]), np.array([1.0, 0.6]), np.array([1.0, 0.18]))
    array([0.5, 0. ])
    """
    return squares_about_mean(units, totals, squares) / np.maximum(units - 1.0, 1.0)


def cells_of(field: str, periods: Sequence[Statistics]) -> Cells:
    """Return arrays of statistics with a row for each period; all must have the same arms."""
    rows = list(periods) if isinstance(periods, Sequence) else []
    if not rows or not all(isinstance(row, Statistics) for row in rows):
        raise invalid(f"{field} must be a list of Statistics, one for each period")
    arms = len(rows[0].arms)
    for row in rows:
        if len(row.arms) != arms:
            raise invalid(
                f"{field} must have the same number of arms (got {arms} and {len(row.arms)})"
            )
    table = np.array([[(arm.units, arm.total, arm.squares) for arm in row.arms] for row in rows])
    cells = Cells(table[:, :, 0], table[:, :, 1], table[:, :, 2])
    if not np.all(np.isfinite(table)) or np.any(cells.units < 0.0):
        raise invalid(f"{field} must have finite totals and no units below 0")
    smallest = cells.totals**2 / np.maximum(cells.units, 1.0)
    if np.any(cells.squares < (1.0 - 1e-9) * smallest):
        raise invalid(
            f"{field} have squares too small for their totals: add up the squares as well"
        )
    return cells


def join(units: FloatArray, needed: float) -> list[int]:
    """Group consecutive periods with at least `needed` units in total; return where groups begin.

    Remaining periods at the end belong to the last group.

    >>> join(np.array([4.0, 7.0, 2.0, 9.0, 1.0]), 10.0)
    [0, 2]
    """
    starts, units_so_far, begin = [], 0.0, 0
    for period, count in enumerate(units.tolist()):
        units_so_far += count
        if units_so_far >= needed:
            starts.append(begin)
            units_so_far, begin = 0.0, period + 1
    return starts


def joined(values: FloatArray, starts: list[int]) -> FloatArray:
    """Return the sum of the rows of each group, given the first row of each group.

    >>> joined(np.array([1.0, 2.0, 3.0]), [0, 2])
    array([3., 3.])
    """
    sums: FloatArray = np.add.reduceat(values, starts, axis=0)
    return sums


TREND_PARTS = 15
"""Maximum number of groups of periods that are compared: about two weeks if periods are days."""


def trend(
    periods: Sequence[Statistics], level: float = 0.01, parts: int = TREND_PARTS
) -> Diagnostic:
    """Test by chi-square whether the mean of each arm changes over time, for one look.

    `periods` are the statistics of the units assigned in consecutive stretches of the test, for
    example days; the more, the better. Each arm's periods are joined into at most `parts` groups.

    >>> from bascule.core.statistics import ArmStatistics
    >>> early = Statistics((ArmStatistics(100, 10.0, 10.0), ArmStatistics(100, 12.0, 12.0)))
    >>> late = Statistics((ArmStatistics(100, 30.0, 30.0), ArmStatistics(100, 28.0, 28.0)))
    >>> trend([early, late]).flagged, trend([early, early]).flagged
    (True, False)
    """
    level = checked_level(level)
    parts = checks.whole("parts", parts, 2, f"{TREND_PARTS} is a good choice")
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
    return _trend(
        (statistic, degrees),
        level,
        "wait, or give more periods",
        "outcomes drifted during the test ({}): compare arms within periods, as tilted blocks do; "
        "other rules may take the drift for a difference",
    )


def _trend(chi_square: tuple[float, int], level: float, remedy: str, drifted: str) -> Diagnostic:
    """Return the diagnostic of a trend from a chi-square statistic and its degrees of freedom."""
    statistic, degrees = chi_square
    p_value, message = 1.0, f"too little to tell whether outcomes drift: {remedy}"
    if degrees:
        p_value = chi_square_tail(statistic, degrees)
        message = drifted if p_value <= level else "no drift of the outcomes seen ({})"
    message = message.format(shown(p_value))
    return Diagnostic("trend", statistic, p_value, level, "fixed time", message)


class Joiners(NamedTuple):
    """Units of an arm that joined in the same stage, with equally many outcomes of each unit."""

    arm: int
    stage: int
    units: int
    outcomes: int
    total: float


def joiner_trend(
    joiners: Sequence[Joiners], spreads: tuple[float, float], level: float = 0.01
) -> Diagnostic:
    """Compare early with late joiners of each arm by chi-square, for one look.

    This test is for recurring outcomes. `spreads` are the spread between units and the spread
    within units. In each arm, the first half of the units is compared with the second.

    >>> early, late = Joiners(0, 1, 50, 10, 0.0), Joiners(0, 9, 50, 2, 200.0)
    >>> joiner_trend([early, late], (1.0, 1.0)).flagged
    True
    """
    level = checked_level(level)
    statistic, degrees = 0.0, 0
    for arm in {joiner.arm for joiner in joiners}:
        of_arm = sorted(
            (joiner for joiner in joiners if joiner.arm == arm), key=lambda joiner: joiner.stage
        )
        before = np.cumsum([0, *(joiner.units for joiner in of_arm)])
        parts = np.searchsorted(before[:-1], before[-1] / 2.0)
        halves = of_arm[:parts], of_arm[parts:]
        if min(sum(joiner.units for joiner in half) for half in halves) < FEWEST_UNITS:
            continue
        means, variances = zip(*(_joiner_mean(half, spreads) for half in halves), strict=True)
        statistic += (means[1] - means[0]) ** 2 / sum(variances)
        degrees += 1
    return _trend(
        (statistic, degrees),
        level,
        "wait for more units",
        "units that joined late differ from early ones of the same arm ({}): means change in time, "
        "and the rule may take that for a difference of the arms",
    )


def _joiner_mean(joiners: Sequence[Joiners], spreads: tuple[float, float]) -> tuple[float, float]:
    """Return the mean of the units' averages, and its variance."""
    units = sum(joiner.units for joiner in joiners)
    mean = sum(joiner.total / joiner.outcomes for joiner in joiners) / units
    between, within = spreads
    variance = sum(
        joiner.units * (between * between + within * within / joiner.outcomes) for joiner in joiners
    )
    return mean, variance / units**2


def late_outcomes(
    prompt: Sequence[Statistics], late: Sequence[Statistics], level: float = 0.01
) -> Diagnostic:
    """Compare late with prompt outcomes of the same arm and period, for one look.

    `prompt` and `late` are statistics of units that were assigned in the same periods. One period
    for the whole test is enough when outcomes do not drift.

    >>> from bascule.core.statistics import ArmStatistics
    >>> prompt = [Statistics((ArmStatistics(500, 100.0, 100.0), ArmStatistics(500, 110.0, 110.0)))]
    >>> late = [Statistics((ArmStatistics(50, 2.0, 2.0), ArmStatistics(50, 3.0, 3.0)))]
    >>> late_outcomes(prompt, late).flagged
    True
    """
    level = checked_level(level)
    prompt_cells, late_cells = cells_of("prompt", prompt), cells_of("late", late)
    if prompt_cells.units.shape != late_cells.units.shape:
        raise invalid("late must have the same periods and arms as prompt")
    pooled = Cells(*(a + b for a, b in zip(prompt_cells, late_cells, strict=True)))
    weights = prompt_cells.units * late_cells.units / np.maximum(pooled.units, 1.0)
    gaps = late_cells.totals / np.maximum(late_cells.units, 1.0) - prompt_cells.totals / np.maximum(
        prompt_cells.units, 1.0
    )
    # Variance of the difference if the late outcomes of each cell were drawn at random from it.
    variance = float(np.sum(weights * variances_of(*pooled)))
    smaller = min(prompt_cells.units[weights > 0.0].sum(), late_cells.units[weights > 0.0].sum())
    if variance <= (FEWEST_HITS if pooled.zero_or_one else 0.0) or smaller < FEWEST_UNITS:
        message = "too few outcomes came late to tell whether they differ from prompt ones"
        return Diagnostic("late outcomes", 0.0, 1.0, level, "fixed time", message)
    difference = float(np.sum(weights * gaps))
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
