"""Forecasts of a live test: the effect of changing its rule's knob, and the cost of an even split.

A forecast assumes that the true differences equal the present estimates. If the knob has another
value, the time left changes in the same proportion as the duration of the whole test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.metrics.effects import Effect, advantages
from bascule.core.metrics.metric import DIRECTION
from bascule.core.procedures.base import AnyStatistics
from bascule.core.statistics import Statistics
from bascule.live.steps.folding import with_knob
from bascule.theory import Prediction
from bascule.theory.prediction.predict import quick_prediction


@dataclass(frozen=True, slots=True)
class Turn:
    """The forecast of the rest of a test with its knob at `value`.

    `units` is the number of units until a decision, and `cost` is their expected loss compared with
    giving each of them the arm that looks best now.
    """

    value: float
    units: float
    cost: float


def knob_of(design: Design) -> tuple[str, float] | None:
    """Return the name and value of the knob of a design's rule; None without a finite value.

    >>> import bascule as bs
    >>> knob_of(bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3)))
    ('tilt', 3.0)
    """
    knob = design.rule.knob
    if knob is None or not math.isfinite(knob.value):
        return None
    return knob.name, knob.value


def turns(
    design: Design, statistics: AnyStatistics, left: float, values: Sequence[float]
) -> tuple[Turn, ...]:
    """Forecast the rest of a test for each value of its rule's knob; empty if theory has none.

    `left` is the expected number of units of the rest at the current value of the knob.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
    >>> from bascule.progress import ArmStatistics, Statistics
    >>> data = Statistics((ArmStatistics(50, 20.0, 58.0), ArmStatistics(50, 0.0, 50.0)))
    >>> result = turns(design, data, 200.0, [3, 9])
    >>> [(turn.value, round(turn.units), round(turn.cost)) for turn in result]
    [(3, 200, 24), (9, 365, 21)]
    """
    now, knob = expectation(design, statistics), knob_of(design)
    if now is None or knob is None:
        return ()
    part = left / now.decision_time
    predictions, means = [], _means(design, statistics)
    for value in values:
        turned = expectation(with_knob(design, knob[0], value), statistics, means)
        if turned is not None:
            predictions.append(Turn(value, part * turned.decision_time, part * turned.regret))
    return tuple(predictions)


def shown_means(
    design: Design, means: Sequence[float], leader: str, effects: Sequence[Effect]
) -> list[float]:
    """Return the mean of the leader, and those of the other arms by their differences from it.

    `means` are averages of all outcomes, which mix units of different days in proportions that
    depend on the split at the time. `effects` are the advantages, which compare units of the same
    time if the rule does so. The average of an arm other than the leader is used only if `effects`
    do not compare it with the leader yet.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
    >>> ahead = Effect("a", "b", -0.25, -0.5, 0.5, error=0.05, guarantee="gaussian")
    >>> shown_means(design, [2.0, 1.0], "b", [ahead])
    [0.75, 1.0]
    """
    up = DIRECTION[design.goal]
    best, shown = means[design.arms.index(leader)], list(means)
    for effect in effects:
        is_known = (
            effect.difference != 0.0 or math.isfinite(effect.low) or math.isfinite(effect.high)
        )
        if leader not in (effect.first, effect.second) or not is_known:
            continue
        rival, ahead = (
            (effect.second, effect.difference)
            if leader == effect.first
            else (effect.first, -effect.difference)
        )
        shown[design.arms.index(rival)] = best - up * ahead
    return shown


def _means(design: Design, statistics: AnyStatistics) -> list[float]:
    """Return the means of the arms, made consistent with the differences that decide the test."""
    assert isinstance(statistics, Statistics)
    means, effects = (
        [arm.mean if arm.units else 0.0 for arm in statistics.arms],
        advantages(design, statistics),
    )
    leader, _ = lead(design, statistics, effects)
    return means if leader is None else shown_means(design, means, leader, effects)


def expectation(
    design: Design, statistics: AnyStatistics, shown: Sequence[float] | None = None
) -> Prediction | None:
    """Return the prediction of the whole test at the observed means, or None if theory has none.

    Arms that are out are left out, and the others keep their shares of the error. `shown` are the
    means to use if the test has run with another design so far.
    """
    if not design.procedure.supports("forecast"):
        return None
    assert isinstance(statistics, Statistics)
    into = [i for i in range(len(statistics.arms)) if i not in statistics.out]
    arms = [statistics.arms[i] for i in into]
    if len(arms) < 2 or any(arm.units == 0 for arm in arms):
        return None
    looks = _means(design, statistics) if shown is None else shown
    if len(arms) < len(statistics.arms):
        if design.error is None or design.procedure.counts != "blocks":
            return None
        error = design.error * (len(arms) - 1) / (len(statistics.arms) - 1)
        # The control may be one of the arms that are out; the prediction does not depend on it.
        arms_left = [design.arms[i] for i in into]
        design = replace(design, arms=arms_left, error=error, control=None)
    means = sorted((looks[i] for i in into), key=design.oriented, reverse=True)
    gaps = tuple(_rounded(abs(means[0] - mean)) for mean in means[1:])
    # Means must lie within the limits of the outcomes: all are shifted, which keeps the gaps.
    beyond = max(0.0, design.outcome.low - min(means)) - max(0.0, max(means) - design.outcome.high)
    units = sum(arm.units for arm in arms)
    counted = [arm.linearised for arm in arms]
    spread = math.sqrt(max(0.0, sum(a.squares - a.units * a.mean**2 for a in counted) / units))
    return _expected(design, gaps, _rounded(means[0] + beyond), _rounded(spread))


def even_split(
    design: Design, statistics: AnyStatistics, waiting: float = 0.0
) -> Prediction | None:
    """Return the prediction of a whole test with an even split, up to its decision or cap on units.

    It uses the current means. `waiting` is the number of further units enrolled until the windows
    of the deciding units close. The result is None if the rule has no even split, or if theory has
    no prediction, as for tests with guardrails.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
    >>> from bascule.progress import ArmStatistics, Statistics
    >>> data = Statistics((ArmStatistics(50, 20.0, 58.0), ArmStatistics(50, 0.0, 50.0)))
    >>> expected = even_split(design, data)
    >>> round(expected.decision_time), round(expected.regret)
    (273, 55)
    """
    if not design.procedure.supports("forecast") or design.guardrails:
        return None
    knob = design.rule.knob
    even = design
    if knob is not None:
        try:
            even = replace(design, rule=design.rule.with_knob(knob.soonest))
        except InputError:
            return None
    if not even.procedure.even:
        return None
    # An even split starts with all arms, including those that have been beaten since.
    expected = expectation(
        even, replace(statistics, dropped=frozenset()), _means(design, statistics)
    )
    if expected is None:
        return None
    enrolled = min(expected.decision_time + waiting, float(design.max_units or math.inf))
    # Every unit of an even split costs the same.
    part = enrolled / expected.decision_time
    return replace(expected, units=tuple(part * units for units in expected.units))


@lru_cache(maxsize=1024)
def _expected(
    design: Design, gaps: tuple[float, ...], best: float, spread: float
) -> Prediction | None:
    # Cached because a prediction takes many milliseconds.
    try:
        expected = quick_prediction(design, gaps, best, spread or None)
    except (InputError, ArithmeticError):
        return None
    return expected if math.isfinite(expected.decision_time) else None


def _rounded(value: float) -> float:
    """Round to two significant digits, so that cached predictions can be reused."""
    return float(f"{value:.2g}")


def lead(
    design: Design, statistics: AnyStatistics, effects: Sequence[Effect]
) -> tuple[str | None, float]:
    """Return the arm that is closest to beating all others, and its progress to that, from 0 to 1.

    The arm is None before the first unit has counted. `effects` are the advantages of the first arm
    of each pair over the second.
    """
    into = [name for i, name in enumerate(design.arms) if i not in statistics.out]
    shares = dict.fromkeys(into, 1.0)
    rivals, nearest = dict.fromkeys(into, 0), dict.fromkeys(into, math.inf)
    # A bound at the largest possible difference tells nothing. Bounds are found by a search with a
    # small error, so all bounds this close are treated as the largest difference.
    known_from = -(design.outcome.high - design.outcome.low) * (1.0 - 1e-9)
    for effect in effects:
        sides = (
            (effect.first, effect.second, effect.difference, effect.low),
            (effect.second, effect.first, -effect.difference, -effect.high),
        )
        for mine, rival, difference, low in sides:
            if mine in shares and rival in shares:
                shares[mine] = min(shares[mine], _share(difference, low, known_from))
                nearest[mine] = min(nearest[mine], difference)
                rivals[mine] += 1
    # With many arms not every pair is listed, but the leader is compared with every other arm.
    compared = [name for name in into if rivals[name] == len(into) - 1]
    # Ties, as before pairs have bounds, go to the arm furthest ahead of its nearest rival.
    best = max(compared, key=lambda name: (shares[name], nearest[name]))
    return (best, shares[best]) if statistics.units else (None, 0.0)


def _share(difference: float, low: float, known_from: float) -> float:
    if low >= 0.0:
        return 1.0
    if low <= known_from or difference <= 0.0:
        return 0.0
    return difference / (difference - low)
