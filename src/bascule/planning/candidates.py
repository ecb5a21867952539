"""Which rules a plan looks at: tilted blocks and UCB_alpha along their knobs, and an even split."""

from __future__ import annotations

from bascule.core.outcomes import Gaussian, Recurrent
from bascule.core.rules import ETC, UCB, AnyRule, Tilt
from bascule.planning.request import Wishes

TILTS = (1.0, 3.0, 5.0, 8.0, 12.0, 20.0)
PLAIN_TILTS = (3.0, 8.0)
"""Tilts that are also looked at without the effect that is worth finding."""

ALPHAS = (2.0, 4.0, 16.0)

BETWEEN = 3
"""New tilts between two neighbours when the search looks closer."""


def even_split(wishes: Wishes) -> AnyRule:
    """The rule that gives every arm as many units, at the same proven error.

    >>> even_split(Wishes())
    Tilt(tilt=1.0, effect=None, batch=1)
    """
    if isinstance(wishes.outcome, Recurrent):
        return ETC(stop="mixture")
    return tilted(wishes, 1.0)


def tilted(wishes: Wishes, tilt: float) -> Tilt:
    """Tilted blocks as they serve these wishes best: informed of the lift where that can be.

    >>> tilted(Wishes(Gaussian(1.0), 0, 0.5), 3.0).effect
    0.5
    """
    return Tilt(tilt, wishes.gap if isinstance(wishes.outcome, Gaussian) else None)


def candidates(wishes: Wishes) -> tuple[AnyRule, ...]:
    """The rules of the first look.

    Units whose outcomes recur are not compared in blocks, and UCB_alpha takes the place of the
    tilts. Elsewhere it is shown beside them for two arms, where theory can say what it does.

    >>> [rule.label for rule in candidates(Wishes(arms=3))][:2]
    ['Tilt_1', 'Tilt_3']
    """
    if isinstance(wishes.outcome, Recurrent):
        recurring = [UCB(alpha, radius="mixture", stop="mixture") for alpha in ALPHAS]
        return (*recurring, even_split(wishes))
    rules: list[AnyRule] = [tilted(wishes, tilt) for tilt in TILTS]
    if len(wishes.names) == 2:
        if isinstance(wishes.outcome, Gaussian):
            rules += [Tilt(tilt) for tilt in PLAIN_TILTS]
        rules += [UCB(alpha, stop="mixture") for alpha in ALPHAS]
    return tuple(rules)


def closer(wishes: Wishes, tilt: float, tried: tuple[float, ...]) -> tuple[Tilt, ...]:
    """Whole tilts on either side of one, up to those that were tried already.

    >>> [rule.tilt for rule in closer(Wishes(), 8.0, TILTS)]
    [6.0, 7.0, 9.0, 10.0, 11.0]
    """
    below = max((other for other in tried if other < tilt), default=tilt)
    above = min((other for other in tried if other > tilt), default=tilt)
    return tuple(tilted(wishes, new) for new in (*_between(below, tilt), *_between(tilt, above)))


def _between(low: float, high: float) -> list[float]:
    """A few whole numbers between two, spread evenly."""
    step = (high - low) / (BETWEEN + 1)
    found = {float(round(low + step * part)) for part in range(1, BETWEEN + 1)}
    return sorted(found - {low, high})


def is_even(rule: AnyRule) -> bool:
    """Whether a rule gives every arm as many units.

    >>> is_even(Tilt(1)), is_even(Tilt(2))
    (True, False)
    """
    return isinstance(rule, ETC) or (isinstance(rule, Tilt) and rule.tilt == 1)
