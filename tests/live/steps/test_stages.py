"""Live tests of units whose outcomes keep coming: periods and stages."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from tests.live.conftest import START

import bascule as bs

DAILY = bs.Measure(period="1d", grace="2h")
MIXTURE = bs.UCB(2, radius="mixture")
SPENT = bs.Design(["a", "b"], bs.Recurrent(1, 1), MIXTURE, measure=DAILY, sides=1)


def cohorts(test: bs.Experiment) -> list[bs.progress.Cohort]:
    """Of the first arm, as a status finds them."""
    test.status()
    seen = test._loaded().state.statistics
    assert isinstance(seen, bs.progress.CohortStatistics)
    return list(seen.arms[0].cohorts)


def test_each_unit_gives_a_number_for_every_period_since_its_own_arrival(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    test = store.create("days", SPENT)
    test.assign("first")
    clock.advance("6h")
    test.assign("second")
    test.record_many([("first", 3.0), ("first", 1.0), ("second", 5.0)])
    clock.advance("19h")
    assert cohorts(test) == [], "events may take two hours to come"
    clock.advance("1h")
    assert cohorts(test) == [bs.progress.Cohort(1, 1, 4.0)]
    clock.advance("1d")
    assert cohorts(test) == [bs.progress.Cohort(1, 1, 5.0), bs.progress.Cohort(2, 1, 4.0)]
    test.record("second", 2.0)
    clock.advance("1d")
    assert cohorts(test) == [bs.progress.Cohort(2, 1, 7.0), bs.progress.Cohort(3, 1, 4.0)]
    clock.advance("1d")
    assert cohorts(test) == [bs.progress.Cohort(3, 1, 7.0), bs.progress.Cohort(4, 1, 4.0)]
    assert test.verify().agrees


def test_an_event_that_comes_when_its_stage_has_counted_is_late(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    test = store.create("late", SPENT)
    test.assign("first")
    clock.advance("6h")
    test.assign("second")
    clock.advance("20h")
    yesterday = START + timedelta(hours=10)
    assert test.record("first", 1.0, at=yesterday).reason == "late"
    assert test.record("second", 1.0, at=yesterday).accepted, "its first day is not over"
    assert test.record("first", 1.0).accepted
    assert test.record("first", 1.0, at=START - timedelta(hours=1)).reason == "early"
    assert test.record("nobody", 1.0).reason == "unknown unit"
    clock.advance("3d")
    assert test.status().stage == 4
    assert test.verify().agrees


def test_a_burst_spreads_and_those_who_came_together_are_one_crowd(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    test = store.create("burst", SPENT)
    assert set(Counter(test.assign_many(range(200))).values()) == {100}
    clock.advance("2d")
    test.assign_many(range(200, 300))
    crowd = test._loaded().state.enrolment.crowd
    assert [(some.stage, some.units) for some in crowd][:2] == [(1, 100), (1, 100)]
    assert {some.stage for some in crowd[2:]} == {3}
    assert test.verify().agrees


def test_an_arm_taken_out_and_a_knob_turned_are_replayed(
    store: bs.Store, clock: bs.ManualClock
) -> None:
    design = bs.Design(["a", "b", "c"], bs.Recurrent(1, 1), MIXTURE, measure=DAILY)
    test = store.create("changes", design)
    for day in range(6):
        units = [f"{day}-{i}" for i in range(9)]
        test.assign_many(units)
        test.record_many((unit, float(i % 3)) for i, unit in enumerate(units))
        clock.advance("1d")
        if day == 2:
            test.drop_arm("c")
            test.knob(alpha=4)
    status = test.status()
    assert [arm.part for arm in status.arms] == ["active", "active", "dropped"]
    assert status.stage == 5
    assert [point.matured for point in test.history()] == [1, 2, 3, 4, 5]
    assert test.verify().agrees


def test_verify_finds_an_outcome_that_was_changed(store: bs.Store, clock: bs.ManualClock) -> None:
    test = store.create("changed", SPENT)
    test.assign_many(range(10))
    test.record_many((i, 1.0) for i in range(10))
    clock.advance("3d")
    test.settle()
    with store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE outcomes SET value = 2.0 WHERE number = 3")
    assert "statistics" in str(test.verify())


@pytest.mark.parametrize(
    ("rule", "measure", "field"),
    [
        (MIXTURE, None, "measure"),
        (bs.UCB(2), DAILY, "rule"),
        (bs.ETC(stop="mixture"), DAILY, "rule"),
        (bs.research.Static(100, horizon=3), DAILY, "rule"),
    ],
    ids=str,
)
def test_what_a_live_test_cannot_count_is_refused(
    store: bs.Store, rule: Any, measure: Any, field: str
) -> None:
    design = bs.Design(["a", "b"], bs.Recurrent(1, 1), rule, measure=measure)
    with pytest.raises(bs.InputError) as refused:
        store.create("again", design)
    assert refused.value.field == field
