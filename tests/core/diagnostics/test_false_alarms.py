"""How often the diagnostics raise an alarm: rarely by chance, nearly always for a real trend."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from bascule.core.diagnostics.drift import late_outcomes, trend
from bascule.core.diagnostics.result import Diagnostic
from bascule.core.evidence.radius import radius
from bascule.core.procedures.blocks.steps import units_of_leader
from bascule.core.statistics import ArmStatistics, Statistics

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]
"""Outcomes of equal arms."""

RUNS = 300


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape)


def rare(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return (rng.random(shape) < 0.05).astype(float)


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_t(3, shape) / math.sqrt(3.0)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.lognormal(size=shape)


def ucb(
    draw: Draw,
    arms: int,
    length: int,
    each: int,
    gap: float = 0.0,
    drift: Callable[[float], float] = lambda t: 0.0,
    late: float = 0.0,
) -> tuple[Array, Array]:
    """Units, totals and squares of the prompt and of the late outcomes of many tests with UCB_2.

    Axes are run, period, arm. Arm 0 is better by `gap`; a test with a gap ends with its decision.
    Late outcomes come 50 units later.
    """
    rng, row = np.random.default_rng(7), np.arange(RUNS)
    sigma = 0.5 if draw is rare else 1.0
    wide = np.array([radius(n, sigma, 2.0, 1.5 * arms, 0.05) for n in range(length + 1)])
    counts, totals = np.zeros((RUNS, arms), int), np.zeros((RUNS, arms))
    seen = np.zeros((2, 3, RUNS, length // each, arms))
    running = np.ones(RUNS, bool)
    waiting: list[tuple[NDArray[np.intp], NDArray[np.intp], Array]] = []
    for t in range(length):
        if len(waiting) == 50:
            who, where, what = waiting.pop(0)
            counts[who, where] += 1
            totals[who, where] += what
        means, off = totals / np.maximum(counts, 1), wide[counts]
        arm = np.argmax(means + 2.0 * off, axis=1)
        value = draw(rng, (RUNS,)) + gap * (arm == 0) + drift(t)
        delayed = (rng.random(RUNS) < late) & running
        prompt = ~delayed & running
        counts[row[prompt], arm[prompt]] += 1
        totals[row[prompt], arm[prompt]] += value[prompt]
        waiting.append((row[delayed], arm[delayed], value[delayed]))
        for kind, who in ((0, row[prompt]), (1, row[delayed])):
            for power in range(3):
                seen[kind, power, who, t // each, arm[who]] += value[who] ** power
        if gap > 0.0:
            means, off = totals / np.maximum(counts, 1), wide[counts]
            highs = means + off
            best = np.argmax(means, axis=1)
            highs[row, best] = -np.inf
            running &= means[row, best] - off[row, best] <= highs.max(axis=1)
    return seen[0], seen[1]


def tilted(draw: Draw, arms: int, blocks: int, each: int) -> Array:
    """The same for tests in blocks tilted by 3; a period is `each` blocks."""
    rng, row = np.random.default_rng(8), np.arange(RUNS)
    sigma = math.sqrt(0.05 * 0.95) if draw is rare else 1.0
    total, clock = np.zeros((2, RUNS, arms, arms))
    seen = np.zeros((3, RUNS, blocks // each, arms))
    for block in range(blocks):
        lead = total / (sigma * np.sqrt(np.maximum(clock, 1e-9)))
        lead[:, range(arms), range(arms)] = np.inf
        ahead = lead.min(axis=2)
        front = np.argmax(ahead, axis=1)
        units = np.ones((RUNS, arms))
        units[row, front] = [units_of_leader(z, 3.0) for z in ahead.max(axis=1).tolist()]
        values = draw(rng, (RUNS, arms, 3)) * (np.arange(3) < units[:, :, None])
        sums = values.sum(axis=2)
        seen[:, :, block // each] += units, sums, (values**2).sum(axis=2)
        means, mine, theirs = sums / units, units[:, :, None], units[:, None, :]
        weight = mine * theirs / (mine + theirs)
        total += weight * (means[:, :, None] - means[:, None, :])
        clock += weight
    return seen


def periods(seen: Array) -> list[list[Statistics]]:
    """One list of periods a run; those after a decision are empty."""
    return [
        [Statistics(tuple(ArmStatistics(int(n), s, q) for n, s, q in row)) for row in run]
        for run in np.moveaxis(seen, 0, -1).tolist()
    ]


def alarms(found: Sequence[Diagnostic], level: float) -> float:
    return sum(one.p_value <= level for one in found) / len(found)


def most(level: float) -> float:
    """What a share of alarms of `level` can come out as."""
    return level + 3.0 * math.sqrt(level * (1.0 - level) / RUNS)


NULLS = {
    "UCB, normal, 2 arms": lambda: ucb(normal, 2, 600, 10)[0],
    "UCB, 5 % hits, 2 arms": lambda: ucb(rare, 2, 1500, 50)[0],
    "UCB, heavy tails, 2 arms": lambda: ucb(heavy, 2, 600, 10)[0],
    "UCB, heavy tails, 5 arms": lambda: ucb(heavy, 5, 900, 30)[0],
    "UCB, skewed, 2 arms": lambda: ucb(skewed, 2, 600, 20)[0],
    "UCB, normal, a gap, to the decision": lambda: ucb(normal, 2, 1000, 10, gap=0.8)[0],
    "tilt, normal, 2 arms": lambda: tilted(normal, 2, 200, 5),
    "tilt, 5 % hits, 2 arms": lambda: tilted(rare, 2, 600, 20),
    "tilt, heavy tails, 5 arms": lambda: tilted(heavy, 5, 150, 5),
}


@pytest.mark.parametrize("null", NULLS)
def test_trend_is_honest_under_adaptive_allocation(null: str) -> None:
    found = [trend(run) for run in periods(NULLS[null]())]
    for level in (0.01, 0.05):
        assert alarms(found, level) <= most(level)


@pytest.mark.parametrize("null", ["UCB, normal, 2 arms", "tilt, normal, 2 arms"])
def test_trend_is_not_overcautious(null: str) -> None:
    found = [trend(run) for run in periods(NULLS[null]())]
    assert alarms(found, 0.2) >= 0.2 - 3.0 * math.sqrt(0.2 * 0.8 / RUNS) - 0.02


@pytest.mark.parametrize(("draw", "arms"), [(normal, 2), (heavy, 5)])
def test_late_outcomes_are_honest_under_adaptive_allocation(draw: Draw, arms: int) -> None:
    prompt, late = ucb(draw, arms, 600, 20, late=0.2)
    found = [late_outcomes(*both) for both in zip(periods(prompt), periods(late), strict=True)]
    for level in (0.01, 0.05):
        assert alarms(found, level) <= most(level)
    assert alarms(found, 0.2) >= 0.2 - 3.0 * math.sqrt(0.2 * 0.8 / RUNS) - 0.02


def test_a_trend_that_misleads_is_found() -> None:
    """The trend under which UCB_2 decides wrongly in almost one test of four."""
    seen, _ = ucb(normal, 2, 2500, 50, gap=0.1, drift=lambda t: -math.exp(-t / 500.0))
    assert alarms([trend(run) for run in periods(seen)], 0.01) >= 0.88
