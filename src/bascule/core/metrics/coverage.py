"""Coverage: how many counted units of each arm have a recorded value of a metric.

A value that is filled in for a unit says nothing about its arm, and units that do have a value may
not be typical of the arm. So an arm is not shipped while too few of its units or of the control's
have a value, or while the shares of missing values in the arm and in the control differ.
docs/research/diagnostics.md has the proof that the comparison is valid at any time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from bascule.core.approximate import percent
from bascule.core.design import Design
from bascule.core.statistics import LackingRow, Statistics

MOST_DEVIATIONS = 2.0
"""Maximum excess or lack of missing values in an arm that is shipped, in standard errors.

The limit is low on purpose: an arm that is held back by chance is released when more values arrive.
"""

PRIOR = 4.0
"""Variance of the excess at which `p_value` is most sensitive: that of about 16 missing values."""

NOTHING: LackingRow = (0, 0.0, 0.0)


def with_block(
    rows: Sequence[LackingRow], units: Sequence[int], lacking: Sequence[int], control: int
) -> tuple[LackingRow, ...]:
    """Return the rows after a further block, given how many of its units lack a value in each arm.

    A row has the number of units without a value, its excess over the number expected from the
    control's missing values, and the variance of that excess. If the control has left the test, an
    arm is compared with all others of the block.

    >>> with_block((), [1, 1], [0, 1], 0)
    ((0, 0.0, 0.0), (1, 0.5, 0.25))
    """
    after = []
    for arm, (count, *compared) in enumerate(rows or (NOTHING,) * len(units)):
        excess, variance = compared
        rivals = [control] if units[control] else [i for i in range(len(units)) if i != arm]
        total = units[arm] + sum(units[i] for i in rivals)
        missing = lacking[arm] + sum(lacking[i] for i in rivals)
        if arm != control and total > units[arm] > 0:
            excess += lacking[arm] - missing * units[arm] / total
            variance += min(missing, total - missing) / 4.0
        after.append((count + lacking[arm], excess, variance))
    return tuple(after)


def p_value(row: LackingRow) -> float:
    """Return the anytime-valid p-value of equal rates of missing values in an arm and the control.

    >>> round(p_value((20, 10.0, 5.0)), 4), p_value((20, 1.0, 5.0))
    (0.0058, 1.0)
    """
    _, excess, variance = row
    total = variance + PRIOR
    evidence = excess * excess / (2.0 * total) - math.log(total / PRIOR) / 2.0
    return math.exp(min(0.0, -evidence))


def differs(row: LackingRow) -> bool:
    """Return whether values are missing more often, or less often, in an arm than in the control.

    >>> differs((9, 4.0, 3.0)), differs((9, 3.0, 3.0))
    (True, False)
    """
    _, excess, variance = row
    return abs(excess) > MOST_DEVIATIONS * math.sqrt(variance)


def is_counted(design: Design) -> bool:
    """Return whether units may lack a value of the metric, so that they have to be counted."""
    measure = design.measure
    return measure is not None and measure.window is not None and measure.may_lack


def coverages(
    design: Design, statistics: Statistics, units: Sequence[int]
) -> tuple[float | None, ...]:
    """Return the share of each arm's counted units that have a value of a metric.

    `design` and `statistics` are those of the metric, and `units` are the units of each arm that
    have counted in the primary metric. A share is None if no unit has counted, or if no value can
    be missing.
    """
    if not is_counted(design):
        return (None,) * len(units)
    rows = statistics.lacking or (NOTHING,) * len(units)
    return tuple(
        1.0 - row[0] / counted if counted else None
        for row, counted in zip(rows, units, strict=True)
    )


def held(design: Design, statistics: Statistics, units: Sequence[int], arm: int) -> tuple[str, ...]:
    """Return why the missing values of a metric keep an arm from being shipped; empty if none do.

    >>> import bascule as bs
    >>> day = bs.Measure("1d", "mean", missing=0.82)
    >>> design = bs.Design(["a", "b"], bs.Numeric(), bs.Tilt(1), measure=day)
    >>> from dataclasses import replace
    >>> its = replace(bs.progress.Statistics.empty(2), lacking=((1, 0.0, 0.0), (5, 2.0, 1.5)))
    >>> held(design, its, [10, 10], 1)
    ('50 % of the units of b have a value, and 80 % are needed',)
    """
    if arm == design.control_index or not is_counted(design):
        return ()
    assert design.measure is not None
    required, reasons = design.measure.least_coverage, []
    if required == 0.0:
        return ()
    shares = coverages(design, statistics, units)
    for one in (design.control_index, arm):
        share = shares[one]
        if share is not None and share < required:
            reasons.append(
                f"{percent(share)} of the units of {design.arms[one]} have a value, and "
                f"{percent(required)} are needed"
            )
    if statistics.lacking and differs(statistics.lacking[arm]):
        shown = " and ".join(
            f"{percent(shares[place] or 0.0)} in {design.arms[place]}"
            for place in (design.control_index, arm)
        )
        reasons.append(f"values exist for {shown}, which differ by more than chance explains")
    return tuple(reasons)
