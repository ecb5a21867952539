"""How a test of two arms is expected to go: units of both arms, and when it is decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bascule.core.procedures.blocks.steps import FULL_TILT_AT, Share, units_of_leader
from bascule.core.types import FloatArray
from bascule.theory.prediction.passage import GRID, Pace, Passage

LEADS = np.linspace(0.0, FULL_TILT_AT, 501)
"""Leads at which the leader's share is asked for; beyond the last it stays as it is."""

POINTS = 200
"""Times that a course is made of, at most."""

Sizes = Callable[[FloatArray], tuple[FloatArray, ...]]
"""(leader's units for each one of the other arm) -> units of leader and other arm for each unit of
the clock, and whatever else is to be added up."""


@dataclass(frozen=True, slots=True)
class Course:
    """Expected units of the better and of the worse arm, and the units by which a test is decided.

    `wrong` is the probability of deciding for the worse arm, `decided[k]` that of a decision by
    `times[k]` units.
    """

    better: float
    worse: float
    wrong: float
    times: FloatArray
    decided: FloatArray


@lru_cache(maxsize=64)
def shares_of(tilt: float, share: Share = units_of_leader) -> FloatArray:
    """What the leader gets for each unit of the other arm, at each of `LEADS`.

    >>> shares_of(3.0)[[0, 250, 500]].tolist()
    [1.0, 2.0, 3.0]
    """
    return np.array([float(share(lead, tilt)) for lead in LEADS])


def pace_of_blocks(
    drift: float, block: float, shares: FloatArray, sizes: Sizes, scale: float = 1.0
) -> Pace:
    """Units of the better and of the worse arm along the clock, by the lead before each block.

    The rule sees a lead that is `scale` times the standardised one.

    >>> even = pace_of_blocks(0.1, 0.5, shares_of(1.0), lambda r: (1 + r, 1 + 1 / r))
    >>> even(np.array([10.0]))[0, :, 0].tolist()
    [2.0, 2.0]
    """
    last = len(LEADS) - 1

    def pace(clocks: FloatArray) -> FloatArray:
        leads = scale * (GRID + drift * np.sqrt(np.maximum(clocks - block / 2, 0.0))[:, None])
        places = np.minimum(np.abs(leads) * (last / FULL_TILT_AT), last).astype(np.int64)
        leader, other, *more = sizes(shares[places])
        ahead = leads > 0
        better, worse = np.where(ahead, leader, other), np.where(ahead, other, leader)
        return np.stack([better, worse, *more], axis=1)

    return pace


def course_in_blocks(passage: Passage, most: float, batch: int) -> Course | None:
    """The course when a passage has spent units of the better and of the worse arm.

    It begins with one even block. Unless that is all, half of the last block, in which the leader
    gets `most` units for each one of the other arm, lies beyond the boundary.
    """
    if not passage.is_sure:
        return None
    leaving = passage.leaving
    spent = passage.spent[:, :2] + batch * leaving[:, None]
    spent[1:] += np.outer(leaving[1:], [batch * most / 2, batch / 2])
    better, worse = spent.sum(axis=0) / leaving.sum()
    reached = leaving > 0
    times = spent.sum(axis=1)[reached] / leaving[reached]
    return Course(
        float(better),
        float(worse),
        float(passage.below.sum()),
        *decided_along(times, leaving[reached]),
    )


def decided_along(times: FloatArray, chances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The probability of a decision by each time, when one falls around it with these chances.

    >>> decided_along(np.array([30.0, 10.0]), np.array([0.5, 0.5]))
    (array([10., 30.]), array([0.25, 0.75]))
    """
    order = np.argsort(times, kind="stable")
    times, decided = times[order], np.cumsum(chances[order]) - chances[order] / 2
    kept = np.searchsorted(decided, np.linspace(decided[0], decided[-1], POINTS))
    kept = kept[np.append(True, np.diff(times[kept]) > 0)]
    return times[kept], decided[kept]
