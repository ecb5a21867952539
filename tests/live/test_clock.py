"""A clock that is wrong is refused, and nothing is settled at a time that has not come."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import bascule as bs
from bascule.live.clock import moment

DAY = 86400.0
MEASURED = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("1d", "any"))


def ahead(**by: float) -> bs.ManualClock:
    return bs.ManualClock(datetime.now(UTC) + timedelta(**by))


def test_a_clock_that_is_given_may_not_differ_from_the_machine_s_on_which_a_test_was_created(
    tmp_path: Path,
) -> None:
    path = tmp_path / "shop.db"
    with bs.open(path) as store:
        store.create("test", MEASURED).assign_many(range(20))
    for clock in (ahead(days=2), ahead(days=365), ahead(days=-2)):
        with bs.open(path, clock=clock) as store:
            test = store.get("test")
            for call in (test.status, lambda test=test: test.assign("new"), test.stop):
                with pytest.raises(bs.StoreError, match=r"given to open\(\) is .* the machine's"):
                    call()
    with bs.open(path, clock=ahead(seconds=1)) as store:
        store.get("test").assign("new")
    with bs.open(path) as store:
        test = store.get("test")
        assert (test.status().units, test.status().matured) == (21, 0)
        assert abs(test._loaded().state.latest - time.time()) < 60.0


def test_a_machine_s_clock_that_jumps_is_refused_until_it_is_right_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bs.open(tmp_path / "shop.db") as store:
        test = store.create("test", MEASURED)
        test.assign_many(range(20))
        real = time.time
        for jump in (2 * DAY, -2 * DAY):
            with monkeypatch.context() as patched:
                patched.setattr(time, "time", lambda jump=jump: real() + jump)
                for call in (test.status, lambda: test.assign("new"), lambda: test.record(0, 1.0)):
                    with pytest.raises(bs.StoreError, match="clock has jumped"):
                        call()
        assert test.record(0, 1.0).accepted
        assert test.status().matured == 0


def test_a_test_that_was_created_on_a_clock_of_its_own_takes_any_but_no_step_back(
    tmp_path: Path,
) -> None:
    path = tmp_path / "replay.db"
    with bs.open(path, clock=bs.ManualClock(datetime(2020, 1, 1, tzinfo=UTC))) as store:
        store.create("test", MEASURED).assign_many(range(4))
    with bs.open(path, clock=bs.ManualClock(datetime(2020, 1, 5, tzinfo=UTC))) as store:
        assert store.get("test").status().matured == 4
        store.get("test").assign("later")
    with bs.open(path, clock=bs.ManualClock(datetime(2020, 1, 4, tzinfo=UTC))) as store:
        test = store.get("test")
        with pytest.raises(bs.InputError, match="its last one came at 2020-01-05") as refused:
            test.assign("earlier")
        assert refused.value.field == "clock"
        # A unit that is in the test keeps its arm, whatever the clock says.
        assert test.assign(0) in ("a", "b")


def test_on_postgresql_the_machine_s_clock_has_to_agree_with_the_database_s(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    location = new_database()
    with bs.open(location) as store:
        store.create("test", MEASURED).assign_many(range(20))
    real = time.time
    # Wrong already when the store is opened, so that nothing jumps.
    monkeypatch.setattr(time, "time", lambda: real() + 2 * DAY)
    with bs.open(location) as store:
        test = store.get("test")
        for call in (test.status, lambda: test.assign("new"), lambda: store.create("b", MEASURED)):
            with pytest.raises(bs.StoreError, match="2 days ahead of the database's"):
                call()
    monkeypatch.undo()
    with bs.open(location) as store:
        assert store.get("test").status().matured == 0


def test_every_number_is_shown_as_some_date() -> None:
    for seconds in (-62135647200.0, float("nan"), float("-inf")):
        assert moment(seconds).year == 1
    for seconds in (1e300, float("inf")):
        assert moment(seconds).year == 9999
