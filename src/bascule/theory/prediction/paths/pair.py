"""Paths of a test of two arms in blocks, followed in long steps with one total and one clock."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bascule.core.types import FloatArray
from bascule.theory.prediction.course import LEADS
from bascule.theory.prediction.passage import Flat, Line, overstep
from bascule.theory.prediction.paths.noisy_paths import (
    LONGEST,
    Limits,
    Paths,
    futile_rooms,
    growth_of,
    noise_at,
    paths_of,
)


def two_arms(
    gap: float,
    line: Line,
    shares: FloatArray,
    batch: int,
    scale: float,
    limits: Limits,
    stride: float,
) -> Paths | None:
    """Return the paths of a test of two arms, several times as fast as `many_arms.blocks`.

    One total and one clock stand for the pair. The better arm comes first.
    """
    count, step, places = paths_of(2), 0, len(LEADS) - 1
    better, worse, total, clock = np.zeros((4, count))
    bound, alive, done, table = line(clock), np.arange(count), 0.0, scale * places / LEADS[-1]
    height = line.height if isinstance(line, Flat) else None
    # A block has few sizes, with the better arm behind or ahead: what depends on that alone is
    # computed once for each of them.
    sizes, kinds = np.unique(batch * shares, return_inverse=True)
    mine, theirs = np.full((2, 2, len(sizes)), float(batch))
    mine[1], theirs[0] = sizes, sizes
    mine, theirs = mine.ravel(), theirs.ravel()
    weights = mine * theirs / (mine + theirs)
    # Noise is divided by the root of the units: those of a block, and as many blocks.
    noise_of_one, noise_of_other = weights * mine**-0.5, weights * theirs**-0.5
    heaviest, speeds = float(weights.max()), np.array([[max(0.0, gap)], [max(0.0, -gap)]])
    nearer = overstep(weights, speeds)
    # The kind of the next block by the better arm's lead, from furthest behind to furthest ahead.
    kinds = np.concatenate([kinds[:0:-1], kinds + len(sizes)])
    ended: list[tuple[FloatArray, NDArray[np.int64]]] = []
    while len(total) and done < LONGEST:
        ahead = table * total / np.sqrt(clock) if step else total
        ahead = np.minimum(np.maximum(ahead, -places), places)
        kind = kinds.take((ahead + places).astype(np.int64))
        latest = float(clock.max()) if limits.clock < math.inf else 0.0
        growth = growth_of(latest, limits, stride)
        blocks_ahead = max(1.0, float(round(growth * done / batch)))
        repeat, last = np.array(blocks_ahead), None
        room = (limits.clock - latest) / heaviest
        if limits.units < math.inf:
            room = min(room, (limits.units - (better + worse).max()) / (sizes[-1] + batch))
        if room <= 1.5 * blocks_ahead:
            rooms = (limits.units - better - worse) / (mine + theirs).take(kind)
            rooms = np.minimum((limits.clock - clock) / weights.take(kind), rooms)
            last = rooms <= 1.5 * blocks_ahead
            repeat = np.where(last, np.maximum(rooms, 1e-9), blocks_ahead)
        noise = noise_at(step, count, 2)
        one, two = noise if len(alive) == count else noise.take(alive, axis=1)
        gone, before = repeat * weights.take(kind), bound
        observed = one * noise_of_one.take(kind) - two * noise_of_other.take(kind)
        total = total + (gap * gone + np.sqrt(repeat) * observed)
        clock = clock + gone
        if height is not None and last is None:
            moves = overstep(blocks_ahead * weights, speeds) - nearer
            above, below = (height - moves).take(kind, axis=1)
        else:
            bound = line(clock)
            rising = _rising(before, bound, gone)
            above, below = bound - _moved(gap, rising, gone, weights.take(kind), last)
        wins, loses = total >= above, -total >= below
        won = wins | loses
        over = won if last is None else won | last
        if limits.futility > 0.0:
            left = limits.effect**2 * (limits.clock - clock)
            rooms = np.interp(left, *futile_rooms(limits.effect**2 * limits.clock, limits.futility))
            nearest = np.minimum(above - total, below + total)
            over = over | (limits.effect * nearest > rooms)
        done, step = done + blocks_ahead * batch, step + 1
        if not over.any():
            better, worse = better + repeat * mine.take(kind), worse + repeat * theirs.take(kind)
            continue
        leads = kind >= len(sizes)
        wins, loses = wins & (leads | ~loses), loses & ~(wins & leads)
        part = np.where(won & (repeat > 1.0), 0.5 * (repeat + 1.0), repeat)
        better, worse = better + mine.take(kind) * part, worse + theirs.take(kind) * part
        lost = loses & limits.none
        leaving, kept = over & ~lost, np.flatnonzero(~over & ~lost)
        winners = np.where(wins, 0, np.where(loses, 1, -1))
        ended.append((np.column_stack([better, worse])[leaving], winners[leaving]))
        better, worse, alive = better.take(kept), worse.take(kept), alive.take(kept)
        total, clock, bound = total.take(kept), clock.take(kept), bound.take(kept)
    paths = Paths(*(np.concatenate(parts) for parts in zip(*ended, strict=True)))
    return None if len(total) > 0.01 * count or not len(paths.units) else paths


def _rising(before: FloatArray, bound: FloatArray, gone: FloatArray) -> FloatArray:
    """How fast a boundary rises that was `before` and is at `bound`; 0 where it was not finite."""
    with np.errstate(invalid="ignore"):
        rising = (bound - before) / gone
    rising[~np.isfinite(rising)] = 0.0
    return np.asarray(rising)


def _moved(
    drift: float,
    rising: FloatArray,
    gone: FloatArray,
    weight: FloatArray,
    last: NDArray[np.bool_] | None,
) -> FloatArray:
    """Return how far long steps move the boundaries of a pair inwards, above and below.

    At the end it only matters whether a path has crossed a boundary, not when.
    """
    least, moves = np.minimum(weight, gone), []
    for towards in (drift, -drift):
        speed = np.maximum(0.0, towards - rising)
        if last is not None:
            speed = np.where(last, 0.0, speed)
        fast = speed if speed.any() else 0.0
        moves.append(overstep(gone, fast) - overstep(least, fast))
    return np.stack(moves)
