"""When a walk with drift first leaves a corridor: its law, computed instead of simulated.

The walk is the total of a pair of arms along its clock, in standard deviations: normal with mean
`drift * clock` and variance `clock`. Between two clocks whose ratio is fixed its standardised noise
moves by one and the same linear step, so the law is carried on by one matrix, and what has left the
corridor is taken off. docs/research/prediction.md derives it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bascule.core.evidence.horizon import OVERSHOOT, conditional_power
from bascule.core.numerics import turning_point
from bascule.core.types import FloatArray

RATIO, CLOCKS, PARTS = 1.06, 40, 4
"""The ratio of each clock to the one before it, how many steps are prepared at once, and in how
many parts."""

EDGE, CELLS = 6.0, 121
"""The noise is followed within this many standard deviations, in this many cells."""

GRID = np.linspace(-EDGE, EDGE, CELLS)
CELL = float(GRID[1] - GRID[0])

ALMOST_SURE = 1e-5
"""The walk is left alone when this little of it is still inside."""

LAST_CLOCK, MOST_LEFT = 1e18, 0.01
"""Whatever is inside at this clock stays there; more than this share is not left out silently."""

Line = Callable[[FloatArray], FloatArray]
"""(clocks) -> how far from 0 the total of a pair is decided; inf while nothing can be."""

Pace = Callable[[FloatArray], FloatArray]
"""(clocks) -> what is spent for each unit of the clock after each of these clocks: a row for each
quantity that is spent, with a number for each cell of `GRID`."""


@dataclass(frozen=True, slots=True)
class Flat:
    """A boundary that is equally high at every clock but 0, where nothing is known yet."""

    height: float

    def __call__(self, clocks: FloatArray) -> FloatArray:
        """Return the boundary at these clocks."""
        return np.where(clocks > 0.0, self.height, math.inf)


@dataclass(frozen=True, slots=True)
class PassageLimits:
    """Where a test ends without a decision: at a clock of some pair, at units, or when futile.

    `effect` is the planned one, in standard deviations of an outcome, and `futility` the
    conditional power at it below which a test ends.
    """

    clock: float = math.inf
    units: float = math.inf
    effect: float = 0.0
    futility: float = 0.0

    @property
    def none(self) -> bool:
        """Whether nothing but a decision ends a test."""
        return math.isinf(self.clock) and math.isinf(self.units)

    def futile_room(self, clocks: FloatArray) -> FloatArray:
        """Return the distance to the boundary beyond which a test is futile, at each clock."""
        if self.futility == 0.0:
            return np.full(clocks.shape, math.inf)
        left = self.effect**2 * np.maximum(self.clock - clocks, 0.0)
        rooms = _futile_rooms(round(self.effect**2 * self.clock, 6), self.futility)
        return np.asarray(np.interp(left, *rooms) / self.effect)


NO_LIMITS = PassageLimits()


@lru_cache(maxsize=16)
def _futile_rooms(whole: float, futility: float) -> tuple[FloatArray, FloatArray]:
    """Return how far the boundary may be when so much is left, in units of the planned effect."""
    lefts = np.linspace(0.0, whole, 60)
    rooms = [
        turning_point(lambda room, left=left: conditional_power(room, left) >= futility, 0.0, 1e3)  # type: ignore[misc]
        for left in lefts[1:].tolist()
    ]
    return lefts, np.array([0.0, *rooms])


@dataclass(frozen=True, slots=True)
class Passage:
    """The law of the first passage, step by step.

    `above` and `below` have the probability of leaving through each side by a clock but not by the
    one before it, and `futile` that of ending there without a decision; `spent` and `wasted` what
    such walks have spent, times their probability.
    """

    clocks: FloatArray
    above: FloatArray
    below: FloatArray
    futile: FloatArray
    spent: FloatArray
    wasted: FloatArray

    @property
    def is_sure(self) -> bool:
        """Whether all but a few walks leave, or end at a limit."""
        return float(self.leaving.sum() + self.futile.sum()) > 1.0 - MOST_LEFT

    @property
    def leaving(self) -> FloatArray:
        """The probability of leaving, through either side, between two clocks."""
        return self.above + self.below

    @property
    def middles(self) -> FloatArray:
        """When those who leave between two clocks do so, on average."""
        return np.append(self.clocks[0], (self.clocks[1:] + self.clocks[:-1]) / 2)


def first_passage(
    drift: float,
    boundary: Line,
    start: float,
    look: float,
    pace: Pace | None = None,
    stride: float = 1.0,
    limits: PassageLimits = NO_LIMITS,
) -> Passage:
    """The first passage of a walk that is first seen at `start`, then every `look` clocks.

    With a look of 0 it is seen all the time. Steps are `stride` times as long as usual, by the
    logarithm of the clock.

    >>> result = first_passage(1.0, Flat(5.0), start=0.1, look=0.0)
    >>> round(float(result.above.sum()), 3), round(float(result.middles @ result.above), 2)
    (1.0, 5.0)
    """
    kinds = 0 if pace is None else pace(np.array([start])).shape[1]
    # A row of probability, then what was spent; and what of it was spent since the clock before.
    law, flow = np.zeros((1 + kinds, CELLS)), np.zeros((kinds, CELLS))
    law[0] = np.exp(-0.5 * GRID * GRID)
    law[0] /= law[0].sum()
    clock, last, gone, passed = start, math.inf, 0.0, []
    ratio = RATIO**stride
    step = _step(ratio)
    while True:
        clocks = np.multiply.accumulate(np.append(clock, np.full(CLOCKS - 1, ratio)))
        lines = boundary(clocks)
        steps = np.append(gone, np.diff(clocks))
        open_at = _stays(drift, look, clocks, steps, lines, last)
        leaves, paid = [1.0 - open_at], np.zeros((CLOCKS, kinds, CELLS))
        stays = open_at.copy()
        if limits.futility > 0.0:
            futile = open_at * _within(drift, clocks, lines - limits.futile_room(clocks))
            stays -= futile
            leaves.append(futile)
        if pace is not None:
            paid = pace(clocks) * ((ratio - 1.0) * clocks)[:, None, None]
        laws = np.empty((CLOCKS + 1, 1 + kinds, CELLS))
        laws[0], undecided = law, np.zeros((CLOCKS, 1 + kinds))
        for k in range(CLOCKS):
            law = laws[k] * stays[k]
            if limits.units < math.inf:
                undecided[k], goes_on = _capped(law, paid[k], limits.units)
                stays[k] *= goes_on
                law *= goes_on
            law[1:] += law[0] * paid[k]
            np.dot(law, step, out=laws[k + 1])
        law, inside = laws[-1], laws[:-1] * stays[:, None]
        flows = np.concatenate([flow[None], inside[:, :1] * paid])
        upwards = drift * np.sqrt(clocks)[:, None] + GRID >= 0.0
        sides = [(laws[:-1, 0] * leaves[0] * side).sum(axis=1) for side in (upwards, ~upwards)]
        ends = [_ended(laws[:-1], flows[:-1], left, step) for left in leaves]
        undecided += ends[1] if limits.futility > 0.0 else 0.0
        rows = np.column_stack([clocks, *sides, inside.sum(axis=2), ends[0], undecided])
        over = inside[:, 0].sum(axis=1) < ALMOST_SURE
        over |= clocks >= min(LAST_CLOCK, limits.clock)
        passed.append(rows[: over.argmax() + 1] if over.any() else rows)
        flow, last, clock = flows[-1], float(lines[-1]), ratio * float(clocks[-1])
        gone = clock - float(clocks[-1])
        if over.any():
            break
    return _passage(np.concatenate(passed), kinds, limits)


def _ended(laws: FloatArray, flows: FloatArray, leaves: FloatArray, step: FloatArray) -> FloatArray:
    """Return the probability of ending between two clocks, and what such paths have spent.

    A path that ends between two clocks has spent half of what is spent between them.
    """
    ended = (laws @ leaves[:, :, None])[:, :, 0]
    # Products as small as these are not divided among threads, which would take longer.
    came = np.concatenate([part @ step.T for part in np.split(leaves, PARTS)])
    ended[:, 1:] -= 0.5 * (flows @ came[:, :, None])[:, :, 0]
    return np.asarray(ended)


def _capped(law: FloatArray, paid: FloatArray, limit: float) -> tuple[FloatArray, FloatArray]:
    """Return what ends at a cap on all that is spent, and which part of each cell goes on.

    Where the next step leads beyond the cap, as many go on as there is room for.
    """
    room = limit * law[0] - law[1:].sum(axis=0)
    goes_on = np.clip(room / (law[0] * paid.sum(axis=0) + 1e-300), 0.0, 1.0)
    ended = law @ (1.0 - goes_on)
    ended[1:] *= limit * ended[0] / max(float(ended[1:].sum()), 1e-300)
    return ended, np.asarray(goes_on)


def _passage(rows: FloatArray, kinds: int, limits: PassageLimits) -> Passage:
    """Return the passage in rows, cut where a limit ends what is left of it."""
    clocks, above, below, inside = rows[:, :4].T
    held, decided, undecided = np.split(rows[:, 4:], [kinds, 2 * kinds + 1], axis=1)
    if clocks[-1] >= limits.clock:
        left = np.column_stack([inside, held])
        part = 1.0
        if len(rows) > 1:
            part = (limits.clock - clocks[-2]) / (clocks[-1] - clocks[-2])
        rows[-1] *= part
        clocks[-1] = limits.clock
        undecided[-1] += part * left[-1] + (1.0 - part) * left[-2 if len(rows) > 1 else -1]
    return Passage(clocks, above, below, undecided[:, 0], decided[:, 1:], undecided[:, 1:])


def _within(drift: float, clocks: FloatArray, widths: FloatArray) -> FloatArray:
    """Return which part of each cell has a total nearer to 0 than the width at its clock."""
    root = np.sqrt(clocks)
    low, high = -widths / root - drift * root, widths / root - drift * root
    overlap = np.minimum(GRID + CELL / 2, high[:, None]) - np.maximum(GRID - CELL / 2, low[:, None])
    return np.asarray(np.clip(overlap / CELL, 0.0, 1.0))


def _stays(
    drift: float, look: float, clocks: FloatArray, gone: FloatArray, lines: FloatArray, last: float
) -> FloatArray:
    """Which part of each cell is inside at each clock, and was at every look since the one before.

    `gone` is the time since the clock before, and `last` where the corridor ended before the first
    clock. Looks are more frequent than our clocks, or less, so the walk is found outside earlier or
    later than at the clocks. This is corrected by a corridor that is narrower or wider by the
    difference of the oversteps at both step lengths.
    """
    before, later = np.append(last, lines[:-1]), gone > 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        nearing = np.maximum(0.0, drift - (lines - before) / gone)
    speed = np.where(later & (before < math.inf), nearing, 0.0)
    root = np.sqrt(clocks)
    above, below = (
        np.where(later, overstep(gone, fast) - overstep(look, fast), 0.0) for fast in (speed, 0.0)
    )
    low, high = (below - lines) / root - drift * root, (lines - above) / root - drift * root
    # The part of a cell that lies below the one side, and the part above the other.
    lower = np.minimum((high[:, None] - GRID) / CELL + 0.5, 1.0)
    upper = np.minimum((GRID - low[:, None]) / CELL + 0.5, 1.0)
    return np.asarray(np.maximum(np.minimum(lower, upper), 0.0))


def overstep(length: FloatArray | float, speed: FloatArray | float = 0.0) -> FloatArray:
    """Return how far to move a line so that continuous looks find it crossed as late as steps do.

    A walk is looked at after steps of this length, and approaches the line with this speed.

    >>> overstep(np.array([1.0, 4.0])).round(4), overstep(1.0, 1.0).round(4)
    (array([0.5826, 1.1652]), np.float64(0.3793))
    """
    reach = OVERSHOOT * np.sqrt(length)
    if isinstance(speed, float) and speed == 0.0:
        return np.asarray(reach)
    return np.asarray(reach * np.exp(speed * reach / (-4 * OVERSHOOT * OVERSHOOT)))


@lru_cache(maxsize=4)
def _step(ratio: float) -> FloatArray:
    """How the standardised noise gets from each cell to each other one between two clocks."""
    edges = np.append(GRID - CELL / 2, EDGE + CELL / 2)
    # A cell adds the variance of its own width.
    spread = math.sqrt(2.0 * (1.0 - 1.0 / ratio - CELL * CELL / 12.0))
    places = (edges - GRID[:, None] / math.sqrt(ratio)) / spread
    reached = [[math.erf(place) for place in row] for row in places.tolist()]
    return np.diff(0.5 * np.array(reached), axis=1)
