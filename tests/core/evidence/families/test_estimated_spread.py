"""Blocks with an estimated spread: estimate, waiting rule, merging, errors in null worlds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from bench.unknown_spread import (
    money_cell,
    money_worlds,
    noise,
    normal,
    null_cell,
    rare,
    spending,
)

import bascule as bs
from bascule.core.evidence.families.estimated_spread import SHARE
from bascule.core.evidence.normal import log_mixture
from bascule.core.progress import fold_block

pytestmark = pytest.mark.slow

DESIGN = bs.Design(["a", "b"], bs.Numeric(1.0), bs.Tilt(3), sides=1)


def folded(design: bs.Design, blocks: Sequence[tuple[list[float], ...]]) -> bs.progress.Statistics:
    """The statistics after blocks, whose outcomes are given arm by arm."""
    seen = bs.progress.Statistics.empty(2)
    for block in blocks:
        sums = [
            sum(map(design.procedure.unit_sums, arm), bs.progress.ArmStatistics()) for arm in block
        ]
        seen = fold_block(design, seen, sums)
    return seen


def some_blocks(count: int, gap: float, seed: int = 0) -> list[tuple[list[float], ...]]:
    rng = np.random.default_rng(seed)
    return [
        (rng.normal(gap, 1.0, 1 + i % 3).tolist(), rng.normal(0.0, 2.0, 1).tolist())
        for i in range(count)
    ]


def test_the_interval_is_that_of_the_mixture_with_the_pair_s_own_variance() -> None:
    blocks = some_blocks(60, 0.3)
    total = share = clock = 0.0
    for a, b in blocks:
        h = len(a) * len(b) / (len(a) + len(b))
        total += h * float(np.mean(a) - np.mean(b))
        share += h * h / len(a)
        clock += h
    arms = [np.concatenate([block[k] for block in blocks]) for k in (0, 1)]
    pooled = sum(len(arm) * arm.var() for arm in arms) / (sum(map(len, arms)) - 2)
    own = [max(arm.var(ddof=1), pooled) for arm in arms]
    spread = math.sqrt((share * own[0] + (clock - share) * own[1]) / clock)
    seen = folded(DESIGN, blocks)
    assert seen.pairs[0][SHARE] == pytest.approx(share)
    ((middle, low, high),) = DESIGN.procedure.differences(seen)
    assert middle == pytest.approx(total / clock)
    assert high - middle == pytest.approx(middle - low)
    reach = (middle - low) * clock / spread
    assert log_mixture(reach, clock) == pytest.approx(math.log(20.0))


def test_nothing_is_decided_before_an_arm_has_twenty_units_times_its_squared_skewness() -> None:
    # All of b's outcomes are alike but one, so its skewness is about the root of its units.
    blocks = [([10.0 + 0.01 * (i % 2)], [0.1 * (i % 2)]) for i in range(200)]
    assert folded(DESIGN, blocks[:19]).dropped == frozenset()
    assert folded(DESIGN, blocks[:21]).dropped == {1}
    blocks[3] = ([10.0], [5.0])
    seen = folded(DESIGN, blocks)
    assert seen.dropped == frozenset()
    ((_, low, high),) = DESIGN.procedure.differences(seen)
    assert (low, high) == (-math.inf, math.inf)


def test_outcomes_that_never_differ_are_never_decided_on() -> None:
    assert folded(DESIGN, [([1.0], [0.0])] * 100).dropped == frozenset()


def test_a_difference_that_does_not_matter_ends_the_test() -> None:
    design = replace(DESIGN, min_effect=1.0)
    assert design.procedure.decision(folded(design, some_blocks(20, 0.0))) is None
    reached = design.procedure.decision(folded(design, some_blocks(400, 0.0)))
    assert reached is not None
    assert reached.arm is None


def test_a_changed_knob_moves_neither_the_horizon_nor_the_boundary() -> None:
    designs = [
        replace(DESIGN, rule=bs.Tilt(tilt, effect=0.4, power=0.9), min_effect=0.1)
        for tilt in (1, 3, 50)
    ]
    seen = folded(designs[0], some_blocks(60, 0.3))
    intervals = {str(design.procedure.differences(seen)) for design in designs}
    assert len(intervals) == 1
    assert len({design.procedure.horizon_share(seen) for design in designs}) == 1


def test_a_skewed_arm_that_may_not_have_shown_its_tail_loses_later() -> None:
    design = replace(DESIGN, rule=bs.Tilt(1, effect=0.2, power=0.9))
    rng = np.random.default_rng(3)
    even, skewed = rng.normal(0.0, 1.0, 900), rng.exponential(1.0, 900) - 1.0

    def ends(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
        blocks = [([a], [b]) for a, b in zip(first.tolist(), second.tolist(), strict=True)]
        ((middle, low, high),) = design.procedure.differences(folded(design, blocks))
        return middle - low, high - middle

    # What is claimed in favour of the even arm needs more than what is claimed against it.
    below, above = ends(even, skewed)
    assert below > 1.05 * above
    assert ends(skewed, even) == pytest.approx((above, below))
    # Lower values are better: mirrored outcomes are skewed to the other side.
    assert ends(-even, -skewed) == pytest.approx((above, below))
    below, above = ends(even[:450], even[450:])
    assert below == pytest.approx(above, rel=0.05)


RUNS = 600
ALLOWED = 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / RUNS)
WORLDS = {
    "spending": noise(spending(), spending()),
    "unlike spreads": noise(normal(1.0), normal(3.0)),
    "unlike tails": noise(spending(), rare(100.0, noise(spending()).means[0])),
}


def test_money_without_a_cap_is_decided_wrongly_about_as_rarely_as_stated() -> None:
    world = money_worlds()["money, 5 % against 2.5 % buyers"]
    assert max(money_cell(world, tilt=8.0, runs=300)) <= 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / 300)


@pytest.mark.parametrize("name", WORLDS)
def test_a_winner_between_equal_means_is_as_rare_as_stated(name: str) -> None:
    assert null_cell(WORLDS[name], tilt=8.0, runs=RUNS, cap=6000) <= ALLOWED


def test_normal_outcomes_take_hardly_more_units_than_with_a_known_spread() -> None:
    design = replace(DESIGN, rule=bs.Tilt(3, effect=0.2))
    times = [
        bs.simulate(replace(design, outcome=outcome), [0.0, 0.2], runs=3000, seed=1).decision_time
        for outcome in (bs.Numeric(1.0), bs.Gaussian(1.0))
    ]
    error = math.hypot(*(time.std() / math.sqrt(len(time)) for time in times)) / times[1].mean()
    assert times[0].mean() / times[1].mean() <= 1.05 + 2.0 * error
