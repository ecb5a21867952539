"""Guardrails with shorter windows than the primary metric: they count before their units do."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bascule.core.calendar import DAY
from bascule.core.course_rows import Course, Terms
from bascule.core.design import Design
from bascule.core.evidence.families.rows import BLOCK_UNITS
from bascule.core.metrics.guardrails import ahead
from bascule.core.types import FloatArray, IntArray
from bascule.simulation.kernels.guards import GuardTables
from bascule.simulation.kernels.worlds.ring import BEGIN, END, FILLED, MISSING, Ring
from bascule.simulation.kernels.worlds.unit import next_batch
from bascule.simulation.worlds.world import World


class Fronts(NamedTuple):
    """Groups of guardrails, each with one window; `folded` belongs to one thread.

    `waits` says how many units are assigned until a unit counts in a front, `of_rails` which front
    each guardrail belongs to (-1: it counts with the primary metric), and `folded` how many blocks
    have counted in each front.
    """

    waits: IntArray
    of_rails: IntArray
    folded: IntArray


def fronts_of(design: Design, world: World) -> Fronts:
    """Return the fronts of a design in a world that includes its window."""
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
    """Return the time when the next block counts in any front."""
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
