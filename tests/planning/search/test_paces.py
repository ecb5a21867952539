"""Shares of the traffic: what the fastest and the cheapest designs of a plan with a window cost."""

from __future__ import annotations

import pytest

import bascule as bs
from bascule.planning.forecast import design_of, predicted
from bascule.planning.request.request import PlanRequest
from bascule.planning.search.candidates import with_horizon
from bascule.planning.search.choose import Point
from bascule.planning.search.paces import paces


def test_a_smaller_share_costs_less_and_takes_longer() -> None:
    request = PlanRequest(window="7d", sides=1)
    (rule,) = with_horizon(request, 3.0)
    expected = predicted(request, rule)
    assert expected is not None
    found = paces(request, Point(design_of(request, rule), expected, request=request))
    assert [one.name for one in found] == ["fastest", "balanced", "cheapest"]
    fastest, _, cheapest = (one.point.expected for one in found)
    # A fixed-horizon test takes 10.6 days and loses 89 conversions.
    assert (fastest.days.mean < 10.6, fastest.cost.mean < 98) == (True, True)
    assert (cheapest.days.mean < 25, cheapest.cost.mean < 75) == (True, True)
    assert found[2].share < 1.0
    assert found[0].unwon == pytest.approx(50 * fastest.days.mean)


def test_a_share_above_all_traffic_is_refused() -> None:
    with pytest.raises(bs.InputError, match="share must be at most 1"):
        PlanRequest(share=1.5)
