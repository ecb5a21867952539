"""Viewers who ask at about the same time share one render, and give way to assignments."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from bascule.service.reading import shared
from bascule.service.reading.shared import (
    AT_ONCE,
    MOST_BYTES,
    SharedRenders,
)
from bascule.service.reading.store_calls import StoreCalls
from bascule.service.reading.turns import PATIENCE, UnitRequests


class Work:
    """A render that counts how often it runs, and how many run at once."""

    def __init__(self, seconds: float = 0.02) -> None:
        self.seconds = seconds
        self.runs = 0
        self.now = 0
        self.most = 0

    def __call__(self) -> int:
        self.runs += 1
        self.now += 1
        self.most = max(self.most, self.now)
        time.sleep(self.seconds)
        self.now -= 1
        return self.runs


def played(play: Callable[[SharedRenders, UnitRequests], Awaitable[None]]) -> None:
    """Play a scene with renders of its own."""

    async def scene() -> None:
        calls, unit_requests = StoreCalls(), UnitRequests()
        try:
            await play(SharedRenders(calls, unit_requests), unit_requests)
        finally:
            await calls.close()

    asyncio.run(scene())


def test_those_who_need_the_latest_share_the_next_read() -> None:
    async def play(renders: SharedRenders, _: UnitRequests) -> None:
        reads: list[int] = []

        async def read() -> int:
            await asyncio.sleep(0.01)
            reads.append(1)
            return len(reads)

        first = asyncio.ensure_future(renders.wait("list", read, age=0.0))
        await asyncio.sleep(0)
        later = [renders.wait("list", read, age=0.0) for _ in range(20)]
        assert await asyncio.gather(*later) == [2] * 20
        assert (await first, await renders.wait("list", read, age=0.0)) == (1, 3)

    played(play)


def test_twenty_viewers_cause_one_render() -> None:
    async def play(renders: SharedRenders, _: UnitRequests) -> None:
        work = Work()
        found = await asyncio.gather(*(renders.get("page", work) for _ in range(20)))
        assert found == [1] * 20
        assert await renders.get("page", work) == 1
        assert work.runs == 1

    played(play)


def test_a_render_is_made_again_when_it_is_a_second_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "FRESH", 0.05)

    async def play(renders: SharedRenders, _: UnitRequests) -> None:
        work = Work(0.0)
        assert await renders.get("page", work) == 1
        await asyncio.sleep(0.1)
        assert await renders.get("page", work) == 2

    played(play)


def test_a_change_is_seen_at_once() -> None:
    async def play(renders: SharedRenders, _: UnitRequests) -> None:
        work = Work(0.0)
        assert await renders.get("page", work) == 1
        renders.forget()
        assert await renders.get("page", work) == 2

    played(play)


def test_callers_who_see_different_things_do_not_share() -> None:
    async def play(renders: SharedRenders, _: UnitRequests) -> None:
        assert await renders.get(("page", "admin"), lambda: "buttons") == "buttons"
        assert await renders.get(("page", "viewer"), lambda: "no buttons") == "no buttons"

    played(play)


def test_few_renders_are_made_at_once() -> None:
    async def play(renders: SharedRenders, _: UnitRequests) -> None:
        work = Work()
        await asyncio.gather(*(renders.get(key, work) for key in range(12)))
        assert work.runs == 12
        assert work.most <= AT_ONCE

    played(play)


def test_failures_reach_all_who_wait_and_are_not_kept() -> None:
    async def play(renders: SharedRenders, _: UnitRequests) -> None:
        def fail() -> None:
            raise LookupError("no such test")

        asked = (renders.get("missing", fail) for _ in range(3))
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [str(error) for error in found] == ["no such test"] * 3
        assert await renders.get("missing", lambda: "there now") == "there now"

    played(play)


def test_memory_is_bounded() -> None:
    async def play(renders: SharedRenders, _: UnitRequests) -> None:
        for key in range(20):
            await renders.wait(key, lambda: asyncio.sleep(0, "x" * (MOST_BYTES // 10)))
        assert len(renders._kept) == 10

    played(play)


def test_pages_are_answered_one_by_one_and_wait_for_units() -> None:
    async def play(renders: SharedRenders, unit_requests: UnitRequests) -> None:
        work, turns, turn = Work(0.01), [], 0
        done = asyncio.Event()

        async def count() -> None:
            nonlocal turn
            while not done.is_set():
                turn += 1
                await asyncio.sleep(0)

        async def view() -> None:
            await renders.get("page", work)
            turns.append(turn)

        counting = asyncio.create_task(count())
        unit_requests.active = 1
        since = time.monotonic()
        # All wait for one render, and none is answered in the same turn as another.
        await asyncio.gather(*(view() for _ in range(10)))
        assert time.monotonic() - since >= PATIENCE
        unit_requests.active = 0
        assert work.runs == 1
        assert len(set(turns)) == 10
        since = time.monotonic()
        await unit_requests.wait_for_turn()
        assert time.monotonic() - since < PATIENCE
        done.set()
        await counting

    played(play)


def test_one_who_hangs_up_while_waiting_does_not_hold_up_the_next() -> None:
    async def play(_: SharedRenders, unit_requests: UnitRequests) -> None:
        unit_requests.active = 1
        waiting = [asyncio.create_task(unit_requests.wait_for_turn()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        unit_requests.active = 0
        await asyncio.gather(*waiting[1:])
        assert waiting[0].cancelled()

    played(play)
