"""Alarms of a live test: drift, and arms that got other units than they should."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

import bascule as bs
from bascule.live.reports.diagnostics import slot_probabilities
from bascule.live.storage.deals import Deal

DESIGN = bs.Design(["a", "b"], bs.Gaussian(50), bs.Tilt(3), error=1e-6, reports="always")


def run(path: Path, drift: float) -> None:
    chance, clock = random.Random(2), bs.ManualClock()
    with bs.open(path, clock=clock, shuffle=random.Random(3).shuffle) as store:
        test = store.create("test", DESIGN)
        for first in range(0, 600, 30):
            test.assign_many(range(first, first + 30))
            clock.advance(first % 70)
            test.record_many(
                [(i, drift * first + chance.gauss()) for i in range(first, first + 30)]
            )


def alarms(path: Path) -> dict[str, bool]:
    with bs.open(path) as store:
        return {one.name: one.flagged for one in store.get("test").diagnostics()}


def test_nothing_is_seen_where_there_is_nothing(tmp_path: Path) -> None:
    run(tmp_path / "calm.db", drift=0.0)
    found = alarms(tmp_path / "calm.db")
    assert set(found) == {"trend", "sample ratio"}
    assert not any(found.values())


def test_outcomes_that_drift_are_seen(tmp_path: Path) -> None:
    run(tmp_path / "drift.db", drift=0.01)
    assert alarms(tmp_path / "drift.db")["trend"]
    with bs.open(tmp_path / "drift.db") as store:
        test = store.get("test")
        assert test.status().diagnostics is None
        status = test.status(diagnostics=True)
    assert status.diagnostics is not None
    told = {one["name"]: one for one in status.to_dict()["diagnostics"]}
    assert told["trend"]["flagged"]


def test_units_that_were_moved_to_another_arm_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "moved.db"
    run(path, drift=0.0)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE assignments SET arm = 0 WHERE arm = 1 AND number % 3 = 0")
    connection.commit()
    connection.close()
    assert alarms(path)["sample ratio"]


def test_before_the_first_unit_there_is_nothing_to_say() -> None:
    with bs.open(":memory:") as store:
        assert store.create("test", DESIGN).diagnostics() == ()


def test_an_arm_taken_out_has_no_chance_in_the_slots_that_are_left() -> None:
    deal = Deal(1, ((0, 2, 1, 2, 0),), struck=((2, 2),))
    found = list(slot_probabilities(deal, 3))
    assert found == [
        pytest.approx((0.4, 0.2, 0.4)),
        pytest.approx((0.25, 0.25, 0.5)),
        pytest.approx((0.5, 0.5, 0.0)),
        pytest.approx((1.0, 0.0, 0.0)),
    ]


def test_a_unit_that_never_reports_is_an_alarm_with_how_many_wait_for_it_and_since_when() -> None:
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("test", DESIGN)
        for hour in range(20):
            units = [f"{hour}-{i}" for i in range(20)]
            test.assign_many(units)
            clock.advance("1m")
            test.record_many([(unit, 0.0) for unit in units if unit != "1-3"])
            clock.advance("59m")
        status, found = test.status(), {one.name: one for one in test.diagnostics()}
        assert status.headline.startswith("Waiting: 377 units have not counted")
        assert "377 units have not counted: 1 without an outcome" in found["waiting"].message
        assert "it came on 2026-01-01 01:00 UTC" in found["waiting"].message
        assert "waiting" in [one.name for one in test.alarms()]
        assert test.alarms() == ()
        test.record("1-3", 0.0)
        assert test.status().matured == 400
        assert "waiting" not in [one.name for one in test.diagnostics()]


def test_units_that_take_as_long_as_others_raise_no_alarm() -> None:
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        test = store.create("test", DESIGN)
        for day in range(4):
            units = [f"{day}-{i}" for i in range(200)]
            test.assign_many(units)
            for quarter in range(4):
                clock.advance("6h")
                test.record_many([(unit, 0.0) for unit in units[quarter::4]])
                assert "waiting" not in [one.name for one in test.alarms()]


def test_no_diagnostic_reads_all_units_for_each_outcome() -> None:
    """The planner must look a unit's outcomes up by its number; else diagnostics are quadratic."""
    from bascule.live.reports import diagnostics
    from bascule.live.storage.statements import fetch

    with bs.open(":memory:") as store, store.reading() as connection:
        asked = diagnostics._DELAYS
        values = [1.0] * asked.count("?")
        plan = [row[3] for row in fetch(connection, f"EXPLAIN QUERY PLAN {asked}", *values)]
        searches = [line for line in plan if line.startswith(("SEARCH", "SCAN"))]
        assert searches[0].startswith("SEARCH a USING")
        assert "(experiment=? AND number=?)" in searches[1], plan
