"""What to expect of a test of two arms, its noise included: the first passage of its evidence.

Whatever the rule, the difference of the arms' means, times the information in it, is a walk; the
rule says where it stops and how many units each arm has by then. docs/research/prediction.md.
"""

from __future__ import annotations

import math

import numpy as np

from bascule.core.design import Design
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.intervals.procedure import IntervalProcedure
from bascule.core.types import FloatArray
from bascule.theory.prediction.course import (
    Course,
    course_in_blocks,
    decided_along,
    pace_of_blocks,
    shares_of,
)
from bascule.theory.prediction.level import Ends, ends_of, left_at_end, radii_of
from bascule.theory.prediction.passage import GRID, Line, first_passage

LEFT = (-np.log((np.arange(12) + 0.5) / 12)) ** 0.6
LEFT /= LEFT.mean()
"""How `left_at_end` varies around its mean: twelve values, equally likely, as in simulation."""


def course_of_blocks(
    design: Design, procedure: BlockProcedure, gap: float, stride: float = 1.0
) -> Course | None:
    """Return the course of a test of two arms in blocks with a known spread; None if it never ends.

    A pair gains a clock of h for (1 + r) h units of the leader and (1 + 1/r) h of the other, with r
    from the lead before the block. Steps are `stride` times as long as usual.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.05, sides=1)
    >>> course = course_of_blocks(design, design.procedure, 0.1)
    >>> round(0.1 * course.worse), round(course.better + course.worse, -2)
    (129, 4100.0)
    """
    gap /= design.outcome.sigma
    shares = shares_of(procedure.tilt, procedure.share)
    most = float(shares[-1])
    block = procedure.batch * most / (1 + most)
    pace = pace_of_blocks(gap, block, shares, lambda leader: (1 + leader, 1 + 1 / leader))
    passage = first_passage(gap, line_of(procedure), procedure.batch / 2, block, pace, stride)
    return course_in_blocks(passage, most, procedure.batch)


def line_of(procedure: BlockProcedure) -> Line:
    """Return the boundary of blocks with a known spread."""
    return lambda clocks: np.array([procedure.boundary(clock) for clock in clocks.tolist()])


def course_of_intervals(
    design: Design,
    procedure: IntervalProcedure,
    gap: float,
    noise: float | None = None,
    stride: float = 1.0,
) -> Course | None:
    """Return the course of a test of two arms by their intervals; None if it never ends.

    At each information at which the test can end, the units of both arms follow from level indices.
    `noise` is the spread that the outcomes really have, where it is less than the rule thinks.
    Steps are `stride` times as long as usual.
    """
    noise = design.outcome.sigma if noise is None else noise
    # All in units of the noise, of which the rule thinks that it is `wide` times as large.
    gap, wide = gap / noise, design.outcome.sigma / noise
    radii = radii_of(design, wide)
    ends = ends_of(design, radii, gap, wide)
    if ends is None:
        return None
    log_clocks, log_lines = np.log(ends.clocks), np.log(ends.lines)

    def boundary(clocks: FloatArray) -> FloatArray:
        return clocks * np.exp(np.interp(np.log(clocks), log_clocks, log_lines))

    # The flatter the line of the stop, the more looks count that come with the better arm's units.
    part = min(1.0, math.sqrt(ends.fall))
    of_better = float(ends.better[ends.typical] / (ends.better + ends.worse)[ends.typical])
    passage = first_passage(gap, boundary, float(ends.clocks[0]), part * of_better, None, stride)
    if not passage.ends:
        return None
    log_middles = np.log(passage.middles)
    worse, better, level = (
        np.interp(log_middles, log_clocks, column)
        for column in (ends.worse, ends.better, ends.level)
    )
    several = better[:, None]
    if procedure.alpha < math.inf:
        left = left_at_end(procedure.alpha, ends, radii) * ends.level
        wider = np.interp(log_middles, log_clocks, left) / worse
        several = radii.reaching(radii.at(several) + wider[:, None] * LEFT)
    several[1:] += 0.5
    several[0] = _units_at_first_look(gap, ends)
    worse[1:] += level[1:] * part / 2
    better, leaving = several.mean(axis=1), passage.leaving
    ways = several.shape[1]
    return Course(
        float(passage.above @ better + passage.below @ worse) / float(leaving.sum()),
        float(passage.above @ worse + passage.below @ better) / float(leaving.sum()),
        float(passage.below.sum()),
        *decided_along((worse[:, None] + several).ravel(), np.repeat(leaving / ways, ways)),
    )


def _units_at_first_look(gap: float, ends: Ends) -> float:
    """The better arm's units when the first units of the worse one are enough."""
    lines, better = ends.first
    observed = gap + GRID / math.sqrt(float(ends.clocks[0]))
    chances = np.exp(-0.5 * GRID * GRID) * (observed >= min(ends.lines[0], observed[-1]))
    units = np.exp(np.interp(-observed, -lines, np.log(better)))
    return float(chances @ units / chances.sum())
