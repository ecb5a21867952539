"""Predict tests of three or more arms by a coarse simulation in long steps with fixed noise.

Some paths are followed with random numbers that are always the same, so a prediction is a smooth
function of the design. Steps grow with the test. A longer step oversteps a boundary further before
this is seen, so boundaries are moved inwards by the difference. docs/research/prediction.md derives
this correction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bascule.core.types import FloatArray
from bascule.theory.prediction.course import LEADS, BlockTest, course_along
from bascule.theory.prediction.passage import Line, PassageLimits, overstep
from bascule.theory.prediction.prediction import Prediction

FEWEST_STEPS = 256
"""Minimum number of steps for which noise is drawn at the same time."""

CELLS, MOST_PATHS, FEWEST_PATHS = 5_000, 500, 40
"""Number of paths times squared number of arms; maximum and minimum number of paths."""

GROWTH, GROWTH_TO_END, EARLY = 0.2, 0.06, 0.05
"""Growth of a test in one step, as a fraction of its length; the smaller growth near a horizon,
where many decisions fall; and the fraction of the horizon from which the smaller one is used."""

LONGEST = 1e16
"""Units of a challenger after which an undecided path is no longer followed."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """All pairs of arms, each listed once: pair i compares arm `one[i]` with arm `other[i]`.

    `rivals` has the rivals of each arm, and `place` the index of the arm's pair with each rival.
    """

    one: NDArray[np.int64]
    other: NDArray[np.int64]
    rivals: NDArray[np.int64]
    place: NDArray[np.int64]

    @classmethod
    def of(cls, arms: int) -> Pairs:
        """Return all pairs of a number of arms.

        >>> Pairs.of(3).rivals.tolist(), Pairs.of(3).place.tolist()
        ([[1, 2], [0, 2], [0, 1]], [[0, 1], [0, 2], [1, 2]])
        """
        first, second = np.triu_indices(arms, 1)
        rivals = [[rival for rival in range(arms) if rival != arm] for arm in range(arms)]
        numbers = np.zeros((arms, arms), np.int64)
        numbers[first, second] = numbers[second, first] = np.arange(len(first))
        return cls(
            first, second, np.array(rivals), np.take_along_axis(numbers, np.array(rivals), 1)
        )

    def by_arm(self, forth: NDArray[Any], back: NDArray[Any]) -> NDArray[Any]:
        """Convert values for each pair and path to values for each arm, rival and path.

        `forth` has the values of `one` against `other`, and `back` those of `other` against `one`.
        """
        is_one = np.arange(len(self.place))[:, None] < self.rivals
        return np.where(
            is_one[:, :, None], forth.take(self.place, axis=0), back.take(self.place, axis=0)
        )


def many_arms(test: BlockTest) -> Prediction | None:
    """Return the prediction for a test of many arms in blocks; None if too many paths do not end.

    Without limits, only paths that found the best arm count; the share of the others is not known
    well.
    """
    gaps, line, shares, batch, limits, stride, scale = test
    arms, line = len(gaps) + 1, tabulated(line)
    paths = min(MOST_PATHS, max(FEWEST_PATHS, CELLS / arms**2))
    count, step = 2 * int(paths / (2.0 * stride)), 0
    means = -np.array([0.0, *gaps])
    pairs = Pairs.of(arms)
    first, second = pairs.one, pairs.other
    drift = (means[first] - means[second])[:, None]
    # A row for each arm or pair, and a column for each path.
    units, active = np.zeros((arms, count)), np.ones((arms, count), bool)
    totals, clocks = np.zeros((len(first), count)), np.zeros((len(first), count))
    before = line(clocks)
    alive, time_done = np.arange(count), 0.0
    ended: list[tuple[FloatArray, NDArray[np.int64]]] = []
    while len(alive) and time_done < LONGEST:
        columns = np.arange(len(alive))
        are_active = active[first] & active[second]
        apart = totals / np.sqrt(np.maximum(clocks, 1e-300))
        apart = pairs.by_arm(
            np.where(are_active, apart, math.inf), np.where(are_active, -apart, math.inf)
        )
        leads = np.where(active, apart.min(axis=1), -math.inf)
        leader = leads.argmax(axis=0)
        ahead = np.clip(scale * leads.max(axis=0), 0.0, LEADS[-1])
        taken = batch * active.astype(float)
        taken[leader, columns] *= shares[(ahead * ((len(LEADS) - 1) / LEADS[-1])).astype(np.int64)]
        ours, theirs = taken[first], taken[second]
        weight = np.where(are_active, ours * theirs / np.maximum(ours + theirs, 1e-12), 0.0)
        # A long step has this many blocks, for each path at most as many as fit before its limits.
        growth = stride * (GROWTH if clocks.max() < EARLY * limits.clock else GROWTH_TO_END)
        blocks_ahead = max(1.0, float(round(growth * time_done / batch)))
        room = np.where(are_active, (limits.clock - clocks) / np.maximum(weight, 1e-12), math.inf)
        room = np.minimum(room.min(axis=0), (limits.units - units.sum(axis=0)) / taken.sum(axis=0))
        last = room <= 1.5 * blocks_ahead
        repeat = np.where(last, np.maximum(room, 1e-9), blocks_ahead)
        noise, step = _noise_at(step, count, arms).take(alive, axis=1), step + 1
        observed = means[:, None] + noise / np.sqrt(np.maximum(repeat * taken, 1e-12))
        gone = repeat * weight
        totals += gone * (observed[first] - observed[second])
        clocks += gone
        bound = line(clocks)
        with np.errstate(invalid="ignore", divide="ignore"):
            rising = np.where(before < math.inf, (bound - before) / gone, 0.0)
        rising = np.where(np.isfinite(rising), rising, 0.0)
        beats = []
        for sign in (1.0, -1.0):
            # In the last step it matters whether a path crosses the boundary, but not when.
            speed = np.where(last, 0.0, np.maximum(0.0, sign * drift - rising))
            moved = overstep(gone, speed) - overstep(np.minimum(weight, gone), speed)
            beats.append(sign * totals - (bound - moved))
        beaten = active & pairs.by_arm(*((beat >= 0.0) & are_active for beat in beats[::-1])).any(
            axis=1
        )
        # Not all arms can be beaten at once: the leader stays.
        beaten[leader, columns] &= (active & ~beaten).any(axis=0)
        stays = active & ~beaten
        won = stays.sum(axis=0) == 1
        over = won | last | futile(beats, clocks, stays, limits, pairs)
        # An arm that is beaten in a step of n blocks leaves after (n + 1) / 2 of them on average.
        part = np.where(repeat > 1.0, 0.5 * (repeat + 1.0), repeat)
        units += taken * np.where(beaten | won, part, repeat)
        time_done += blocks_ahead * batch
        # Without limits, a path that has lost the best arm may never end, and is left out.
        keep = ~over & (stays[0] | (not limits.none))
        leaving = over & (stays[0] | (not limits.none))
        ended.append((units[:, leaving].T, np.where(won, stays.argmax(axis=0), -1)[leaving]))
        # `take` is several times as fast as indexing.
        kept = np.flatnonzero(keep)
        alive, active, units = alive[kept], stays.take(kept, axis=1), units.take(kept, axis=1)
        totals, clocks = totals.take(kept, axis=1), clocks.take(kept, axis=1)
        before = bound.take(kept, axis=1)
    spent, winners = (np.concatenate(parts) for parts in zip(*ended, strict=True))
    if len(alive) > 0.01 * count or not len(spent):
        return None
    times, decided = spent.sum(axis=1), winners >= 0
    return Prediction(
        units=tuple(spent.mean(axis=0).tolist()),
        gaps=gaps,
        course=course_along(times[decided], np.full(decided.sum(), 1.0 / len(times))),
        open_until=math.inf if decided.all() else float(times[~decided].mean()),
        wrong=math.nan if limits.none else float(np.mean(winners > 0)),
    )


def futile(
    beyond: list[FloatArray],
    clocks: FloatArray,
    active: NDArray[np.bool_],
    limits: PassageLimits,
    pairs: Pairs,
) -> NDArray[np.bool_]:
    """Return which paths are futile: no arm is likely enough to beat all its rivals.

    `beyond` says for each pair, in both directions, how far its total is beyond the boundary.
    """
    if limits.futility == 0.0:
        return np.zeros(clocks.shape[1], bool)
    room = limits.futile_room(clocks)
    hopeless = pairs.by_arm(*(-excess > room for excess in beyond))
    rivals = active[pairs.rivals]
    return np.asarray(~(active & ~(hopeless & rivals).any(axis=1)).any(axis=0))


def _noise_at(step: int, count: int, arms: int) -> FloatArray:
    """Return the noise of one step: a row for each arm, a column for each path.

    It is the same in every prediction, so it is drawn once for many steps.
    """
    noise: FloatArray = _noise(count, arms, max(FEWEST_STEPS, 2 ** step.bit_length()))[step]
    return noise


@lru_cache(maxsize=4)
def _noise(count: int, arms: int, steps: int) -> FloatArray:
    half = np.random.default_rng(1).standard_normal((steps, count // 2, arms)).transpose(0, 2, 1)
    return np.concatenate([half, -half], axis=2)


def tabulated(line: Line) -> Line:
    """Return a faster version of a boundary, interpolated between tabulated values."""
    first, last, parts = math.log(0.05), math.log(1e13), 199
    known = line(np.exp(np.linspace(first, last, parts + 1)))
    with np.errstate(invalid="ignore"):
        rises = np.diff(known)
    # Do not interpolate next to infinite values.
    rises[~np.isfinite(rises)] = 0.0

    def at(clocks: FloatArray) -> FloatArray:
        places = (np.log(np.maximum(clocks, 1e-12)) - first) * (parts / (last - first))
        left = np.clip(places, 0.0, parts - 1.0).astype(np.int64)
        values = known.take(left) + rises.take(left) * np.minimum(places - left, 1.0)
        values[places < 0.0] = math.inf
        return np.asarray(values)

    return at
