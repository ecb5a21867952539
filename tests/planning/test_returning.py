"""Users who come back: who has come by when, how much they differ, and what windows count."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.planning.request.arrivals import Returning
from bascule.planning.rollout_result import rollout_steps, traffic_of
from bascule.planning.search.stages import stages
from bascule.planning.segments import of_smallest

CROWD = Returning(3000, 16_000)
EVEN = [("0d", 0.5)]


def quality(window: str) -> bs.Metric:
    return bs.Metric("quality", bs.Ratio(), margin=0.02, baseline=0.82, measure=bs.Measure(window))


def test_users_and_their_spread_are_those_of_drawn_requests() -> None:
    rng, users, days = np.random.default_rng(3), 200_000, 3.0
    activity = rng.exponential(CROWD.a_day, users)
    come = float((rng.poisson(activity * days) > 0).mean())
    assert abs(CROWD.come(days) / CROWD.users - come) < 4.0 * (come * (1.0 - come) / users) ** 0.5
    requests = 1 + rng.poisson(activity * days)
    between = (CROWD.alike * 0.82 * 0.18) ** 0.5
    good = rng.binomial(requests, 0.82 + between * rng.choice((-1.0, 1.0), users))
    scores = (good - 0.82 * requests) / requests.mean()
    # Four standard errors of the standard deviation of scores with heavy tails.
    assert CROWD.spread(0.82, days) == pytest.approx(scores.std(), rel=0.02)


def test_a_schedule_enrols_no_more_than_there_are_and_days_invert_it() -> None:
    steps = traffic_of(rollout_steps([("0d", 0.05), ("2d", 0.5)]), 2)
    assert CROWD.units_after(steps, np.array(1e9)) == pytest.approx(3000.0)
    assert CROWD.units_after(steps, np.array(2.0)) == pytest.approx(0.1 * CROWD.come(2.0))
    *days, never = CROWD.days_until(steps, np.array([10.0, 280.0, 2500.0, 3000.0]))
    for day, units in zip(days, (10.0, 280.0, 2500.0), strict=True):
        assert CROWD.units_after(steps, day) == pytest.approx(units)
    assert never == float("inf")


def test_a_longer_window_ships_more_often_and_later() -> None:
    short, long = (
        bs.plan_rollout([quality(window)], EVEN, CROWD, runs=200) for window in ("1d", "7d")
    )
    assert short.cases[0].shipped < 0.7 < 0.8 < long.cases[0].shipped
    assert long.cases[0].median_days >= 7.0
    assert short.design.max_units is not None
    assert short.design.max_units < 3000
    text = repr(short)
    assert "3,000 active users who make 16,000 requests a day, 5.33 each" in text
    assert "2,526 of the users come on the first day, and 2,980 by day 28" in text
    assert ("1 d", "6.33", "4 %", "3,466", "-") in short.report().tables[1].rows
    assert short.to_dict()["requests_per_day"] == 16_000


def test_a_plan_says_when_all_users_are_enrolled_and_that_they_are_too_few() -> None:
    """A longer deadline does not help; a larger lift, a longer window or more users do."""
    asked: dict[str, Any] = {"window": "1d", "guarantee": "asymptotic", "deadline_days": 14}
    few, many = (
        bs.PlanRequest(bs.Ratio(), 0.6, 0.1, units_per_day=Returning(*crowd, 0.02), **asked)
        for crowd in ((150, 300), (1500, 3000))
    )
    assert (few.max_units, many.max_units) == (144, 1444)
    assert few.outcome.variance(0.6) == many.outcome.variance(0.6)
    possible = next(stages(many, threads=1))
    assert possible.possible
    assert 1.0 < possible.expected_days.mean < possible.chosen.forecast.p90_days < 2.0
    plan = next(stages(few, threads=1))
    assert not plan.possible
    assert plan.reach.deadline_days is None
    assert isinstance(plan.reach.units_per_day, Returning)
    assert 150 < plan.reach.units_per_day.users < 1500
    text = repr(plan)
    assert "90 % of the 150 users who can be enrolled have come after 4.5 days" in text
    assert "There are too few users for this lift, however long the test runs" in text
    assert "active users who make" in text
    assert "Windows of other lengths" in text
    data = plan.to_dict()
    assert (data["request"]["units_per_day"]["users"], data["nearest"]["deadline_days"]) == (
        150,
        None,
    )
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    half = of_smallest(many, {"web": 0.5, "app": 0.5})
    assert half.units_per_day == Returning(750, 1500, 0.02)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"outcome": bs.Ratio(), "window": None}, "the primary metric has no window"),
        ({"outcome": bs.Recurrent(1, 1), "window": None}, "use Ratio\\(\\) with a window"),
        ({"delay": "1h"}, "delay does not go with users who come back"),
        ({"units_per_day": Returning(3, 10)}, "2 arms need 6 enrolled users"),
    ],
)
def test_what_a_plan_for_users_who_come_back_refuses(parts: dict[str, Any], message: str) -> None:
    asked: dict[str, Any] = {"baseline": 0.6, "lift": 0.1, "window": "1d", "units_per_day": CROWD}
    with pytest.raises(bs.InputError, match=message):
        bs.PlanRequest(**(asked | parts))


def test_days_of_a_rollout_have_its_window() -> None:
    latency = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=6)
    week = bs.Metric(
        *("latency", bs.Gaussian(30), "decrease", "guardrail", 6.0),
        measure=bs.Measure("7d", "mean", "zero"),
    )
    plain, later = (bs.plan_rollout([one], EVEN, 1000) for one in (latency, week))
    assert later.cases[0].median_days == pytest.approx(plain.cases[0].median_days + 7.0, abs=0.5)
    with pytest.raises(bs.InputError, match=r"must be longer than the longest window \(7 days\)"):
        bs.plan_rollout([week], EVEN, 1000, deadline_days=7)


def test_what_returning_users_need_is_said() -> None:
    with pytest.raises(bs.InputError, match="must be a share between 0 and 1"):
        bs.plan_rollout(
            [bs.Metric("cost", bs.Ratio(), margin=1, measure=bs.Measure("1d"))], EVEN, CROWD
        )
    with pytest.raises(bs.InputError, match="has no window, and users who come back need one"):
        bs.plan_rollout([bs.Metric("q", bs.Ratio(), margin=0.1, baseline=0.5)], EVEN, CROWD)
    with pytest.raises(bs.InputError, match="alike must lie between 0 and 1"):
        Returning(10, 10, 2.0)
