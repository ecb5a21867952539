"""Renders that all viewers who ask at about the same time share, few of them at once.

Twenty people who look at one test need one render a second, not twenty. What is shared must be the
same for all of them: the key of a render has everything of a caller that its result depends on,
and what belongs to one session (the CSRF token) is filled in afterwards.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, ParamSpec, TypeVar

from bascule.service.reading.store_calls import SharedRead, StoreCalls

Given = ParamSpec("Given")
Result = TypeVar("Result")

FRESH = 1.0
"""Seconds for which a render is used."""

REST = 3.0
"""A render is used for at least this multiple of the time that it took, so that no page takes more
than a third of a thread however many look at it."""

AT_ONCE = 2
"""Renders that are made at once: they compute as much as they read, and assignments come first."""

BUSY, TURN = 4, 0.01
"""The requests of units in progress from which on pages take turns, and the seconds of a turn."""

MOST_KEPT = 256


class UnitRequests:
    """Counts the requests of units that are being answered; pages wait their turn meanwhile."""

    def __init__(self) -> None:
        self.active = 0
        """The number of requests of units that are being answered."""
        self._turn = asyncio.Lock()

    async def wait_for_turn(self) -> None:
        """Wait for a turn: while units are being assigned, one page after the other has one."""
        if self.active >= BUSY:
            async with self._turn:
                await asyncio.sleep(TURN)


class SharedRenders:
    """Renders by key, each shared among the viewers who ask while it is fresh."""

    def __init__(self, calls: StoreCalls, unit_requests: UnitRequests) -> None:
        self._calls = calls
        self._unit_requests = unit_requests
        self._room = asyncio.Semaphore(AT_ONCE)
        self._kept: dict[Hashable, SharedRead[Any]] = {}

    async def get(
        self, key: Hashable, do: Callable[Given, Result], *given: Given.args, **named: Given.kwargs
    ) -> Result:
        """Return the result of `do(*given)`, at most a second old unless it takes long to compute.

        A key stands for one function and its arguments.
        """

        async def render() -> Result:
            async with self._room:
                return await self._calls.long(do, *given, **named)

        return await self.wait(key, render)  # type: ignore[no-any-return]

    async def wait(self, key: Hashable, read: Callable[[], Awaitable[Any]]) -> Any:
        """Return what `read()` gave at most a second ago, or let it read again."""
        render = self._kept.get(key)
        if render is None:
            self._make_room()
            render = self._kept[key] = SharedRead(read, None)
        try:
            value = await render.newer_than(time.monotonic() - max(FRESH, REST * render.seconds))
        except Exception:
            # Nothing is kept of what failed: names that do not exist would fill the memory.
            self._kept.pop(key, None)
            raise
        # All who waited for a render have it now: their answers are not written in one turn of
        # the event loop, which would keep units waiting.
        await self._unit_requests.wait_for_turn()
        return value

    def forget(self) -> None:
        """Render everything again when it is asked for: something was changed."""
        for render in self._kept.values():
            render.forget()

    def _make_room(self) -> None:
        if len(self._kept) >= MOST_KEPT:
            del self._kept[min(self._kept, key=lambda key: self._kept[key].read_at)]
