from __future__ import annotations

import math

import numpy as np
import pytest

import bascule as bs
from bascule.core.evidence.betting import BETS, LOG_PARTS
from bascule.theory import predict
from bascule.theory.prediction.betting_course import (
    BLOCKS,
    LOG_BLOCKS,
    Outcomes,
    bell,
    coins,
    needed_mean,
)


def log_wealth(wins: float, losses: float) -> float:
    logs = LOG_PARTS + wins * np.log1p(BETS) + losses * np.log1p(-np.array(BETS))
    return float(np.logaddexp.reduce(logs))


@pytest.mark.parametrize("units", [1, 4])
@pytest.mark.parametrize(
    ("outcomes", "gap", "variances"),
    [(coins(0.3, 0.2), 0.1, (0.21, 0.16)), (bell(0.1, 0.2), 0.1, (0.04, 0.04))],
)
def test_a_block_has_the_moments_of_its_outcomes(
    outcomes: Outcomes, gap: float, variances: tuple[float, float], units: int
) -> None:
    values, chances = outcomes.law(units)
    assert chances.sum() == pytest.approx(1)
    assert values @ chances == pytest.approx(gap)
    of_better, of_worse = variances
    assert values**2 @ chances - gap**2 == pytest.approx(of_better / units + of_worse)
    # All outcomes together vary within the arms and between them.
    within = (units * of_better + of_worse) / (units + 1)
    between = gap**2 * units / (units + 1) ** 2
    assert outcomes.spread(units) ** 2 == pytest.approx(within + between)


def test_blocks_that_are_too_few_cannot_win_enough() -> None:
    threshold = math.log(1000)
    needed = needed_mean(*coins(0.06, 0.05).law(1), threshold)
    possible = np.array([log_wealth(blocks, 0) >= threshold for blocks in BLOCKS])
    assert ((needed < math.inf) == possible).all()


def test_what_is_needed_is_what_the_bets_ask_for() -> None:
    better, worse, threshold = 0.06, 0.05, math.log(20)
    needed = needed_mean(*coins(better, worse).law(1), threshold)
    up, down = better * (1 - worse), worse * (1 - better)
    for blocks in (3e3, 1e4, 3e4):
        mean = float(np.interp(math.log(blocks), LOG_BLOCKS, needed))
        # Given the difference of wins and losses their product is what it was.
        half = blocks * mean / 2
        root = math.sqrt(half**2 + blocks**2 * up * down)
        assert log_wealth(root + half, root - half) == pytest.approx(threshold, rel=0.04)


def test_the_mean_that_is_needed_falls_and_the_sum_rises() -> None:
    needed = needed_mean(*coins(0.3, 0.2).law(3), math.log(20))
    known = needed < math.inf
    late = known & (BLOCKS > 50)
    assert (np.diff(needed[known]) < 0).all()
    assert (np.diff((BLOCKS * needed)[late]) > 0).all()


def exact_blocks(better: float, worse: float, threshold: float, most: int) -> float:
    """The mean number of rounds of one unit of each arm, from every way they can go."""
    up, down = better * (1 - worse), worse * (1 - better)
    counts = np.arange(most + 2)
    logs = (
        np.array(LOG_PARTS)
        + counts[:, None, None] * np.log1p(BETS)
        + counts[None, :, None] * np.log1p(-np.array(BETS))
    )
    won = np.logaddexp.reduce(logs, axis=2) >= threshold
    law = np.zeros((most + 2, most + 2))
    law[0, 0] = 1.0
    mean = 0.0
    for _ in range(most):
        mean += law.sum()
        after = law * (1 - up - down)
        after[1:] += up * law[:-1]
        after[:, 1:] += down * law[:, :-1]
        after[won | won.T] = 0.0
        law = after
    assert law.sum() < 1e-6
    return mean


@pytest.mark.parametrize(
    ("means", "error", "most", "within"),
    [((0.5, 0.2), 0.1, 300, 0.08), ((0.5, 0.2), 0.001, 400, 0.03), ((0.9, 0.3), 0.01, 150, 0.08)],
)
def test_even_blocks_take_nearly_as_long_as_every_way_together(
    means: tuple[float, float], error: float, most: int, within: float
) -> None:
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(1), error=error, sides=1)
    better, worse = predict(design, means[0] - means[1], best=means[0]).units
    assert worse == pytest.approx(exact_blocks(*means, -math.log(error), most), rel=within)
    assert better == pytest.approx(worse)


def test_outcomes_that_never_vary_take_the_fewest_blocks() -> None:
    fewest = next(n for n in range(1, 100) if log_wealth(n, 0) >= math.log(20))
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(1), error=0.05, sides=1)
    assert predict(design, 1.0, best=1.0).units[1] == pytest.approx(fewest, abs=1)
