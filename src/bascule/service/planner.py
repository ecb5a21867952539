"""Plans, computed in a separate process, since each takes seconds of processor time."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from starlette.requests import ClientDisconnect, Request

from bascule.core.errors import InputError
from bascule.service.reading.turns import Turns
from bascule.service.responses import Problem

SECONDS = 30.0
"""Seconds that a plan may take if other plans are waiting."""

ALONE_SECONDS = 120.0
"""Seconds that a plan may take if no other is waiting, since code may have to be compiled first."""

START_SECONDS = 180.0
"""Seconds that the process may take to start: it compiles the code that most plans need."""

LOOK_EVERY, LOOK_FOR_CALLER = 1.0, 0.5
"""Seconds between checks whether another plan waits, and whether the client is connected."""

GRACE = 5.0
"""Seconds that an interrupted plan has to end before its process is killed."""

MOST_ASKED, MOST_OF_ONE = 12, 3
"""Maximum number of plans asked for at once: by all callers, and by one.

One caller may ask for three: the form asks for a first answer and for its simulation, and the test
that is created from it asks once more.
"""

SPAWN = multiprocessing.get_context("spawn")


class Planner:
    """Computes plans in a separate process, one at a time, and ends those that take too long.

    Only one thread at a time uses the process, and it waits for the result. A plan that no caller
    waits for any more is interrupted, and the process goes on with the next. If the interruption
    takes too long, the process is killed, and the thread reads the end of the pipe.
    """

    def __init__(self) -> None:
        self._turns = Turns(MOST_ASKED, MOST_OF_ONE, "plans")
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None

    async def make(self, caller: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of `function(*arguments)` in the process, on behalf of a caller."""
        async with self._turns.turn(caller):
            if self._process is None:
                await self._in_time(START_SECONDS, self._start)
            made = await self._in_time(SECONDS, self._ask, function, arguments)
        if isinstance(made, InputError):
            raise made
        return made

    async def make_for(
        self, request: Request, caller: str, function: Callable[..., Any], *arguments: Any
    ) -> Any:
        """Return the result as `make` does; raise `ClientDisconnect` if the client hangs up."""
        making = asyncio.ensure_future(self.make(caller, function, *arguments))
        try:
            while not (await asyncio.wait([making], timeout=LOOK_FOR_CALLER))[0]:
                if await request.is_disconnected():
                    raise ClientDisconnect
            return making.result()
        finally:
            making.cancel()

    async def close(self) -> None:
        """End the process, even while it computes a plan."""
        self._kill()
        # The call in progress fails, because its process is gone. Wait for the end of its turn.
        async with self._turns.turn("", is_limited=False):
            self._end()

    async def _in_time(self, limit: float, function: Callable[..., Any], *arguments: object) -> Any:
        """Call a function in a thread; end the call if it takes too long or its caller is gone."""
        call = asyncio.get_running_loop().run_in_executor(None, function, *arguments)
        try:
            await asyncio.wait([call], timeout=limit)
            waited = limit
            while not call.done() and self._turns.asked == 1 and waited < ALONE_SECONDS:
                await asyncio.wait([call], timeout=LOOK_EVERY)
                waited += LOOK_EVERY
            is_late = not call.done()
        finally:
            if not call.done():
                await self._give_up(call, function == self._start)
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

    async def _give_up(self, call: asyncio.Future[Any], is_start: bool) -> None:
        """Wait until a call has ended: a plan is interrupted, and its process killed if need be."""
        try:
            if is_start:
                # A start goes on, since other callers wait for the process too.
                await asyncio.wait([call], timeout=START_SECONDS)
            elif self._interrupt():
                await asyncio.wait([call], timeout=GRACE)
        finally:
            while not call.done():
                self._kill()
                await asyncio.wait([call], timeout=0.1)

    def _start(self) -> None:
        self._pipe, theirs = SPAWN.Pipe()
        process = SPAWN.Process(target=_work, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        self._process = process
        self._receive()

    def _ask(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        assert self._pipe is not None
        self._pipe.send((function, arguments))
        return self._receive()

    def _receive(self) -> Any:
        assert self._pipe is not None
        try:
            return self._pipe.recv()
        except (EOFError, OSError):
            self._end()
            raise Problem(422, "planning failed: ask for less extreme numbers") from None

    def _interrupt(self) -> bool:
        """Interrupt the plan being computed; return False if that is not possible."""
        process, number = self._process, getattr(signal, "SIGUSR1", None)
        if process is None or process.pid is None or number is None:
            return False
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)
        return True

    def _kill(self) -> None:
        # The thread may have closed the process a moment ago.
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
    # The modules of planning are imported in that process only.
    from bascule.service.planner_process import answer_all

    answer_all(pipe)
