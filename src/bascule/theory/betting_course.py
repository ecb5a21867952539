"""What to expect of tilted blocks that bet: the walk is the sum of the blocks' differences.

Given the law of one block's difference, the wealth of each bet is nearly a straight line in that
sum; so the bets together have a boundary too, and the walk has a first passage.
docs/explanation/prediction.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bascule.core.arms import FloatArray
from bascule.core.evidence.betting import BETS, LOG_PARTS
from bascule.core.rules import Tilt
from bascule.theory.course import Course, blocks_along, course_in_blocks, shares_of
from bascule.theory.passage import first_passage

ROUNDS = 3
"""Times that the typical block is corrected; it settles at once."""

NEWTON_STEPS, CLOSE = 60, 1e-9

Law = tuple[FloatArray, FloatArray]
"""The values that a block's difference can have, scaled to lie within -1 and 1, and their chances.
"""


def coins(better: float, worse: float, units: int) -> Law:
    """The law of a block of 0/1 outcomes with `units` of the better arm and one of the other.

    >>> values, chances = coins(0.5, 0.5, 1)
    >>> values.tolist(), chances.tolist()
    ([0.0, -1.0, 1.0, 0.0], [0.25, 0.25, 0.25, 0.25])
    """
    hits = np.arange(units + 1)
    ways = np.array([math.comb(units, int(hit)) for hit in hits])
    chances = ways * better**hits * (1 - better) ** (units - hits)
    values = np.array([[hit / units - other for other in (0, 1)] for hit in hits])
    return values.ravel(), np.outer(chances, [1 - worse, worse]).ravel()


def bell(gap: float, spread: float, units: int) -> Law:
    """The law of a block of outcomes with this gap and spread, both as parts of the limits' width.

    >>> values, chances = bell(0.1, 0.2, 1)
    >>> round(float(values @ chances), 6)
    0.1
    """
    deviation = spread * math.sqrt(3.0 * (1 + 1 / units))
    values = np.clip(np.array([gap - deviation, gap, gap + deviation]), -1.0, 1.0)
    return values, np.array([1 / 6, 2 / 3, 1 / 6])


def course_of_bets(rule: Tilt, threshold: float, law_of: Callable[[int], Law]) -> Course:
    """The course of a test in which a block with r units of the leader has the law `law_of(r)`.

    >>> course = course_of_bets(Tilt(3), math.log(20), lambda r: coins(0.06, 0.05, r))
    >>> round(0.01 * course.worse), round(course.better + course.worse, -3)
    (56, 18000.0)
    """
    shares = shares_of(rule.tilt)
    typical = float(shares[-1])
    for _ in range(ROUNDS):
        values, chances = _between(law_of, typical)
        mean = float(values @ chances)
        deviation = math.sqrt(float((values - mean) ** 2 @ chances))
        drift, boundary = mean / deviation, _boundary(values, chances, threshold)
        passage = first_passage(drift, boundary, float(rule.batch), 1.0)
        blocks = blocks_along(passage, drift, float(rule.batch), shares)
        # The noise of a block goes with the inverse of its size.
        weights = blocks.present * blocks.steps
        inverse = (blocks.law / blocks.leader).sum(axis=1)
        typical = max(1.0, float(weights.sum() / (weights @ inverse)))
    one = np.ones_like(blocks.leader)
    better, worse = blocks.mean(blocks.leader, one), blocks.mean(one, blocks.leader)
    return course_in_blocks(passage, blocks, better, worse, float(shares[-1]), rule.batch)


def _between(law_of: Callable[[int], Law], units: float) -> Law:
    """The law of blocks of which some are a little smaller and some a little larger."""
    low = math.floor(units)
    smaller, larger = law_of(low), law_of(low + 1)
    part = units - low
    return (
        np.concatenate([smaller[0], larger[0]]),
        np.concatenate([(1 - part) * smaller[1], part * larger[1]]),
    )


def _boundary(
    values: FloatArray, chances: FloatArray, threshold: float
) -> Callable[[float], float]:
    """Where the bets have won enough, after so many blocks: a sum of differences, standardised."""
    bets, parts = np.array(BETS), np.array(LOG_PARTS)
    gains = np.log1p(np.outer(bets, values))
    mean, gain = float(values @ chances), gains @ chances
    spread = float((values - mean) ** 2 @ chances)
    slopes = ((gains - gain[:, None]) * (values - mean)) @ chances / spread

    def boundary(blocks: float) -> float:
        fixed = parts + blocks * (gain - slopes * mean)
        total = max(1.0, float(((threshold - fixed) / slopes).min()))
        for _ in range(NEWTON_STEPS):
            logs = fixed + slopes * total
            top = logs.max()
            wealth = np.exp(logs - top)
            missing = threshold - top - math.log(wealth.sum())
            step = missing * wealth.sum() / float(wealth @ slopes)
            total += step
            if abs(step) <= CLOSE * abs(total):
                break
        return float(total) / math.sqrt(spread)

    return boundary
