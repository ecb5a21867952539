"""An analysis in words: days are called what the log calls them."""

from __future__ import annotations

import pandas as pd
import pytest

import bascule as bs


@pytest.fixture(scope="module")
def log() -> pd.DataFrame:
    arms = ["old", "new"] * 1000
    bought = [int(arm == "new" or i % 3 == 0) for i, arm in enumerate(arms)]
    return pd.DataFrame({"unit": range(2000), "arm": arms, "value": bought})


def test_days_that_are_numbers_are_called_by_them(log: pd.DataFrame) -> None:
    log = log.assign(day=[i // 50 for i in range(2000)])
    analysis = bs.analyze(log, time="day")
    assert analysis.decided is not None
    day = int(analysis.decided[-2:]) - 1
    assert f"), since day {day}; " in analysis.headline
    assert f"Stopping on day {day} would have saved" in str(analysis)
    assert "day 0 to day 39" in str(analysis)
    assert "1970" not in str(analysis)


def test_cost_is_counted_in_the_unit_of_the_outcome_model(log: pd.DataFrame) -> None:
    for metric, cost in (
        (None, "666 conversions"),
        (bs.LogMetric(outcome=bs.Bounded(0, 2)), "666 outcome units"),
    ):
        facts = {fact.name: fact.words for fact in bs.analyze(log, metric).report().facts}
        assert facts["Cost so far"] == f"{cost}, against the best arm"


def test_a_log_without_days_speaks_of_none(log: pd.DataFrame) -> None:
    analysis = bs.analyze(log)
    assert analysis.headline.endswith("(proven)")
    assert "1970" not in str(analysis)
    assert "day 0" not in str(analysis)


def test_conversions_are_in_percent_and_points_and_money_in_its_own_unit(log: pd.DataFrame) -> None:
    text = str(bs.analyze(log))
    assert "points" in text
    # A third of the old arm's users bought.
    assert "33.4 %" in text
    assert "points" not in str(bs.analyze(log.assign(value=log["unit"] * 1.5)))
