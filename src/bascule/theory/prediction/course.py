"""Predict tests of two arms in blocks, from the first passage of a random walk."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from bascule.core.procedures.blocks.steps import FULL_TILT_AT, Share, units_of_leader
from bascule.core.types import FloatArray
from bascule.theory.prediction.passage import GRID, Line, Pace, PassageLimits, first_passage
from bascule.theory.prediction.prediction import Prediction

LEADS = np.linspace(0.0, FULL_TILT_AT, 501)
"""Leads at which the leader's share is tabulated; it is constant beyond the last one."""

POINTS = 200
"""Maximum number of points of the curve of decision probabilities over units."""


@lru_cache(maxsize=64)
def shares_of(tilt: float, share: Share = units_of_leader) -> FloatArray:
    """Return the leader's units per unit of the other arm, at each of `LEADS`.

    >>> shares_of(3.0)[[0, 250, 500]].tolist()
    [1.0, 2.0, 3.0]
    """
    return np.array([float(share(lead, tilt)) for lead in LEADS])


def pace_of_blocks(drift: float, block: float, shares: FloatArray, scale: float = 1.0) -> Pace:
    """Return how many units of each of two arms add 1 to their information, as a function of it.

    With r units of the leader per unit of the other arm, a pair gains information h for (1 + r) h
    units of the leader and (1 + 1/r) h of the other. The lead that the rule sees is `scale` times
    the standardised lead.

    >>> even = pace_of_blocks(0.1, 0.5, shares_of(1.0))
    >>> even(np.array([10.0]))[0, :, 0].tolist()
    [2.0, 2.0]
    """
    last = len(LEADS) - 1

    def pace(clocks: FloatArray) -> FloatArray:
        leads = scale * (GRID + drift * np.sqrt(np.maximum(clocks - block / 2, 0.0))[:, None])
        places = np.minimum(np.abs(leads) * (last / FULL_TILT_AT), last).astype(np.int64)
        units = shares[places]
        leader, rival, ahead = 1.0 + units, 1.0 + 1.0 / units, leads > 0.0
        return np.stack([np.where(ahead, leader, rival), np.where(ahead, rival, leader)], axis=1)

    return pace


class BlockTest(NamedTuple):
    """The properties of a test in blocks on which its prediction depends."""

    gaps: tuple[float, ...]
    """The gaps of the arms below the best, in standard deviations of an outcome."""
    line: Line
    """The total at which a pair is decided, by the information of the pair."""
    shares: FloatArray
    """The leader's units per unit of a rival, by its lead (`shares_of`)."""
    batch: int
    """Units of each challenger in a batch."""
    limits: PassageLimits
    """Limits at which a test ends without a decision."""
    stride: float
    """Length of the steps of the prediction, as a multiple of the usual one."""
    scale: float = 1.0
    """The lead that the rule sees, divided by the standardised lead."""


def two_arms(test: BlockTest) -> Prediction | None:
    """Return the prediction for a test of two arms in blocks; None if too many tests never end.

    A test begins with one even block. On average half of its last block lies beyond the boundary.
    """
    gaps, line, shares, batch, limits, stride, scale = test
    if limits.units < 2.0 * batch:
        # If there is no room for the first block, the test ends at once.
        half = limits.units / 2
        return Prediction((half, half), gaps, ((0.0, 0.0),), limits.units, wrong=0.0)
    (gap,), largest = gaps, float(shares[-1])
    block = batch * largest / (1.0 + largest)
    pace = pace_of_blocks(gap, block, shares, scale)
    within = replace(limits, units=limits.units - 2.0 * batch)
    passage = first_passage(gap, line, batch / 2, block, pace, stride, within)
    if not passage.is_sure:
        return None
    beyond = np.array([batch * largest / 2, batch / 2])
    spent = passage.spent + np.outer(passage.leaving, [batch, batch])
    spent[1:] += np.outer(passage.leaving[1:], beyond)
    if math.isfinite(limits.units):
        # The last block is cut where it would exceed the cap.
        totals = np.maximum(spent.sum(axis=1), 1e-300)
        spent *= np.minimum(1.0, limits.units * passage.leaving / totals)[:, None]
    wasted = passage.wasted + np.outer(passage.futile, [batch, batch])
    if math.isinf(limits.units):
        wasted += np.outer(passage.futile, beyond)
    undecided, decided = float(passage.futile.sum()), float(passage.leaving.sum())
    units = (spent.sum(axis=0) + wasted.sum(axis=0)) / (undecided + decided)
    reached = passage.leaving > 0.0
    times = np.minimum(spent.sum(axis=1)[reached] / passage.leaving[reached], limits.units)
    return Prediction(
        tuple(units.tolist()),
        gaps,
        course_along(times, passage.leaving[reached]),
        float(wasted.sum() / undecided) if undecided > 0.0 else math.inf,
        float(passage.below.sum()),
    )


def course_along(times: FloatArray, chances: FloatArray) -> tuple[tuple[float, float], ...]:
    """Return pairs of a number of units and the probability of a decision by that number.

    >>> course_along(np.array([30.0, 10.0]), np.array([0.5, 0.25]))
    ((10.0, 0.125), (30.0, 0.5), (30.0, 0.75))
    """
    if not len(times):
        return ((0.0, 0.0),)
    order = np.argsort(times, kind="stable")
    times, decided = times[order], np.cumsum(chances[order]) - chances[order] / 2
    kept = np.searchsorted(decided, np.linspace(decided[0], decided[-1], POINTS))
    kept = kept[np.append(True, np.diff(times[kept]) > 0)]
    times, decided = np.append(times[kept], times[-1]), np.append(decided[kept], chances.sum())
    decided = np.minimum(decided, 1.0)
    return tuple(zip(times.tolist(), decided.tolist(), strict=True))
