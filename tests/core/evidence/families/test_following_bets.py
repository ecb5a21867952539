"""Bets that follow a flat boundary: fair games, whatever their stakes, and what they rule out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

import bascule as bs
from bascule.core.errors import InputError
from bascule.core.evidence.families.following_bets import MINE, THEIRS
from bascule.core.evidence.families.side_bet import BEST, GAIN, LOSS, MORE, PEAK, STAKED
from bascule.core.metrics.effects import effects, lifts
from bascule.core.progress import block_procedure
from bascule.core.statistics import ArmStatistics, Statistics

EFFECT, MARGIN = 0.3, 0.1
SIZES = ((1, 1), (2, 1), (1, 2), (1, 1))

PROCEDURE = block_procedure(
    bs.Design(
        ["a", "b"],
        bs.Bernoulli(),
        bs.Tilt(3, effect=EFFECT, power=0.9, baseline=0.3),
        min_effect=MARGIN,
        sides=1,
    )
)


def folded(sums: tuple[tuple[int, int], ...]) -> tuple[float, ...]:
    """Return the row of the pair after blocks with these sums of 0/1 outcomes."""
    seen = Statistics.empty(2)
    for block, units in zip(sums, SIZES, strict=True):
        arms = [ArmStatistics(n, float(x), float(x)) for n, x in zip(units, block, strict=True)]
        seen = PROCEDURE.fold_block(seen, arms, look=False)
    return seen.pairs[0]


def every_path(first: float, second: float) -> Iterator[tuple[float, tuple[float, ...]]]:
    """Yield each way that four blocks can go, as its probability and the row of the pair."""
    cells = [list(itertools.product(range(a + 1), range(b + 1))) for a, b in SIZES]
    for path in itertools.product(*cells):
        chance = 1.0
        for (x, y), (a, b) in zip(path, SIZES, strict=True):
            chance *= math.comb(a, x) * first**x * (1 - first) ** (a - x)
            chance *= math.comb(b, y) * second**y * (1 - second) ** (b - y)
        yield chance, folded(path)


@pytest.mark.parametrize("shift", [-0.1, 0.0, 0.05, 0.1, 0.3, 0.7])
def test_no_difference_that_is_true_is_evidence_against_itself_on_average(shift: float) -> None:
    # The second arm is better by the shift, or worse where it is negative.
    mean = sum(
        chance * math.exp(row[MINE] + shift * row[MINE + STAKED])
        for chance, row in every_path(0.2, 0.2 + shift)
    )
    assert mean == pytest.approx(1.0) if shift == 0.0 else 0.3 < mean <= 1.0


@pytest.mark.parametrize("shift", [MARGIN, 0.15, 0.19])
def test_the_bet_on_a_margin_does_not_win_where_the_other_arm_is_better_by_it(shift: float) -> None:
    mean = 0.0
    for chance, row in every_path(0.2, 0.2 + shift):
        owned = math.exp(row[MINE]) + row[MINE + MORE]
        assert row[MINE + MORE] >= 0.0
        assert row[MINE + PEAK] >= max(math.log(owned), row[MINE]) - 1e-12
        mean += chance * owned
    assert 0.5 < mean <= 1.0


@pytest.mark.parametrize("lift", [0.0, 0.2, 0.5, 1.5])
@pytest.mark.parametrize("bet", [MINE, THEIRS])
def test_no_lift_that_is_true_is_evidence_against_itself_on_average(lift: float, bet: int) -> None:
    if bet == THEIRS and lift > 1.0:
        return
    first = 0.3
    second = first * (1.0 + lift if bet == MINE else 1.0 - lift)
    mean = sum(
        chance * math.exp(row[bet] + lift * row[bet + GAIN] - 0.5 * lift * lift * row[bet + LOSS])
        for chance, row in every_path(first, second)
    )
    assert mean == pytest.approx(1.0) if lift == 0.0 else 0.5 < mean <= 1.0


@pytest.mark.parametrize("goal", ["increase", "decrease"])
@pytest.mark.parametrize("outcome", [bs.Bernoulli(), bs.Bounded(0, 2), bs.Gaussian(1)])
def test_intervals_exclude_0_exactly_where_a_pair_is_decided(
    outcome: bs.design.Outcome, goal: str
) -> None:
    rule = bs.Tilt(2, effect=0.4, power=0.8)
    design = bs.Design(["a", "b", "c"], outcome, rule, error=0.2, goal=goal)  # type: ignore[arg-type]
    procedure, generator = block_procedure(design), np.random.default_rng(4)
    decided = 0
    for _ in range(30):
        seen, widths = Statistics.empty(3), [math.inf] * 3
        for _ in range(60):
            values = generator.random(3) < [0.3, 0.5, 0.9]
            block = [ArmStatistics(1, float(x), float(x)) for x in values]
            seen = procedure.fold_block(seen, block, look=False)
            arms, pairs = procedure.rows(seen)
            for at, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
                verdict = procedure.evidence.verdict(pairs[at], arms[i], arms[j], procedure.params)
                _, low, high = procedure.differences(seen, [(i, j)])[0]
                assert (low >= 0.0, high <= 0.0) == (verdict > 0.0, verdict < 0.0)
                assert math.isfinite(high - low)
                assert high - low <= widths[at]
                widths[at], decided = high - low, decided + (verdict != 0.0)
            shown = effects(design, design.oriented_statistics(seen))
            lift = lifts(design, design.oriented_statistics(seen), shown)["c"]
            _, low, high = procedure.differences(seen, [(2, 0)])[0]
            if goal == "decrease":
                low, high = -high, -low
            assert (lift[0] >= 0.0, lift[1] <= 0.0) == (low >= 0.0, high <= 0.0)
    assert decided > 100


def test_what_was_best_at_another_threshold_still_counts() -> None:
    design = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3, effect=0.5, power=0.9))
    loose, strict = block_procedure(design), block_procedure(design.stricter)
    seen, generator = Statistics.empty(3), np.random.default_rng(3)
    for _ in range(60):
        values = generator.normal(size=3)
        seen = loose.fold_block(
            seen, [ArmStatistics(1, x, x * x) for x in values.tolist()], look=False
        )
    for (_, low, high), (_, strict_low, strict_high) in zip(
        loose.differences(seen), strict.differences(seen), strict=True
    ):
        assert strict_low < low < high < strict_high


def test_rows_of_another_length_are_refused() -> None:
    seen = Statistics.empty(2)
    seen = PROCEDURE.fold_block(seen, [ArmStatistics(1, 1.0, 1.0), ArmStatistics(1)])
    older = bs.progress.Statistics(seen.arms, pairs=((0.5, 0.5, *range(70)),))
    with pytest.raises(InputError, match="another version"):
        PROCEDURE.winner(older)
    assert seen.pairs[0][MINE + BEST] != 0.0


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
