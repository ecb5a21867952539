"""Units and blocks of a simulated test whose outcomes are under way."""

from __future__ import annotations

from typing import NamedTuple

from bascule.core.types import FloatArray, IntArray
from bascule.simulation.kernels.covariates import DrawnCovariates
from bascule.simulation.kernels.worlds.signals import SHARE

MISSING = -1
"""The arm of a unit whose outcome never comes."""


BEGIN, END, READY, FOLLOWING = range(SHARE + 1, SHARE + 5)
"""Columns of a block under way beside those of `worlds.signals`: its first unit, the one after its
last, when it is complete, and how many more of its batch follow."""


class Ring(NamedTuple):
    """Units and blocks whose outcomes are under way, in rings whose length is a power of two."""

    owners: IntArray
    """The arm of each unit."""
    values: FloatArray
    """The outcomes of each unit: a row for the primary metric and one for each guardrail."""
    blocks: IntArray
    """A row for each block."""
    pending_clocks: FloatArray
    """What the blocks under way will add to the clock of each pair."""


class Covariates(NamedTuple):
    """The covariates of a design (`kernels.covariates`), and room for their sums and the units'."""

    drawn: DrawnCovariates
    spreads: FloatArray
    ranges: FloatArray
    sums: FloatArray
    block: FloatArray
    theta: FloatArray
    xs: FloatArray


def add_to_pending(pending: FloatArray, count: int, front: int, ahead: float, even: float) -> None:
    """Add to the clock of each pair what a block adds: `ahead` where the leader is in the pair."""
    at = 0
    for i in range(count):
        for j in range(i + 1, count):
            pending[at] += ahead if front in (i, j) else even
            at += 1


def close_block(blocks: IntArray, at: int, units: int, ready: int, left: int) -> None:
    """Write where a block ends, when it is complete, and how many of its batch follow."""
    blocks[at, END] = units
    blocks[at, READY] = ready
    blocks[at, FOLLOWING] = left


def strike(slots: IntArray, sizes: FloatArray, removed: IntArray, dealt: int, size: int) -> int:
    """Take removed arms out of what is left of a batch; return the size of the open block."""
    kept = dealt
    for i in range(dealt, size):
        if removed[slots[i]] == 0:
            slots[kept] = slots[i]
            kept += 1
    for arm in range(sizes.size):
        if removed[arm] != 0:
            sizes[arm] = 0.0
    return kept
