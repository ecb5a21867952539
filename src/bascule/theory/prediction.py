"""What to expect, far sharper than what is proven: the mean path, on which noise averages out.

While UCB_alpha runs it keeps all indices level, and it stops when the leader's interval parts from
its nearest rival's. Both conditions fix every radius, and a radius fixes the units that reach it.
docs/explanation/prediction.md derives this; the simulator says how good it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bascule.core.design import Design
from bascule.core.rules import ETC
from bascule.theory.bounds import checked_gaps
from bascule.theory.solve import units_until


@dataclass(frozen=True, slots=True)
class Prediction:
    """Expected units (best arm first), decision time and regret. Not a guarantee."""

    decision_time: float
    regret: float
    units: tuple[float, ...]


def predict(design: Design, gaps: float | Sequence[float]) -> Prediction:
    """The expected decision time and regret of a design at given gaps.

    >>> import bascule as bs, math
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=math.exp(-20))
    >>> expected = predict(design, 1.0)
    >>> round(expected.regret, 1), round(expected.decision_time)
    (85.6, 882)
    """
    others = checked_gaps(design, gaps)
    alpha = design.rule.alpha
    smallest = min(others)
    if isinstance(design.rule, ETC):
        rivals = [_units(design, gap / 2) for gap in others]
        best = max(rivals)
    elif math.isinf(alpha):
        best = _units(design, smallest / 2)
        rivals = [best for _ in others]
    else:
        best = _units(design, smallest * (alpha - 1) / (2 * alpha))
        rivals = [
            _units(design, (2 * gap + (alpha - 1) * smallest) / (2 * alpha)) for gap in others
        ]
    regret = sum(gap * units for gap, units in zip(others, rivals, strict=True))
    return Prediction(best + sum(rivals), regret, (best, *rivals))


def _units(design: Design, width: float) -> float:
    shape, delta = design.rule.shape(len(design.arms)), design.calibration.delta
    return units_until(width, design.outcome.sigma, shape, delta)
