"""Choose a design: the cheapest one in time that is no slower than a fixed-horizon test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
"""Weight of the days at no effect when the days of a design are averaged; the days at the lift have
the rest."""

NEARLY = 0.02
"""Relative difference up to which costs, or durations, are considered equal."""

AS_LONG = 1.001
"""Ratio up to which durations are considered equal, so that minutes do not decide."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate design of a plan, with its expected forecast and, if any, its simulated one."""

    design: Design
    """The candidate as a design, which a test can be created with."""
    expected: Forecast
    """Forecast by theory, or by a few runs if theory cannot predict the design."""
    simulated: Forecast | None = None
    """Forecast by simulation; None if the design was not simulated."""
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
        """The simulated forecast if there is one, else the expected one."""
        return self.simulated or self.expected

    @property
    def in_time(self) -> bool:
        """Whether the design decides by the deadline with the requested probability."""
        return self.forecast.decides_with(self.request.power)

    @property
    def accepted(self) -> bool:
        """Whether the request accepts the guarantee of the design."""
        return self.request.accepts(self.design)

    @property
    def zero(self) -> Forecast | None:
        """Forecast if no arm is better than another; None if theory cannot predict it."""
        return predicted_at_zero(self.request, self.rule)

    @property
    def weighed_days(self) -> float:
        """Weighted mean of the expected days at the lift and at no effect.

        The days at no effect are the days until the deadline if theory cannot predict them, or if
        the design has no horizon: then nearly all tests without an effect last until the deadline.
        """
        zero = self.zero if self.design.procedure.has_horizon else None
        at_zero = self.request.deadline_days if zero is None else zero.days.mean
        return (1 - NO_EFFECT) * self.expected.days.mean + NO_EFFECT * at_zero

    @property
    def short_at_lift(self) -> bool:
        """Whether the design is no slower than the fixed-horizon test at the requested lift."""
        return self.forecast.days.mean <= AS_LONG * fixed_horizon(self.request).days

    @property
    def short_at_zero(self) -> bool:
        """Whether the design is no slower than the fixed-horizon test if no arm is better.

        Without a horizon, nearly all such tests last until the deadline.
        """
        fixed = AS_LONG * fixed_horizon(self.request).days
        if not self.design.procedure.has_horizon:
            return self.request.deadline_days <= fixed
        return self.zero is not None and self.zero.days.mean <= fixed

    def beats(self, rival: Candidate) -> bool:
        """Return whether the design is in time, and no worse than `rival` in days and cost."""
        mine, theirs = self.forecast, rival.forecast
        pairs = [
            (mine.days.mean, theirs.days.mean),
            (mine.p90_days, theirs.p90_days),
            (mine.cost.mean, theirs.cost.mean),
        ]
        if not self.in_time or self.rule == rival.rule or any(a > b for a, b in pairs):
            return False
        # Forecasts at no effect are slow, so they are computed only for the few candidates left.
        zero, rival_zero = self.zero, rival.zero
        return zero is None or rival_zero is None or zero.days.mean <= rival_zero.days.mean

    def with_simulation(self, forecast: Forecast) -> Candidate:
        """Return the candidate with a simulated forecast."""
        return replace(self, simulated=forecast)

    def to_dict(self, chosen: bool) -> dict[str, Any]:
        """Return plain data, including the rule's main parameter under its name."""
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


CONDITIONS: tuple[Callable[[Candidate], bool], ...] = (
    lambda point: point.short_at_lift and point.short_at_zero,
    lambda point: point.short_at_zero,
    lambda point: point.short_at_lift,
    lambda _: True,
)
"""Conditions on the duration of the recommended design, in the order in which they are tried."""


def accepted(points: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates with an accepted guarantee, or else those with the strongest one.

    Some outcomes, such as those with an estimated spread, have no proven design.
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
    """Return the candidate with the highest probability of a decision by the deadline."""
    return max(points, key=lambda point: (point.forecast.decided.mean, -point.forecast.days.mean))


def soonest_of(points: Sequence[Candidate]) -> Candidate:
    """Return the design with the fewest weighed days; among equals, the cheapest."""
    return min(points, key=lambda point: (*_order_by_days(point), point.expected.cost.mean))


def _order_by_days(point: Candidate) -> tuple[float, bool]:
    """Return a sort key: weighed days, and the even split first among designs of equal days.

    Designs that decide before the first outcomes are known differ by rounding errors alone.
    """
    return float(f"{point.weighed_days:.5g}"), not point.even


def cheapest_of(points: Sequence[Candidate]) -> Candidate:
    """Return the soonest of the designs whose cost is nearly the lowest."""
    lowest = min(point.expected.cost.mean for point in points)
    return soonest_of(
        [point for point in points if point.expected.cost.mean <= (1 + NEARLY) * lowest]
    )


def best_in_time(points: Sequence[Candidate]) -> Candidate | None:
    """Return the candidate to recommend; None if no candidate decides by the deadline.

    Candidates that take no longer than a fixed-horizon test, at the lift and at no effect, come
    first. If there are none, the candidates that take no longer at no effect are considered, then
    those that take no longer at the lift, then all. Of the candidates with nearly the lowest
    expected cost, the one with the fewest days is chosen. Expected costs are compared and not
    simulated ones, because the lowest of several simulated costs is low partly by chance.
    """
    in_time = sorted(
        (point for point in points if point.in_time), key=lambda point: point.expected.cost.mean
    )
    for is_eligible in CONDITIONS:
        # Start with the cheapest, since the days at no effect take long to predict.
        cheapest = next((point for point in in_time if is_eligible(point)), None)
        if cheapest is not None:
            expected = cheapest.expected
            doubt = expected.cost.se if expected.simulated else 0.0
            limit = expected.cost.mean * (1 + NEARLY) + doubt
            near = takewhile(lambda point: point.expected.cost.mean <= limit, in_time)  # noqa: B023
            return min(filter(is_eligible, near), key=_order_by_days)
    return None
