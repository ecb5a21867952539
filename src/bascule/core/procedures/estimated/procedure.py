"""The procedure of tests in blocks with an estimated spread, and its steps.

The evidence is that of a known spread, with totals divided by the spread that the pair has shown.
Its guarantee is asymptotic: docs/explanation/unknown-spread.md says why, and what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar

from bascule.core.procedures.base import AnyStatistics, Ends
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.blocks.state import Criterion
from bascule.core.procedures.blocks.state import width as width_of_pairs
from bascule.core.procedures.blocks.steps import INFORMED, UNINFORMED, scaled_pair_ends
from bascule.core.procedures.estimated import horizon
from bascule.core.procedures.estimated.state import (
    SUMS,
    clear,
    drop_beaten,
    fold,
    leader,
    observe,
    pair_spread,
    pairs_within,
    width,
)
from bascule.core.statistics import ArmStatistics, PairStatistics, Statistics
from bascule.core.types import FloatArray


def write_moments(state: FloatArray, arms: int, statistics: Statistics) -> None:
    """Lay out the moments of each arm, and which part of a pair's clock it adds."""
    block = width_of_pairs(arms)
    for arm, seen in enumerate(statistics.arms):
        state[block + 2 * arms + arm] = seen.total
        state[block + 3 * arms + arm] = seen.squares
        state[block + 4 * arms + arm] = seen.cubes
    shares = block + SUMS * arms
    for (i, j), pair in zip(combinations(range(arms), 2), statistics.pairs, strict=False):
        state[shares + i * arms + j] = pair.share
        state[shares + j * arms + i] = pair.clock - pair.share


def read_share(state: FloatArray, arms: int, i: int, j: int) -> PairStatistics:
    """Read the total and the clock of a pair, and the part of the first arm in it."""
    pair = UNINFORMED.read(state, arms, i, j)
    share = width_of_pairs(arms) + SUMS * arms + i * arms + j
    return replace(pair, share=float(state[share]))


def pair_ends_of_estimates(
    state: FloatArray, first: int, arms: int, i: int, j: int, criterion: Criterion
) -> Ends:
    """Return the interval of one difference; infinitely wide until it can be decided."""
    return scaled_pair_ends(state, first, arms, i, j, criterion, pair_spread)


ESTIMATED = UNINFORMED._replace(
    width=width,
    clear=clear,
    leader=leader,
    observe=observe,
    fold=fold,
    drop=drop_beaten,
    within=pairs_within,
    write=write_moments,
    read=read_share,
    pair_ends=pair_ends_of_estimates,
)
"""An estimated spread, and a difference of any size."""

ESTIMATED_INFORMED = ESTIMATED._replace(evidence=INFORMED.evidence, boundary=INFORMED.boundary)
"""An estimated spread, and a difference around a planned effect."""

ESTIMATED_FLAT = ESTIMATED._replace(
    width=horizon.width,
    clear=horizon.clear,
    drop=horizon.drop_beaten,
    within=horizon.all_within,
    evidence=None,
    boundary=None,
    prepare=horizon.prepare,
    over=horizon.reason_to_end,
    pair_ends=None,
)
"""An estimated spread, up to a horizon."""


@dataclass(frozen=True, slots=True)
class EstimatedProcedure(BlockProcedure):
    """Blocks of units whose outcomes have a spread that is estimated as they come."""

    kind: ClassVar[str] = "blocks"

    def _plan(self, futility: bool) -> FloatArray:
        plan = BlockProcedure._plan(self, futility)
        plan[horizon.LEADERS] = self.steps.share(math.inf, self.tilt)
        plan[horizon.BATCH] = self.batch
        return plan

    def horizon_share(self, statistics: AnyStatistics) -> float:
        """Return which part of the way to the horizon the furthest pair of active arms is."""
        if self.horizon is None:
            return 0.0
        assert isinstance(statistics, Statistics)
        return horizon.share_of_horizon(self.lay_all(statistics), self.arms)

    def unit_sums(self, value: float) -> ArmStatistics:
        """Return what one outcome adds to the sums of its arm, for its skewness too."""
        square = value * value
        return ArmStatistics(1, value, square, square * value)

    def enter(self, state: FloatArray, block: Sequence[ArmStatistics]) -> None:
        """Write the outcomes of a block to where `fold` expects them."""
        BlockProcedure.enter(self, state, block)
        moments = width_of_pairs(self.arms)
        for arm, seen in enumerate(block):
            state[moments + arm] = seen.squares
            state[moments + self.arms + arm] = seen.cubes

    def ends(self, statistics: AnyStatistics) -> list[Ends]:
        """Return the interval of every difference; infinitely wide until it can be decided."""
        assert isinstance(statistics, Statistics)
        state = self.lay_out(statistics)
        if self.horizon is not None:
            return horizon.ends_of(state, self.arms)
        return [self.ends_of_pair(state, *pair) for pair in combinations(range(self.arms), 2)]
