"""How far the wishes could be stretched: the smallest lift and error that the deadline allows.

Where a wish is impossible the same searches give the nearest ones that are not: a larger lift, a
larger error, a later deadline, more traffic. All of it is predicted for the design that decides
soonest, an even split.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from bascule.core.errors import InputError
from bascule.planning.candidates import even_split
from bascule.planning.choose import IN_TIME
from bascule.planning.forecast import prediction
from bascule.planning.request import Wishes

SMALLEST_ERROR, LARGEST_ERROR = 1e-12, 0.4

AHEAD = 3.5
"""The evidence that a test needs beyond log(1 / error), nearly: for the first guess only."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What an even split decides by the deadline with probability 0.9, one wish changed at a time.

    None where nothing would help. An error of 1e-12 stands for that and less.
    """

    lift: float | None
    error: float | None
    deadline_days: float | None
    units_per_day: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def reach(wishes: Wishes, factor: float = 1.0) -> Reach:
    """How far each wish could be stretched; `factor` corrects the predicted times.

    >>> found = reach(Wishes())
    >>> 0.004 < found.lift < 0.006, found.deadline_days < 10
    (True, True)
    """
    needed = time_needed(wishes) * factor
    days = needed / wishes.units_per_day
    known = math.isfinite(needed)
    return Reach(
        _lift_for(wishes, needed, factor) if known else None,
        _error_for(wishes, needed, factor) if known else None,
        days if known else None,
        needed / wishes.deadline_days if known else None,
    )


def time_needed(wishes: Wishes) -> float:
    """Units by which an even split has decided with probability 0.9, predicted; inf if unknown.

    Several arms are taken for as many pairs as they are, each at its part of the error. Where only
    the average time is known, it is that, and who asks has to know by how much it is too short.
    """
    arms = len(wishes.names)
    pair = wishes
    if arms > 2:
        best = max(wishes.means)
        pair = replace(
            wishes,
            baseline=best - wishes.gap,
            lift=wishes.gap,
            arms=2,
            error=wishes.error / (arms - 1),
        )
    found = prediction(pair, even_split(pair))
    if found is None:
        return math.inf
    return (found.time_until(IN_TIME) if found.course else found.decision_time) * arms / 2


def _lift_for(wishes: Wishes, needed: float, factor: float) -> float | None:
    """The time goes with a power of the lift, nearly the inverse square: one step finds it."""
    scale = math.sqrt(needed / wishes.max_units)
    try:
        found = time_needed(wishes.scaled(scale)) * factor
        power = math.log(found / needed) / math.log(scale) if scale != 1 else -2.0
        scale *= (wishes.max_units / found) ** (1 / power)
        return wishes.scaled(scale).gap
    except InputError:
        # So large a lift has no room beside the baseline.
        return None


def _error_for(wishes: Wishes, needed: float, factor: float) -> float | None:
    """The time goes with the logarithm of the error, nearly: one step and a straight line."""
    part = wishes.max_units / needed
    here = -math.log(wishes.error)
    there = _within((here + AHEAD) * part - AHEAD)
    if abs(there - here) < 0.01:
        return wishes.error
    slope = (time_needed(replace(wishes, error=math.exp(-there))) * factor - needed) / (
        there - here
    )
    wanted = here + (wishes.max_units - needed) / slope
    if wanted < -math.log(LARGEST_ERROR):
        return None
    return math.exp(-_within(wanted))


def _within(evidence: float) -> float:
    return min(-math.log(SMALLEST_ERROR), max(-math.log(LARGEST_ERROR), evidence))
