"""Evidence of a steered test: the units of a block are folded as rounds of the planned procedure.

Within a block every unit had the same chance of each arm, so its units may be taken in any order
that is blind to outcomes. docs/research/steering.md has the proof.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bascule.core.calendar import DAY
from bascule.core.course_rows import MARKS, TEST, UNTIL, terms_of
from bascule.core.design import Design
from bascule.core.ending import cap_met
from bascule.core.evidence.families.rows import ACTIVE
from bascule.core.procedures.base import Decision
from bascule.core.procedures.blocks.procedure import END_REASONS
from bascule.core.progress import block_procedure
from bascule.core.rounds import (
    course_in_rounds,
    in_rounds,
    is_withheld,
    rounds_loop,
    statistics_of,
    with_rounds,
)
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.core.types import NOBODY, FloatArray
from bascule.steering.reading import Counts


@dataclass(frozen=True, slots=True)
class SteeringEvidence:
    """Evidence of the blocks of a test, up to its decision or end if there is one."""

    statistics: Statistics
    decision: Decision | None
    reason: str | None
    """Why the test is over without a decision: horizon, futility or cap."""
    until: float | None
    """Until when a decision is withheld."""
    clipped: int
    """Outcomes beyond the limits of the model, which count as the nearest limit."""
    unpaired: int
    """Units of blocks in which an active arm has none, so that nothing can be compared."""


def ordered(values: dict[float, int], generator: np.random.Generator) -> FloatArray:
    """Return the outcomes of an arm in a random order.

    What is drawn depends on the number of units alone, and not on their outcomes.
    """
    sizes = list(values.values())
    outcomes = np.repeat(np.array(list(values), dtype=float), sizes)
    return outcomes[generator.permutation(len(outcomes))]


def fold_blocks(
    design: Design,
    blocks: Sequence[Counts],
    name: str,
    counted: Sequence[float],
    now: float,
    latest: float,
) -> SteeringEvidence:
    """Fold all blocks of a test, in order, until it is decided or over.

    Times are in seconds since the first unit: `counted` has those at which the blocks counted,
    `now` is that of the run, and at `latest` a decision is announced at the latest.
    """
    procedure = block_procedure(design)
    count = procedure.arms
    course, columns = course_in_rounds(design)
    loop = rounds_loop(course, columns)
    terms = terms_of(design, procedure.params, procedure.params, DAY)
    terms = terms._replace(margin=procedure.margin, latest=latest)
    test, marks = [0.0] * TEST, [[0] * count for _ in range(MARKS)]
    arms, pairs = procedure.rows(procedure.empty())
    course.start(test, marks, arms, pairs, arms, count)
    sums = [ArmStatistics()] * count
    clipped = unpaired = 0
    winner, reason = NOBODY, None
    for number, (block, clock) in enumerate(zip(blocks, counted, strict=True)):
        winner = course.announce(test, clock)
        if winner != NOBODY:
            break
        active = [arms[i][ACTIVE] > 0.0 for i in range(count)]
        raw = _outcomes(design, block, f"{name}/{number}")
        raw = [arm if active[i] else arm[:0] for i, arm in enumerate(raw)]
        if any(active[i] and not len(arm) for i, arm in enumerate(raw)):
            unpaired += sum(map(len, raw))
            continue
        limited = [np.clip(arm, design.outcome.low, design.outcome.high) for arm in raw]
        clipped += sum(int(np.count_nonzero(a != b)) for a, b in zip(raw, limited, strict=True))
        _, own = in_rounds(limited)
        rounds, oriented = in_rounds([_oriented(design, arm) for arm in limited])
        lists = [power.tolist() for power in oriented]
        stand = loop(test, marks, arms, pairs, count, clock, terms, rounds, lists)
        sums = with_rounds(sums, own, stand.rounds)
        winner, reason = stand.winner, str(END_REASONS[stand.ended] or "")
        goes_on = winner == NOBODY and not reason and not is_withheld(design, test)
        if goes_on and cap_met(design, statistics_of(sums, arms, pairs)):
            reason = "cap"
        if winner != NOBODY or reason:
            break
    if winner == NOBODY and not reason:
        winner = course.announce(test, now)
    decision = procedure.declared(winner)
    until = test[UNTIL] if winner == NOBODY and is_withheld(design, test) else None
    statistics = statistics_of(sums, arms, pairs)
    return SteeringEvidence(statistics, decision, reason or None, until, clipped, unpaired)


def _outcomes(design: Design, block: Counts, label: str) -> list[FloatArray]:
    """The outcomes of each arm in an order that is drawn from the name of the block."""
    seed = int.from_bytes(hashlib.sha256(label.encode()).digest()[:8])
    generator = np.random.default_rng(seed)
    return [ordered(dict(sorted(block[arm].items())), generator) for arm in design.arms]


def _oriented(design: Design, outcomes: FloatArray) -> FloatArray:
    """Outcomes of which more is better."""
    oriented: FloatArray = design.oriented(outcomes)  # type: ignore[arg-type, assignment]
    return oriented
