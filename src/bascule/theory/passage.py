"""When a walk with drift first leaves a corridor: its law, computed instead of simulated.

The walk is the total of a pair of arms along its clock, in standard deviations: normal with mean
`drift * clock` and variance `clock`. Between two clocks whose ratio is fixed its standardised noise
moves by one and the same linear step, so the law is carried on by one matrix, and what has left the
corridor is taken off. docs/explanation/prediction.md derives it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bascule.core.arms import FloatArray

RATIO = 1.06
"""Of each clock to the one before it."""

EDGE, CELLS = 7.0, 281
"""The noise is followed within this many standard deviations, in this many cells."""

GRID = np.linspace(-EDGE, EDGE, CELLS)
CELL = GRID[1] - GRID[0]

OVERSHOOT = 0.5826
"""By how many standard deviations of a step a walk is beyond a line when first seen there."""

ALMOST_SURE = 1e-5
"""The walk is left alone when this little of it is still inside."""

LAST_CLOCK = 1e18


@dataclass(frozen=True, slots=True)
class Passage:
    """The law of the first passage, step by step.

    `above` and `below` have the probability of leaving through each side by a clock but not by the
    one before it; `inside` the distribution of the noise, over `GRID`, of what stays.
    """

    clocks: FloatArray
    above: FloatArray
    below: FloatArray
    inside: FloatArray


def first_passage(
    drift: float, boundary: Callable[[float], float], start: float, look: float
) -> Passage:
    """The first passage of `boundary`, on either side, by a walk that is seen every `look` clocks.

    >>> found = first_passage(1.0, lambda clock: 5.0, start=0.5, look=0.5)
    >>> round(float(found.above.sum()), 4), round(float(found.clocks @ found.above), 1)
    (1.0, 5.4)
    """
    step = _step()
    law = np.exp(-0.5 * GRID * GRID)
    law /= law.sum()
    clocks, sides, inside = [start], [], []
    before = start
    while True:
        clock = clocks[-1]
        # Seen more often than at our clocks, the walk is found outside sooner: as if the
        # corridor were narrower by the difference of the overshoots.
        seldom = max(0.0, math.sqrt(clock - before) - math.sqrt(look))
        reach = (boundary(clock) - OVERSHOOT * seldom) / math.sqrt(clock)
        ahead = drift * math.sqrt(clock)
        stays = law * _share_within(-reach - ahead, reach - ahead)
        leaves = law - stays
        downwards = GRID + ahead < 0.0
        sides.append((leaves[~downwards].sum(), leaves[downwards].sum()))
        inside.append(stays)
        if stays.sum() < ALMOST_SURE or clock > LAST_CLOCK:
            break
        law = step @ stays
        before = clock
        clocks.append(RATIO * clock)
    above, below = np.array(sides).T
    return Passage(np.array(clocks), above, below, np.array(inside))


@lru_cache(maxsize=1)
def _step() -> FloatArray:
    """How the standardised noise gets from each cell to each other one between two clocks."""
    edges = np.append(GRID - CELL / 2, EDGE + CELL / 2)
    spread = math.sqrt(2.0 * (1.0 - 1.0 / RATIO))
    reached = np.array(
        [[math.erf((edge - here / math.sqrt(RATIO)) / spread) for here in GRID] for edge in edges]
    )
    step: FloatArray = np.diff(0.5 * reached, axis=0)
    return step


def _share_within(low: float, high: float) -> FloatArray:
    """Which part of each cell lies between two ends."""
    below = np.clip((high - GRID) / CELL + 0.5, 0.0, 1.0)
    above = np.clip((GRID - low) / CELL + 0.5, 0.0, 1.0)
    return np.asarray(np.clip(below + above - 1.0, 0.0, 1.0))
