"""Static populations: when a decision comes at the latest, and the smallest gap it can be for.

With probability 1 - error no difference ever lies a threshold or more away from the truth, on the
side that misleads. Then the decision is right, and it comes as soon as the gap is two thresholds.
docs/research/static-populations.md has the argument.
"""

from __future__ import annotations

import math

from bascule.core.design import Design
from bascule.core.inputs import checks
from bascule.core.numerics import turning_point
from bascule.core.procedures.static import pair_scales
from bascule.core.progress import static_procedure

FAR = 1e15
"""A stage that stands for the end of time."""


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
