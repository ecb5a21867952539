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

from bascule.core.procedures.intervals.state import FloatArray

RATIO = 1.06
"""Of each clock to the one before it."""

EDGE, CELLS = 6.0, 121
"""The noise is followed within this many standard deviations, in this many cells."""

GRID = np.linspace(-EDGE, EDGE, CELLS)
CELL = float(GRID[1] - GRID[0])

OVERSHOOT = 0.5826
"""By how many standard deviations of a step a walk without drift is beyond a line when first seen
there."""

ALMOST_SURE = 1e-5
"""The walk is left alone when this little of it is still inside."""

LAST_CLOCK, MOST_LEFT = 1e18, 0.01
"""Whatever is inside at this clock stays there; more than this share is not left out silently."""

Boundary = Callable[[float], float]
"""(clock) -> how far from 0 the corridor ends on either side; inf while nothing can leave it."""

Pace = Callable[[float], FloatArray]
"""(clock) -> what is spent for each unit of the clock from there on: a row for each of `GRID`."""


@dataclass(frozen=True, slots=True)
class Passage:
    """The law of the first passage, step by step.

    `above` and `below` have the probability of leaving through each side by a clock but not by the
    one before it; `spent` what such walks have spent, times their probability.
    """

    clocks: FloatArray
    above: FloatArray
    below: FloatArray
    spent: FloatArray

    @property
    def ends(self) -> bool:
        """Whether all but a few walks leave at all."""
        return float(self.leaving.sum()) > 1.0 - MOST_LEFT

    @property
    def leaving(self) -> FloatArray:
        """The probability of leaving, through either side, between two clocks."""
        return self.above + self.below

    @property
    def middles(self) -> FloatArray:
        """When those who leave between two clocks do so, on average."""
        return np.append(self.clocks[0], (self.clocks[1:] + self.clocks[:-1]) / 2)


def first_passage(
    drift: float, boundary: Boundary, start: float, look: float, pace: Pace | None = None
) -> Passage:
    """The first passage of a walk that is first seen at `start`, then every `look` clocks.

    With a look of 0 it is seen all the time.

    >>> found = first_passage(1.0, lambda clock: 5.0, start=0.1, look=0.0)
    >>> round(float(found.above.sum()), 3), round(float(found.middles @ found.above), 2)
    (1.0, 5.0)
    """
    kinds = 0 if pace is None else pace(start).shape[1]
    until, since = slice(1, 1 + kinds), slice(1 + kinds, None)
    # A column of probability, then what was spent until the clock before, then what since.
    law = np.zeros((CELLS, 1 + 2 * kinds))
    law[:, 0] = np.exp(-0.5 * GRID * GRID)
    law[:, 0] /= law[:, 0].sum()
    clock, before, last = start, start, math.inf
    rows = []
    while True:
        line = boundary(clock)
        stays = _stays(drift, look, clock, clock - before, line, last)
        leaves = law * (1.0 - stays)[:, None]
        law *= stays[:, None]
        upwards, total = drift * math.sqrt(clock) + GRID >= 0.0, leaves.sum(axis=0)
        sides = leaves[upwards, 0].sum(), leaves[~upwards, 0].sum()
        # A path that ends between two clocks has spent half of what there is to spend between them.
        rows.append((clock, *sides, *(total[until] + 0.5 * total[since])))
        if law[:, 0].sum() < ALMOST_SURE or clock > LAST_CLOCK:
            break
        if pace is not None:
            law[:, until] += law[:, since]
            law[:, since] = law[:, :1] * pace(clock) * ((RATIO - 1.0) * clock)
        law = _step() @ law
        clock, before, last = RATIO * clock, clock, line
    clocks, above, below, *spent = np.array(rows).T
    return Passage(clocks, above, below, np.array(spent).T)


def _stays(
    drift: float, look: float, clock: float, gone: float, line: float, last: float
) -> FloatArray:
    """Which part of each cell is inside at a clock, and was at every look since the clock before.

    Between our clocks the walk is seen more often than at them, or not even at each, and so found
    outside sooner or later: as if the corridor were narrower or wider by the difference between
    what it oversteps a line by in steps of either length.
    """
    above = below = 0.0
    if gone > 0.0:
        speed = max(0.0, drift - (line - last) / gone) if last < math.inf else 0.0
        above = overstep(gone, speed) - overstep(look, speed)
        below = overstep(gone) - overstep(look)
    root = math.sqrt(clock)
    low, high = (below - line) / root - drift * root, (line - above) / root - drift * root
    # The part of a cell that lies below the one side, and the part above the other.
    lower = np.minimum((high - GRID) / CELL + 0.5, 1.0)
    upper = np.minimum((GRID - low) / CELL + 0.5, 1.0)
    return np.asarray(np.maximum(np.minimum(lower, upper), 0.0))


def overstep(length: float, speed: float = 0.0) -> float:
    """By how much a line is to be moved away for a walk that is seen all the time to leave as late
    as one that is seen after steps of this length, and comes nearer with this speed.

    >>> round(overstep(1.0), 4), round(overstep(4.0), 4), round(overstep(1.0, 1.0), 4)
    (0.5826, 1.1652, 0.3793)
    """
    root = math.sqrt(length)
    return OVERSHOOT * root * math.exp(-speed * root / (4 * OVERSHOOT))


@lru_cache(maxsize=1)
def _step() -> FloatArray:
    """How the standardised noise gets from each cell to each other one between two clocks."""
    edges = np.append(GRID - CELL / 2, EDGE + CELL / 2)
    # A cell adds the variance of its own width.
    spread = math.sqrt(2.0 * (1.0 - 1.0 / RATIO - CELL * CELL / 12.0))
    reached = np.array(
        [[math.erf((edge - here / math.sqrt(RATIO)) / spread) for here in GRID] for edge in edges]
    )
    step: FloatArray = np.diff(0.5 * reached, axis=0)
    return step
