"""How much longer a live test may take, as a range: units, and days at the pace so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bascule.core.calendar import DAY
from bascule.core.cohorts import CohortStatistics
from bascule.core.design import Design
from bascule.core.ends import horizon_share
from bascule.core.metrics.effects import Effect, advantages
from bascule.core.progress import next_block
from bascule.core.statistics import Statistics
from bascule.live.reports.forecast import lead
from bascule.live.reports.metric_status import open_guardrails
from bascule.live.storage.state import ExperimentState
from bascule.theory.time_left import growth_range

TELLING = 10
"""Units of each arm that have to count before anything is said about the time left."""

SIDE = 1.28
"""Standard errors by which a horizon that follows an estimated variance may move."""

EVIDENCE = 0.3
"""Without a horizon nothing is said below this part of the way to a decision: differences are as
large as their noise."""


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """The units and days until a test ends, with or without a winner, as a range.

    At about 80 % of looks the range contains the true value.

    `low_units` and `high_units` are units that have to count, and `low_days` and `high_days` how
    long that takes at the pace so far, with the windows that have to close.
    """

    low_units: float
    high_units: float
    low_days: float | None
    high_days: float | None


def units_range(design: Design, statistics: Statistics) -> tuple[float, float] | None:
    """Return a range of the units that have to count until a test ends; None if it is too early.

    >>> import bascule as bs
    >>> from bascule.progress import ArmStatistics
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
    >>> seen = Statistics((ArmStatistics(50, 30.0, 68.0), ArmStatistics(50, 0.0, 50.0)))
    >>> units_range(design, seen) is None
    True
    """
    active = [i for i in range(len(design.arms)) if i not in statistics.out]
    if len(active) < 2 or any(statistics.arms[i].units < TELLING for i in active):
        return None
    result = advantages(design, statistics)
    leader, evidence = lead(design, statistics, result)
    share, flat = horizon_share(design, statistics), design.procedure.has_horizon
    if leader is None or (not flat and evidence < EVIDENCE):
        return None
    if design.guardrails and open_guardrails(design, statistics, design.arms.index(leader)):
        return None
    planned, futility = design.procedure.futile_below
    doubt = SIDE * _doubt(design, statistics) if share > 0.0 else 0.0
    bounds = []
    for ahead, low, error in _rivals(design, statistics, leader, result):
        if error <= 0.0:
            return None
        place = ahead / error, (ahead - low) / error, flat
        futile = planned / error, futility
        most = [
            max(0.0, (1.0 + side * doubt) / share - 1.0) if share > 0.0 else math.inf
            for side in (-1.0, 1.0)
        ]
        soonest, latest = (growth_range(*place, one, futile) for one in most)
        if soonest is None or latest is None:
            return None
        bounds.append((soonest[0], latest[1]))
    if not bounds:
        return None
    # The leader has to beat every rival.
    soon, late = _paces(design, statistics, design.arms.index(leader)) if flat else (1.0, 1.0)
    low = statistics.units * soon * max(one[0] for one in bounds)
    high = statistics.units * late * max(one[1] for one in bounds)
    if design.max_units is not None:
        rest = float(max(0, design.max_units - statistics.units))
        low, high = min(low, rest), min(high, rest)
    return low, high


def _doubt(design: Design, statistics: Statistics) -> float:
    """Return the relative standard error of the variance, which a horizon goes by; 0 if known."""
    if design.outcome.known_spread:
        return 0.0
    excess = 2.0
    if design.outcome.binary:
        mean = sum(arm.total for arm in statistics.arms) / statistics.units
        excess = max(0.0, 1.0 / max(1e-9, mean * (1.0 - mean)) - 4.0)
    return min(0.5, math.sqrt(excess / statistics.units))


def _paces(design: Design, statistics: Statistics, leader: int) -> tuple[float, float]:
    """Return how many units the same information takes from now on, in parts of those so far.

    It is least in even blocks, and most in blocks that are tilted as far as they may be now.
    """
    block = next_block(design, statistics).units
    active = [i for i in range(len(block)) if block[i]]
    rival = max((statistics.arms[i].units for i in active if i != leader), default=0)
    mine, all_units = statistics.arms[leader].units, statistics.units
    if not rival or not mine or len(active) < 2:
        return 1.0, 1.0
    so_far = mine * rival / (mine + rival) / all_units
    even = 0.5 / len(active)
    lead_units, each = max(block), min(block[i] for i in active)
    tilted = lead_units * each / (lead_units + each) / sum(block)
    return min(1.0, so_far / even), max(1.0, so_far / tilted)


def _rivals(
    design: Design, statistics: Statistics, leader: str, result: Sequence[Effect]
) -> list[tuple[float, float, float]]:
    """Return the leader's advantage over each rival, its lower bound and its standard error."""
    rows = []
    for one in result:
        if leader not in (one.first, one.second):
            continue
        pair = [statistics.arms[design.arms.index(name)] for name in (one.first, one.second)]
        if any(design.arms.index(name) in statistics.out for name in (one.first, one.second)):
            continue
        parts = [arm.linearised for arm in pair]
        variances = [max(0.0, a.squares / a.units - a.mean**2) / a.units for a in parts]
        mine = leader == one.first
        ahead, low = (one.difference, one.low) if mine else (-one.difference, -one.high)
        rows.append((ahead, low, math.sqrt(sum(variances))))
    return rows


def time_left_of(
    design: Design, state: ExperimentState, created: float, now: float
) -> TimeLeft | None:
    """Return the range for a live test, in units and days; None where nothing can be said yet."""
    statistics = state.statistics
    if isinstance(statistics, CohortStatistics):
        return None
    units = units_range(design, statistics)
    if units is None:
        return None
    low, high = (_days(design, state, bound, created, now) for bound in units)
    return TimeLeft(*units, low, high)


def _days(
    design: Design, state: ExperimentState, units: float, created: float, now: float
) -> float | None:
    """Return how long it takes until this many more units have counted, at the pace so far.

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
        # The last of these units arrived before the latest one, or arrives after it.
        seconds = max(0.0, state.enrolment.latest + pending + wait - now)
        if pending > 0.0:
            seconds = max(seconds, pending + wait)
    if design.withholds and state.enrolment.origin is not None:
        seconds = design.announces(state.enrolment.origin, now + seconds) - now
    if design.deadline is not None:
        seconds = min(seconds, max(0.0, design.deadline.timestamp() - now))
    return seconds / DAY
