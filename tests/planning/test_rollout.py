"""Plans of guarded rollouts: what is stated holds in them, and they agree with simulated tests."""

from __future__ import annotations

import math
from typing import Any

import pytest

import bascule as bs

pytestmark = pytest.mark.slow

LATENCY = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=6)
SCORE = bs.Metric("score", bs.Gaussian(1), margin=0.1)
RAMP = [("0d", 0.01), ("1d", 0.1), ("3d", 0.5)]
RUNS = 400


@pytest.fixture(scope="module")
def plan() -> bs.planning.Rollout:
    return bs.plan_rollout([LATENCY, SCORE], RAMP, 10_000, deadline_days=9, runs=RUNS, seed=2)


def test_stated_errors_hold_over_the_whole_ramp(plan: bs.planning.Rollout) -> None:
    allowed = 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / RUNS)
    for case in plan.cases:
        if "at its margin" in case.name:
            assert case.shipped <= allowed
            assert case.rolled_back <= allowed
    unchanged = plan.cases[0]
    assert unchanged.rolled_back <= allowed
    assert unchanged.shipped > 0.95


def test_a_harmful_version_is_rolled_back_before_many_users_meet_it(
    plan: bs.planning.Rollout,
) -> None:
    harmed = next(case for case in plan.cases if case.name == "latency worse by twice its margin")
    assert harmed.rolled_back > 0.99
    # Half of all users would have been 5,000 a day.
    assert harmed.exposed < 2000
    assert harmed.median_days <= harmed.p90_days


def test_users_who_come_while_windows_are_open_meet_the_new_version_too() -> None:
    week = bs.Measure("7d")
    latency = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=3, measure=week)
    plan = bs.plan_rollout([latency], [("0d", 0.5)], 1000, deadline_days=28, runs=200)
    harmed = plan.cases[-1]
    assert harmed.median_days > 7.0
    assert harmed.exposed == pytest.approx(500 * harmed.median_days, rel=0.2)


def test_days_are_shown_where_most_rollouts_end(plan: bs.planning.Rollout) -> None:
    cases = {case.name: case for case in plan.cases}
    days = {name: days for name, *_, days, _ in plan.report().tables[0].rows}
    ended = cases["unchanged"]
    assert days["unchanged"] == f"{ended.median_days:.2g}"
    few = cases["latency at its margin"]
    assert 0.0 < few.shipped + few.rolled_back < 0.5
    assert not math.isnan(few.median_days)
    assert days["latency at its margin"] == "-"
    assert "Days: the median of the rollouts that ended by the deadline" in repr(plan)


def test_the_users_that_non_inferiority_takes_are_those_of_unchanged_rollouts() -> None:
    plan = bs.plan_rollout([SCORE], [("0d", 0.5)], 1000, runs=400)
    needed = plan.users_needed["score"]
    assert needed is not None
    # The new version has half of the users until the end; the mean is rather too large.
    assert 0.75 < 2.0 * plan.cases[0].exposed / needed < 1.05
    assert "within its margin on score takes about" in repr(plan)
    assert plan.to_dict()["users_needed"] == {"score": needed}


def test_the_number_of_rollouts_follows_from_the_units() -> None:
    few, many = (
        bs.plan_rollout([SCORE], [("0d", 0.5)], daily, deadline_days=5) for daily in (100, 5000)
    )
    assert (few.runs, 100 <= many.runs < 1000) == (1000, True)


def test_cases_stay_within_the_limits_of_outcomes() -> None:
    # Where the baseline is nearer to a limit than the margin, an arm cannot be so much worse.
    metric = bs.Metric("bought", bs.Bernoulli(), margin=0.3, baseline=0.25)
    plan = bs.plan_rollout([metric], [("0d", 0.5)], 100, runs=20, deadline_days=2)
    assert [case.name for case in plan.cases] == [
        "unchanged",
        "bought worse by 0.25, the largest possible loss",
    ]
    assert "20 simulated rollouts of each kind" in repr(plan)


def test_days_of_a_rollout_have_its_window() -> None:
    latency = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=6)
    week = bs.Metric(
        *("latency", bs.Gaussian(30), "decrease", "guardrail", 6.0),
        measure=bs.Measure("7d", "mean", "zero"),
    )
    even = [("0d", 0.5)]
    plain, later = (bs.plan_rollout([one], even, 1000, runs=200) for one in (latency, week))
    assert later.cases[0].median_days == pytest.approx(plain.cases[0].median_days + 7.0, abs=0.5)
    with pytest.raises(bs.InputError, match=r"must be longer than the longest window \(7 days\)"):
        bs.plan_rollout([week], even, 1000, deadline_days=7)


def test_who_gets_in_has_a_new_version_or_is_compared(plan: bs.planning.Rollout) -> None:
    assert plan.audience == {"ramp": [[0.0, 0.02], [86400.0, 0.2], [3 * 86400.0, 1.0]]}
    three = bs.plan_rollout([SCORE], [("0d", 0.1), ("1d", 0.667)], 50, arms=3, runs=5)
    assert three.design.arms == ("present", "new-1", "new-2")
    # A tenth has a new version, half as many the present one; then everyone is in the test.
    assert three.audience == {"ramp": [[0.0, 0.15], [86400.0, 1.0]]}
    assert "10 % after 0 d (15 % in the test), 66.7 % after 1 d (100 % in the test)" in repr(three)
    assert plan.design.decides == "guardrails"
    assert plan.to_dict()["cases"]["unchanged"]["shipped"] > 0.95
    assert "rolled back with probability at most 5 %" in repr(plan)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ramp": [("0d", 0.9)]}, "2 arms must be above 0 and at most 0.5"),
        ({"ramp": [("0d", 0.7)], "arms": 3}, "3 arms must be above 0 and at most 0.667"),
        ({"ramp": [("1d", 0.1)]}, "begin at 0"),
        ({"ramp": [("0d", 0.2), ("1d", 0.1)]}, "shares that never fall"),
        ({"ramp": "1%"}, "list of pairs"),
        ({"metrics": []}, "at least one guardrail"),
        ({"metrics": [bs.Metric("x", bs.Bernoulli(), margin=0.1)]}, "baseline of x is missing"),
        (
            {"metrics": [bs.Metric("x", bs.Numeric(), margin=1, baseline=30)]},
            "guardrail x: spread is missing",
        ),
        (
            {"metrics": [bs.Metric("x", bs.Ratio(0.1, 20), margin=0.01, baseline=0.1)]},
            "guardrail x: spread is missing",
        ),
    ],
    ids=str,
)
def test_rollouts_that_make_no_sense_are_refused(changes: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"metrics": [LATENCY], "ramp": RAMP, "units_per_day": 100.0, **changes}
    with pytest.raises(bs.InputError, match=words):
        bs.plan_rollout(**given)


def test_a_rollout_needs_a_guardrail() -> None:
    with pytest.raises(bs.InputError, match="needs at least one guardrail"):
        bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(1), decides="guardrails")


def test_a_primary_metric_that_could_not_run_live_is_refused_before_the_simulation() -> None:
    hour = bs.Measure("1h", "mean", missing="exclude")
    slow = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=6, measure=hour)
    ramp = [("0d", 0.1), ("1d", 0.5)]
    with pytest.raises(bs.InputError, match="outcome and measure of a primary metric"):
        bs.plan_rollout([slow], ramp, units_per_day=5000, deadline_days=5)
    bought = bs.Measure("1d", "any")
    plan = bs.plan_rollout(
        [slow], ramp, 5000, deadline_days=5, outcome=bs.Bernoulli(), measure=bought, runs=5
    )
    with bs.open(":memory:") as store:
        rollout = store.create("search", plan.design, audience=plan.audience)
        assert rollout.state == "running"
