"""Why a test with an information horizon ends without a decision: its horizon, or futility."""

from __future__ import annotations

import math
from collections.abc import Callable

from bascule.core.evidence.horizon import conditional_power, room_left
from bascule.core.procedures.horizon.state import (
    CONSTANT,
    EFFECT,
    FUTILE,
    FUTILITY,
    GOES_ON,
    HORIZON,
    REACH,
    THRESHOLD,
    bets_of,
    variance_at_end,
)
from bascule.core.types import FloatArray

Outlook = Callable[[FloatArray, int, int, int, int, FloatArray], tuple[float, float]]
"""(state, first, arms, i, j, plan) -> what is left of the clock of a pair until its horizon, and
how far arm i is from beating arm j, both in units of the planned effect. Nothing is known yet where
infinitely much is left."""


def end_by(
    state: FloatArray,
    first: int,
    arms: int,
    plan: FloatArray,
    outlook: Outlook,
    first_ends: bool,
) -> int:
    """Return why a test ends without a decision, or that it goes on.

    An arm cannot win once a pair of it with another active arm has reached its horizon, and the
    test ends when this is so of every arm; or when it is so of any pair, if the `first_ends` it. It
    is futile if each active arm has a rival that it would beat by the horizon, were it better by
    the planned effect, with less than the probability that the plan names.
    """
    best = 0.0
    active = 0
    hopeless = 0
    for i in range(arms):
        if state[first + arms + i] > 0.0:
            active += 1
            least = 1.0
            for j in range(arms):
                if i != j and least >= 0.0 and state[first + arms + j] > 0.0:
                    left, room = outlook(state, first, arms, i, j, plan)
                    if left <= 0.0:
                        if first_ends:
                            return HORIZON
                        least = -1.0
                    elif left < math.inf and plan[FUTILITY] > 0.0:
                        least = min(least, conditional_power(room, left))
            best = max(best, least)
            if least < 0.0:
                hopeless += 1
    if active > 0 and hopeless == active:
        return HORIZON
    return FUTILE if best < plan[FUTILITY] else GOES_ON


def outlook_of_bets(
    state: FloatArray, first: int, arms: int, i: int, j: int, plan: FloatArray
) -> tuple[float, float]:
    """Return what is left of the clock of a pair, and what its first bet still has to win."""
    variance = variance_at_end(state, first, arms, i, j)
    if variance == 0.0:
        return math.inf, 0.0
    clock = state[first + 4 * arms + arms * arms + i * arms + j]
    left = plan[REACH] * plan[REACH] - plan[EFFECT] * plan[EFFECT] / variance * clock
    if left <= 0.0 or plan[FUTILITY] == 0.0:
        return left, 0.0
    owned = state[bets_of(first, arms, i, j)] - plan[THRESHOLD]
    return left, room_left(min(0.0, owned)) * math.sqrt(left)


def outlook_at_flat(
    state: FloatArray, first: int, arms: int, i: int, j: int, plan: FloatArray
) -> tuple[float, float]:
    """Return what is left of the clock of a pair, and the way to a flat boundary."""
    totals = first + 4 * arms
    clock = state[totals + arms * arms + i * arms + j]
    left = plan[REACH] * plan[REACH] - plan[EFFECT] * plan[EFFECT] * clock
    return left, plan[CONSTANT] * plan[REACH] - plan[EFFECT] * state[totals + i * arms + j]


def reason_to_end(state: FloatArray, first: int, arms: int, plan: FloatArray) -> int:
    """Return why a test with bets ends without a decision, or that it goes on."""
    if arms == 2 and plan[FUTILITY] == 0.0 and state[first + 2] + state[first + 3] == 2.0:
        # Both arms have the same horizon. Simulations take this branch most often.
        left, _ = outlook_of_bets(state, first, arms, 0, 1, plan)
        return HORIZON if left <= 0.0 else GOES_ON
    return end_by(state, first, arms, plan, outlook_of_bets, False)


def flat_reason_to_end(state: FloatArray, first: int, arms: int, plan: FloatArray) -> int:
    """Return why a test with a flat boundary ends without a decision, or that it goes on."""
    return end_by(state, first, arms, plan, outlook_at_flat, True)
