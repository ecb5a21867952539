"""The rule of the choice: the cheapest design that decides in time, waiting counted if it costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bascule.core.design import Design
from bascule.core.rules import UCB, AnyRule, Tilt
from bascule.planning.forecast import Outlook, plain_estimate
from bascule.planning.request import Wishes

IN_TIME = 0.9
"""A design meets the deadline when it decides by then with this probability."""

NEARLY = 0.02
"""Prices that differ by this part are taken for equal, and then the sooner design is better."""


@dataclass(frozen=True, slots=True)
class Point:
    """One design on the frontier: what is expected of it, and what was seen of it.

    What is expected comes from theory, or from a few runs where theory says too little.
    """

    design: Design
    expected: Outlook
    simulated: Outlook | None = None

    @property
    def rule(self) -> AnyRule:
        """The rule of the design."""
        return self.design.rule

    @property
    def outlook(self) -> Outlook:
        """What was seen if there is that, else what is expected."""
        return self.simulated or self.expected

    @property
    def in_time(self) -> bool:
        """Whether it decides by the deadline often enough."""
        return self.outlook.decided.mean >= IN_TIME

    @property
    def knob(self) -> tuple[str, float]:
        """The name of the rule's knob and where it stands."""
        if isinstance(self.rule, Tilt):
            return "tilt", self.rule.tilt
        return "alpha", self.rule.alpha if isinstance(self.rule, UCB) else math.inf

    def seen(self, outlook: Outlook) -> Point:
        """The same with what a simulation showed."""
        return replace(self, simulated=outlook)

    def to_dict(self, chosen: bool) -> dict[str, Any]:
        """The point as plain data."""
        name, value = self.knob
        expected = self.expected
        return {
            "rule": self.rule.label,
            name: value if math.isfinite(value) else "Infinity",
            **self.outlook.to_dict(),
            "predicted": {
                "expected_days": plain_estimate(expected.days)["mean"],
                "expected_cost": plain_estimate(expected.cost)["mean"],
                "decided_by_deadline": plain_estimate(expected.decided)["mean"],
            },
            "in_time": self.in_time,
            "chosen": chosen,
        }


def price(outlook: Outlook, waiting_cost: float | None) -> float:
    """What a design costs, with what its days are worth."""
    return outlook.cost.mean + (waiting_cost or 0.0) * outlook.days.mean


def best_in_time(points: Sequence[Point], waiting_cost: float | None) -> Point | None:
    """The point that the rule of the choice takes; None when none is in time.

    Of all that cost nearly the least, it is the one that decides soonest. Prices are as expected,
    because those seen differ by chance, and the luckiest would be taken for the cheapest.
    """
    eligible = [point for point in points if point.in_time]
    if not eligible:
        return None
    prices = [price(point.expected, waiting_cost) for point in eligible]
    least = min(prices)
    enough = least * (1 + NEARLY) + _doubt(eligible[prices.index(least)].expected)
    cheapest = [p for p, paid in zip(eligible, prices, strict=True) if paid <= enough]
    return min(cheapest, key=lambda point: point.expected.days.mean)


def best_tilt(wishes: Wishes) -> float | None:
    """The tilt that balances cost and waiting when the tilt holds from the first unit on.

    It is `sqrt(1 + D / c)` where one unit of time costs c: a check on what the search finds.

    >>> round(best_tilt(Wishes(waiting_cost=50.0 / 8)), 6)
    3.0
    """
    if wishes.waiting_cost is None:
        return None
    return math.sqrt(1.0 + wishes.gap * wishes.units_per_day / wishes.waiting_cost)


def _doubt(outlook: Outlook) -> float:
    """The standard error of a cost that comes from a few runs; theory has none."""
    return outlook.cost.se if outlook.simulated else 0.0
