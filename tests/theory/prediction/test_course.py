from __future__ import annotations

import numpy as np
import pytest

from bascule.core.procedures.blocks.steps import units_of_leader
from bascule.core.types import FloatArray
from bascule.theory.prediction.course import (
    LEADS,
    POINTS,
    course_in_blocks,
    decided_along,
    pace_of_blocks,
    shares_of,
)
from bascule.theory.prediction.passage import GRID, Flat, first_passage


def gaussian_sizes(leader: FloatArray) -> tuple[FloatArray, FloatArray]:
    return 1 + leader, 1 + 1 / leader


@pytest.mark.parametrize("tilt", [1.0, 2.5, 10.0])
def test_the_leader_gets_what_the_rule_gives(tilt: float) -> None:
    shares = shares_of(tilt)
    assert [units_of_leader(lead, tilt) for lead in LEADS] == shares.tolist()
    assert shares[-1] == units_of_leader(100.0, tilt)


def test_the_arm_ahead_gets_the_larger_part() -> None:
    units = pace_of_blocks(0.0, 0.75, shares_of(3.0), gaussian_sizes)(np.array([100.0]))[0].T
    assert (units[GRID > 2.5] == [4.0, 4.0 / 3]).all()
    assert (units[GRID < -2.5] == [4.0 / 3, 4.0]).all()
    assert units[np.abs(GRID) < 0.1] == pytest.approx(2.0)
    # Each unit of information takes n m / (n + m) units of both.
    better, worse = units.T
    assert better * worse / (better + worse) == pytest.approx(1.0)


def test_a_block_goes_by_the_lead_before_it() -> None:
    early = pace_of_blocks(1.0, 8.0, shares_of(3.0), gaussian_sizes)(np.array([4.0]))[0].T
    assert early == pytest.approx(
        pace_of_blocks(0.0, 8.0, shares_of(3.0), gaussian_sizes)(np.array([4.0]))[0].T
    )


def test_a_smaller_lead_is_seen_where_the_scale_is_smaller() -> None:
    full = pace_of_blocks(0.1, 0.75, shares_of(10.0), gaussian_sizes)(np.array([100.0]))[0].T
    half = pace_of_blocks(0.1, 0.75, shares_of(10.0), gaussian_sizes, 0.5)(np.array([100.0]))[0].T
    assert full[:, 0].sum() > half[:, 0].sum()


def test_a_test_that_the_first_block_ends_takes_that_block() -> None:
    pace = pace_of_blocks(50.0, 0.75, shares_of(3.0), gaussian_sizes)
    course = course_in_blocks(first_passage(50.0, Flat(5.0), 2.0, 3.0, pace), 3.0, 4)
    assert course is not None
    assert [course.better, course.worse] == pytest.approx([4.0, 4.0])


def test_an_even_split_takes_four_units_for_each_unit_of_information() -> None:
    pace = pace_of_blocks(0.1, 0.5, shares_of(1.0), gaussian_sizes)
    passage = first_passage(0.1, lambda clocks: 3 * np.sqrt(clocks + 5), 0.5, 0.5, pace)
    course = course_in_blocks(passage, 1.0, 1)
    assert course is not None
    clock = float(passage.middles @ passage.leaving)
    assert course.better == pytest.approx(course.worse)
    assert course.better + course.worse == pytest.approx(4 * clock + 1, rel=1e-3)
    assert (np.diff(course.times) > 0).all()
    assert (np.diff(course.decided) >= 0).all()


def test_a_test_without_an_end_has_no_course() -> None:
    pace = pace_of_blocks(0.1, 0.5, shares_of(1.0), gaussian_sizes)
    endless = first_passage(0.1, lambda clocks: 10 + 0.2 * clocks, 0.5, 0.5, pace)
    assert course_in_blocks(endless, 1.0, 1) is None


def test_decisions_add_up_in_the_order_of_their_times() -> None:
    generator = np.random.default_rng(0)
    times, chances = generator.uniform(0, 100, 5000), generator.dirichlet(np.ones(5000))
    found, decided = decided_along(times, chances)
    assert len(found) <= POINTS
    assert (np.diff(found) > 0).all()
    assert ((decided > 0) & (decided < 1)).all()
    middle = float(np.interp(0.5, decided, found))
    assert chances[times <= middle].sum() == pytest.approx(0.5, abs=0.01)
