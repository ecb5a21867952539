from __future__ import annotations

import math

import numpy as np
import pytest

import bascule as bs
from bascule.core.diagnostics.allocation import allocation_any_time

DAYS = [
    bs.progress.Statistics(
        (bs.progress.ArmStatistics(500, 50.0, 50.0), bs.progress.ArmStatistics(500, 60.0, 60.0))
    )
] * 4
LATE = [
    bs.progress.Statistics(
        (bs.progress.ArmStatistics(50, 5.0, 5.0), bs.progress.ArmStatistics(50, 6.0, 6.0))
    )
] * 4
EVEN = bs.progress.AllocationStatistics.of([0, 1] * 500, [[0.5, 0.5]] * 1000)


def test_it_runs_what_the_data_allow() -> None:
    assert [seen.name for seen in bs.progress.diagnose(DAYS)] == ["trend"]
    assert [seen.name for seen in bs.progress.diagnose(prompt=DAYS, late=LATE)] == ["late outcomes"]
    assert [(seen.name, seen.validity) for seen in bs.progress.diagnose(allocation=EVEN)] == [
        ("sample ratio", "any time"),
    ]
    assert len(bs.progress.diagnose(DAYS, prompt=DAYS, late=LATE, allocation=EVEN)) == 3


def test_a_test_with_nothing_wrong_gets_no_alarm() -> None:
    for seen in bs.progress.diagnose(DAYS, prompt=DAYS, late=LATE, allocation=EVEN, level=0.05):
        assert not seen.flagged
        assert seen.level == 0.05
        assert not str(seen).startswith("!")


def test_nothing_to_diagnose_is_refused() -> None:
    with pytest.raises(bs.InputError, match="nothing to diagnose"):
        bs.progress.diagnose()


def test_prompt_and_late_belong_together() -> None:
    with pytest.raises(bs.InputError, match="belong together"):
        bs.progress.diagnose(prompt=DAYS)


def test_daily_looks_at_a_fair_test_raise_no_more_alarms_than_stated() -> None:
    """100 looks at a fair coin."""
    runs, days, each, level = 80, 100, 80, 0.01
    heads = np.random.default_rng(5).binomial(each, 0.5, (runs, days)).cumsum(axis=1)
    flagged = 0
    for run in heads:
        looks = [
            bs.progress.AllocationStatistics.of_counts([n, each * day - n], [0.5, 0.5])
            for day, n in enumerate(run.tolist(), 1)
        ]
        flagged += any(allocation_any_time(look, level).flagged for look in looks)
    assert flagged / runs <= level + 3 * math.sqrt(level / runs)


def test_repeated_looks_for_drift_hold_together() -> None:
    runs, days, level = 80, 16, 0.05
    rng = np.random.default_rng(6)
    alarms = np.zeros(2)
    for _ in range(runs):
        sums = rng.binomial(100, 0.3, (days, 2)).astype(float).tolist()
        periods = [
            bs.progress.Statistics(tuple(bs.progress.ArmStatistics(100, y, y) for y in day))
            for day in sums
        ]
        ever = [False, False]
        for day in range(2, days + 1):
            found = bs.progress.diagnose(periods[:day], level=level, look=day)
            assert {one.validity for one in found} == {"any time"}
            ever[0] |= found[0].flagged
            ever[1] |= bs.progress.diagnose(periods[:day], level=level)[0].flagged
        alarms += ever
    assert alarms[0] / runs <= level + 3 * math.sqrt(level / runs)
    assert alarms[1] / runs > 2 * level


def test_at_the_number_of_a_look_every_check_is_valid_at_any_time() -> None:
    found = bs.progress.diagnose(DAYS, allocation=EVEN, look=3)
    assert [(one.name, one.validity) for one in found] == [
        ("trend", "any time"),
        ("sample ratio", "any time"),
    ]
    with pytest.raises(bs.InputError, match="look must be"):
        bs.progress.diagnose(DAYS, look=0)
