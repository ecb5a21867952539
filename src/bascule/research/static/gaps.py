"""Static populations: bounds on the decision time, and the smallest gap that is decided.

With probability 1 - error, no observed difference ever deviates from the true one by a threshold or
more in the misleading direction. Then the decision is right, and it is made at the latest when the
gap is two thresholds.
docs/research/static-populations.md has the argument.
"""

from __future__ import annotations

import math

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.inputs import checks
from bascule.core.numerics import turning_point
from bascule.research.static.procedure import StaticProcedure, static_procedure
from bascule.research.static.thresholds import any_time, one_look, pair_scales
from bascule.theory.bounds import Bounds

FAR = 1e15
"""A stage so late that it stands for infinity."""


def smallest_scale(design: Design) -> float:
    """Return the factor by which the difference of the two smallest arms is multiplied.

    >>> import bascule as bs
    >>> from bascule.research import Static
    >>> smallest_scale(bs.Design(["a", "b"], bs.Recurrent(1, 1), Static(100)))
    5.0
    """
    sizes = sorted(static_procedure(design).sizes)
    return float(pair_scales(tuple(sizes[:2]))[1])


def smallest_gap(design: Design, stage: int | None = None) -> float:
    """Return the smallest gap that is proven to be decided rightly with probability 1 - error.

    The rule of the design is `Static`, and the error is one-sided. The decision is made by the
    given `stage`; if that is None, by the horizon or, in a test without a horizon, at some stage.
    The gap is infinite for a stage at which the test does not look.

    >>> import bascule as bs
    >>> from bascule.research import Static
    >>> design = bs.Design(["a", "b"], bs.Recurrent(1, 3), Static(10_000, horizon=30), sides=1)
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
    """Return the first stage at which `gap` reaches the threshold; infinite if there is none.

    The gap is scaled as that of the two smallest arms.

    >>> import bascule as bs
    >>> from bascule.research import Static
    >>> design = bs.Design(["a", "b"], bs.Recurrent(1, 3), Static(10_000), sides=1)
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


def bounds(design: Design, procedure: StaticProcedure, gaps: tuple[float, ...]) -> Bounds:
    """Return the bounds of a test, which decides once the smallest gap is two thresholds.

    The decision time is in stages. The regret does not depend on it, because all units are there
    from the start. As the best arm is not known, the smallest arm is taken as the best.
    """
    sizes = [float(size) for size in sorted(procedure.sizes)]
    regret = sum(gap * size for gap, size in zip(gaps, sizes[1:], strict=True))
    stages = stages_until(design, min(gaps) / 2)
    return Bounds(stages, regret, tuple(sizes), design.calibration.error)


def published_bounds(design: Design, procedure: StaticProcedure, gaps: tuple[float, ...]) -> Bounds:
    """Return the bounds of a test that stops as in the paper; raise an error for others."""
    if procedure.stage_threshold not in (one_look, any_time):
        raise InputError(
            "rule",
            f"{procedure.label} is not in the paper, which says nothing about it: leave out its "
            "stop, or use theory.bounds or theory.predict",
        )
    return bounds(design, procedure, gaps)
