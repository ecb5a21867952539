"""How far a request could be stretched: the smallest lift that the deadline allows.

Where a request is impossible the same searches give the nearest ones that are not: a larger lift, a
later deadline, more traffic. All of it is predicted for the design that decides soonest: an even
split, with a horizon where one is possible.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from bascule.planning.forecast import PREDICTED_WITHIN, prediction
from bascule.planning.request.arrivals import Returning
from bascule.planning.request.request import PlanRequest
from bascule.planning.search.candidates import soonest


@dataclass(frozen=True, slots=True)
class Reach:
    """What the soonest design decides by the deadline often enough, changed one at a time.

    None where nothing would help.
    """

    lift: float | None
    deadline_days: float | None
    units_per_day: float | Returning | None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def reach(request: PlanRequest, factor: float = 1.0) -> Reach:
    """Return how far a request could be stretched; `factor` corrects the predicted times.

    >>> result = reach(PlanRequest())
    >>> 0.003 < result.lift < 0.005, result.deadline_days < 10
    (True, True)
    """
    needed = time_needed(request) * factor
    days = request.traffic.known_after(needed)
    known = math.isfinite(needed)
    by_then = request.traffic.units_after(request.deadline_days - request.window_days)
    return Reach(
        _lift_for(request, needed, factor) if known else None,
        days if math.isfinite(days) else None,
        request.arrivals.scaled(needed / by_then) if known else None,
    )


def time_needed(request: PlanRequest) -> float:
    """Units by which the soonest design has decided often enough, predicted; inf if unknown.

    They are units with known outcomes: a window comes on top of them.

    More arms than theory follows are taken for as many pairs as they are, each at its part of the
    error. Where only the average time is known, it is that, and who asks has to know by how much it
    is too short.
    """
    arms = len(request.names)
    # A design with a horizon has just the power that was asked for, predicted a little too low or
    # too high.
    share = request.power - PREDICTED_WITHIN
    expected = prediction(request, soonest(request))
    if arms > 2 and (expected is None or not expected.course):
        pair = replace(
            request,
            baseline=request.rival,
            lift=request.best - request.rival,
            arms=2,
            error=request.error / (arms - 1),
            control=None,
        )
        alone = prediction(pair, soonest(pair))
        return math.inf if alone is None else alone.time_until(share) * arms / 2
    if expected is None:
        return math.inf
    return expected.time_until(share) if expected.course else expected.decision_time


def _lift_for(request: PlanRequest, needed: float, factor: float) -> float | None:
    """The time goes with a power of the lift, nearly the inverse square: one step finds it."""
    scale = math.sqrt(needed / request.max_units)
    other = request.scaled(scale)
    if other is None:
        return None
    there = time_needed(other) * factor
    power = math.log(there / needed) / math.log(scale) if scale != 1 else -2.0
    nearer = request.scaled(scale * (request.max_units / there) ** (1 / power))
    return None if nearer is None else nearer.gap
