"""Calls of the store from the event loop, made in threads and with a deadline.

Nothing that waits for a disk or a database runs on the event loop. Short calls (keys, sessions, the
list of experiments) have threads that long ones (status, diagnostics, pages) cannot take, so that
signing in and assigning go on while reports are computed.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Generic, ParamSpec, TypeVar

from starlette.requests import Request

from bascule.service.responses import unavailable
from bascule.service.telemetry import log

SHORT_THREADS, LONG_THREADS, COMPUTING_THREADS = 8, 6, 1
"""Numbers of threads by kind of call: more long calls would compete with the event loop."""

SLOW = 2.0
"""Seconds after which a call is logged as slow."""

SHORT_DEADLINE, LONG_DEADLINE = 10.0, 60.0
"""Seconds after which a short or a long call is refused with 503."""

LEAVING = 2.0
"""Seconds that unfinished calls get to finish when the service ends."""

THREADS = "bascule-call"
"""Prefix of the names of the threads."""

Given = ParamSpec("Given")
Result = TypeVar("Result")


class StoreCalls:
    """Runs calls that wait for the store."""

    def __init__(self) -> None:
        self._short = ThreadPoolExecutor(SHORT_THREADS, f"{THREADS}-short")
        self._long = ThreadPoolExecutor(LONG_THREADS, f"{THREADS}-long")
        self._computing = ThreadPoolExecutor(COMPUTING_THREADS, f"{THREADS}-computing")

    async def short(
        self, function: Callable[Given, Result], *args: Given.args, **named: Given.kwargs
    ) -> Result:
        """Return the result of a call, in a thread, that reads or writes a few rows."""
        call = self._in_thread(self._short, partial(function, *args, **named))
        return await self.in_time(call, _name(function), SHORT_DEADLINE)

    async def long(
        self, function: Callable[Given, Result], *args: Given.args, **named: Given.kwargs
    ) -> Result:
        """Return the result of a call, in a thread, that may read a whole log."""
        call = self._in_thread(self._long, partial(function, *args, **named))
        return await self.in_time(call, _name(function), LONG_DEADLINE)

    async def compute(
        self, function: Callable[Given, Result], *args: Given.args, **named: Given.kwargs
    ) -> Result:
        """Return the result of a computation, in a thread, that needs no store."""
        call = self._in_thread(self._computing, partial(function, *args, **named))
        return await self.in_time(call, _name(function), LONG_DEADLINE)

    async def in_time(
        self, answer: Awaitable[Result], name: str, deadline: float | None = None
    ) -> Result:
        """Await an answer of the store; log a slow one, and refuse with 503 after the deadline.

        >>> asyncio.run(StoreCalls().in_time(asyncio.sleep(0, "a"), "ask"))
        'a'
        """
        limit = SHORT_DEADLINE if deadline is None else deadline
        since = time.monotonic()
        try:
            async with asyncio.timeout(limit):
                return await answer
        except TimeoutError:
            log("store did not answer", "error", call=name, seconds=limit)
            raise unavailable(
                f"the store did not answer within {limit:g} s: the request may still be carried "
                "out, so check before you repeat one that has no id"
            ) from None
        finally:
            seconds = time.monotonic() - since
            if seconds > SLOW:
                log("store is slow", "warning", call=name, seconds=round(seconds, 1))

    async def close(self) -> None:
        """Drop calls that have not begun, and give the others a few seconds to finish."""
        ending = [
            # Plain threads: the event loop would wait for those of its own pool when it is closed.
            threading.Thread(target=pool.shutdown, kwargs={"cancel_futures": True}, daemon=True)
            for pool in (self._short, self._long, self._computing)
        ]
        for one in ending:
            one.start()
        deadline = time.monotonic() + LEAVING
        while any(thread.is_alive() for thread in ending) and time.monotonic() < deadline:
            await asyncio.sleep(0.01)

    def _in_thread(
        self, pool: ThreadPoolExecutor, function: Callable[[], Result]
    ) -> asyncio.Future[Result]:
        # The context carries the actor's name for the audit log.
        context = contextvars.copy_context()
        return asyncio.get_running_loop().run_in_executor(pool, context.run, function)


def calls_of(request: Request) -> StoreCalls:
    """Return the object through which an endpoint calls the store."""
    calls: StoreCalls = request.app.state.calls
    return calls


class _Reading:
    """A read in progress: an event that is set when it ends, and its error if it failed."""

    __slots__ = ("ended", "error")

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.error: Exception | None = None


class SharedRead(Generic[Result]):
    """A value read from the store and shared by all callers that need it at the same time.

    The first caller who needs a newer value reads it; the others wait for the event that the reader
    sets in the same step in which its read ends. There is no moment at which a read has ended and
    still counts as under way, so nobody can wait for one that is over. If a read fails, all who
    waited for it get the error; the next caller tries again. If the reader is cancelled, because
    its client has hung up, one of those who waited reads.
    """

    def __init__(self, read: Callable[[], Awaitable[Result]], empty: Result) -> None:
        self._read = read
        self._reading: _Reading | None = None
        self.value = empty
        self.read_at = float("-inf")
        """When the newest complete read began, by `time.monotonic`; -inf after `forget`."""
        self.seconds = 0.0
        """How long the newest read took."""
        self._changed_at = float("-inf")
        self._renewal: asyncio.Task[None] | None = None

    def is_fresh(self, age: float) -> bool:
        """Whether the value is less than `age` seconds old; start a new reading if it soon is not.

        The first caller after half of `age` starts the next reading and does not wait for it. So
        nobody waits while callers come often.
        """
        old = time.monotonic() - self.read_at
        if old >= age:
            return False
        if self._reading is None and old >= age / 2:
            self._renewal = asyncio.create_task(self._renew())
        return True

    async def _renew(self) -> None:
        # A reading that fails is tried again by the next caller, who gets the error.
        with suppress(Exception):
            await self._refresh()

    async def newer_than(self, since: float) -> Result:
        """Return the value, read again unless the last read began after `since`."""
        while self.read_at <= since:
            if self._reading is None:
                await self._refresh()
            else:
                reading = self._reading
                await reading.ended.wait()
                if reading.error is not None:
                    raise reading.error
        return self.value

    def forget(self) -> None:
        """Mark the value as out of date, so that the next caller reads it again."""
        self._changed_at, self.read_at = time.monotonic(), float("-inf")

    async def _refresh(self) -> None:
        reading = self._reading = _Reading()
        since = time.monotonic()
        try:
            self.value = await self._read()
            # A reading that began before the last change may not have it.
            self.read_at = since if since > self._changed_at else float("-inf")
        except Exception as error:
            reading.error = error
            raise
        finally:
            self.seconds = time.monotonic() - since
            self._reading = None
            reading.ended.set()


def _name(function: Callable[..., object]) -> str:
    function = function.func if isinstance(function, partial) else function
    return getattr(function, "__qualname__", type(function).__name__)
