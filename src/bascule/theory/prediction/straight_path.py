"""Compute the units of each arm in a test whose averages equal the true means, without noise.

While UCB_alpha runs it keeps all indices level, and it stops when the leader's interval parts from
its nearest rival's. Both conditions fix every radius, and a radius fixes the units that reach it
(docs/research/prediction.md). Tilted blocks are decided at the clock at which a total that grows in
a straight line is enough evidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from bascule.core.design import Design
from bascule.core.evidence.betting import BETS
from bascule.core.evidence.radius import FIRST_UNITS
from bascule.core.evidence.two_arms import log_two_arms
from bascule.core.numerics import first_after
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.intervals.procedure import ArmProcedure, log_threshold
from bascule.core.progress import interval_procedure
from bascule.theory.solve import units_at_width

SMALLEST_CLOCK = 1e-3
"""Information of a pair of arms at which the search for its decision begins."""

MOST_UNITS = 1e15
"""Number of units after which an undecided test is considered never to end."""


def interval_units(
    design: Design, procedure: ArmProcedure, other_gaps: tuple[float, ...]
) -> tuple[float, ...]:
    """Return the units of the best arm and of each rival for rules that compare intervals."""
    alpha, smallest = procedure.alpha, min(other_gaps)
    if procedure.pairwise and procedure.supports("pairs"):
        return _evidence(design, alpha, other_gaps)
    if procedure.eliminates:
        rivals = [units_at_width(design, gap / 2) for gap in other_gaps]
        return max(rivals), *rivals
    if math.isinf(alpha):
        best = units_at_width(design, smallest / 2)
        return best, *(best for _ in other_gaps)
    best = units_at_width(design, smallest * (alpha - 1) / (2 * alpha))
    widths = ((2 * gap + (alpha - 1) * smallest) / (2 * alpha) for gap in other_gaps)
    return best, *(units_at_width(design, width) for width in widths)


def _evidence(design: Design, alpha: float, other_gaps: tuple[float, ...]) -> tuple[float, ...]:
    """Return each arm's units when two-arm evidence decides, with equal UCB indices of all arms.

    The nearest rival is the last to be beaten.
    """

    def rival_units(best: float, gap: float) -> float:
        if math.isinf(alpha):
            return best
        return min(best, units_at_width(design, radius_at(design, best) + gap / alpha))

    smallest = min(other_gaps)
    best = units_to_convince(design, smallest, lambda units: rival_units(units, smallest))
    if math.isinf(best):
        return best, *(units_at_width(design, gap / alpha) for gap in other_gaps)
    return best, *(rival_units(best, gap) for gap in other_gaps)


def units_to_convince(
    design: Design, gap: float, rival_units: Callable[[float], float] = float
) -> float:
    """Return the best arm's units at which two-arm evidence decides if averages equal the means.

    `rival_units` returns the units that the rival has by then; without it, the rival has as many.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2, stop="mixture"), sides=1)
    >>> round(units_to_convince(design, 1.0), 1)
    22.3
    """
    threshold = log_threshold(len(design.arms), design.calibration.error)

    def open_at(units: float) -> bool:
        difference = gap / design.outcome.sigma
        return log_two_arms(difference, units, rival_units(units), threshold) < threshold

    return first_after(open_at, float(FIRST_UNITS), MOST_UNITS)


def information(procedure: BlockProcedure, gap: float) -> float:
    """Return the information at which a pair with this gap is decided if there is no noise.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.05, sides=1)
    >>> round(information(design.procedure, 1.0), 1)
    10.6
    """
    drift = gap / procedure.outcome.sigma

    def undecided(clock: float) -> bool:
        line = procedure.boundary(clock)
        return line is not None and drift * clock < line

    return first_after(undecided, SMALLEST_CLOCK)


def rounds_to_win(best: float, rival: float, threshold: float) -> float:
    """Return the number of pairs of 0/1 outcomes until the best bet has log wealth `threshold`.

    >>> round(rounds_to_win(0.06, 0.05, math.log(20.0)))
    11702
    """
    wins, losses = best * (1.0 - rival), rival * (1.0 - best)
    share = min(BETS[0], (wins - losses) / (wins + losses))
    growth = wins * math.log1p(share) + losses * math.log1p(-share)
    return (threshold + math.log(len(BETS))) / growth if growth > 0.0 else math.inf


def rounds_at_best(difference: float, threshold: float) -> float:
    """Return the number of blocks with this difference until bets have log wealth `threshold`.

    >>> round(rounds_at_best(0.01, math.log(20.0)))
    304
    """
    return threshold / math.log1p(BETS[0] * difference)


def radius_at(design: Design, units: float) -> float:
    """Return the radius of the interval around an arm's mean after a number of units."""
    shape, delta = interval_procedure(design).shape, design.calibration.delta
    return shape.radius(units, design.outcome.sigma, shape.factor, shape.count, delta)
