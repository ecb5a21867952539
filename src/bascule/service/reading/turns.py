"""The order of requests: those about units go first, and callers take turns at slow calls."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bascule.service.responses import unavailable

MOST_SERVED = 1000
"""Maximum number of callers whose last turn is remembered."""

PATIENCE, PAUSE = 0.05, 0.001
"""Seconds that other requests wait for those about units, at most, and seconds between two checks
whether these are answered."""


class UnitRequests:
    """Puts small requests about units first: others begin one by one, when none is being answered.

    A transaction needs Python's lock for each of its statements, and then the event loop for its
    answer. If other requests began meanwhile, each of these steps would wait for all of them. No
    other request waits longer than `PATIENCE`, however many units are assigned.
    """

    def __init__(self) -> None:
        self.active = 0
        """The number of small requests about units that are being answered."""
        self._waiting: deque[tuple[asyncio.Future[None], float]] = deque()

    async def wait_for_turn(self) -> None:
        """Wait until no small request about a unit is active, then for a turn of the event loop."""
        loop = asyncio.get_running_loop()
        called = loop.create_future()
        self._waiting.append((called, loop.time() + PATIENCE))
        if len(self._waiting) == 1:
            self._call_next(loop)
        await called

    def _call_next(self, loop: asyncio.AbstractEventLoop) -> None:
        called, until = self._waiting[0]
        if self.active and loop.time() < until:
            loop.call_later(PAUSE, self._call_next, loop)
            return
        # The place is kept for one more turn, so that requests that come meanwhile begin in a later
        # one.
        loop.call_soon(self._leave, loop)
        if not called.done():
            called.set_result(None)

    def _leave(self, loop: asyncio.AbstractEventLoop) -> None:
        self._waiting.popleft()
        if self._waiting:
            self._call_next(loop)


class Recent(dict[str, None]):
    """The `most` callers that came last, in the order in which they came.

    >>> recent = Recent(2)
    >>> for caller in ("ann", "bob", "ann", "eve"):
    ...     recent.add(caller)
    >>> list(recent)
    ['ann', 'eve']
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def add(self, caller: str) -> None:
        """Add a caller at the end."""
        self.pop(caller, None)
        self[caller] = None
        if len(self) > self._most:
            del self[next(iter(self))]


class Turns:
    """Gives callers turns at a resource; next is the caller whose last turn was longest ago.

    At most `most` turns are asked for at once, and at most `most_of_one` by one caller; `name` is
    that of the resource, for messages.
    """

    def __init__(self, most: int, most_of_one: int, name: str) -> None:
        self._most, self._most_of_one, self._name = most, most_of_one, name
        self._asked: Counter[str] = Counter()
        self._is_taken = False
        self._waiting: dict[asyncio.Future[None], str] = {}
        self._served = Recent(MOST_SERVED)

    @property
    def asked(self) -> int:
        """Number of turns under way or waited for."""
        return self._asked.total()

    @asynccontextmanager
    async def turn(self, who: str, is_limited: bool = True) -> AsyncIterator[None]:
        """Wait for a turn, held inside this block; raise if too many callers wait already."""
        if is_limited and (self.asked >= self._most or self._asked[who] >= self._most_of_one):
            raise unavailable(f"too many {self._name} are asked for at once: wait, then repeat")
        self._asked[who] += 1
        try:
            await self._wait(who)
            try:
                yield
            finally:
                self._call_next()
        finally:
            self._asked[who] -= 1
            # The unary plus drops callers without turns, whose zero counts would be kept for ever.
            self._asked = +self._asked

    async def _wait(self, who: str) -> None:
        if self._is_taken:
            called = asyncio.get_running_loop().create_future()
            self._waiting[called] = who
            try:
                await called
            except asyncio.CancelledError:
                if self._waiting.pop(called, None) is None:
                    # The caller was cancelled just after it got its turn: pass the turn on.
                    self._call_next()
                raise
        self._is_taken = True
        self._served.add(who)

    def _call_next(self) -> None:
        """Give the turn to the caller whose last turn was longest ago; if several, to the first."""
        places = {caller: place for place, caller in enumerate(self._served)}
        order = {called: places.get(caller, -1) for called, caller in self._waiting.items()}
        self._is_taken = bool(order)
        if order:
            called = min(order, key=order.__getitem__)
            del self._waiting[called]
            called.set_result(None)
