"""Tests of many arms with a horizon and outcomes within limits."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.procedures.many_arms.procedure import ManyArmsProcedure

ARMS = 21


def design(outcome: Any, effect: float, tilt: float = 1, **more: Any) -> bs.Design:
    rule = bs.Tilt(tilt, effect=effect, power=0.9)
    return bs.Design([f"arm {i}" for i in range(ARMS)], outcome, rule, **more)


def block_of(sums: tuple[float, ...], units: tuple[int, ...]) -> list[bs.ArmStatistics]:
    seen = [bs.ArmStatistics(n, x, x) for x, n in zip(sums, units, strict=True)]
    return seen + [bs.ArmStatistics()] * (ARMS - len(seen))


def wealth(test: bs.Design, seen: bs.Statistics) -> tuple[float, ...]:
    """What the two bets on the first two arms own."""
    procedure = test.procedure
    assert isinstance(procedure, ManyArmsProcedure)
    pair = procedure.steps.read(procedure.lay_all(seen), ARMS, 0, 1)
    return tuple(math.exp(log) for log in pair.wins)


def test_bets_are_fair_where_arms_are_equal_whatever_the_sizes_of_blocks() -> None:
    # Every way that three blocks of 0/1 outcomes can go, each with its probability.
    test, rate = design(bs.Bernoulli(), 0.3), 0.2
    sizes = ((1, 1), (2, 1), (1, 3))
    cells = [list(itertools.product(range(a + 1), range(b + 1))) for a, b in sizes]
    average = np.zeros(2)
    for path in itertools.product(*cells):
        chance, seen = 1.0, bs.Statistics.empty(ARMS)
        for (x, y), (a, b) in zip(path, sizes, strict=True):
            chance *= math.comb(a, x) * rate**x * (1 - rate) ** (a - x)
            chance *= math.comb(b, y) * rate**y * (1 - rate) ** (b - y)
            seen = bs.fold_block(test, seen, block_of((x, y), (a, b)), look=False)
        average += chance * np.array(wealth(test, seen))
    assert average == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("outcome", [bs.Bernoulli(), bs.Bounded(-1, 3)])
def test_the_better_arm_wins_and_its_intervals_agree(outcome: Any) -> None:
    low, high = outcome.low, outcome.high
    test = design(outcome, 0.5 * (high - low), tilt=3, reports="always")
    means = [low + 0.1 * (high - low)] * (ARMS - 1) + [low + 0.8 * (high - low)]
    *_, last = bs.trace(test, means, seed=4)
    assert last.decision is not None
    assert last.decision.arm == ARMS - 1
    found = bs.effects(test, last.statistics)
    assert all(effect.low <= effect.difference <= effect.high for effect in found)
    beaten = {effect.first for effect in found if effect.high <= 0.0}
    assert beaten
    assert beaten <= {f"arm {i}" for i in last.statistics.out}


def test_equal_arms_end_at_the_horizon_or_when_futile() -> None:
    means, ends = [0.5] * ARMS, []
    for futility in (None, 0.2):
        rule = bs.Tilt(1, effect=0.4, power=0.9, futility=futility)
        test = bs.Design([f"arm {i}" for i in range(ARMS)], bs.Bernoulli(), rule)
        *_, last = bs.trace(test, means, seed=2)
        assert last.decision is None
        reason = test.procedure.end_reason(last.statistics)
        ends.append((reason, sum(arm.units for arm in last.statistics.arms)))
    (at, units), (sooner, fewer) = ends
    assert (at, sooner) == ("horizon", "futility")
    assert fewer < units
    # A half of the variance 1/4 for each block of one unit of each arm.
    reach = test.procedure.horizon.reach  # type: ignore[attr-defined]
    assert units == pytest.approx(ARMS * 2 * 0.25 * (reach / 0.4) ** 2, rel=0.05)
