"""By how much arms differ: an interval for the difference of every pair, valid at any time.

It is made of the evidence that decides, at the same threshold: a difference lies in the interval
unless the evidence against it is enough. So an arm is beaten exactly when the interval of its
difference from a rival lies on one side of 0. Intervals are intersected with those of earlier
looks, which are kept with the statistics. docs/research/ends.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from bascule.core.design import Design
from bascule.core.evidence.calibration import Guarantee
from bascule.core.evidence.families.rows import Difference
from bascule.core.procedures.base import AnyStatistics, Procedure
from bascule.core.procedures.intervals.bounds import intersected
from bascule.core.types import NOBODY


@dataclass(frozen=True, slots=True)
class Effect:
    """The mean of one arm less that of another, and the interval that it lies in.

    `low` is ever above the true difference with a probability of at most `error`, over the whole
    test, and so is `high` below it; both lie around it at all times with a probability of at least
    `level`. Both ends are infinite while too little is known. `difference` is the estimate of the
    moment, moved to the nearest bound where earlier looks have made the interval narrower.

    >>> Effect("a", "b", 0.1, -0.1, 0.3, error=0.05, guarantee="proven").level
    0.9
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    error: float
    guarantee: Guarantee

    @property
    def level(self) -> float:
        """The probability with which both ends hold at all times, at the least: 1 - 2 error."""
        return max(0.0, 1.0 - 2.0 * self.error)

    @property
    def name(self) -> str:
        """The effect in words: "first - second"."""
        return f"{self.first} - {self.second}"

    @property
    def interval(self) -> tuple[float, float, float]:
        """The difference and both ends of its interval."""
        return self.difference, self.low, self.high

    @property
    def reversed(self) -> Effect:
        """The mean of the second arm less that of the first."""
        return replace(self.negative, first=self.second, second=self.first)

    @property
    def negative(self) -> Effect:
        """The effect with the other sign, as outcomes that are better if lower have it."""
        # Not a minus sign, which would make a bound of 0 a -0.
        difference, low, high = (0.0 - end for end in (self.difference, self.high, self.low))
        return replace(self, difference=difference, low=low, high=high)

    def of(self, arm: str) -> Effect:
        """Return the effect as the mean of one of its arms less that of the other.

        >>> Effect("a", "b", 1.0, -1.0, 3.0, 0.05, "proven").of("b").interval
        (-1.0, -3.0, 1.0)
        """
        return self if self.first == arm else self.reversed


def effects(design: Design, statistics: AnyStatistics) -> tuple[Effect, ...]:
    """Return the difference of every pair of arms, the earlier less the later one.

    A winner's interval does not reach below 0, or above it if the goal is to decrease the
    outcomes. Where only the decision says so, because the winner
    and an arm were never compared long enough themselves, the error of the effect is that of the
    decision.

    Tilted blocks with more than 20 arms list the pairs with the first arm, which is the control,
    and those with the arm that leads.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05)
    >>> from bascule.progress import ArmStatistics, Statistics
    >>> data = Statistics((ArmStatistics(100, 100.0), ArmStatistics(100, 0.0)))
    >>> (result,) = effects(design, data)
    >>> result.difference, round(result.low, 2), round(result.high, 2)
    (1.0, 0.15, 1.85)
    """
    return effects_of(design, advantages(design, statistics))


def signed(design: Design, effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """Return effects as reports show them: treatment minus control.

    Of two treatments it is the later minus the earlier one.

    >>> import bascule as bs
    >>> design = bs.Design(["control", "green"], bs.Bernoulli(), bs.Tilt(3))
    >>> (one,) = signed(design, [Effect("control", "green", -0.1, -0.2, 0.0, 0.05, "proven")])
    >>> one.name, one.difference
    ('green - control', 0.1)
    """
    order = [design.control_arm, *(arm for arm in design.arms if arm != design.control_arm)]
    place = {arm: at for at, arm in enumerate(order)}
    return tuple(one.of(max(one.first, one.second, key=place.__getitem__)) for one in effects)


def effects_of(design: Design, advantages: tuple[Effect, ...]) -> tuple[Effect, ...]:
    """Return the effects that belong to advantages: the other sign, if the goal is to decrease."""
    if design.goal == "increase":
        return advantages
    return tuple(one.negative for one in advantages)


# A status, its forecast and its page need the same intervals several times.
@lru_cache(maxsize=64)
def advantages(design: Design, statistics: AnyStatistics) -> tuple[Effect, ...]:
    """Return by how much the earlier arm of every pair is better than the later one.

    These are the effects, with the other sign where the goal is to decrease the outcomes.
    """
    (procedure, oriented), promise = design.judging(statistics), design.calibration
    pairs = procedure.compared(oriented)
    current = procedure.differences(oriented)
    shown = list(_shown(procedure, oriented, current))
    errors = [procedure.end_error] * len(shown)
    left = [arm for arm in range(len(design.arms)) if arm not in statistics.out]
    if len(left) == 1 and statistics.dropped:
        for at, pair in enumerate(pairs):
            low, high = shown[at]
            if pair[0] == left[0] and pair[1] in statistics.dropped and low < 0.0:
                shown[at], errors[at] = (0.0, max(high, 0.0)), promise.error
            elif pair[1] == left[0] and pair[0] in statistics.dropped and high > 0.0:
                shown[at], errors[at] = (min(low, 0.0), 0.0), promise.error
    return tuple(
        Effect(
            design.arms[i],
            design.arms[j],
            # What earlier looks have ruled out is no estimate.
            min(max(difference, low), high),
            low,
            high,
            error,
            promise.guarantee,
        )
        for (i, j), (difference, _, _), (low, high), error in zip(
            pairs, current, shown, errors, strict=True
        )
    )


def _shown(
    procedure: Procedure, statistics: AnyStatistics, current: list[Difference]
) -> tuple[tuple[float, float], ...]:
    """Return the running intersections, or the current intervals where none were kept."""
    now = tuple((low, high) for _, low, high in current)
    kept = statistics.bounds
    if not kept or not procedure.keeps_bounds:
        return now
    if procedure.winner(statistics) != NOBODY:
        # A decision rests on the current evidence, which may not have been kept yet.
        known = ((low, high) for _, low, high in procedure.known_differences(statistics))
        kept = intersected(kept, known)
    # With unequal units from the start nothing was kept of a pair: then the wider interval counts.
    endless = (-math.inf, math.inf)
    return tuple(
        latest if pair == endless else pair for pair, latest in zip(kept, now, strict=True)
    )


def beaten_by(design: Design, statistics: AnyStatistics, without: frozenset[int]) -> frozenset[int]:
    """Return the arms that the intervals put below some other arm, one not among `without`.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05)
    >>> from bascule.progress import ArmStatistics, Statistics
    >>> data = Statistics((ArmStatistics(100, 100.0), ArmStatistics(100, 0.0)))
    >>> sorted(beaten_by(design, data, without=frozenset()))
    [1]
    """
    procedure, oriented = design.judging(statistics)
    beaten = set()
    shown = zip(procedure.compared(oriented), advantages(design, statistics), strict=True)
    for (i, j), effect in shown:
        if effect.low >= 0.0 and i not in without:
            beaten.add(j)
        if effect.high <= 0.0 and j not in without:
            beaten.add(i)
    return frozenset(beaten)
