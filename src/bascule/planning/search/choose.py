"""The rule of the choice: the cheapest design in time, no slower than a fixed-horizon test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, get_args

from bascule.core.design import Design
from bascule.core.inputs.serialization import plain as as_json
from bascule.core.rules import Rule
from bascule.planning.forecast import Forecast, predicted_at_zero
from bascule.planning.request.options import AcceptedGuarantee
from bascule.planning.request.request import PlanRequest
from bascule.planning.search.fixed_horizon import fixed_horizon

DEFAULT_REQUEST = PlanRequest()

NO_EFFECT = 0.5
"""How much the days at no effect count in the days of a design; the rest are those at the lift."""

NEARLY = 0.02
"""Prices that differ by this part are taken for equal, and then the sooner design is better."""

AS_LONG = 1.001
"""Days that differ by less than this factor are equally many: minutes do not choose a design."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One design on the frontier of a plan: what is expected of it, and what runs showed.

    What is expected comes from theory, or from a few runs where theory says too little.
    """

    design: Design
    expected: Forecast
    simulated: Forecast | None = None
    request: PlanRequest = DEFAULT_REQUEST

    @property
    def rule(self) -> Rule:
        """The rule of the design."""
        return self.design.rule

    @property
    def even(self) -> bool:
        """Whether every arm gets equally many units."""
        return self.design.procedure.even

    @property
    def forecast(self) -> Forecast:
        """What runs showed if there is that, else what is expected."""
        return self.simulated or self.expected

    @property
    def in_time(self) -> bool:
        """Whether it decides by the deadline with the probability that was asked for."""
        return self.forecast.decides_with(self.request.power)

    @property
    def accepted(self) -> bool:
        """Whether its guarantee is one that the request accepts."""
        return self.request.accepts(self.design)

    @property
    def zero(self) -> Forecast | None:
        """What is expected if no arm is better than another; None where theory does not say."""
        return predicted_at_zero(self.request, self.rule)

    @property
    def weighed_days(self) -> float:
        """The days that are expected, those at no effect counted with their weight.

        Where theory does not say how long a test without an effect takes, it is the deadline. It is
        the deadline without a horizon too: nearly all such tests go on until then.
        """
        zero = self.zero if self.design.procedure.has_horizon else None
        at_zero = self.request.deadline_days if zero is None else zero.days.mean
        return (1 - NO_EFFECT) * self.expected.days.mean + NO_EFFECT * at_zero

    @property
    def short_at_lift(self) -> bool:
        """Whether it takes no longer than the fixed-horizon test if the lift is as requested."""
        return self.forecast.days.mean <= AS_LONG * fixed_horizon(self.request).days

    @property
    def short_at_zero(self) -> bool:
        """Whether it takes no longer than the fixed-horizon test where no arm is better.

        Without a horizon nearly all such tests go on until the deadline.
        """
        fixed = AS_LONG * fixed_horizon(self.request).days
        if not self.design.procedure.has_horizon:
            return self.request.deadline_days <= fixed
        return self.zero is not None and self.zero.days.mean <= fixed

    def beats(self, rival: Candidate) -> bool:
        """Whether it is in time and no worse in days, in cost, and where no arm is better."""
        mine, theirs = self.forecast, rival.forecast
        pairs = [
            (mine.days.mean, theirs.days.mean),
            (mine.p90_days, theirs.p90_days),
            (mine.cost.mean, theirs.cost.mean),
        ]
        if not self.in_time or self.rule == rival.rule or any(a > b for a, b in pairs):
            return False
        # These are computed for the few that are left.
        zero, rival_zero = self.zero, rival.zero
        return zero is None or rival_zero is None or zero.days.mean <= rival_zero.days.mean

    def with_simulation(self, forecast: Forecast) -> Candidate:
        """Return the point with what a simulation showed."""
        return replace(self, simulated=forecast)

    def to_dict(self, chosen: bool) -> dict[str, Any]:
        """Return the point as plain data; the rule's knob, if it has one, stands under its name."""
        knob, predicted = self.rule.knob, self.expected.to_dict()
        return {
            "rule": self.rule.label,
            **({} if knob is None else {knob.name: as_json(knob.value)}),
            **self.forecast.to_dict(),
            "predicted": {
                name: predicted[name]["mean"]
                for name in ("expected_days", "expected_cost", "decided_by_deadline")
            },
            "guarantee": self.design.calibration.guarantee,
            "at_zero_effect": self.zero and self.zero.to_dict(),
            "in_time": self.in_time,
            "accepted": self.accepted,
            "chosen": chosen,
        }


def accepted(points: Sequence[Candidate]) -> list[Candidate]:
    """Return the points whose guarantee is accepted; where none is, those with the strongest.

    Some outcomes, such as those with an estimated spread, have no design that is proven.
    """
    kept = [point for point in points if point.accepted]
    if kept:
        return kept
    for guarantee in get_args(AcceptedGuarantee):
        kept = [point for point in points if point.design.calibration.guarantee == guarantee]
        if kept:
            return kept
    return list(points)


def nearest(points: Sequence[Candidate]) -> Candidate:
    """Return the point that decides by the deadline with the highest probability."""
    return max(points, key=lambda point: (point.forecast.decided.mean, -point.forecast.days.mean))


def soonest_of(points: Sequence[Candidate]) -> Candidate:
    """Return the design with the fewest weighed days, and of several the cheapest."""
    return min(points, key=lambda point: (*_order_by_days(point), point.expected.cost.mean))


def _order_by_days(point: Candidate) -> tuple[float, bool]:
    """Order by weighed days, and put the even split first among equal ones.

    Designs that decide before the first outcomes are known differ by rounding errors alone.
    """
    return float(f"{point.weighed_days:.5g}"), not point.even


def cheapest_of(points: Sequence[Candidate]) -> Candidate:
    """Return the soonest of the designs that cost nearly the least."""
    lowest = min(point.expected.cost.mean for point in points)
    return soonest_of(
        [point for point in points if point.expected.cost.mean <= (1 + NEARLY) * lowest]
    )


def best_in_time(points: Sequence[Candidate]) -> Candidate | None:
    """Return the point that the rule of the choice takes; None when none is in time.

    It is the cheapest that takes no longer than a fixed-horizon test, at the lift and at no effect.
    Where there is none, it gives up the days at the lift first, then those at no effect, then both.
    Of all that cost nearly the least, it is the one with the fewest weighed days. Costs are as
    expected, because simulated ones differ by chance, and the luckiest would be taken for the
    cheapest.
    """
    in_time = sorted(
        (point for point in points if point.in_time), key=lambda point: point.expected.cost.mean
    )
    for is_eligible in (_is_short, _is_short_at_zero, _is_short_at_lift, _is_any):
        # From the cheapest on, because the days at no effect take long to predict.
        cheapest = next((point for point in in_time if is_eligible(point)), None)
        if cheapest is not None:
            expected = cheapest.expected
            doubt = expected.cost.se if expected.simulated else 0.0
            limit = expected.cost.mean * (1 + NEARLY) + doubt
            near = takewhile(lambda point: point.expected.cost.mean <= limit, in_time)  # noqa: B023
            return min(filter(is_eligible, near), key=_order_by_days)
    return None


def _is_short(point: Candidate) -> bool:
    return point.short_at_lift and point.short_at_zero


def _is_short_at_zero(point: Candidate) -> bool:
    return point.short_at_zero


def _is_short_at_lift(point: Candidate) -> bool:
    return point.short_at_lift


def _is_any(_: Candidate) -> bool:
    return True
