"""Callers that do not wait: futures, event loops, and units that are remembered."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from time import sleep
from typing import Any

import pytest
import uvloop

import bascule as bs
from bascule.live import groups
from bascule.live.enrolling import assign
from bascule.live.groups import Groups

COINS = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), max_units=100)


@pytest.fixture
def test(tmp_path: Path) -> Iterator[bs.Experiment]:
    with bs.open(tmp_path / "soon.db") as store:
        yield store.create("soon", COINS)


def test_a_future_has_the_arm_that_everyone_else_is_told(test: bs.Experiment) -> None:
    futures = [test.assign_soon(i % 20) for i in range(60)]
    assert [future.result(10) for future in futures] == [test.assign(i % 20) for i in range(60)]
    receipts = test.record_soon([(i, 1.0, None, str(i)) for i in range(20)]).result(10)
    assert all(receipt.accepted for receipt in receipts)
    assert test.status().matured == 20
    assert test.verify().agrees


def test_a_future_has_the_error_that_assign_raises(test: bs.Experiment) -> None:
    test.pause()
    with pytest.raises(bs.InputError, match="start it again"):
        test.assign_soon("u").result(10)
    with pytest.raises(bs.InputError, match="unit must be text"):
        test.assign_soon("")


def test_callers_of_an_event_loop_share_transactions(test: bs.Experiment) -> None:
    async def call(caller: int) -> list[str]:
        told = [await test.assign_async(f"{caller} {i}") for i in range(5)]
        (receipt,) = await test.record_async([(f"{caller} 0", 1.0)])
        assert receipt.accepted
        with pytest.raises(bs.InputError, match="unit must be text"):
            await test.assign_async("x" * 501)
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
        asked = [asyncio.create_task(test.assign_async(i)) for i in range(102)]
        await asyncio.sleep(0)
        asked[7].cancel()
        told = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(told[7], asyncio.CancelledError)
        assert all(isinstance(one, str) for i, one in enumerate(told[:100]) if i != 7)
        assert [getattr(one, "field", None) for one in told[100:]] == ["max_units"] * 2
        for i in range(100):
            # One that is remembered is there without a turn of the loop.
            with pytest.raises(StopIteration) as answer:
                test.assign_async(i).send(None)
            assert answer.value.value == test.assign(i)

    version = test._loaded().version
    asyncio.run(call())
    assert test._loaded().version == version + 1
    assert test.status().units == 100


def test_in_a_loop_outcomes_come_after_the_units_asked_for_before(test: bs.Experiment) -> None:
    async def call() -> None:
        arm = asyncio.create_task(test.assign_async("new"))
        await asyncio.sleep(0)
        (receipt,) = await test.record_async([("new", 1.0)])
        assert receipt.accepted
        assert await arm in ("a", "b")

    asyncio.run(call())


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_who_loses_patience_goes_at_once_and_nobody_else_notices(
    test: bs.Experiment, run: Callable[[Any], Any]
) -> None:
    cleaned: list[str] = []

    async def clean_up() -> None:
        # Called off before: in what it still has to do, it waits like everyone else.
        try:
            await asyncio.sleep(10)
        finally:
            cleaned.append(await test.assign_async("last"))

    async def call() -> None:
        cleaning = asyncio.create_task(clean_up())
        patient = [asyncio.create_task(test.assign_async(i)) for i in range(5)]
        hasty = [asyncio.create_task(test.assign_async(f"hasty {i}")) for i in range(5)]
        await asyncio.sleep(0)
        cleaning.cancel()
        for one in hasty:
            one.cancel()
        # Nothing can be written yet.
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await test.assign_async("also hasty")
        assert all(one.cancelled() for one in hasty)
        assert not any(one.done() for one in (*patient, cleaning))
        held.release()
        assert {await one for one in patient} == {"a", "b"}
        with pytest.raises(asyncio.CancelledError):
            await cleaning

    held = Lock()
    held.acquire()

    def wait(work: Any, units: Sequence[str]) -> Sequence[Any]:
        with held:
            return assign(work, units)

    test.store.assigning = wait
    run(call())
    # What waited to be written was written.
    assert test.status().units == 12
    assert cleaned == [test.assign("last")]


def test_a_group_that_fails_fails_for_all_of_a_loop(
    test: bs.Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(work: object, units: object) -> list[int]:
        raise bs.StoreError("the disk is full")

    async def ask(unit: int) -> tuple[str, list[str]]:
        try:
            return await test.assign_async(unit), []
        except bs.StoreError as problem:
            frames = traceback.extract_tb(problem.__traceback__)
            return str(problem), [frame.name for frame in frames]

    async def call() -> list[tuple[str, list[str]]]:
        return await asyncio.gather(*(ask(unit) for unit in range(3)))

    monkeypatch.setattr(test.store, "assigning", fail)
    assert asyncio.run(call()) == [("the disk is full", ["ask", "assign_async"])] * 3


def test_a_unit_that_is_remembered_is_answered_without_a_write(test: bs.Experiment) -> None:
    arms = test.assign_many(range(10))
    version = test._loaded().version
    with test.store._database.writing():
        # Nobody else could write now.
        assert [test.assign(i) for i in range(10)] == arms
        assert [test.assign_soon(i).result(0) for i in range(10)] == arms
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
    monkeypatch.setattr("bascule.live.transactions.FRESH", 0.0)
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


class Silent:
    callers = 1

    def __init__(self, job: int) -> None:
        self.job = job

    def tell(self, failed: BaseException | None) -> None:
        assert failed is None


def test_the_thread_that_writes_for_others_ends_when_nobody_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(groups, "IDLE", 0.01)
    done: list[int] = []
    some: Groups[int] = Groups(done.extend)
    for job in range(3):
        some.submit(Silent(job))
        while some._thread is not None:
            sleep(0.01)
    assert done == [0, 1, 2]
