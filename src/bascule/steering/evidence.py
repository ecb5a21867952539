"""Evidence of a steered test: the units of a block are folded as rounds of the planned procedure.

Within a block every unit had the same chance of each arm, so its units may be taken in any order
that is blind to outcomes. docs/research/steering.md has the proof.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from bascule.core.design import Design
from bascule.core.ending import cap_met
from bascule.core.evidence.families.rows import ACTIVE
from bascule.core.procedures.base import Decision
from bascule.core.procedures.blocks.procedure import END_REASONS, BlockProcedure
from bascule.core.rounds import in_rounds, rounds_loop, statistics_of, with_rounds
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.core.types import FloatArray
from bascule.steering.reading import Counts


@dataclass(frozen=True, slots=True)
class SteeringEvidence:
    """What the blocks of a test have shown, up to a decision or an end if there is one."""

    statistics: Statistics
    decision: Decision | None
    reason: str | None
    """Why the test is over without a decision: horizon, futility or cap."""
    block: int | None
    """The block in which it was decided or ended, counted from 0."""
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


def fold_blocks(design: Design, blocks: Sequence[Counts], name: str) -> SteeringEvidence:
    """Fold all blocks of a test, in order, until it is decided or over."""
    procedure = cast("BlockProcedure", design.procedure)
    count, params = procedure.arms, procedure.params
    loop = rounds_loop(procedure.evidence, count == 2)
    arms, pairs = procedure.rows(procedure.empty())
    sums = [ArmStatistics()] * count
    clipped = unpaired = 0
    decision, at = None, None
    reason: str | None = None
    for number, block in enumerate(blocks):
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
        play = loop(
            arms, pairs, count, procedure.margin, params, rounds, [p.tolist() for p in oriented]
        )
        sums = with_rounds(sums, own, play.rounds)
        decision = procedure.declared(play.winner)
        reason = END_REASONS[play.ended]
        statistics = statistics_of(sums, arms, pairs)
        if decision is None and reason is None and cap_met(design, statistics):
            reason = "cap"
        if decision is not None or reason is not None:
            at = number
            break
    return SteeringEvidence(
        statistics_of(sums, arms, pairs), decision, reason, at, clipped, unpaired
    )


def _outcomes(design: Design, block: Counts, label: str) -> list[FloatArray]:
    """The outcomes of each arm in an order that is drawn from the name of the block."""
    seed = int.from_bytes(hashlib.sha256(label.encode()).digest()[:8])
    generator = np.random.default_rng(seed)
    return [ordered(dict(sorted(block[arm].items())), generator) for arm in design.arms]


def _oriented(design: Design, outcomes: FloatArray) -> FloatArray:
    """Outcomes of which more is better."""
    oriented: FloatArray = design.oriented(outcomes)  # type: ignore[arg-type, assignment]
    return oriented
