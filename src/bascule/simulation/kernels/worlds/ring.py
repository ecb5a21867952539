"""Ring buffers for the units and blocks of a simulated test whose outcomes are not known yet."""

from __future__ import annotations

from typing import NamedTuple

from bascule.core.types import FloatArray, IntArray
from bascule.simulation.kernels.covariates import DrawnCovariates
from bascule.simulation.kernels.worlds.signals import SHARE

MISSING = -1
"""The arm of a unit whose outcome never comes."""


BEGIN, END, READY, FOLLOWING = range(SHARE + 1, SHARE + 5)
"""Further columns of a block under way, after those of `worlds.signals`: its first unit, the unit
after its last, the time when it is complete, and how many blocks of its batch follow."""


class Ring(NamedTuple):
    """Ring buffers of units and blocks with outcomes under way; their length is a power of two."""

    owners: IntArray
    """The arm of each unit."""
    values: FloatArray
    """The outcomes of each unit: a row for the primary metric and one for each guardrail."""
    blocks: IntArray
    """A row for each block."""
    pending_clocks: FloatArray
    """For each pair of arms, what the blocks under way will add to its clock (its information)."""


class Covariates(NamedTuple):
    """The covariates of a design, with arrays for their sums and for those of waiting units."""

    drawn: DrawnCovariates
    spreads: FloatArray
    ranges: FloatArray
    sums: FloatArray
    block: FloatArray
    theta: FloatArray
    xs: FloatArray


def add_to_pending(pending: FloatArray, count: int, front: int, ahead: float, even: float) -> None:
    """Add a block to the pending clocks: `ahead` for pairs with the leader, `even` for others."""
    at = 0
    for i in range(count):
        for j in range(i + 1, count):
            pending[at] += ahead if front in (i, j) else even
            at += 1


def close_block(blocks: IntArray, at: int, units: int, ready: int, left: int) -> None:
    """Write a block's end, the time when it is complete, and the blocks left in its batch."""
    blocks[at, END] = units
    blocks[at, READY] = ready
    blocks[at, FOLLOWING] = left


def strike(slots: IntArray, sizes: FloatArray, removed: IntArray, dealt: int, size: int) -> int:
    """Take removed arms out of the rest of a batch; return the new size of the open block."""
    kept = dealt
    for i in range(dealt, size):
        if removed[slots[i]] == 0:
            slots[kept] = slots[i]
            kept += 1
    for arm in range(sizes.size):
        if removed[arm] != 0:
            sizes[arm] = 0.0
    return kept
