from __future__ import annotations

import pytest

import bascule as bs

DAYS = [bs.Statistics((bs.ArmStatistics(500, 50.0, 50.0), bs.ArmStatistics(500, 60.0, 60.0)))] * 4
LATE = [bs.Statistics((bs.ArmStatistics(50, 5.0, 5.0), bs.ArmStatistics(50, 6.0, 6.0)))] * 4
EVEN = bs.AllocationStatistics.of([0, 1] * 500, [[0.5, 0.5]] * 1000)


def test_it_runs_what_the_data_allow() -> None:
    assert [seen.name for seen in bs.diagnose(DAYS)] == ["trend", "shift"]
    assert [seen.name for seen in bs.diagnose(prompt=DAYS, late=LATE)] == ["late outcomes"]
    assert [(seen.name, seen.validity) for seen in bs.diagnose(allocation=EVEN)] == [
        ("allocation", "fixed time"),
        ("allocation at any time", "any time"),
    ]
    assert len(bs.diagnose(DAYS, prompt=DAYS, late=LATE, allocation=EVEN)) == 5


def test_a_test_with_nothing_wrong_gets_no_alarm() -> None:
    for seen in bs.diagnose(DAYS, prompt=DAYS, late=LATE, allocation=EVEN, level=0.05):
        assert not seen.flagged
        assert seen.level == 0.05
        assert not str(seen).startswith("!")


def test_nothing_to_diagnose_is_refused() -> None:
    with pytest.raises(bs.InputError, match="nothing to diagnose"):
        bs.diagnose()


def test_prompt_and_late_belong_together() -> None:
    with pytest.raises(bs.InputError, match="belong together"):
        bs.diagnose(prompt=DAYS)
