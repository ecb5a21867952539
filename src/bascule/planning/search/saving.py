"""What early signals would save, and what they would cost if they misled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bascule.core.procedures.blocks.signals import GENTLE_TILT
from bascule.core.rules import Rule
from bascule.planning.forecast import Forecast, played
from bascule.planning.request.request import PlanRequest
from bascule.simulation import Delay, World

LATER = 3.0
"""How many times as long as stated the conversions of the best arm take, and how many times sooner
those of the others come, in the world in which signals mislead."""

RUNS = 200
"""Runs of each world."""


@dataclass(frozen=True, slots=True)
class SignalSaving:
    """A rule with and without early signals, at the share of traffic and the lift of a request.

    Delays are `alike` in all arms, or the best arm converts `later`; `without` signals they do not
    matter. `delays` are those of the best arm and of the others if it converts later, in days.
    """

    rule: Rule
    without: Forecast
    alike: Forecast
    later: Forecast
    delays: tuple[float, float]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "rule": self.rule.label,
            "without": self.without.to_dict(),
            "delays_alike": self.alike.to_dict(),
            "best_arm_later": self.later.to_dict(),
            "delays_days": list(self.delays),
        }


def saving_of(request: PlanRequest, rule: Rule) -> SignalSaving | None:
    """Return what early signals do to a rule; None where that is not known or cannot be played.

    An even split ignores early signals: for such a rule a gentle tilt is simulated with them.

    >>> import bascule as bs
    >>> saving_of(PlanRequest(), bs.Tilt(3)) is None
    True
    """
    used, plain = rule.with_signals(request.early_signals or "auto"), rule.with_signals(None)
    if request.delay is None or used.knob is None or not used.uses_signals:
        return None
    if not request.can_be_played:
        return None
    if used.knob.value == used.knob.least:
        used = used.with_knob(GENTLE_TILT)
    usual = request.world
    world, delays = _misleading(request, usual)
    return SignalSaving(
        used,
        played(request, plain, usual, RUNS),
        played(request, used, usual, RUNS),
        played(request, used, world, RUNS),
        delays,
    )


def _misleading(request: PlanRequest, usual: World) -> tuple[World, tuple[float, float]]:
    """The world in which the best arm converts later than others, and the delays in days."""
    units = request.delay_units
    assert units is not None
    late, soon = units * LATER, units / LATER
    events = tuple(late if mean == request.best else soon for mean in request.means)
    world = replace(usual, delay=Delay(request.waiting_units, events=events))
    days = request.traffic.days_until
    return world, (days(late).item(), days(soon).item())
