"""By how much arms differ: an interval for the difference of every pair, valid at any time.

It is made of the evidence that decides, at the same threshold: a difference lies in the interval
unless the evidence against it is enough. So an arm is beaten exactly when the interval of its
difference from a rival lies on one side of 0. docs/explanation/ends.md has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass

from bascule.core.calibration import Guarantee
from bascule.core.design import Design
from bascule.core.procedures.base import AnyStatistics


@dataclass(frozen=True, slots=True)
class Effect:
    """The mean of one arm less that of another, and the interval that it lies in.

    Each end is ever wrong with a probability of at most `error`; both ends are infinite while too
    little is known.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    error: float
    guarantee: Guarantee


def effects(design: Design, statistics: AnyStatistics) -> tuple[Effect, ...]:
    """The difference of every pair of arms, the earlier less the later one.

    Tilted blocks with more than 20 arms list the pairs with the first arm, which is the control,
    and those with the arm that leads.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05)
    >>> seen = bs.Statistics((bs.ArmStatistics(100, 100.0), bs.ArmStatistics(100, 0.0)))
    >>> (found,) = effects(design, seen)
    >>> found.difference, round(found.low, 2), round(found.high, 2)
    (1.0, 0.19, 1.81)
    """
    promise, error = design.calibration, design.procedure.end_error
    arms, procedure = design.arms, design.procedure
    listed = zip(procedure.compared(statistics), procedure.ends(statistics), strict=True)
    return tuple(
        Effect(arms[i], arms[j], *ends, error, promise.guarantee) for (i, j), ends in listed
    )


def beaten_by(design: Design, statistics: AnyStatistics, without: frozenset[int]) -> frozenset[int]:
    """Arms that the evidence puts below some other arm, one that is not among `without`.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05)
    >>> seen = bs.Statistics((bs.ArmStatistics(100, 100.0), bs.ArmStatistics(100, 0.0)))
    >>> sorted(beaten_by(design, seen, without=frozenset()))
    [1]
    """
    return design.procedure.beaten(statistics, without)
