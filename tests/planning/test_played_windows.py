"""Plans with windows beside live tests under a clock; `python -m bench.window_plans` has twenty."""

from __future__ import annotations

import pytest
from bench.window_plans import REQUESTS, compared


@pytest.mark.parametrize("which", [2, 3])
def test_live_tests_take_and_cost_what_is_planned(which: int) -> None:
    """A window of 2 days, without a calendar and with whole weeks, within 3 standard errors."""
    parts = REQUESTS[which]
    assert (parts["window"], "whole_weeks" in parts) == ("2d", which == 3)
    found = compared(parts, stores=12, runs=300)
    assert max(map(abs, found.apart)) < 3.0
    assert found.planned.days.mean > 2.0
