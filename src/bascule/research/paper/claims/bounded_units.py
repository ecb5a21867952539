"""Units whose effects and noise are bounded, with unknown variances.

The paper names empirical Bernstein inequalities for them. At a look planned by the calendar the
averages of the units, taken in the order of their arrival, are independent of the arrivals that
came before and lie within the limits, so that the radius for outcomes within limits holds for their
mean (docs/explanation/units.md, "Units within limits"). Look k has the part 1 / (k (k + 1)) of the
level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bascule.core.evidence.bernstein import bernstein_radius
from bascule.core.evidence.normal import mixture_boundary
from bascule.core.types import FloatArray
from bascule.research.paper.claims.claim import Finding, Judge, Measured, Verdict, states
from bascule.research.paper.claims.judging import MARGIN, Promise, beyond_chance, noticed
from bascule.research.paper.measure import Measurements
from bascule.simulation import Estimate

MEANS = (0.05, 0.15)
"""How often a unit of each arm gives a 1, on average over units."""

EVEN = 8.0
"""Units differ as a Beta distribution whose parameters add up to this."""

ALPHA, ERROR, GROWTH, LAST_STAGE = 2.0, 0.05, 1.3, 4000
"""The rule and its error; how many times later the next look comes, and when a run ends at last."""

RANGE_SPREAD = 0.5
"""The largest standard deviation of outcomes between 0 and 1."""

PART = 10
"""One in this number of runs is played."""


@dataclass(frozen=True, slots=True)
class BoundedRun:
    """One test: its winner or -1, when it ended, whether an interval missed, and its width.

    `width` is the last radius of the arm with more units over that for the largest spread there is.
    """

    winner: int
    stage: int
    missed: bool
    width: float


@states(
    "bounded-units-by-bernstein",
    "section on units",
    "Where unit effects and noise are bounded and their variances unknown, the results carry "
    "over with empirical Bernstein inequalities.",
)
def bounded_units_by_bernstein(m: Measurements) -> Finding:
    """Play bounded units of unknown variance with empirical Bernstein radii."""
    runs = max(2, m.runs // PART)
    played = [play(np.random.default_rng([m.seed, run])) for run in range(runs)]
    missed = Promise(sum(one.missed for one in played), runs, ERROR, 2)
    wrong = Promise(sum(one.winner != 1 for one in played), runs, ERROR, 2)
    times = Estimate.of(np.array([one.stage for one in played], float))
    width = Estimate.of(np.array([one.width for one in played]))
    narrow = width.mean + beyond_chance(runs) * width.se < 1.0
    verdicts = {missed.verdict, wrong.verdict}
    return Finding(
        (
            Measured.of(
                "share of runs in which an arm's interval ever missed its mean", missed.share
            ),
            Measured.of(
                f"share of runs without the right winner by stage {LAST_STAGE}", wrong.share
            ),
            Measured.of("stages until the decision", times),
            Measured.of("radius over that for the largest spread within the limits", width),
        ),
        f"UCB_{ALPHA:g} on units that give 0 or 1 ({MEANS[0]:g} and {MEANS[1]:g} on average): both "
        f"shares are at most {ERROR:g}, give or take chance ({MARGIN:g} standard errors), and the "
        "radius is below that of the largest spread",
        _verdict(verdicts, narrow),
        f"a share of {max(missed.noticed, wrong.noticed):.2%} or more; "
        + noticed("a radius above that of the largest spread", [width], runs),
    )


def _verdict(verdicts: set[Verdict], narrow: bool) -> Verdict:
    if "does not hold" in verdicts:
        return "does not hold"
    if not narrow:
        return "not shown"
    return "holds" if verdicts == {"holds"} else "not contradicted"


def play(random: np.random.Generator) -> BoundedRun:
    """Play one test: a unit arrives at every stage, and each unit there gives a 0 or a 1.

    Arms are compared at looks planned by the calendar; all units until the next look join the arm
    with the highest index.
    """
    stage, look = 0, 0
    chances: tuple[list[float], list[float]] = ([], [])
    sums = [np.zeros(0), np.zeros(0)]
    since: tuple[list[int], list[int]] = ([], [])
    joins = [0, 1]
    missed = False
    while True:
        until = max(stage + 6, math.ceil(GROWTH * stage))
        for arriving in range(stage, until):
            arm = joins[arriving % len(joins)]
            chances[arm].append(random.beta(EVEN * MEANS[arm], EVEN * (1.0 - MEANS[arm])))
            since[arm].append(arriving)
        means, radii, counts = [0.0, 0.0], [math.inf, math.inf], [0, 0]
        look += 1
        level = ERROR / 4.0 / (look * (look + 1))
        for arm in (0, 1):
            ages = until - np.array(since[arm], dtype=np.int64)
            before = np.minimum(ages, until - stage)
            sums[arm] = np.concatenate([sums[arm], np.zeros(len(ages) - len(sums[arm]))])
            sums[arm] = sums[arm] + random.binomial(before, np.array(chances[arm]))
            means[arm], radii[arm] = interval(sums[arm] / ages, level)
            counts[arm] = len(ages)
            missed = missed or abs(means[arm] - MEANS[arm]) > radii[arm]
        stage = until
        best = int(means[1] >= means[0])
        parted = means[best] - radii[best] > means[1 - best] + radii[1 - best]
        if parted or stage >= LAST_STAGE:
            large = int(counts[1] >= counts[0])
            return BoundedRun(
                best if parted else -1, stage, missed, radii[large] / widest(counts[large], level)
            )
        joins = [int(np.argmax([means[arm] + ALPHA * radii[arm] for arm in (0, 1)]))]


def interval(averages: FloatArray, level: float) -> tuple[float, float]:
    """Return the mean of units' averages, in the order of their arrival, and its radius.

    >>> mean, radius = interval(np.array([0.0, 0.5] * 200), level=0.01)
    >>> float(mean), round(radius, 3)
    (0.25, 0.062)
    """
    units = len(averages)
    before = np.concatenate([[0.0], np.cumsum(averages)[:-1]])
    expected = (before + 0.5) / (np.arange(units) + 1.0)
    squares = float(((averages - expected) ** 2).sum())
    return float(averages.mean()), bernstein_radius(units, squares, 0.0, 1.0, level)


def widest(units: int, level: float) -> float:
    """Return the radius by the largest spread that outcomes between 0 and 1 can have."""
    return RANGE_SPREAD * mixture_boundary(float(units), -math.log(level)) / units


BOUNDED_UNITS: tuple[Judge, ...] = (bounded_units_by_bernstein,)
"""In the order of the page."""
