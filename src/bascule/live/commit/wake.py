"""Event loops that wait for results which another thread has: each is woken once for many."""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import deque
from contextlib import suppress
from threading import Lock


class Waker:
    """Wakes those who wait in one event loop.

    To wake a loop costs far more than one result more, so that it is called once for all results
    that come before it has turned.
    """

    def __init__(self, loop: AbstractEventLoop) -> None:
        self.loop = loop
        # Threads may append to it without a lock.
        self._ready: deque[Future[None]] = deque()
        self._is_called = False

    def wake(self, waiter: Future[None]) -> None:
        """Have the loop resolve a future of it; from any thread."""
        self._ready.append(waiter)
        if not self._is_called:
            self._is_called = True
            # A loop that is closed has nobody left who waits.
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._resolve)

    def _resolve(self) -> None:
        # First of all, so that who comes from here on either is found below, or calls again.
        self._is_called = False
        while self._ready:
            waiter = self._ready.popleft()
            # A caller that was cancelled has gone.
            if not waiter.done():
                waiter.set_result(None)


class Wakers:
    """The wakers of a store, one for each event loop in which someone has waited."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._wakers: dict[AbstractEventLoop, Waker] = {}

    def here(self) -> Waker:
        """Return the waker of the running loop."""
        loop = get_running_loop()
        waker = self._wakers.get(loop)
        if waker is None:
            with self._lock:
                kept = {one: its for one, its in self._wakers.items() if not one.is_closed()}
                waker = Waker(loop)
                self._wakers = {**kept, loop: waker}
        return waker
