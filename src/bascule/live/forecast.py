"""How much longer a live test will take, and what turning its knob would change. No guarantee.

A forecast takes the means as they look now. At another knob the part of the way that is covered
stays, and what is left of it is gone at the new pace.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.rules import UCB, Tilt
from bascule.core.statistics import Statistics
from bascule.theory import Prediction, mean_path, predict


@dataclass(frozen=True, slots=True)
class Turn:
    """What is expected of a test from here on with its knob at `value`.

    `units` are those until a decision, and `cost` what they will lose against giving each of them
    the arm that looks best now.
    """

    value: float
    units: float
    cost: float


def knob_of(design: Design) -> tuple[str, float] | None:
    """The name of a design's knob and where it stands; None where there is nothing to turn.

    >>> import bascule as bs
    >>> knob_of(bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3)))
    ('tilt', 3.0)
    """
    rule = design.rule
    if isinstance(rule, Tilt):
        return "tilt", rule.tilt
    if isinstance(rule, UCB) and math.isfinite(rule.alpha):
        return "alpha", rule.alpha
    return None


def units_left(design: Design, seen: Statistics) -> float | None:
    """The units that a decision is expected to take from here, if the means are as they look.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
    >>> units_left(design, Statistics.empty(2)) is None
    True
    """
    expected = expectation(design, seen)
    return None if expected is None else max(0.0, expected.decision_time - seen.units)


def turns(design: Design, seen: Statistics, values: Sequence[float]) -> tuple[Turn, ...]:
    """What is expected with the knob at each value; nothing where theory does not say.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
    >>> seen = Statistics((bs.ArmStatistics(50, 20.0, 58.0), bs.ArmStatistics(50, 0.0, 50.0)))
    >>> [(turn.value, round(turn.units), round(turn.cost)) for turn in turns(design, seen, [3, 9])]
    [(3, 185, 23), (9, 333, 20)]
    """
    from bascule.live.changes import with_knob

    now, knob = expectation(design, seen), knob_of(design)
    if now is None or knob is None:
        return ()
    left = max(0.0, 1.0 - seen.units / now.decision_time)
    found = []
    for value in values:
        then = expectation(with_knob(design, knob[0], value), seen)
        if then is not None:
            found.append(Turn(value, left * then.decision_time, left * then.regret))
    return tuple(found)


def expectation(design: Design, seen: Statistics) -> Prediction | None:
    """What theory says of the whole test, if the means are as they look; None where nothing."""
    arms = [arm for i, arm in enumerate(seen.arms) if i not in seen.out]
    if len(arms) != len(seen.arms) or any(arm.units == 0 for arm in arms):
        return None
    means = sorted((arm.mean for arm in arms), reverse=True)
    gaps = tuple(_rounded(means[0] - mean) for mean in means[1:])
    spread = math.sqrt(max(0.0, sum(a.squares - a.units * a.mean**2 for a in arms) / seen.units))
    return _expected(design, gaps, _rounded(means[0]), _rounded(spread))


@lru_cache(maxsize=1024)
def _expected(
    design: Design, gaps: tuple[float, ...], best: float, spread: float
) -> Prediction | None:
    # Dear enough to be kept; the noise of two arms under the stop of a mixture is dearer still.
    try:
        if isinstance(design.rule, UCB) and design.rule.stop == "mixture":
            expected = mean_path(design, gaps)
        else:
            expected = predict(design, gaps, best=best, noise=spread or None)
    except (InputError, ArithmeticError):
        return None
    return expected if math.isfinite(expected.decision_time) else None


def _rounded(value: float) -> float:
    """Two digits are more than anyone knows, and spare computing the same again at every look."""
    return float(f"{value:.2g}")
