"""Where the goal is to decrease the outcomes, a rule is given reflected ones, and nothing else."""

from __future__ import annotations

import random
from typing import Any

import pytest

import bascule as bs
from bascule.core.progress import fold_block, next_arm, next_block, record
from bascule.core.statistics import ArmStatistics

ARMS = ["a", "b", "c"]


def _pair(rule: Any, outcome: Any) -> tuple[bs.Design, bs.Design]:
    up = bs.Design(ARMS, outcome, rule, sides=1)
    return up, bs.Design(ARMS, outcome, rule, goal="decrease", sides=1)


def _drawn(outcome: Any, arm: int, chance: random.Random) -> float:
    """An outcome of which the last arm has the lowest ones."""
    if outcome.binary:
        return float(chance.random() > 0.2 + 0.25 * arm)
    return chance.uniform(0.0, 4.0 - arm)


def _same(
    up: bs.Design, down: bs.Design, turned: bs.progress.Statistics, seen: bs.progress.Statistics
) -> None:
    assert turned.dropped == seen.dropped
    assert bs.progress.decision(up, turned) == bs.progress.decision(down, seen)
    for one, other in zip(
        bs.progress.effects(up, turned), bs.progress.effects(down, seen), strict=True
    ):
        assert (one.first, one.second) == (other.first, other.second)
        assert other.low == pytest.approx(-one.high, abs=1e-9)
        assert other.high == pytest.approx(-one.low, abs=1e-9)
        assert other.difference == pytest.approx(-one.difference, abs=1e-9)


@pytest.mark.parametrize("outcome", [bs.Bernoulli(), bs.Bounded(0, 5), bs.Gaussian(1)], ids=repr)
def test_blocks_find_the_lowest_mean_as_they_find_the_highest(outcome: Any) -> None:
    up, down = _pair(bs.Tilt(3), outcome)
    chance = random.Random(5)
    turned = seen = bs.progress.Statistics.empty(3)
    raw = [ArmStatistics()] * 3
    for _ in range(400):
        block = next_block(down, seen)
        assert block == next_block(up, turned)
        mine = theirs = [ArmStatistics()] * 3
        for arm, units in enumerate(block.units):
            for _ in range(units):
                value = _drawn(outcome, arm, chance)
                other = outcome.reflected(value)
                mine = [
                    *mine[:arm],
                    mine[arm] + ArmStatistics(1, value, value**2),
                    *mine[arm + 1 :],
                ]
                theirs = [
                    *theirs[:arm],
                    theirs[arm] + ArmStatistics(1, other, other**2),
                    *theirs[arm + 1 :],
                ]
        raw = [before + new for before, new in zip(raw, mine, strict=True)]
        seen, turned = fold_block(down, seen, mine), fold_block(up, turned, theirs)
        assert bs.progress.decision(down, seen) == bs.progress.decision(up, turned)
        if bs.progress.decision(down, seen) is not None:
            break
    _same(up, down, turned, seen)
    decision = bs.progress.decision(down, seen)
    assert decision is not None
    assert decision.name == "c"
    # The sums are the user's own numbers, to the last digit.
    assert seen.arms == tuple(raw)


@pytest.mark.parametrize(
    "rule",
    [bs.UCB(2), bs.ETC(stop="mixture"), bs.UCB(2, radius="mixture")],
    ids=repr,
)
def test_intervals_find_the_lowest_mean_as_they_find_the_highest(rule: Any) -> None:
    outcome = bs.Bounded(0, 5)
    up, down = _pair(rule, outcome)
    chance = random.Random(7)
    turned = seen = bs.progress.Statistics.empty(3)
    for _ in range(150):
        arm = next_arm(down, seen)
        assert arm == next_arm(up, turned)
        value = _drawn(outcome, arm, chance)
        seen = record(down, seen, arm, value)
        turned = record(up, turned, arm, outcome.reflected(value))
    _same(up, down, turned, seen)
    for mine, theirs in zip(
        bs.progress.intervals(down, seen), bs.progress.intervals(up, turned), strict=True
    ):
        assert mine.mean == pytest.approx(5.0 - theirs.mean)
        assert mine.radius == pytest.approx(theirs.radius)


def test_a_static_population_with_the_lowest_mean_wins() -> None:
    rule = bs.research.Static(10_000, horizon=30)
    design = bs.Design(["a", "b"], bs.Recurrent(1, 3), rule, goal="decrease", sides=1)
    seen = bs.research.look(design, 30, [4.97, 5.06])
    assert seen.decision is not None
    assert seen.decision.name == "a"
    assert seen.difference == pytest.approx(0.09)


def test_an_outcome_with_one_limit_has_no_reflection() -> None:
    class Waiting(bs.Gaussian):
        low = 0.0

    with pytest.raises(bs.InputError, match="needs outcomes with two limits or none"):
        bs.Design(["a", "b"], Waiting(1.0), bs.Tilt(3), goal="decrease")


def test_values_are_checked_as_the_user_gave_them() -> None:
    design = bs.Design(["a", "b"], bs.Bounded(0, 5), bs.UCB(2), goal="decrease", sides=1)
    with pytest.raises(bs.InputError, match=r"between 0 and 5.*got 7"):
        record(design, bs.progress.Statistics.empty(2), 0, 7.0)
