"""Differences between arms: intervals for every pair, and for each treatment minus the control.

An interval follows from the evidence that decides, at the same threshold: a difference lies in it
unless there is enough evidence against that difference. So one of two arms is beaten exactly when
the interval of their difference lies on one side of 0. Intervals are intersected with those of
earlier looks, which are kept with the statistics. docs/research/ends.md has the proofs.

The relative lift is the difference divided by the control's mean. The evidence of a test with a
horizon gives an interval of the lift (docs/research/horizon.md), except for a flat boundary with a
known spread. Otherwise it follows from the interval of the difference and one of the control's
mean, which holds at any time and for any sampling; docs/research/ends.md has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from bascule.core.design import Design
from bascule.core.evidence.calibration import Guarantee
from bascule.core.evidence.families.rows import Difference, pair_index
from bascule.core.evidence.normal import mixture_radius
from bascule.core.evidence.radius import bernstein_radius, most_squares
from bascule.core.evidence.spread import skewness, squares_about_mean, units_needed
from bascule.core.outcomes import Outcome
from bascule.core.procedures.base import AnyStatistics, Procedure
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.intervals.state import intersected
from bascule.core.statistics import ArmStatistics
from bascule.core.types import NOBODY


@dataclass(frozen=True, slots=True)
class Effect:
    """The difference of the means of two arms, first minus second, with its interval.

    The probability that `low` exceeds the true difference at any time of the test is at most
    `error`, and so is the probability that `high` falls below it. The interval therefore contains
    the difference at all times with a probability of at least `level`, which is 1 - 2 `error`. Both
    ends are infinite while too little is known. `difference` is the present estimate, moved to the
    nearest bound if earlier looks have ruled it out. An arm without outcomes enters it with a mean
    of 0; both ends are infinite then.

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
        """Minimum probability that both ends hold at all times: 1 - 2 error."""
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
        """The effect with the arms swapped: the mean of the second less that of the first."""
        return replace(self.negative, first=self.second, second=self.first)

    @property
    def negative(self) -> Effect:
        """The effect with the opposite sign, for outcomes of which less is better."""
        # Subtract from 0.0, since a minus sign would turn a bound of 0 into -0.
        difference, low, high = (0.0 - end for end in (self.difference, self.high, self.low))
        return replace(self, difference=difference, low=low, high=high)

    def of(self, arm: str) -> Effect:
        """Return the effect as the mean of `arm` less that of the other arm.

        >>> Effect("a", "b", 1.0, -1.0, 3.0, 0.05, "proven").of("b").interval
        (-1.0, -3.0, 1.0)
        """
        return self if self.first == arm else self.reversed


def effects(design: Design, statistics: AnyStatistics) -> tuple[Effect, ...]:
    """Return the difference of every pair of arms: treatment minus control.

    The difference of two treatments is that of the later minus the earlier one.

    A winner's interval does not reach below 0, or above it if the goal is to decrease the outcomes.
    If this follows from the decision alone, because the winner and an arm were not compared with
    each other for long enough, the error of the effect is that of the decision.

    Tilted blocks with more than 20 arms list only the pairs with the control and those with the
    arm that leads.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05)
    >>> from bascule.progress import ArmStatistics, Statistics
    >>> data = Statistics((ArmStatistics(100, 100.0), ArmStatistics(100, 0.0)))
    >>> (result,) = effects(design, data)
    >>> result.difference, round(result.low, 2), round(result.high, 2)
    (-1.0, -1.85, -0.15)
    """
    return signed(design, effects_of(design, advantages(design, statistics)))


def signed(design: Design, effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """Return effects as reports show them: treatment minus control.

    The effect of two treatments is that of the later minus the earlier one.

    >>> import bascule as bs
    >>> design = bs.Design(["control", "green"], bs.Bernoulli(), bs.Tilt(3))
    >>> (one,) = signed(design, [Effect("control", "green", -0.1, -0.2, 0.0, 0.05, "proven")])
    >>> one.name, one.difference
    ('green - control', 0.1)
    """
    order = [design.control_arm, *(arm for arm in design.arms if arm != design.control_arm)]
    place = {arm: at for at, arm in enumerate(order)}
    return tuple(
        effect.of(max(effect.first, effect.second, key=place.__getitem__)) for effect in effects
    )


def effects_of(design: Design, advantages: tuple[Effect, ...]) -> tuple[Effect, ...]:
    """Convert advantages to effects: the sign changes if the goal is to decrease outcomes."""
    if design.goal == "increase":
        return advantages
    return tuple(advantage.negative for advantage in advantages)


# A status, its forecast and its page need the same intervals several times.
@lru_cache(maxsize=64)
def advantages(design: Design, statistics: AnyStatistics) -> tuple[Effect, ...]:
    """Return by how much the earlier arm of every pair is better than the later one.

    These are the effects, with the opposite sign if the goal is to decrease the outcomes.
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
            # An estimate that earlier looks have ruled out is moved into the interval.
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
    """Return the intersections of all intervals so far, or the current ones if none were stored."""
    now = tuple((low, high) for _, low, high in current)
    kept = statistics.bounds
    if not kept or not procedure.keeps_bounds:
        return now
    always = isinstance(procedure, BlockProcedure) and procedure.evidence.holds_at_every_look
    if always or procedure.winner(statistics) != NOBODY:
        # The current intervals may not have been stored yet. A decision follows from them, and so
        # do the lifts of bets, whose intervals hold at every look.
        known = ((low, high) for _, low, high in procedure.known_differences(statistics))
        kept = intersected(kept, known)
    # A pair without a stored interval (it never had equal units) shows its current one.
    endless = (-math.inf, math.inf)
    return tuple(
        latest if pair == endless else pair for pair, latest in zip(kept, now, strict=True)
    )


PART = 0.05
"""Error of each bound of the control's mean, as a fraction of the error of a difference."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """The mean of a treatment minus that of the control, in outcome units and relative to it.

    `low` and `high` each fail with probability at most `error`, over the whole test, and so do
    `lift_low` and `lift_high` with `lift_error`. A lift of 0.1 is 10 % of the control's mean. The
    lift is None if the control's mean is not above 0. The bounds of the lift are infinite as long
    as that mean may be 0. If outcomes cannot be negative, a lift below -100 % is None, and no bound
    is below it. `unbiased` is the median-unbiased estimate of the difference after a decision, None
    before one.
    """

    treatment: str
    control: str
    difference: float
    low: float
    high: float
    error: float
    lift: float | None
    lift_low: float
    lift_high: float
    lift_error: float
    guarantee: Guarantee
    unbiased: float | None = None

    @property
    def name(self) -> str:
        """The contrast in words: "green - control"."""
        return f"{self.treatment} - {self.control}"


def lifts(
    design: Design, statistics: AnyStatistics, effects: Sequence[Effect]
) -> dict[str, tuple[float, float]]:
    """Return the bounds of each treatment's lift by its name; empty if the evidence gives none.

    Each bound fails with probability at most the error of the difference, and is on the same side
    of 0 as the corresponding bound of the difference. `effects` are those of the design.
    """
    if design.procedure.counts != "blocks" or design.adjustment is not None:
        return {}
    procedure, oriented = design.judging(statistics)
    assert isinstance(procedure, BlockProcedure)
    params, bounds, control = procedure.params, procedure.evidence.lift, design.control_index
    if bounds is None or params.direction == 0.0:
        return {}
    _, pairs = procedure.rows(oriented)
    listed = {}
    for effect in effects:
        if design.control_arm not in (effect.first, effect.second):
            continue
        name = effect.first if effect.second == design.control_arm else effect.second
        arm, (_, low, high) = design.arms.index(name), effect.of(name).interval
        pair = pairs[pair_index(len(design.arms), arm, control)]
        shown = low * params.precision, high * params.precision
        known = bounds(pair, shown, 1.0 if control < arm else -1.0, params)
        if known is not None:
            least = max(known[0], -1.0) if design.outcome.nonnegative else known[0]
            listed[name] = float(least), float(known[1])
    return listed


def contrasts(
    design: Design,
    effects: Sequence[Effect],
    control: ArmStatistics | None,
    mean: float | None,
    lifts: Mapping[str, tuple[float, float]] = MappingProxyType({}),
) -> tuple[Contrast, ...]:
    """Return the contrast of each arm with the control, in the order of the arms.

    `effects` are those of the design. `control` has the statistics of the control. It is None if
    outcomes recur: then only the control's `mean` is used, and lifts have no bounds. Lifts have no
    bounds if outcomes are adjusted by covariates either, because the mean of an arm is then not an
    average of its outcomes. `lifts` are the bounds of the treatments whose evidence has them; those
    of others follow from the difference and an interval of the control's mean.

    >>> import bascule as bs
    >>> design = bs.Design(["control", "green"], bs.Gaussian(1), bs.UCB(2))
    >>> from bascule.progress import ArmStatistics, Statistics, effects
    >>> data = Statistics((ArmStatistics(100, 400.0), ArmStatistics(100, 500.0)))
    >>> (result,) = contrasts(design, effects(design, data), data.arms[0], data.arms[0].mean)
    >>> result.name, result.lift, round(result.lift_low, 2), round(result.lift_high, 2)
    ('green - control', 0.25, 0.03, 0.52)
    """
    name, listed = design.control_arm, []
    radii: dict[float, float] = {}
    for effect in effects:
        if name not in (effect.first, effect.second):
            continue
        treatment = effect.second if name == effect.first else effect.first
        three = effect.of(treatment).interval
        part = 0.0 if treatment in lifts else PART * effect.error
        if part and part not in radii:
            radii[part] = (
                math.inf
                if control is None or design.adjustment is not None
                else mean_radius(design.outcome, control, part)
            )
        if treatment in lifts:
            lift, low, high = _known_lift(three, mean, lifts[treatment])
        else:
            lift, low, high = _relative(design.outcome, three, mean, radii[part])
        listed.append(
            Contrast(
                treatment=treatment,
                control=name,
                difference=three[0],
                low=three[1],
                high=three[2],
                error=effect.error,
                lift=lift,
                lift_low=low,
                lift_high=high,
                lift_error=min(1.0, effect.error + 2.0 * part),
                guarantee=effect.guarantee,
            )
        )
    places = {arm: place for place, arm in enumerate(design.arms)}
    return tuple(sorted(listed, key=lambda effect: places[effect.treatment]))


def mean_radius(outcome: Outcome, arm: ArmStatistics, level: float) -> float:
    """Return a radius around an arm's mean that holds at any time and for any sampling.

    Each end fails with probability at most `level`, or about that if the spread is estimated.

    >>> import bascule as bs
    >>> round(mean_radius(bs.Bernoulli(), ArmStatistics(10_000, 500.0, 500.0), 0.0025), 4)
    0.0101
    """
    if outcome.limited:
        limits = outcome.low, outcome.high
        squares = most_squares(arm.units, arm.total, arm.squares, *limits)
        return bernstein_radius(arm.units, squares, *limits, level)
    return mixture_radius(arm.units, _spread(outcome, arm), level)


def _spread(outcome: Outcome, arm: ArmStatistics) -> float:
    """Return the spread of an arm's outcomes: stated, or estimated once it has enough units."""
    if not outcome.estimated:
        return outcome.sigma
    arm = arm.linearised
    sums = (float(arm.units), arm.total, arm.squares)
    if arm.units < units_needed(skewness(*sums, arm.cubes), math.nan):
        return math.inf
    return math.sqrt(squares_about_mean(*sums) / (arm.units - 1))


def _known_lift(
    three: tuple[float, float, float], mean: float | None, bounds: tuple[float, float]
) -> tuple[float | None, float, float]:
    """Return the lift and its given bounds, cut off at 0 if the difference has a proven sign."""
    if mean is None or mean <= 0.0:
        return None, -math.inf, math.inf
    (difference, low, high), (lowest, highest) = three, bounds
    if low >= 0.0:
        lowest = max(lowest, 0.0)
    if high <= 0.0:
        highest = min(highest, 0.0)
    return min(max(difference / mean, lowest), highest), lowest, highest


def _relative(
    outcome: Outcome, three: tuple[float, float, float], mean: float | None, radius: float
) -> tuple[float | None, float, float]:
    """Return the lift and its bounds, from the difference and the radius of the control's mean."""
    if mean is None or mean <= 0.0:
        return None, -math.inf, math.inf
    difference, low, high = three
    # The mean of nonnegative outcomes cannot fall by more than 100 %. The quotient may, because the
    # means of blocks differ from those of arms.
    floor = -1.0 if outcome.nonnegative else -math.inf
    lift = difference / mean
    # Lower and upper bound of the control's mean.
    least, most = mean - radius, mean + radius
    if least <= 0.0:
        return lift if lift >= floor else None, -math.inf, math.inf
    lowest = max(low / (most if low >= 0.0 else least), floor)
    highest = high / (least if high >= 0.0 else most)
    return min(max(lift, lowest), highest), lowest, highest
