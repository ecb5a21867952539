"""Plans, computed in a process beside the service, since they take seconds of a processor."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from bascule.core.errors import InputError
from bascule.service.api.schemas import requests as models
from bascule.service.responses import Problem, unavailable

SECONDS = 30.0
"""How long a plan may take if other plans are waiting for it to finish."""

ALONE_SECONDS = 120.0
"""How long a plan may take if no other is waiting: the first of a kind is compiled meanwhile."""

START_SECONDS = 180.0
"""How long the process may take to start, when it compiles what most plans need."""

LOOK_EVERY = 1.0
"""Seconds between checks whether another plan has begun to wait."""

MOST_ASKED, MOST_OF_ONE = 8, 2
"""Plans that are asked for at once: by all, and by one key."""

SPAWN = multiprocessing.get_context("spawn")


class Planner:
    """One process that plans, one plan at a time; one that takes too long is ended.

    A thread waits for the process, and is the only one that uses it. To end the wait, the process
    is killed: the thread then comes to the end of the pipe.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._asked: Counter[str] = Counter()
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None

    async def make(self, asked: models.Model, who: str = "") -> Any:
        """The plan for a request of any kind, for the key `who`, or for a person on the page."""
        most_of_one = MOST_OF_ONE if who else MOST_ASKED
        if self._asked.total() >= MOST_ASKED or self._asked[who] >= most_of_one:
            raise unavailable("too many plans are asked for at once: wait for one")
        self._asked[who] += 1
        try:
            async with self._lock:
                if self._process is None:
                    await self._in_time(START_SECONDS, self._start)
                made = await self._in_time(SECONDS, self._ask, asked)
        finally:
            self._asked[who] -= 1
            # Without those who wait for nothing, which would be kept for ever.
            self._asked = +self._asked
        if isinstance(made, InputError):
            raise made
        return made

    async def close(self) -> None:
        """End the process, whatever it does at the time."""
        self._kill()
        # Whoever waits for its answer gets none.
        async with self._lock:
            self._end()

    async def _in_time(self, limit: float, do: Callable[..., Any], *given: object) -> Any:
        """Call something in a thread; if it takes too long or nobody waits, end the process."""
        call = asyncio.get_running_loop().run_in_executor(None, do, *given)
        try:
            await asyncio.wait([call], timeout=limit)
            waited = limit
            while not call.done() and self._asked.total() == 1 and waited < ALONE_SECONDS:
                await asyncio.wait([call], timeout=LOOK_EVERY)
                waited += LOOK_EVERY
            is_late = not call.done()
        finally:
            while not call.done():
                self._kill()
                await asyncio.wait([call], timeout=0.1)
            failed = call.exception()
        if is_late:
            raise Problem(
                422,
                f"planning took longer than {waited:g} s: ask for a larger lift, or for fewer "
                "metrics, or use bascule plan, which has no limit",
            )
        if failed is not None:
            raise failed
        return call.result()

    def _start(self) -> None:
        self._pipe, theirs = SPAWN.Pipe()
        process = SPAWN.Process(target=_work, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        self._process = process
        self._receive()

    def _ask(self, asked: models.Model) -> Any:
        assert self._pipe is not None
        self._pipe.send(asked)
        return self._receive()

    def _receive(self) -> Any:
        assert self._pipe is not None
        try:
            return self._pipe.recv()
        except (EOFError, OSError):
            self._end()
            raise Problem(422, "planning failed: ask for less extreme numbers") from None

    def _kill(self) -> None:
        # The thread may have ended and closed it a moment ago.
        with suppress(ValueError):
            if self._process is not None:
                self._process.kill()

    def _end(self) -> None:
        self._kill()
        process, pipe = self._process, self._pipe
        self._process = self._pipe = None
        if process is not None and pipe is not None:
            process.join()
            process.close()
            pipe.close()


def _work(pipe: Connection) -> None:
    # What plans is loaded in that process alone.
    from bascule.service.planner_process import answer_all

    answer_all(pipe)
