"""Units of each arm on the path on which noise averages out.

While UCB_alpha runs it keeps all indices level, and it stops when the leader's interval parts from
its nearest rival's. Both conditions fix every radius, and a radius fixes the units that reach it.
Tilted blocks are decided at the clock at which a straight total has evidence enough.
docs/research/prediction.md derives both.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bascule.core.design import Design
from bascule.core.evidence.betting import BETS
from bascule.core.evidence.radius import FIRST_UNITS
from bascule.core.evidence.two_arms import log_two_arms
from bascule.core.numerics import turning_point
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.intervals.procedure import ArmProcedure, Shape, log_threshold
from bascule.core.progress import interval_procedure
from bascule.theory.solve import arm_units_until, units_until

CLOCK_STEPS, NOISE_NODES = 400, 21
"""How finely the way of a tilted test is followed, along its clock and across its noise."""

MOST_UNITS = 1e15
"""A test that is still open here is taken to be open for ever."""


def interval_units(
    design: Design, procedure: ArmProcedure, others: tuple[float, ...]
) -> tuple[float, list[float]]:
    """Return the units of the best arm and of each rival where intervals decide."""
    alpha, smallest = procedure.alpha, min(others)
    if procedure.pairwise and not design.outcome.recurring:
        return _evidence(design, alpha, others)
    if procedure.eliminates:
        rivals = [units_at_width(design, gap / 2) for gap in others]
        return max(rivals), rivals
    if math.isinf(alpha):
        best = units_at_width(design, smallest / 2)
        return best, [best for _ in others]
    best = units_at_width(design, smallest * (alpha - 1) / (2 * alpha))
    return best, [
        units_at_width(design, (2 * gap + (alpha - 1) * smallest) / (2 * alpha)) for gap in others
    ]


def _evidence(design: Design, alpha: float, others: tuple[float, ...]) -> tuple[float, list[float]]:
    """Level indices tie the units of a rival to those of the best arm; the evidence ends the test.

    The nearest rival is the last to be beaten.
    """

    def rival_units(best: float, gap: float) -> float:
        if math.isinf(alpha):
            return best
        return min(best, units_at_width(design, radius_at(design, best) + gap / alpha))

    smallest = min(others)
    best = units_to_convince(design, smallest, lambda units: rival_units(units, smallest))
    if math.isinf(best):
        return best, [units_at_width(design, gap / alpha) for gap in others]
    return best, [rival_units(best, gap) for gap in others]


def units_to_convince(
    design: Design, gap: float, rival_units: Callable[[float], float] = float
) -> float:
    """Units of the best arm at which the two-arm evidence is enough if the means are as they are.

    `rival_units` says how many the rival has by then; without it, as many.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2, stop="mixture"), sides=1)
    >>> round(units_to_convince(design, 1.0), 1)
    22.3
    """
    threshold = log_threshold(len(design.arms), design.calibration.error)

    def open_at(units: float) -> bool:
        difference = gap / design.outcome.sigma
        return log_two_arms(difference, units, rival_units(units), threshold) < threshold

    low, high = float(FIRST_UNITS), 2.0 * FIRST_UNITS
    if not open_at(low):
        return low
    while open_at(high):
        low, high = high, 2.0 * high
        if high > MOST_UNITS:
            return math.inf
    return turning_point(open_at, low, high)


def block_units(procedure: BlockProcedure, others: tuple[float, ...]) -> tuple[float, list[float]]:
    """Units along the clock: a pair gains h for (1 + r) h of the leader and (1 + 1/r) h of a rival,
    with r on its way from 1 to the tilt as the lead over the nearest rival grows.
    """
    needed = [information(procedure, gap) for gap in others]
    if math.inf in needed:
        return math.inf, [math.inf for _ in others]
    clocks = max(needed) * np.linspace(0.0, 1.0, CLOCK_STEPS + 1) ** 2
    middles = (clocks[1:] + clocks[:-1]) / 2
    leads = min(others) / procedure.outcome.sigma * np.sqrt(middles)
    nodes, weights = np.polynomial.hermite_e.hermegauss(NOISE_NODES)
    share = np.vectorize(procedure.share, otypes=[float])
    units = share(np.abs(leads[:, None] + nodes), procedure.tilt)
    weights = weights / weights.sum()
    of_leader = np.concatenate([[0.0], np.cumsum(np.diff(clocks) * (1 + units @ weights))])
    of_rival = np.concatenate([[0.0], np.cumsum(np.diff(clocks) * (1 + (1 / units) @ weights))])
    return float(of_leader[-1]), [float(np.interp(h, clocks, of_rival)) for h in needed]


def information(procedure: BlockProcedure, gap: float) -> float:
    """The clock at which a pair with this gap is decided if its total runs straight.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.05, sides=1)
    >>> round(information(design.procedure, 1.0), 1)
    10.6
    """
    drift = gap / procedure.outcome.sigma

    def undecided(clock: float) -> bool:
        line = procedure.boundary(clock)
        return line is not None and drift * clock < line

    low, high = 0.0, 1.0
    while undecided(high):
        low, high = high, 2 * high
        if high > 1e300:
            return math.inf
    return turning_point(undecided, low, high)


def rounds_to_win(best: float, rival: float, threshold: float) -> float:
    """Pairs of 0/1 outcomes after which the best share of all has won `threshold`, as a log.

    >>> round(rounds_to_win(0.06, 0.05, math.log(20.0)))
    11702
    """
    wins, losses = best * (1.0 - rival), rival * (1.0 - best)
    share = min(BETS[0], (wins - losses) / (wins + losses))
    growth = wins * math.log1p(share) + losses * math.log1p(-share)
    return (threshold + math.log(len(BETS))) / growth if growth > 0.0 else math.inf


def rounds_at_best(difference: float, threshold: float) -> float:
    """Blocks after which bets have won `threshold`, as a log, if none of them brings a surprise.

    >>> round(rounds_at_best(0.01, math.log(20.0)))
    304
    """
    return threshold / math.log1p(BETS[0] * difference)


def radius_at(design: Design, units: float) -> float:
    """Return the radius around the mean of an arm by its units."""
    shape, delta = _shape(design)
    return shape.radius(units, design.outcome.sigma, shape.factor, shape.count, delta)


def _shape(design: Design) -> tuple[Shape, float]:
    return interval_procedure(design).shape, design.calibration.delta


def units_at_width(design: Design, width: float) -> float:
    """Return the units with which the radius of an arm is so wide."""
    if design.outcome.recurring:
        return arm_units_until(design, width)
    shape, delta = _shape(design)
    return units_until(width, design.outcome.sigma, shape, delta)
