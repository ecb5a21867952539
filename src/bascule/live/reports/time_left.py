"""The time left of a live test: an estimate with a range, in units and in days.

The headline of the status and the forecasts for other values of the knob use this estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bascule.core.calendar import DAY
from bascule.core.design import Design
from bascule.core.metrics.effects import Effect, advantages
from bascule.core.metrics.guardrails import may_hold
from bascule.core.position import may_ship
from bascule.core.procedures.base import AnyStatistics, Prospect
from bascule.core.statistics import Statistics
from bascule.live.reports.forecast import lead
from bascule.live.storage.state import ExperimentState
from bascule.theory.time_left import growth_range

TELLING = 10
"""Minimum number of counted units of each arm for an estimate of the time left."""

SIDE = 1.28
"""Number of standard errors by which an estimated variance is changed, in both directions, to get
the range of a horizon that depends on it."""

EVIDENCE = 0.3
"""Minimum progress towards a decision at which the time left of a test without a horizon is
estimated. With less progress, differences are no larger than their noise."""


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """The units and days until a test ends, with or without a winner.

    `units` is the median of the units that still have to count, and `days` how long that takes at
    the pace so far, including the windows that have to close; None if the pace is unknown. The
    range from `low_units` to `high_units` contains the true value at about 80 % of looks.
    """

    units: float
    low_units: float
    high_units: float
    days: float | None
    low_days: float | None
    high_days: float | None


class UnitsLeft(NamedTuple):
    """Number of units that must count until a test ends: lower bound, median, upper bound."""

    low: float
    median: float
    high: float


def units_range(design: Design, statistics: AnyStatistics) -> UnitsLeft | None:
    """Return how many units must count until a test ends, or None if it is too early to say.

    >>> import bascule as bs
    >>> from bascule.progress import ArmStatistics
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
    >>> data = Statistics((ArmStatistics(50, 30.0, 68.0), ArmStatistics(50, 0.0, 50.0)))
    >>> units_range(design, data) is None
    True
    """
    if not design.procedure.supports("forecast"):
        return None
    assert isinstance(statistics, Statistics)
    active = [i for i in range(len(design.arms)) if i not in statistics.out]
    if len(active) < 2 or any(statistics.arms[i].units < TELLING for i in active):
        return None
    effects = advantages(design, statistics)
    name, evidence = lead(design, statistics, effects)
    if name is None or (not design.procedure.has_horizon and evidence < EVIDENCE):
        return None
    leader = design.arms.index(name)
    if may_hold(design) and not may_ship(design, statistics, leader):
        # Guardrails or missing values hold back the leader: its lead alone does not end the test.
        return None
    procedure, oriented = design.judging(statistics)
    rivals = procedure.prospects(oriented, leader)
    if not procedure.has_horizon:
        rivals = _without_horizon(design, statistics, name, effects)
    growths = [_growth(design, statistics, rival) for rival in rivals]
    known = [growth for growth in growths if growth is not None]
    if not known or len(known) < len(growths):
        return None
    most = math.inf
    if design.max_units is not None:
        most = float(max(0, design.max_units - statistics.units))
    shares = _shares(design, statistics, leader)
    informations = zip(*known, strict=True)
    return UnitsLeft(*(min(most, _units(*one)) for one in zip(informations, shares, strict=True)))


def _growth(
    design: Design, statistics: Statistics, rival: Prospect
) -> tuple[float, float, float] | None:
    """Return the information needed to beat a rival or reach the horizon: low, median and high.

    The result is None if it is unknown.
    """
    if not math.isfinite(rival.lead) or not math.isfinite(rival.room):
        return None
    doubt = SIDE * _doubt(design, statistics) if math.isfinite(rival.left) else 0.0
    soonest, usual, latest = (
        growth_range(
            rival.lead,
            rival.lead + rival.room,
            math.isfinite(rival.left),
            max(0.0, (1.0 + side * doubt) * (1.0 + rival.left / rival.clock) - 1.0),
            (rival.planned, design.procedure.futile_below),
        )
        for side in (-1.0, 0.0, 1.0)
    )
    if soonest is None or usual is None or latest is None:
        return None
    return soonest[0] * rival.clock, usual[1] * rival.clock, latest[2] * rival.clock


def _units(information: Sequence[float], leaders: float) -> float:
    """Return the number of units until the leader has the given information on each rival.

    Until it is beaten, each rival gets one unit for every `leaders` units of the leader.

    >>> _units([10.0], 1.0), _units([10.0, 10.0], 1.0), _units([5.0, 10.0], 1.0)
    (40.0, 60.0, 50.0)
    """
    units, before = 0.0, 0.0
    for beaten, until in enumerate(sorted(information)):
        size = leaders + len(information) - beaten
        units += (until - before) * (leaders + 1.0) / leaders * size
        before = until
    return units


def _shares(design: Design, statistics: Statistics, leader: int) -> tuple[float, float, float]:
    """Return the leader's units per unit of a rival: the minimum, the ratio so far, the maximum.

    Blocks range from even to the largest tilt; other rules keep the ratio so far.
    """
    active = [i for i in range(len(design.arms)) if i not in statistics.out and i != leader]
    rivals = sum(statistics.arms[i].units for i in active) / len(active)
    so_far = statistics.arms[leader].units / rivals
    if design.procedure.counts == "blocks":
        most = design.procedure.most_tilt
        return 1.0, min(max(so_far, 1.0), most), most
    return so_far, so_far, so_far


def _doubt(design: Design, statistics: Statistics) -> float:
    """Return the relative standard error of the variance that sets a horizon; 0 if it is known."""
    if design.outcome.known_spread:
        return 0.0
    excess = 2.0
    if design.outcome.binary:
        mean = sum(arm.total for arm in statistics.arms) / statistics.units
        excess = max(0.0, 1.0 / max(1e-9, mean * (1.0 - mean)) - 4.0)
    return min(0.5, math.sqrt(excess / statistics.units))


def _without_horizon(
    design: Design, statistics: Statistics, leader: str, effects: Sequence[Effect]
) -> list[Prospect]:
    """Return the leader's lead over each active rival, computed from the displayed intervals."""
    rivals = []
    for effect in effects:
        names = (effect.first, effect.second)
        if leader not in names or any(design.arms.index(name) in statistics.out for name in names):
            continue
        pair = [statistics.arms[design.arms.index(name)] for name in names]
        parts = [arm.linearised for arm in pair]
        variances = [max(0.0, a.squares / a.units - a.mean**2) / a.units for a in parts]
        error = math.sqrt(sum(variances)) or math.nan
        ahead, low = (
            (effect.difference, effect.low)
            if leader == effect.first
            else (-effect.difference, -effect.high)
        )
        clock = pair[0].units * pair[1].units / (pair[0].units + pair[1].units)
        rivals.append(Prospect(clock, math.inf, ahead / error, -low / error, 0.0))
    return rivals


def time_left_of(
    design: Design, state: ExperimentState, created: float, now: float
) -> TimeLeft | None:
    """Return the time left of a live test, in units and days; None if it is too early to say."""
    units = units_range(design, state.statistics)
    if units is None:
        return None
    low, median, high = (_days(design, state, bound, created, now) for bound in units)
    return TimeLeft(units.median, units.low, units.high, median, low, high)


def _days(
    design: Design, state: ExperimentState, units: float, created: float, now: float
) -> float | None:
    """Return the days until this many more units have counted, at the pace so far.

    Units that have arrived count when their windows close, and others have to arrive first.
    """
    passed = state.enrolment.latest - created
    if passed <= 0.0:
        return None
    pending = (units - state.pending) * passed / state.units
    wait = design.matures(0.0)
    if wait is None:
        seconds = max(0.0, pending)
    else:
        # The last of these units arrived before the latest unit, or will arrive after it.
        seconds = max(0.0, state.enrolment.latest + pending + wait - now)
        if pending > 0.0:
            seconds = max(seconds, pending + wait)
    if design.withholds and state.enrolment.origin is not None:
        seconds = design.announces(state.enrolment.origin, now + seconds) - now
    if design.deadline is not None:
        seconds = min(seconds, max(0.0, design.deadline.timestamp() - now))
    return seconds / DAY
