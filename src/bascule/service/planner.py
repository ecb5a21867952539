"""Plans, computed in a process beside the service, since they take seconds of a processor."""

from __future__ import annotations

import asyncio
import base64
import pickle  # nosec B403: it reads only what our own process has written
import sys
from asyncio.subprocess import PIPE
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bascule.core.errors import InputError
from bascule.service.api.schemas import requests as models
from bascule.service.responses import Problem, unavailable

if TYPE_CHECKING:
    from bascule.planning.result import Plan
    from bascule.planning.rollout_result import Rollout

SECONDS = 30.0
"""How long a plan may take."""

START_SECONDS = 180.0
"""How long the process may take to start, when it compiles what most plans need."""

MOST_ASKED, MOST_OF_ONE = 8, 2
"""Plans that are asked for at once: by all, and by one key."""

LONGEST_LINE = 2**24


class Planner:
    """One process that plans, one plan at a time; one that takes too long is ended."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._asked: Counter[str] = Counter()
        self._process: asyncio.subprocess.Process | None = None

    async def plan(self, asked: models.NewPlan) -> Plan:
        """The plan for a request, as `bascule.plan` makes it."""
        made: Plan = await self.make(asked)
        return made

    async def rollout(self, asked: models.RolloutRequest) -> Rollout:
        """The plan of a rollout, as `bascule.plan_rollout` makes it."""
        made: Rollout = await self.make(asked)
        return made

    async def make(self, asked: models.Model, who: str = "") -> Any:
        """The plan for a request of any kind, for the key `who`, or for a person on the page."""
        most_of_one = MOST_OF_ONE if who else MOST_ASKED
        if self._asked.total() >= MOST_ASKED or self._asked[who] >= most_of_one:
            raise unavailable("too many plans are asked for at once: wait for one")
        self._asked[who] += 1
        try:
            return await self._make(asked)
        finally:
            self._asked[who] -= 1
            # Without those who wait for nothing, which would be kept for ever.
            self._asked = +self._asked

    async def _make(self, asked: models.Model) -> Any:
        async with self._lock:
            try:
                if self._process is None:
                    async with asyncio.timeout(START_SECONDS):
                        await self._start()
                async with asyncio.timeout(SECONDS):
                    line = await self._ask(asked.model_dump_json().encode() + b"\n")
            except TimeoutError:
                await self._end()
                raise Problem(
                    422,
                    f"planning took longer than {SECONDS:g} s: ask for a larger lift, or for fewer "
                    "metrics, or use bascule plan, which has no limit",
                ) from None
            except BaseException:
                # The next one to ask must not get this answer.
                await self._end()
                raise
            if not line:
                await self._end()
                raise Problem(422, "planning failed: ask for less extreme numbers")
        # The line comes through a pipe from a process that this one started.
        made = pickle.loads(base64.b64decode(line))  # nosec B301
        if isinstance(made, InputError):
            raise made
        return made

    async def close(self) -> None:
        """End the process, whatever it does at the time."""
        self._kill()
        # Whoever waits for its answer gets none, and is the one who reads its output.
        async with self._lock:
            await self._end()

    def _kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def _end(self) -> None:
        if self._process is not None:
            self._kill()
            # Both pipes come to their end with the process, and are closed then.
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            await self._process.stdout.read()
            await self._process.wait()
            self._process = None

    async def _start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bascule.service.planner_process",
            stdin=PIPE,
            stdout=PIPE,
            limit=LONGEST_LINE,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        # It says that it is ready.
        await self._process.stdout.readline()

    async def _ask(self, line: bytes) -> bytes:
        assert self._process is not None
        requests, replies = self._process.stdin, self._process.stdout
        assert requests is not None
        assert replies is not None
        with suppress(ConnectionError):
            requests.write(line)
            await requests.drain()
        return await replies.readline()
