"""Where a UCB test of two arms can end: its indices are level, and what stops it is just reached.

Both conditions together fix, for each number of units of the worse arm, the units of the better one
and the difference of their means. docs/research/prediction.md derives it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bascule.core.design import Design
from bascule.core.evidence.radius import FIRST_UNITS
from bascule.core.evidence.two_arms import log_two_arms
from bascule.core.progress import interval_procedure
from bascule.core.types import FloatArray

POINTS, MOST_UNITS = 240, 1e18
"""Radii are tabulated at this many numbers of units, up to the last."""

EARLY = 8
"""Rows for the worse arm's first units, while the better one has yet to draw level."""

GROWTH, CLEAR = 1.3, 6.0
"""The stop of a mixture is looked for at units that grow by this factor, until a test would have
run beyond it by this many standard deviations."""

SEARCH_STEPS, CLOSE = 60, 1e-4

BACK = 0.8
"""How the line of a stop falls is seen from where it was at this part of the better arm's units."""


@dataclass(frozen=True, slots=True)
class Radii:
    """The radius of an arm, tabulated; between two entries both logarithms run straight."""

    log_units: FloatArray
    log_radii: FloatArray

    def at(self, units: FloatArray | float) -> FloatArray:
        """The radius after these units."""
        return np.asarray(np.exp(np.interp(np.log(units), self.log_units, self.log_radii)))

    def reaching(self, width: FloatArray | float) -> FloatArray:
        """The units after which the radius is this wide."""
        return np.asarray(np.exp(np.interp(-np.log(width), -self.log_radii, self.log_units)))


@dataclass(frozen=True, slots=True)
class Ends:
    """Where a test can end: rows, in the order of the information that they take.

    `lines` has the difference of the means that ends it there; differences and radii are in units
    of the noise. `level` is 1 where the indices are level, 0 while the better arm has yet to draw
    level with the first units of the worse one. `first` has lines and the better arm's units for
    tests that end in the first row. `fall` says, for the row `typical` of the gap, by how much the
    line falls when the better arm's radius falls by 1.
    """

    worse: FloatArray
    better: FloatArray
    lines: FloatArray
    level: FloatArray
    first: tuple[FloatArray, FloatArray]
    typical: int
    fall: float

    @property
    def clocks(self) -> FloatArray:
        """The information in the difference."""
        return self.worse * self.better / (self.worse + self.better)


def radii_of(design: Design, wide: float = 1.0) -> Radii:
    """The radii of a design that takes the noise for `wide` times what it is.

    >>> import bascule as bs
    >>> radii = radii_of(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=0.05))
    >>> round(float(radii.at(100.0)), 4), round(float(radii.reaching(0.3781)))
    (0.3781, 100)
    """
    shape, delta = interval_procedure(design).shape, design.calibration.delta
    units = np.geomspace(FIRST_UNITS, MOST_UNITS, POINTS)
    radii = np.array([shape.radius(n, wide, shape.factor, shape.count, delta) for n in units])
    # At a large delta the radius may rise a little before it falls; the last n is what counts.
    return Radii(np.log(units), np.log(np.maximum.accumulate(radii[::-1])[::-1]))


def ends_of(design: Design, radii: Radii, gap: float, wide: float = 1.0) -> Ends | None:
    """Where a test with these radii can end; None if nowhere.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05, sides=1)
    >>> ends = ends_of(design, radii_of(design), 1.0)
    >>> [round(float(n)) for n in (ends.worse[ends.typical], ends.better[ends.typical])]
    [27, 277]
    """
    procedure = interval_procedure(design)
    alpha = procedure.alpha
    if alpha == 1:
        return None
    if procedure.pairwise:
        return _by_evidence(_Search(radii, alpha, procedure.threshold, wide), gap)
    return _by_intervals(radii, alpha, gap)


def left_at_end(alpha: float, ends: Ends, radii: Radii) -> FloatArray:
    """By how much the better arm's radius is wider at the end than in each row, times the units of
    the worse arm, on average.
    """
    radius = radii.at(ends.better)
    closing = alpha * radius * ends.better / (2 * ends.worse)
    return width_at_end(closing, alpha * radius / ends.lines) / (alpha + ends.fall)


def width_at_end(closing: FloatArray, opening: FloatArray) -> FloatArray:
    """How wide the wedge between level indices and the line of the stop is when a test ends there.

    It is in standard deviations of an outcome of the worse arm, and was found by simulation of the
    last phase alone. `closing` is how fast the wedge closes, by the variance that the better arm's
    units add, `opening` how much each unit of the worse arm opens it, as part of its drift.

    >>> float(width_at_end(np.array(2.0), np.array(0.0)).round(3))
    1.033
    """
    return np.asarray((0.7 + 2 / (3 * closing)) * (1 + 0.35 * opening / (opening + 0.4)))


def _by_intervals(radii: Radii, alpha: float, gap: float) -> Ends:
    worse, of_worse = np.exp(radii.log_units), np.exp(radii.log_radii)
    of_better = of_worse if math.isinf(alpha) else of_worse * (alpha - 1) / (alpha + 1)
    better = radii.reaching(of_better)
    early = np.geomspace(FIRST_UNITS, better[0], EARLY)
    # Where the radius rises, and where the table ends, information does not grow.
    clocks = worse * better / (worse + better)
    fresh = np.append(True, np.diff(np.maximum.accumulate(clocks)) > 0)
    lines = (of_worse + of_better)[fresh]
    return Ends(
        worse[fresh],
        better[fresh],
        lines,
        np.ones(len(lines)),
        (radii.at(early) + of_worse[0], early),
        int(np.argmin(np.abs(lines - gap))),
        1.0,
    )


@dataclass(frozen=True, slots=True)
class _Search:
    """For the difference of means at which the evidence of a mixture is just enough."""

    radii: Radii
    alpha: float
    threshold: float
    wide: float

    def line(self, worse: float, guess: float, better: float | None = None) -> tuple[float, float]:
        """Units of the better arm, by default those of level indices, and the difference."""
        own, more = float(self.radii.at(worse)), worse if better is None else better
        for _ in range(SEARCH_STEPS):
            if better is None and self.alpha < math.inf:
                more = float(self.radii.reaching(max(own - guess / self.alpha, 1e-9 * own)))
            missing = self.threshold - log_two_arms(guess / self.wide, more, worse)
            # The evidence goes with the square of the difference, times half the information.
            step = missing * self.wide**2 * (1 / worse + 1 / more) / guess
            guess = max(guess + step, guess / 2)
            if abs(step) <= CLOSE * guess:
                break
        return more, guess


def _by_evidence(search: _Search, gap: float) -> Ends | None:
    rows = []
    worse, guess = float(FIRST_UNITS), search.wide * math.sqrt(2 * search.threshold + 4)
    while worse < MOST_UNITS:
        better, guess = search.line(worse, guess)
        # A difference this large would not let the worse arm have another unit: a stall.
        if guess < search.alpha * float(search.radii.at(worse)):
            rows.append((worse, better, guess))
            if (gap - guess) * math.sqrt(worse * better / (worse + better)) > CLEAR:
                break
        worse, guess = GROWTH * worse, guess / math.sqrt(GROWTH)
    if not rows:
        return None
    typical = min(rows, key=lambda row: abs(row[2] - gap))
    early = _early(search, *rows[0])
    worse_units, better_units, lines = np.array(early + rows).T
    return Ends(
        worse_units,
        better_units,
        lines,
        (np.arange(len(lines)) >= len(early)).astype(np.float64),
        (lines[:1], better_units[:1]),
        len(early) + rows.index(typical),
        _fall(search, *typical),
    )


def _early(
    search: _Search, worse: float, better: float, line: float
) -> list[tuple[float, float, float]]:
    """Rows on the better arm's way to the first at which the indices are level."""
    if better == worse:
        return []
    guess, rows = 2 * line, []
    for more in np.geomspace(FIRST_UNITS, better, EARLY, endpoint=False).tolist():
        guess = search.line(worse, guess, more)[1]
        rows.append((worse, more, guess))
    return rows


def _fall(search: _Search, worse: float, better: float, line: float) -> float:
    if better == worse:
        return 1.0
    before = search.line(worse, line, BACK * better)[1]
    narrower = float(search.radii.at(BACK * better) - search.radii.at(better))
    return max(0.0, (before - line) / narrower)
