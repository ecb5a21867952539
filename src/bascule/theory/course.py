"""How a test of two arms is expected to go: units of both arms, and when it is decided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bascule.core.arms import FloatArray
from bascule.core.blocks import FULL_TILT_AT, units_of_leader
from bascule.theory.passage import GRID, Passage

LEADS = np.linspace(0.0, FULL_TILT_AT, 501)
"""Leads at which the leader's share is asked for; beyond the last it stays as it is."""


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


@dataclass(frozen=True, slots=True)
class Blocks:
    """The sizes of blocks along a passage, averaged over its noise; one row a step.

    `leader` is what the leader gets for each unit of the other arm, as it depends on the noise.
    """

    steps: FloatArray
    present: FloatArray
    law: FloatArray
    leads: FloatArray
    leader: FloatArray

    def mean(self, better_ahead: FloatArray, worse_ahead: FloatArray) -> FloatArray:
        """The average of what holds while the better arm leads and of what holds else."""
        return np.asarray((self.law * np.where(self.leads > 0, better_ahead, worse_ahead)).sum(1))


def shares_of(tilt: float) -> FloatArray:
    """What the leader gets for each unit of the other arm, at each of `LEADS`.

    >>> shares_of(3.0)[[0, 250, 500]].tolist()
    [1.0, 2.0, 3.0]
    """
    return np.array([float(units_of_leader(lead, tilt)) for lead in LEADS])


def blocks_along(passage: Passage, drift: float, block: float, shares: FloatArray) -> Blocks:
    """The blocks of a test whose lead follows a passage; each goes by the lead before it."""
    inside = passage.inside.sum(axis=1)
    known = np.maximum(passage.clocks[:-1] - block / 2, 0.0)
    leads = GRID + drift * np.sqrt(known)[:, None]
    last = len(LEADS) - 1
    places = np.minimum(np.abs(leads) * last / FULL_TILT_AT, last).astype(np.int64)
    return Blocks(
        np.diff(passage.clocks),
        # Who leaves during a step is counted with half of it.
        (inside[:-1] + inside[1:]) / 2,
        passage.inside[:-1] / np.maximum(inside[:-1], 1e-300)[:, None],
        leads,
        shares[places],
    )


def course_in_blocks(
    passage: Passage, blocks: Blocks, better: FloatArray, worse: FloatArray, most: float, batch: int
) -> Course:
    """The course when a step of the clock takes `better` and `worse` units of the arms.

    It begins with one even block, and half of the last one lies beyond the boundary.
    """
    whole = np.cumsum(blocks.steps * (better + worse))
    return Course(
        batch + float(blocks.present @ (blocks.steps * better)) + batch * most / 2,
        batch + float(blocks.present @ (blocks.steps * worse)) + batch / 2,
        float(passage.below.sum()),
        2 * batch + np.concatenate([[0.0], whole]),
        decided_along(passage),
    )


def decided_along(passage: Passage) -> FloatArray:
    """The probability of a decision by each clock."""
    return np.cumsum(passage.above + passage.below)
