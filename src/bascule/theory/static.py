"""Static populations: how long a decision takes, and the smallest gap that can be decided.

With probability 1 - error no difference ever lies a threshold or more away from the truth, on the
side that misleads. Then the decision is right, and it comes as soon as the gap is two thresholds.
On average one threshold is enough. docs/research/static-populations.md has both arguments.
"""

from __future__ import annotations

import math

import numpy as np

from bascule.core.design import Design
from bascule.core.evidence.normal import HALF_ROOT, log_tilted, tilted_slope
from bascule.core.evidence.reach import OVERSHOOT
from bascule.core.inputs import checks
from bascule.core.numerics import turning_point
from bascule.core.procedures.static.procedure import pair_scales
from bascule.core.progress import static_procedure
from bascule.core.types import FloatArray

FAR = 1e15
"""A stage that stands for the end of time."""

SINGLE_STAGES, GEOMETRIC_STAGES = 60, 240
"""Stages at which an average test is followed: each of the first ones, and some of the later."""


def smallest_scale(design: Design) -> float:
    """What the difference of the two smallest arms is multiplied by.

    >>> import bascule as bs
    >>> smallest_scale(bs.Design(["a", "b"], bs.Recurrent(1, 1), bs.Static(100)))
    5.0
    """
    sizes = sorted(static_procedure(design).sizes)
    return float(pair_scales(tuple(sizes[:2]))[1])


def smallest_gap(design: Design, stage: int | None = None) -> float:
    """The smallest gap that is decided by `stage`, rightly, with probability 1 - error: proven.

    Without a stage it is that of the horizon, or of a test without end.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Recurrent(1, 3), bs.Static(10_000, horizon=30), sides=1)
    >>> round(smallest_gap(design), 4)
    0.1116
    """
    procedure = static_procedure(design)
    horizon = procedure.horizon
    if stage is not None:
        at: float = checks.whole("stage", stage, 1, "stages are counted from 1", horizon)
    else:
        at = FAR if horizon is None else horizon
    return 2.0 * procedure.threshold(at) / smallest_scale(design)


def stages_until(design: Design, gap: float) -> float:
    """The first stage whose threshold is at or below a difference; infinite if there is none.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Recurrent(1, 3), bs.Static(10_000), sides=1)
    >>> stages_until(design, 0.1), stages_until(design, 0.01)
    (32.0, inf)
    """
    procedure, wanted = static_procedure(design), gap * smallest_scale(design)
    last = FAR if procedure.horizon is None else float(procedure.horizon)
    if procedure.threshold(last) > wanted:
        return math.inf
    if procedure.once:
        return last

    def early(stage: float) -> bool:
        return procedure.threshold(float(math.floor(stage))) > wanted

    return 1.0 if not early(1.0) else float(math.floor(turning_point(early, 1.0, last)))


def expected_stages(design: Design, gap: float) -> float:
    """Stages until a gap is decided, on average, if units and noise are normal.

    A test that reaches its horizon counts with it. Without a horizon the average is infinite where
    units differ: an unlucky draw of units is never decided.

    >>> import bascule as bs
    >>> rule = bs.Static(10_000, 30, stop="mixture")
    >>> design = bs.Design(["a", "b"], bs.Recurrent(1, 3), rule, sides=1)
    >>> round(expected_stages(design, 0.1), 1)
    8.5
    """
    procedure = static_procedure(design)
    between, within = procedure.spreads
    if procedure.once and procedure.horizon is not None:
        return float(procedure.horizon)
    last = math.inf if between else stages_until(design, gap / 2)
    last = last if procedure.horizon is None else float(procedure.horizon)
    if math.isinf(last):
        return math.inf
    # Without noise the first stage says all.
    stages = _some_stages(last if within else 1.0)
    first_passage = _first_passage(design, gap, stages)
    # Between two of the stages the test ends halfway, on average.
    times = (np.concatenate([[0.0], stages[:-1]]) + 1.0 + stages) / 2.0
    return float(first_passage @ times + (1.0 - first_passage.sum()) * last)


def _some_stages(last: float) -> FloatArray:
    """The first stages, and then fewer and fewer up to the last."""
    later = np.round(np.geomspace(1.0, last, GEOMETRIC_STAGES))
    return np.unique(np.concatenate([np.arange(1.0, min(last, SINGLE_STAGES) + 1.0), later]))


def _first_passage(design: Design, gap: float, stages: FloatArray) -> FloatArray:
    """How likely the test is to end at each stage, from who is above the threshold there.

    A test that is above it either ends there or has ended before, and gone on from there: this is
    solved for the first. The difference over its variance is Brownian motion with the precision,
    1 / variance, as its clock; a test that ends lies a little above what it had to reach.
    """
    procedure = static_procedure(design)
    clocks = _clocks(procedure.spreads, stages)
    bounds = np.array([procedure.threshold(stage) for stage in stages]) * clocks
    drift = gap * smallest_scale(design)
    above = (bounds - drift * clocks) / np.sqrt(clocks)
    steps = np.sqrt(clocks - _clocks(procedure.spreads, stages - 1.0))
    excess = OVERSHOOT * steps + np.maximum(0.0, -np.diff(bounds, prepend=bounds[0])) / 4.0
    # The first one is exact: how far a normal number above a level lies above it.
    excess[0] = steps[0] * tilted_slope(-above[0], log_tilted(-above[0]))
    ended = np.zeros(len(stages))
    for i in range(len(stages)):
        # Where hardly any noise is left the clock stands still.
        gone = np.maximum(clocks[i] - clocks[:i], 1e-300)
        still = (bounds[i] - bounds[:i] - excess[:i] - drift * gone) / np.sqrt(gone)
        fresh = _upper_tail(above[i : i + 1])[0] - ended[:i] @ _upper_tail(still)
        ended[i] = min(max(fresh, 0.0), 1.0 - ended.sum())
    return ended


def _clocks(spreads: tuple[float, float], stages: FloatArray) -> FloatArray:
    """The precision of a difference, times its scale, at each stage; 0 before the first."""
    before = stages == 0.0
    variances = spreads[0] ** 2 + spreads[1] ** 2 / np.where(before, 1.0, stages)
    return np.where(before, 0.0, 1.0 / variances)


def _upper_tail(z: FloatArray) -> FloatArray:
    return np.array([0.5 * math.erfc(x * HALF_ROOT) for x in z])
