"""Ring buffers for the units and blocks of a simulated test whose outcomes are not known yet.

Guardrails with shorter windows than the primary metric count before their units do (`Fronts`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bascule.core.calendar import DAY
from bascule.core.course_rows import GONE, REMOVED, Course, Terms
from bascule.core.design import Design
from bascule.core.evidence.families.rows import BLOCK_UNITS
from bascule.core.metrics.guardrails import ahead
from bascule.core.types import FloatArray, IntArray
from bascule.simulation.kernels.covariates import RANGE, DrawnCovariates, room_for_sums
from bascule.simulation.kernels.guards import GuardTables
from bascule.simulation.kernels.worlds.signals import SHARE
from bascule.simulation.kernels.worlds.unit import next_batch
from bascule.simulation.worlds.world import World

MISSING = -1
"""The arm of a unit whose outcome never comes."""


BEGIN, END, FILLED, READY, FOLLOWING = range(SHARE + 1, SHARE + 6)
"""Further columns of a block under way, after those of `worlds.signals`: its first unit, the unit
after its last, the time after which its last unit came, the time when it is complete, and how many
blocks of its batch follow."""


class Dealt(NamedTuple):
    """Numbers that describe how far a run has come.

    - `units`: the number of units so far.
    - `latest`: the time after which the last of them came.
    - `ready`: the time when all their outcomes are known.
    - `left`: the number of blocks of the batch that follow the open block.
    """

    units: int
    latest: int
    ready: int
    left: int


class Place(NamedTuple):
    """State of the open block: `taken` of `size` units have come, after `opened` earlier blocks."""

    taken: int
    size: int
    opened: int


class Ring(NamedTuple):
    """Ring buffers of units and blocks with outcomes under way; their length is a power of two."""

    owners: IntArray
    """The arm of each unit."""
    values: FloatArray
    """The outcomes of each unit: a row for the primary metric and one for each guardrail."""
    blocks: IntArray
    """A row for each block, with the columns above."""
    pending_clocks: FloatArray
    """For each pair of arms, the amount that the blocks under way will add to its clock."""


def room_for_ring(length: int, metrics: int, pairs: int) -> Ring:
    """Return empty arrays for the outcomes and the blocks under way."""
    owners, blocks = np.empty(length, np.int64), np.empty((length, FOLLOWING + 1), np.int64)
    return Ring(owners, np.empty((metrics, length)), blocks, np.empty(pairs))


class Covariates(NamedTuple):
    """The covariates of a design, with arrays for their sums and for waiting units."""

    drawn: DrawnCovariates
    spreads: FloatArray
    ranges: FloatArray
    sums: FloatArray
    block: FloatArray
    theta: FloatArray
    xs: FloatArray


def room_for_covariates(drawn: DrawnCovariates, spreads: FloatArray, length: int) -> Covariates:
    """Return the covariates with arrays for their sums and for `length` waiting units."""
    count, ranges = len(drawn.rows), np.ascontiguousarray(drawn.rows[:, RANGE])
    return Covariates(drawn, spreads, ranges, *room_for_sums(count), np.empty(length * count))


def add_to_pending(pending: FloatArray, count: int, front: int, ahead: float, even: float) -> None:
    """Add a block to the pending clocks: `ahead` for pairs with the leader, `even` for others."""
    at = 0
    for i in range(count):
        for j in range(i + 1, count):
            pending[at] += ahead if front in (i, j) else even
            at += 1


def close_block(blocks: IntArray, at: int, dealt: Dealt) -> None:
    """Write a block's end, when it is filled and complete, and how many of its batch follow."""
    blocks[at, END] = dealt.units
    blocks[at, FILLED] = dealt.latest
    blocks[at, READY] = dealt.ready
    blocks[at, FOLLOWING] = dealt.left


def strike(
    ring: Ring, slots: IntArray, sizes: FloatArray, removed: IntArray, place: Place, dealt: Dealt
) -> tuple[int, int]:
    """Remove arms from the rest of a batch, and close the open block if no unit of it is left.

    Return the new size of the open block, and the number of blocks that were opened so far.
    """
    taken, size, opened = place
    kept = taken
    for i in range(taken, size):
        if removed[slots[i]] == 0:
            slots[kept] = slots[i]
            kept += 1
    for arm in range(sizes.size):
        if removed[arm] != 0:
            sizes[arm] = 0.0
    if taken < size and kept == taken:
        close_block(ring.blocks, opened & (ring.owners.size - 1), dealt)
        opened += 1
    return kept, opened


def concluding(course: Course, guarded: bool) -> Any:
    """Return a function that judges a test and, if this removes an arm, calls `strike`.

    It returns the winner, why the test ended, the size of the open block, and the number of blocks
    opened so far.
    """

    def conclude(
        test: FloatArray, marks: IntArray, arms: FloatArray, pairs: FloatArray, rails: Any,
        ring: Ring, slots: IntArray, sizes: FloatArray, count: int, units: int, clock: int,
        place: Place, dealt: Dealt, terms: Terms,
    ) -> tuple[int, int, int, int]:  # fmt: skip
        _, size, opened = place
        gone = 0.0
        if guarded:
            gone = test[GONE]
        winner, ended = course_conclude(
            test, marks, arms, pairs, rails, count, units, float(clock), terms
        )
        if guarded and test[GONE] > gone and size > 0:
            size, opened = strike(ring, slots, sizes, marks[REMOVED], place, dealt)
        return winner, ended, size, opened

    course_conclude = course.conclude
    return conclude


class Fronts(NamedTuple):
    """The fronts of a design: groups of guardrails whose window is shorter than the primary one.

    - `waits`: for each front, the number of units that are assigned until a unit counts in it.
    - `of_rails`: the front of each guardrail; -1 if the guardrail counts with the primary metric.
    - `folded`: the number of blocks that have counted in each front; every thread has its own.
    """

    waits: IntArray
    of_rails: IntArray
    folded: IntArray


def fronts_of(design: Design, world: World) -> Fronts:
    """Return the fronts of a design; there are none if the world has no `units_per_day`."""
    by_wait = ahead(design) if world.units_per_day is not None else {}
    places = [place for place, metric in enumerate(design.metrics) if metric.is_guardrail]
    of_rails = np.full(len(places), -1)
    waits = list[int]()
    for seconds, metrics in by_wait.items():
        rails = [places.index(number) for number in metrics if number in places]
        if rails:
            of_rails[rails] = len(waits)
            waits.append(math.ceil((world.units_per_day or 0.0) * seconds / DAY))
    return Fronts(np.array(waits, np.int64), of_rails, np.zeros(len(waits), np.int64))


def due_in(fronts: Fronts, front: int, ring: Ring, opened: int, world: FloatArray) -> float:
    """Return the time when the next block counts in a front; infinity if none is under way."""
    if fronts.folded[front] == opened:
        return math.inf
    at = fronts.folded[front] & (ring.owners.size - 1)
    return float(next_batch(world, ring.blocks[at, FILLED] + fronts.waits[front]))


def next_due(fronts: Fronts, ring: Ring, opened: int, world: FloatArray) -> float:
    """Return the time when the next block counts in any front; infinity if none is under way."""
    first = math.inf
    for front in range(fronts.waits.size):
        first = min(first, due_in(fronts, front, ring, opened, world))
    return first


def front_steps(course: Course, observe_guard: Any) -> Any:
    """Return the function that adds the next block of a front to the guardrails' statistics."""
    fold_ahead = course.fold_ahead

    def fold_front(
        fronts: Fronts, front: int, ring: Ring, guards: GuardTables, count: int, terms: Terms
    ) -> None:
        turn = ring.owners.size - 1
        due = fronts.folded[front] & turn
        begin, end = ring.blocks[due, BEGIN], ring.blocks[due, END]
        for rail in range(len(guards.seeds)):
            if fronts.of_rails[rail] == front:
                rows = guards.rails.arms[rail]
                for arm in range(count):
                    rows[arm][BLOCK_UNITS] = 0.0
                for unit in range(begin, end):
                    arm = ring.owners[unit & turn]
                    if arm != MISSING:
                        rows[arm][BLOCK_UNITS] += 1.0
                        observe_guard(guards, rail, arm, ring.values[1 + rail, unit & turn])
                fold_ahead(guards.rails, rail, count, begin, end, terms)
        fronts.folded[front] += 1

    return fold_front
