"""The steps of a test in blocks with an information horizon, one set for each kind of evidence.

A flat boundary is enough for outcomes that are normal, and a higher one for those that are only
known to be sub-Gaussian; bets that follow the boundary (`horizon.bets`) are proven for both, and
for outcomes within limits. docs/explanation/horizon.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from bascule.core.evidence.horizon import (
    flat_bound_boundary,
    flat_boundary,
    log_flat,
    log_flat_bound,
)
from bascule.core.procedures.base import UNKNOWN, Ends
from bascule.core.procedures.blocks.state import Criterion
from bascule.core.procedures.blocks.steps import (
    UNINFORMED,
    BlockSteps,
    Over,
    ends_of_totals,
    read_totals,
)
from bascule.core.procedures.horizon import state as state_of_bets
from bascule.core.procedures.horizon.bets import (
    all_within,
    decide_known,
    decide_limited,
    drop_beaten,
    fold_known,
    fold_limited,
    shifts_won,
)
from bascule.core.procedures.horizon.ending import flat_reason_to_end, reason_to_end
from bascule.core.procedures.horizon.state import (
    BETS,
    NUMBERS,
    OWN,
    SHIFTS,
    bets_of,
    plan_of,
    prepare,
    variance_of,
)
from bascule.core.statistics import PairStatistics, Statistics
from bascule.core.types import FloatArray

# A flat boundary: the horizon is what shapes the evidence


def flat(total: float, clock: float, horizon: float) -> float:
    """Log evidence of normal outcomes up to a horizon."""
    return log_flat(total, horizon)


def flat_line(clock: float, threshold: float, horizon: float) -> float:
    """The total at which `flat` reaches a threshold."""
    return flat_boundary(threshold, horizon)


def flat_bound(total: float, clock: float, horizon: float) -> float:
    """Log evidence of sub-Gaussian outcomes up to a horizon."""
    return log_flat_bound(total, horizon)


def flat_bound_line(clock: float, threshold: float, horizon: float) -> float:
    """The total at which `flat_bound` reaches a threshold."""
    return flat_bound_boundary(threshold, horizon)


def at_any_clock(total: float, clock: float, threshold: float) -> bool:
    """Return True: the evidence at a flat boundary is not bounded by the clock."""
    return True


def ends_flat(pairs: Sequence[PairStatistics], criterion: Criterion) -> list[Ends]:
    """Return the interval of each difference by a flat boundary.

    Nothing is known of totals beyond the horizon, such as those of a winner that waits for its
    guardrails.
    """
    return [
        ends if pair.clock <= criterion.effect else (pair.total / pair.clock, -math.inf, math.inf)
        for pair, ends in zip(pairs, ends_of_totals(pairs, criterion), strict=True)
    ]


# Bets that follow the boundary


def write_bets(state: FloatArray, arms: int, statistics: Statistics) -> None:
    """Lay out the moments of all outcomes, and what the bets on each pair have won."""
    plan = plan_of(0, arms)
    moments = plan - 1 - 2 * arms
    for i, arm in enumerate(statistics.arms):
        state[moments + i], state[moments + arms + i] = arm.total, arm.squares
    state[plan - 1] = variance_of(state, 0, arms)
    for (i, j), pair in zip(combinations(range(arms), 2), statistics.pairs, strict=False):
        if pair.wins:
            mine, theirs = bets_of(0, arms, i, j), bets_of(0, arms, j, i)
            state[mine : mine + OWN] = pair.wins[:OWN]
            state[theirs : theirs + OWN] = pair.wins[OWN : 2 * OWN]
            state[mine + OWN : mine + NUMBERS] = pair.wins[2 * OWN :]


def read_bets(state: FloatArray, arms: int, i: int, j: int) -> PairStatistics:
    """Read what a pair has shown, its bets and the current round included."""
    mine, theirs = bets_of(0, arms, i, j), bets_of(0, arms, j, i)
    wins = (*state[mine : mine + OWN], *state[theirs : theirs + OWN])
    current = state[mine + OWN : mine + NUMBERS]
    pair = read_totals(state, arms, i, j)
    return PairStatistics(pair.total, pair.clock, wins=tuple(map(float, (*wins, *current))))


def ends_following(pairs: Sequence[PairStatistics], criterion: Criterion) -> list[Ends]:
    """Return the interval of each difference by the bets that follow the boundary.

    Its ends are those of `SHIFTS` that are ruled out, so they never widen again.
    """
    found = []
    for pair in pairs:
        if pair.clock == 0.0:
            found.append(UNKNOWN)
            continue
        ends = []
        for first in (0, OWN):
            won = shifts_won(pair.wins, first, criterion.threshold)  # type: ignore[arg-type]
            ends.append(-SHIFTS[BETS - won] * criterion.effect if won else -math.inf)
        found.append((pair.total / pair.clock, ends[0], -ends[1]))
    return found


def with_flat_boundary(steps: BlockSteps, over: Over) -> BlockSteps:
    """Return steps that decide at a flat boundary and end where `over` says."""
    return steps._replace(
        ends=ends_flat,
        evidence=flat,
        boundary=flat_line,
        over=over,
        can_reach=at_any_clock,
        pair_ends=None,
    )


FLAT = with_flat_boundary(UNINFORMED, flat_reason_to_end)
"""Normal outcomes with a known spread, up to a horizon."""

FLAT_BOUND = FLAT._replace(evidence=flat_bound, boundary=flat_bound_line)
"""Sub-Gaussian outcomes with a known spread, up to a horizon: for many arms."""

FOLLOWING = BlockSteps(
    state_of_bets.width,
    state_of_bets.clear,
    state_of_bets.leader,
    UNINFORMED.share,
    state_of_bets.observe,
    fold_limited,
    drop_beaten,
    all_within,
    write_bets,
    read_bets,
    ends_following,
    split=True,
    evidence=None,
    boundary=None,
    prepare=prepare,
    over=reason_to_end,
    decide=decide_limited,
)
"""Outcomes within limits, up to a horizon."""

FOLLOWING_KNOWN = FOLLOWING._replace(
    leader=UNINFORMED.leader,
    observe=UNINFORMED.observe,
    fold=fold_known,
    decide=decide_known,
)
"""Sub-Gaussian outcomes with a known spread, up to a horizon."""
