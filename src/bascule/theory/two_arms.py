"""What to expect of a test of two arms, its noise included: the first passage of its evidence.

Whatever the rule, the difference of the arms' means, times the information in it, is a walk; the
rule says where it stops and how many units each arm has by then. docs/explanation/prediction.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bascule.core.arms import FloatArray
from bascule.core.block_progress import evidence_wanted
from bascule.core.design import Design
from bascule.core.evidence.normal import informed_boundary, mixture_boundary
from bascule.core.evidence.two_arms import log_two_arms
from bascule.core.radius import FIRST_UNITS
from bascule.core.rules import UCB, Tilt
from bascule.core.rules.mixture import log_threshold
from bascule.theory.course import Course, blocks_along, course_in_blocks, decided_along, shares_of
from bascule.theory.passage import first_passage

EXCESS = 0.5 * -np.log((np.arange(12) + 0.5) / 12)
"""How far beyond its line a walk is when a unit of the worse arm brings it there, in standard
deviations of an outcome: twelve values, equally likely, of mean 1/2, which simulation suggests."""

ENDS, MOST_TO_ONE, HALVINGS = 60, 1e6, 22
"""Where the stop of a mixture is looked for: worse arm's units, better arm's for each one of them,
and steps of the search."""


def course_of(design: Design, gap: float, noise: float | None = None) -> Course:
    """The course of a test of two arms whose rule goes by a known spread.

    `noise` is the spread that the outcomes really have, where it is less.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.05)
    >>> course = course_of(design, 0.1)
    >>> round(0.1 * course.worse), round(course.better + course.worse, -2)
    (128, 4100.0)
    """
    if isinstance(design.rule, Tilt):
        return _course_of_blocks(design, design.rule, gap / design.outcome.sigma)
    noise = design.outcome.sigma if noise is None else noise
    return _course_of_intervals(design, gap / noise, design.outcome.sigma / noise)


def _course_of_blocks(design: Design, rule: Tilt, gap: float) -> Course:
    """Units along the clock: a pair gains h for (1 + r) h of the leader and (1 + 1/r) h of the
    other, with r from the lead before the block.
    """
    effect, threshold = evidence_wanted(design, rule)
    shares = shares_of(rule.tilt)
    most = float(shares[-1])
    full = rule.batch * most / (1 + most)

    def boundary(clock: float) -> float:
        if rule.effect is None:
            return mixture_boundary(clock, threshold)
        return informed_boundary(clock, threshold, effect)

    passage = first_passage(gap, boundary, rule.batch / 2, full)
    blocks = blocks_along(passage, gap, full, shares)
    of_leader, of_other = 1 + blocks.leader, 1 + 1 / blocks.leader
    better, worse = blocks.mean(of_leader, of_other), blocks.mean(of_other, of_leader)
    return course_in_blocks(passage, blocks, better, worse, most, rule.batch)


def _course_of_intervals(design: Design, gap: float, wide: float) -> Course:
    """At each information at which the test can end, the units of both arms follow from level
    indices; the better arm then gets units until the intervals part. All in units of the noise,
    of which the rule thinks that it is `wide` times as large.
    """
    ends = _ends(design, wide)
    logs = np.log(ends.clocks)

    def boundary(clock: float) -> float:
        return float(np.exp(np.interp(math.log(clock), logs, np.log(ends.boundary))))

    ratio = np.interp(math.log(30.0 / gap**2), logs, ends.better / ends.worse)
    look = float(ratio / (1 + ratio))
    passage = first_passage(gap, boundary, float(ends.clocks[0]), look)
    middles = np.append(passage.clocks[0], (passage.clocks[1:] + passage.clocks[:-1]) / 2)
    worse = np.interp(np.log(middles), logs, ends.worse)
    better = worse
    if design.paper_rule.alpha != math.inf:
        lines = np.interp(np.log(middles), logs, ends.boundary)
        seen = (lines[:, None] + EXCESS * math.sqrt(look)) / middles[:, None]
        better = ends.better_units(worse, seen)
    worse, better = worse + 0.5, better + 0.5
    leaving = passage.above + passage.below
    total = leaving.sum()
    return Course(
        float((passage.above @ better + passage.below @ worse) / total),
        float((passage.above @ worse + passage.below @ better) / total),
        float(passage.below.sum()),
        worse + better,
        decided_along(passage),
    )


@dataclass(frozen=True, slots=True)
class _Ends:
    """Where a test can end: information, total, units of both arms; and how the better arm's units
    follow from those of the worse one and the difference that is seen.
    """

    clocks: FloatArray
    boundary: FloatArray
    worse: FloatArray
    better: FloatArray
    better_units: Callable[[FloatArray, FloatArray], FloatArray]


def _ends(design: Design, wide: float) -> _Ends:
    shape = design.paper_rule.shape(design.outcome, 2)
    delta, alpha = design.calibration.delta, design.paper_rule.alpha
    units = np.geomspace(FIRST_UNITS, 1e13, 1200)
    radii = np.array([shape.radius(n, wide, shape.factor, shape.count, delta) for n in units])
    # At a large delta the radius may rise a little before it falls; the last n is what counts.
    radii = np.maximum.accumulate(radii[::-1])[::-1]

    def reaching(width: FloatArray) -> FloatArray:
        log_width = -np.log(np.maximum(width, radii[-1]))
        return np.asarray(np.exp(np.interp(log_width, -np.log(radii), np.log(units))))

    if isinstance(design.rule, UCB) and design.rule.stop == "mixture":
        return _ends_by_evidence(design, units, radii, wide)
    even = math.isinf(alpha)
    narrow = radii if even else radii * (alpha - 1) / (alpha + 1)
    better = units if even else reaching(narrow)
    clocks = units * better / (units + better)
    fresh = np.append(True, np.diff(np.maximum.accumulate(clocks)) > 0)

    def better_units(worse: FloatArray, seen: FloatArray) -> FloatArray:
        own = np.interp(np.log(worse), np.log(units), radii)
        return np.asarray(reaching(seen - own[:, None]).mean(axis=1))

    return _Ends(
        clocks[fresh],
        (clocks * (radii + narrow))[fresh],
        units[fresh],
        better[fresh],
        better_units,
    )


def _ends_by_evidence(design: Design, units: FloatArray, radii: FloatArray, wide: float) -> _Ends:
    """The same for the stop of a mixture: along level indices, where the evidence is enough."""
    alpha, threshold = design.paper_rule.alpha, log_threshold(2, design.calibration.error)
    rows = []
    for worse in np.geomspace(FIRST_UNITS, 1e8, ENDS):
        own = float(np.interp(math.log(worse), np.log(units), radii))
        low, high = 0.0, math.log(MOST_TO_ONE)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            more = worse * math.exp(middle)
            seen = _level_difference(alpha, own, more, units, radii)
            if log_two_arms(seen / wide, more, worse, threshold) < threshold:
                low = middle
            else:
                high = middle
        more = worse * math.exp(high)
        if high < math.log(MOST_TO_ONE):
            seen = _level_difference(alpha, own, more, units, radii)
            clock = worse * more / (worse + more)
            rows.append((clock, clock * seen, worse, more))
    clocks, boundary, worse_units, better = np.array(rows).T
    fresh = np.append(True, np.diff(np.maximum.accumulate(clocks)) > 0)

    def better_units(worse: FloatArray, seen: FloatArray) -> FloatArray:
        # The evidence goes with the information times the square of the difference.
        wanted = np.exp(np.interp(np.log(worse), np.log(worse_units), np.log(boundary**2 / clocks)))
        information = np.minimum(wanted[:, None] / seen**2, worse[:, None] * (1 - 1 / MOST_TO_ONE))
        found = information * worse[:, None] / (worse[:, None] - information)
        return np.asarray(np.maximum(found, worse[:, None]).mean(axis=1))

    return _Ends(clocks[fresh], boundary[fresh], worse_units[fresh], better[fresh], better_units)


def _level_difference(
    alpha: float, own: float, more: float, units: FloatArray, radii: FloatArray
) -> float:
    return alpha * (own - float(np.interp(math.log(more), np.log(units), radii)))
