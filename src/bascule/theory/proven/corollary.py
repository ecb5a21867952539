"""delta-tilde by the paper's corollary: the error it proves for one sequence at a nominal level."""

from __future__ import annotations

import math
from typing import Literal

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.evidence.calibration import peel
from bascule.core.evidence.radius import LOG_2
from bascule.core.inputs import checks
from bascule.core.numerics import turning_point
from bascule.theory.proven.published import published_shape

ZETA_THREE_HALVES = 2.6123753486854883


def corollary(level: float) -> float:
    """The bound that the corollary puts on the event of `calibration.peel`; at most 1.

    Each of its two forms counts only where its proof allows it.

    >>> round(corollary(2e-4), 3)
    0.025
    """
    scaled = checks.probability("level", level, "it is delta over the rule's count") / LOG_2**2
    best = 1.0
    if scaled < LOG_2 * math.exp(-16):
        root = math.sqrt(math.log(LOG_2 / scaled))
        lead = math.e / LOG_2**2 / 4 * (16 / 15) / (2 - 16 / 15)
        best = min(best, scaled * (lead * root + math.e / LOG_2**2 + 1))
    if scaled <= math.exp(-4):
        best = min(best, scaled * (math.e * ZETA_THREE_HALVES * math.log(1 / scaled) + 5))
    return best


def delta_tilde(design: Design, *, by: Literal["peeling", "corollary"] = "peeling") -> float:
    """The error a design's nominal delta proves, by "peeling" (ours) or by the "corollary".

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=6.0e-4)
    >>> round(delta_tilde(design, by="corollary"), 3)
    0.05
    """
    if by not in {"peeling", "corollary"}:
        raise InputError("by", f'by must be "peeling" or "corollary" (got {by!r})')
    bound = corollary if by == "corollary" else peel
    shape = published_shape(design)
    return min(1.0, shape.sequences * bound(design.calibration.delta / shape.count))


def corollary_delta(error: float, design: Design) -> float:
    """The nominal delta with which the corollary proves `error` for the rule of this design.

    >>> import bascule as bs
    >>> print(f"{corollary_delta(0.05, bs.Design(['a', 'b'], bs.Gaussian(1), bs.ETC())):.1e}")
    4.4e-04
    """
    error = checks.probability("error", error, "0.05 is usual")
    shape = published_shape(design)

    def proves(level: float) -> bool:
        return shape.sequences * corollary(math.exp(level)) <= error

    largest = turning_point(proves, math.log(error) - 40.0, math.log(error))
    return shape.count * math.exp(math.nextafter(largest, -math.inf))
