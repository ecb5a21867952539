"""A clock that is wrong is refused, and nothing is settled at a time that has not come."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import bascule as bs
from bascule.live.clock import moment

DAY = 86400.0
MEASURED = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("1d", "any"))


def ahead(**by: float) -> bs.ManualClock:
    return bs.ManualClock(datetime.now(UTC) + timedelta(**by))


def set_back(clock: bs.ManualClock, by: float) -> None:
    """Set a clock back, which `advance` does not."""
    clock._now -= by


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
        assert abs(test._loaded().state.enrolment.latest - time.time()) < 60.0


@pytest.mark.parametrize("start", [0.0, "2026-01-01", datetime(2026, 1, 1)])
def test_a_clock_starts_at_a_time_with_its_zone(start: Any) -> None:
    with pytest.raises(bs.InputError, match=r"start must be a datetime with a time zone \(got"):
        bs.ManualClock(start)


def test_a_clock_gives_seconds() -> None:
    clock: Any = datetime.now(UTC)
    with (
        bs.open(":memory:", clock=clock) as store,
        pytest.raises(bs.StoreError, match="in seconds"),
    ):
        store.create("test", MEASURED)


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


def test_a_clock_that_jumps_ahead_erases_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with bs.open(":memory:") as store:
        test = store.create("button", MEASURED)
        test.assign("ann")
        test.stop()
        now = time.time
        monkeypatch.setattr(time, "time", lambda: now() + 400 * 86400.0)
        with pytest.raises(bs.StoreError, match="has jumped"):
            store.erase_older("90d")
        monkeypatch.undo()
        assert test.assignment("ann") is not None


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
        with pytest.raises(
            bs.InputError, match="its last one came, or it was created, at 2020-01-05"
        ) as refused:
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


RAMP = {"ramp": [["0h", 0.2], ["3h", 0.5], ["6h", 1.0]]}
HOURS = bs.Measure("2h", "last", missing="zero")
HALF_HOUR = bs.Measure("30m", "last", missing="zero")
GUARDED = bs.Design(
    ["a", "b"],
    bs.Gaussian(1),
    bs.Tilt(3),
    metrics=[bs.Metric("latency", bs.Gaussian(1), goal="decrease", margin=1.0, measure=HOURS)],
    measure=HOURS,
)


ROLLOUT = replace(
    GUARDED,
    arms=["a", "b", "c"],
    metrics=[*GUARDED.metrics, replace(GUARDED.metrics[0], name="errors", measure=HALF_HOUR)],
    decides="guardrails",
)


@pytest.mark.parametrize("jump", [0.0, 3600.0])
@pytest.mark.parametrize(
    ("design", "audience"),
    [
        (bs.Design(["a", "b", "c"], bs.Bernoulli(), bs.Tilt(3), measure=HOURS), None),
        (bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always"), {"share": 0.8}),
        (GUARDED, RAMP),
        (ROLLOUT, RAMP),
    ],
)
def test_two_programs_whose_clocks_differ_by_an_hour_keep_one_order(
    tmp_path: Path, design: bs.Design, audience: dict[str, Any] | None, jump: float
) -> None:
    """One clock is an hour ahead, or goes back now and then: windows, ramps and the log stand.

    No program shows a negative age, however far it is behind.
    """
    chance, clocks = random.Random(1), [bs.ManualClock(), bs.ManualClock()]
    clocks[1].advance("1h")
    path = tmp_path / "shop.db"
    arms: dict[str, str] = {}
    refused: list[str | None] = []
    with bs.open(path, clock=clocks[0]) as one, bs.open(path, clock=clocks[1]) as other:
        one.create("test", design, audience=audience)
        tests = [one.get("test"), other.get("test")]
        before = tests[0]._loaded().state.control
        for i in range(40):
            test = tests[chance.random() < 0.5]
            try:
                units = [f"unit {i} {k}" for k in range(4)]
                arms |= dict(zip(units, test.assign_many(units), strict=True))
                test.record(chance.choice([*arms]), 1.0, id=str(i))
                if i % 20 == 7 and test.state == "running":
                    test.pause()
                elif i % 20 == 12 and test.state == "paused":
                    test.start()
            except bs.InputError as problem:
                refused.append(problem.field)
            # Forecast, diagnostics and history are there, whatever this program's clock says.
            if i % 4 == 0:
                test.status(diagnostics=i % 20 == 0).report()
            for one_of_both in tests if i % 4 == 1 else ():
                shown = one_of_both.status()
                assert shown.waiting is None or shown.waiting.days >= 0.0
                assert shown.rollout is None or (shown.rollout.next_days or 0.0) >= 0.0
            control = test._loaded().state.control
            assert control.step >= before.step
            assert control.ran >= before.ran
            before = control
            for clock in clocks:
                clock.advance(60.0 * chance.randint(0, 10))
            if chance.random() < 0.1:
                set_back(clocks[1], jump)
        assert "clock" in refused
        assert set(refused) <= {"clock", "state"}
        enrolled = [unit for unit in arms if tests[0].assignment(unit) is not None]
        for store in (one, other):
            assert all(found.agrees for found in store.verify())
            assert store.get("test").assign_many(enrolled) == [arms[one] for one in enrolled]
        times = [point.time for point in tests[0].history()]
        assert times == sorted(times)


def test_no_unit_comes_before_its_test(tmp_path: Path) -> None:
    clock = bs.ManualClock()
    with bs.open(tmp_path / "shop.db", clock=clock) as store:
        test = store.create("test", MEASURED)
        set_back(clock, 3600.0)
        with pytest.raises(bs.InputError, match="it was created, at 2026-01-01") as refused:
            test.assign("ann")
        assert refused.value.field == "clock"
        clock.advance(3570.0)
        assert test.assign("ann") in ("a", "b")
        assert test.verify().agrees


def test_on_postgresql_two_workers_have_the_time_of_the_database(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clocks 50 s ahead and behind put no unit into the future, nor keep the other's out."""
    location, real, stores = new_database(), time.time, []
    for skew in (50.0, -50.0, 3600.0):
        monkeypatch.setattr(time, "time", lambda skew=skew: real() + skew)
        stores.append((skew, bs.open(location)))
    for turn in range(3):
        for skew, store in stores:
            monkeypatch.setattr(time, "time", lambda skew=skew: real() + skew)
            if skew == 3600.0:
                with pytest.raises(bs.StoreError, match=r"ahead of the database's"):
                    store.get("test").assign("late")
                continue
            if turn == 0 and skew > 0:
                store.create("test", MEASURED)
            test, unit = store.get("test"), f"{skew} {turn}"
            test.assign(unit)
            assert test.record(unit, 1.0).accepted
            assert abs(test._loaded().state.enrolment.latest - real()) < 20.0
            assert test.verify().agrees
    for _, store in stores:
        store.close()


def test_every_number_is_shown_as_some_date() -> None:
    for seconds in (-62135647200.0, float("nan"), float("-inf")):
        assert moment(seconds).year == 1
    for seconds in (1e300, float("inf")):
        assert moment(seconds).year == 9999
