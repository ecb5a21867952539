"""Where a test in blocks stands: the next block, and the statistics after one.

Pure functions of design and data, as `core.progress` has them for rules that compare intervals.
They lay the statistics out as `core.blocks` wants them and call the same steps that the simulator
compiles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.procedures.betting_state import STAKES, SUMS, stake, sums_of
from bascule.core.procedures.block_state import (
    OCTAVES,
    PARTS,
    begin_block,
    last_in,
    units_of_leader,
)
from bascule.core.procedures.block_state import width as width_of_pairs
from bascule.core.procedures.interval_state import NO_DIFFERENCE, NOBODY, FloatArray
from bascule.core.rules import Tilt
from bascule.core.rules.tilt import BETTING, BlockSteps
from bascule.core.statistics import ArmStatistics, PairStatistics, Statistics


@dataclass(frozen=True, slots=True)
class Block:
    """How many units of each arm come next, in random order; and how many such blocks in a row."""

    units: tuple[int, ...]
    leader: int
    repeat: int

    @property
    def size(self) -> int:
        """Units until the arms are compared again."""
        return self.repeat * sum(self.units)


def tilted(design: Design) -> Tilt:
    """The rule of a test in blocks."""
    if isinstance(design.rule, Tilt):
        return design.rule
    raise InputError(
        "rule", f"{design.rule.label} assigns unit by unit: use next_arm and record, or Tilt(tilt)"
    )


def next_block(design: Design, statistics: Statistics) -> Block:
    """The block that comes after what has been seen; fixed before its outcomes are.

    >>> import bascule as bs
    >>> next_block(bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3)), Statistics.empty(2))
    Block(units=(1, 1), leader=0, repeat=1)
    """
    rule, arms = tilted(design), len(design.arms)
    steps = rule.steps(design.outcome)
    state = lay_out(design, steps, statistics)
    front, ahead = steps.leader(state, 0, arms)
    repeat, each = (rule.batch, 1) if steps.split else (1, rule.batch)
    begin_block(state, 0, arms, front, units_of_leader(ahead, rule.tilt) * each, each)
    return Block(tuple(int(state[2 * arms + arm]) for arm in range(arms)), front, repeat)


def fold_block(
    design: Design, statistics: Statistics, block: Sequence[ArmStatistics], look: bool = True
) -> Statistics:
    """The statistics after one more block, whose outcomes are given arm by arm.

    Blocks are folded in the order in which they were assigned. Arms that are beaten are dropped,
    unless `look` is false because more of the same batch follows.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
    >>> seen = (bs.ArmStatistics(1, 0.25, 0.0625), bs.ArmStatistics(1, 0.5, 0.25))
    >>> fold_block(design, bs.Statistics.empty(2), seen).pairs[0].total
    -0.125
    """
    rule, arms = tilted(design), len(design.arms)
    if len(block) != arms:
        raise InputError("block", f"block must have the design's {arms} arms (got {len(block)})")
    steps = rule.steps(design.outcome)
    state = lay_out(design, steps, statistics)
    for arm, seen in enumerate(block):
        state[2 * arms + arm] = seen.units
        state[3 * arms + arm] = seen.total
    steps.fold(state, 0, arms, 1.0 / design.outcome.scale)
    if look:
        effect, threshold = evidence_wanted(design, rule)
        steps.drop(state, 0, arms, effect, threshold, np.zeros(OCTAVES * PARTS))
    out = frozenset(arm for arm in range(arms) if state[arms + arm] == 0.0)
    return Statistics(
        tuple(before + seen for before, seen in zip(statistics.arms, block, strict=True)),
        out - statistics.removed,
        statistics.removed,
        read_pairs(state, steps, arms),
    )


def winner_of(design: Design, statistics: Statistics) -> int:
    """The last arm in, `NO_DIFFERENCE` if what is left between the arms does not matter, or
    `NOBODY`.

    >>> import bascule as bs
    >>> winner_of(bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3)), bs.Statistics.empty(2))
    -1
    """
    rule, arms = tilted(design), len(design.arms)
    steps = rule.steps(design.outcome)
    state = lay_out(design, steps, statistics)
    winner = last_in(state, 0, arms)
    if winner == NOBODY and design.min_effect is not None:
        margin = design.min_effect / design.outcome.scale
        if steps.within(state, 0, arms, *evidence_wanted(design, rule), margin):
            winner = NO_DIFFERENCE
    return winner


def evidence_wanted(design: Design, rule: Tilt) -> tuple[float, float]:
    """The effect in units of the scale, and the log evidence at which an arm is beaten.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(2), bs.Tilt(3, effect=1))
    >>> evidence_wanted(design, design.rule)[0]
    0.5
    """
    return (rule.effect or 0.0) / design.outcome.scale, -math.log(design.calibration.delta)


def lay_out(design: Design, steps: BlockSteps, statistics: Statistics) -> FloatArray:
    """The statistics as the steps of a test in blocks take them."""
    arms = len(design.arms)
    if len(statistics.arms) != arms:
        raise InputError(
            "statistics",
            f"statistics must have the design's {arms} arms (got {len(statistics.arms)})",
        )
    state = np.empty(steps.width(arms))
    steps.clear(state, 0, arms)
    for arm, seen in enumerate(statistics.arms):
        state[arm] = seen.units
        state[arms + arm] = 0.0 if arm in statistics.out else 1.0
    totals = 4 * arms
    clocks = totals + arms * arms
    for (i, j), pair in zip(combinations(range(arms), 2), statistics.pairs, strict=False):
        state[totals + i * arms + j] = pair.total
        state[totals + j * arms + i] = -pair.total
        state[clocks + i * arms + j] = state[clocks + j * arms + i] = pair.clock
    if steps is BETTING:
        _lay_out_bets(state, arms, statistics)
    return state


def _lay_out_bets(state: FloatArray, arms: int, statistics: Statistics) -> None:
    moments = width_of_pairs(arms)
    state[moments] = sum(arm.total for arm in statistics.arms)
    state[moments + 1] = sum(arm.squares for arm in statistics.arms)
    # As if bets had been won since the last look, so that the next one compares all arms.
    state[moments + 2] = 1.0
    for (i, j), pair in zip(combinations(range(arms), 2), statistics.pairs, strict=False):
        if pair.wins:
            state[stake(0, arms, i, j) :][:STAKES] = pair.wins[:STAKES]
            state[stake(0, arms, j, i) :][:STAKES] = pair.wins[STAKES:]
        state[sums_of(0, arms, i, j) :][:SUMS] = (pair.blocks, pair.differences, pair.squares)


def read_pairs(state: FloatArray, steps: BlockSteps, arms: int) -> tuple[PairStatistics, ...]:
    """The pairs as the steps of a test in blocks have left them."""
    totals = 4 * arms
    clocks = totals + arms * arms
    pairs = []
    for i, j in combinations(range(arms), 2):
        total, clock = state[totals + i * arms + j], state[clocks + i * arms + j]
        pair = PairStatistics(float(total), float(clock))
        if steps is BETTING:
            blocks, differences, squares = state[sums_of(0, arms, i, j) :][:SUMS].tolist()
            mine, theirs = (state[stake(0, arms, *side) :][:STAKES] for side in ((i, j), (j, i)))
            wins = (*mine.tolist(), *theirs.tolist())
            pair = PairStatistics(pair.total, pair.clock, blocks, differences, squares, wins)
        pairs.append(pair)
    return tuple(pairs)
