"""Paces: the same question at smaller shares of the traffic, from the fastest to the cheapest.

While the first windows are open nobody knows which arm is better, and units are shared evenly. A
smaller share enrols fewer of them, and waits longer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from bascule.core.errors import InputError
from bascule.planning.forecast import Forecast, design_of, finite_data, predicted
from bascule.planning.request.request import PlanRequest
from bascule.planning.search.candidates import with_horizon
from bascule.planning.search.choose import NEARLY, Candidate

PaceName = Literal["fastest", "balanced", "cheapest"]

SHARES = (1.0, 0.7, 0.5, 0.4, 0.3, 0.2)
"""Shares of the traffic of a request that are looked at."""

TILTS = (1.0, 3.0, 8.0)
"""Tilts that are looked at with each share."""


@dataclass(frozen=True, slots=True)
class Pace:
    """A share of the traffic and a design: `name` is fastest, balanced or cheapest.

    Of the designs that are in time, the fastest has the fewest days, weighed with those at no
    effect, and the cheapest costs nearly the least. The balanced one is the cheapest that takes no
    longer than the geometric mean of the days of both.

    `unwon` is what is not won meanwhile if the better arm is not in use yet: the days times what a
    day of the whole traffic gains by it.
    """

    name: PaceName
    point: Candidate

    @property
    def share(self) -> float:
        """The share of the traffic that gets in."""
        return self.point.request.share

    @property
    def unwon(self) -> float:
        """What the expected days cost in waiting, in outcome units."""
        return self.point.forecast.days.mean * self.point.request.unwon_per_day

    def to_dict(self, zero: Forecast | None) -> dict[str, Any]:
        """Plain data, with what is known of the design where no arm is better."""
        point = self.point
        return {
            "name": self.name,
            "share": self.share,
            "rule": point.rule.label,
            "design": point.design.to_dict(),
            **point.forecast.to_dict(),
            "unwon_while_waiting": self.unwon,
            "at_zero_effect": finite_data(zero),
        }


def paces(
    request: PlanRequest, recommended: Candidate, others: Sequence[Candidate] = ()
) -> tuple[Pace, ...]:
    """Return the fastest, the balanced and the cheapest design over shares and tilts.

    The recommended design and `others` of its plan are among those that are compared.

    Empty if there is no window, since a smaller share then saves nothing; if theory cannot forecast
    how long designs take; or if no design ends by the deadline.

    >>> import bascule as bs
    >>> from bascule.planning.search.choose import Candidate
    >>> paces(PlanRequest(), Candidate(design_of(PlanRequest(), bs.Tilt(3)), None))
    ()
    """
    if request.window is None or not recommended.in_time:
        return ()
    points = [point for point in _points(request) if point.in_time and point.accepted]
    if not points:
        return ()
    mine = (recommended.rule, recommended.request.share)
    points = [point for point in points if (point.rule, point.request.share) != mine]
    points += (recommended, *others)
    fastest, cheapest = min(points, key=_soonness), _cheapest(points)
    between = math.sqrt(fastest.expected.days.mean * cheapest.expected.days.mean)
    within = [point for point in points if point.expected.days.mean <= between]
    return (
        Pace("fastest", fastest),
        Pace("balanced", _cheapest(within)),
        Pace("cheapest", cheapest),
    )


def _cheapest(points: Sequence[Candidate]) -> Candidate:
    """The soonest of the designs that cost nearly the least."""
    least = min(point.expected.cost.mean for point in points)
    return min(
        (point for point in points if point.expected.cost.mean <= (1 + NEARLY) * least),
        key=_soonness,
    )


def _soonness(point: Candidate) -> tuple[float, float]:
    return point.weighed_days, point.expected.cost.mean


def _points(request: PlanRequest) -> Iterable[Candidate]:
    for share in SHARES:
        try:
            slower = replace(request, share=share * request.share)
        except InputError:
            # So few units get in that not even the first blocks are complete by the deadline.
            return
        for tilt in TILTS:
            for rule in with_horizon(slower, tilt):
                expected = predicted(slower, rule)
                if expected is not None:
                    yield Candidate(design_of(slower, rule), expected, request=slower)
