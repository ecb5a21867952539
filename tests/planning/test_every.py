"""Plans of tests that `bascule steer` runs: figures for periods of constant shares."""

from __future__ import annotations

from typing import Any

import pytest

import bascule as bs
from bascule.core.errors import InputError
from bascule.planning.request.request import PlanRequest

ASKED: dict[str, Any] = {
    "baseline": 0.05,
    "lift": 0.02,
    "units_per_day": 2000,
    "window": "1d",
    "runs": 200,
}


@pytest.mark.slow
def test_a_plan_has_the_figures_of_a_steered_test() -> None:
    plan = bs.plan(every="1d", **ASKED)
    assert plan.steered is not None
    at_lift, at_zero = plan.steered
    assert (at_lift.days == at_lift.days.round()).all()
    # Shares that change once a day cost more than those that change with every block.
    assert plan.expected_cost.mean < at_lift.expected_cost.mean < 1.5 * plan.expected_cost.mean
    assert (at_lift.winners == 1).mean() > 0.8
    assert (at_zero.winners >= 0).mean() < 0.05 + 3.0 * (0.05 * 0.95 / 200) ** 0.5
    assert "steered every 1 day" in str(plan)
    assert plan.to_dict()["steered"]["expected_days"]["mean"] == at_lift.expected_days.mean


def test_without_it_a_plan_has_none() -> None:
    assert PlanRequest(window="1d").every is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": "1d"}, "every needs window"),
        ({"every": "60d", "window": "1d"}, "every must lie between 275 seconds and the 28 days"),
        ({"every": "often", "window": "1d"}, "every must be a duration"),
        ({"every": "1d", "window": "1d", "outcome": bs.Gaussian(1)}, "every is for 0/1 outcomes"),
    ],
)
def test_what_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        PlanRequest(**options)  # type: ignore[arg-type]
