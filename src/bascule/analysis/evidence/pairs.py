"""What two arms have shown day by day, and how far their difference may be from the truth.

Every kind of evidence ends in a total with a clock and a boundary that the total has to reach.
docs/explanation/analyse.md says which sequence is tested, and proves each kind.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bascule.analysis.reduce.sums import Sums
from bascule.core.diagnostics.periods import ROUNDING
from bascule.core.evidence.bernstein import expected, most_squares
from bascule.core.evidence.days import SLOPES, day_charges, lines_boundary, scored_charges
from bascule.core.evidence.normal import mixture_boundary
from bascule.core.outcomes import Outcome
from bascule.core.procedures.interval_state import FloatArray

FEWEST_UNITS = 20
"""With fewer units in an arm an estimated spread says too little."""


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """A total and its clock, in units of `scale`; with `charges` lines decide, else a mixture.

    `total / clock` is the difference of the arms, the earlier less the later one.
    """

    total: float = 0.0
    clock: float = 0.0
    scale: float = 1.0
    charges: FloatArray | None = None

    @property
    def difference(self) -> float:
        """The mean of the earlier arm less that of the later one, within days."""
        return self.scale * self.total / self.clock if self.clock > 0.0 else 0.0

    def reach(self, log_threshold: float, times: float = 1.0) -> float:
        """How far the difference may be off; with `times` as much data of the same kind.

        >>> round(Pair(0.0, 100.0).reach(math.log(20)), 4)
        0.3142
        """
        if self.clock <= 0.0:
            return math.inf
        if self.charges is None:
            boundary = mixture_boundary(times * self.clock, log_threshold)
        else:
            boundary = lines_boundary(times * self.charges, log_threshold)
        return self.scale * boundary / (times * self.clock)


UNKNOWN = Pair()


def normal_days(sums: Sums, outcome: Outcome) -> Iterator[tuple[Pair, ...]]:
    """Day after day, the pairs of arms whose outcomes have a known spread."""
    arms = sums.units.shape[1]
    state = [(0.0, 0.0)] * (arms * (arms - 1) // 2)
    for units, totals in zip(sums.units, sums.totals, strict=True):
        for place, (i, j) in enumerate(combinations(range(arms), 2)):
            weight, difference = weight_and_difference(units, totals, i, j)
            total, clock = state[place]
            state[place] = total + weight * difference / outcome.sigma, clock + weight
        yield tuple(Pair(total, clock, outcome.sigma) for total, clock in state)


def bounded_days(sums: Sums, outcome: Outcome) -> Iterator[tuple[Pair, ...]]:
    """Day after day, the pairs of arms whose outcomes lie within known limits."""
    low, width = outcome.low, outcome.high - outcome.low
    arms = sums.units.shape[1]
    pairs = [Pair(scale=width, charges=np.zeros(len(SLOPES)))] * (arms * (arms - 1) // 2)
    seen, summed = 0.0, 0.0
    for units, raw, raw_squares in zip(sums.units, sums.totals, sums.squares, strict=True):
        totals = (raw - low * units) / width
        squares = (raw_squares - 2.0 * low * raw + low * low * units) / (width * width)
        about = squares_about(units, totals, squares, seen, summed)
        for place, (i, j) in enumerate(combinations(range(arms), 2)):
            weight, difference = weight_and_difference(units, totals, i, j)
            if weight > 0.0:
                before = pairs[place]
                assert before.charges is not None
                charges = day_charges(float(units[i]), float(units[j]), about[i], about[j])
                pairs[place] = Pair(
                    before.total + weight * difference,
                    before.clock + weight,
                    width,
                    before.charges + charges,
                )
        seen, summed = seen + float(units.sum()), summed + float(totals.sum())
        yield tuple(pairs)


def squares_about(
    units: FloatArray, totals: FloatArray, squares: FloatArray, seen: float, summed: float
) -> list[float]:
    """Squared distances of a day's outcomes from what was expected of them before the day.

    On the first day each arm's outcomes are expected to be like those before them on that day;
    later ones like all that came on earlier days.
    """
    if seen == 0.0:
        return [
            most_squares(float(n), float(total), float(square), 0.0, 1.0)
            for n, total, square in zip(units, totals, squares, strict=True)
        ]
    guess = expected(seen, summed, 0.0, 1.0)
    about = squares - 2.0 * guess * totals + guess * guess * units
    return [max(0.0, float(square)) for square in about]


def scored_days(sums: Sums, outcome: Outcome) -> Iterator[tuple[Pair, ...]]:
    """Day after day, the pairs of arms by scores: outcomes over the probabilities of their arms."""
    scores = sums.scores
    assert scores is not None
    low, width = outcome.low, outcome.high - outcome.low
    arms = sums.units.shape[1]
    pairs = [Pair(scale=width, charges=np.zeros(len(SLOPES)))] * (arms * (arms - 1) // 2)
    seen, summed, smallest = 0.0, 0.0, 1.0
    for day in range(len(sums.days)):
        guess = low + width * expected(seen, summed, 0.0, 1.0)
        totals, squares = _scores_about(sums, day, guess)
        smallest = min(smallest, float(scores.smallest[day].min()))
        for place, (i, j) in enumerate(combinations(range(arms), 2)):
            before = pairs[place]
            assert before.charges is not None
            charges = scored_charges(smallest, (squares[i] + squares[j]) / (width * width))
            pairs[place] = Pair(
                before.total + (totals[i] - totals[j]) / width,
                before.clock + float(sums.units[day].sum()),
                width,
                before.charges + charges,
            )
        seen += float(sums.units[day].sum())
        summed += float((sums.totals[day] - low * sums.units[day]).sum()) / width
        yield tuple(pairs)


def _scores_about(sums: Sums, day: int, guess: float) -> tuple[FloatArray, FloatArray]:
    """Sums of the scores of a day, and of their squares, of outcomes less a guess."""
    scores = sums.scores
    assert scores is not None
    totals = scores.scored[day] - guess * scores.inverse[day]
    squares = (
        scores.scored_twice[day]
        - 2.0 * guess * scores.scored_once[day]
        + guess * guess * scores.inverse_squares[day]
    )
    return totals, squares


def estimated_scores(sums: Sums) -> Iterator[tuple[Pair, ...]]:
    """The same with a spread that is estimated: right in the long run only."""
    arms = sums.units.shape[1]
    units = np.cumsum(sums.units.sum(axis=1))
    guess = float(sums.totals.sum() / max(sums.units.sum(), 1.0))
    found = [_scores_about(sums, day, guess) for day in range(len(sums.days))]
    totals = np.cumsum([total for total, _ in found], axis=0)
    squares = np.cumsum([square for _, square in found], axis=0)
    each = np.cumsum(sums.units, axis=0)
    for day, n in enumerate(units):
        pairs = []
        for i, j in combinations(range(arms), 2):
            total = float(totals[day, i] - totals[day, j])
            variance = float(squares[day, i] + squares[day, j]) / max(n, 1.0) - (total / n) ** 2
            enough = min(each[day, i], each[day, j]) >= FEWEST_UNITS and variance > 0.0
            spread = math.sqrt(variance) if enough else 1.0
            pairs.append(Pair(total / spread, float(n), spread) if enough else UNKNOWN)
        yield tuple(pairs)


def estimated_days(sums: Sums) -> Iterator[tuple[Pair, ...]]:
    """Day after day, the pairs of arms with a spread that is estimated: right in the long run.

    Where outcomes grow, each day has the outcomes as they stood at its end, and the units are
    compared with those that came on the same day.
    """
    arms, count = sums.units.shape[1], len(sums.days)
    if sums.growth is None:
        for day in range(1, count + 1):
            cut = (sums.units[:day], sums.totals[:day], sums.squares[:day])
            yield tuple(estimated_pair(*cut, i, j) for i, j in combinations(range(arms), 2))
        return
    totals = np.cumsum(sums.growth[0], axis=1)
    squares = np.cumsum(sums.growth[1], axis=1)
    for day in range(count):
        cut = (sums.units[: day + 1], totals[: day + 1, day], squares[: day + 1, day])
        yield tuple(estimated_pair(*cut, i, j) for i, j in combinations(range(arms), 2))


def estimated_pair(
    units: FloatArray, totals: FloatArray, squares: FloatArray, i: int, j: int
) -> Pair:
    """Two arms over the days of arrival, with the variance of each as it is seen."""
    if min(units[:, i].sum(), units[:, j].sum()) < FEWEST_UNITS:
        return UNKNOWN
    n, m = units[:, i], units[:, j]
    both = (n > 0.0) & (m > 0.0)
    n, m = n[both], m[both]
    weights = n * m / (n + m)
    differences = totals[both, i] / n - totals[both, j] / m
    variances = [_variances(units[both, k], totals[both, k], squares[both, k]) for k in (i, j)]
    noise = float(np.sum(weights**2 * (variances[0] / n + variances[1] / m)))
    clock = float(weights.sum())
    if noise <= 0.0 or clock <= 0.0:
        return UNKNOWN
    spread = math.sqrt(noise / clock)
    return Pair(float(weights @ differences) / spread, clock, spread)


def _variances(units: FloatArray, totals: FloatArray, squares: FloatArray) -> FloatArray:
    """The variance of an arm on each day: its own where there are units enough, else of all."""
    about = squares - totals * totals / units
    about = np.where(about > ROUNDING * squares, about, 0.0)
    free = float((units - 1.0).sum())
    pooled = float(about.sum()) / free if free > 0.0 else 0.0
    own = about / np.maximum(units - 1.0, 1.0)
    return np.where(units >= FEWEST_UNITS, own, pooled)


def weight_and_difference(
    units: FloatArray, totals: FloatArray, i: int, j: int
) -> tuple[float, float]:
    """How much a day counts for two arms, and by how much their means differ on it.

    >>> weight_and_difference(np.array([2.0, 2.0]), np.array([3.0, 1.0]), 0, 1)
    (1.0, 1.0)
    """
    mine, theirs = float(units[i]), float(units[j])
    if mine <= 0.0 or theirs <= 0.0:
        return 0.0, 0.0
    return mine * theirs / (mine + theirs), float(totals[i]) / mine - float(totals[j]) / theirs
