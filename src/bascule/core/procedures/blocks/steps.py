"""The steps of a test in blocks, on rows of arms and pairs: the same for every family of evidence.

`steps_of` returns the steps for a family. The simulator compiles them; live tests and analyses call
them as they are. docs/research/tilted-blocks.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from bascule.core.evidence.families.rows import (
    ACTIVE,
    BLOCK_SUM,
    BLOCK_UNITS,
    CLOCK,
    LEAD,
    TOTAL,
    Difference,
    Family,
    Params,
    Row,
    Rows,
    pair_index,
)
from bascule.core.evidence.horizon import may_reach
from bascule.core.types import NO_DIFFERENCE, NOBODY

FULL_TILT_AT = 2.5
"""Lead, in standard deviations, from which on the leader gets the full tilt."""

GOES_ON, HORIZON, FUTILE, REFUSED = range(4)
"""Whether a test goes on, or why it ends without a decision: at its horizon, as futile, or because
guardrails rule out every remaining arm."""


Share = Callable[[float, float], int]
"""(lead in standard deviations, tilt) -> the leader's units for each unit of a challenger."""


class Scope(NamedTuple):
    """The features that the steps have to support; with fewer of them they compile faster."""

    two_arms: bool
    """Whether the steps are for two arms only, or else for any number of arms."""
    intervals: bool
    """Whether the steps have to support intervals and margins, or else only decisions."""
    horizon: bool
    """Whether the steps have to support horizons."""


class BlockSteps(NamedTuple):
    """The steps between blocks: all functions of (arms, pairs, number of arms, ...).

    `leader` returns the arm that is furthest ahead of its nearest rival, and its lead; `fold` adds
    the complete block; `drop` deactivates the arms that are beaten; `winner` returns the only
    active arm, `NO_DIFFERENCE` if all differences are within the margin, or `NOBODY`; `over`
    returns whether and why the plan ends a test; `interval` takes two arms and returns by how much
    the first is better; `blocks_left` takes the increase of each pair's clock by the blocks under
    way, and returns the number of further blocks like the current one until the horizon.
    """

    leader: Callable[[Rows, Rows, int, Params], tuple[int, float]]
    fold: Callable[[Rows, Rows, int, Params], None]
    drop: Callable[[Rows, Rows, int, Params], None]
    winner: Callable[[Rows, Rows, int, float, Params], int]
    over: Callable[[Rows, Rows, int, Params], int]
    interval: Callable[[Rows, Rows, int, int, int, Params], Difference]
    blocks_left: Callable[[Rows, Rows, int, Row, Params], float]


def units_of_leader(ahead: float, tilt: float) -> int:
    """Return the leader's units per unit of a challenger: from 1 up to `tilt` as the lead grows.

    >>> [units_of_leader(ahead, 3.0) for ahead in (0.0, 1.0, 2.5, 9.0)]
    [1, 2, 3, 3]
    """
    share = min(1.0, max(0.0, ahead) / FULL_TILT_AT)
    return int(1.5 + (tilt - 1.0) * share)


def lead_of(total: float, clock: float) -> float:
    """Return the lead of a pair's first arm: the pair's total divided by the root of its clock."""
    return total / math.sqrt(clock) if clock > 0.0 else 0.0


def ahead_of_two(pair: Row) -> tuple[int, float]:
    """Return the arm of two that is ahead (the first one on a tie), and its lead."""
    ahead = lead_of(pair[TOTAL], pair[CLOCK])
    return 0 if ahead >= 0.0 else 1, abs(ahead)


def furthest(arms: Rows, pairs: Rows, count: int) -> tuple[int, float]:
    """Return the arm that leads its nearest rival by most (the first on a tie), and its lead."""
    for i in range(count):
        arms[i][LEAD] = math.inf
    at = 0
    for i in range(count):
        mine = arms[i]
        for j in range(i + 1, count):
            theirs, pair = arms[j], pairs[at]
            if mine[ACTIVE] > 0.0 and theirs[ACTIVE] > 0.0:
                ahead = lead_of(pair[TOTAL], pair[CLOCK])
                mine[LEAD] = min(mine[LEAD], ahead)
                theirs[LEAD] = min(theirs[LEAD], -ahead)
            at += 1
    best = -1
    highest = -math.inf
    for i in range(count):
        arm = arms[i]
        if arm[ACTIVE] > 0.0 and (best < 0 or arm[LEAD] > highest):
            best = i
            highest = arm[LEAD]
    return best, highest


def begin_block(arms: Rows, count: int, front: int, of_leader: int, of_others: int) -> int:
    """Set the units of each arm in the next block, and return their total number."""
    size = 0
    for i in range(count):
        arm, units = arms[i], 0
        if arm[ACTIVE] > 0.0:
            units = of_leader if i == front else of_others
        arm[BLOCK_UNITS] = units
        size += units
    return size


def clear(arms: Rows, pairs: Rows, count: int, arm_columns: int, pair_columns: int) -> None:
    """Reset a test to no units, with every arm active."""
    at = 0
    for i in range(count):
        arm = arms[i]
        for k in range(arm_columns):
            arm[k] = 0.0
        arm[ACTIVE] = 1.0
        for _ in range(i + 1, count):
            pair = pairs[at]
            for k in range(pair_columns):
                pair[k] = 0.0
            at += 1


def only_active(arms: Rows, count: int) -> int:
    """Return the only active arm, or `NOBODY` while there are several."""
    survivor = NOBODY
    several = False
    for i in range(count):
        if arms[i][ACTIVE] > 0.0:
            several = several or survivor >= 0
            survivor = i
    return NOBODY if several else survivor


@lru_cache(maxsize=64)
def steps_of(family: Family, scope: Scope) -> BlockSteps:
    """Return the steps of a test that uses this family of evidence."""
    two_arms, intervals, horizon = scope
    fold_arm, shared, spread, update = family.fold_arm, family.shared, family.spread, family.update
    verdict, within, pair_interval = family.verdict, family.within, family.interval
    outlook, first_ends, remaining = family.outlook, family.first_ends, family.remaining
    if family.update_for is not None:
        update = family.update_for(intervals, horizon)

    def leader(arms: Rows, pairs: Rows, count: int, params: Params) -> tuple[int, float]:
        if two_arms:
            best, ahead = ahead_of_two(pairs[0])
        else:
            best, ahead = furthest(arms, pairs, count)
        return best, ahead / spread(arms, count, params)

    def fold(arms: Rows, pairs: Rows, count: int, params: Params) -> None:
        before = shared(arms, count, params)
        for i in range(count):
            fold_arm(arms[i])
        after = shared(arms, count, params)
        at = 0
        for i in range(count):
            mine = arms[i]
            for j in range(i + 1, count):
                theirs = arms[j]
                if mine[BLOCK_UNITS] > 0.0 and theirs[BLOCK_UNITS] > 0.0:
                    update(pairs[at], mine, theirs, before, after, params)
                at += 1
        for i in range(count):
            arms[i][BLOCK_SUM] = 0.0

    def drop(arms: Rows, pairs: Rows, count: int, params: Params) -> None:
        at = 0
        for i in range(count):
            mine = arms[i]
            for j in range(i + 1, count):
                theirs = arms[j]
                if mine[ACTIVE] > 0.0 and theirs[ACTIVE] > 0.0:
                    ahead = verdict(pairs[at], mine, theirs, params)
                    if ahead > 0.0:
                        theirs[ACTIVE] = 0.0
                    elif ahead < 0.0:
                        mine[ACTIVE] = 0.0
                at += 1

    def winner(arms: Rows, pairs: Rows, count: int, margin: float, params: Params) -> int:
        survivor = only_active(arms, count)
        if intervals and survivor == NOBODY and margin > 0.0:
            survivor = NO_DIFFERENCE
            at = 0
            for i in range(count):
                mine = arms[i]
                for j in range(i + 1, count):
                    theirs = arms[j]
                    if (
                        survivor == NO_DIFFERENCE
                        and mine[ACTIVE] > 0.0
                        and theirs[ACTIVE] > 0.0
                        and not within(pairs[at], mine, theirs, margin, params)
                    ):
                        survivor = NOBODY
                    at += 1
        return survivor

    def over(arms: Rows, pairs: Rows, count: int, params: Params) -> int:
        """Return why a test ends without a decision, or `GOES_ON`.

        An arm cannot win once one of its pairs with another active arm has reached its horizon. The
        test ends when no active arm can win any more, or with `first_ends` when any pair has
        reached its horizon. It is futile if each active arm has a rival such that, if the arm were
        better by the planned effect, it would beat the rival by the horizon with less than the
        probability in the plan.
        """
        if not horizon or params.reach == 0.0:
            return GOES_ON
        general = shared(arms, count, params)
        if two_arms and params.futility == 0.0 and arms[0][ACTIVE] + arms[1][ACTIVE] == 2.0:
            # Both arms have the same horizon. Simulations take this branch most often.
            left, _ = outlook(pairs[0], arms[0], arms[1], 1.0, general, params)
            return HORIZON if left <= 0.0 else GOES_ON
        active, ended, hopeful = 0, 0, 0
        # The first arm, usually the control, comes last: a hopeful treatment ends the search.
        for i in range(count - 1, -1, -1):
            if arms[i][ACTIVE] > 0.0:
                active += 1
                ends, hope = False, True
                for j in range(count):
                    if i != j and not ends and arms[j][ACTIVE] > 0.0:
                        mine, theirs = arms[min(i, j)], arms[max(i, j)]
                        pair, sign = pairs[pair_index(count, i, j)], 1.0 if i < j else -1.0
                        left, room = outlook(pair, mine, theirs, sign, general, params)
                        if left <= 0.0:
                            if first_ends:
                                return HORIZON
                            ends = True
                        elif hope and hopeful == 0 and left < math.inf:
                            hope = may_reach(room, left, params.futility)
                if ends:
                    ended += 1
                elif hope:
                    hopeful += 1
                    if not first_ends:
                        # One arm that can still win is enough for the test to go on.
                        return GOES_ON
        if active > 0 and ended == active:
            return HORIZON
        return FUTILE if hopeful == 0 and params.futility > 0.0 else GOES_ON

    def interval(arms: Rows, pairs: Rows, count: int, i: int, j: int, params: Params) -> Difference:
        mine, theirs = arms[min(i, j)], arms[max(i, j)]
        pair = pairs[pair_index(count, i, j)]
        middle, lower, upper = pair_interval(pair, mine, theirs, params)
        if i < j:
            return middle, lower, upper
        return -middle, -upper, -lower

    def blocks_left(arms: Rows, pairs: Rows, count: int, pending: Row, params: Params) -> float:
        """Return the number of further blocks until `over` returns `HORIZON`.

        With `first_ends` that is when the first pair is at its horizon, otherwise when every active
        arm has such a pair.
        """
        if not horizon or params.reach == 0.0:
            return math.inf
        general = shared(arms, count, params)
        first, last = math.inf, 0.0
        for i in range(count):
            if arms[i][ACTIVE] > 0.0:
                fewest = math.inf
                for j in range(count):
                    if i != j and arms[j][ACTIVE] > 0.0:
                        mine, theirs = arms[min(i, j)], arms[max(i, j)]
                        at = pair_index(count, i, j)
                        left = remaining(pairs[at], mine, theirs, general, pending[at], params)
                        units = mine[BLOCK_UNITS] + theirs[BLOCK_UNITS]
                        step = mine[BLOCK_UNITS] * theirs[BLOCK_UNITS] / max(1.0, units)
                        if left <= 0.0:
                            fewest = 0.0
                        elif step > 0.0:
                            fewest = min(fewest, left / step)
                first, last = min(first, fewest), max(last, fewest)
        return first if first_ends else last

    return BlockSteps(leader, fold, drop, winner, over, interval, blocks_left)
