"""Intervals, next arm and decision as a live test would ask for them."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import bascule as bs
from bascule.core.progress import (
    decision,
    interval_procedure,
    intervals,
    next_arm,
    record,
)

RULES = (bs.UCB(2), bs.UCB(math.inf), bs.ETC(), bs.ETCPrime())
ARM = st.tuples(st.integers(3, 500), st.floats(-3, 3))


def design(rule: object, arms: int = 2, sigma: float = 1.0) -> bs.Design:
    names = [f"arm {i}" for i in range(arms)]
    return bs.Design(names, bs.Gaussian(sigma), rule, error=0.05, sides=1)  # type: ignore[arg-type]


def after(*arms: tuple[int, float]) -> bs.progress.Statistics:
    return bs.progress.Statistics(
        tuple(bs.progress.ArmStatistics(units, units * mean) for units, mean in arms)
    )


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("arms", [2, 4, 12])
def test_each_arm_starts_with_three_units(rule: object, arms: int) -> None:
    test, seen = design(rule, arms), bs.progress.Statistics.empty(arms)
    for _ in range(3 * arms):
        assert decision(test, seen) is None
        seen = record(test, seen, next_arm(test, seen), 0.0)
    assert [arm.units for arm in seen.arms] == [3] * arms


def test_ucb_pulls_the_highest_index() -> None:
    test, seen = design(bs.UCB(2)), after((100, 0.0), (50, 0.1))
    indices = [i.mean + 2 * i.radius for i in intervals(test, seen)]
    assert next_arm(test, seen) == indices.index(max(indices)) == 1


def test_etc_pulls_the_arm_with_fewest_units() -> None:
    assert next_arm(design(bs.ETC()), after((8, 5.0), (7, 0.0))) == 1


def test_the_decision_carries_its_guarantee() -> None:
    reached = decision(design(bs.UCB(2)), after((100, 0.0), (100, 1.0)))
    assert reached == bs.progress.Decision(arm=1, name="arm 1", error=0.05, guarantee="proven")


@given(ARM, ARM)
def test_a_decision_means_that_the_intervals_shown_have_parted(
    a: tuple[int, float], b: tuple[int, float]
) -> None:
    test, seen = design(bs.UCB(2)), after(a, b)
    reached = decision(test, seen)
    first, second = intervals(test, seen)
    apart = first.low > second.high or second.low > first.high
    assert (reached is not None) == apart


@pytest.mark.parametrize(("rule", "factor", "count"), [(bs.ETC(), 4, 1), (bs.ETCPrime(), 8, 3)])
@given(n=st.integers(3, 5000), difference=st.floats(0, 3), delta=st.floats(1e-6, 0.3))
def test_even_rules_stop_at_the_papers_threshold(
    rule: object, factor: float, count: float, n: int, difference: float, delta: float
) -> None:
    test = bs.Design(["a", "b"], bs.Gaussian(1), rule, delta=delta)  # type: ignore[arg-type]
    threshold = math.sqrt(factor / n * math.log(count * math.log(n) ** 2 / delta))
    assume(abs(difference - threshold) > 1e-9)
    reached = decision(test, after((n, 0.0), (n, difference)))
    assert (reached is not None) == (difference > threshold)


@pytest.mark.parametrize("rule", [bs.ETC(), bs.ETCPrime(), bs.UCB(math.inf)])
def test_even_rules_wait_for_the_end_of_a_round(rule: object) -> None:
    assert decision(design(rule), after((51, 0.0), (50, 9.0))) is None
    assert decision(design(rule), after((51, 0.0), (51, 9.0))) is not None


def test_etc_drops_beaten_arms_and_goes_on_with_the_others() -> None:
    test = design(bs.ETC(), arms=3)
    seen = record(test, after((200, 1.0), (200, 0.9), (199, -1.0)), 2, -1.0)
    assert seen.dropped == {2}
    assert decision(test, seen) is None
    for _ in range(6):
        arm = next_arm(test, seen)
        assert arm != 2
        seen = record(test, seen, arm, 1.0 if arm == 0 else 0.9)
    assert [arm.units for arm in seen.arms] == [203, 203, 200]


def test_etc_for_three_arms_drops_at_the_papers_threshold() -> None:
    test, n = design(bs.ETC(), arms=3), 100
    delta = test.calibration.delta
    threshold = math.sqrt(8 / n * math.log(9 * math.log(n) ** 2 / delta))
    for factor, out in ((0.999, set()), (1.001, {2})):
        before = after((n, 1.0), (n, 1.0), (n - 1, 1.0 - factor * threshold))
        assert record(test, before, 2, 1.0 - factor * threshold).dropped == out


@pytest.mark.parametrize("arms", [2, 5, 12])
def test_ucb_has_the_papers_radius_for_any_number_of_arms(arms: int) -> None:
    test = design(bs.UCB(2), arms, sigma=3.0)
    delta = test.calibration.delta
    expected = 3 * math.sqrt(2 / 70 * math.log(1.5 * arms * math.log(70) ** 2 / delta))
    assert interval_procedure(test).radius_of(bs.progress.ArmStatistics(70)) == pytest.approx(
        expected
    )


def test_alpha_infinity_is_etc_prime() -> None:
    limit, prime = design(bs.UCB(math.inf)), design(bs.ETCPrime())
    seen = after((40, 0.2), (39, 0.9))
    assert next_arm(limit, seen) == next_arm(prime, seen) == 1
    assert intervals(limit, seen) == intervals(prime, seen)
    assert limit.calibration == prime.calibration


@given(ARM, ARM, st.sampled_from([-2.0, 0.5, 4.0]))
def test_shifting_every_mean_changes_nothing(
    a: tuple[int, float], b: tuple[int, float], shift: float
) -> None:
    test = design(bs.UCB(2))
    indices = [i.mean + 2 * i.radius for i in intervals(test, after(a, b))]
    assume(abs(indices[0] - indices[1]) > 1e-9)
    moved = after((a[0], a[1] + shift), (b[0], b[1] + shift))
    assert next_arm(test, moved) == next_arm(test, after(a, b))
    ends = [(i.low, i.high) for i in intervals(test, after(a, b))]
    assume(min(abs(ends[0][0] - ends[1][1]), abs(ends[1][0] - ends[0][1])) > 1e-9)
    assert (decision(test, moved) is None) == (decision(test, after(a, b)) is None)


@given(ARM, ARM, st.sampled_from([0.25, 2.0, 1024.0]))
def test_scaling_means_with_sigma_changes_nothing(
    a: tuple[int, float], b: tuple[int, float], scale: float
) -> None:
    # Powers of two, so that not even a rounding differs.
    small, large = design(bs.UCB(2)), design(bs.UCB(2), sigma=scale)
    grown = after((a[0], a[1] * scale), (b[0], b[1] * scale))
    assert next_arm(large, grown) == next_arm(small, after(a, b))
    assert decision(large, grown) == decision(small, after(a, b))


@given(st.lists(ARM, min_size=3, max_size=12, unique=True), st.randoms(use_true_random=False))
def test_permuting_the_arms_permutes_the_answer(arms: list[tuple[int, float]], rng: Random) -> None:
    order = list(range(len(arms)))
    rng.shuffle(order)
    test = design(bs.UCB(2), len(arms))
    indices = [i.mean + 2 * i.radius for i in intervals(test, after(*arms))]
    assume(sorted(indices)[-1] > sorted(indices)[-2])
    moved = after(*(arms[i] for i in order))
    assert order[next_arm(test, moved)] == next_arm(test, after(*arms))
