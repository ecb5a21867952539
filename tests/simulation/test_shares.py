from __future__ import annotations

import math

import pytest
from scipy import stats

from bascule.simulation.result import share_estimate, wilson


@pytest.mark.parametrize(("count", "runs"), [(0, 50), (3, 50), (50, 50), (120, 400)])
def test_wilsons_interval_is_the_one_of_the_books(count: int, runs: int) -> None:
    expected = stats.binomtest(count, runs).proportion_ci(0.95, "wilson")
    assert wilson(count, runs) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_a_share_that_was_always_seen_has_a_standard_error() -> None:
    assert share_estimate(100, 100).se > 0.01


def test_the_standard_error_is_the_usual_one_when_runs_are_many() -> None:
    usual = math.sqrt(0.3 * 0.7 / 10_000)
    assert share_estimate(3000, 10_000).se == pytest.approx(usual, rel=0.01)
