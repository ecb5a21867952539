"""Evidence of a steered test: the units of a block are folded as rounds of the planned procedure.

Within a block every unit had the same chance of each arm, so its units may be taken in any order
that is blind to outcomes. docs/research/steering.md has the proof.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np

from bascule.core.design import Design
from bascule.core.ending import cap_met
from bascule.core.evidence.families.rows import (
    ACTIVE,
    BLOCK_CUBES,
    BLOCK_SQUARES,
    BLOCK_SUM,
    BLOCK_UNITS,
    Family,
    Params,
    Rows,
)
from bascule.core.procedures.base import Decision
from bascule.core.procedures.blocks.procedure import END_REASONS, BlockProcedure
from bascule.core.procedures.blocks.steps import GOES_ON, Scope, steps_of
from bascule.core.progress import next_block
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.core.types import NOBODY, FloatArray
from bascule.steering.reading import Counts

Rounds = Any
"""Units, sums, squares and cubes: for each round a number for each arm, as lists or arrays."""


class Stand(NamedTuple):
    """Where a test stands after some blocks: rounds of the last one, winner, and why it is over."""

    rounds: int
    winner: int
    ended: int


@dataclass(frozen=True, slots=True)
class Evidence:
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


@lru_cache(maxsize=64)
def rounds_loop(family: Family, two_arms: bool, fingerprint: str = "") -> Callable[..., Stand]:
    """Return the loop that folds the rounds of a block; `compile_loop` can compile it."""
    _, fold, drop, winner_of, over, _, _ = steps_of(family, Scope(two_arms, intervals=True))
    columns = family.arm_columns

    def play(
        arms: Rows,
        pairs: Rows,
        count: int,
        margin: float,
        params: Params,
        number: int,
        rounds: Rounds,
    ) -> Stand:
        made_of = fingerprint  # noqa: F841
        units, sums, squares, cubes = rounds
        for k in range(number):
            for i in range(count):
                arm = arms[i]
                arm[BLOCK_UNITS] = units[k][i] if arm[ACTIVE] > 0.0 else 0.0
                arm[BLOCK_SUM] = sums[k][i]
                if columns > BLOCK_SQUARES:
                    arm[BLOCK_SQUARES] = squares[k][i]
                if columns > BLOCK_CUBES:
                    arm[BLOCK_CUBES] = cubes[k][i]
            fold(arms, pairs, count, params)
            drop(arms, pairs, count, params)
            winner = winner_of(arms, pairs, count, margin, params)
            ended = over(arms, pairs, count, params) if winner == NOBODY else GOES_ON
            if winner != NOBODY or ended != GOES_ON:
                return Stand(k + 1, winner, ended)
        return Stand(number, NOBODY, GOES_ON)

    return play


def ordered(values: dict[float, int], generator: np.random.Generator) -> FloatArray:
    """Return the outcomes of an arm in a random order.

    What is drawn depends on the number of units alone, and not on their outcomes.
    """
    sizes = list(values.values())
    outcomes = np.repeat(np.array(list(values), dtype=float), sizes)
    return outcomes[generator.permutation(len(outcomes))]


def in_rounds(outcomes: Sequence[FloatArray]) -> tuple[int, list[FloatArray]]:
    """Return the number of rounds, and the units, sums, squares and cubes of each one.

    There are as many rounds as the smallest arm has units; the units of every other arm are spread
    over them as evenly as they can be. An arm without units is in no round.

    >>> number, (units, sums, *_) = in_rounds([np.array([1.0, 0.0]), np.array([0.0, 1.0, 1.0])])
    >>> number, units.tolist(), sums.tolist()
    (2, [[1.0, 2.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 1.0]])
    """
    number = min((len(arm) for arm in outcomes if len(arm)), default=0)
    powers: list[FloatArray] = []
    for power in range(4):
        columns = [
            np.bincount(np.arange(len(arm)) % number, weights=arm**power, minlength=number)
            if len(arm)
            else np.zeros(number)
            for arm in outcomes
        ]
        powers.append(np.column_stack(columns).astype(float))
    return number, powers


def fold_blocks(design: Design, blocks: Sequence[Counts], name: str) -> Evidence:
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
        parts = [power[: play.rounds].sum(axis=0) for power in own]
        for i in range(count):
            units, total, squares, cubes = (float(part[i]) for part in parts)
            sums[i] = sums[i] + ArmStatistics(round(units), total, squares, cubes)
        decision = procedure.declared(play.winner)
        reason = END_REASONS[play.ended]
        statistics = _statistics(sums, arms, pairs)
        if decision is None and reason is None and cap_met(design, statistics):
            reason = "cap"
        if decision is not None or reason is not None:
            at = number
            break
    return Evidence(_statistics(sums, arms, pairs), decision, reason, at, clipped, unpaired)


def next_shares(design: Design, statistics: Statistics) -> dict[str, float]:
    """Return the shares of the next period: those of the block that the rule would deal.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3))
    >>> next_shares(design, Statistics.empty(2))
    {'a': 0.5, 'b': 0.5}
    """
    units = next_block(design, statistics).units
    return {arm: part / sum(units) for arm, part in zip(design.arms, units, strict=True)}


def _outcomes(design: Design, block: Counts, label: str) -> list[FloatArray]:
    """The outcomes of each arm in an order that is drawn from the name of the block."""
    seed = int.from_bytes(hashlib.sha256(label.encode()).digest()[:8])
    generator = np.random.default_rng(seed)
    return [ordered(dict(sorted(block[arm].items())), generator) for arm in design.arms]


def _oriented(design: Design, outcomes: FloatArray) -> FloatArray:
    """Outcomes of which more is better."""
    oriented: FloatArray = design.oriented(outcomes)  # type: ignore[arg-type, assignment]
    return oriented


def _statistics(sums: Sequence[ArmStatistics], arms: Rows, pairs: Rows) -> Statistics:
    """The rows of a test as its statistics."""
    out = frozenset(i for i in range(len(sums)) if arms[i][ACTIVE] == 0.0)
    return Statistics(tuple(sums), dropped=out, pairs=tuple(map(tuple, pairs)))
