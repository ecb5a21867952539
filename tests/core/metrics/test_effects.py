"""Effect intervals: valid at any time, and never against the decision."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bascule as bs
from bascule.core.evidence.betting import BETS, LOG_PARTS, log_shifted_wealth
from bascule.core.evidence.normal import mixture_boundary, mixture_radius

pytestmark = pytest.mark.slow

RULES = [
    (bs.Gaussian(1), bs.Tilt(3)),
    (bs.Gaussian(1), bs.Tilt(3, effect=0.5)),
    (bs.Bernoulli(), bs.Tilt(3)),
    (bs.Gaussian(1), bs.UCB(2)),
    (bs.Gaussian(1), bs.UCB(2, stop="mixture")),
    (bs.Gaussian(1), bs.ETC()),
    (bs.Gaussian(1), bs.ETC(stop="mixture")),
]


@pytest.mark.parametrize(("outcome", "rule"), RULES, ids=str)
@pytest.mark.parametrize("means", [[0.2, 0.8], [0.8, 0.3, 0.1]])
def test_intervals_and_decision_agree_at_every_step(
    outcome: Any, rule: Any, means: list[float]
) -> None:
    """While nothing is decided some rival is possible; at the decision none is."""
    design = bs.Design([str(i) for i in range(len(means))], outcome, rule, max_units=3000, sides=1)
    last = None
    for looks, step in enumerate(bs.trace(design, means, seed=4)):
        last = step
        if looks % 37 == 0 or step.decision is not None:
            shown = bs.progress.effects(design, step.statistics)
            lower = {e.second for e in shown if e.low >= 0.0}
            lower |= {e.first for e in shown if e.high <= 0.0}
            beaten = frozenset(map(design.arms.index, lower))
            if step.decision is None:
                assert len(beaten) < len(means)
            else:
                assert beaten == frozenset(range(len(means))) - {step.decision.arm}
    assert last is not None
    assert last.decision is not None


@pytest.mark.parametrize(("outcome", "rule"), [RULES[0], RULES[1], RULES[2], RULES[4]], ids=str)
def test_each_end_is_wrong_as_rarely_as_promised(outcome: Any, rule: Any) -> None:
    """Over whole tests, whenever one looks; with a true difference of 0.1."""
    error, runs = 0.2, 40
    design = bs.Design(["a", "b"], outcome, rule, error=error, max_units=400, sides=1)
    wrong = np.zeros(2)
    for run in range(runs):
        ever = [False, False]
        for count, step in enumerate(bs.trace(design, [0.5, 0.4], seed=9, run=run)):
            if count % 40 == 0 or step.decision is not None:
                (effect,) = bs.progress.effects(design, step.statistics)
                ever[0] |= effect.low > -0.1
                ever[1] |= effect.high < -0.1
        wrong += ever
    limit = error + 3 * math.sqrt(error * (1 - error) / runs)
    assert np.all(wrong / runs <= limit)


def test_limits_and_sigma_scale_the_interval() -> None:
    seen = [(bs.progress.ArmStatistics(1, 1.0, 1.0), bs.progress.ArmStatistics(1, 0.5, 0.25))] * 30
    for small, large, factor in (
        (bs.Gaussian(1), bs.Gaussian(10), 10),
        (bs.Bounded(0, 1), bs.Bounded(0, 500), 500),
    ):
        ends = []
        for outcome, by in ((small, 1), (large, factor)):
            design = bs.Design(["a", "b"], outcome, bs.Tilt(3), error=0.01, sides=1)
            statistics = bs.progress.Statistics.empty(2)
            for block in seen:
                scaled = tuple(
                    bs.progress.ArmStatistics(arm.units, by * arm.total, by * by * arm.squares)
                    for arm in block
                )
                statistics = bs.progress.fold_block(design, statistics, scaled)
            (effect,) = bs.progress.effects(design, statistics)
            ends.append([effect.difference, effect.low, effect.high])
        assert ends[1] == pytest.approx([factor * end for end in ends[0]])
        assert ends[0][0] == pytest.approx(-0.5)


def test_before_the_first_block_nothing_is_known() -> None:
    for rule in (bs.Tilt(3), bs.UCB(2), bs.UCB(2, stop="mixture")):
        design = bs.Design(["a", "b", "c"], bs.Gaussian(1), rule, sides=1)
        known = bs.progress.effects(design, bs.progress.Statistics.empty(3))
        assert all((effect.low, effect.high) == (-math.inf, math.inf) for effect in known)
        names = [(effect.second, effect.first) for effect in known]
        assert names == list(combinations("abc", 2))


@given(
    differences=st.lists(st.floats(-1, 1), min_size=1, max_size=30),
    shift=st.floats(-0.9, 0.9),
)
def test_the_sums_never_say_more_than_the_bets(differences: list[float], shift: float) -> None:
    played = [
        part + sum(math.log1p(bet * (d - shift) / (1 + shift)) for d in differences)
        for bet, part in zip(BETS, LOG_PARTS, strict=True)
    ]
    wealth = float(np.logaddexp.reduce(played))
    sums = (len(differences), sum(differences), sum(d * d for d in differences))
    assert log_shifted_wealth(*sums, shift) <= wealth + 1e-9


@pytest.mark.parametrize(
    ("rule", "arms", "error"),
    [
        (bs.Tilt(3), 5, 0.05 / 4),
        (bs.UCB(2), 2, 0.05),
        (bs.UCB(2), 5, 0.02),
        (bs.UCB(2, stop="mixture"), 3, 0.025),
        (bs.ETC(), 2, 0.05),
        (bs.ETC(), 4, 0.025),
        (bs.ETC(stop="mixture"), 3, 0.025),
    ],
)
def test_the_error_of_an_end(rule: Any, arms: int, error: float) -> None:
    design = bs.Design([str(i) for i in range(arms)], bs.Gaussian(1), rule, error=0.05, sides=1)
    assert design.procedure.end_error == pytest.approx(error)


def after_rounds(design: bs.Design, rounds: int) -> bs.progress.Statistics:
    """Equal outcomes in every arm, round by round."""
    seen = bs.progress.Statistics.empty(len(design.arms))
    for _ in range(rounds):
        for arm in range(len(design.arms)):
            seen = bs.progress.record(design, seen, arm, 0.0)
    return seen


@pytest.mark.parametrize("rule", [bs.ETC(stop="mixture"), bs.ETC()])
def test_a_paused_arm_keeps_the_interval_of_its_last_full_round(rule: Any) -> None:
    """Two radii add up to what a difference needs only while both arms have equally many units."""
    design = bs.Design(["a", "b"], bs.Gaussian(1), rule, error=0.05, sides=1)
    equal = after_rounds(design, 20)
    seen = equal
    for _ in range(40):
        seen = bs.progress.record(design, seen, 0, 0.05)
    (before,), (after,) = bs.progress.effects(design, equal), bs.progress.effects(design, seen)
    assert (after.low, after.high) == (before.low, before.high)
    # Arm a gained, and the difference is b minus a.
    assert after.difference < before.difference


def test_unequal_units_without_a_history_have_an_interval_for_each_arm() -> None:
    """Each arm's own mixture at half the level of an end: valid however units were shared out."""
    design = bs.Design(["a", "b", "c"], bs.Gaussian(2), bs.ETC(stop="mixture"), error=0.05, sides=1)
    arms = tuple(bs.progress.ArmStatistics(n, 0.0) for n in (400, 50, 400))
    unequal, equal, _ = bs.progress.effects(design, bs.progress.Statistics(arms))
    reach = mixture_radius(400, 2.0, 0.0125) + mixture_radius(50, 2.0, 0.0125)
    assert unequal.high == pytest.approx(reach)
    assert equal.high == pytest.approx(2 * mixture_boundary(200, math.log(40)) / 400 * 2)


def test_intervals_of_arms_with_unequal_units_hold() -> None:
    """An arm is paused when it looks bad: the upper end of its difference fails as stated."""
    error, runs = 0.2, 150
    design = bs.Design(
        ["a", "b", "c"], bs.Gaussian(1), bs.ETC(stop="mixture"), error=error, sides=1
    )
    rng = np.random.default_rng(11)
    wrong = 0
    for _ in range(runs):
        seen, ever = bs.progress.Statistics.empty(3), False
        for _ in range(30):
            behind = seen.arms[1].units >= 3 and seen.arms[1].mean < seen.arms[0].mean
            for arm in (0, 2) if behind else (0, 1, 2):
                seen = bs.progress.record(design, seen, arm, float(rng.normal()))
            ever |= bs.progress.effects(design, seen)[0].high < 0
        wrong += ever
    level = error / 2
    assert wrong / runs <= level + 3 * math.sqrt(level * (1 - level) / runs)
