"""Plans with windows: days that they state, and live tests under a clock beside them.

`python -m bench.window_plans` has twenty such plans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from bench.window_plans import REQUESTS, compared

import bascule as bs
from bascule.planning.search.stages import stages

pytestmark = pytest.mark.slow

FAILED = bs.Metric("failed", bs.Bernoulli(), goal="decrease", margin=0.01, baseline=0.02)
AMOUNTS = {"baseline": 20, "lift": "10%", "units_per_day": 40_000}


@pytest.mark.parametrize("which", [2, 3])
def test_live_tests_take_and_cost_what_is_planned(which: int) -> None:
    """A window of 2 days, without a calendar and with whole weeks, within 3 standard errors."""
    parts = REQUESTS[which]
    assert (parts["window"], "whole_weeks" in parts) == ("2d", which == 3)
    found = compared(parts, stores=12, runs=300)
    assert max(map(abs, found.apart)) < 3.0
    assert found.planned.days.mean > 2.0


def days_in(answer: object, under: tuple[str, ...] = ()) -> Iterator[float]:
    """Yield every number of days that an answer states: estimates, quantiles and ends."""
    if isinstance(answer, Mapping):
        for name, value in answer.items():
            # What was asked for, how long conversions take, and what is not known exactly.
            if name not in ("request", "design", "delays_days", "se"):
                yield from days_in(value, (*under, name))
    elif isinstance(answer, list):
        for value in answer:
            yield from days_in(value, under)
    elif isinstance(answer, (int, float)) and any("days" in name for name in under):
        yield float(answer)


@pytest.mark.parametrize(
    "parts",
    [
        {"delay": "1d"},
        {"arms": 3, "metrics": [FAILED]},
        {"share": 0.3},
        {"whole_weeks": True, "min_days": 3},
        {"lift": "300%", "units_per_day": 1e6},
        {"units_per_day": 300},
        {"outcome": bs.Gaussian(5), **AMOUNTS},
        {"outcome": bs.Numeric(5), "covariate": "before", "correlation": 0.7, **AMOUNTS},
        {"outcome": bs.Ratio(spread=0.3), "baseline": 0.8, "lift": "2%"},
        {"outcome": bs.Bounded(0, 100), "spread": 9, **AMOUNTS},
    ],
    ids=",".join,
)
def test_nothing_says_fewer_days_than_the_window(parts: dict[str, Any]) -> None:
    """Tables, chart, even split, fixed horizon, zero effect, guardrails and what would suffice."""
    request = bs.PlanRequest(**{"window": "7d", **parts})
    plan = next(stages(request, threads=1))
    stated = list(days_in(plan.to_dict()))
    assert len(stated) > 30
    assert min(stated) >= 7.0
    drawn = [point for point in plan.points if point.zero is not None]
    assert all(point.zero.days.mean >= 7.0 for point in drawn if point.zero is not None)


def test_rollouts_count_the_window() -> None:
    week = bs.Measure("7d", "any")
    latency = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=3, measure=week)
    rollout = bs.plan_rollout([latency], [("0d", 0.1), ("1d", 0.5)], 10_000, runs=50)
    assert min(days_in(rollout.to_dict())) >= 7.0
