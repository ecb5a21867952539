from __future__ import annotations

import numpy as np
import pytest

import bascule as bs
from bascule.core.progress import block_procedure
from bascule.theory.prediction.block_tests import course_of_blocks
from bascule.theory.prediction.course import Course

RULES = [bs.Tilt(1), bs.Tilt(3), bs.Tilt(10), bs.Tilt(3, 0.2)]


def course(rule: bs.Tilt, gap: float, error: float = 0.05, sigma: float = 1.0) -> Course:
    design = bs.Design(["a", "b"], bs.Gaussian(sigma), rule, error=error, sides=1)
    found = course_of_blocks(design, block_procedure(design), gap)
    assert found is not None
    return found


@pytest.mark.parametrize("rule", RULES)
def test_a_course_leads_from_nothing_to_a_decision(rule: bs.Tilt) -> None:
    found = course(rule, 0.2)
    assert (np.diff(found.times) > 0).all()
    assert (np.diff(found.decided) >= 0).all()
    assert 0 <= found.decided[0] < 0.05
    assert 0.99 < found.decided[-1] <= 1
    assert found.times[0] < found.better + found.worse < found.times[-1]


@pytest.mark.parametrize("rule", RULES)
def test_fewer_tests_are_wrong_than_promised(rule: bs.Tilt) -> None:
    assert 0 < course(rule, 0.02, error=0.1).wrong < 0.1


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.effect is None])
def test_only_the_gap_in_units_of_the_spread_matters(rule: bs.Tilt) -> None:
    one, other = course(rule, 0.2), course(rule, 1.0, sigma=5.0)
    assert [other.better, other.worse] == pytest.approx([one.better, one.worse])


@pytest.mark.parametrize("rule", RULES)
def test_a_smaller_gap_and_a_smaller_error_take_longer(rule: bs.Tilt) -> None:
    base = course(rule, 0.2)
    assert course(rule, 0.18).worse > base.worse
    assert course(rule, 0.2, error=0.04).worse > base.worse


def test_the_knob_trades_regret_against_time() -> None:
    found = [course(bs.Tilt(tilt), 0.3) for tilt in (10, 5, 3, 2, 1)]
    worse = [one.worse for one in found]
    times = [one.worse + one.better for one in found]
    assert worse == sorted(worse)
    assert times == sorted(times, reverse=True)


def test_a_gap_that_nobody_can_find_has_no_course() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.05, sides=1)
    assert course_of_blocks(design, block_procedure(design), 1e-12) is None
