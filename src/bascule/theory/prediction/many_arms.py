"""What to expect of a test of three and more arms: its noise drawn once, followed in long steps.

A few hundred paths are followed with random numbers that are always the same, so a prediction is a
smooth function of the design. Steps grow with the test, and boundaries are moved by what a longer
step oversteps them more. docs/research/prediction.md derives both parts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bascule.core.types import FloatArray
from bascule.theory.prediction.course import LEADS
from bascule.theory.prediction.passage import Line, overstep
from bascule.theory.prediction.paths.noisy_paths import (
    LONGEST,
    NO_LIMITS,
    Limits,
    Paths,
    futile_rooms,
    growth_of,
    noise_at,
    paths_of,
)
from bascule.theory.prediction.paths.pair import two_arms

MOST_ARMS = 12
"""With more arms than this so few paths are left that the mean path is better."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of a number of arms, each once: the arm `one` against the `other`.

    `rivals` are those of each arm, and `place` is where its pair with each of them is.
    """

    one: NDArray[np.int64]
    other: NDArray[np.int64]
    rivals: NDArray[np.int64]
    place: NDArray[np.int64]

    @classmethod
    def of(cls, arms: int) -> Pairs:
        """Return the pairs.

        >>> Pairs.of(3).rivals.tolist(), Pairs.of(3).place.tolist()
        ([[1, 2], [0, 2], [0, 1]], [[0, 1], [0, 2], [1, 2]])
        """
        one, other = np.triu_indices(arms, 1)
        rivals = [[rival for rival in range(arms) if rival != arm] for arm in range(arms)]
        numbers = np.zeros((arms, arms), np.int64)
        numbers[one, other] = numbers[other, one] = np.arange(len(one))
        return cls(one, other, np.array(rivals), np.take_along_axis(numbers, np.array(rivals), 1))

    def by_arm(self, forth: NDArray[Any], back: NDArray[Any]) -> NDArray[Any]:
        """Return, for each arm, rival and path, what holds for that arm against that rival.

        `forth` says for each pair and path what holds for one against the other; `back`, for the
        other against the one.
        """
        is_one = np.arange(len(self.place))[:, None] < self.rivals
        return np.where(
            is_one[:, :, None], forth.take(self.place, axis=0), back.take(self.place, axis=0)
        )


def blocks(
    gaps: tuple[float, ...],
    line: Line,
    shares: FloatArray,
    batch: int,
    scale: float = 1.0,
    limits: Limits = NO_LIMITS,
    stride: float = 1.0,
) -> Paths | None:
    """Return the paths of a test in blocks; None if too many do not end.

    `gaps` are those of the rivals, in standard deviations of an outcome; `shares` what the leader
    gets for each unit of a rival, by its lead, of which the rule sees `scale` times as much.
    Steps are `stride` times as long as usual.
    """
    arms = len(gaps) + 1
    if arms == 2:
        return two_arms(gaps[0], line, shares, batch, scale, limits, stride)
    count, step = 2 * int(paths_of(arms) / (2.0 * stride)), 0
    means = -np.array([0.0, *gaps])
    pairs = Pairs.of(arms)
    one, other = pairs.one, pairs.other
    drift = (means[one] - means[other])[:, None]
    # A row for each arm or pair, and a column for each path.
    units, active = np.zeros((arms, count)), np.ones((arms, count), bool)
    totals, clocks = np.zeros((len(one), count)), np.zeros((len(one), count))
    before = line(clocks)
    alive, done = np.arange(count), 0.0
    ended: list[tuple[FloatArray, NDArray[np.int64]]] = []
    while len(alive) and done < LONGEST:
        columns = np.arange(len(alive))
        both = active[one] & active[other]
        apart = totals / np.sqrt(np.maximum(clocks, 1e-300))
        apart = pairs.by_arm(np.where(both, apart, math.inf), np.where(both, -apart, math.inf))
        leads = np.where(active, apart.min(axis=1), -math.inf)
        leader = leads.argmax(axis=0)
        ahead = np.clip(scale * leads.max(axis=0), 0.0, LEADS[-1])
        taken = batch * active.astype(float)
        taken[leader, columns] *= shares[(ahead * ((len(LEADS) - 1) / LEADS[-1])).astype(np.int64)]
        ours, theirs = taken[one], taken[other]
        weight = np.where(both, ours * theirs / np.maximum(ours + theirs, 1e-12), 0.0)
        # A long step is as many blocks, for each path no more than there is room for.
        growth = growth_of(float(clocks.max()), limits, stride)
        blocks_ahead = max(1.0, float(round(growth * done / batch)))
        room = np.where(both, (limits.clock - clocks) / np.maximum(weight, 1e-12), math.inf)
        room = np.minimum(room.min(axis=0), (limits.units - units.sum(axis=0)) / taken.sum(axis=0))
        last = room <= 1.5 * blocks_ahead
        repeat = np.where(last, np.maximum(room, 1e-9), blocks_ahead)
        noise, step = noise_at(step, count, arms).take(alive, axis=1), step + 1
        observed = means[:, None] + noise / np.sqrt(np.maximum(repeat * taken, 1e-12))
        gone = repeat * weight
        totals += gone * (observed[one] - observed[other])
        clocks += gone
        bound = line(clocks)
        with np.errstate(invalid="ignore", divide="ignore"):
            rising = np.where(before < math.inf, (bound - before) / gone, 0.0)
        rising = np.where(np.isfinite(rising), rising, 0.0)
        beats = []
        for sign in (1.0, -1.0):
            # At the end what counts is whether a path has been beyond the boundary, and not when.
            speed = np.where(last, 0.0, np.maximum(0.0, sign * drift - rising))
            moved = overstep(gone, speed) - overstep(np.minimum(weight, gone), speed)
            beats.append(sign * totals - (bound - moved))
        beaten = active & pairs.by_arm(*((beat >= 0.0) & both for beat in beats[::-1])).any(axis=1)
        # Never all at once: the one that leads stays.
        beaten[leader, columns] &= (active & ~beaten).any(axis=0)
        stays = active & ~beaten
        won = stays.sum(axis=0) == 1
        over = won | last | futile(beats, clocks, stays, limits, pairs)
        # An arm that leaves in a long step leaves half-way, and half of the last block is too much.
        part = np.where(repeat > 1.0, 0.5 * (repeat + 1.0), repeat)
        units += taken * np.where(beaten | won, part, repeat)
        done += blocks_ahead * batch
        # A path that has lost the best arm need never end.
        keep = ~over & (stays[0] | (not limits.none))
        leaving = over & (stays[0] | (not limits.none))
        ended.append((units[:, leaving].T, np.where(won, stays.argmax(axis=0), -1)[leaving]))
        if keep.all():
            active, before = stays, bound
        else:
            # `take` is several times as fast as an index.
            kept = np.flatnonzero(keep)
            alive, active, units = alive[kept], stays.take(kept, axis=1), units.take(kept, axis=1)
            totals, clocks = totals.take(kept, axis=1), clocks.take(kept, axis=1)
            before = bound.take(kept, axis=1)
    paths = Paths(*(np.concatenate(parts) for parts in zip(*ended, strict=True)))
    return None if len(alive) > 0.01 * count or not len(paths.units) else paths


def futile(
    beyond: list[FloatArray],
    clocks: FloatArray,
    active: NDArray[np.bool_],
    limits: Limits,
    pairs: Pairs,
) -> NDArray[np.bool_]:
    """Return which paths have no arm left that would beat every rival with enough probability.

    `beyond` says for each pair, in both directions, how far its total is beyond the boundary.
    """
    if limits.futility == 0.0:
        return np.zeros(clocks.shape[1], bool)
    left = limits.effect**2 * (limits.clock - clocks)
    lefts, rooms = futile_rooms(limits.effect**2 * limits.clock, limits.futility)
    room = np.interp(left, lefts, rooms)
    hopeless = pairs.by_arm(*(-limits.effect * far > room for far in beyond))
    rivals = active[pairs.rivals]
    return np.asarray(~(active & ~(hopeless & rivals).any(axis=1)).any(axis=0))
