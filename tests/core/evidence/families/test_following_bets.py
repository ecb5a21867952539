"""Bets that follow a flat boundary: fair games, whatever their stakes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import bascule as bs
from bascule.core.evidence.families.following_bets import BETS, MINE, PEAKS, SHIFTS, STAKE, THEIRS
from bascule.core.evidence.families.rows import BLOCK_UNITS
from bascule.core.procedures.blocks.steps import Scope, steps_of
from bascule.core.progress import block_procedure

EFFECT = 0.3


def owned(outcomes: tuple[tuple[int, int], ...], sizes: tuple[tuple[int, int], ...]) -> list[float]:
    """What each bet on the first arm of two owns after blocks with these sums of outcomes."""
    seen = bs.progress.Statistics.empty(2)
    for sums, units in zip(outcomes, sizes, strict=True):
        block = [
            bs.progress.ArmStatistics(n, float(x), float(x))
            for n, x in zip(units, sums, strict=True)
        ]
        seen = PROCEDURE.fold_block(seen, block, look=False)
    (pair,) = seen.pairs
    first = math.exp(pair[MINE])
    more = pair[MINE + 1 : MINE + BETS]
    peaks = pair[MINE + PEAKS + 1 : MINE + PEAKS + BETS]
    # The interval never contradicts the decision: no bet owns less than the first.
    assert min(more) >= 0.0
    assert all(math.exp(peak) >= first * (1 - 1e-12) for peak in peaks[:8])
    return [first, *(first + each for each in more)]


PROCEDURE = block_procedure(
    bs.Design(
        ["a", "b"], bs.Bernoulli(), bs.Tilt(3, effect=EFFECT, power=0.9, baseline=0.3), sides=1
    )
)


@pytest.mark.parametrize("bet", [0, 4, 8, 11])
def test_no_bet_wins_on_average_where_its_null_hypothesis_holds(bet: int) -> None:
    # Every way that four blocks of 0/1 outcomes can go, each with its probability.
    worse = 0.2
    better = worse + SHIFTS[bet] * EFFECT
    sizes = ((1, 1), (2, 1), (1, 2), (1, 1))
    cells = [list(itertools.product(range(a + 1), range(b + 1))) for a, b in sizes]
    average = total = 0.0
    for path in itertools.product(*cells):
        chance = 1.0
        for (x, y), (a, b) in zip(path, sizes, strict=True):
            chance *= math.comb(a, x) * worse**x * (1 - worse) ** (a - x)
            chance *= math.comb(b, y) * better**y * (1 - better) ** (b - y)
        average += chance * owned(path, sizes)[bet]
        total += chance
    assert total == pytest.approx(1.0)
    # The first bet is fair; the others are charged a little more than is fair.
    assert average == pytest.approx(1.0) if bet == 0 else 0.5 < average <= 1.0


def test_a_sub_gaussian_bet_does_not_win_on_outcomes_of_two_values() -> None:
    # Half of all blocks have no difference, and are charged for the one they might have had.
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(1, effect=1.0, power=0.8), sides=1)
    procedure = block_procedure(design)
    wealth = []
    for path in itertools.product(itertools.product((-1.0, 1.0), repeat=2), repeat=3):
        seen = bs.progress.Statistics.empty(2)
        for x, y in path:
            block = (bs.progress.ArmStatistics(1, x, 1.0), bs.progress.ArmStatistics(1, y, 1.0))
            seen = procedure.fold_block(seen, block, look=False)
        wealth.append(math.exp(seen.pairs[0][MINE]))
    assert np.mean(wealth) <= 1.0


def test_a_sub_gaussian_bet_is_fair_for_normal_outcomes() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(1, effect=1.0, power=0.8), sides=1)
    procedure, generator = block_procedure(design), np.random.default_rng(5)
    wealth = []
    for _ in range(150):
        seen = bs.progress.Statistics.empty(2)
        for x, y in generator.normal(size=(3, 2)):
            block = (bs.progress.ArmStatistics(1, x, x * x), bs.progress.ArmStatistics(1, y, y * y))
            seen = procedure.fold_block(seen, block, look=False)
        wealth.append(math.exp(seen.pairs[0][MINE]))
    assert np.mean(wealth) == pytest.approx(1.0, abs=4 * float(np.std(wealth)) / math.sqrt(400))


def test_a_removal_by_hand_leaves_the_horizon_where_it_was() -> None:
    design = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3, effect=0.5, power=0.9), sides=1)
    strict = design.stricter
    assert strict.error == pytest.approx(0.05 * 2 / 3)
    before, after = block_procedure(design), block_procedure(strict)
    assert after.horizon == before.horizon
    assert after.threshold > before.threshold


def test_a_larger_batch_asks_for_a_higher_boundary() -> None:
    def boundary(batch: int) -> float:
        rule = bs.Tilt(1, effect=0.5, power=0.9, guarantee="gaussian", batch=batch)
        procedure = block_procedure(bs.Design(["a", "b"], bs.Gaussian(1), rule, sides=1))
        line = procedure.boundary(1.0)
        assert line is not None
        return line

    # The last block may end beyond the horizon, and its look counts.
    assert boundary(20) > boundary(1)


@pytest.mark.parametrize(
    ("outcome", "rule"),
    [
        (bs.Bernoulli(), bs.Tilt(3, effect=0.1, power=0.9, baseline=0.3)),
        (bs.Gaussian(1), bs.Tilt(3, effect=0.3, power=0.9)),
    ],
)
def test_what_decides_is_the_same_without_the_bets_that_make_intervals(
    outcome: bs.design.Outcome, rule: bs.design.Rule
) -> None:
    procedure = block_procedure(bs.Design(["a", "b", "c"], outcome, rule, sides=1))
    generator = np.random.default_rng(7)
    whole, less = (procedure.rows(bs.progress.Statistics.empty(3)) for _ in range(2))
    decides = [first + k for first in (MINE, THEIRS) for k in (0, STAKE)]
    for _ in range(150):
        values = (generator.random(4) < [0.3, 0.3, 0.4, 0.3]).astype(float)
        for intervals, (arms, pairs) in ((True, whole), (False, less)):
            for arm, units in zip(arms, (2.0, 1.0, 1.0), strict=True):
                arm[BLOCK_UNITS] = units
            for at, value in zip((0, 0, 1, 2), values, strict=True):
                procedure.evidence.observe(arms[at], float(value))
            steps = steps_of(procedure.evidence, Scope(two_arms=False, intervals=intervals))
            steps.fold(arms, pairs, 3, procedure.params)
        for one, other in zip(whole[1], less[1], strict=True):
            assert [one[k] for k in decides] == [other[k] for k in decides]
    # The others were played on one side only.
    assert whole[1][0][MINE + 1] > 0.0 == less[1][0][MINE + 1]
