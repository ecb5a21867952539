"""The reduced table against counting by hand, unit by unit."""

from __future__ import annotations

from typing import Any, get_args

import pytest

import bascule as bs
from bascule.analysis.call import call_of
from bascule.core.metrics.measure import Aggregate


def outcomes_of(events: Any, until: Any, measure: bs.Measure) -> dict[int, float]:
    """What each unit has given by a moment, in the order of its times."""
    rows = events[events.ts < until].sort_values("ts")
    first = rows.groupby("user_id").ts.min()
    found = {}
    for user, some in rows.groupby("user_id"):
        inside = some[(some.ts - first[user]).dt.total_seconds() < measure.window]
        found[user] = measure.outcome_of(inside.revenue.tolist())
    return found


@pytest.mark.parametrize("aggregate", get_args(Aggregate))
def test_outcomes_that_grow_are_those_of_each_day(events: Any, aggregate: Aggregate) -> None:
    import pandas as pd

    found = bs.analyze(events, bs.LogMetric(aggregate=aggregate))
    # Sums and any are followed from day to day, other outcomes compared as they stand.
    followed = aggregate in ("sum", "any")
    assert len(found.days) == (12 if followed else 1)
    for day in (found.days[0], found.days[4], found.days[11]) if followed else found.days:
        end = pd.Timestamp(day.date) + pd.Timedelta(days=1)
        units = outcomes_of(events, end, bs.Measure("1000d", aggregate))
        for arm in (0, 1):
            mine = [outcome for user, outcome in units.items() if user % 2 == arm]
            assert day.units[arm] == len(mine)
            assert day.means[arm] == pytest.approx(sum(mine) / len(mine), rel=1e-9)


@pytest.mark.parametrize("aggregate", get_args(Aggregate))
def test_outcomes_in_a_window_are_those_of_mature_units(events: Any, aggregate: Aggregate) -> None:
    import pandas as pd

    measure = bs.Measure("36h", aggregate)
    found = bs.analyze(events, bs.LogMetric(window="36h", aggregate=aggregate))
    units = outcomes_of(events, pd.Timestamp("2027-01-01"), measure)
    first = events.groupby("user_id").ts.min()
    # The log ends with 12 March, so the arrivals of 10 March are not over before their windows.
    mature = first[first < pd.Timestamp("2026-03-11")].index
    assert found.days[-1].date == "2026-03-12"
    for arm in (0, 1):
        mine = [units[user] for user in mature if user % 2 == arm]
        assert found.arms[arm].counted == len(mine)
        assert found.arms[arm].mean == pytest.approx(sum(mine) / len(mine), rel=1e-9)
        deviation = pd.Series(mine).std()
        assert found.arms[arm].deviation == pytest.approx(deviation, rel=1e-9)


def test_the_last_day_is_the_answer_of_today(events: Any) -> None:
    by_day, today = bs.analyze(events), bs.analyze(events, looks="now")
    assert len(today.days) == 1
    for one, other in zip(by_day.effects, today.effects, strict=True):
        assert one.low == pytest.approx(other.low, rel=1e-9)
        assert one.high == pytest.approx(other.high, rel=1e-9)


def test_an_earlier_look_is_the_log_cut_off_there(events: Any) -> None:
    import pandas as pd

    cut = events[events.ts < pd.Timestamp("2026-03-08")]
    asked: dict[str, Any] = {"window": "2d", "outcome": bs.Bounded(0, 60)}
    early, later = (
        bs.analyze(**call_of(events, until="2026-03-07", **asked)),
        bs.analyze(**call_of(events, **asked)),
    )
    assert early.effects[0].low == pytest.approx(
        bs.analyze(**call_of(cut, **asked)).effects[0].low, rel=1e-9
    )
    assert [day.date for day in early.days] == [day.date for day in later.days[:5]]
    for then, now in zip(early.days, later.days, strict=False):
        assert then.effects[0].low == pytest.approx(now.effects[0].low, rel=1e-9)


def test_units_without_events_count(events: Any) -> None:
    import pandas as pd

    first = events.groupby("user_id").agg(variant=("variant", "first"), ts=("ts", "min"))
    idle = pd.DataFrame(
        {"user_id": [9001, 9002], "variant": ["control", "green"], "ts": first.ts.min()}
    )
    who = pd.concat([first.reset_index(), idle])
    given = events.drop(columns="variant")
    for asked in ({}, {"window": "3d"}, {"looks": "now"}):
        alone, both = (
            bs.analyze(**call_of(events, **asked)),
            bs.analyze(**call_of(given, assignments=who, **asked)),
        )
        assert both.units == alone.units + 2
        for mine, theirs in zip(both.arms, alone.arms, strict=True):
            assert mine.counted == theirs.counted + 1
            assert theirs.mean is not None
            assert mine.mean == pytest.approx(theirs.mean * theirs.counted / mine.counted, rel=1e-9)
