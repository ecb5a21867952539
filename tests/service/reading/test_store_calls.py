"""A store that does not answer: callers are told to come again, and health does not wait for it."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.service.running import DESIGN, Service

import bascule as bs
from bascule.live.api import acting_as
from bascule.service.reading import store_calls
from bascule.service.reading.store_calls import SharedRead, StoreCalls
from bascule.service.responses import Problem


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program that writes to the store and does not finish."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def test_a_locked_store_is_503_with_retry_after_and_a_line_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(store_calls, "SLOW", 0.1)
    monkeypatch.setattr(store_calls, "SHORT_DEADLINE", 0.5)
    caplog.set_level(logging.INFO, "bascule")
    path = tmp_path / "shop.db"
    service = Service(str(path))
    try:
        service.store.create("button", bs.Design.from_dict(DESIGN))
        with service.caller("admin") as caller:
            assert caller.get("/v1/experiments").status_code == 200
            with locked(path):
                since = time.monotonic()
                for url, body in (
                    ("/v1/experiments/button/assign", {"unit": "ann"}),
                    (
                        "/v1/experiments/button/outcomes",
                        {"outcomes": [{"unit": "ann", "value": 1}]},
                    ),
                    ("/v1/experiments", {"name": "other", "design": DESIGN}),
                    (
                        "/ofrep/v1/evaluate/flags/button",
                        {"context": {"targetingKey": "ann"}},
                    ),
                ):
                    refused = caller.post(url, json=body)
                    assert refused.status_code == 503, url
                    assert int(refused.headers["retry-after"]) >= 1
                assert caller.get("/readyz").status_code == 503
                assert time.monotonic() - since < 10
                health = time.monotonic()
                assert caller.get("/healthz").status_code == 200
                assert caller.get("/v1/experiments/button/history").status_code == 200
                assert time.monotonic() - health < 1
            said = [record.getMessage() for record in caplog.records]
            assert "store is slow" in said
            assert "store did not answer" in said
            assert caller.get("/healthz").status_code == 200
            # The answer of /readyz is no error: a probe asks for it again and again.
            assert "bascule_errors_total 4.0" in caller.get("/metrics").text
    finally:
        service.close()


def test_long_calls_leave_threads_for_short_ones() -> None:
    async def use() -> float:
        calls, over = StoreCalls(), threading.Event()
        busy = [
            asyncio.ensure_future(calls.long(over.wait, 20))
            for _ in range(store_calls.LONG_THREADS + 10)
        ]
        await asyncio.sleep(0.05)
        since = time.monotonic()
        await calls.short(time.sleep, 0.0)
        took = time.monotonic() - since
        over.set()
        await asyncio.gather(*busy)
        await calls.close()
        return took

    assert asyncio.run(use()) < 1


def test_calls_keep_the_name_of_the_caller() -> None:
    async def use(store: bs.Store) -> None:
        calls = StoreCalls()
        with acting_as("ann"):
            await calls.short(store.create, "button", bs.Design.from_dict(DESIGN))
        await calls.close()

    with bs.open(":memory:", actor="nobody") as store:
        asyncio.run(use(store))
        assert {entry["actor"] for entry in store.audit("button")} == {"ann"}


def test_those_who_ask_at_the_same_time_share_a_read_and_its_failure() -> None:
    reads = 0

    async def read() -> int:
        nonlocal reads
        reads += 1
        await asyncio.sleep(0.01)
        if reads == 1:
            raise Problem(503, "the store did not answer")
        return reads

    async def use() -> tuple[list[object], list[int]]:
        shared = SharedRead(read, 0)
        now = time.monotonic()
        first = await asyncio.gather(
            *[shared.newer_than(now) for _ in range(5)], return_exceptions=True
        )
        second = await asyncio.gather(*[shared.newer_than(now) for _ in range(5)])
        shared.forget()
        return list(first), [*second, await shared.newer_than(now)]

    failed, values = asyncio.run(use())
    assert all(isinstance(one, Problem) for one in failed)
    assert values == [2, 2, 2, 2, 2, 3]


def test_asking_in_the_step_after_a_read_has_ended_does_not_stop_the_loop() -> None:
    """A caller may ask between the end of a read and the steps of those who waited for it."""

    async def read() -> int:
        await asyncio.sleep(0)
        return 1

    async def use() -> int:
        shared, answered = SharedRead(read, 0), 0

        async def ask(pauses: int) -> None:
            nonlocal answered
            for _ in range(50):
                # Pauses of several lengths bring an asker into every step of another's read.
                for _ in range(pauses):
                    await asyncio.sleep(0)
                await shared.newer_than(time.monotonic())
                answered += 1

        async with asyncio.timeout(10):
            await asyncio.gather(*[ask(pauses) for pauses in range(16)])
        return answered

    assert asyncio.run(use()) == 800


def test_a_reader_who_hangs_up_leaves_the_read_to_one_who_waits() -> None:
    reads = 0

    async def read() -> int:
        nonlocal reads
        reads += 1
        await asyncio.sleep(0.01)
        return reads

    async def use() -> list[int]:
        shared = SharedRead(read, 0)
        now = time.monotonic()
        first, *others = [asyncio.create_task(shared.newer_than(now)) for _ in range(4)]
        await asyncio.sleep(0)
        first.cancel()
        return await asyncio.gather(*others)

    assert asyncio.run(use()) == [2, 2, 2]
