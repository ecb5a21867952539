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
    told = bs.analyze(log, time="day")
    assert told.decided is not None
    day = int(told.decided[-2:]) - 1
    assert told.headline.endswith(f"(proven), since day {day}")
    assert f"stopping on day {day} would have saved" in str(told)
    assert "day 0 to day 39" in str(told)
    assert "1970" not in str(told)


def test_a_log_without_days_speaks_of_none(log: pd.DataFrame) -> None:
    told = bs.analyze(log)
    assert told.headline.endswith("(proven)")
    assert "1970" not in str(told)
    assert "day 0" not in str(told)
