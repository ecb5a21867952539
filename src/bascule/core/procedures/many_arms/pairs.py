"""What the pairs of a test of many arms have shown: which arms are beaten, and which are alike.

The pairs are read from the rows of `many_arms.state`, the rows of both arms together.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from bascule.core.evidence.betting import log_shifted_wealth, log_wealth_of_sums, sums_may_reach
from bascule.core.procedures.blocks.state import Criterion, beaten, reached
from bascule.core.procedures.many_arms.state import CLOCK, CUBES, FOURTHS, SQUARES, TOTAL, row_of
from bascule.core.types import FloatArray

SPARED = 0.1
"""The part of the error that is kept for differences between two arms of which none is the best.

It is needed only where a design names the smallest difference that matters.
"""

Verdict = Callable[[FloatArray, int, int, int, int, Criterion, FloatArray], float]
"""(state, first, arms, i, j, criterion, floors) -> a number above 0 if arm i has beaten arm j,
below 0 if arm j has beaten arm i, else 0."""

PairWithin = Callable[[float, float, float, Criterion, float], bool]
"""(clock or blocks, total, squares, criterion, margin) -> whether a pair is within the margin."""


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


def drop_by(
    state: FloatArray,
    first: int,
    arms: int,
    verdict: Verdict,
    criterion: Criterion,
    floors: FloatArray,
) -> None:
    """Drop, in place, each arm that another active one has beaten in a row that has changed."""
    for i in range(arms):
        if state[first + 7 * arms + i] > 0.0:
            state[first + 7 * arms + i] = 0.0
            for j in range(arms):
                if j != i and state[first + arms + i] > 0.0 and state[first + arms + j] > 0.0:
                    ahead = verdict(state, first, arms, i, j, criterion, floors)
                    if ahead != 0.0:
                        state[first + arms + (j if ahead > 0.0 else i)] = 0.0


def verdict_of_total(
    state: FloatArray,
    first: int,
    arms: int,
    i: int,
    j: int,
    criterion: Criterion,
    floors: FloatArray,
) -> float:
    """Return who has beaten whom by the evidence; `floors` are those of `blocks.state.beaten`."""
    clock = number_of(state, first, arms, i, j, CLOCK)
    total = number_of(state, first, arms, i, j, TOTAL)
    return total if clock > 0.0 and beaten(total, clock, criterion, floors) else 0.0


def verdict_of_bets(
    state: FloatArray,
    first: int,
    arms: int,
    i: int,
    j: int,
    criterion: Criterion,
    floors: FloatArray,
) -> float:
    """Return who has beaten whom by the bets on either arm."""
    threshold = criterion.threshold
    total = number_of(state, first, arms, i, j, TOTAL)
    squares = number_of(state, first, arms, i, j, SQUARES)
    ahead = 0.0
    if sums_may_reach(threshold, total, squares):
        cubes = number_of(state, first, arms, i, j, CUBES)
        fourths = number_of(state, first, arms, i, j, FOURTHS)
        if log_wealth_of_sums(total, squares, cubes, fourths) >= threshold:
            ahead = 1.0
        elif log_wealth_of_sums(-total, squares, -cubes, fourths) >= threshold:
            ahead = -1.0
    return ahead


def drop_beaten(
    state: FloatArray, first: int, arms: int, criterion: Criterion, floors: FloatArray
) -> None:
    """Drop, in place, each arm that the evidence of a known spread has beaten."""
    drop_by(state, first, arms, verdict_of_total, criterion, floors)


def drop_beaten_by_bets(
    state: FloatArray, first: int, arms: int, criterion: Criterion, floors: FloatArray
) -> None:
    """Drop, in place, each arm that bets have beaten."""
    drop_by(state, first, arms, verdict_of_bets, criterion, floors)


# No difference that matters


def threshold_between(arms: int, threshold: float) -> float:
    """Return the log evidence that a difference between two arms needs, none of them the best.

    There are (K - 1)(K - 2) / 2 such pairs, and they share `SPARED` of the error, while K - 1
    pairs with the best arm share the rest.
    """
    return threshold + math.log((arms - 2) * (1.0 - SPARED) / (2.0 * SPARED))


def total_within(
    clock: float, total: float, squares: float, criterion: Criterion, margin: float
) -> bool:
    """Whether a pair with a known spread is proven to differ by less than the margin."""
    room = margin * clock - abs(total)
    return room > 0.0 and reached(room, clock, 1.0, criterion)


def bets_within(
    blocks: float, differences: float, squares: float, criterion: Criterion, margin: float
) -> bool:
    """Whether bets have proven that a pair differs by less than the margin."""
    threshold = criterion.threshold
    return (
        abs(differences) < margin * blocks
        and log_shifted_wealth(blocks, differences, squares, -margin) >= threshold
        and log_shifted_wealth(blocks, -differences, squares, -margin) >= threshold
    )


def within_by(
    state: FloatArray,
    first: int,
    arms: int,
    pair_within: PairWithin,
    counted: int,
    criterion: Criterion,
    margin: float,
) -> bool:
    """Whether all active arms are proven to differ by less than the margin.

    Either every pair of them is, or each is within half the margin of the same arm. `counted` is
    the column with the clock of a pair, or with its number of blocks where bets decide.
    """
    evidence, can_reach, boundary, effect, threshold = criterion
    higher = threshold_between(arms, threshold)
    stricter = Criterion(evidence, can_reach, boundary, effect, higher)
    direct = True
    for i in range(arms):
        if state[first + arms + i] > 0.0 and (direct or state[first + 6 * arms + i] > 0.0):
            around = True
            for j in range(arms):
                if j != i and state[first + arms + j] > 0.0:
                    clock = number_of(state, first, arms, i, j, counted)
                    total = number_of(state, first, arms, i, j, TOTAL)
                    squares = number_of(state, first, arms, i, j, SQUARES)
                    direct = direct and pair_within(clock, total, squares, criterion, margin)
                    around = around and pair_within(clock, total, squares, stricter, 0.5 * margin)
                    if not direct and not around:
                        break
            if around:
                return True
    return direct


def all_within(
    state: FloatArray, first: int, arms: int, criterion: Criterion, margin: float
) -> bool:
    """Whether the evidence of a known spread shows all differences below the margin."""
    return within_by(state, first, arms, total_within, CLOCK, criterion, margin)


def all_bets_within(
    state: FloatArray, first: int, arms: int, criterion: Criterion, margin: float
) -> bool:
    """Whether bets show all differences below the margin."""
    return within_by(state, first, arms, bets_within, CLOCK, criterion, margin)
