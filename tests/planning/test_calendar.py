"""Minimum duration and whole weeks in plans: what is predicted is what tests show."""

from __future__ import annotations

from typing import Any

import pytest

import bascule as bs
from bascule.planning.forecast import design_of, forecast_of, played_design, predicted
from bascule.planning.search.fixed_horizon import fixed_horizon
from bascule.planning.search.stages import stages
from bascule.presentation.plan.question import conditions

RUNS = 400


def request(**parts: Any) -> bs.PlanRequest:
    """Normal outcomes with a lift of a fifth of their spread, 60 units a day."""
    return bs.PlanRequest(bs.Gaussian(1), 0.0, 0.2, units_per_day=60, deadline_days=56, **parts)


@pytest.mark.slow
@pytest.mark.parametrize(
    "calendar", [{"min_days": 14.0}, {"whole_weeks": True}, {"whole_weeks": True, "window": "3d"}]
)
def test_days_and_cost_are_predicted_as_they_are_played(calendar: dict[str, Any]) -> None:
    asked, rule = request(**calendar), bs.Tilt(3, effect=0.2, power=0.9)
    design = played_design(asked, design_of(asked, rule))
    result = bs.simulate(design, runs=RUNS, seed=3, world=asked.world, threads=1)
    seen, expected = forecast_of(result, asked), predicted(asked, rule)
    assert expected is not None
    assert expected.days.mean == pytest.approx(seen.days.mean, rel=0.05, abs=3 * seen.days.se)
    assert expected.cost.mean == pytest.approx(seen.cost.mean, rel=0.1, abs=3 * seen.cost.se)
    assert seen.days.mean > (14 if "min_days" in calendar else 10)
    if calendar.get("whole_weeks"):
        decided = result.decision_time[result.winner >= 0]
        assert set(decided % (7 * 60)) == {0}


def test_a_plan_has_the_calendar_in_its_design_and_its_words() -> None:
    asked = request(min_days="10", whole_weeks=True)
    plan = next(stages(asked, threads=1))
    assert (plan.design.min_days, plan.design.whole_weeks) == (10.0, True)
    assert "the test lasts at least 10 days and whole weeks" in conditions(asked)
    assert plan.request.to_dict()["whole_weeks"] is True
    assert fixed_horizon(asked).days % 7 == 0
    assert all(point.rule.label.startswith("Tilt") for point in plan.points)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"min_days": 60}, r"min_days \(60\) must be at most deadline_days \(56\)"),
        ({"min_days": 0}, "min_days must be above 0"),
    ],
)
def test_a_calendar_that_does_not_fit_is_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(bs.InputError, match=message):
        request(**parts)


def test_whole_weeks_need_a_deadline_of_whole_weeks() -> None:
    with pytest.raises(bs.InputError, match="deadline_days must be whole weeks"):
        bs.PlanRequest(whole_weeks=True, deadline_days=30)
    with pytest.raises(bs.InputError, match="min_days does not go with recurring"):
        bs.PlanRequest(bs.Recurrent(1, 1), 0, 1, min_days=3)
