"""Running intersections: intervals never grow, never contradict a decision, and are never empty."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.core.evidence.families.rows import pair_index
from bascule.core.procedures.intervals.state import MOST_ARMS, intersected, with_lower_end
from bascule.live.storage.state_json import statistics_from_json, statistics_to_json

ONCE = [
    (bs.Gaussian(1), bs.Tilt(3), 0.5),
    (bs.Gaussian(1), bs.Tilt(3, effect=0.5), 0.5),
    (bs.Gaussian(1), bs.Tilt(1, batch=4), 0.5),
    (bs.Bernoulli(), bs.Tilt(3), 0.4),
    (bs.Gaussian(1), bs.UCB(2), 0.8),
    (bs.Gaussian(1), bs.UCB(2, radius="mixture"), 0.6),
    (bs.Gaussian(1), bs.UCB(2, stop="mixture"), 0.6),
    (bs.Gaussian(1), bs.ETC(), 0.8),
    (bs.Gaussian(1), bs.ETC(stop="mixture"), 0.6),
    (bs.Gaussian(1), bs.ETCPrime(), 0.8),
]
RECURRENT = [bs.ETC(), bs.ETC(stop="mixture"), bs.UCB(2, radius="mixture")]


def check_agreement(
    design: bs.Design, before: tuple[bs.progress.Effect, ...] | None, seen: Any
) -> tuple[bs.progress.Effect, ...]:
    """Check the intervals against those of the step before and against the decision."""
    found = bs.progress.effects(design, seen)
    names = list(design.arms)
    for i, effect in enumerate(found):
        assert effect.low <= effect.high
        if before is not None:
            assert effect.low >= before[i].low
            assert effect.high <= before[i].high
    lows = {(e.first, e.second): e.low for e in found}
    lows |= {(e.second, e.first): -e.high for e in found}
    for arm in seen.dropped:
        rivals = [name for name in names if name != names[arm]]
        assert any(lows[rival, names[arm]] >= 0 for rival in rivals)
    reached = bs.progress.decision(design, seen)
    if reached is not None and reached.arm is not None:
        assert all(lows[reached.name, name] >= 0 for name in names if name != reached.name)
    return found


@pytest.mark.parametrize("arms", [3, 6])
@pytest.mark.parametrize(("outcome", "rule", "gap"), ONCE, ids=str)
def test_intervals_shrink_and_agree_with_the_decision(
    outcome: Any, rule: Any, gap: float, arms: int
) -> None:
    """At a large error, so that many arms are dropped, wrongly and rightly."""
    names = [f"arm{i}" for i in range(arms)]
    cap = 90 if outcome.limited else 240  # intervals of bets take long
    design = bs.Design(names, outcome, rule, error=0.4, max_units=cap, sides=1)
    for seed in range(2):
        means = np.random.default_rng(seed).uniform(0.1, 0.1 + gap, arms)
        means[seed] = 0.3 + gap
        last = None
        steps = list(bs.trace(design, list(means), seed=seed))
        for number, step in enumerate(steps):
            if step.statistics.bounds and (number % 7 == 0 or step is steps[-1]):
                last = check_agreement(design, last, step.statistics)
        assert last is not None


@pytest.mark.parametrize("rule", RECURRENT, ids=str)
def test_intervals_of_recurring_outcomes_shrink_and_agree(rule: Any) -> None:
    design = bs.Design(["a", "b", "c"], bs.Recurrent(1, 1), rule, error=0.4, max_units=300, sides=1)
    last = None
    for stage in bs.simulation.trace_stages(design, [0.0, 0.5, 1.5], seed=2):
        last = check_agreement(design, last, stage.statistics)
    assert last is not None


def test_a_winner_is_above_an_arm_that_another_one_has_beaten() -> None:
    """`b` beats `c` early, then `a` beats `b`: only the decision says that `a` is above `c`."""
    design = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(1), error=0.05, sides=1)
    seen = bs.progress.Statistics.empty(3)
    while not seen.dropped:
        seen = bs.progress.fold_block(
            design, seen, [bs.progress.ArmStatistics(1, y, y * y) for y in (0.0, 1.0, -1.0)]
        )
    assert seen.dropped == {2}
    while bs.progress.decision(design, seen) is None:
        block = [
            bs.progress.ArmStatistics(1, 3.0, 9.0),
            bs.progress.ArmStatistics(1, -2.0, 4.0),
            bs.progress.ArmStatistics(),
        ]
        seen = bs.progress.fold_block(design, seen, block)
    own, by_decision, _ = bs.progress.effects(design, seen)
    assert own.high <= 0
    assert (own.error, own.level) == (0.025, 0.95)
    assert by_decision.high == 0
    assert (by_decision.error, by_decision.level) == (0.05, 0.9)


def test_bounds_are_stored() -> None:
    design = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3), sides=1)
    seen = bs.progress.Statistics.empty(3)
    block = [bs.progress.ArmStatistics(1, y, y * y) for y in (0.0, 0.5, 1.0)]
    for _ in range(5):
        seen = bs.progress.fold_block(design, seen, block)
    assert seen.bounds
    read = statistics_from_json(statistics_to_json(seen))
    assert read.bounds == seen.bounds
    assert bs.progress.effects(design, read) == bs.progress.effects(design, seen)
    endless = bs.progress.CohortStatistics.empty(3)
    closed = bs.progress.close_stage(
        bs.Design(["a", "b", "c"], bs.Recurrent(1, 1), bs.ETC(), sides=1), endless
    )
    assert closed.bounds == ((-math.inf, math.inf),) * 3
    assert statistics_from_json(statistics_to_json(closed)).bounds == closed.bounds


def test_nothing_is_kept_where_it_is_not_needed() -> None:
    for arms, rule in ((2, bs.Tilt(3)), (2, bs.UCB(2)), (MOST_ARMS + 1, bs.Tilt(3))):
        design = bs.Design([str(i) for i in range(arms)], bs.Gaussian(1), rule, sides=1)
        assert not design.procedure.keeps_bounds
    assert bs.Design(["a", "b"], bs.Gaussian(1), bs.ETC(), sides=1).procedure.keeps_bounds


def test_an_empty_intersection_keeps_the_last_one() -> None:
    assert intersected(((1.0, 2.0),), [(3.0, 4.0)]) == ((1.0, 2.0),)
    assert intersected((), [(3.0, 4.0)]) == ((3.0, 4.0),)
    assert with_lower_end(((-3.0, -1.0),), 2, 0, 1) == ((0.0, 0.0),)


def test_pairs_come_in_the_order_of_combinations() -> None:
    for arms in range(2, 9):
        pairs = list(combinations(range(arms), 2))
        assert [pair_index(arms, *pair) for pair in pairs] == list(range(len(pairs)))
        assert [pair_index(arms, j, i) for i, j in pairs] == list(range(len(pairs)))
