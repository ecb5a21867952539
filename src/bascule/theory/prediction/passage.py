"""Compute the distribution of the time at which a random walk with drift first leaves a corridor.

The walk is the total of a pair of arms along its clock, in standard deviations: normal with mean
`drift * clock` and variance `clock`. Between two clocks with a fixed ratio, its standardised noise
always changes by the same linear step. So one matrix advances the distribution, and the walks that
have left the corridor are removed. docs/research/prediction.md derives it.
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
"""Ratio of successive clocks (the information of a pair), the number of steps that are prepared at
once, and the number of parts into which their matrix products are divided."""

EDGE, CELLS = 6.0, 121
"""Largest noise on the grid, in standard deviations, and the number of cells of the grid."""

GRID = np.linspace(-EDGE, EDGE, CELLS)
CELL = float(GRID[1] - GRID[0])

ALMOST_SURE = 1e-5
"""Smallest probability of being inside the corridor at which the walk is still followed."""

LAST_CLOCK, MOST_LEFT = 1e18, 0.01
"""Largest information of a pair that is considered, and largest share of walks without an end."""

Line = Callable[[FloatArray], FloatArray]
"""(information) -> absolute total at which a pair is decided; infinite while no total decides."""

Pace = Callable[[FloatArray], FloatArray]
"""(information) -> units spent per unit of information, at each given information: a row for each
arm, with a number for each cell of `GRID`."""


@dataclass(frozen=True, slots=True)
class Flat:
    """A constant boundary, which is infinite while there is no information."""

    height: float

    def __call__(self, clocks: FloatArray) -> FloatArray:
        """Return the boundary at each information in `clocks`."""
        return np.where(clocks > 0.0, self.height, math.inf)


@dataclass(frozen=True, slots=True)
class PassageLimits:
    """Limits at which a test ends undecided: information of a pair, units, or futility.

    `effect` is the planned effect, in standard deviations of an outcome, and `futility` the
    conditional power at this effect below which a test ends.
    """

    clock: float = math.inf
    units: float = math.inf
    effect: float = 0.0
    futility: float = 0.0

    @property
    def none(self) -> bool:
        """Whether a test can end only with a decision."""
        return math.isinf(self.clock) and math.isinf(self.units)

    def futile_room(self, clocks: FloatArray) -> FloatArray:
        """Return the distance to the boundary beyond which a test is futile, for each clock."""
        if self.futility == 0.0:
            return np.full(clocks.shape, math.inf)
        left = self.effect**2 * np.maximum(self.clock - clocks, 0.0)
        rooms = _futile_rooms(round(self.effect**2 * self.clock, 6), self.futility)
        return np.asarray(np.interp(left, *rooms) / self.effect)


NO_LIMITS = PassageLimits()


@lru_cache(maxsize=16)
def _futile_rooms(whole: float, futility: float) -> tuple[FloatArray, FloatArray]:
    """Tabulate the largest distance to the boundary that is not futile, by the information left."""
    lefts = np.linspace(0.0, whole, 60)
    rooms = [
        turning_point(lambda room, left=left: conditional_power(room, left) >= futility, 0.0, 1e3)  # type: ignore[misc]
        for left in lefts[1:].tolist()
    ]
    return lefts, np.array([0.0, *rooms])


@dataclass(frozen=True, slots=True)
class Passage:
    """The distribution of the first passage of a random walk out of a corridor, step by step.

    `above` and `below` have the probability of leaving through each side by a clock but not by the
    one before it, and `futile` the probability of ending in that step without a decision. `spent`
    has the units of each arm in walks that leave in a step, times their probability; `wasted` has
    the same for walks that end without a decision.
    """

    clocks: FloatArray
    above: FloatArray
    below: FloatArray
    futile: FloatArray
    spent: FloatArray
    wasted: FloatArray

    @property
    def is_sure(self) -> bool:
        """Whether almost all walks leave the corridor or end at a limit."""
        return float(self.leaving.sum() + self.futile.sum()) > 1.0 - MOST_LEFT

    @property
    def leaving(self) -> FloatArray:
        """The probability of leaving the corridor in each step, through either side."""
        return self.above + self.below

    @property
    def middles(self) -> FloatArray:
        """The middle of each step: about the mean clock of the walks that leave in this step."""
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
    """Return the first passage of a walk that is observed at `start`, and then every `look`.

    With a look of 0 it is observed all the time. Steps, in the logarithm of the clock, are `stride`
    times as long as usual.

    >>> result = first_passage(1.0, Flat(5.0), start=0.1, look=0.0)
    >>> round(float(result.above.sum()), 3), round(float(result.middles @ result.above), 2)
    (1.0, 5.0)
    """
    kinds = 0 if pace is None else pace(np.array([start])).shape[1]
    # `law` has probabilities, and units spent so far; `flow` has the units spent in the last step.
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
    """Return the probability of ending in each step, and the units that ended walks have spent.

    A path that ends between two clocks has spent half of what is spent between them.
    """
    ended = (laws @ leaves[:, :, None])[:, :, 0]
    # Matrix products in small parts are faster, since they are not divided among threads.
    came = np.concatenate([part @ step.T for part in np.split(leaves, PARTS)])
    ended[:, 1:] -= 0.5 * (flows @ came[:, :, None])[:, :, 0]
    return np.asarray(ended)


def _capped(law: FloatArray, paid: FloatArray, limit: float) -> tuple[FloatArray, FloatArray]:
    """Return the walks that a cap on units ends, and the share of each cell that goes on.

    If the next step would lead beyond the cap, only as many walks go on as the cap has room for.
    """
    room = limit * law[0] - law[1:].sum(axis=0)
    goes_on = np.clip(room / (law[0] * paid.sum(axis=0) + 1e-300), 0.0, 1.0)
    ended = law @ (1.0 - goes_on)
    ended[1:] *= limit * ended[0] / max(float(ended[1:].sum()), 1e-300)
    return ended, np.asarray(goes_on)


def _passage(rows: FloatArray, kinds: int, limits: PassageLimits) -> Passage:
    """Return the passage that rows describe, cut at the limit of the information, if any."""
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
    """Return, by clock, the part of each cell of `GRID` where the total is within the width."""
    root = np.sqrt(clocks)
    low, high = -widths / root - drift * root, widths / root - drift * root
    overlap = np.minimum(GRID + CELL / 2, high[:, None]) - np.maximum(GRID - CELL / 2, low[:, None])
    return np.asarray(np.clip(overlap / CELL, 0.0, 1.0))


def _stays(
    drift: float, look: float, clocks: FloatArray, gone: FloatArray, lines: FloatArray, last: float
) -> FloatArray:
    """Return the share of each cell that stays inside the corridor in the step to each clock.

    `gone` is the time since the clock before, and `last` is the end of the corridor before the
    first clock. Looks are more or less frequent than these clocks, so the walk is found outside
    earlier or later than at the clocks. This is corrected by a corridor that is narrower or wider
    by the difference of the oversteps at both step lengths.
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
    # The share of a cell below the upper side of the corridor, and that above the lower side.
    lower = np.minimum((high[:, None] - GRID) / CELL + 0.5, 1.0)
    upper = np.minimum((GRID - low[:, None]) / CELL + 0.5, 1.0)
    return np.asarray(np.maximum(np.minimum(lower, upper), 0.0))


def overstep(length: FloatArray | float, speed: FloatArray | float = 0.0) -> FloatArray:
    """Return by how much to raise a line so that continuous looks cross it as late as steps do.

    The walk is observed after steps of the given length, and approaches the line with the given
    speed.

    >>> overstep(np.array([1.0, 4.0])).round(4), overstep(1.0, 1.0).round(4)
    (array([0.5826, 1.1652]), np.float64(0.3793))
    """
    reach = OVERSHOOT * np.sqrt(length)
    if isinstance(speed, float) and speed == 0.0:
        return np.asarray(reach)
    return np.asarray(reach * np.exp(speed * reach / (-4 * OVERSHOOT * OVERSHOOT)))


@lru_cache(maxsize=4)
def _step(ratio: float) -> FloatArray:
    """Return the transition matrix of the standardised noise from one clock to the next."""
    edges = np.append(GRID - CELL / 2, EDGE + CELL / 2)
    # The width of a cell already has a part of the variance, that of a uniform distribution.
    spread = math.sqrt(2.0 * (1.0 - 1.0 / ratio - CELL * CELL / 12.0))
    places = (edges - GRID[:, None] / math.sqrt(ratio)) / spread
    reached = [[math.erf(place) for place in row] for row in places.tolist()]
    return np.diff(0.5 * np.array(reached), axis=1)
