from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import bascule as bs
from bascule.core.procedures.blocks.steps import units_of_leader
from bascule.theory import Prediction, predict
from bascule.theory.prediction.course import (
    LEADS,
    POINTS,
    BlockTest,
    course_along,
    pace_of_blocks,
    shares_of,
    two_arms,
)
from bascule.theory.prediction.passage import GRID, NO_LIMITS, Flat, Line, first_passage

RULES = [bs.Tilt(1), bs.Tilt(3), bs.Tilt(10), bs.Tilt(3, 0.2)]


@pytest.mark.parametrize("tilt", [1.0, 2.5, 10.0])
def test_the_leader_gets_what_the_rule_gives(tilt: float) -> None:
    shares = shares_of(tilt)
    assert [units_of_leader(lead, tilt) for lead in LEADS] == shares.tolist()
    assert shares[-1] == units_of_leader(100.0, tilt)


def test_the_arm_ahead_gets_the_larger_part() -> None:
    units = pace_of_blocks(0.0, 0.75, shares_of(3.0))(np.array([100.0]))[0].T
    assert (units[GRID > 2.5] == [4.0, 4.0 / 3]).all()
    assert (units[GRID < -2.5] == [4.0 / 3, 4.0]).all()
    assert units[np.abs(GRID) < 0.1] == pytest.approx(2.0)
    # Each unit of information takes n m / (n + m) units of both.
    better, worse = units.T
    assert better * worse / (better + worse) == pytest.approx(1.0)


def test_a_block_goes_by_the_lead_before_it() -> None:
    at = np.array([4.0])
    early = pace_of_blocks(1.0, 8.0, shares_of(3.0))(at)
    assert early == pytest.approx(pace_of_blocks(0.0, 8.0, shares_of(3.0))(at))


def test_a_smaller_lead_is_seen_where_the_scale_is_smaller() -> None:
    full, half = (
        pace_of_blocks(0.1, 0.75, shares_of(10.0), scale)(np.array([100.0]))[0, 0].sum()
        for scale in (1.0, 0.5)
    )
    assert full > half


def in_blocks(gap: float, line: Line, tilt: float, batch: int) -> Prediction | None:
    return two_arms(BlockTest((gap,), line, shares_of(tilt), batch, NO_LIMITS, stride=1.0))


def test_a_test_that_the_first_block_ends_takes_that_block() -> None:
    expected = in_blocks(50.0, Flat(5.0), 3.0, 4)
    assert expected is not None
    assert expected.units == pytest.approx((4.0, 4.0))


def test_an_even_split_takes_four_units_for_each_unit_of_information() -> None:
    def line(clocks: np.ndarray) -> np.ndarray:
        return np.asarray(3 * np.sqrt(clocks + 5))

    passage = first_passage(0.1, line, 0.5, 0.5)
    expected = in_blocks(0.1, line, 1.0, 1)
    assert expected is not None
    clock = float(passage.middles @ passage.leaving)
    assert expected.units[0] == pytest.approx(expected.units[1])
    assert expected.decision_time == pytest.approx(4 * clock + 1, rel=1e-3)


def test_a_test_without_an_end_has_no_prediction() -> None:
    assert in_blocks(0.1, lambda clocks: 10 + 0.2 * clocks, 1.0, 1) is None


def test_decisions_add_up_in_the_order_of_their_times() -> None:
    generator = np.random.default_rng(0)
    times, chances = generator.uniform(0, 100, 5000), generator.dirichlet(np.ones(5000))
    course = course_along(times, chances)
    assert len(course) <= POINTS + 1
    found, decided = zip(*course, strict=True)
    assert all(early <= late for early, late in pairwise(found))
    assert all(early <= late for early, late in pairwise(decided))
    assert decided[-1] == pytest.approx(1.0)
    middle = float(np.interp(0.5, decided, found))
    assert chances[times <= middle].sum() == pytest.approx(0.5, abs=0.01)


def expected(rule: bs.Tilt, gap: float, error: float = 0.05, sigma: float = 1.0) -> Prediction:
    return predict(bs.Design(["a", "b"], bs.Gaussian(sigma), rule, error=error, sides=1), gap)


@pytest.mark.parametrize("rule", RULES)
def test_a_course_leads_from_nothing_to_a_decision(rule: bs.Tilt) -> None:
    found = expected(rule, 0.2)
    times, decided = zip(*found.course, strict=True)
    assert all(early <= late for early, late in pairwise(times))
    assert all(early <= late for early, late in pairwise(decided))
    assert 0 <= decided[0] < 0.05
    assert 0.99 < decided[-1] <= 1
    assert times[0] < found.decision_time < times[-1]


@pytest.mark.parametrize("rule", RULES)
def test_fewer_tests_are_wrong_than_promised(rule: bs.Tilt) -> None:
    assert 0 < expected(rule, 0.02, error=0.1).wrong < 0.1


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.effect is None])
def test_only_the_gap_in_units_of_the_spread_matters(rule: bs.Tilt) -> None:
    assert expected(rule, 1.0, sigma=5.0).units == pytest.approx(expected(rule, 0.2).units)


@pytest.mark.parametrize("rule", RULES)
def test_a_smaller_gap_and_a_smaller_error_take_longer(rule: bs.Tilt) -> None:
    worse = expected(rule, 0.2).units[1]
    assert expected(rule, 0.18).units[1] > worse
    assert expected(rule, 0.2, error=0.04).units[1] > worse


def test_the_knob_trades_regret_against_time() -> None:
    found = [expected(bs.Tilt(tilt), 0.3) for tilt in (10, 5, 3, 2, 1)]
    regrets, times = [one.regret for one in found], [one.decision_time for one in found]
    assert regrets == sorted(regrets)
    assert times == sorted(times, reverse=True)


def test_a_gap_that_nobody_can_find_takes_for_ever() -> None:
    assert expected(bs.Tilt(3), 1e-12).decision_time == math.inf
