"""Shares of the traffic: what the fastest and the cheapest designs of a plan with a window cost."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

import bascule as bs
from bascule.planning.forecast import design_of, predicted
from bascule.planning.request.request import PlanRequest
from bascule.planning.search.alternatives import paces, saving_of
from bascule.planning.search.candidates import with_horizon
from bascule.planning.search.choose import Candidate
from bascule.simulation import Estimate

pytestmark = pytest.mark.slow


def test_a_smaller_share_costs_less_and_takes_longer() -> None:
    request = PlanRequest(window="7d", sides=1)
    (rule,) = with_horizon(request, 3.0)
    expected = predicted(request, rule)
    assert expected is not None
    recommended = Candidate(design_of(request, rule), expected, request=request)
    found = paces(request, recommended)
    assert [one.name for one in found] == ["fastest", "balanced", "cheapest"]
    fastest, _, cheapest = (one.point.expected for one in found)
    # A fixed-horizon test takes 10.6 days and loses 89 conversions.
    assert (fastest.days.mean < 10.6, fastest.cost.mean < 98) == (True, True)
    assert (cheapest.days.mean < 17, cheapest.cost.mean < 82) == (True, True)
    assert found[2].share < 1.0
    assert found[0].unwon == pytest.approx(50 * fastest.days.mean)
    # A design of the plan that costs less than any of these is the cheapest.
    cheap = replace(recommended, expected=replace(expected, cost=Estimate(50.0, math.nan)))
    assert paces(request, recommended, (cheap,))[2].point is cheap


def test_a_share_above_all_traffic_is_refused() -> None:
    with pytest.raises(bs.InputError, match="share must be at most 1"):
        PlanRequest(share=1.5)


def test_early_signals_cost_less_at_every_pace() -> None:
    # A larger lift has shorter tests, which are played here.
    request = PlanRequest(baseline=0.2, lift=0.1, window="7d", units_per_day=200, delay="1d")
    used = replace(request, early_signals="always")
    points = []
    for one in (request, used):
        (rule,) = with_horizon(one, 3.0)
        expected = predicted(one, rule)
        assert expected is not None
        points.append(Candidate(design_of(one, rule), expected, request=one))
    matured, early = (paces(point.request, point) for point in points)
    assert [one.name for one in early] == ["fastest", "balanced", "cheapest"]
    assert all(one.point.rule.uses_signals for one in early[1:])
    assert all(one.point.expected.simulated for one in early[1:])
    costs = [[one.point.expected.cost.mean for one in three] for three in (matured, early)]
    assert costs[1][1] < costs[0][1]
    assert costs[1][2] < costs[0][2]
    days = [one.point.expected.days.mean for one in early]
    assert days[0] <= days[1] <= math.sqrt(days[0] * days[2])


def test_what_early_signals_save_and_risk_is_played() -> None:
    request = PlanRequest(baseline=0.2, lift=0.1, window="7d", units_per_day=200, delay="1d")
    (rule,) = with_horizon(request, 1.0)
    saving = saving_of(request, rule)
    assert saving is not None
    assert saving.rule.label == "Tilt_3, effect 0.1, power 0.9, early signals"
    assert saving.delays == pytest.approx((3.0, 1 / 3))
    assert saving.alike.cost.mean < saving.without.cost.mean < saving.later.cost.mean
    assert saving.to_dict()["best_arm_later"]["runs"] == saving.later.runs
    # Nothing is said where nobody knows how long conversions take, or where nothing can be tilted.
    assert saving_of(replace(request, delay=None), rule) is None
    assert saving_of(request, bs.UCB(2)) is None


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"delay": "1d"}, "delay needs window"),
        ({"window": "7d", "early_signals": "auto"}, "early_signals needs delay"),
        ({"window": "7d", "delay": "8d"}, "shorter than the window"),
        ({"window": "7d", "delay": "1d", "early_signals": "on"}, "early_signals must be"),
        ({"window": "7d", "delay": "1d", "outcome": bs.Gaussian(1), "lift": 0.1}, "0/1 outcomes"),
    ],
)
def test_delays_that_make_no_sense_are_refused(parts: Any, words: str) -> None:
    with pytest.raises(bs.InputError, match=words):
        PlanRequest(**parts)
