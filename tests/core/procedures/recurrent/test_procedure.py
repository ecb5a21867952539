"""Intervals, next arm and decision from cohorts, as a live test would ask for them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import bascule as bs
from bascule.core.procedures.recurrent import mean_of_means, precision_mean
from bascule.core.progress import recurrent_procedure

RULES: tuple[Any, ...] = (
    *(bs.UCB(2), bs.UCB(2, radius="alternative"), bs.UCB(2, radius="mixture")),
    *(bs.UCB(2, radius="looks"), bs.UCB(2, radius="mixture", stop="mixture")),
    *(bs.UCB(math.inf), bs.ETC(), bs.ETCPrime(), bs.ETC(stop="mixture")),
)


def design(rule: Any, arms: int = 2, outcome: bs.Recurrent | None = None) -> bs.Design:
    names = [f"arm {i}" for i in range(arms)]
    return bs.Design(names, outcome or bs.Recurrent(1, 1), rule, error=0.05, sides=1)


def seen(*means: float, units: int = 40, stage: int = 40) -> bs.progress.CohortStatistics:
    """Arms whose units arrived one a stage, each with the arm's mean for all its outcomes."""
    arms = (
        bs.progress.ArmCohorts.of((age, age * mean) for age in range(1, units + 1))
        for mean in means
    )
    return bs.progress.CohortStatistics(tuple(arms), stage)


@pytest.mark.parametrize("rule", RULES)
def test_nothing_is_known_before_the_third_unit(rule: Any) -> None:
    test = design(rule)
    for units in (0, 1, 2):
        before = seen(0.0, 9.0, units=units, stage=6)
        assert bs.progress.decision(test, before) is None
        assert all(interval.radius == math.inf for interval in bs.progress.intervals(test, before))


@pytest.mark.parametrize("rule", RULES)
def test_a_wide_gap_is_decided_with_the_rules_guarantee(rule: Any) -> None:
    test = design(rule)
    reached = bs.progress.decision(test, seen(0.0, 9.0, units=48, stage=48))
    assert reached is not None
    assert reached.name == "arm 1"
    assert (reached.error, reached.guarantee) == (0.05, test.calibration.guarantee)
    assert bs.progress.decision(test, seen(0.0, 0.1, units=48, stage=48)) is None


def test_the_intervals_have_the_rules_own_mean() -> None:
    arm = bs.progress.ArmCohorts.of([(1, 3.0), (2, 0.0), (9, 9.0)])
    stats = bs.progress.CohortStatistics((arm, arm), stage=9)
    assert bs.progress.intervals(design(bs.UCB(2)), stats)[0].mean == pytest.approx(
        mean_of_means(arm)
    )
    expected = precision_mean(arm, 1.0, 1.0)
    mixture = design(bs.UCB(2, radius="mixture"))
    assert bs.progress.intervals(mixture, stats)[0].mean == pytest.approx(expected)


ARM = st.tuples(st.integers(3, 300), st.floats(-3, 3))
MIXTURES = (bs.UCB(2, radius="mixture"), bs.UCB(2, radius="mixture", stop="mixture"))


@pytest.mark.parametrize("rule", [*MIXTURES, bs.ETC(stop="mixture")])
@given(a=ARM, b=ARM)
def test_without_noise_units_are_outcomes_that_come_once(
    rule: Any, a: tuple[int, float], b: tuple[int, float]
) -> None:
    plain = bs.Design(["arm 0", "arm 1"], bs.Gaussian(2), rule, error=0.05, sides=1)
    test = design(rule, outcome=bs.Recurrent(2, 0))
    once = bs.progress.Statistics(
        tuple(bs.progress.ArmStatistics(n, n * mean) for n, mean in (a, b))
    )
    cohorts = tuple(
        bs.progress.ArmCohorts((bs.progress.Cohort(5, n, 5 * n * mean),)) for n, mean in (a, b)
    )
    again = bs.progress.CohortStatistics(cohorts, stage=300)
    for one, two in zip(
        bs.progress.intervals(plain, once), bs.progress.intervals(test, again), strict=True
    ):
        assert two.mean == pytest.approx(one.mean, abs=1e-9)
        assert two.radius == pytest.approx(one.radius)
    indices = [i.mean + 2 * i.radius for i in bs.progress.intervals(plain, once)]
    assume(abs(indices[0] - indices[1]) > 1e-9)
    assert bs.progress.next_arm(plain, once) == bs.progress.next_arm(test, again)
    reached, also = bs.progress.decision(plain, once), bs.progress.decision(test, again)
    assert (reached and reached.arm) == (also and also.arm)


def test_even_splits_fill_up_the_arm_with_fewest_units() -> None:
    stats = bs.progress.CohortStatistics((seen(1.0).arms[0], seen(1.0, units=39).arms[0]), 79)
    assert bs.progress.next_arm(design(bs.ETCPrime()), stats) == 1
    assert bs.progress.decision(design(bs.ETCPrime()), stats) is None


def test_ucb_pulls_the_highest_index() -> None:
    stats = bs.progress.CohortStatistics(
        (seen(0.0, units=50).arms[0], seen(0.1, units=20).arms[0]), 70
    )
    for rule in RULES[:4]:
        indices = [i.mean + 2 * i.radius for i in bs.progress.intervals(design(rule), stats)]
        assert bs.progress.next_arm(design(rule), stats) == indices.index(max(indices)) == 1


def test_planned_looks_decide_at_looks_only() -> None:
    test = design(bs.UCB(2, radius="looks"))
    looks = [stage for stage in range(1, 200) if recurrent_procedure(test).looks_at(stage)]
    assert looks == [6, 9, 14, 21, 32, 48, 72, 108, 162]
    for stage in (47, 48, 49):
        reached = bs.progress.decision(test, seen(0.0, 9.0, units=20, stage=stage))
        assert (reached is not None) == (stage == 48)


def test_a_later_look_asks_for_more() -> None:
    test = design(bs.UCB(2, radius="looks"))
    radii = [
        bs.progress.intervals(test, seen(0.0, 0.0, stage=stage))[0].radius
        for stage in (6, 9, 14, 15)
    ]
    assert radii == sorted(radii)
    assert len(set(radii)) == 4


def test_arms_that_are_beaten_are_dropped_at_the_end_of_a_stage() -> None:
    test = design(bs.ETC(), arms=3)
    after = bs.progress.close_stage(test, seen(1.0, 0.9, -2.0))
    assert after.dropped == {2}
    assert bs.progress.decision(test, after) is None
    assert bs.progress.next_arm(test, after) == 0


def test_statistics_of_the_other_kind_are_refused() -> None:
    with pytest.raises(bs.InputError, match="must be CohortStatistics"):
        bs.progress.next_arm(design(bs.UCB(2)), bs.progress.Statistics.empty(2))
    plain = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), sides=1)
    with pytest.raises(bs.InputError, match="must be Statistics"):
        bs.progress.intervals(plain, bs.progress.CohortStatistics.empty(2))
    with pytest.raises(bs.InputError, match="close_stage"):
        bs.progress.record(design(bs.UCB(2)), bs.progress.Statistics.empty(2), 0, 1.0)
    with pytest.raises(bs.InputError, match="2 arms"):
        bs.progress.decision(design(bs.UCB(2)), bs.progress.CohortStatistics.empty(3))


@pytest.mark.parametrize("rule", [RULES[0], RULES[2], RULES[4], bs.ETC()])
def test_effects_part_from_0_when_the_test_decides(rule: Any) -> None:
    test = design(rule)
    for gap in (0.1, 9.0):
        stats = seen(0.0, gap, units=48, stage=48)
        (effect,) = bs.progress.effects(test, stats)
        assert effect.difference == pytest.approx(gap)
        assert (effect.low > 0) == (bs.progress.decision(test, stats) is not None)
        assert effect.guarantee == test.calibration.guarantee


def test_an_end_of_an_effect_has_its_part_of_the_error() -> None:
    stats = seen(0.0, 0.1, 0.2, units=48, stage=48)
    pairs, arms = design(bs.ETC(), 3), design(bs.UCB(2, radius="mixture"), 3)
    assert bs.progress.effects(pairs, stats)[0].error == pytest.approx(0.05 / 2)
    assert bs.progress.effects(arms, stats)[0].error == pytest.approx(2 * 0.05 / 3)


def test_a_test_ends_at_its_cap() -> None:
    names = ["a", "b"]
    for rule, last in ((bs.ETC(), 9), (bs.UCB(2, radius="mixture"), 10)):
        test = bs.Design(names, bs.Recurrent(1, 1), rule, max_units=10, sides=1)
        over = bs.progress.ending(test, seen(0.0, 0.1, units=(last + 1) // 2, stage=last))
        assert over is not None
        assert over.kind == "undecided"
        assert bs.progress.ending(test, seen(0.0, 0.1, units=4, stage=8)) is None


def test_an_arm_can_be_taken_out_by_hand() -> None:
    test = design(bs.UCB(2, radius="mixture"), 3)
    stats = bs.progress.remove_arm(test, seen(0.0, 9.0, 8.9, units=48, stage=48), "arm 1")
    assert isinstance(stats, bs.progress.CohortStatistics)
    assert stats.removed == {1}
    reached = bs.progress.decision(test, stats)
    assert reached is not None
    assert reached.name == "arm 2"
