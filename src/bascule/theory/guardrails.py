"""Expected time until guardrails show that an arm is within its margin."""

from __future__ import annotations

import math
from typing import cast

from bascule.core.design import Design
from bascule.core.evidence.normal import mixture_boundary
from bascule.core.metrics.metric import Metric
from bascule.core.numerics import first_after
from bascule.core.procedures.blocks.procedure import BlockProcedure

SMALLEST_CLOCK, LARGEST_CLOCK = 1e-3, 1e12
"""Limits of the search for the information that shows an arm to be within its margin."""


def metric_spread(metric: Metric) -> float | None:
    """Return the spread of a metric's outcomes if it is known before a test, else None.

    >>> import bascule as bs
    >>> metric_spread(bs.Metric("bounced", bs.Bernoulli(), margin=0.01, baseline=0.5))
    0.5
    """
    outcome, baseline = metric.outcome, metric.baseline
    if outcome.known_spread:
        return outcome.sigma
    if baseline is None:
        if outcome.limited:
            return None
        baseline = 0.0
    known = outcome.variance(baseline)
    if known is not None:
        return math.sqrt(known)
    return outcome.noise((baseline,)).spread(baseline) if outcome.limited else None


def units_within_margin(design: Design, metric: Metric) -> float | None:
    """Return the mean units until a guardrail shows that an unchanged arm is within its margin.

    The number includes the units of the arm and of the control, one of which leads at full tilt. It
    is rather too high. Bets are assumed to take as long as if outcomes were normal with the same
    spread. The result is None if the spread is unknown, if the metric has no margin, or if its arms
    are not compared in blocks.

    >>> import bascule as bs
    >>> speed = bs.Metric("speed", bs.Gaussian(1), margin=0.5)
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(1), metrics=[speed])
    >>> round(units_within_margin(design, speed))
    160
    """
    procedure = design.metric_design(metric.name).procedure
    spread = metric_spread(metric)
    if metric.margin is None or spread is None or procedure.kind != "blocks":
        return None
    if spread == 0.0:
        return 0.0
    slope, blocks = metric.margin / spread, cast(BlockProcedure, procedure)

    def is_open(clock: float) -> bool:
        return slope * clock < mixture_boundary(clock, blocks.threshold)

    clock = first_after(is_open, SMALLEST_CLOCK, LARGEST_CLOCK)
    units = clock * (1.0 + blocks.tilt) ** 2 / blocks.tilt
    return units if math.isfinite(units) else None
