"""Best-arm identification of 0/1 outcomes: track-and-stop and Chernoff racing.

Both rules are by Garivier and Kaufmann (2016). They stop when a generalised likelihood ratio
exceeds `log((log t + 1) / delta)` after t units: the threshold of their experiments, which is
smaller than the one of their proof.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bascule.core.types import NOBODY, FloatArray, IntArray
from bascule.simulation.kernels.compiled import Kernel, compile_loop
from bascule.simulation.random import WORDS, WordArray, seed_stream, uniform

TRACKING, RACING = range(2)
"""Codes of the two rules: track-and-stop and racing."""

SMALLEST_RATE = 1e-6
"""Minimum distance of estimated rates from 0 and 1."""

MOST_UNITS = 1_000_000

RENEWED = 100
"""Shares are computed anew when the units have grown by a part 1 / `RENEWED`, at least by one."""

HALVINGS, NEWTON_STEPS = 40, 30


class Found(NamedTuple):
    """The results of runs: the arm identified as best, or `NOBODY`, and the units of each arm."""

    winner: IntArray
    units: FloatArray


def divergence(p: float, q: float) -> float:
    """Return the Kullback-Leibler divergence of two rates strictly between 0 and 1."""
    return p * math.log(p / q) + (1.0 - p) * math.log((1.0 - p) / (1.0 - q))


def rate_of(total: float, units: float) -> float:
    """Return an estimated rate, kept away from 0 and 1."""
    return min(max(total / units, SMALLEST_RATE), 1.0 - SMALLEST_RATE)


def share_at(best: float, other: float, level: float) -> float:
    """Return how many units an arm needs, per unit of the best arm, for evidence of `level`.

    `best` and `other` are the rates of the two arms. The evidence is concave in the units, so that
    Newton's method approaches the solution from below.
    """
    x = 0.0
    for _ in range(NEWTON_STEPS):
        middle = (best + x * other) / (1.0 + x)
        slope = divergence(other, middle)
        missing = level - divergence(best, middle) - x * slope
        if missing <= 1e-12 * level or slope <= 0.0:
            break
        x += missing / slope
    return x


def optimal_shares(rates: FloatArray, shares: FloatArray) -> None:
    """Write the shares that maximise the growth of the weakest evidence for the best arm.

    >>> shares = np.empty(4)
    >>> optimal_shares(np.array([0.5, 0.45, 0.43, 0.4]), shares)
    >>> shares.round(3)
    array([0.417, 0.39 , 0.136, 0.057])
    """
    best = int(rates.argmax())
    high = math.inf
    for arm in range(rates.size):
        if arm != best:
            high = min(high, divergence(rates[best], rates[arm]))
    low = 0.0
    if high < 1e-12:
        for arm in range(rates.size):
            shares[arm] = 1.0 if rates[best] - rates[arm] < 1e-6 else 0.0
    else:
        for _ in range(HALVINGS):
            level = 0.5 * (low + high)
            ratios = 0.0
            for arm in range(rates.size):
                if arm != best:
                    x = share_at(rates[best], rates[arm], level)
                    middle = (rates[best] + x * rates[arm]) / (1.0 + x)
                    ratios += divergence(rates[best], middle) / divergence(rates[arm], middle)
            if ratios < 1.0:
                low = level
            else:
                high = level
        for arm in range(rates.size):
            shares[arm] = 1.0 if arm == best else share_at(rates[best], rates[arm], low)
    shares /= shares.sum()


def evidence(first: float, n: float, second: float, m: float) -> float:
    """Return the log likelihood ratio of two separate rates against a common rate."""
    middle = (n * first + m * second) / (n + m)
    return n * divergence(first, middle) + m * divergence(second, middle)


def build(fingerprint: str) -> Kernel:
    """Return the loop that simulates either rule."""

    def play(
        streams: WordArray,
        truth: FloatArray,
        rule: int,
        delta: float,
        seed: int,
        winners: IntArray,
        counts: FloatArray,
        totals: FloatArray,
        rates: FloatArray,
        shares: FloatArray,
        active: FloatArray,
    ) -> None:
        made_of = fingerprint  # noqa: F841
        arms = truth.size
        for row in range(winners.size):
            seed_stream(streams, 0, np.uint64(seed), np.uint64(row))
            units = counts[row]
            for arm in range(arms):
                units[arm], active[arm] = 1.0, 1.0
                totals[arm] = 1.0 if uniform(streams, 0) < truth[arm] else 0.0
            t, renewal, winner = float(arms), 0.0, NOBODY
            while winner == NOBODY and t < MOST_UNITS:
                if rule == RACING:
                    for arm in range(arms):
                        if active[arm] > 0.0:
                            units[arm] += 1.0
                            totals[arm] += 1.0 if uniform(streams, 0) < truth[arm] else 0.0
                            t += 1.0
                else:
                    if t >= renewal:
                        for arm in range(arms):
                            rates[arm] = rate_of(totals[arm], units[arm])
                        optimal_shares(rates, shares)
                        renewal = t + max(1.0, math.floor(t / RENEWED))
                    fewest, behind = 0, 0
                    for arm in range(arms):
                        fewest = arm if units[arm] < units[fewest] else fewest
                        if t * shares[arm] - units[arm] > t * shares[behind] - units[behind]:
                            behind = arm
                    forced = units[fewest] < math.sqrt(t) - arms / 2.0
                    chosen = fewest if forced else behind
                    units[chosen] += 1.0
                    totals[chosen] += 1.0 if uniform(streams, 0) < truth[chosen] else 0.0
                    t += 1.0
                best, worst = NOBODY, NOBODY
                for arm in range(arms):
                    rates[arm] = rate_of(totals[arm], units[arm])
                    if active[arm] > 0.0:
                        best = arm if best == NOBODY or rates[arm] > rates[best] else best
                        worst = arm if worst == NOBODY or rates[arm] <= rates[worst] else worst
                needed = math.log((math.log(t) + 1.0) / delta)
                if rule == RACING:
                    if evidence(rates[best], units[best], rates[worst], units[worst]) > needed:
                        active[worst] = 0.0
                        winner = best if active.sum() == 1.0 else NOBODY
                else:
                    enough = True
                    for arm in range(arms):
                        if arm != best:
                            shown = evidence(rates[best], units[best], rates[arm], units[arm])
                            enough = enough and shown > needed
                    winner = best if enough else NOBODY
            winners[row] = winner

    return play


def identify(rule: int, rates: tuple[float, ...], delta: float, runs: int, seed: int) -> Found:
    """Simulate runs of a rule, each until it identifies an arm as best or has `MOST_UNITS`."""
    arms = len(rates)
    found = Found(np.empty(runs, np.int64), np.empty((runs, arms)))
    compile_loop(build)(
        np.empty(WORDS, np.uint64),
        np.array(rates),
        rule,
        delta,
        seed,
        *found,
        *(np.empty(arms) for _ in range(4)),
    )
    return found
