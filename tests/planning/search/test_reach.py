"""How far request can be stretched, and what would make impossible ones possible."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.planning.playing import played

import bascule as bs
from bascule.planning.forecast import design_of
from bascule.planning.search.alternatives import reach, time_needed
from bascule.planning.search.candidates import soonest

EASY = bs.PlanRequest(bs.Gaussian(1), 0, 0.5, units_per_day=20)
HARD = bs.PlanRequest(bs.Gaussian(1), 0, 0.2, units_per_day=20, deadline_days=10)


def decided(request: bs.PlanRequest) -> float:
    return played(request, design_of(request, soonest(request)), 1000, seed=3)[0].decided.mean


@pytest.mark.parametrize("question", [EASY, HARD])
def test_each_stretched_wish_is_met_with_probability_nine_tenths(question: bs.PlanRequest) -> None:
    found = reach(question)
    assert found.lift is not None
    assert found.deadline_days is not None
    assert found.units_per_day is not None
    nearest = question.scaled(found.lift / question.gap)
    assert nearest is not None
    assert decided(nearest) == pytest.approx(0.9, abs=0.04)
    later = replace(question, deadline_days=found.deadline_days)
    assert decided(later) == pytest.approx(0.9, abs=0.04)
    busier = replace(question, units_per_day=found.units_per_day)
    assert decided(busier) == pytest.approx(0.9, abs=0.04)


def test_a_deadline_that_just_suffices_is_the_limit_of_lifts_of_several_arms() -> None:
    # Times come in whole blocks: here the next step takes exactly as long as the first.
    found = reach(bs.PlanRequest(lift=["20%", "10%"]))
    assert found.lift == pytest.approx(0.005, rel=0.02)
    assert found.deadline_days == pytest.approx(28.0, rel=0.02)


def test_a_lift_that_has_no_room_is_not_proposed() -> None:
    crowded = bs.PlanRequest(baseline=0.97, lift=0.02, units_per_day=5, deadline_days=5)
    assert reach(crowded).lift is None


def test_more_arms_need_more_time() -> None:
    assert time_needed(replace(EASY, lift=0.5, arms=4)) > 2 * time_needed(EASY)
