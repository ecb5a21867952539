"""Callers that do not wait: futures, event loops, and units that are remembered."""

from __future__ import annotations

import asyncio
import sqlite3
import traceback
import types
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
import uvloop

import bascule as bs
from bascule.live.api import units
from bascule.live.storage import queries
from bascule.live.transactions.enrol import assign
from bascule.live.transactions.record import record

COINS = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), max_units=100, reports="always")


@pytest.fixture
def test(tmp_path: Path) -> Iterator[bs.Experiment]:
    with bs.open(tmp_path / "soon.db") as store:
        yield store.create("soon", COINS)


def test_a_future_has_the_arm_that_everyone_else_is_told(test: bs.Experiment) -> None:
    futures = [test.soon.assign(i % 20) for i in range(60)]
    assert [future.result(10) for future in futures] == [test.assign(i % 20) for i in range(60)]
    receipts = test.soon.record_many([(i, 1.0, None, str(i)) for i in range(20)]).result(10)
    assert all(receipt.accepted for receipt in receipts)
    assert test.status().matured == 20
    assert test.verify().agrees


def test_a_future_has_the_error_that_assign_raises(test: bs.Experiment) -> None:
    test.pause()
    with pytest.raises(bs.InputError, match="start it again"):
        test.soon.assign("u", strict=True).result(10)
    with pytest.raises(bs.InputError, match="unit must be text"):
        test.soon.assign("")


def test_callers_of_an_event_loop_share_transactions(test: bs.Experiment) -> None:
    async def call(caller: int) -> list[str]:
        told = [await test.soon.assign(f"{caller} {i}") for i in range(5)]
        (receipt,) = await test.soon.record_many([(f"{caller} 0", 1.0)])
        assert receipt.accepted
        with pytest.raises(bs.InputError, match="unit must be text"):
            await test.soon.assign("x" * 501)
        return told

    async def call_all() -> list[list[str]]:
        return await asyncio.gather(*(call(caller) for caller in range(20)))

    version = test._loaded().version
    told = asyncio.run(call_all())
    assert told == [[test.assign(f"{c} {i}") for i in range(5)] for c in range(20)]
    assert test._loaded().version - version < 60
    assert test.verify().agrees


def test_what_is_asked_in_one_turn_of_a_loop_is_answered_one_by_one(test: bs.Experiment) -> None:
    async def call() -> None:
        # The cap leaves no room for the last two, and one has lost patience.
        asked = [asyncio.ensure_future(test.soon.assign(i, strict=True)) for i in range(102)]
        await asyncio.sleep(0)
        asked[7].cancel()
        told = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(told[7], asyncio.CancelledError)
        assert all(isinstance(one, str) for i, one in enumerate(told[:100]) if i != 7)
        assert [getattr(one, "field", None) for one in told[100:]] == ["max_units"] * 2
        for i in range(100):
            # One that is remembered is there without a turn of the loop.
            assert test.soon.assign(i).result(0) == test.assign(i)

    version = test._loaded().version
    asyncio.run(call())
    assert test._loaded().version < version + 20
    assert test.status().units == 100


def test_in_a_loop_outcomes_come_after_the_units_asked_for_before(test: bs.Experiment) -> None:
    async def call() -> None:
        arm = asyncio.ensure_future(test.soon.assign("new"))
        await asyncio.sleep(0)
        (receipt,) = await test.soon.record_many([("new", 1.0)])
        assert receipt.accepted
        assert await arm in ("a", "b")

    asyncio.run(call())


@pytest.fixture
def held(test: bs.Experiment) -> Any:
    """A lock: nobody is assigned before it is released."""
    lock = Lock()
    lock.acquire()

    def wait(work: Any, units: Sequence[Any]) -> Sequence[Any]:
        with lock:
            return assign(work, units)

    test.soon.assigning = test.soon.assigning._replace(action=wait)
    return lock


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_who_loses_patience_goes_at_once_and_nobody_else_notices(
    test: bs.Experiment, held: Any, run: Callable[[Any], Any]
) -> None:
    cleaned: list[str] = []

    async def clean_up() -> None:
        # Called off before: in what it still has to do, it waits like everyone else.
        try:
            await asyncio.sleep(10)
        finally:
            cleaned.append(await test.soon.assign("last"))

    async def call() -> None:
        cleaning = asyncio.create_task(clean_up())
        patient = [asyncio.ensure_future(test.soon.assign(i)) for i in range(5)]
        hasty = [asyncio.ensure_future(test.soon.assign(f"hasty {i}")) for i in range(5)]
        await asyncio.sleep(0)
        cleaning.cancel()
        for one in hasty:
            one.cancel()
        # Nothing can be written yet.
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await test.soon.assign("also hasty")
        assert all(one.cancelled() for one in hasty)
        assert not any(one.done() for one in (*patient, cleaning))
        held.release()
        async with asyncio.timeout(10):
            assert {await one for one in patient} == {"a", "b"}
            with pytest.raises(asyncio.CancelledError):
                await cleaning

    run(call())
    # What waited to be written was written.
    assert test.status().units == 12
    assert cleaned == [test.assign("last")]


def test_many_who_lose_patience_one_by_one_wake_the_others_once(
    test: bs.Experiment, held: Any
) -> None:
    turns = 0

    async def ask(unit: int) -> str:
        nonlocal turns
        asked = test.soon.assign(unit).__await__()

        @types.coroutine
        def count() -> Generator[Any, Any, str]:
            nonlocal turns
            try:
                waits = asked.send(None)
                while True:
                    turns += 1
                    yield waits
                    waits = asked.send(None)
            except StopIteration as answer:
                return str(answer.value)

        return await count()

    async def call() -> None:
        asked = [asyncio.create_task(ask(i)) for i in range(50)]
        await asyncio.sleep(0)
        for one in asked[:40]:
            one.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        held.release()
        async with asyncio.timeout(10):
            await asyncio.gather(*asked[40:])

    asyncio.run(call())
    assert turns <= 2 * 50
    assert test.status().units == 50


def test_a_loop_in_another_thread_asks_within_the_same_turn(test: bs.Experiment) -> None:
    async def ask(unit: str) -> str:
        return await test.soon.assign(unit)

    async def ask_elsewhere() -> str:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, ask("there")).result(10)

    async def call() -> tuple[str, str]:
        here, there = await asyncio.gather(ask("here"), ask_elsewhere())
        return here, there

    assert asyncio.run(call()) == (test.assign("here"), test.assign("there"))
    assert test.status().units == 2


def test_a_group_that_fails_fails_for_all_of_a_loop(
    test: bs.Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(work: object, units: object) -> list[int]:
        raise bs.StoreError("the disk is full")

    async def ask(unit: int) -> None:
        try:
            raise KeyError(unit)
        except KeyError:
            await test.soon.assign(unit)

    async def call() -> list[Any]:
        asked = (ask(unit) for unit in range(3))
        return await asyncio.gather(*asked, return_exceptions=True)

    failing = test.soon.assigning._replace(action=fail)
    monkeypatch.setattr(test.soon, "assigning", failing)
    problems = asyncio.run(call())
    assert [str(one) for one in problems] == ["the disk is full"] * 3
    # Each is told where it asked itself, and nothing of the others.
    assert [repr(one.__context__) for one in problems] == [f"KeyError({i})" for i in range(3)]
    for one in problems:
        frames = traceback.extract_tb(one.__traceback__)
        assert [frame.name for frame in frames] == ["ask", "__await__", "result"]


def test_an_outcome_finds_a_unit_whatever_was_recorded_before_it(test: bs.Experiment) -> None:
    test.assign("old")

    async def call() -> tuple[Any, ...]:
        # All three in one turn of the loop.
        return await asyncio.gather(
            test.soon.record_many([("old", 1.0)]),
            test.soon.assign("new"),
            test.soon.record_many([("new", 1.0)]),
        )

    (old,), _, (new,) = asyncio.run(call())
    assert old.accepted
    assert new.accepted


def test_a_large_batch_takes_several_transactions(
    store: bs.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def count(work: Any, events: Sequence[Any]) -> Sequence[Any]:
        sizes.append(len(events))
        return record(work, events)

    monkeypatch.setattr(units, "RECORDED_AT_ONCE", 100)
    test = store.create("large", replace(COINS, max_units=500))
    test.soon._recording = test.soon._recording._replace(action=count)
    test.assign_many(range(300))
    # Before the others, the last outcome would be that of an unknown unit.
    outcomes: list[Any] = [(i, 1.0, None, str(i)) for i in range(282)]
    outcomes += [(None, 1.0, None, "281")]
    reply = test.soon.record_many(outcomes)
    receipts = reply.result(10)
    assert reply.done()
    assert sizes == [95, 95, 93]
    assert [receipt.reason for receipt in receipts] == [None] * 282 + ["duplicate"]

    async def call() -> list[Any]:
        return await test.soon.record_many(outcomes)

    assert [receipt.reason for receipt in asyncio.run(call())] == ["duplicate"] * 283
    assert test.soon.record_many([]).result(10) == test.record_many([]) == []


def test_what_is_remembered_is_not_looked_for_on_disk(
    test: bs.Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[list[str]] = []

    def find(rows: queries.Rows, units: list[str]) -> dict[str, int]:
        looked.append(units)
        return find_arms(rows, units)

    find_arms = queries.Rows.find_arms
    monkeypatch.setattr(queries.Rows, "find_arms", find)
    test.assign_many(range(5))
    test.assign_many(range(3, 8))
    assert looked == []
    test.store.memory.forget(test.id)
    test.assign_many(range(6, 10))
    assert looked == [["6", "7", "8", "9"]]
    assert test.status().units == 10


def test_a_backup_that_is_put_back_does_not_keep_anyone_out(tmp_path: Path) -> None:
    path, kept = tmp_path / "restored.db", tmp_path / "backup.db"
    with bs.open(path) as store:
        test = store.create("test", COINS)
        test.assign_many(range(10))
        with sqlite3.connect(path) as source, sqlite3.connect(kept) as backup:
            source.backup(backup)
        test.assign_many(range(10, 18))
        with sqlite3.connect(kept) as backup, sqlite3.connect(path) as target:
            backup.backup(target)
        with bs.open(path) as other:
            arms = other.get("test").assign_many([f"new {i}" for i in range(8)])
        # As many units as are remembered, but others.
        assert test.assign_many([f"new {i}" for i in range(8)]) == arms
        assert test.verify().agrees


def test_a_unit_that_is_remembered_is_answered_without_a_write(test: bs.Experiment) -> None:
    arms = test.assign_many(range(10))
    version = test._loaded().version
    with test.store._database.writing():
        # Nobody else could write now.
        assert [test.assign(i) for i in range(10)] == arms
        assert [test.soon.assign(i).result(0) for i in range(10)] == arms
    assert test._loaded().version == version


def test_what_another_program_has_assigned_is_found_by_one_that_remembers_all_of_its_own(
    test: bs.Experiment, tmp_path: Path
) -> None:
    with bs.open(tmp_path / "soon.db") as store:
        other = store.get("soon")
        for i in range(0, 40, 2):
            # Each knows all that it has assigned itself, and nothing of the other.
            assert test.assign(i) == other.assign(i)
            assert other.assign(i + 1) == test.assign(i + 1)
    assert test.status().units == 40
    assert test.verify().agrees


def test_another_program_releases_or_deletes_what_is_remembered(
    test: bs.Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bascule.live.commit.runner.FRESH", 0.0)
    arms = {i: test.assign(i) for i in range(100)}
    test.record_many([(i, float(arm == "b")) for i, arm in arms.items()])
    assert test.state == "decided"
    with bs.open(tmp_path / "soon.db") as other:
        assert {test.assign(i) for i in arms} == {"a", "b"}
        other.get("soon").release()
        assert {test.assign(i) for i in arms} == {"b"}
        other.get("soon").stop()
        other.delete("soon")
        with pytest.raises(bs.InputError, match="no experiment"):
            test.assign(1)
