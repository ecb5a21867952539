"""Callers that do not wait: futures, event loops, and units that are remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import pytest

import bascule as bs
from bascule.live import groups
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
        asked = [test.assign_async(i) for i in range(102)]
        asked[7].cancel()
        told = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(told[7], asyncio.CancelledError)
        assert all(isinstance(one, str) for i, one in enumerate(told[:100]) if i != 7)
        assert [getattr(one, "field", None) for one in told[100:]] == ["max_units"] * 2
        again = [test.assign_async(i) for i in range(100)]
        assert all(one.done() for one in again)

    version = test._loaded().version
    asyncio.run(call())
    assert test._loaded().version == version + 1
    assert test.status().units == 100


def test_in_a_loop_outcomes_come_after_the_units_asked_for_before(test: bs.Experiment) -> None:
    async def call() -> None:
        arm = test.assign_async("new")
        (receipt,) = await test.record_async([("new", 1.0)])
        assert receipt.accepted
        assert await arm in ("a", "b")

    asyncio.run(call())


def test_a_group_that_fails_fails_for_all_of_a_loop(
    test: bs.Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(work: object, units: object) -> list[int]:
        raise bs.StoreError("the disk is full")

    async def call() -> list[object]:
        asked = [test.assign_async(i) for i in range(3)]
        return await asyncio.gather(*asked, return_exceptions=True)

    monkeypatch.setattr(test.store, "assigning", fail)
    assert [str(one) for one in asyncio.run(call())] == ["the disk is full"] * 3


def test_a_unit_that_is_remembered_is_answered_without_a_write(test: bs.Experiment) -> None:
    arms = test.assign_many(range(10))
    version = test._loaded().version
    with test.store._database.writing():
        # Nobody else could write now.
        assert [test.assign(i) for i in range(10)] == arms
        assert [test.assign_soon(i).result(0) for i in range(10)] == arms
    assert test._loaded().version == version


def test_another_program_releases_or_deletes_what_is_remembered(
    test: bs.Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bascule.live.store.FRESH", 0.0)
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
