"""What may be wrong with a log is flagged, and what is right is not."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import numpy as np

from bascule.analysis.checks import drift, extremes, gaps, late_events, sample_ratio
from bascule.analysis.evidence.course import Terms
from bascule.analysis.reduce.sums import Sums, Table, days_between

DAYS = days_between(date(2026, 1, 1), date(2026, 1, 1) + timedelta(days=13))
ARMS = ("old", "new")


def even(means: np.ndarray) -> Sums:
    """Two weeks with 500 units an arm and day, of which a share `means` converts."""
    units = np.full((14, 2), 500.0)
    hits = np.round(units * means[:, None])
    return Sums(DAYS, units, hits, hits, 0 * units, 0 * units + 1)


def test_a_split_is_compared_with_the_weights() -> None:
    assert not sample_ratio(ARMS, [9000, 1000], [9, 1]).flagged
    assert sample_ratio(ARMS, [9000, 1150], [9, 1]).flagged
    lost = sample_ratio(ARMS, [5000, 4600], None)
    assert lost.flagged
    assert lost.message.startswith("old has 5000 units where its weight makes 4800")
    unknown = sample_ratio(ARMS, [9000, 1000], None)
    assert not unknown.flagged
    assert "give weights" in unknown.message


def test_a_trend_of_the_outcomes_is_seen() -> None:
    rising, level = np.linspace(0.1, 0.2, 14), np.full(14, 0.1)
    assert [check.flagged for check in drift(even(rising), ARMS, 14)] == [True, False]
    assert not any(check.flagged for check in drift(even(level), ARMS, 14))


def test_days_without_anybody_are_gaps() -> None:
    whole = even(np.full(14, 0.1))
    assert not gaps(whole).flagged
    for rows, columns, words in (
        (5, slice(None), "nobody arrived on 2026-01-06"),
        (5, 0, "an arm got nobody on 2026-01-06"),
    ):
        units = whole.units.copy()
        units[rows, columns] = 0.0
        found = gaps(replace(whole, units=units))
        assert found.flagged
        assert words in found.message
    units = whole.units.copy()
    units[5] = 20.0
    assert "hardly anybody" in gaps(replace(whole, units=units)).message


def test_one_outcome_that_carries_a_difference_is_extreme() -> None:
    sums = even(np.full(14, 0.1))
    effects = Terms(ARMS, 0.05, "proven").effects([(0.0, 0.01)])
    assert not extremes(sums, ARMS, effects).flagged
    highs = sums.highs.copy()
    highs[3, 1] = 1e4
    found = extremes(replace(sums, highs=highs), ARMS, effects)
    assert found.flagged
    assert "one unit of new has an outcome of 1e+04" in found.message


def test_much_that_comes_after_the_windows_is_told() -> None:
    table = Table({}, {}, 100, late=10, outside=20.0)
    assert late_events(table, 80.0).flagged
    assert not late_events(replace(table, outside=1.0), 80.0).flagged
