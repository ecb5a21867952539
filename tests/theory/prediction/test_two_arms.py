from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.theory.prediction.course import Course
from bascule.theory.prediction.two_arms import course_of_blocks, course_of_intervals

RULES = [
    bs.Tilt(1),
    bs.Tilt(3),
    bs.Tilt(10),
    bs.Tilt(3, 0.2),
    bs.UCB(1.5),
    bs.UCB(8),
    bs.ETC(),
    bs.UCB(2, radius="mixture"),
    bs.UCB(2, stop="mixture"),
    bs.ETC(stop="mixture"),
]


def course_of(design: bs.Design, gap: float, noise: float | None = None) -> Course | None:
    procedure: Any = design.procedure
    if procedure.kind == "blocks":
        return course_of_blocks(design, procedure, gap)
    return course_of_intervals(design, procedure, gap, noise)


def course(rule: object, gap: float, error: float = 0.05, sigma: float = 1.0) -> Course:
    design = bs.Design(["a", "b"], bs.Gaussian(sigma), rule, error=error, sides=1)  # type: ignore[arg-type]
    found = course_of(design, gap)
    assert found is not None
    return found


@pytest.mark.parametrize("rule", RULES)
def test_a_course_leads_from_nothing_to_a_decision(rule: object) -> None:
    found = course(rule, 0.2)
    assert (np.diff(found.times) > 0).all()
    assert (np.diff(found.decided) >= 0).all()
    assert 0 <= found.decided[0] < 0.05
    assert 0.99 < found.decided[-1] <= 1
    assert found.times[0] < found.better + found.worse < found.times[-1]


@pytest.mark.parametrize("rule", RULES)
def test_fewer_tests_are_wrong_than_promised(rule: object) -> None:
    assert 0 < course(rule, 0.02, error=0.1).wrong < 0.1


@pytest.mark.parametrize("rule", [rule for rule in RULES if getattr(rule, "effect", None) is None])
def test_only_the_gap_in_units_of_the_spread_matters(rule: object) -> None:
    one, other = course(rule, 0.2), course(rule, 1.0, sigma=5.0)
    assert [other.better, other.worse] == pytest.approx([one.better, one.worse])


@pytest.mark.parametrize("rule", RULES)
def test_a_smaller_gap_and_a_smaller_error_take_longer(rule: object) -> None:
    base = course(rule, 0.2)
    assert course(rule, 0.18).worse > base.worse
    assert course(rule, 0.2, error=0.04).worse > base.worse


def test_the_knobs_trade_regret_against_time() -> None:
    for rules in (
        [bs.UCB(a) for a in (1.2, 1.5, 2, 4, 32)],
        [bs.Tilt(r) for r in (10, 5, 3, 2, 1)],
    ):
        found = [course(rule, 0.3) for rule in rules]
        worse = [one.worse for one in found]
        times = [one.worse + one.better for one in found]
        assert worse == sorted(worse)
        assert times == sorted(times, reverse=True)


def test_less_noise_than_the_rule_expects_takes_the_walk_straight() -> None:
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.UCB(2), error=0.05, sides=1)
    calm, worst = course_of(design, 0.05, noise=0.001), course_of(design, 0.05)
    assert calm is not None
    assert worst is not None
    # Without noise the mean path is all there is.
    path = bs.theory.mean_path(design, 0.05)
    assert calm.worse == pytest.approx(path.units[1], rel=0.02)
    assert calm.better == pytest.approx(path.units[0], rel=0.03)
    assert worst.better < calm.better


@pytest.mark.parametrize("rule", [bs.UCB(2), bs.ETC(), bs.UCB(2, stop="mixture")])
def test_a_gap_that_nobody_can_miss_takes_the_first_units(rule: object) -> None:
    found = course(rule, 50.0)
    assert [found.better, found.worse] == pytest.approx([3, 3])


def test_a_gap_that_nobody_can_find_has_no_course() -> None:
    for rule in (bs.Tilt(3), bs.UCB(2), bs.ETC(stop="mixture")):
        design = bs.Design(["a", "b"], bs.Gaussian(1), rule, error=0.05, sides=1)
        assert course_of(design, 1e-12) is None
    assert (
        course_of(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(1), max_units=9, sides=1), 1.0)
        is None
    )


def test_infinite_alpha_is_an_even_split() -> None:
    even, prime = course(bs.UCB(math.inf), 0.3), course(bs.ETCPrime(), 0.3)
    assert [even.better, even.worse] == pytest.approx([prime.better, prime.worse])
    assert even.better == pytest.approx(even.worse)
