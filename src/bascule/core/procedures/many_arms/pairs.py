"""What the pairs of a test of many arms have shown: which arms are beaten, and which are alike.

The pairs are read from the rows of `many_arms.state`, the rows of both arms together.
"""

from __future__ import annotations

import math

from bascule.core.evidence.betting import log_shifted_wealth, log_wealth_of_sums, sums_may_reach
from bascule.core.procedures.blocks.state import CanReach, Evidence, beaten
from bascule.core.procedures.intervals.state import FloatArray
from bascule.core.procedures.many_arms.state import CLOCK, CUBES, FOURTHS, SQUARES, TOTAL, row_of

SPARED = 0.1
"""The part of the error that is kept for differences between two arms of which none is the best.

It is needed only where a design names the smallest difference that matters.
"""


def number_of(state: FloatArray, first: int, arms: int, i: int, j: int, which: int) -> float:
    """Return one of the numbers of a pair, arm i minus arm j, from the rows of both."""
    number = 0.0
    if state[first + 6 * arms + i] > 0.0:
        number += state[row_of(state, first, arms, i) + which * arms + j]
    if state[first + 6 * arms + j] > 0.0:
        # Odd powers change their sign with the order of the arms.
        other = state[row_of(state, first, arms, j) + which * arms + i]
        number += -other if which in (TOTAL, CUBES) else other
    return number


def drop_beaten(
    state: FloatArray,
    first: int,
    arms: int,
    evidence: Evidence | None,
    can_reach: CanReach,
    effect: float,
    threshold: float,
    floors: FloatArray,
) -> None:
    """Drop, in place, each arm that another active one has beaten in a row that has changed.

    Bets decide where there is no other evidence. `floors` are those of `blocks.state.beaten`.
    """
    for i in range(arms):
        if state[first + 7 * arms + i] > 0.0:
            state[first + 7 * arms + i] = 0.0
            for j in range(arms):
                if j != i and state[first + arms + i] > 0.0 and state[first + arms + j] > 0.0:
                    if evidence is None:
                        total = number_of(state, first, arms, i, j, TOTAL)
                        squares = number_of(state, first, arms, i, j, SQUARES)
                        if sums_may_reach(threshold, total, squares):
                            cubes = number_of(state, first, arms, i, j, CUBES)
                            fourths = number_of(state, first, arms, i, j, FOURTHS)
                            if log_wealth_of_sums(total, squares, cubes, fourths) >= threshold:
                                state[first + arms + j] = 0.0
                            if log_wealth_of_sums(-total, squares, -cubes, fourths) >= threshold:
                                state[first + arms + i] = 0.0
                    else:
                        clock = number_of(state, first, arms, i, j, CLOCK)
                        total = number_of(state, first, arms, i, j, TOTAL)
                        if clock > 0.0 and beaten(
                            total, clock, evidence, can_reach, effect, threshold, floors
                        ):
                            state[first + arms + (j if total > 0.0 else i)] = 0.0


# No difference that matters


def threshold_between(arms: int, threshold: float) -> float:
    """Return the log evidence that a difference between two arms needs, none of them the best.

    There are (K - 1)(K - 2) / 2 such pairs, and they share `SPARED` of the error, while K - 1
    pairs with the best arm share the rest.
    """
    return threshold + math.log((arms - 2) * (1.0 - SPARED) / (2.0 * SPARED))


def total_within(
    clock: float,
    total: float,
    evidence: Evidence,
    can_reach: CanReach,
    effect: float,
    threshold: float,
    margin: float,
) -> bool:
    """Whether a pair with a known spread is proven to differ by less than the margin."""
    room = margin * clock - abs(total)
    return (
        room > 0.0
        and can_reach(room, clock, threshold)
        and evidence(room, clock, effect) >= threshold
    )


def bets_within(
    blocks: float, differences: float, squares: float, threshold: float, margin: float
) -> bool:
    """Whether bets have proven that a pair differs by less than the margin."""
    return (
        abs(differences) < margin * blocks
        and log_shifted_wealth(blocks, differences, squares, -margin) >= threshold
        and log_shifted_wealth(blocks, -differences, squares, -margin) >= threshold
    )


def all_within(
    state: FloatArray,
    first: int,
    arms: int,
    evidence: Evidence | None,
    can_reach: CanReach,
    effect: float,
    threshold: float,
    margin: float,
    counted: int = CLOCK,
) -> bool:
    """Whether all active arms are proven to differ by less than the margin.

    Either every pair of them is, or each is within half the margin of the same arm. Where bets
    decide, `counted` is the column in which the blocks of a pair are counted.
    """
    higher = threshold_between(arms, threshold)
    direct = True
    for i in range(arms):
        if state[first + arms + i] > 0.0 and (direct or state[first + 6 * arms + i] > 0.0):
            around = True
            for j in range(arms):
                if j != i and state[first + arms + j] > 0.0:
                    clock = number_of(state, first, arms, i, j, counted)
                    total = number_of(state, first, arms, i, j, TOTAL)
                    if evidence is None:
                        squares = number_of(state, first, arms, i, j, SQUARES)
                        direct = direct and bets_within(clock, total, squares, threshold, margin)
                        around = around and bets_within(clock, total, squares, higher, 0.5 * margin)
                    else:
                        direct = direct and total_within(
                            clock, total, evidence, can_reach, effect, threshold, margin
                        )
                        around = around and total_within(
                            clock, total, evidence, can_reach, effect, higher, 0.5 * margin
                        )
                    if not direct and not around:
                        break
            if around:
                return True
    return direct
