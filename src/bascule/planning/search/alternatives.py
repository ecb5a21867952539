"""Alternatives in a plan: smaller shares of the traffic, smaller lifts, and early signals.

If a request is impossible, `reach` finds the nearest possible one: a larger lift, a later deadline,
or more traffic. It predicts the design that decides soonest: an even split, with a horizon if
possible. While the first windows are open, no outcome is known and units are split evenly. A
smaller share of the traffic enrols fewer units in that time, but takes longer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from bascule.core.calendar import DAY
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.procedures.blocks.signals import GENTLE_TILT
from bascule.core.rules import Rule
from bascule.planning.forecast import (
    PREDICTED_WITHIN,
    Forecast,
    design_of,
    played,
    predicted,
    prediction,
)
from bascule.planning.request.request import PlanRequest
from bascule.planning.search.candidates import soonest, with_horizon
from bascule.planning.search.choose import Candidate, cheapest_of, soonest_of
from bascule.simulation import Delay, World
from bascule.simulation.steered import SteeredRuns, simulate_steered

STEEPEST, FLATTEST = -4.0, -1.0
"""Limits of the exponent p in the approximation that the time is proportional to lift^p."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The lift, the deadline or the traffic that would suffice if only this one value were changed.

    `lift` is in outcome units, without a sign. A value is None if no change of this value would
    help, or if theory cannot tell.
    """

    lift: float | None
    deadline_days: float | None
    units_per_day: float | None


def reach(request: PlanRequest, factor: float = 1.0) -> Reach:
    """Return the least changes to a request that make a decision by the deadline likely enough.

    `factor` multiplies the time that theory predicts, to correct it.

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
        request.units_per_day * needed / by_then if known else None,
    )


def time_needed(request: PlanRequest) -> float:
    """Return the units at which the soonest design reaches the power, by theory; inf if unknown.

    Units whose windows are still open are not included. If there are too many arms for theory, each
    pair of arms is predicted on its own, with its part of the error. If only the mean time is
    known, it is returned; it is too short, and the caller has to correct it.
    """
    arms = len(request.names)
    # A design with a horizon has just the requested power, and the prediction of its power may be
    # a little too low.
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
    """Return the lift that fits the deadline: times are nearly proportional to 1 / lift^2."""
    scale = math.sqrt(needed / request.max_units)
    scaled = request.scaled(scale)
    if scaled is None:
        return None
    days = time_needed(scaled) * factor
    power = math.log(days / needed) / math.log(scale) if scale != 1 else -2.0
    # Times are whole blocks: over a small step, rounding can exceed the effect of the lift.
    power = min(max(power, STEEPEST), FLATTEST)
    nearer = request.scaled(scale * (request.max_units / days) ** (1 / power))
    return None if nearer is None else nearer.gap


LATER = 3.0
"""Factor by which conversions of the best arm take longer, and those of the others come sooner, in
the world in which early signals mislead."""

RUNS = 200
"""Number of runs in each world."""


@dataclass(frozen=True, slots=True)
class SignalSaving:
    """Forecasts of a rule with and without early signals, and with signals that mislead."""

    rule: Rule
    without: Forecast
    """Forecast without early signals."""
    alike: Forecast
    """Forecast with early signals, if delays are equal in all arms."""
    later: Forecast
    """Forecast with early signals, if conversions of the best arm come later."""
    delays: tuple[float, float]
    """Mean delays in the case `later`, of the best arm and of the others, in days."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "rule": self.rule.label,
            "without": self.without.to_dict(),
            "delays_alike": self.alike.to_dict(),
            "best_arm_later": self.later.to_dict(),
            "delays_days": list(self.delays),
        }


def saving_of(request: PlanRequest, rule: Rule) -> SignalSaving | None:
    """Return the effect of early signals on a rule; None if unknown or impossible to simulate.

    An even split ignores early signals: a gentle tilt is simulated instead.

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


STEERED_RUNS = 200


@lru_cache(maxsize=16)
def steered_of(
    design: Design, means: tuple[float, ...], units_per_day: float, period: float
) -> SteeredRuns:
    """Return simulated tests of a design whose shares change once per period."""
    return simulate_steered(design, means, units_per_day, period / DAY, runs=STEERED_RUNS)


def _misleading(request: PlanRequest, usual: World) -> tuple[World, tuple[float, float]]:
    """Return a world in which the best arm converts later than others, and the delays in days."""
    units = request.delay_units
    assert units is not None
    mean_delay_best, mean_delay_others = units * LATER, units / LATER
    events = tuple(
        mean_delay_best if mean == request.best else mean_delay_others for mean in request.means
    )
    world = replace(usual, delay=Delay(request.waiting_units, events=events))
    days = request.traffic.days_until
    return world, (days(mean_delay_best).item(), days(mean_delay_others).item())


PaceName = Literal["fastest", "balanced", "cheapest"]

SHARES = (1.0, 0.7, 0.5, 0.4, 0.3, 0.2)
"""Shares of the traffic that are tried, relative to the request."""

TILTS = (1.0, 3.0, 8.0)
"""Tilts that are tried with each share."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The fastest, the balanced or the cheapest design, with the share of the traffic it enrols.

    Of the designs that decide by the deadline, the fastest has the fewest days, including those at
    no effect, and the cheapest costs nearly the least. The balanced one is the cheapest that takes
    no longer than the geometric mean of the days of both.
    """

    name: PaceName
    point: Candidate

    @property
    def share(self) -> float:
        """Share of the traffic that is enrolled."""
        return self.point.request.share

    @property
    def unwon(self) -> float:
        """Gain that is missed until the better arm is in use, in outcome units.

        It is the expected days of the test times the gain of a day with the whole traffic.
        """
        return self.point.forecast.days.mean * self.point.request.unwon_per_day

    def to_dict(self, zero: Forecast | None) -> dict[str, Any]:
        """Return plain data, with the forecast of the design if no arm is better."""
        point = self.point
        return {
            "name": self.name,
            "share": self.share,
            "rule": point.rule.label,
            "design": point.design.to_dict(),
            **point.forecast.to_dict(),
            "unwon_while_waiting": self.unwon,
            "at_zero_effect": zero and zero.to_dict(),
        }


def paces(
    request: PlanRequest, recommended: Candidate, candidates: Sequence[Candidate] = ()
) -> tuple[Pace, ...]:
    """Return the fastest, the balanced and the cheapest design over shares and tilts.

    The recommended design and other `candidates` of its plan are compared as well.

    The result is empty without a window, because a smaller share then saves nothing; if theory
    cannot forecast the duration of designs; or if no design decides by the deadline.

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
    points += (recommended, *candidates)
    fastest, cheapest = soonest_of(points), cheapest_of(points)
    between = math.sqrt(fastest.expected.days.mean * cheapest.expected.days.mean)
    within = [point for point in points if point.expected.days.mean <= between]
    return (
        Pace("fastest", fastest),
        Pace("balanced", cheapest_of(within)),
        Pace("cheapest", cheapest),
    )


def _points(request: PlanRequest) -> Iterable[Candidate]:
    for share in SHARES:
        try:
            slower = replace(request, share=share * request.share)
        except InputError:
            # So few units are enrolled that the first blocks are incomplete at the deadline.
            return
        for tilt in TILTS:
            for rule in with_horizon(slower, tilt):
                expected = predicted(slower, rule)
                if expected is not None:
                    yield Candidate(design_of(slower, rule), expected, request=slower)
